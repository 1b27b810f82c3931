// This file measures what matrix products and the rest of a program cost each other: garbage
// collections, and a busy goroutine.

package algebra

import (
	"context"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/blas"
)

// multiplyBeside measures the native operator beside other work of a program: how
// long a garbage collection takes while products run without a pause, and what products
// lose to one goroutine that computes all the time.
func multiplyBeside(ctx context.Context, env *bench.Env, packed map[string]blas.Packed) ([]bench.Result, error) {
	const k = 102
	p, ok := packed["native"+blas.Float64.String()]
	if !ok {
		return nil, nil
	}
	l := p.Order()
	X, Y := blas.NewGeneral(l, k), blas.NewGeneral(l, k)
	for i := range X.Data {
		X.Data[i] = 1
	}
	params := map[string]any{
		"backend": "native", "l": l, "k": k, "precision": blas.Float64.String(), "threads": env.Threads,
	}
	multiply := func() { p.Mul(Y, X) }
	time.Sleep(bench.SpinTime) // what was measured before may have left threads that spin
	multiply()
	results := collections(ctx, env, multiply)
	for i := range results {
		results[i].Params = params
	}
	if err := ctx.Err(); err != nil {
		return results, err
	}
	shared := bench.Result{Name: "product beside a busy goroutine", Params: params}
	alone := rateOf(env, multiply, nil)
	var work atomic.Int64
	spin := func() {
		for range 1 << 16 {
			work.Add(1)
		}
	}
	spinAlone := rateOf(env, spin, nil)
	var began int64
	stop := inLoop(1, spin)
	began = work.Load()
	start := time.Now()
	beside := rateOf(env, multiply, &shared)
	other := float64(work.Load()-began) / time.Since(start).Seconds() / (1 << 16)
	stop()
	shared.Metric("speed_kept", beside/alone)
	shared.Metric("speed_of_the_other_kept", other/spinAlone)
	return append(results, shared), nil
}

// collections measures garbage collections while products run and, alternating with
// them, in an idle program and beside one goroutine per processor that loops in Go.
func collections(ctx context.Context, env *bench.Env, multiply func()) []bench.Result {
	rounds, each := bench.Pick(env, 4, 20), bench.Pick(env, 5, 10)
	all := []struct {
		name  string
		each  int
		start func() (stop func())
		times []float64
	}{
		{name: besideProducts, each: each, start: func() func() { return inLoop(1, multiply) }},
		{name: besideNothing, each: each, start: func() func() { return func() {} }},
		{name: besideLoops, each: max(1, each/5), start: func() func() { return inLoop(env.Threads, plainLoop) }},
	}
	for range rounds {
		for i := range all {
			c := &all[i]
			stop := c.start()
			for range c.each {
				if ctx.Err() != nil {
					break
				}
				start := time.Now()
				runtime.GC()
				c.times = append(c.times, time.Since(start).Seconds())
			}
			stop()
		}
	}
	var results []bench.Result
	for _, c := range all {
		if len(c.times) == 0 {
			continue
		}
		r := bench.Result{Name: c.name}
		r.Time(c.times)
		r.Metric("mean_ms", 1e3*stat.Mean(c.times, nil))
		sorted := slices.Sorted(slices.Values(c.times))
		r.Metric("p95_ms", 1e3*sorted[len(sorted)*95/100])
		r.Metric("worst_ms", 1e3*r.Max)
		results = append(results, r)
	}
	return results
}

// What a collection is measured beside.
const (
	besideProducts = "collection beside products"
	besideNothing  = "collection in an idle program"
	besideLoops    = "collection beside loops in Go"
)

var loopResult atomic.Uint64

// plainLoop computes for a few microseconds, as any Go code may.
func plainLoop() {
	x := 1.0
	for i := range 1 << 14 {
		x = x*(1-0x1p-20) + float64(i)
	}
	loopResult.Store(math.Float64bits(x))
}

// inLoop calls f in a loop on that many goroutines until the function it returns is called.
func inLoop(goroutines int, f func()) (stop func()) {
	var over atomic.Bool
	var running sync.WaitGroup
	for range goroutines {
		running.Go(func() {
			for !over.Load() {
				f()
			}
		})
	}
	return func() {
		over.Store(true)
		running.Wait()
	}
}

// rateOf is how often f runs in a second; r, if there is one, gets the times.
func rateOf(env *bench.Env, f func(), r *bench.Result) float64 {
	f()
	var times []float64
	for start := time.Now(); time.Since(start) < time.Duration(bench.Pick(env, 100, 1000))*time.Millisecond; {
		once := time.Now()
		f()
		times = append(times, time.Since(once).Seconds())
	}
	if r != nil {
		r.Time(times)
	}
	return 1 / stat.Mean(times, nil)
}
