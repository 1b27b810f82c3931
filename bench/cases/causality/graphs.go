// This file is the case lotka, and finds causal graphs by correlations and F tests, baselines for package granger.

package causality

import (
	"context"
	"fmt"
	"math"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/data"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/granger"
)

func init() {
	bench.Register(bench.Case{
		Name:     "lotka",
		Does:     "who eats whom among many species",
		Run:      runLotka,
		Conclude: concludeGraphs,
	})
}

// lagMoments are second moments of standardized series over the pairs of one row
// and the next within a replicate: C_jk of x_j(t−1) and x_k(t−1), R_ij of x_i(t)
// and x_j(t−1), and the number of pairs.
func lagMoments(be blas.Backend, d *granger.Data) (C, R blas.General, pairs int) {
	X, Y := pastAndPresent(d, 1)
	data.Standardise(X, blas.General{})
	data.Standardise(Y, blas.General{})
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

// runLotka finds who eats whom among many species of prey and predators, each
// with two of the other kind.
func runLotka(ctx context.Context, env *bench.Env) ([]bench.Result, error) {
	species, T := bench.Pick(env, 6, 20), bench.Pick(env, 400, 1000)
	var networks []network
	for seed := range bench.Pick[uint64](env, 1, 3) {
		g := granger.LotkaVolterra(species, 2, T, env.Seed+seed)
		networks = append(networks, network{
			fmt.Sprintf("%d+%d species #%d", species, species, seed+1), g.Data, g.Truth,
		})
	}
	return runNetworks(ctx, env, networks)
}
