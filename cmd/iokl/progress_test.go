package main

import (
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/iokl/iokl"
)

// stamped keeps when lines were written.
type stamped struct {
	text []string
	at   []time.Time
}

func (s *stamped) Write(b []byte) (int, error) {
	s.text, s.at = append(s.text, string(b)), append(s.at, time.Now())
	return len(b), nil
}

// With --verbose something is shown at least every two seconds, nothing with --quiet, and nothing after the end.
func TestProgressStaysAlive(t *testing.T) {
	for _, quiet := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var w stamped
			m := machine{verbose: true, quiet: quiet}
			p := newProgress(&w, &m, 1e-4)
			start := time.Now()
			time.Sleep(5 * time.Second)
			p.choosing(iokl.Progress{Phase: "comparing", Done: 0.25, Left: -1, Best: math.NaN()})
			time.Sleep(30 * time.Second)
			p.line("a line")
			time.Sleep(3 * time.Second)
			p.end()
			end := time.Now()
			p.end()
			time.Sleep(10 * time.Second)
			if quiet {
				if len(w.text) > 0 {
					t.Errorf("--quiet: %q", w.text)
				}
				return
			}
			last := start
			for i, at := range append(w.at, end) {
				if gap := at.Sub(last); gap < 0 || gap > 2*time.Second {
					t.Errorf("%v without a sign before line %d, at %v", gap, i, at.Sub(start))
				}
				last = at
			}
			all := strings.Join(w.text, "")
			for _, want := range []string{"preparing  1.", "comparing  25 %  ", "a line\n"} {
				if !strings.Contains(all, want) {
					t.Errorf("%q lacks %q", all, want)
				}
			}
		})
	}
}
