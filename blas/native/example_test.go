package native_test

import (
	"fmt"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/blas/native"
)

// A program that uses gonum's matrices runs on these kernels after one call.
func Example() {
	defer blas64.Use(blas64.Implementation())
	blas64.Use(native.New())
	a := mat.NewDense(2, 2, []float64{1, 2, 3, 4})
	var b mat.Dense
	b.Mul(a, a)
	fmt.Println(mat.Formatted(&b))
	// Output:
	// ⎡ 7  10⎤
	// ⎣15  22⎦
}

// A symmetric matrix is packed once and multiplied many times.
func ExampleSymmetric() {
	s := native.New().NewSymmetric(2, false)
	s.Set(0, 0, []float64{2})
	s.Set(1, 0, []float64{1, 3})
	s.Complete()
	y := make([]float64, 2)
	s.Multiply(1, y, 1, []float64{1, 10}, 1)
	fmt.Println(y)
	// Output: [12 31]
}
