package iokl

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// BenchmarkPredict predicts 100,000 new points with models of 2000 samples, 20 inputs
// and 20 outputs. GFLOP/s counts the products alone: 2tl(d+n), distances and outputs.
func BenchmarkPredict(b *testing.B) {
	const t, l, d, n = 100_000, 2000, 20, 20
	rng := rand.New(rand.NewPCG(1, 2))
	random := func(r, c int) *mat.Dense {
		m := mat.NewDense(r, c, nil)
		m.Apply(func(_, _ int, _ float64) float64 { return rng.NormFloat64() }, m)
		return m
	}
	X, Xt, dst := random(l, d), random(t, d), mat.NewDense(t, n, nil)
	Y := mat.NewDense(l, n, nil)
	Y.Mul(X, random(d, n))
	for _, kernels := range [][]string{
		{"gaussian:all:median"},
		{"gaussian:all:median*0.5,1,2"},
		{"matern52:all:median"},
		{"linear:all"},
		{"gaussian:each:median"},
	} {
		m, err := Fit(bg, X, Y, Options{Kernels: kernels, Lambda: 1e-2, Learn: "none"})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("kernels=%s", kernels[0]), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := m.PredictTo(dst, Xt); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(2*t*l*(d+n)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}
