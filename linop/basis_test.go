package linop

import (
	"errors"
	"math"
	"testing"

	"github.com/iokl/iokl/blas"
)

// off is the largest element of PᵀP − I.
func off(P blas.General) (most float64) {
	D := blas.NewGeneral(P.Cols, P.Cols)
	blas.GramOf(blas.Active(), D, P)
	for i := range D.Rows {
		D.Data[i*D.Stride+i]--
	}
	for _, v := range D.Data {
		most = max(most, math.Abs(v))
	}
	return most
}

// left is the share of the norm of the rows of Y outside of the range of P.
func left(Y, P blas.General) float64 {
	be, YP, R := blas.Active(), blas.NewGeneral(Y.Rows, P.Cols), blas.Clone(Y)
	blas.Mul(be, YP, false, false, Y, P)
	blas.Gemm(be, false, true, -1, YP, P, 1, R)
	return blas.Frob(R) / blas.Frob(Y)
}

// A matrix without rows has an empty basis, one without columns the identity's, and one that is not finite none.
func TestRowBasisEdges(t *testing.T) {
	nan := blas.NewGeneral(3, 2)
	nan.Data[3] = math.NaN()
	for _, c := range []struct {
		name string
		Y    blas.General
		k    int // columns of the basis
		want error
	}{
		{"0×0", blas.General{}, 0, nil},
		{"0×3", blas.NewGeneral(0, 3), 0, nil},
		{"3×0", blas.NewGeneral(3, 0), 0, nil},
		{"1×1", blas.Vector([]float64{2}), 1, nil},
		{"1×1 tiny", blas.Vector([]float64{1e-310}), 1, nil},
		{"zero", blas.NewGeneral(3, 2), 1, nil},
		{"NaN", nan, 0, ErrNotFinite},
	} {
		P, err := RowBasis(blas.Active(), c.Y)
		if !errors.Is(err, c.want) || err == nil && (P.Rows != c.Y.Cols || P.Cols != c.k) {
			t.Errorf("%s: %d×%d, %v", c.name, P.Rows, P.Cols, err)
		}
	}
}

func TestBases(t *testing.T) {
	be := blas.Active()
	random := func(r, c int, seed uint64) blas.General {
		a := blas.NewGeneral(r, c)
		FillNormal(a, seed)
		return a
	}
	for _, c := range []struct{ N, n, rank int }{{30, 8, 3}, {6, 20, 6}, {6, 20, 2}, {12, 12, 5}} {
		Y := blas.NewGeneral(c.N, c.n)
		blas.Mul(be, Y, false, false, random(c.N, c.rank, 1), random(c.rank, c.n, 2))
		P, err := RowBasis(be, Y)
		if err != nil || P.Rows != c.n || P.Cols != c.rank || off(P) > 1e-13 || left(Y, P) > 1e-13 {
			t.Errorf("%d×%d of rank %d: basis %d×%d, %v", c.N, c.n, c.rank, P.Rows, P.Cols, err)
		}
		T, err := LeadingBasis(t.Context(), be, Y, c.rank, 3)
		if err != nil || off(T) > 1e-13 || left(Y, T) > 1e-10 {
			t.Errorf("%d×%d of rank %d: leading basis leaves %g, %v", c.N, c.n, c.rank, left(Y, T), err)
		}
		W := blas.SideBySide(T, random(c.n, 2, 4)) // of which 2 columns, or what is left of them, are new
		Z := Outside(be, T, W)
		if all := blas.SideBySide(T, Z); Z.Cols != min(2, c.n-c.rank) || off(all) > 1e-12 {
			t.Errorf("%d×%d of rank %d: %d columns outside, off by %g", c.N, c.n, c.rank, Z.Cols, off(all))
		}
	}
	if P, err := RowBasis(be, random(9, 4, 5)); err != nil || P.Data != nil || P.Rows != 4 || P.Cols != 4 {
		t.Errorf("of full rank: %v, %v", P, err)
	}
	P := blas.View(random(40, 3, 6), 0, 0, 40, 3)
	be.QR(P, blas.General{})
	rough := blas.Clone(P)
	rough.Data[5] += 1e-6
	if at, now := off(rough), off(Orthonormal(be, rough)); !(now <= 10*at*at) {
		t.Errorf("off by %g before, %g now", at, now)
	}
}
