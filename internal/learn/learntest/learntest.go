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

// Tails is n outputs of two inputs, half of whose variance is a number of each row that its inputs do not tell, and Y
// with NaN in the tails of every other row.
func Tails(l, n int, seed uint64) (X, full, Y *mat.Dense) {
	rng := rand.New(rand.NewPCG(5, seed))
	X, full, Y = mat.NewDense(l, 2, nil), mat.NewDense(l, n, nil), mat.NewDense(l, n, nil)
	for i := range l {
		a, b, own, end := rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64(), n
		X.SetRow(i, []float64{a, b})
		if i%2 == 0 {
			end = 1 + rng.IntN(n-1)
		}
		for j := range n {
			v := a + math.Sin(b)*float64(j)/float64(n) + 1.2*own + .05*rng.NormFloat64()
			full.Set(i, j, v)
			if j >= end {
				v = math.NaN()
			}
			Y.Set(i, j, v)
		}
	}
	return X, full, Y
}

// Coupled is three outputs that follow one rough function of three inputs, each with a
// tenth of its size of its own.
func Coupled(l int, seed uint64) (X, Y *mat.Dense) {
	rng := rand.New(rand.NewPCG(seed, 1))
	X, Y = mat.NewDense(l, 3, nil), mat.NewDense(l, 3, nil)
	for i := range l {
		x := X.RawRowView(i)
		for j := range x {
			x[j] = rng.NormFloat64()
		}
		f := math.Sin(3*x[0]+2*x[1]) + math.Cos(2*x[2]-3*x[1])
		for j, sign := range []float64{1, -1, 0.5} {
			Y.Set(i, j, sign*(f+0.1*rng.NormFloat64())+float64(j))
		}
	}
	return X, Y
}

// Hide puts NaN into the given share of the cells, and returns the result and how many it hid.
func Hide(Y *mat.Dense, share float64, seed uint64) (*mat.Dense, int) {
	rng, Z, count := rand.New(rand.NewPCG(seed, 2)), mat.DenseCopyOf(Y), 0
	Z.Apply(func(_, _ int, v float64) float64 {
		if rng.Float64() < share {
			count++
			return math.NaN()
		}
		return v
	}, Z)
	return Z, count
}

// HiddenError is the mean squared error of output j of F on the cells of Y that Z hides.
func HiddenError(F, Y, Z *mat.Dense, j int) float64 {
	var sum, count float64
	for i := range Y.RawMatrix().Rows {
		if math.IsNaN(Z.At(i, j)) {
			d := F.At(i, j) - Y.At(i, j)
			sum += d * d
			count++
		}
	}
	return sum / count
}
