// This file finds causal graphs by correlations, F tests and partial correlations, baselines for package granger.

package causality

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

// lagMoments are second moments of standardized series over the pairs of one row
// and the next within a replicate: C_jk of x_j(t−1) and x_k(t−1), R_ij of x_i(t)
// and x_j(t−1), and the number of pairs.
func lagMoments(be blas.Backend, d *granger.Data) (C, R blas.General, pairs int) {
	X, Y := standardPairs(d, 1)
	N, l := X.Cols, float64(X.Rows)
	C, R = blas.NewGeneral(N, N), blas.NewGeneral(N, N)
	blas.Gemm(be, true, false, 1/l, X, X, 0, C)
	blas.Gemm(be, true, false, 1/l, Y, X, 0, R)
	return C, R, X.Rows
}

// correlationGraph is |R|: the correlation of each series with the last value of each.
func correlationGraph(_ context.Context, env *bench.Env, d *granger.Data) (blas.General, error) {
	_, G, _ := lagMoments(env.Backend, d)
	for k, v := range G.Data {
		G.Data[k] = math.Abs(v)
	}
	return G, nil
}

// pairGraph is the F statistic, with one lag, of adding source j to the target's
// own past, F = ρ²(l−3)/(1−ρ²) of the partial correlation
//
//	ρ = (R_ij − R_ii·C_ij)/√((1−R_ii²)(1−C_ij²)),
//
// and on the diagonal that of the own past. All pairs have the same degrees of
// freedom, so F ranks as the p-value does.
func pairGraph(_ context.Context, env *bench.Env, d *granger.Data) (blas.General, error) {
	C, R, pairs := lagMoments(env.Backend, d)
	N, l := R.Rows, float64(pairs)
	G := blas.NewGeneral(N, N)
	for i := range N {
		own := R.Data[i*N+i]
		for j := range N {
			rho, free := own, l-2
			if i != j {
				c := C.Data[i*N+j]
				rho, free = (R.Data[i*N+j]-own*c)/math.Sqrt((1-own*own)*(1-c*c)), l-3
			}
			G.Data[i*N+j] = rho * rho * free / (1 - rho*rho)
		}
	}
	return G, nil
}

// conditionalGraph is |ρ| of x_i(t) and x_j(t−1) given the parents of both, in two stages after PCMCI
// (Runge et al., doi:10.1126/sciadv.aau4996) with partial correlations and one lag.
func conditionalGraph(_ context.Context, env *bench.Env, d *granger.Data) (blas.General, error) {
	past, Y := pastAndPresent(d, 2) // x(t−1), x(t−2)
	N, l := Y.Cols, Y.Rows
	all := blas.SideBySide(Y, past) // x(t), x(t−1), x(t−2)
	data.Standardise(all, blas.General{})
	C := blas.NewGeneral(3*N, 3*N)
	blas.Gemm(env.Backend, true, false, 1/float64(l), all, all, 0, C)
	c := conditioning{C, l}
	var before []int // x(t−1)
	for j := range N {
		before = append(before, N+j)
	}
	parents := make([][]int, N)
	for i := range parents {
		parents[i] = c.parents(i, before)
	}
	G := blas.NewGeneral(N, N)
	for i := range N {
		for j := range N {
			var given []int
			for _, p := range parents[i] {
				if p != N+j {
					given = append(given, p)
				}
			}
			for _, p := range parents[j] {
				given = append(given, p+N) // a step earlier
			}
			G.Data[i*N+j] = math.Abs(c.partial(i, N+j, given))
		}
	}
	return G, nil
}

// conditioning tests conditional independence by a correlation matrix of l samples.
type conditioning struct {
	C blas.General
	l int
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
