package soak

import (
	"testing"
	"time"
)

// recorder is a test that may fail.
type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Helper()               {}
func (r *recorder) Failed() bool          { return r.failed }
func (r *recorder) Logf(string, ...any)   {}
func (r *recorder) Errorf(string, ...any) { r.failed = true }

func TestRun(t *testing.T) {
	var kept [][]byte
	release := make(chan struct{})
	defer close(release)
	for name, c := range map[string]struct {
		round func(uint64)
		fails bool
	}{
		"holds nothing": {func(uint64) { time.Sleep(time.Millisecond) }, false},
		"keeps memory": {func(uint64) {
			kept = append(kept, make([]byte, 1<<20))
			time.Sleep(time.Millisecond)
		}, true},
		"keeps goroutine": {func(uint64) { go func() { <-release }(); time.Sleep(time.Millisecond) }, true},
	} {
		r := &recorder{}
		Run(r, 150*time.Millisecond, c.round)
		if r.failed != c.fails {
			t.Errorf("%s: failed %v", name, r.failed)
		}
	}
}
