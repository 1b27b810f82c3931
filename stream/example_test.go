package stream_test

import (
	"context"
	"fmt"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/rff"
	"github.com/iokl/iokl/stream"
)

// One pass over three rows leaves ZᵀZ and ZᵀY of a linear kernel's features.
func Example() {
	X := blas.General{Rows: 3, Cols: 2, Stride: 2, Data: []float64{1, 0, 0, 2, 3, 1}}
	Y := blas.General{Rows: 3, Cols: 1, Stride: 1, Data: []float64{1, 2, 3}}
	d, err := kernel.Build([]string{"linear"}, X, nil, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	maps, err := rff.NewMaps(context.Background(), d, X, 1, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	a := stream.New(maps, 2, 1, stream.Options{})
	if err := a.Run(context.Background(), stream.FromMatrices("three rows", X, Y)); err != nil {
		fmt.Println(err)
		return
	}
	sums, err := a.Sums()
	if err != nil {
		fmt.Println(err)
		return
	}
	s := sums[0]
	s.Recenter(nil)
	fmt.Println(s.Rows, s.Gamma.Data[0], s.Gamma.Data[2:], s.H.Data, s.YY)
	// Output: 3 10 [3 5] [10 7] [14]
}
