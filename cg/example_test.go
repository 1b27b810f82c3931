package cg_test

import (
	"context"
	"fmt"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/cg"
	"github.com/iokl/iokl/linop"
)

func Example() {
	A := linop.NewDense(blas.General{Rows: 2, Cols: 2, Stride: 2, Data: []float64{4, 1, 1, 3}}, nil)
	x := make([]float64, 2)
	res, err := cg.Solve(context.Background(), x, A, []float64{1, 2}, cg.Options{Tol: 1e-12})
	fmt.Printf("%.4f after %d iterations, %v\n", x, res.Iter, err)
	// Output: [0.0909 0.6364] after 2 iterations, <nil>
}
