// This file tells how far the comparison of settings has come.

package choose

import (
	"math"
	"sync"
	"time"

	"github.com/iokl/iokl/internal/learn"
)

// progress counts the fits of a phase and tells where it stands.
type progress struct {
	deadline time.Time // zero: none

	mu          sync.Mutex
	phase       string
	started     time.Time
	done, total int
	best        float64 // least error of a fold in this phase, or highest accuracy; NaN: none is known
}

// begin starts a phase of so many fits.
func (s *race) begin(phase string, total int) {
	p := &s.progress
	p.mu.Lock()
	defer p.mu.Unlock()
	p.phase, p.started, p.done, p.total, p.best = phase, time.Now(), 0, total, math.NaN()
	s.tell()
}

// step counts fits, and notes the metric that they have on a fold, NaN where it is not known.
func (s *race) step(fits int, metric float64) {
	p := &s.progress
	p.mu.Lock()
	defer p.mu.Unlock()
	if math.IsNaN(p.best) || s.Metric != "accuracy" && metric < p.best || s.Metric == "accuracy" && metric > p.best {
		p.best = metric
	}
	p.done += fits
	s.tell()
}

func (s *race) tell() {
	if s.Method.Watch == nil {
		return
	}
	p := &s.progress
	at := learn.Progress{
		Phase: p.phase, Done: float64(p.done) / float64(max(p.total, 1)), Left: -1, Metric: s.Metric,
		Best: p.best,
	}
	if spent := time.Since(p.started); p.done > 0 && spent > 0 {
		at.Left = time.Duration(float64(spent) * float64(p.total-p.done) / float64(p.done))
	}
	if !p.deadline.IsZero() {
		left := max(time.Until(p.deadline), 0)
		if at.Left < 0 || left < at.Left {
			at.Left = left
		}
	}
	s.Method.Watch(at)
}
