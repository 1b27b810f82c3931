package granger_test

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/granger"
)

// lotkaVolterra simulates pairs of `species` prey x and as many predators y, in
// groups of `parents` of each that interact,
//
//	dx_i/dt = αx_i − βx_i Σ_j y_j − α(x_i/200)²,   dy_j/dt = δy_j Σ_i x_i − γy_j,
//
// with α = 1.2, β = 0.2, γ = 1.1, δ = 0.05, by the Runge–Kutta method with step
// 0.01, normal noise of standard deviation 0.1 after each step, and every tenth
// state kept (the multi-species system of Marcinkevičs and Vogt, arXiv:2101.07600).
func lotkaVolterra(species, parents, T int, seed uint64) granger.Generated {
	const (
		alpha, beta, gamma, delta = 1.2, 0.2, 1.1, 0.05
		dt, noise, every          = 0.01, 0.1, 10
	)
	n := 2 * species
	rng := rand.New(rand.NewPCG(seed, 1925))
	z := make([]float64, n)
	for i := range z {
		z[i] = 10 + 90*rng.Float64()
	}
	g := granger.Generated{Data: granger.Data{X: blas.NewGeneral(T, n)}, Truth: blas.NewGeneral(n, n)}
	for i := range n {
		g.Data.Names = append(g.Data.Names, fmt.Sprintf("s%d", i+1))
	}
	flow := func(dz, z []float64) {
		for i := range species {
			var prey, predators float64
			for k := i / parents * parents; k < (i/parents+1)*parents; k++ {
				prey, predators = prey+z[k], predators+z[species+k]
			}
			dz[i] = alpha*z[i] - beta*z[i]*predators - alpha*(z[i]/200)*(z[i]/200)
			dz[species+i] = delta*z[species+i]*prey - gamma*z[species+i]
		}
	}
	step := granger.RungeKutta(n, flow)
	for t := range T {
		copy(blas.Row(g.Data.X, t), z)
		for range every {
			step(z, dt)
			for i := range z {
				z[i] = math.Max(0, z[i]+noise*rng.NormFloat64())
			}
		}
	}
	for i := range species {
		g.Truth.Data[i*n+i], g.Truth.Data[(species+i)*n+species+i] = 1, 1
		for k := i / parents * parents; k < (i/parents+1)*parents; k++ {
			g.Truth.Data[i*n+species+k], g.Truth.Data[(species+i)*n+k] = 1, 1
		}
	}
	return g
}
