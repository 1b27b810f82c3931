package semismooth_test

import (
	"context"
	"fmt"

	"github.com/iokl/iokl/bcd/internal/semismooth"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/loss"
	"github.com/iokl/iokl/sylvester"
)

// A prediction that is the same for all samples, of a loss of absolute values, is near their median.
func ExampleNewton() {
	Y := blas.Vector([]float64{1, 2, 3, 5, 100})
	K := blas.Vector([]float64{1, 1, 1, 1, 1})
	ones := blas.NewGeneral(5, 5)
	blas.Gemm(blas.Active(), false, true, 1, K, K, 0, ones)
	cells := &loss.Cells{Loss: loss.Loss{Kind: loss.Quantile, Parameter: 0.5}, Y: Y, W: K}
	cells.Zero = cells.Sum(blas.Like(Y))
	sys := sylvester.System{K: linop.NewDense(ones, nil), L: linop.ScaledIdentity(1, 1), Mu: 1e-6}
	solver, err := sylvester.New("auto", sylvester.Config{Reweighted: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	p := semismooth.Problem{
		Cells: cells, Mu: sys.Mu, Map: &linop.KroneckerSum{Terms: []linop.Term{{K: sys.K, L: sys.L}}},
		Solve: func(ctx context.Context, B, F blas.General, cells *linop.Cells, Y blas.General, tol float64) error {
			sys.Cells = cells
			_, err := solver.Solve(ctx, B, sys, Y, sylvester.Options{Tol: tol, Fitted: F})
			return err
		},
	}
	C, F := blas.Like(Y), blas.Like(Y)
	err = new(semismooth.Newton).Minimize(context.Background(), C, p, 1e-4)
	p.Map.ApplyMatrix(F, C)
	fmt.Printf("%.3f %v\n", F.Data, err)
	// Output:
	// [3.000 3.000 3.000 3.000 3.000] <nil>
}
