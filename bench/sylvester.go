package bench

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

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

// The grid of systems.
var (
	gridSamples = []int{250, 500, 1000, 2000, 4000}
	gridOutputs = []int{1, 10, 30, 100, 300, 1000}
	gridSpectra = []string{"decaying", "identity", "rank 5"}
	gridLambdas = []float64{1e-2, 1e-4, 1e-6}
)

// sylvesterParts names the parts of the grid by their size, lxn.
func sylvesterParts() []string {
	var parts []string
	for _, l := range gridSamples {
		for _, n := range gridOutputs {
			parts = append(parts, fmt.Sprintf("%dx%d", l, n))
		}
	}
	return append(parts, "3060x102")
}

// sylvesterPieces are the parts with one λ each.
func sylvesterPieces() []string {
	var pieces []string
	for _, part := range sylvesterParts() {
		for _, lambda := range gridLambdas {
			pieces = append(pieces, fmt.Sprintf("%s@%g", part, lambda))
		}
	}
	return pieces
}

// sylvesterGrid is one part of the grid. A quick run keeps five points in all.
func sylvesterGrid(env *Env, part string) []system {
	size, at, _ := strings.Cut(part, "@")
	var l, n int
	if _, err := fmt.Sscanf(size, "%dx%d", &l, &n); err != nil {
		return nil
	}
	lambdas := gridLambdas
	if lambda, err := strconv.ParseFloat(at, 64); err == nil {
		lambdas = []float64{lambda}
	}
	switch {
	case env.Quick && part == "1000x1":
		return []system{{1000, 1, "decaying", 1e-3}}
	case env.Quick && part == "500x10":
		return []system{{500, 20, "decaying", 1e-3}}
	case env.Quick && part == "1000x100":
		return []system{{1000, 50, "decaying", 1e-3}, {1000, 50, "identity", 1e-3}, {1000, 50, "decaying", 1e-5}}
	case env.Quick:
		return nil
	case part == "3060x102":
		return []system{{l, n, "decaying", 1e-3}, {l, n, "decaying", 1e-5}}
	}
	var grid []system
	for _, lambda := range lambdas {
		for _, spectrum := range gridSpectra {
			if n > 1 || spectrum == gridSpectra[0] { // there is only one L of one output
				grid = append(grid, system{l, n, spectrum, lambda})
			}
		}
	}
	return grid
}

// whole says that every solver shall run to its end: at the points where growth
// with l is seen, and outside the grid.
func (s system) whole(env *Env) bool {
	return env.Quick || s.n == 102 || s.n == 100 && s.spectrum == "decaying" && s.lambda == 1e-4
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

// runSylvester times every solver at every point of a part of the grid.
func runSylvester(ctx context.Context, env *Env, part string) ([]Result, error) {
	var results []Result
	var c *contest
	for _, s := range sylvesterGrid(env, part) {
		if c == nil || c.K.Dim() != s.l {
			grams, err := gaussianGram(ctx, env, s.l)
			if err != nil {
				return results, err
			}
			K := linop.NewGramSum(grams, env.Backend, blas.Float64)
			K.SetWeights([]float64{1})
			c = &contest{env: env, K: K}
		}
		names := slices.DeleteFunc(sylvester.Names(), func(name string) bool { return s.absent(env, name) })
		point := c.compete(ctx, names, s)
		judgeChoice(point)
		results = append(results, point...)
		if ctx.Err() != nil {
			return results, ctx.Err()
		}
		env.Log("  l = %d, n = %d, L %s, λ = %g", s.l, s.n, s.spectrum, s.lambda)
	}
	return results, nil
}

// absent reports whether a solver is left out at a point: the general ones where
// not every solver runs to its end, and where they would take longer than the
// limit, which cannot stop them on their way, by their operation counts at speeds
// that no machine of two processors has exceeded.
func (s system) absent(env *Env, name string) bool {
	l, n := float64(s.l), float64(s.n)
	expected := 0.0
	switch name {
	case "bartels-stewart":
		expected = 25 * (l*l*l + n*n*n) / 4e10
	case "hessenberg-schur":
		expected = (5*l*l*l+25*n*n*n)/4e10 + n*l*l/4e8
	default:
		return false
	}
	return !s.whole(env) || expected > sylvesterLimit(env)
}
