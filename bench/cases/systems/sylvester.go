// Package systems has the case about one linear system K·C·L + λl·C = Y: every solver
// over sizes, spectra and λ, and how well the automatic choice chooses.
package systems

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/data"
	"github.com/iokl/iokl/sylvester"
)

func init() {
	bench.Register(bench.Case{
		Name:  "sylvester",
		Topic: bench.Systems,
		Does: "one linear system K·C·L + λl·C = Y: every solver, over sizes, spectra of L and λ, in about a " +
			"quarter of an hour; one size alone is sylvester:1000x100, with one λ sylvester:4000x300@1e-06",
		Minutes:   12,
		Run:       runSylvester,
		Parts:     sylvesterParts(),
		Pieces:    sylvesterPieces(),
		Conclude:  concludeSylvester,
		Figures:   sylvesterFigures,
		Published: winners,
	})
}

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
func sylvesterGrid(env *bench.Env, part string) []system {
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

// complete tells whether no solver is stopped at a point: where the growth with l is
// shown, and outside the grid.
func (s system) complete(env *bench.Env) bool {
	return env.Quick || s.n == 102 || s.n == 100 && s.spectrum == "decaying" && s.lambda == 1e-4
}

// runSylvester times every solver at every point of a part of the grid.
func runSylvester(ctx context.Context, env *bench.Env) ([]bench.Result, error) {
	var results []bench.Result
	var c *contest
	for _, s := range sylvesterGrid(env, env.Part) {
		if c == nil || c.K.Dim() != s.l {
			K, err := data.GaussianGram(ctx, env, s.l)
			if err != nil {
				return results, err
			}
			c = &contest{env: env, K: K}
		}
		names := slices.DeleteFunc(sylvester.Names(), func(name string) bool { return s.leftOut(env, name) })
		point := c.measure(ctx, names, s)
		judgeChoice(point)
		results = append(results, point...)
		if ctx.Err() != nil {
			return results, ctx.Err()
		}
		env.Log("  l = %d, n = %d, L %s, λ = %g", s.l, s.n, s.spectrum, s.lambda)
	}
	return results, nil
}

// leftOut reports whether a solver is left out at a point: the general one where
// not every solver runs to its end, and where it would take longer than the
// limit, which cannot stop it on its way, by its operation count at a speed
// that no machine of two processors has exceeded.
func (s system) leftOut(env *bench.Env, name string) bool {
	l, n := float64(s.l), float64(s.n)
	return name == "bartels-stewart" && (!s.complete(env) || 25*(l*l*l+n*n*n)/4e10 > sylvesterLimit(env))
}
