package model

import (
	"cmp"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn/columns"
)

// TestPaths compares deviations and noise of targets with missing and weighted cells with those of the dense system
// over the cells.
func TestPaths(t *testing.T) {
	const l, fresh, n = 60, 20, 2
	for name, weight := range map[string]func(rng *rand.Rand) float64{
		"missing":  func(*rand.Rand) float64 { return 1 },
		"weighted": func(rng *rand.Rand) float64 { return math.Exp(rng.NormFloat64()) },
	} {
		rng := rand.New(rand.NewPCG(3, 4))
		m, x, _ := noisy(t, l, fresh, "gaussian:all:median", .3, 1e-2)
		b := m.Basis.(*Samples)
		b.CL.Data[0], b.CL.Data[1] = 1, 1 // no output is silent
		if name == "weighted" {
			m.W = blas.NewGeneral(l, n)
			for i := range m.W.Data {
				m.W.Data[i] = weight(rng)
			}
		}
		var cells [][2]int
		for i := range l {
			for j := range n {
				if rng.IntN(3) == 0 && i != j {
					m.Y.Data[i*n+j] = math.NaN()
					continue
				}
				cells = append(cells, [2]int{i, j})
			}
		}
		c, err := m.trial(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		cross := c.posterior.(*paths).cross

		// A over the cells, its inverse, and the coefficients.
		K, KX, kxx := blas.NewGeneral(l, l), blas.NewGeneral(fresh, l), make([]float64, fresh)
		if err := cross.Sum(K, b.Z); err != nil {
			t.Fatal(err)
		}
		if err := cross.Sum(KX, x); err != nil {
			t.Fatal(err)
		}
		if err := cross.Diagonal(kxx, x); err != nil {
			t.Fatal(err)
		}
		L := blas.NewGeneral(n, n)
		for i := range n {
			L.Data[i*n+i] = 1
		}
		m.L.MulRight(blas.Active(), L, L)
		A, y := mat.NewDense(len(cells), len(cells), nil), mat.NewVecDense(len(cells), nil)
		for p, a := range cells {
			for q, o := range cells {
				A.Set(p, q, K.Data[a[0]*l+o[0]]*L.Data[a[1]*n+o[1]])
			}
			A.Set(p, p, A.At(p, p)+m.Mu/columns.WeightAt(m.W, a[0], a[1]))
			y.SetVec(p, m.Y.Data[a[0]*n+a[1]])
		}
		var inverse mat.Dense
		if err := inverse.Inverse(A); err != nil {
			t.Fatal(err)
		}
		var coefficients mat.VecDense
		coefficients.MulVec(&inverse, y)

		sum, count := make([]float64, n), make([]float64, n)
		for p, a := range cells {
			// Residual without the cell, over its deviation for noise 1.
			v := coefficients.AtVec(p)
			sum[a[1]] += v * v / inverse.At(p, p) * m.Mu
			count[a[1]]++
		}
		for j, s := range c.sigma {
			if want := math.Sqrt(sum[j] / count[j]); !(math.Abs(s/want-1) <= 4/math.Sqrt(2*pathCount)/3) {
				t.Errorf("%s: noise %g of output %d, want %g", name, s, j, want)
			}
		}

		of, err := m.cellwise(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		D, exact := blas.NewGeneral(fresh, n), blas.NewGeneral(fresh, n)
		if err := cmp.Or(c.deviation(t.Context(), D, x), of.deviation(t.Context(), exact, x)); err != nil {
			t.Fatal(err)
		}
		mean := 0.0
		for i := range fresh {
			for j := range n {
				k := mat.NewVecDense(len(cells), nil)
				for p, a := range cells {
					k.SetVec(p, KX.Data[i*l+a[0]]*L.Data[j*n+a[1]])
				}
				want := (kxx[i]*L.Data[j*n+j] - mat.Inner(k, &inverse, k)) / m.Mu
				if v := exact.Data[i*n+j]; !(math.Abs(v*v-want) <= 1e-9*want) {
					t.Errorf("%s: variance %d of output %d is %g by the factor, want %g", name, i, j, v*v, want)
				}
				ratio := D.Data[i*n+j] * D.Data[i*n+j] / want
				if mean += ratio / (fresh * n); !(math.Abs(ratio-1) <= 4*math.Sqrt(2./pathCount)) {
					t.Errorf("%s: variance %d of output %d is %g of the exact one", name, i, j, ratio)
				}
			}
		}
		if !(math.Abs(mean-1) <= 4*math.Sqrt(2./pathCount)/4) {
			t.Errorf("%s: variances are %g of the exact ones in the mean", name, mean)
		}
	}
}
