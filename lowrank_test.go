package iokl

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/internal/base/deadline"
)

var everyRank = flag.Bool("every-rank", false, "fit Gram matrices of low rank at all orders, inputs and λ")

// correlated returns l normal inputs in d dimensions and n outputs that share a few
// quadratic functions of them, with noise.
func correlated(rng *rand.Rand, l, d, n int) (X, Y *mat.Dense) {
	X, Y = mat.NewDense(l, d, nil), mat.NewDense(l, n, nil)
	const shared = 4
	hidden, mix := mat.NewDense(l, shared, nil), mat.NewDense(shared, n, nil)
	fill := func(m *mat.Dense) {
		data := m.RawMatrix().Data
		for i := range data {
			data[i] = rng.NormFloat64()
		}
	}
	fill(X)
	fill(mix)
	for i := range l {
		for k := range shared {
			hidden.Set(i, k, X.At(i, k%d)*X.At(i, (k+1)%d)+X.At(i, (k+2)%d))
		}
	}
	fill(Y)
	Y.Scale(0.1, Y)
	var F mat.Dense
	F.Mul(hidden, mix)
	Y.Add(Y, &F)
	return X, Y
}

// TestLowRankKernelEnds fits by a quadratic kernel, whose Gram matrix has the rank
// (d+1)(d+2)/2 whatever the order, by three solvers of the linear systems: all end,
// at the same objective.
func TestLowRankKernelEnds(t *testing.T) {
	orders, dims, lambdas, limit := []int{300}, []int{5, 8}, []float64{1e-4, 1e-8}, time.Minute
	if *everyRank {
		orders, dims, lambdas = []int{300, 700, 1200}, []int{5, 6, 7, 8, 9, 10}, []float64{1e-4, 1e-6, 1e-8}
	}
	for _, l := range orders {
		for _, d := range dims {
			X, Y := correlated(rand.New(rand.NewPCG(uint64(l), uint64(d))), l, d, 30)
			for _, lambda := range lambdas {
				t.Run(fmt.Sprintf("l=%d/d=%d/lambda=%g", l, d, lambda), func(t *testing.T) {
					best := map[string]float64{}
					for _, name := range []string{"auto", "nystrom", "eigen"} {
						begin := time.Now()
						deadline.Run(t, limit, func() {
							m, err := Fit(bg, X, Y, Options{
								Kernels: []string{"poly:2:all"}, Lambda: lambda,
								Sylvester: name,
							})
							if err != nil && !errors.Is(err, bcd.ErrNotConverged) {
								t.Fatalf("%s: %v", name, err)
							}
							best[name] = m.Certificate().Objective
							t.Logf("%s: objective %.10g, relative gap %.2g, %.2f s, %v", name, best[name],
								m.Certificate().RelativeGap, time.Since(begin).Seconds(), err)
						})
					}
					for name, v := range best {
						if !(math.Abs(v-best["eigen"]) <= 1e-4*best["eigen"]) {
							t.Errorf("%s ends at %.10g, eigen at %.10g", name, v, best["eigen"])
						}
					}
				})
			}
		}
	}
}
