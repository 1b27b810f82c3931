package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
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

// sylvesterParts names the parts of the grid: lxn for a size, spectra:l for every
// spectrum with every λ.
func sylvesterParts() []string {
	var parts []string
	for _, l := range []int{250, 500, 1000, 2000, 4000} {
		for _, n := range []int{1, 10, 100, 1000} {
			parts = append(parts, fmt.Sprintf("%dx%d", l, n))
		}
	}
	return append(parts, "3060x102", "spectra500", "spectra2000")
}

// sylvesterGrid is one part of the grid. A quick run keeps five points in all.
func sylvesterGrid(env *Env, part string) []system {
	var l, n int
	if _, err := fmt.Sscanf(part, "%dx%d", &l, &n); err == nil {
		grid := []system{{l, n, "decaying", 1e-3}}
		switch {
		case part == "3060x102" && !env.Quick:
			return append(grid, system{l, n, "decaying", 1e-5})
		case env.Quick && part == "500x10":
			return []system{{500, 20, "decaying", 1e-3}}
		case env.Quick && part == "1000x100":
			return []system{{1000, 50, "decaying", 1e-3}, {1000, 50, "identity", 1e-3}, {1000, 50, "decaying", 1e-5}}
		case env.Quick && part != "1000x1":
			return nil
		}
		return grid
	}
	if _, err := fmt.Sscanf(part, "spectra%d", &l); err != nil || env.Quick {
		return nil
	}
	var grid []system
	for _, lambda := range []float64{1e-2, 1e-3, 1e-4, 1e-5, 1e-6} {
		for _, spectrum := range []string{"decaying", "identity", "full", "rank 5"} {
			if spectrum != "decaying" || lambda != 1e-3 { // that one is among the sizes
				grid = append(grid, system{l, 100, spectrum, lambda})
			}
		}
	}
	return grid
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

// sylvesterLimit is how long one solve may take before it is stopped.
func sylvesterLimit(env *Env) float64 { return pick(env, 0.25, 8) }

// together is the largest l at which the solvers take turns; above, where memory
// is scarce and a solve is long, each has its repetitions at once.
const together = 1000

// rival is one solver at one point of the grid.
type rival struct {
	Result
	solver sylvester.Solver
	C      blas.General
	res    sylvester.Result
	err    error
	spent  float64 // seconds of the last solve
}

// hopeless reports whether a solver that cannot be stopped on its way would take
// longer than the limit: the general ones, by their operation counts at speeds
// that no machine of two processors has exceeded.
func (s system) hopeless(env *Env, name string) bool {
	l, n := float64(s.l), float64(s.n)
	expected := 0.0
	switch name {
	case "bartels-stewart":
		expected = 25 * (l*l*l + n*n*n) / 4e10
	case "hessenberg-schur":
		expected = (5*l*l*l+25*n*n*n)/4e10 + n*l*l/4e8
	}
	return expected > sylvesterLimit(env)
}

// runSylvester times every solver at every point of a part of the grid. Iterative
// solvers are new at each repetition, so that their preparation counts; a second
// solve, warm-started, after L has changed, is in the metrics.
func runSylvester(ctx context.Context, env *Env, part string) ([]Result, error) {
	var results []Result
	for _, s := range sylvesterGrid(env, part) {
		grams, err := gaussianGram(ctx, env, s.l)
		if err != nil {
			return results, err
		}
		K := linop.NewGramSum(grams, env.Backend, blas.Float64)
		K.SetWeights([]float64{1})
		names := slices.DeleteFunc(sylvester.Names(), func(name string) bool { return s.hopeless(env, name) })
		point := compete(ctx, env, names, s, K, outputKernel(env, s.n, s.spectrum), targets(env, K, s.n))
		judgeChoice(point)
		results = append(results, point...)
		if ctx.Err() != nil {
			return results, ctx.Err()
		}
		env.Log("  l = %d, n = %d, L %s, λ = %g", s.l, s.n, s.spectrum, s.lambda)
	}
	return results, nil
}

// compete times the named solvers at one point.
func compete(ctx context.Context, env *Env, names []string, s system, K linop.Operator, L *linop.Spectral, Y blas.General) []Result {
	sys := sylvester.System{K: K, L: L, Mu: s.lambda * float64(s.l)}
	opt := sylvester.Options{Tol: sylvesterTol, MaxIter: 3000}
	size := len(names)
	if s.l > together {
		size = 1
	}
	var out []Result
	for len(names) > 0 && ctx.Err() == nil {
		var variants []Variant
		var group []*rival
		for _, name := range names[:min(size, len(names))] {
			c := &rival{C: blas.NewGeneral(s.l, s.n), Result: Result{Name: name, Params: map[string]any{
				"l": s.l, "n": s.n, "spectrum": s.spectrum, "lambda": s.lambda, "tol": sylvesterTol,
			}}}
			group = append(group, c)
			variants = append(variants, c.variant(ctx, env, sys, Y, opt))
		}
		names = names[len(group):]
		samples, _ := Interleave(ctx, Plan{Count: env.count(5), Budget: seconds(sylvesterLimit(env) / 4)}, variants)
		for i, c := range group {
			if c.close(ctx, env, samples[i], sys, Y, opt); c.Count > 0 || c.Error != "" {
				out = append(out, c.Result)
			}
		}
	}
	return out
}

// variant is a solve from nothing. After one that fails, the others do nothing.
func (c *rival) variant(ctx context.Context, env *Env, sys sylvester.System, Y blas.General, opt sylvester.Options) Variant {
	return Variant{
		Prepare: func() {
			blas.Zero(c.C)
			c.solver = nil
			runtime.GC() // what the solver before has left is not this one's to clear
		},
		Run: func() error {
			if c.err != nil {
				return nil
			}
			limited, cancel := context.WithTimeout(ctx, seconds(sylvesterLimit(env)))
			defer cancel()
			began := time.Now()
			if c.solver, c.err = sylvester.New(c.Name, sylvester.Config{Backend: env.Backend, Seed: env.Seed}); c.err == nil {
				c.res, c.err = c.solver.Solve(limited, c.C, sys, Y, opt)
			}
			c.spent = time.Since(began).Seconds()
			c.Stopped = c.err != nil && limited.Err() != nil && ctx.Err() == nil
			return nil
		},
	}
}

// close makes the result of the samples, and times a second solve.
func (c *rival) close(ctx context.Context, env *Env, samples []float64, sys sylvester.System, Y blas.General, opt sylvester.Options) {
	switch {
	case ctx.Err() != nil:
	case c.Stopped:
		c.time([]float64{c.spent})
	case c.err != nil:
		c.Error = c.err.Error()
	default:
		c.time(samples)
		c.Residual = Num(c.res.Residual)
		c.metric("columns_multiplied", float64(c.res.Columns))
		if c.res.Solver != c.Name {
			c.Params["chosen"] = c.res.Solver
		}
		limited, cancel := context.WithTimeout(ctx, seconds(sylvesterLimit(env)))
		defer cancel()
		if err := c.again(limited, c.solver, c.C, sys, Y, opt); err != nil {
			c.Error = err.Error()
		}
	}
	c.solver = nil
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
