package bench

import (
	"context"
	"time"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// contender is one way to do a piece of work.
type contender struct {
	name string
	run  func() error
	done Result // filled in beside the time
}

// race measures contenders in turn and returns a result for each.
func race(ctx context.Context, plan Plan, params map[string]any, all []contender) ([]Result, error) {
	variants := make([]Variant, len(all))
	for i, c := range all {
		variants[i].Run = c.run
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
		for k, v := range params {
			r.Params[k] = v
		}
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
	var results []Result
	for _, prec := range []blas.Precision{blas.Float64, blas.Float32} {
		packed := map[string]blas.Packed{}
		for _, be := range blas.Backends() {
			p := be.NewPacked(l, prec)
			p.Sum([]float64{1}, grams)
			packed[be.Name()] = p
		}
		for _, k := range pick(env, []int{1, 10, 102}, []int{1, 4, 10, 32, 102, 204}) {
			plan := Plan{Count: env.count(pick(env, 5, 9)), Warm: true, MinSample: 20 * time.Millisecond, Budget: 2 * time.Second}
			part, err := race(ctx, plan, map[string]any{"l": l, "k": k, "precision": prec.String(), "threads": env.Threads},
				multipliers(env, packed, dense, prec, k))
			for i := range part {
				bytes := float64(l*l) * float64(prec.Bytes()) // what a plain multiply reads
				if p := packed[part[i].Name]; p != nil {
					bytes = float64(p.Bytes())
				}
				peak := limits.Peak(prec.String(), env.Threads)
				part[i].rate(2*float64(l*l*k), bytes, peak, limits.Read(bytes, env.Threads))
			}
			results = append(results, part...)
			if err != nil {
				return results, err
			}
		}
	}
	return results, nil
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
	for _, be := range blas.Backends() {
		p := packed[be.Name()]
		all = append(all, contender{name: be.Name(), run: func() error { p.Mul(Y, X); return nil }})
		if be.Name() != "openblas" || prec != blas.Float64 {
			continue
		}
		if k == 1 {
			all = append(all, contender{name: "openblas dgemv", run: func() error {
				be.Dgemv(blas.Trans, l, l, 1, dense.Data, dense.Stride, X.Data, 1, 0, Y.Data, 1)
				return nil
			}})
			continue
		}
		all = append(all, contender{name: "openblas dsymm", run: func() error {
			be.Dsymm(blas.Left, blas.Lower, l, k, 1, dense.Data, dense.Stride, X.Data, X.Stride, 0, Y.Data, Y.Stride)
			return nil
		}})
	}
	return all
}
