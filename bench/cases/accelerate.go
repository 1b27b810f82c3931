package cases

import (
	"context"
	"fmt"
	"math"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/data"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/blas/accelerate/kernels"
)

const (
	plainGonum  = "gonum"
	accelerated = "accelerated"
)

// operands are what operations of gonum's mat work on.
type operands struct {
	square   *mat.Dense
	definite *mat.SymDense // positive definite
	columns  *mat.Dense    // right-hand sides
}

// matOperations are operations of gonum's mat, each with an error or a flag when it fails.
var matOperations = []struct {
	name string
	run  func(x operands) bool
}{
	{"Mul", func(x operands) bool { new(mat.Dense).Mul(x.square, x.square); return true }},
	{"Cholesky", func(x operands) bool { return new(mat.Cholesky).Factorize(x.definite) }},
	{"LU", func(x operands) bool { new(mat.LU).Factorize(x.square); return true }},
	{"QR", func(x operands) bool { new(mat.QR).Factorize(x.square); return true }},
	{"EigenSym", func(x operands) bool { return new(mat.EigenSym).Factorize(x.definite, true) }},
	{"SVD", func(x operands) bool { return new(mat.SVD).Factorize(x.square, mat.SVDThin) }},
	{"Solve", func(x operands) bool { return new(mat.Dense).Solve(x.square, x.columns) == nil }},
	{"Inverse", func(x operands) bool { return new(mat.Dense).Inverse(x.square) == nil }},
}

// runGonum measures operations of gonum's mat, condition estimates included, on
// gonum's own kernels and on this module's, in turns.
func runGonum(ctx context.Context, env *bench.Env) error {
	restore := func() {}
	off := func() {
		restore()
		restore = func() {}
	}
	on := func() {
		off()
		restore = kernels.Use()
	}
	defer off()
	for _, n := range bench.Pick(env, []int{100, 300}, []int{100, 500, 1000}) {
		x := matOperands(env, n)
		for _, op := range matOperations {
			run := func() error {
				if !op.run(x) {
					return fmt.Errorf("mat: %s of order %d failed", op.name, n)
				}
				return nil
			}
			params := map[string]any{"operation": op.name, "n": n, "backend": env.Backend.Name()}
			err := env.Race(ctx, bench.Plan{
				Count: env.Repeats(9), Warm: true, Follow: n < 1000, MinSample: 5 * time.Millisecond,
				Budget: 5 * time.Second,
			}, params, []bench.Contender{
				{Name: plainGonum, Prepare: off, Run: run},
				{Name: accelerated, Prepare: on, Run: run},
			}, func(both []bench.Result) {
				if len(both) == 2 {
					both[1].Metric("times_faster", both[0].Seconds/both[1].Seconds)
				}
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// matOperands are matrices of order n; the eigenvalues of the definite one are about √n to 5√n.
func matOperands(env *bench.Env, n int) operands {
	rng := env.Rand(21)
	x := operands{
		square: blas.Dense(data.Normal(rng, n, n)), columns: blas.Dense(data.Normal(rng, n, 10)),
		definite: mat.NewSymDense(n, nil),
	}
	a := data.RandomSymmetric(env, n)
	for i := range n {
		for j := range i + 1 {
			x.definite.SetSym(i, j, a.Data[i*a.Stride+j])
		}
		x.definite.SetSym(i, i, x.definite.At(i, i)+3*math.Sqrt(float64(n)))
	}
	return x
}
