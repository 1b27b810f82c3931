package frankwolfe_test

import (
	"context"
	"fmt"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/frankwolfe"
)

// Example minimizes ‖L − D‖² over trace at most 3, for D = diag(3, 1, -1): the
// projection of D.
func Example() {
	eye := blas.General{Rows: 3, Cols: 3, Stride: 3, Data: []float64{1, 0, 0, 0, 1, 0, 0, 0, 1}}
	d := blas.General{Rows: 3, Cols: 3, Stride: 3, Data: []float64{3, 0, 0, 0, 1, 0, 0, 0, -1}}
	p := &frankwolfe.Problem{AtA: eye, AtY: d, B: blas.NewGeneral(3, 3), YY: 11, Samples: 1, Tau: 3}
	L := blas.NewGeneral(3, 3)
	res, err := frankwolfe.Solve(context.Background(), L, p, frankwolfe.Options{Tol: 1e-8})
	fmt.Printf("value %.4f, diagonal %.4f %.4f %.4f, %v\n", res.Value, L.Data[0], L.Data[4], L.Data[8], err)
	// Output: value 1.5000, diagonal 2.5000 0.5000 0.0000, <nil>
}

func ExampleProjectSimplex() {
	x := []float64{0.9, 0.6, -0.2}
	frankwolfe.ProjectSimplex(x, 1)
	fmt.Printf("%.2f\n", x)
	// Output: [0.65 0.35 0.00]
}
