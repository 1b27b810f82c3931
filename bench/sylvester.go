package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/sylvester"
)

// sylvesterTol is the true relative residual that iterative solvers are asked for.
const sylvesterTol = 1e-6

// system is one point of the grid: K·C·L + λl·C = Y.
type system struct {
	l, n     int
	spectrum string // of L
	lambda   float64
}

// sylvesterGrid varies one thing at a time around the shape of the paper's large
// experiment, then the sizes together.
func sylvesterGrid(env *Env) []system {
	if env.Quick {
		return []system{
			{500, 20, "decaying", 1e-3},
			{1000, 1, "decaying", 1e-3},
			{1000, 50, "decaying", 1e-3},
			{1000, 50, "identity", 1e-3},
			{1000, 50, "decaying", 1e-5},
		}
	}
	var grid []system
	for _, l := range []int{250, 500, 1000, 2000, 3060, 4000} {
		for _, n := range []int{1, 10, 102, 1000} {
			if n < l {
				grid = append(grid, system{l, n, "decaying", 1e-3})
			}
		}
	}
	return append(grid,
		system{3060, 102, "decaying", 1e-5},
		system{2000, 102, "identity", 1e-3}, system{2000, 102, "full", 1e-3}, system{2000, 102, "rank 5", 1e-3},
		system{2000, 102, "decaying", 1e-2}, system{2000, 102, "decaying", 1e-4}, system{2000, 102, "decaying", 1e-5}, system{2000, 102, "decaying", 1e-6})
}

// outputKernel is an n×n L of trace n with the named spectrum and random eigenvectors.
func outputKernel(env *Env, n int, spectrum string) *linop.Spectral {
	rank := n
	value := func(j int) float64 { return math.Pow(0.9, float64(j)) } // decaying
	switch spectrum {
	case "identity":
		value = func(int) float64 { return 1 }
	case "full":
		value = func(j int) float64 { return 1 + float64(rank-j)/float64(rank) }
	case "rank 5":
		rank = min(5, n)
	}
	rng := env.rng(uint64(n))
	L := &linop.Spectral{V: blas.NewGeneral(n, rank), S: make([]float64, rank)}
	for i := range L.V.Data {
		L.V.Data[i] = rng.NormFloat64()
	}
	env.Backend.QR(L.V, blas.General{})
	var trace float64
	for j := range L.S {
		L.S[j] = value(j)
		trace += L.S[j]
	}
	blas.Scal(float64(n)/trace, L.S)
	return L
}

// gaussianGram is the Gram matrix exp(−γ‖x−z‖²), γ = 0.05, of l samples of ten
// standard normal inputs.
func gaussianGram(ctx context.Context, env *Env, l int) ([]*blas.Sym, error) {
	rng := env.rng(uint64(l))
	X := blas.NewGeneral(l, 10)
	for i := range X.Data {
		X.Data[i] = rng.NormFloat64()
	}
	d, err := kernel.Build([]string{fmt.Sprintf("gaussian:all:%v", math.Sqrt(1/(2*0.05)))}, X, nil, env.Seed)
	if err != nil {
		return nil, err
	}
	return d.Grams(ctx, X, kernel.GramOptions{Backend: env.Backend})
}

// targets are smooth functions of the samples with noise: Y = K·A + 0.1·noise.
func targets(env *Env, K linop.Operator, n int) blas.General {
	rng := env.rng(uint64(7*K.Dim() + n))
	A, Y := blas.NewGeneral(K.Dim(), n), blas.NewGeneral(K.Dim(), n)
	for i := range A.Data {
		A.Data[i] = rng.NormFloat64()
	}
	K.Apply(Y, A)
	scale := math.Sqrt(float64(len(Y.Data))) / blas.Frob(Y)
	for i := range Y.Data {
		Y.Data[i] = Y.Data[i]*scale + 0.1*rng.NormFloat64()
	}
	return Y
}

// sylvesterLimit is how long one solve may take: a solver expected to need more
// by its growth from smaller l is left out.
func sylvesterLimit(env *Env) float64 { return pick(env, 0.25, 12) }

// runSylvester times every solver at every point of the grid. Iterative solvers
// are new at each repetition, so that their preparation counts; a second solve,
// warm-started, after L has changed, is in the metrics.
func runSylvester(ctx context.Context, env *Env) ([]Result, error) {
	var results []Result
	last := map[string]system{}  // the largest l each solver was run at, and
	took := map[string]float64{} // its time there
	for _, s := range sylvesterGrid(env) {
		grams, err := gaussianGram(ctx, env, s.l)
		if err != nil {
			return results, err
		}
		K := linop.NewGramSum(grams, env.Backend, blas.Float64)
		K.SetWeights([]float64{1})
		Y, L := targets(env, K, s.n), outputKernel(env, s.n, s.spectrum)
		for _, name := range sylvester.Names() {
			if expected := took[name] * math.Pow(float64(s.l)/float64(max(1, last[name].l)), 2.8); s.l > last[name].l && expected > sylvesterLimit(env) {
				continue
			}
			r, err := solveSystem(ctx, env, name, s, K, L, Y)
			if err != nil && ctx.Err() == nil {
				r.Error = err.Error()
			}
			if r.Count > 0 || r.Error != "" {
				results = append(results, r)
			}
			if ctx.Err() != nil {
				return results, ctx.Err()
			}
			last[name], took[name] = s, r.Seconds
		}
		env.Log("  l = %d, n = %d, L %s, λ = %g", s.l, s.n, s.spectrum, s.lambda)
	}
	return results, nil
}

// solveSystem times one solver, which is stopped at four times the limit.
func solveSystem(ctx context.Context, env *Env, name string, s system, K linop.Operator, L *linop.Spectral, Y blas.General) (Result, error) {
	r := Result{Name: name, Params: map[string]any{
		"l": s.l, "n": s.n, "spectrum": s.spectrum, "lambda": s.lambda, "tol": sylvesterTol,
	}}
	sys := sylvester.System{K: K, L: L, Mu: s.lambda * float64(s.l)}
	opt := sylvester.Options{Tol: sylvesterTol, MaxIter: 3000}
	limited, cancel := context.WithTimeout(ctx, seconds(4*sylvesterLimit(env)))
	defer cancel()
	var solver sylvester.Solver
	var res sylvester.Result
	var began time.Time
	C := blas.NewGeneral(s.l, s.n)
	samples, err := Interleave(ctx, Plan{Count: env.count(5), Budget: seconds(sylvesterLimit(env) / 4)}, []Variant{{
		Prepare: func() { blas.Zero(C) },
		Run: func() (err error) {
			began = time.Now()
			solver, err = sylvester.New(name, sylvester.Config{Backend: env.Backend, Seed: env.Seed})
			if err != nil {
				return err
			}
			res, err = solver.Solve(limited, C, sys, Y, opt)
			return err
		},
	}})
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		r.Stopped, err = true, nil
		if len(samples[0]) == 0 {
			r.time([]float64{time.Since(began).Seconds()})
			return r, nil
		}
	}
	r.time(samples[0])
	if err != nil || r.Stopped {
		return r, err
	}
	r.Residual = Num(res.Residual)
	r.metric("columns_multiplied", float64(res.Columns))
	if res.Solver != name {
		r.Params["chosen"] = res.Solver
	}
	return r, r.again(limited, solver, C, sys, Y, opt)
}

// again times a second solve from the first solution, with an L whose
// eigenvalues have moved by some percent, as in the next step of a fit.
func (r *Result) again(ctx context.Context, solver sylvester.Solver, C blas.General, sys sylvester.System, Y blas.General, opt sylvester.Options) error {
	next := sys.L.Clone()
	for j := range next.S {
		next.S[j] *= 1 + 0.05*math.Sin(float64(3*j))
	}
	slices.SortFunc(next.S, func(a, b float64) int {
		switch {
		case a > b:
			return -1
		case a < b:
			return 1
		}
		return 0
	})
	sys.L = next
	start := time.Now()
	res, err := solver.Solve(ctx, C, sys, Y, opt)
	if ctx.Err() != nil {
		return nil // no time left for it
	}
	r.metric("second_seconds", time.Since(start).Seconds())
	r.metric("second_residual", res.Residual)
	if errors.Is(err, sylvester.ErrNotConverged) {
		return fmt.Errorf("second solve: %w", err)
	}
	return err
}
