package kernels_test

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/blas/accelerate/kernels"
)

// A program takes these kernels for a while, and gives gonum back its own.
func ExampleUse() {
	restore := kernels.Use()
	defer restore()

	a := mat.NewDense(2, 2, []float64{4, 2, 1, 3})
	var x mat.VecDense
	if err := x.SolveVec(a, mat.NewVecDense(2, []float64{10, 5})); err != nil {
		fmt.Println(err)
	}
	fmt.Printf("%.3f\n", x.RawVector().Data)
	// Output:
	// [2.000 1.000]
}
