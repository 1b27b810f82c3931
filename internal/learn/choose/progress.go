// How far the comparison of settings has come.

package choose

import (
	"math"
	"sync"
	"time"

	"github.com/iokl/iokl/internal/learn"
)

// progress counts the fits of a phase.
type progress struct {
	mu          sync.Mutex
	told        learn.Progress
	started     time.Time
	done, total int
}

// begin starts a phase of so many fits.
func (s *race) begin(phase string, total int) {
	s.told = learn.Progress{Phase: phase, Metric: s.Metric, Best: math.NaN()}
	s.started, s.done, s.total = time.Now(), 0, total
	s.step(0, math.NaN())
}

// step counts fits, of which the metric on a fold is NaN where it is not known, and tells where the phase stands.
func (s *race) step(fits int, metric float64) {
	if s.Method.Watch == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at := &s.told
	if math.IsNaN(at.Best) || s.value(metric) < s.value(at.Best) {
		at.Best = metric
	}
	s.done += fits
	at.Done, at.Left = float64(s.done)/float64(max(s.total, 1)), -1
	if spent := time.Since(s.started); s.done > 0 && spent > 0 {
		at.Left = time.Duration(float64(spent) * float64(s.total-s.done) / float64(s.done))
	}
	if left := max(time.Until(s.Until), 0); !s.Until.IsZero() && (at.Left < 0 || left < at.Left) {
		at.Left = left
	}
	s.Method.Watch(*at)
}
