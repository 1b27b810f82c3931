package iokl

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// BenchmarkLosses fits 50 outputs on 2000 samples of 8 inputs at one λ with weights and L learned: squares, with
// log-normal weights of cells (σ = 1), huber where one cell in twenty is grossly wrong, and 1 and 19 quantiles. It does
// so on three tables, since the time of one quantile differed by a factor of 3.6 among six of them once.
func BenchmarkLosses(b *testing.B) {
	for seed := range uint64(3) {
		b.Run(fmt.Sprintf("seed=%d", seed+1), func(b *testing.B) { benchmarkLosses(b, seed+1) })
	}
}

func benchmarkLosses(b *testing.B, seed uint64) {
	const l, d, n, factors = 2000, 8, 50, 5
	rng := rand.New(rand.NewPCG(seed, 2))
	X, F, mix := mat.NewDense(l, d, nil), mat.NewDense(l, factors, nil), mat.NewDense(factors, n, nil)
	Y, W := mat.NewDense(l, n, nil), mat.NewDense(l, n, nil)
	normal := func(i, j int, _ float64) float64 { return rng.NormFloat64() }
	X.Apply(normal, X)
	mix.Apply(normal, mix)
	F.Apply(func(i, j int, _ float64) float64 { return math.Sin(2*X.At(i, j)) + X.At(i, j+1)*X.At(i, j+2) }, F)
	Y.Mul(F, mix)
	Y.Apply(func(_, _ int, v float64) float64 { return v + rng.NormFloat64() }, Y)
	W.Apply(func(i, j int, _ float64) float64 { return math.Exp(rng.NormFloat64()) }, W)
	wild := mat.DenseCopyOf(Y)
	wild.Apply(func(_, _ int, v float64) float64 {
		if rng.Float64() < 0.05 {
			return v + 50*rng.NormFloat64()
		}
		return v
	}, wild)
	for _, c := range []struct {
		name string
		loss Loss
		Y    *mat.Dense
		W    mat.Matrix
	}{
		{name: "squared", Y: Y},
		{name: "weights", Y: Y, W: W},
		{name: "huber:0.5", loss: "huber:0.5", Y: wild},
		{name: "huber", loss: "huber", Y: wild},
		{name: "quantile:0.5", loss: "quantile:0.5", Y: Y},
		{
			name: "quantiles=19", Y: Y,
			loss: "quantile:0.5,0.05,0.1,0.15,0.2,0.25,0.3,0.35,0.4,0.45,0.55,0.6,0.65,0.7,0.75,0.8,0.85,0.9,0.95",
		},
	} {
		b.Run(strings.ReplaceAll(c.name, ":", "="), func(b *testing.B) {
			for b.Loop() {
				m, err := Fit(bg, X, c.Y, Options{
					Kernels: []string{"gaussian:all:median", "gaussian:all:median*0.5"}, Lambda: 1e-3, Loss: c.loss,
					Weights: c.W, IntervalFolds: -1,
				})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(m.Certificate().OuterIterations), "outer")
				b.ReportMetric(float64(m.Certificate().SylvesterSolves), "solves")
			}
		})
	}
}
