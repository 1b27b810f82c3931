package sylvester_test

import (
	"context"
	"fmt"
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/sylvester"
)

// Solve for two outputs that are learned together: L couples them.
func Example() {
	K := blas.General{Rows: 3, Cols: 3, Stride: 3, Data: []float64{1.0, 0.5, 0.1, 0.5, 1.0, 0.5, 0.1, 0.5, 1.0}}
	coupled := blas.General{Rows: 2, Cols: 2, Stride: 2, Data: []float64{1, 0.5, 0.5, 1}}
	Y := blas.General{Rows: 3, Cols: 2, Stride: 2, Data: []float64{1, 0, 0, 1, -1, 1}}

	L, err := linop.NewSpectral(blas.Active(), coupled, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	solver, err := sylvester.New("auto", sylvester.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	C := blas.NewGeneral(3, 2)
	sys := sylvester.System{K: linop.NewDense(K, nil), L: L, Mu: 0.3}
	res, err := solver.Solve(context.Background(), C, sys, Y, sylvester.Options{Tol: 1e-10})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.4f\n", C.Data)
	fmt.Println("converged:", res.Residual <= 1e-10)
	// Output:
	// [1.0478 -0.6819 -0.2890 0.7921 -1.2552 1.0151]
	// converged: true
}

// Solve where one target is missing: its cell of Y holds NaN, and its coefficient is 0.
func ExampleSystem() {
	K := blas.General{Rows: 3, Cols: 3, Stride: 3, Data: []float64{1.0, 0.5, 0.1, 0.5, 1.0, 0.5, 0.1, 0.5, 1.0}}
	coupled := blas.General{Rows: 2, Cols: 2, Stride: 2, Data: []float64{1, 0.5, 0.5, 1}}
	Y := blas.General{Rows: 3, Cols: 2, Stride: 2, Data: []float64{1, 0, 0, math.NaN(), -1, 1}}

	L, err := linop.NewSpectral(blas.Active(), coupled, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	solver, err := sylvester.New("auto", sylvester.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	C, F := blas.NewGeneral(3, 2), blas.NewGeneral(3, 2)
	sys := sylvester.System{K: linop.NewDense(K, nil), L: L, Mu: 0.3, Cells: linop.ObservedCells(Y)}
	res, err := solver.Solve(context.Background(), C, sys, Y, sylvester.Options{Tol: 1e-10})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.4f\n", C.Data)
	L.MulRight(blas.Active(), F, res.KC)
	fmt.Printf("fitted value of the missing cell: %.4f\n", F.Data[3])
	// Output:
	// [1.0020 -0.4240 -0.0482 0.0000 -1.3011 1.2730]
	// fitted value of the missing cell: 0.3256
}

// Solve with two kernels that each couple the outputs in their own way.
func ExampleSum() {
	near := blas.General{Rows: 3, Cols: 3, Stride: 3, Data: []float64{1.0, 0.5, 0.1, 0.5, 1.0, 0.5, 0.1, 0.5, 1.0}}
	equal := blas.General{Rows: 3, Cols: 3, Stride: 3, Data: []float64{1, 1, 1, 1, 1, 1, 1, 1, 1}}
	coupled := blas.General{Rows: 2, Cols: 2, Stride: 2, Data: []float64{1, 0.5, 0.5, 1}}
	Y := blas.General{Rows: 3, Cols: 2, Stride: 2, Data: []float64{1, 0, 0, 1, -1, 1}}

	L, err := linop.NewSpectral(blas.Active(), coupled, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	terms := []linop.Term{{K: linop.NewDense(near, nil), L: L}, {
		K: linop.NewDense(equal, nil),
		L: linop.ScaledIdentity(2, 0.2),
	}}
	C := blas.NewGeneral(3, 2)
	res, err := sylvester.NewSum(nil, sylvester.Config{}).Solve(context.Background(), C, terms, 0.3, Y,
		sylvester.Options{Tol: 1e-10})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.4f\n", C.Data)
	fmt.Println("converged:", res.Residual <= 1e-10)
	// Output:
	// [1.1306 -0.8103 -0.2316 0.7152 -1.1725 0.8867]
	// converged: true
}

// Score two regularizations by the residuals of refits without each row in turn.
func ExampleLeaveOut() {
	K := blas.General{Rows: 3, Cols: 3, Stride: 3, Data: []float64{1.0, 0.5, 0.1, 0.5, 1.0, 0.5, 0.1, 0.5, 1.0}}
	Y, R := blas.Vector([]float64{1, 0.8, 0.5}), blas.NewGeneral(3, 1)
	dec, err := sylvester.Decompose(context.Background(), linop.NewDense(K, nil), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	lo := sylvester.NewLeaveOut(dec, nil)
	if err := lo.Use(linop.ScaledIdentity(1, 1), Y); err != nil {
		fmt.Println(err)
		return
	}
	for _, mu := range []float64{0.1, 1} {
		if err := lo.At(blas.General{}, mu); err != nil {
			fmt.Println(err)
			return
		}
		lo.Residuals(R)
		fmt.Printf("μ = %g: residuals %.3f, %.2f degrees of freedom\n", mu, R.Data, lo.DegreesOfFreedom())
	}
	// Output:
	// μ = 0.1: residuals [0.656 0.175 0.229], 2.62 degrees of freedom
	// μ = 1: residuals [0.804 0.443 0.311], 1.37 degrees of freedom
}
