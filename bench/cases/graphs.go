package cases

import (
	"cmp"
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/data"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/granger"
)

// conditioning tests conditional independence by the correlations of l samples of x(t), x(t−1), …, N series each.
type conditioning struct {
	C    blas.General
	N, l int
}

// conditioned has the correlations of the series with those so many steps back, within replicates.
func conditioned(env *bench.Env, d *granger.Data, lag int) conditioning {
	past, Y := pastAndPresent(d, lag)
	all := blas.SideBySide(Y, past)
	data.Standardise(all, blas.General{})
	c := conditioning{blas.NewGeneral(all.Cols, all.Cols), Y.Cols, Y.Rows}
	blas.Gemm(env.Backend, true, false, 1/float64(c.l), all, all, 0, c.C)
	return c
}

// graph has the strength of each edge from x_j(t−1) to x_i(t).
func (c conditioning) graph(strength func(i, j int) float64) (blas.General, error) {
	G := blas.NewGeneral(c.N, c.N)
	for i := range c.N {
		for j := range c.N {
			G.Data[i*c.N+j] = strength(i, j)
		}
	}
	return G, nil
}

// correlationGraph is the correlation of each series with the last value of each, without its sign.
func correlationGraph(_ context.Context, env *bench.Env, d *granger.Data) (blas.General, error) {
	c := conditioned(env, d, 1)
	return c.graph(func(i, j int) float64 { return math.Abs(c.partial(i, c.N+j, nil)) })
}

// pairGraph is the F statistic, with one lag, of adding source j to the target's own past, F = ρ²(l−3)/(1−ρ²) of their
// partial correlation given that past, and on the diagonal that of the own past. All pairs have the same degrees of
// freedom, so F ranks as the p-value does.
func pairGraph(_ context.Context, env *bench.Env, d *granger.Data) (blas.General, error) {
	c := conditioned(env, d, 1)
	return c.graph(func(i, j int) float64 {
		var own []int
		if i != j {
			own = []int{c.N + i}
		}
		rho := c.partial(i, c.N+j, own)
		return rho * rho * float64(c.l-2-len(own)) / (1 - rho*rho)
	})
}

// conditionalGraph is |ρ| of x_i(t) and x_j(t−1) given the parents of both, in two stages after PCMCI
// (Runge et al., doi:10.1126/sciadv.aau4996) with partial correlations and one lag.
func conditionalGraph(_ context.Context, env *bench.Env, d *granger.Data) (blas.General, error) {
	c := conditioned(env, d, 2)
	var before []int // x(t−1)
	for j := range c.N {
		before = append(before, c.N+j)
	}
	parents := make([][]int, c.N)
	for i := range parents {
		parents[i] = c.parents(i, before)
	}
	return c.graph(func(i, j int) float64 {
		var given []int
		for _, p := range parents[i] {
			if p != c.N+j {
				given = append(given, p)
			}
		}
		for _, p := range parents[j] {
			given = append(given, p+c.N) // a step earlier
		}
		return math.Abs(c.partial(i, c.N+j, given))
	})
}

// parents are the candidates that depend on i given any of the strongest 0, 1, 2, … others,
// the strongest first.
func (c conditioning) parents(i int, candidates []int) []int {
	const alpha = 0.2
	for size := 0; size < len(candidates); size++ {
		strength := map[int]float64{}
		var kept []int
		for k, j := range candidates {
			others := slices.Concat(candidates[:k], candidates[k+1:])
			rho := math.Abs(c.partial(i, j, others[:min(size, len(others))]))
			z := math.Atanh(math.Min(rho, 1-1e-12)) * math.Sqrt(math.Max(float64(c.l-size-3), 1))
			if 2*distuv.UnitNormal.Survival(z) <= alpha {
				kept, strength[j] = append(kept, j), rho
			}
		}
		slices.SortStableFunc(kept, func(a, b int) int { return cmp.Compare(strength[b], strength[a]) })
		candidates = kept
	}
	return candidates
}

// partial is the correlation of a and b given others: −P_ab/√(P_aa·P_bb) of the inverse P of
// their correlation matrix, 0 where that is singular.
func (c conditioning) partial(a, b int, given []int) float64 {
	idx := append([]int{a, b}, given...)
	S := mat.NewSymDense(len(idx), nil)
	for p, i := range idx {
		for q, j := range idx[:p+1] {
			S.SetSym(p, q, c.C.Data[i*c.C.Stride+j])
		}
	}
	var chol mat.Cholesky
	P := mat.NewSymDense(len(idx), nil)
	if !chol.Factorize(S) || chol.InverseTo(P) != nil {
		return 0
	}
	return -P.At(0, 1) / math.Sqrt(P.At(0, 0)*P.At(1, 1))
}
