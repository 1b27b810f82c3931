package choose

import (
	"sync"

	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/model"
)

// held keeps what arms predict on the folds of all samples and targets, of which those of the setting chosen are the
// held-out predictions of the fit.
type held struct {
	mu      sync.Mutex
	of      map[heldOf]*model.Fold
	numbers int // in all
}

// heldOf is the value i of λ of an arm, on a fold.
type heldOf struct {
	a    *arm
	i, f int
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
		h.of = map[heldOf]*model.Fold{}
	}
	if size := len(e.Held.F.Data); h.numbers+size <= model.HeldOutNumbers {
		h.of[heldOf{a, i, f}] = e.Held
		h.numbers += size
	}
}

// predictions are those of the point on the folds of the first repeat; nil where they were not kept.
func (s *race) predictions(p Point) (folds []model.Fold) {
	all := s.folds / max(s.Repeats, 1)
	for _, a := range s.arms {
		for i, lambda := range a.lambdas {
			if q := a.point(lambda); lambda != p.Lambda || !q.sameBut(&p) {
				continue
			}
			for f := range all {
				if one := s.held.of[heldOf{a, i, f}]; one != nil {
					folds = append(folds, *one)
				}
			}
			if len(folds) == all {
				return folds
			}
			return nil
		}
	}
	return nil
}
