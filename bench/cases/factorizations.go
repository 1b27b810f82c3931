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

// factorization is a LAPACK routine with the flops it is customary to count.
type factorization struct {
	name  string
	flops float64 // over n³
	run   func(be blas.Backend, a blas.General) error
}

var factorizations = []factorization{
	{"cholesky", 1. / 3, func(be blas.Backend, a blas.General) error {
		for i := range a.Rows {
			a.Data[i*a.Stride+i] += 4 * float64(a.Rows) // positive definite
		}
		if !be.Potrf(a) {
			return fmt.Errorf("cholesky of order %d: not positive definite", a.Rows)
		}
		return nil
	}},
	{"lu", 2. / 3, func(be blas.Backend, a blas.General) error {
		if !be.(factorsLU).LU(a, make([]int, a.Rows)) {
			return fmt.Errorf("lu of order %d: singular", a.Rows)
		}
		return nil
	}},
	{"tridiagonal reduction", 4. / 3, func(be blas.Backend, a blas.General) error {
		be.Sytrd(a, make([]float64, a.Rows), make([]float64, a.Rows-1), make([]float64, a.Rows-1))
		return nil
	}},
	{"eigendecomposition", 9, func(be blas.Backend, a blas.General) error {
		return be.Syevd(a, make([]float64, a.Rows))
	}},
	{"qr", 8. / 3, func(be blas.Backend, a blas.General) error {
		be.QR(a, blas.General{})
		return nil
	}},
	{"svd", 22, func(be blas.Backend, a blas.General) error {
		return be.SVD(a, make([]float64, a.Rows), blas.NewGeneral(a.Rows, a.Rows), blas.NewGeneral(a.Rows, a.Rows))
	}},
	{"schur", 25, func(be blas.Backend, a blas.General) error {
		for i := range a.Rows {
			for j := range i {
				a.Data[i*a.Stride+j] *= 0.5 // not symmetric
			}
		}
		return be.Schur(a, blas.NewGeneral(a.Rows, a.Rows))
	}},
}

// factorsLU is what backends have that factorize a, or its transpose, as P·L·U.
type factorsLU interface {
	LU(a blas.General, pivots []int) bool
}

// lengthy are the factorizations that take seconds from order 1000 on.
var lengthy = map[string]bool{"svd": true, "schur": true}

// runEigen measures the factorizations behind the exact solvers with every
// backend. The share of the memory bandwidth is what moving the matrix once in
// and once out would take: far below 1, so that what limits them is elsewhere.
func runEigen(ctx context.Context, env *bench.Env) error {
	for _, n := range bench.Pick(env, []int{300, 600}, []int{500, 1000, 1500, 3060}) {
		A := data.RandomSymmetric(env, n)
		for _, f := range factorizations {
			if lengthy[f.name] && n > bench.Pick(env, 300, 1000) {
				continue
			}
			var all []bench.Contender
			for _, be := range blas.Backends() {
				if be.Name() == "gonum" && n > bench.Pick(env, 300, 1000) {
					continue // tens of seconds that show nothing new
				}
				if _, ok := be.(factorsLU); !ok && f.name == "lu" {
					continue
				}
				a := blas.Clone(A) // in memory that is there already
				all = append(all, bench.Contender{Name: be.Name(), Run: func() error {
					blas.Copy(a, A)
					return f.run(be, a)
				}})
			}
			plan := bench.Plan{Count: env.Repeats(5), Warm: n < 1000, Follow: n <= 1000, Budget: 3 * time.Second}
			params := map[string]any{"routine": f.name, "n": n, "precision": "float64"}
			err := env.Race(ctx, plan, params, all, func(part []bench.Result) {
				for i := range part {
					bytes := 16 * float64(n) * float64(n) // the matrix, read and written once
					part[i].Rate(f.flops*math.Pow(float64(n), 3), bytes)
				}
				againstOpenBLAS(part)
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

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
				{Name: plainGonum, Run: run},
				{Name: accelerated, Run: func() error { defer kernels.Use()(); return run() }},
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
