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
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/lanczos"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/sylvester"
)

func init() {
	bench.Register(bench.Case{
		Name:  "peers",
		Topic: bench.Systems,
		Shown: []string{"sylvester"},
		Does: "numpy, scipy, PyTorch, Octave, SLICOT and scikit-learn beside ours: the same data, threads, " +
			"accuracy",
		Run: func(ctx context.Context, env *bench.Env) ([]bench.Result, error) {
			return besides[env.Part](ctx, env)
		},
		Parts:        []string{"ridge", "sylvester", "eigsh"},
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
	"ridge": besideKernelRidge, "sylvester": besideSylvester, "eigsh": besideEigsh,
}

// besideKernelRidge fits one Gaussian kernel to many outputs, from the samples on.
func besideKernelRidge(ctx context.Context, env *bench.Env) ([]bench.Result, error) {
	l, d, n, tests := bench.Pick(env, 1000, 4000), 20, bench.Pick(env, 50, 200), 1000
	const width, lambda = 5.0, 1e-5
	Xl, Yl, Xt, Yt := data.SmoothSamples(env.Rand(51), l, tests, d, n)
	params := map[string]any{"problem": "kernel ridge", "l": l, "d": d, "n": n, "lambda": lambda}
	C := blas.NewGeneral(l, n)
	var dict kernel.Dictionary
	one := func(name string, tol float64) bench.Contender {
		c := bench.Contender{Name: "iokl " + name}
		c.Run = func() error {
			var err error
			if dict, err = kernel.Build([]string{fmt.Sprintf("gaussian:all:%g", width)}, Xl, nil,
				env.Seed); err != nil {
				return err
			}
			grams, err := dict.Grams(ctx, Xl, kernel.GramOptions{Backend: env.Backend})
			if err != nil {
				return err
			}
			K := linop.NewGramSum(grams, env.Backend, blas.Float64)
			K.SetWeights([]float64{1})
			solver, err := sylvester.New(name, sylvester.Config{Backend: env.Backend, Seed: env.Seed})
			if err != nil {
				return err
			}
			blas.Zero(C)
			_, err = solver.Solve(ctx, C, sylvester.System{
				K: K, L: linop.ScaledIdentity(n, 1), Mu: lambda * float64(l),
			}, Yl, sylvester.Options{Tol: tol})
			return err
		}
		return c
	}
	measures := func(r *bench.Result) error {
		K := blas.NewGeneral(l, l)
		if err := dict.CrossSum(K, []float64{1}, Xl, Xl); err != nil {
			return err
		}
		r.Residual = bench.Num(trueResidual(env, K, blas.General{}, C, Yl, lambda*float64(l)))
		Kt, P := blas.NewGeneral(tests, l), blas.NewGeneral(tests, n)
		if err := dict.CrossSum(Kt, []float64{1}, Xt, Xl); err != nil {
			return err
		}
		blas.Mul(env.Backend, P, false, false, Kt, C)
		e := rmse(P, Yt)
		r.Metric("test_mse", e*e)
		return nil
	}
	ours, err := oursThen(ctx, env, params, []bench.Contender{one("cholesky", 0), one("auto", inexactTol)}, measures)
	if err != nil {
		return ours, err
	}
	results := ours
	args := []string{fmt.Sprint(1 / (2 * width * width)), fmt.Sprint(lambda * float64(l)), fmt.Sprint(inexactTol)}
	for _, script := range []string{"kernel_ridge.py", "kernel_ridge_torch.py"} {
		var theirs []bench.Result
		theirs, err = otherPrograms(ctx, env, peerJob{
			script: script, params: params, data: map[string]blas.General{"X": Xl, "Y": Yl, "Xt": Xt, "Yt": Yt},
			args: args,
		})
		if results = append(results, theirs...); err != nil {
			break
		}
	}
	return results, err
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

// trueResidual is ‖K·C·L + μC − Y‖/‖Y‖ from its definition; an empty L is I.
func trueResidual(env *bench.Env, K, L, C, Y blas.General, mu float64) float64 {
	R := blas.NewGeneral(Y.Rows, Y.Cols)
	CL := C
	if L.Rows > 0 {
		CL = blas.NewGeneral(C.Rows, C.Cols)
		blas.Mul(env.Backend, CL, false, false, C, L)
	}
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
