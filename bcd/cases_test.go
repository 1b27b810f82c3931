package bcd

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// gaussian is the Gaussian Gram matrix exp(−‖x−z‖²/(width·median)) of the rows
// of X, with the median of the squared distances.
func gaussian(X blas.General, width float64, prec blas.Precision) *blas.Sym {
	l := X.Rows
	K := blas.NewGeneral(l, l)
	blas.Mul(blas.Active(), K, false, true, X, X)
	sq := make([]float64, l)
	for i := range l {
		sq[i] = K.Data[i*l+i]
	}
	var all []float64
	for i := range l {
		for j := range l {
			K.Data[i*l+j] = math.Max(sq[i]+sq[j]-2*K.Data[i*l+j], 0)
			if i < j && (i*31+j)%7 == 0 {
				all = append(all, K.Data[i*l+j])
			}
		}
	}
	slices.Sort(all)
	scale := width * all[len(all)/2]
	for i, v := range K.Data {
		K.Data[i] = math.Exp(-v / scale)
	}
	return blas.SymFrom(K, prec)
}

// caltech has the shape of Caltech-101: classes of perClass samples in 20
// superclasses, 10 views of 40 features with a Gaussian kernel each, one-hot targets.
func caltech(classes, perClass int) (*linop.GramSum, blas.General) {
	rng := rand.New(rand.NewPCG(7, 11))
	l := classes * perClass
	Y := blas.NewGeneral(l, classes)
	for i := range l {
		Y.Data[i*classes+i/perClass] = 1
	}
	var terms []*blas.Sym
	for view := range 10 {
		super, own := randn(rng, 20, 40), randn(rng, classes, 40)
		X := randn(rng, l, 40)
		noise := 1 + 0.35*float64(view)
		for i := range l {
			c := i / perClass
			row := blas.Row(X, i)
			for k := range row {
				row[k] = noise*row[k] + super.Data[(c%20)*40+k] + 0.8*own.Data[c*40+k]
			}
		}
		terms = append(terms, gaussian(X, 1, blas.Float64))
	}
	return linop.NewGramSum(terms, nil, blas.Float64), Y
}

func randn(rng *rand.Rand, r, c int) blas.General {
	a := blas.NewGeneral(r, c)
	for i := range a.Data {
		a.Data[i] = rng.NormFloat64()
	}
	return a
}

// sparse has 10 inputs with 13 widths each, of which the first three inputs matter.
func sparse(l, n int) (*linop.GramSum, blas.General) {
	rng := rand.New(rand.NewPCG(3, 5))
	X, mix := blas.NewGeneral(l, 10), randn(rng, 3, n)
	Y := blas.NewGeneral(l, n)
	for i := range X.Data {
		X.Data[i] = 4*rng.Float64() - 2
	}
	for i := range l {
		x, y := blas.Row(X, i), blas.Row(Y, i)
		for k, s := range []float64{math.Sin(2 * x[0]), x[1] * x[1] / 2, math.Exp(-x[2])/2 - 1} {
			blas.Axpy(s, blas.Row(mix, k), y)
		}
		for j := range y {
			y[j] += 0.1 * rng.NormFloat64()
		}
	}
	standardise(Y)
	var terms []*blas.Sym
	for k := range 10 {
		for w := -6; w <= 6; w++ {
			K := blas.NewGeneral(l, l)
			for i := range l {
				for j := range l {
					d := (X.Data[i*10+k] - X.Data[j*10+k]) / math.Pow(2, float64(w))
					K.Data[i*l+j] = math.Exp(-d * d / 2)
				}
			}
			terms = append(terms, blas.SymFrom(K, blas.Float64))
		}
	}
	return linop.NewGramSum(terms, nil, blas.Float64), Y
}

// standardise gives every column mean 0 and variance 1.
func standardise(Y blas.General) {
	for j := range Y.Cols {
		var mean, sq float64
		for i := range Y.Rows {
			mean += Y.Data[i*Y.Stride+j] / float64(Y.Rows)
		}
		for i := range Y.Rows {
			Y.Data[i*Y.Stride+j] -= mean
			sq += square(Y.Data[i*Y.Stride+j]) / float64(Y.Rows)
		}
		for i := range Y.Rows {
			Y.Data[i*Y.Stride+j] /= math.Sqrt(sq)
		}
	}
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// wideTask has many outputs that follow 30 latent ones, with two Gaussian kernels.
func wideTask(l, n int) (*linop.GramSum, blas.General) {
	rng := newRand(4)
	X, mix := randn(rng, l, 5), randn(rng, 30, n)
	latent := blas.NewGeneral(l, 30)
	W := randn(rng, 5, 30)
	blas.Mul(blas.Active(), latent, false, false, X, W)
	for i, v := range latent.Data {
		latent.Data[i] = math.Sin(v)
	}
	Y := randn(rng, l, n)
	blas.Gemm(blas.Active(), false, false, 1, latent, mix, 0.1, Y)
	terms := []*blas.Sym{gaussian(X, 1, blas.Float64), gaussian(X, 0.2, blas.Float64)}
	return linop.NewGramSum(terms, nil, blas.Float64), Y
}
