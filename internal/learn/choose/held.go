package choose

import (
	"math"
	"slices"
	"sync"

	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/model"
)

const (
	// mostHeld is how many numbers the predictions on folds take that a race keeps, 128 MiB.
	mostHeld = 1 << 24
	// nearBest is how far above the least error on a fold those of the setting chosen may lie: predictions of others
	// make room.
	nearBest = 1.5
)

// held keeps what arms predict on the folds of all samples and targets, of which those of the setting chosen are the
// held-out predictions of the fit.
type held struct {
	mu      sync.Mutex
	of      map[heldOf]*heldFold
	least   []float64 // error on each fold
	numbers int
}

// heldOf is the value i of λ of an arm, on a fold.
type heldOf struct {
	a    *arm
	i, f int
}

type heldFold struct {
	model.Fold
	error float64
}

// holds reports whether predictions on the folds are those of rows of all samples and targets. Where folds hide cells,
// the other cells of a row tell more of them than a new row would.
func (s *race) holds() bool {
	l, n := s.all.Size()
	rows, targets := s.data.Size()
	return l == rows && n == targets && !s.fills()
}

// hold keeps the predictions of e on the fold f of the first repeat.
func (s *race) hold(a *arm, i, f int, e *learn.Errors) {
	if e.Held == nil || f >= s.folds/max(s.Repeats, 1) || !s.holds() {
		return
	}
	h := &s.held
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.of == nil {
		h.of, h.least = map[heldOf]*heldFold{}, slices.Repeat([]float64{math.Inf(1)}, s.folds)
	}
	h.least[f] = min(h.least[f], e.NMSE)
	size := len(e.Held.F.Data)
	if h.numbers+size > mostHeld {
		for key, one := range h.of {
			if !(one.error <= nearBest*h.least[key.f]) {
				h.numbers -= len(one.F.Data)
				delete(h.of, key)
			}
		}
	}
	if h.numbers+size <= mostHeld {
		h.of[heldOf{a, i, f}] = &heldFold{*e.Held, e.NMSE}
		h.numbers += size
	}
}

// leastHeld is how many rows of some of the folds say enough, where not all were compared.
const leastHeld = 400

// predictions are those of the point on the folds of the first repeat; nil where they were not kept.
func (s *race) predictions(p Point) (folds []model.Fold) {
	rows, all := 0, s.folds/max(s.Repeats, 1)
	for _, a := range s.arms {
		for i, lambda := range a.lambdas {
			if q := a.point(lambda); lambda != p.Lambda || !q.sameBut(&p) {
				continue
			}
			for f := range all {
				if one := s.held.of[heldOf{a, i, f}]; one != nil {
					folds, rows = append(folds, one.Fold), rows+len(one.Rows)
				}
			}
			if len(folds) == all || rows >= leastHeld {
				return folds
			}
			return nil
		}
	}
	return nil
}
