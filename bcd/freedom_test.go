package bcd

import (
	"context"
	"math"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/sylvester"
)

// TestFreedom compares the degrees of freedom with the trace by eigenvalues, within four standard deviations of the
// estimate.
func TestFreedom(t *testing.T) {
	K, Y := awkward(4, 200, 3)
	p := &Problem{Space: NewSamples(K, Y), Lambda: 1e-3, Tau: 3, Model: ProductOf(false, true)}
	p.Eta = []float64{1, .5, 0, 0, .2, .1}[:K.Len()]
	for _, solver := range []string{"auto", "nystrom", "eigen"} {
		res, err := Solve(context.Background(), p, Options{Freedom: true, Sylvester: solver})
		if err != nil {
			t.Fatal(err)
		}
		if len(res.Freedom) != res.L.Rank() {
			t.Fatalf("%s: %d degrees of freedom for an L of rank %d", solver, len(res.Freedom), res.L.Rank())
		}
		K.SetWeights(res.Eta)
		A, one := blas.NewGeneral(200, 200), blas.NewGeneral(200, 200)
		for i := range 200 {
			one.Data[201*i] = 1
		}
		K.Apply(A, one)
		dec, err := sylvester.Decompose(context.Background(), linop.NewDense(A, blas.Active()), nil)
		if err != nil {
			t.Fatal(err)
		}
		for b, rho := range res.L.S {
			var want, square float64
			for _, s := range dec.Sigma {
				part := rho * s / (rho*s + p.Lambda*200)
				want += part
				square += part * part
			}
			if got := res.Freedom[b]; !(math.Abs(got-want) <= 4*math.Sqrt(2*square)) {
				t.Errorf("%s: %g degrees of freedom, want %g ± %g", solver, got, want, math.Sqrt(2*square))
			}
		}
	}
}
