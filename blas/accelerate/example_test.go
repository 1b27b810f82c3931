package accelerate_test

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	_ "github.com/iokl/iokl/blas/accelerate"
)

// With the import above, gonum's packages compute on this module's kernels. They
// are used as before.
func Example() {
	a := mat.NewSymDense(2, []float64{2, 1, 1, 2})
	var eig mat.EigenSym
	if !eig.Factorize(a, true) {
		fmt.Println("no convergence")
	}
	fmt.Printf("%.3f\n", eig.Values(nil))
	// Output:
	// [1.000 3.000]
}
