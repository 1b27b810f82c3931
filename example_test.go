package iokl_test

import (
	"context"
	"fmt"
	"log"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
)

// Two outputs from three inputs, of which only the first matters.
func Example() {
	X, Y := mat.NewDense(80, 3, nil), mat.NewDense(80, 2, nil)
	for i := range 80 {
		a, b := float64(i)/40-1, math.Sin(float64(7*i))
		X.SetRow(i, []float64{a, b, math.Cos(float64(3 * i))})
		Y.SetRow(i, []float64{math.Sin(3 * a), 2 * math.Sin(3*a)})
	}
	model, err := iokl.Fit(context.Background(), X, Y, iokl.Options{
		Kernels: []string{"gaussian:each:0.5,1,2", "linear:all"},
		Lambda:  1e-4,
	})
	if err != nil {
		log.Fatal(err)
	}
	P, err := model.Predict(mat.NewDense(1, 3, []float64{0.5, 0, 0}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("f(0.5, 0, 0) = %.2f, %.2f\n", P.At(0, 0), P.At(0, 1))
	fmt.Println("certified optimal to 1 in 10,000:", model.Certificate().RelativeGap <= 1e-4)
	// Output:
	// f(0.5, 0, 0) = 1.00, 1.99
	// certified optimal to 1 in 10,000: true
}
