package sylvester

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// With A the system of the cells and M what the factor inverts, M ≤ A ≤ (1 + cut)·M, whatever the weights are, and
// whatever K has in common with the identity.
func TestCellFactorBounds(t *testing.T) {
	const l, n = 40, 9
	be := blas.Active()
	rng := rand.New(rand.NewPCG(51, 52))
	a, b := blas.NewGeneral(l, l), blas.NewGeneral(n, n)
	for i := range a.Data {
		a.Data[i] = rng.NormFloat64() / float64(1+i%l*(i%l)) // columns of falling size
	}
	for i := range b.Data {
		b.Data[i] = rng.NormFloat64() / float64(1+i%n)
	}
	L := new(linop.Spectral)
	if err := factored(be, L, b); err != nil {
		t.Fatal(err)
	}
	weights := map[string]func() float64{
		"holes":   func() float64 { return float64(rng.IntN(2)) },
		"weights": func() float64 { return max(0, rng.Float64()-0.3) },
	}
	for _, c := range []struct {
		name  string
		shift float64
	}{{"holes", 0}, {"weights", 0}, {"holes", 0.1}, {"weights", 0.1}} {
		name, weight := fmt.Sprintf("%s, K + %gI", c.name, c.shift), weights[c.name]
		K := blas.NewGeneral(l, l)
		blas.Mul(be, K, false, true, a, a)
		for i := range l {
			K.Data[i*K.Stride+i] += c.shift
		}
		cells := linop.WeightedCells(l, n, func(int, int) float64 { return weight() })
		sys := System{K: linop.NewDense(K, be), L: L, Mu: 1e-4, Cells: cells}
		dec, err := Decompose(context.Background(), sys.K, be)
		if err != nil {
			t.Fatal(err)
		}
		exact, err := Factor(context.Background(), be, sys)
		if err != nil {
			t.Fatal(err)
		}
		var f cellFactor
		// Products that cost much ask for a small cut, those that cost nothing for a large one.
		for _, product := range []float64{1e9, 1e5, 0} {
			system := &cellSystem{near: sys, cells: cells}
			if err := f.set(context.Background(), be, dec, system, product); err != nil {
				t.Fatal(err)
			}
			x, byA, byM := blas.NewGeneral(l*n, 1), blas.NewGeneral(l*n, 1), blas.NewGeneral(l*n, 1)
			grid := blas.General{Rows: l, Cols: n, Stride: n, Data: x.Data}
			least, most := 1e300, 0.0
			for range 200 {
				for i := range x.Data {
					x.Data[i] = rng.NormFloat64()
				}
				cells.Keep(grid, grid)
				for range 3 { // towards the directions in which A is small against what M makes of them
					exact.Apply(byA, x)
					f.Apply(byM, x)
					ratio := blas.Inner(x, byM) / blas.Inner(x, byA)
					least, most = min(least, ratio), max(most, ratio)
					blas.AddScaled(byM, -1, byA)
					blas.Copy(x, byM)
				}
			}
			const slack = 1e-6
			if !(least >= 1-slack) || !(most <= (1+f.cut)*(1+slack)) || f.cut > 1 && !(most > 1.01) {
				t.Errorf("%s, cut %g of %d pairs: the ratios lie in [%g, %g]", name, f.cut, f.factor.Rows, least, most)
			}
			if c.shift > 0 && product > 0 && !(f.base > 0.9*c.shift) {
				t.Errorf("%s: the least eigenvalue of K is taken for %g", name, f.base)
			}
		}
	}
}

// The factor of more rows than are weighted at a time is that of T⁻¹ + Φᵀ·P²·Φ.
func TestCellFactorForm(t *testing.T) {
	const l, n = 2*formRows + 9, 3
	be := blas.Active()
	rng := rand.New(rand.NewPCG(53, 54))
	f := &cellFactor{
		be: be, U: blas.NewGeneral(l, 4), V: blas.NewGeneral(n, n), count: []int{4, 0, 2}, start: []int{0, 4, 4},
		inverseT: []float64{1, 2, 3, 4, 5, 6},
		made:     linop.WeightedCells(l, n, func(int, int) float64 { return max(0, rng.Float64()-0.3) }),
	}
	for _, a := range []blas.General{f.U, f.V} {
		for i := range a.Data {
			a.Data[i] = rng.NormFloat64()
		}
	}
	f.form(be)
	f.eachPair(func(at, i, j int) {
		f.eachPair(func(to, k, m int) {
			want, size := 0.0, 0.0
			for r := range l {
				for c, root := range f.made.Row(r) {
					v := root * root * f.U.Data[r*4+i] * f.V.Data[c*n+j] * f.U.Data[r*4+k] * f.V.Data[c*n+m]
					want, size = want+v, size+math.Abs(v)
				}
			}
			if at == to {
				want += f.inverseT[at]
			}
			if got := f.factor.Data[at*f.factor.Stride+to]; to <= at && !(math.Abs(got-want) <= 1e-13*size) {
				t.Errorf("element %d,%d is %g, expected %g", at, to, got, want)
			}
		})
	})
}
