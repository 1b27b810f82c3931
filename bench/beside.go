package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/lanczos"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/sylvester"
)

// runPeers measures what other programs offer beside ours: the same data, the
// same number of threads, and the accuracy that each reached.
func runPeers(ctx context.Context, env *Env) ([]Result, error) {
	var results []Result
	for _, problem := range []func(context.Context, *Env) ([]Result, error){
		besideKernelRidge, besideSylvester, besideEigsh, besideMultiTask,
	} {
		part, err := problem(ctx, env)
		results = append(results, part...)
		if err != nil {
			return results, err
		}
	}
	return results, nil
}

// besideKernelRidge fits one Gaussian kernel to many outputs, from the samples on.
func besideKernelRidge(ctx context.Context, env *Env) ([]Result, error) {
	l, d, n, tests := pick(env, 1000, 4000), 20, pick(env, 50, 200), 1000
	const width, lambda, inexact = 5.0, 1e-5, 1e-6
	Xl, Yl, Xt, Yt := smoothSamples(env.rng(51), l, tests, d, n)
	params := map[string]any{"problem": "kernel ridge", "l": l, "d": d, "n": n, "lambda": lambda}
	C := blas.NewGeneral(l, n)
	var dict kernel.Dictionary
	one := func(name string, tol float64) contender {
		c := contender{name: "iokl " + name}
		c.run = func() error {
			var err error
			if dict, err = kernel.Build([]string{fmt.Sprintf("gaussian:all:%g", width)}, Xl, nil, env.Seed); err != nil {
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
			_, err = solver.Solve(ctx, C, sylvester.System{K: K, L: linop.ScaledIdentity(n, 1), Mu: lambda * float64(l)}, Yl, sylvester.Options{Tol: tol})
			return err
		}
		return c
	}
	measures := func(r *Result) error {
		K := blas.NewGeneral(l, l)
		if err := dict.CrossSum(K, []float64{1}, Xl, Xl); err != nil {
			return err
		}
		r.Residual = Num(trueResidual(env, K, blas.General{}, C, Yl, lambda*float64(l)))
		Kt, P := blas.NewGeneral(tests, l), blas.NewGeneral(tests, n)
		if err := dict.CrossSum(Kt, []float64{1}, Xt, Xl); err != nil {
			return err
		}
		blas.Mul(env.Backend, P, false, false, Kt, C)
		blas.AddScaled(P, -1, Yt)
		e := blas.Frob(P)
		r.metric("test_mse", e*e/float64(tests*n))
		return nil
	}
	ours, err := oursThen(ctx, env, params, []contender{one("cholesky", 0), one("auto", inexact)}, measures)
	if err != nil {
		return ours, err
	}
	results := ours
	args := []string{fmt.Sprint(1 / (2 * width * width)), fmt.Sprint(lambda * float64(l)), fmt.Sprint(inexact)}
	for _, script := range []string{"kernel_ridge.py", "kernel_ridge_torch.py"} {
		var theirs []Result
		theirs, err = env.theirs(ctx, peerJob{
			script: script, params: params, data: map[string]blas.General{"X": Xl, "Y": Yl, "Xt": Xt, "Yt": Yt}, args: args,
		})
		if results = append(results, theirs...); err != nil {
			break
		}
	}
	return results, err
}

// oursThen times each contender and lets measures look at the last answer of it.
func oursThen(ctx context.Context, env *Env, params map[string]any, all []contender, measures func(r *Result) error) ([]Result, error) {
	var results []Result
	for _, c := range all {
		part, err := race(ctx, Plan{Count: env.count(3), Warm: true}, params, []contender{c})
		for i := range part {
			part[i].Params["backend"] = env.Backend.Name()
			if err == nil {
				err = measures(&part[i])
			}
		}
		results = append(results, part...)
		if err != nil {
			return results, fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return results, nil
}

// trueResidual is ‖K·C·L + μC − Y‖/‖Y‖ from its definition; an empty L is I.
func trueResidual(env *Env, K, L, C, Y blas.General, mu float64) float64 {
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

// besideSylvester solves K·C·L + λl·C = Y with an L that others can invert.
func besideSylvester(ctx context.Context, env *Env) ([]Result, error) {
	s := system{pick(env, 300, 1000), pick(env, 20, 50), "full", 1e-3}
	grams, err := gaussianGram(ctx, env, s.l)
	if err != nil {
		return nil, err
	}
	K := linop.NewGramSum(grams, env.Backend, blas.Float64)
	K.SetWeights([]float64{1})
	dense, L := blas.NewGeneral(s.l, s.l), outputKernel(env, s.n, s.spectrum)
	K.Dense(dense)
	Y, Lfull := targets(env, K, s.n), blas.NewGeneral(s.n, s.n)
	L.Dense(env.Backend, Lfull)
	mu := s.lambda * float64(s.l)
	params := map[string]any{"problem": "K·C·L + λl·C = Y", "l": s.l, "n": s.n, "lambda": s.lambda}
	C := blas.NewGeneral(s.l, s.n)
	var all []contender
	for _, name := range []string{"auto", "eigen", "tridiagonal", "bartels-stewart"} {
		tol := 0.0
		if name == "auto" {
			tol = sylvesterTol
		}
		all = append(all, contender{name: "iokl " + name, run: func() error {
			blas.Zero(C)
			solver, err := sylvester.New(name, sylvester.Config{Backend: env.Backend, Seed: env.Seed})
			if err != nil {
				return err
			}
			_, err = solver.Solve(ctx, C, sylvester.System{K: K, L: L, Mu: mu}, Y, sylvester.Options{Tol: tol})
			return err
		}})
	}
	results, err := oursThen(ctx, env, params, all, func(r *Result) error {
		r.Residual = Num(trueResidual(env, dense, Lfull, C, Y, mu))
		return nil
	})
	data := map[string]blas.General{"K": dense, "L": Lfull, "Y": Y}
	for _, job := range []peerJob{
		{script: "sylvester.py", args: []string{fmt.Sprint(mu)}},
		{script: "sylvester.m", args: []string{fmt.Sprint(mu), fmt.Sprint(s.l), fmt.Sprint(s.n)}},
	} {
		if err != nil {
			return results, err
		}
		job.data, job.params = data, params
		var theirs []Result
		theirs, err = env.theirs(ctx, job)
		results = append(results, theirs...)
	}
	return results, err
}

// besideEigsh finds the smallest eigenvalues of a symmetric matrix.
func besideEigsh(ctx context.Context, env *Env) ([]Result, error) {
	n, count := pick(env, 500, 2000), 3
	const tol = 1e-8
	A := randomSymmetric(env, n)
	op := linop.NewDense(A, env.Backend)
	params := map[string]any{"problem": "smallest eigenpairs", "n": n, "count": count, "tol": tol}
	var got lanczos.Result
	results, err := oursThen(ctx, env, params, []contender{{name: "iokl lanczos", run: func() (err error) {
		got, err = lanczos.Eigs(ctx, op, lanczos.Options{K: count, Block: 1, Which: lanczos.Smallest, Tol: tol, Seed: env.Seed, Backend: env.Backend, MaxIter: 5000})
		return err
	}}}, func(r *Result) error {
		norm := math.Max(math.Abs(got.Values[0]), math.Abs(slices.Max(got.Values)))
		r.Residual = Num(slices.Max(got.Residuals) / norm)
		return nil
	})
	if err != nil {
		return results, err
	}
	theirs, err := env.theirs(ctx, peerJob{
		script: "eigsh.py", params: params, data: map[string]blas.General{"A": A}, args: []string{fmt.Sprint(count), fmt.Sprint(tol)},
	})
	return append(results, theirs...), err
}

// besideMultiTask predicts many outputs from few of the inputs: our kernels, one
// linear and one Gaussian for each input, beside linear multi-task baselines. Each
// chooses its penalty by five-fold cross-validation.
func besideMultiTask(ctx context.Context, env *Env) ([]Result, error) {
	l, d, n, tests := pick(env, 150, 500), 15, 10, 1000
	Xl, Yl, Xt, Yt := smoothSamples(env.rng(52), l, tests, d, n)
	params := map[string]any{"problem": "multi-task regression", "l": l, "d": d, "n": n}
	opt := iokl.Options{Kernels: []string{"linear:each", "gaussian:each:median", "gaussian:all:median*0.5,1"}, Norm: "lp:1", Seed: env.Seed, Backend: env.Backend}
	opt.CV.Folds = 5
	start := time.Now()
	P, err := fitPredict(ctx, Xl, Yl, Xt, opt)
	if err != nil {
		return nil, err
	}
	r := Result{Name: "iokl Fit", Params: params}
	r.time([]float64{time.Since(start).Seconds()})
	blas.AddScaled(P, -1, Yt)
	e := blas.Frob(P)
	r.metric("test_mse", e*e/float64(tests*n))
	theirs, err := env.theirs(ctx, peerJob{script: "multitask.py", params: params, data: map[string]blas.General{"X": Xl, "Y": Yl, "Xt": Xt, "Yt": Yt}})
	return append([]Result{r}, theirs...), errors.Join(err, ctx.Err())
}
