package blas_test

import (
	"fmt"

	"github.com/iokl/iokl/blas"
)

// A backend is a value: programs pass it on, or choose one for all by Use. Matrices
// are row-major views of slices.
func Example() {
	be, err := blas.ByName("native")
	if err != nil {
		fmt.Println(err)
		return
	}
	A := blas.General{Rows: 2, Cols: 3, Stride: 3, Data: []float64{1, 2, 3, 4, 5, 6}}
	K := blas.NewGeneral(2, 2)
	blas.Mul(be, K, false, true, A, A) // K = A·Aᵀ
	fmt.Println(K.Data)

	w := make([]float64, 2)
	if err := be.Syevd(K, w); err != nil { // K is overwritten by eigenvectors
		fmt.Println(err)
		return
	}
	fmt.Printf("eigenvalues %.3f\n", w)
	// Output:
	// [14 32 32 77]
	// eigenvalues [0.597 90.403]
}
