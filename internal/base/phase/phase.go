// Package phase names the parts of the algorithm for the tools that watch a
// program: CPU profiles get the label phase=name on every sample taken inside,
// also in goroutines that were started there and in C code called there, and
// execution traces get a region of that name.
package phase

import (
	"context"
	"runtime/pprof"
	"runtime/trace"
	"time"
)

// The phases. A phase inside another takes over until it ends.
const (
	FormK       = "form-k"      // Gram matrices, random features, and their weighted sum
	CSolve      = "c-solve"     // the linear systems
	LStep       = "l-step"      // the output kernel
	Eta         = "eta"         // the kernel weights
	Certificate = "certificate" // objective, gradients and gaps at a point
	Predict     = "predict"     // values at new points
	Ridge       = "ridge"       // errors on a fold where only C is learned
	Columns     = "columns"     // ranks, relevance, directions and lengths of columns
)

// The stages of a fit: labels stage=name, around phases.
const (
	Choice = "choice" // of settings
	Final  = "final"  // the fit at one setting
)

// In runs f inside the stage of the name.
func In(ctx context.Context, stage string, f func(ctx context.Context)) {
	pprof.Do(ctx, pprof.Labels("stage", stage), f)
}

// Do runs f inside the phase of the name.
func Do(ctx context.Context, name string, f func(ctx context.Context)) {
	pprof.Do(ctx, pprof.Labels("phase", name), func(ctx context.Context) {
		defer trace.StartRegion(ctx, name).End()
		f(ctx)
	})
}

// Share is ctx that ends with a share of the time that is left for it, where it has a deadline: the time of a phase.
func Share(ctx context.Context, share float64) (context.Context, context.CancelFunc) {
	end, bounded := ctx.Deadline()
	if !bounded {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, time.Duration(share*float64(time.Until(end))))
}

// Apart is Do for code that was given no context: it runs f on a goroutine of
// its own, so that the labels of the caller are as before when it returns. A
// panic in f is raised again in the caller.
func Apart(name string, f func()) {
	var failed any
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { failed = recover() }()
		Do(context.Background(), name, func(context.Context) { f() })
	}()
	<-done
	if failed != nil {
		panic(failed)
	}
}
