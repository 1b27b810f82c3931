package bench

import (
	"context"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl/blas"
)

// multiplyBeside measures how the native operator gets on with the rest of a
// program: how long a garbage collection takes while products run without a pause,
// and what products lose to one goroutine that computes all the time.
func multiplyBeside(ctx context.Context, env *Env, packed map[string]blas.Packed) ([]Result, error) {
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
	time.Sleep(spinTime) // what was measured before may have left threads that spin
	multiply()
	collection := Result{Name: "collection beside products", Params: params}
	stop := forever(multiply)
	var times []float64
	for range env.count(pick(env, 20, 200)) {
		if ctx.Err() != nil {
			break
		}
		start := time.Now()
		runtime.GC()
		times = append(times, time.Since(start).Seconds())
	}
	stop()
	collection.time(times)
	if len(times) > 0 {
		collection.metric("mean_ms", 1e3*stat.Mean(times, nil))
		slices.Sort(times)
		collection.metric("p95_ms", 1e3*times[len(times)*95/100])
		collection.metric("worst_ms", 1e3*collection.Max)
	}
	if err := ctx.Err(); err != nil {
		return []Result{collection}, err
	}
	shared := Result{Name: "product beside a busy goroutine", Params: params}
	alone := rateOf(env, multiply, nil)
	var work atomic.Int64
	spin := func() {
		for range 1 << 16 {
			work.Add(1)
		}
	}
	spinAlone := rateOf(env, spin, nil)
	var began int64
	stop = forever(spin)
	began = work.Load()
	start := time.Now()
	beside := rateOf(env, multiply, &shared)
	other := float64(work.Load()-began) / time.Since(start).Seconds() / (1 << 16)
	stop()
	shared.metric("speed_kept", beside/alone)
	shared.metric("speed_of_the_other_kept", other/spinAlone)
	return []Result{collection, shared}, nil
}

// forever calls f again and again on a goroutine of its own until the function it returns is called.
func forever(f func()) (stop func()) {
	var over atomic.Bool
	end := make(chan struct{})
	go func() {
		defer close(end)
		for !over.Load() {
			f()
		}
	}()
	return func() {
		over.Store(true)
		<-end
	}
}

// rateOf is how often f runs in a second; r, if there is one, gets the times.
func rateOf(env *Env, f func(), r *Result) float64 {
	f()
	var times []float64
	for start := time.Now(); time.Since(start) < time.Duration(pick(env, 100, 1000))*time.Millisecond; {
		once := time.Now()
		f()
		times = append(times, time.Since(once).Seconds())
	}
	if r != nil {
		r.time(times)
	}
	return 1 / stat.Mean(times, nil)
}
