package granger

import (
	"fmt"
	"math/rand/v2"

	"github.com/iokl/iokl/blas"
)

// Generated is a simulated system with its true graph (row = target, column = source).
type Generated struct {
	Data  Data
	Truth blas.General
}

// Lorenz96 simulates dx_i/dt = (x_{i+1} − x_{i−2})·x_{i−1} − x_i + F with N ≥ 4
// variables on a circle by the Runge–Kutta method, ten steps to each interval dt,
// drops the first 1000 intervals, and adds normal observation noise. Each variable
// is driven by x_{i+1}, x_{i−1}, x_{i−2} and itself. (Lorenz 1996; the settings of
// Tank et al., doi:10.1109/TPAMI.2021.3065601, are dt = 0.1 and noise 0.1.)
func Lorenz96(N, T int, F, dt, noise float64, seed uint64) Generated {
	if N < 4 || T < 1 {
		panic("granger: Lorenz96: N below 4 or T below 1")
	}
	const inner, burn = 10, 1000
	rng := rand.New(rand.NewPCG(seed, 96))
	x := make([]float64, N)
	for i := range x {
		x[i] = F + 0.01*rng.NormFloat64()
	}
	g := newGenerated(N, T)
	flow := func(dx, x []float64) {
		for i := range x {
			dx[i] = (x[(i+1)%N]-x[(i+N-2)%N])*x[(i+N-1)%N] - x[i] + F
		}
	}
	step := RungeKutta(N, flow)
	for t := range T + burn {
		for range inner {
			step(x, dt/inner)
		}
		if t >= burn {
			row := blas.Row(g.Data.X, t-burn)
			for i, v := range x {
				row[i] = v + noise*rng.NormFloat64()
			}
		}
	}
	for i := range N {
		for _, j := range []int{i, i + 1, i + N - 1, i + N - 2} {
			g.Truth.Data[i*N+j%N] = 1
		}
	}
	return g
}

func newGenerated(n, T int) Generated {
	g := Generated{Data: Data{X: blas.NewGeneral(T, n)}, Truth: blas.NewGeneral(n, n)}
	for i := range n {
		g.Data.Names = append(g.Data.Names, fmt.Sprintf("x%d", i+1))
	}
	return g
}

// RungeKutta returns the classical fourth-order step x ← x + dt·Φ(x) for dx/dt = flow(x).
func RungeKutta(n int, flow func(dx, x []float64)) func(x []float64, dt float64) {
	k := make([][]float64, 4)
	for i := range k {
		k[i] = make([]float64, n)
	}
	y := make([]float64, n)
	move := func(x, d []float64, h float64) []float64 {
		copy(y, x)
		blas.Axpy(h, d, y)
		return y
	}
	return func(x []float64, dt float64) {
		flow(k[0], x)
		flow(k[1], move(x, k[0], dt/2))
		flow(k[2], move(x, k[1], dt/2))
		flow(k[3], move(x, k[2], dt))
		for i := range x {
			x[i] += dt / 6 * (k[0][i] + 2*k[1][i] + 2*k[2][i] + k[3][i])
		}
	}
}
