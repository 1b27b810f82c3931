package linop_test

import (
	"context"
	"fmt"
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// laplacian is the second difference on a path of n nodes: any type with these
// two methods is an operator.
type laplacian int

func (n laplacian) Dim() int { return int(n) }

func (n laplacian) Apply(dst, x blas.General) {
	for i := range int(n) {
		out := blas.Row(dst, i)
		for j, v := range blas.Row(x, i) {
			out[j] = 2 * v
			if i > 0 {
				out[j] -= x.Data[(i-1)*x.Stride+j]
			}
			if i < int(n)-1 {
				out[j] -= x.Data[(i+1)*x.Stride+j]
			}
		}
	}
}

// Example_operator writes an operator of the caller's own out as a matrix.
func Example_operator() {
	a := blas.NewGeneral(3, 3)
	if err := linop.Dense(context.Background(), a, laplacian(3)); err != nil {
		fmt.Println(err)
	}
	for i := range 3 {
		fmt.Println(blas.Row(a, i))
	}
	// Output:
	// [2 -1 0]
	// [-1 2 -1]
	// [0 -1 2]
}

// ExampleMask applies K⊗L + μI where two of four targets are observed.
func ExampleMask() {
	K := blas.General{Rows: 2, Cols: 2, Stride: 2, Data: []float64{2, 1, 1, 2}}
	Y := blas.General{Rows: 2, Cols: 2, Stride: 2, Data: []float64{1, math.NaN(), math.NaN(), 1}}
	A := &linop.Mask{
		A: &linop.KroneckerSum{
			Terms: []linop.Term{{K: linop.NewDense(K, nil), L: linop.ScaledIdentity(2, 3)}}, Mu: 1,
		},
		Cells: linop.ObservedCells(Y),
	}
	F := blas.NewGeneral(4, 1)
	A.Apply(F, blas.Vector(Y.Data))
	fmt.Println(F.Data)
	// Output: [7 0 0 7]
}

// ExampleKroneckerSum applies C ↦ K·C·L₁ + C·L₂ + μ·C.
func ExampleKroneckerSum() {
	K := blas.General{Rows: 2, Cols: 2, Stride: 2, Data: []float64{2, 1, 1, 2}}
	one := blas.General{Rows: 2, Cols: 2, Stride: 2, Data: []float64{1, 0, 0, 1}}
	A := &linop.KroneckerSum{
		Terms: []linop.Term{
			{K: linop.NewDense(K, nil), L: linop.ScaledIdentity(2, 3)},
			{K: linop.NewDense(one, nil), L: linop.ScaledIdentity(2, 5)},
		},
		Mu: 1,
	}
	F := blas.NewGeneral(2, 2)
	A.ApplyMatrix(F, one)
	fmt.Println(F.Data)
	// Output: [12 3 3 12]
}
