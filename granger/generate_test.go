package granger

import (
	"math"
	"math/rand/v2"

	"github.com/iokl/iokl/blas"
)

// LinearVAR simulates x_t = Σ_k A_k·x_{t−k} + noise·ε_t, where each variable is
// driven by itself and by `drivers` others chosen at random, at a lag chosen at
// random up to lag. The coefficients are scaled so that each row's magnitudes sum
// to 0.8: the system is stable. No drivers make the variables independent.
func LinearVAR(N, T, lag, drivers int, noise float64, seed uint64) Generated {
	if N < 1 || T < 1 || lag < 1 || drivers < 0 || drivers >= N {
		panic("granger: LinearVAR: sizes that make no system")
	}
	const burn = 200
	rng := rand.New(rand.NewPCG(seed, 1980))
	g := newGenerated(N, T)
	type term struct {
		source, lag int
		weight      float64
	}
	model := make([][]term, N)
	for i := range N {
		model[i] = []term{{i, 1, 1}}
		for _, j := range rng.Perm(N) {
			if j != i && len(model[i]) <= drivers {
				model[i] = append(model[i], term{j, 1 + rng.IntN(lag), math.Copysign(0.5+rng.Float64(),
					rng.Float64()-0.5)})
			}
		}
		var sum float64
		for _, m := range model[i] {
			sum += math.Abs(m.weight)
		}
		for k := range model[i] {
			model[i][k].weight *= 0.8 / sum
			g.Truth.Data[i*N+model[i][k].source] = 1
		}
	}
	x := blas.NewGeneral(T+burn+lag, N)
	for t := lag; t < x.Rows; t++ {
		for i := range N {
			v := noise * rng.NormFloat64()
			for _, m := range model[i] {
				v += m.weight * x.Data[(t-m.lag)*N+m.source]
			}
			x.Data[t*N+i] = v
		}
	}
	blas.Copy(g.Data.X, blas.View(x, burn+lag, 0, T, N))
	return g
}
