package kernel_test

import (
	"context"
	"fmt"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/kernel"
)

// Two Gaussian widths on all columns and a linear kernel on the first, for
// three samples; then the weighted sum of kernels between a new point and them.
func Example() {
	X := blas.General{Rows: 3, Cols: 2, Stride: 2, Data: []float64{0, 0, 1, 0, 0, 2}}
	d, err := kernel.Build([]string{"gaussian:all:median*0.5,1", "linear:0"}, X, nil, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	grams, err := d.Grams(context.Background(), X, kernel.GramOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for j, k := range d {
		fmt.Printf("%-25s width %.1f  k(x1,x0) = %.4f\n", k.Name, k.Width, grams[j].At(1, 0))
	}
	Xnew := blas.General{Rows: 1, Cols: 2, Stride: 2, Data: []float64{1, 0}}
	cross := blas.NewGeneral(1, 3)
	if err := d.CrossSum(cross, []float64{0, 0.5, 0.5}, Xnew, X); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.4f\n", cross.Data)
	// Output:
	// gaussian:all:median*0.5   width 1.0  k(x1,x0) = 0.6065
	// gaussian:all:median       width 2.0  k(x1,x0) = 0.8825
	// linear:0                  width 0.0  k(x1,x0) = 0.0000
	// [0.4412 1.0000 0.2676]
}

// SPECs from builders in the place of text.
func ExampleKind_On() {
	for _, text := range kernel.Texts(
		kernel.Gaussian.On(kernel.All).Median(0.5, 1, 2), kernel.Matern.On("0-3", 1.5),
		kernel.Laplacian.On(kernel.Each).Width(2).RFF(500),
	) {
		fmt.Println(text)
	}
	// Output:
	// gaussian:all:median*0.5,1,2
	// matern:1.5:0-3:median
	// rff:laplacian:each:2:500:auto
}
