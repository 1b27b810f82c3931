package stream

import (
	"context"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/iokl/iokl/blas"
)

func near(a, b []float64, tol float64) bool {
	for i := range a {
		if !(math.Abs(a[i]-b[i]) <= tol*(1+math.Abs(b[i]))) {
			return false
		}
	}
	return len(a) == len(b)
}

// moments from their definition, in two passes.
func definition(A blas.General) Moments {
	m := newMoments(A.Cols)
	for i := range A.Rows {
		blas.Axpy(1/float64(A.Rows), blas.Row(A, i), m.Mean)
	}
	for i := range A.Rows {
		for j, v := range blas.Row(A, i) {
			m.Deviation[j] += (v - m.Mean[j]) * (v - m.Mean[j]) / float64(A.Rows)
		}
	}
	for j, v := range m.Deviation {
		m.Deviation[j] = math.Sqrt(v)
	}
	return m
}

func TestInspect(t *testing.T) {
	X, Y, _ := data(t, 500)
	for i := range X.Rows {
		X.Data[3*i] += 1e6 // a mean far above the deviation
		Y.Data[2*i] = 0.1  // a constant
	}
	s, err := Inspect(context.Background(), &chopped{x: X, y: Y, sizes: []int{7, 90}, end: io.EOF}, 3, 2, 40, 1)
	if err != nil {
		t.Fatal(err)
	}
	x, y := definition(X), definition(Y)
	if s.Rows != 500 || !near(s.X.Mean, x.Mean, 1e-12) || !near(s.X.Deviation, x.Deviation, 1e-8) ||
		!near(s.Y.Mean, y.Mean, 1e-12) || s.Y.Deviation[0] != 0 {
		t.Errorf("%d rows, %v, %v; want %v, %v", s.Rows, s.X, s.Y, x, y)
	}
	if s.Sample.Rows != 40 {
		t.Fatalf("a sample of %d rows", s.Sample.Rows)
	}
	late, first := 0, 0
	for i := range s.Sample.Rows {
		found := -1
		for r := range X.Rows {
			if near(blas.Row(s.Sample, i), blas.Row(X, r), 0) {
				found = r
			}
		}
		if found < 0 {
			t.Fatalf("row %d of the sample is none of the data", i)
		}
		if found >= 250 {
			late++
		}
		if found < 40 {
			first++
		}
	}
	if late < 10 || late > 30 || first > 12 { // 20 and 3 are expected
		t.Errorf("%d of 40 rows come from the second half, %d from the first 40", late, first)
	}
}

func TestInspectErrors(t *testing.T) {
	X, Y, _ := data(t, 20)
	bad := blas.Clone(Y)
	bad.Data[2*13+1] = math.Inf(-1)
	if _, err := Inspect(context.Background(), FromMatrices("y.npy", X, bad), 3, 2, 5, 1); !errors.Is(err, ErrRow) ||
		!strings.Contains(err.Error(), "y.npy, row 13: bad row: target 1") {
		t.Errorf("infinite target: %v", err)
	}
	if _, err := Inspect(context.Background(), FromMatrices("x", X, Y), 4, 2, 5, 1); !errors.Is(err, ErrRow) {
		t.Errorf("other columns: %v", err)
	}
	gone := errors.New("gone")
	if _, err := Inspect(context.Background(), &chopped{x: X, y: Y, sizes: []int{20}, end: gone}, 3, 2, 5,
		1); !errors.Is(err, gone) {
		t.Errorf("error of the source: %v", err)
	}
}
