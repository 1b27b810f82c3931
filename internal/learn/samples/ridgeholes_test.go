package samples

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/learntest"
)

// manyHoles is 12 targets of 80 rows, each observed in other rows.
func manyHoles() (X, Y *mat.Dense) {
	X, Y = learntest.Wave(80, 3)
	rng := rand.New(rand.NewPCG(5, 6))
	wide := mat.NewDense(80, 12, nil)
	for i := range 80 {
		for j := range 12 {
			v := Y.At(i, j%3) + 0.1*rng.NormFloat64()
			if rng.Float64() < float64(j)/12 || j == 11 && i > 0 {
				v = math.NaN()
			}
			wide.Set(i, j, v)
		}
	}
	return X, wide
}

// Errors of targets with holes of all kinds, in rows of weights 0 to 3, are those of each target alone, which has one
// hole.
func TestRidgeByHolesWeighted(t *testing.T) {
	X, Y := manyHoles()
	W := blas.NewGeneral(80, 1)
	for i := range W.Data {
		W.Data[i] = float64(i % 4)
	}
	errorsOf := func(d learn.Data) []learn.Errors {
		if _, err := d.Split(learn.Folding{Folds: 4, Hide: learn.HideRows}); err != nil {
			t.Fatal(err)
		}
		r, err := d.Table.Ridge(0)
		if err != nil {
			t.Fatal(err)
		}
		e, err := r.Errors(t.Context(), []string{"gaussian:all:1"}, 0, []float64{1, 1e-2, 1e-4})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	rows, err := NewRows(blas.Raw(X), blas.Raw(Y), W, Options{})
	if err != nil {
		t.Fatal(err)
	}
	all := errorsOf(rows.Data())
	for j := range 10 {
		part, err := rows.Part(nil, []int{j})
		if err != nil {
			t.Fatal(err)
		}
		for i, alone := range errorsOf(part) {
			if got, want := all[i].MSE[j], alone.MSE[0]; !(math.Abs(got-want) <= 1e-8*want) {
				t.Errorf("target %d has the error %g among others, alone %g", j, got, want)
			}
		}
	}
}

// The predictions for targets with holes of all kinds are those of the system of the rows in which each is observed.
func TestRidgeByHoles(t *testing.T) {
	X, wide := manyHoles()
	rows, err := NewRows(blas.Raw(X), blas.Raw(wide), blas.General{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rows.Split(learn.Folding{Folds: 4}); err != nil {
		t.Fatal(err)
	}
	fold, err := rows.Ridge(0)
	if err != nil {
		t.Fatal(err)
	}
	r := fold.(*ridge)
	K, err := r.cross(t.Context(), []string{"gaussian:all:1"})
	if err != nil {
		t.Fatal(err)
	}
	const rho = 0.5
	l, lambdas := r.Y.Rows, []float64{1, 1e-3, 1e-6}
	parts := patterns(r.Y)
	if !cheaperByHoles(parts, l, len(lambdas)) || cheaperByHoles(parts[:1], l, len(lambdas)) {
		t.Errorf("%d patterns: one decomposition is to serve many, and not one", len(parts))
	}
	F := make([]blas.General, len(lambdas))
	for i := range F {
		F[i] = blas.NewGeneral(r.test.Rows, r.Y.Cols)
	}
	if err := r.byHoles(t.Context(), K, r.Y, parts, rho, lambdas, F); err != nil {
		t.Fatal(err)
	}
	for i, lambda := range lambdas {
		for _, p := range parts {
			k := len(p.rows)
			if k == 0 {
				continue
			}
			A, y := mat.NewDense(k, k, nil), mat.NewDense(k, len(p.targets), nil)
			for a, row := range p.rows {
				for b, col := range p.rows {
					A.Set(a, b, rho*K.Data[row*K.Stride+col])
				}
				A.Set(a, a, A.At(a, a)+lambda*float64(l))
				for b, j := range p.targets {
					y.Set(a, b, r.Y.Data[row*r.Y.Stride+j])
				}
			}
			var C mat.Dense
			if err := C.Solve(A, y); err != nil {
				t.Fatal(err)
			}
			for at := range r.test.Rows {
				for b, j := range p.targets {
					want := 0.
					for a, row := range p.rows {
						want += rho * K.Data[(l+at)*K.Stride+row] * C.At(a, b)
					}
					if got := F[i].Data[at*F[i].Stride+j]; !(math.Abs(got-want) <= 1e-6*(1+math.Abs(want))) {
						t.Fatalf("λ = %g, target %d of %d rows: predicts %g, want %g", lambda, j, k, got, want)
					}
				}
			}
		}
	}
}
