package blas_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/blas/native"
)

// A factor of 0 makes 0 of NaN in every operation that scales, and adds nothing; other factors are multiplied by.
func TestScale(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	var special []float64
	for i := range 67 {
		special = append(special, []float64{1, nan, -2, inf, 0, -inf, 5e-324, math.Copysign(0, -1)}[i%8])
	}
	same := func(a, b []float64) bool {
		return slices.EqualFunc(a, b, func(x, y float64) bool { return x == y || math.IsNaN(x) && math.IsNaN(y) })
	}
	for _, alpha := range []float64{0, math.Copysign(0, -1), 1, -3, 1e300, 1e-310, inf, nan} {
		for n := range special {
			x := special[:n]
			scaled, added := make([]float64, n), make([]float64, n)
			for i, v := range x {
				if added[i] = 7; alpha != 0 {
					scaled[i], added[i] = alpha*v, 7+alpha*v
				}
			}
			scal, axpy, copied := slices.Clone(x), slices.Repeat([]float64{7}, n), slices.Repeat([]float64{nan}, n)
			blas.Scal(alpha, scal)
			blas.Axpy(alpha, x, axpy)
			blas.CopyScaled(blas.Vector(copied), alpha, blas.Vector(x))
			own := slices.Clone(x)
			blas.CopyScaled(blas.Vector(own), alpha, blas.Vector(own))
			for what, got := range map[string][]float64{"Scal": scal, "CopyScaled": copied, "in place": own} {
				if !same(got, scaled) {
					t.Fatalf("%s by %g: %v, want %v", what, alpha, got, scaled)
				}
			}
			if !same(axpy, added) {
				t.Fatalf("Axpy by %g: %v, want %v", alpha, axpy, added)
			}
			for _, l := range native.Levels() {
				be, err := native.NewLevel(l)
				if err != nil {
					t.Fatal(err)
				}
				y := slices.Clone(x)
				if be.Dscal(n, alpha, y, 1); !same(y, scaled) {
					t.Fatalf("Dscal by %g at level %v: %v, want %v", alpha, l, y, scaled)
				}
			}
		}
	}
}

// Matrices without rows or without columns are no special case.
func TestEmptyMatrices(t *testing.T) {
	for _, be := range blas.Backends() {
		for _, s := range [][2]int{{0, 0}, {0, 3}, {3, 0}} {
			a := blas.NewGeneral(s[0], s[1])
			G := blas.NewGeneral(s[1], s[1])
			blas.Fill(G, math.NaN())
			blas.GramOf(be, G, a)
			if f := blas.Frob(G); f != 0 {
				t.Errorf("%s: the Gram matrix of a %d×%d matrix has norm %g", be.Name(), s[0], s[1], f)
			}
			if v := blas.Frob(a) + blas.Inner(a, a) + blas.Trace(blas.NewGeneral(0, 0)); v != 0 {
				t.Errorf("%s: norms of a %d×%d matrix sum to %g", be.Name(), s[0], s[1], v)
			}
			if c := blas.Product(be, true, false, a, a); c.Rows != s[1] || blas.Frob(c) != 0 {
				t.Errorf("%s: aᵀa is %+v", be.Name(), c)
			}
			if forms := blas.Forms(be, blas.NewGeneral(s[1], 2), G); !slices.Equal(forms, []float64{0, 0}) {
				t.Errorf("%s: forms %v", be.Name(), forms)
			}
			blas.Potrs(be, G, blas.NewGeneral(s[1], 0))
			blas.Symmetrize(G)
			blas.ScaleRows(a, make([]float64, s[0]), a)
			blas.ScaleColumns(a, make([]float64, s[1]))
			blas.CopyScaled(a, 2, blas.SideBySide(a, blas.NewGeneral(s[0], 0)))
			if e := blas.SymFrom(blas.NewGeneral(0, 0), blas.Float64); e.Bytes() != 0 {
				t.Errorf("a matrix of order 0 takes %d bytes", e.Bytes())
			}
			w := []float64{}
			none := blas.NewGeneral(0, 0)
			if err := errors.Join(be.Syevd(none, w), be.Syevals(none, w)); err != nil {
				t.Errorf("%s: %v", be.Name(), err)
			}
			if !be.Potrf(blas.NewGeneral(0, 0)) {
				t.Errorf("%s: the matrix of order 0 has no factor", be.Name())
			}
		}
	}
}

// Both work on parts of larger matrices, and leave the rest.
func TestSymmetrizeAndScaleColumns(t *testing.T) {
	whole := blas.General{Rows: 2, Cols: 3, Stride: 3, Data: []float64{1, 2, 9, 6, 5, 9}}
	part := blas.View(whole, 0, 0, 2, 2)
	blas.Symmetrize(part)
	if want := []float64{1, 4, 9, 4, 5, 9}; !slices.Equal(whole.Data, want) {
		t.Errorf("symmetrized: %v, want %v", whole.Data, want)
	}
	blas.ScaleColumns(part, []float64{2, -1})
	if want := []float64{2, -4, 9, 8, -5, 9}; !slices.Equal(whole.Data, want) {
		t.Errorf("columns times 2 and -1: %v, want %v", whole.Data, want)
	}
	defer func() {
		if recover() == nil {
			t.Error("three factors for two columns: no panic")
		}
	}()
	blas.ScaleColumns(part, []float64{1, 2, 3})
}
