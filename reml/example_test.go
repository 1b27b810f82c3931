package reml_test

import (
	"context"
	"fmt"
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/reml"
)

// Two outputs of 24 samples: a slow wave that they share, and a fast one of each sign.
func ExampleFit() {
	const l = 24
	Y := blas.NewGeneral(l, 2)
	for i := range l {
		slow, fast := math.Sin(float64(i)/4), 0.3*math.Cos(2.7*float64(i))
		Y.Data[2*i], Y.Data[2*i+1] = slow+fast, slow-fast
	}
	Y.Data[7] = math.NaN() // a missing cell
	var grams []*blas.Sym
	for _, width := range []float64{6, 0.5} {
		K := blas.NewGeneral(l, l)
		for i := range l {
			for k := range l {
				d := float64(i-k) / width
				K.Data[i*l+k] = math.Exp(-d * d / 2)
			}
		}
		grams = append(grams, blas.SymFrom(K, blas.Float64))
	}
	_, c, err := reml.Fit(context.Background(), linop.NewGramSum(grams, nil, blas.Float64), Y, reml.Options{})
	fmt.Printf("shares of the variance of the first output: %.1f of the wide kernel, %.1f of the others\n",
		c.Shares[0][0], c.Shares[1][0]+c.Shares[2][0])
	fmt.Println(err)
	// Output:
	// shares of the variance of the first output: 0.8 of the wide kernel, 0.2 of the others
	// <nil>
}
