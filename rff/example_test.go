package rff_test

import (
	"context"
	"fmt"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/rff"
)

// Features of a Gaussian kernel whose inner products approximate it.
func Example() {
	X := blas.General{Rows: 2, Cols: 2, Stride: 2, Data: []float64{0, 0, 1, 1}}
	d, err := kernel.Build([]string{"rff:gaussian:all:1:20000"}, X, nil, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	m, err := rff.New(context.Background(), d[0], X, 1, 0, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	Z := blas.NewGeneral(2, m.Dim())
	if err := m.Transform(Z, X); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.1f, exactly exp(-1) = 0.3679\n", blas.Dot(blas.Row(Z, 0), blas.Row(Z, 1)))
	// Output: 0.4, exactly exp(-1) = 0.3679
}
