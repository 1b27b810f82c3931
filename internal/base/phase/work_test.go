package phase

import (
	"context"
	"sync"
	"testing"
)

// TestCounting adds up the work of goroutines, in a context and in the one around it.
func TestCounting(t *testing.T) {
	Count(context.Background(), Work{Iterations: 1}) // nobody counts
	outer, all := Counting(context.Background())
	inner, some := Counting(outer)
	var g sync.WaitGroup
	for range 100 {
		g.Go(func() { Count(inner, Work{Iterations: 1, Products: 2}) })
	}
	g.Wait()
	Decomposed(outer, 10)
	if got, want := some(), (Work{100, 200, 0}); got != want {
		t.Errorf("inside %v, want %v", got, want)
	}
	if got, want := all(), (Work{100, 200, 1000}); got != want {
		t.Errorf("around %v, want %v", got, want)
	}
}
