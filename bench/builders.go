package bench

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/lanczos"
	"github.com/iokl/iokl/linop"
)

// runGram builds the Gram matrices of single kernels with every backend.
func runGram(ctx context.Context, env *Env) ([]Result, error) {
	l, d := pick(env, 1024, 3060), 40
	rng := env.rng(5)
	X := blas.NewGeneral(l, d)
	for i := range X.Data {
		X.Data[i] = math.Abs(rng.NormFloat64())
	}
	limits := env.Limits()
	var results []Result
	for _, spec := range []string{"linear", "gaussian", "laplacian", "matern32", "chi2"} {
		dict, err := kernel.Build([]string{spec + ":all"}, X, nil, env.Seed)
		if err != nil {
			return results, err
		}
		var all []contender
		for _, be := range blas.Backends() {
			all = append(all, contender{name: be.Name(), run: func() error {
				_, err := dict.Grams(ctx, X, kernel.GramOptions{Backend: be})
				return err
			}})
		}
		plan := Plan{Count: env.count(5), Warm: true, Budget: 2 * time.Second}
		part, err := race(ctx, plan, map[string]any{"kernel": spec, "l": l, "d": d, "precision": "float64"}, all)
		for i := range part {
			flops := 0.0
			if spec == "linear" || spec == "gaussian" || spec == "matern32" {
				flops = float64(l*l) * float64(d) // the lower half of the product X·Xᵀ
			}
			part[i].rate(flops, 0, limits.Peak("float64", env.Threads), 0)
			part[i].metric("million_elements_per_second", float64(l)*float64(l+1)/2/part[i].Seconds/1e6)
		}
		results = append(results, part...)
		if err != nil {
			return results, err
		}
	}
	return results, nil
}

// runLanczos finds extremal eigenpairs by Lanczos and by the full
// eigendecomposition.
func runLanczos(ctx context.Context, env *Env) ([]Result, error) {
	var results []Result
	for _, c := range []struct {
		n     int
		which lanczos.Which
		name  string
	}{
		{102, lanczos.Smallest, "smallest"},
		{500, lanczos.Smallest, "smallest"},
		{pick(env, 1000, 2000), lanczos.Smallest, "smallest"},
		{pick(env, 1000, 2000), lanczos.Largest, "largest"},
	} {
		A := randomSymmetric(env, c.n)
		op := linop.NewDense(A, env.Backend)
		var all []contender
		for _, tol := range []float64{1e-3, 1e-10} {
			w := new(lanczos.Workspace)
			name := fmt.Sprintf("lanczos, tolerance %.0e", tol)
			all = append(all, contender{name: name, run: func() error {
				_, err := w.Eigs(ctx, op, lanczos.Options{Which: c.which, Tol: tol, Seed: env.Seed, Backend: env.Backend, MaxIter: 5000})
				return err
			}})
		}
		all = append(all, contender{name: "eigendecomposition", run: func() error {
			return env.Backend.Syevd(blas.Clone(A), make([]float64, c.n))
		}})
		plan := Plan{Count: env.count(5), Warm: true, MinSample: 5 * time.Millisecond, Budget: 2 * time.Second}
		part, err := race(ctx, plan, map[string]any{"n": c.n, "which": c.name, "backend": env.Backend.Name()}, all)
		results = append(results, part...)
		if err != nil {
			return results, err
		}
	}
	return results, nil
}

// randomSymmetric has standard normal elements.
func randomSymmetric(env *Env, n int) blas.General {
	rng := env.rng(uint64(n))
	A := blas.NewGeneral(n, n)
	for i := range n {
		for j := range i + 1 {
			v := rng.NormFloat64()
			A.Data[i*n+j], A.Data[j*n+i] = v, v
		}
	}
	return A
}

// factorization is a LAPACK routine with the flops it is customary to count.
type factorization struct {
	name  string
	flops func(n float64) float64
	run   func(be blas.Backend, a blas.General) error
}

var factorizations = []factorization{
	{"cholesky", func(n float64) float64 { return n * n * n / 3 }, func(be blas.Backend, a blas.General) error {
		for i := range a.Rows {
			a.Data[i*a.Stride+i] += 4 * float64(a.Rows) // positive definite
		}
		if !be.Potrf(a) {
			return fmt.Errorf("cholesky of order %d: not positive definite", a.Rows)
		}
		return nil
	}},
	{"tridiagonal reduction", func(n float64) float64 { return 4 * n * n * n / 3 }, func(be blas.Backend, a blas.General) error {
		be.Sytrd(a, make([]float64, a.Rows), make([]float64, a.Rows-1), make([]float64, a.Rows-1))
		return nil
	}},
	{"eigendecomposition", func(n float64) float64 { return 9 * n * n * n }, func(be blas.Backend, a blas.General) error {
		return be.Syevd(a, make([]float64, a.Rows))
	}},
}

// runEigen measures the factorizations behind the exact solvers with every backend.
func runEigen(ctx context.Context, env *Env) ([]Result, error) {
	limits := env.Limits()
	var results []Result
	for _, n := range pick(env, []int{300, 600}, []int{500, 1000, 1500, 3000}) {
		A := randomSymmetric(env, n)
		for _, f := range factorizations {
			var all []contender
			for _, be := range blas.Backends() {
				if be.Name() == "gonum" && n > pick(env, 300, 1000) {
					continue // tens of seconds that show nothing new
				}
				all = append(all, contender{name: be.Name(), run: func() error { return f.run(be, blas.Clone(A)) }})
			}
			plan := Plan{Count: env.count(5), Warm: n < 1000, Budget: 3 * time.Second}
			part, err := race(ctx, plan, map[string]any{"routine": f.name, "n": n, "precision": "float64"}, all)
			for i := range part {
				part[i].rate(f.flops(float64(n)), 0, limits.Peak("float64", env.Threads), 0)
			}
			results = append(results, part...)
			if err != nil {
				return results, err
			}
		}
	}
	return results, nil
}
