package interior_test

import (
	"context"
	"fmt"

	"github.com/iokl/iokl/bcd/internal/interior"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// Of two outputs with targets of size 2 and 1 along eigenvectors of eigenvalue 1, the best L of trace 2 for μ = 1 has
// 4/(1 + L₁)² = 1/(1 + L₂)², that is L₁ = 5/3.
func ExampleBarrier() {
	p := &interior.Problem{
		Backend: blas.Active(), Tau: 2, Mu: 1,
		S: []float64{1, 1}, H: blas.General{Rows: 2, Cols: 2, Stride: 2, Data: []float64{2, 0, 0, 1}},
	}
	G := blas.General{Rows: 2, Cols: 2, Stride: 2, Data: []float64{1, 0, 0, 0.25}} // at L = I
	b, err := interior.New(p, linop.ScaledIdentity(2, 1), G, 1)
	if err != nil {
		panic(err)
	}
	L, err := b.Minimize(context.Background(), 1e-9, func() {})
	fmt.Printf("%.3f %v\n", L.S, err)
	// Output:
	// [1.667 0.333] <nil>
}
