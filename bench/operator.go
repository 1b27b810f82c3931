package bench

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// contender is one way to do a piece of work.
type contender struct {
	name   string
	params map[string]any // its own, beside those of all
	run    func() error
	done   Result // filled in beside the time
}

// race measures contenders in turn and returns a result for each.
func race(ctx context.Context, plan Plan, params map[string]any, all []contender) ([]Result, error) {
	variants := make([]Variant, len(all))
	for i, c := range all {
		variants[i] = Variant{Run: c.run, Spins: spins(c.name, blas.Threads())}
	}
	samples, err := Interleave(ctx, plan, variants)
	var results []Result
	for i, c := range all {
		if len(samples[i]) == 0 {
			continue
		}
		r := c.done
		r.Name = c.name
		r.Params = map[string]any{"backend": c.name}
		maps.Copy(r.Params, params)
		maps.Copy(r.Params, c.params)
		r.time(samples[i])
		results = append(results, r)
	}
	return results, err
}

// runOperator multiplies a packed Gram matrix into k columns with every backend;
// with OpenBLAS also through its own symmetric and vector routines, since a user
// of it might choose those.
func runOperator(ctx context.Context, env *Env) ([]Result, error) {
	l := pick(env, 1024, 3060)
	grams, err := gaussianGram(ctx, env, l)
	if err != nil {
		return nil, err
	}
	dense := blas.NewGeneral(l, l)
	sum := linop.NewGramSum(grams, env.Backend, blas.Float64)
	sum.SetWeights([]float64{1})
	sum.Dense(dense)
	limits := env.Limits()
	precisions := []blas.Precision{blas.Float64, blas.Float32}
	packed := map[string]blas.Packed{}
	for _, be := range blas.Backends() {
		for _, prec := range precisions {
			p := be.NewPacked(l, prec)
			if be.Name() == "openblas" {
				p = blas.NewDensePacked(be, l, prec) // by its own routines, which its operator leaves to the native kernels
			}
			p.Sum([]float64{1}, grams)
			packed[be.Name()+prec.String()] = p
		}
	}
	var results []Result
	for _, k := range pick(env, []int{1, 10, 102}, []int{1, 2, 4, 10, 32, 102, 204}) {
		var all []contender
		for _, prec := range precisions {
			all = append(all, multipliers(env, packed, dense, prec, k)...)
		}
		slices.SortStableFunc(all, func(a, b contender) int { // what spins last: fewer waits for it to end
			return strings.Compare(a.name, b.name)
		})
		plan := Plan{Count: env.count(pick(env, 5, 9)), Warm: true, Follow: true, MinSample: 20 * time.Millisecond, Budget: 2 * time.Second}
		part, err := race(ctx, plan, map[string]any{"l": l, "k": k, "threads": env.Threads}, all)
		for i := range part {
			prec := part[i].Params["precision"].(string)
			bytes := 8 * float64(l*l) // what a plain multiply reads
			if p := packed[part[i].Name+prec]; p != nil {
				bytes = float64(p.Bytes())
			}
			part[i].rate(2*float64(l*l*k), bytes, limits.Peak(prec, env.Threads), limits.Read(bytes, env.Threads))
		}
		results = append(results, part...)
		if err != nil {
			return results, err
		}
	}
	beside, err := multiplyBeside(ctx, env, packed)
	return append(results, beside...), err
}

// multipliers are the ways to compute K·X for k columns.
func multipliers(env *Env, packed map[string]blas.Packed, dense blas.General, prec blas.Precision, k int) []contender {
	l := dense.Rows
	X, Y := blas.NewGeneral(l, k), blas.NewGeneral(l, k)
	rng := env.rng(uint64(k))
	for i := range X.Data {
		X.Data[i] = rng.NormFloat64()
	}
	var all []contender
	add := func(name string, run func()) {
		all = append(all, contender{
			name: name, params: map[string]any{"precision": prec.String()},
			run: func() error { run(); return nil },
		})
	}
	for _, be := range blas.Backends() {
		p := packed[be.Name()+prec.String()]
		add(be.Name(), func() { p.Mul(Y, X) })
		switch {
		case be.Name() != "openblas" || prec != blas.Float64:
		case k == 1:
			add("openblas dgemv", func() {
				be.Dgemv(blas.Trans, l, l, 1, dense.Data, dense.Stride, X.Data, 1, 0, Y.Data, 1)
			})
		default:
			add("openblas dsymm", func() {
				be.Dsymm(blas.Left, blas.Lower, l, k, 1, dense.Data, dense.Stride, X.Data, X.Stride, 0, Y.Data, Y.Stride)
			})
		}
	}
	return all
}
