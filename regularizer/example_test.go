package regularizer_test

import (
	"fmt"

	"github.com/iokl/iokl/regularizer"
)

// The squared l_1 norm makes weights 0 that the projection would make negative; they add up to 1 at most.
func ExampleParse() {
	r, err := regularizer.Parse("lp:1")
	if err != nil {
		panic(err)
	}
	eta := []float64{0.75, 0.5, -0.25}
	r.Project(eta)
	fmt.Println(r, eta, r.Conjugate([]float64{2, 5, 3}))
	// Output:
	// lp:1 [0.625 0.375 0] 5
}
