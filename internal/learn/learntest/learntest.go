// Package learntest makes small data for tests.
package learntest

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
)

// Wave is a smooth function of two of four inputs, on two correlated outputs, and one
// output of noise, in different units.
func Wave(l int, seed uint64) (X, Y *mat.Dense) {
	rng := rand.New(rand.NewPCG(seed, 1))
	X, Y = mat.NewDense(l, 4, nil), mat.NewDense(l, 3, nil)
	for i := range l {
		for j := range 4 {
			X.Set(i, j, 3*rng.NormFloat64()+10)
		}
		f := math.Sin(X.At(i, 0)/2) + X.At(i, 1)/5
		Y.SetRow(i, []float64{100 + 20*f + rng.NormFloat64(), -3 * f, rng.NormFloat64()})
	}
	return X, Y
}

// Hidden is two outputs that depend on three of nine inputs, two of them together;
// input 8 is constant.
func Hidden(l int, seed uint64) (X, Y *mat.Dense) {
	rng := rand.New(rand.NewPCG(seed, 2))
	X, Y = mat.NewDense(l, 9, nil), mat.NewDense(l, 2, nil)
	for i := range l {
		for j := range 8 {
			X.Set(i, j, rng.NormFloat64())
		}
		X.Set(i, 8, 4)
		Y.SetRow(i, []float64{
			X.At(i, 0)*X.At(i, 3) + 0.1*rng.NormFloat64(),
			math.Sin(2*X.At(i, 5)) + 0.1*rng.NormFloat64(),
		})
	}
	return X, Y
}
