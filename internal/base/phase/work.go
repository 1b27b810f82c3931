package phase

import (
	"context"
	"sync/atomic"
)

// Work is what a computation has done, in counts that no clock and no number of threads changes.
type Work struct {
	Iterations     int64 // of solvers of linear systems
	Products       int64 // multiplications and additions in products with kernel matrices
	Decompositions int64 // the sum of l³ over the decompositions of l×l matrices
}

// tally adds up the work of several goroutines.
type tally struct{ iterations, products, decompositions atomic.Int64 }

// tallyKey is that of the function that adds to a tally, in a context.
type tallyKey struct{}

// Counting returns a context that counts the work done under it, and a function that tells how much there is so far.
// Work counts in the contexts around it too.
func Counting(ctx context.Context) (counting context.Context, soFar func() Work) {
	t := new(tally)
	add := func(w Work) {
		t.iterations.Add(w.Iterations)
		t.products.Add(w.Products)
		t.decompositions.Add(w.Decompositions)
		Count(ctx, w)
	}
	soFar = func() Work { return Work{t.iterations.Load(), t.products.Load(), t.decompositions.Load()} }
	return context.WithValue(ctx, tallyKey{}, add), soFar
}

// Count adds w to what the context counts.
func Count(ctx context.Context, w Work) {
	if add, ok := ctx.Value(tallyKey{}).(func(Work)); ok {
		add(w)
	}
}

// Decomposed counts a decomposition of an l×l matrix.
func Decomposed(ctx context.Context, l int) {
	Count(ctx, Work{Decompositions: int64(l) * int64(l) * int64(l)})
}
