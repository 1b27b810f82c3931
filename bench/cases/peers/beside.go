// Package peers has the cases that run other programs on the same data.
package peers

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/data"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/lanczos"
	"github.com/iokl/iokl/linop"
)

func init() {
	bench.Register(bench.Case{
		Name:  "peers",
		Topic: bench.Systems,
		Shown: []string{"sylvester"},
		Does:  "numpy, scipy, PyTorch, Octave and SLICOT beside ours: the same data, threads, accuracy",
		Run: func(ctx context.Context, env *bench.Env) ([]bench.Result, error) {
			return besides[env.Part](ctx, env)
		},
		Parts:        []string{"sylvester", "eigsh"},
		Minutes:      5,
		ShownMinutes: 4,
		Conclude:     concludePeers,
		Published:    systemsTable,
	})
}

// inexactTol is the true relative residual that iterative solvers are asked for.
const inexactTol = 1e-6

// besides measures what other programs offer beside ours, for each part of the case: the
// same data, the same number of threads, and the accuracy that each reached.
var besides = map[string]func(context.Context, *bench.Env) ([]bench.Result, error){
	"sylvester": besideSylvester, "eigsh": besideEigsh,
}

// oursThen times each bench.Contender and lets measures look at the last answer of it.
func oursThen(
	ctx context.Context, env *bench.Env, params map[string]any, all []bench.Contender,
	measures func(r *bench.Result) error,
) ([]bench.Result, error) {
	var results []bench.Result
	for _, c := range all {
		part, err := bench.Race(ctx, bench.Plan{Count: env.Repeats(3), Warm: true}, params, []bench.Contender{c})
		for i := range part {
			part[i].Params["backend"] = env.Backend.Name()
			if err == nil {
				err = measures(&part[i])
			}
		}
		results = append(results, part...)
		if err != nil {
			return results, fmt.Errorf("%s: %w", c.Name, err)
		}
	}
	return results, nil
}

// trueResidual is ‖K·C·L + μC − Y‖/‖Y‖ from its definition.
func trueResidual(env *bench.Env, K, L, C, Y blas.General, mu float64) float64 {
	R, CL := blas.NewGeneral(Y.Rows, Y.Cols), blas.NewGeneral(C.Rows, C.Cols)
	blas.Mul(env.Backend, CL, false, false, C, L)
	blas.Mul(env.Backend, R, false, false, K, CL)
	blas.AddScaled(R, mu, C)
	blas.AddScaled(R, -1, Y)
	return blas.Frob(R) / blas.Frob(Y)
}

// besideEigsh finds the smallest eigenvalues of dense symmetric matrices.
func besideEigsh(ctx context.Context, env *bench.Env) ([]bench.Result, error) {
	var results []bench.Result
	for _, n := range bench.Pick(env, []int{500}, []int{500, 1000, 2000, 4000}) {
		A := data.RandomSymmetric(env, n)
		op := linop.NewDense(A, env.Backend)
		for _, count := range []int{1, 3} {
			for _, tol := range []float64{1e-3, 1e-8} {
				part, err := besideEigshOne(ctx, env, A, op, count, tol)
				if results = append(results, part...); err != nil {
					return results, err
				}
			}
		}
	}
	return results, nil
}

func besideEigshOne(
	ctx context.Context, env *bench.Env, A blas.General, op linop.Operator, count int, tol float64,
) ([]bench.Result, error) {
	params := map[string]any{"problem": "smallest eigenpairs", "n": A.Rows, "count": count, "tol": tol}
	repeats := 15 // what one run takes depends on its start
	var w lanczos.Workspace
	var got lanczos.Result
	plan := bench.Plan{Count: env.Repeats(repeats), Warm: true}
	seed := env.Seed
	run := func() (err error) {
		seed++
		got, err = w.Eigs(ctx, op, lanczos.Options{
			K: count, Block: 1, Which: lanczos.Smallest, Tol: tol, Seed: seed, Backend: env.Backend, MaxIter: 5000,
		})
		return err
	}
	// in a new process both threads may share a processor until then
	for start := time.Now(); time.Since(start) < 2*bench.SpinTime; {
		if err := run(); err != nil {
			return nil, err
		}
	}
	results, err := bench.Race(ctx, plan, params, []bench.Contender{{Name: "iokl lanczos", Run: run}})
	if err != nil {
		return results, err
	}
	norm := math.Max(math.Abs(got.Values[0]), math.Abs(slices.Max(got.Values)))
	results[0].Params["backend"] = env.Backend.Name()
	results[0].Residual = bench.Num(slices.Max(got.Residuals) / norm)
	results[0].Metric("columns_multiplied", float64(got.Applies))
	theirs, err := otherPrograms(ctx, env, peerJob{
		script: "eigsh.py", params: params, count: repeats, data: map[string]blas.General{"A": A},
		args: []string{fmt.Sprint(count), fmt.Sprint(tol)},
	})
	return append(results, theirs...), err
}
