package sylvester_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/sylvester"
)

// TestAutoChoice solves systems that one method wins by far.
func TestAutoChoice(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 13))
	slow := spectrum(rng, decay(250, 100, 0.9))
	for _, c := range []struct {
		name, chosen string
		testCase
	}{
		{"one shift, many iterations", "cholesky", testCase{
			K: slow, L: linop.ScaledIdentity(30, 1), mu: 1e-4, Y: gaussian(rng, 250, 30), tol: 1e-8,
		}},
		{"many shifts, many iterations", "tridiagonal", testCase{
			K: slow, L: outputKernel(rng, 60, decay(60, 3, 0.99)), mu: 1e-4, Y: gaussian(rng, 250, 60), tol: 1e-8,
		}},
		{"one column, few iterations", "rotated", testCase{
			K: slow, L: linop.ScaledIdentity(1, 1), mu: 1e3, Y: gaussian(rng, 250, 1), tol: 1e-8,
		}},
		{"rank 2, few iterations", "rotated", testCase{
			K: slow, L: outputKernel(rng, 40, decay(2, 3, 0.5)), mu: 50, Y: gaussian(rng, 250, 40), tol: 1e-6,
		}},
		{"rank 2, many iterations", "cholesky", testCase{
			K: slow, L: outputKernel(rng, 40, decay(2, 3, 0.5)), mu: 1e-5, Y: gaussian(rng, 250, 40), tol: 1e-8,
		}},
		{"one column, many iterations", "cholesky", testCase{
			K: slow, L: linop.ScaledIdentity(1, 1), mu: 1e-5, Y: gaussian(rng, 250, 1), tol: 1e-8,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := solverNamed(t, "auto")
			C := blas.NewGeneral(c.Y.Rows, c.Y.Cols)
			res, err := s.Solve(context.Background(), C, system(c.K, c.L, c.mu), c.Y, sylvester.Options{Tol: c.tol})
			if err != nil {
				t.Fatal(err)
			}
			checkClaims(t, c.testCase, C, res)
			if res.Solver != c.chosen {
				t.Errorf("chose %s, want %s", res.Solver, c.chosen)
			}
		})
	}
}

// TestAutoWithinMemory iterates where memory holds no factors, though these would be faster.
func TestAutoWithinMemory(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 13))
	c := testCase{
		K: spectrum(rng, decay(250, 100, 0.9)), L: linop.ScaledIdentity(1, 1), mu: 1e-3,
		Y: gaussian(rng, 250, 1), tol: 1e-8,
	}
	t.Cleanup(func() { memory.SetLimit(0) })
	for limit, direct := range map[int64]bool{0: true, 100 << 10: false} {
		memory.SetLimit(limit)
		C := blas.NewGeneral(250, 1)
		res, err := solverNamed(t, "auto").Solve(t.Context(), C, system(c.K, c.L, c.mu), c.Y,
			sylvester.Options{Tol: c.tol})
		if err != nil {
			t.Fatal(err)
		}
		checkClaims(t, c, C, res)
		if (res.Solver == "cholesky" || res.Solver == "tridiagonal") != direct {
			t.Errorf("within %d bytes: chose %s", limit, res.Solver)
		}
	}
}

// TestIterationsGivenUp checks that what was multiplied before a direct method took over is counted, and that this
// finds what it does alone.
func TestIterationsGivenUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(16, 17))
	K, L, Y := spectrum(rng, decay(200, 100, 0.9)), outputKernel(rng, 30, decay(3, 2, 0.5)), gaussian(rng, 200, 30)
	start := gaussian(rng, 200, 30)
	var solved [2]blas.General
	for i, name := range []string{"auto", "cholesky"} {
		solved[i] = blas.Clone(start)
		sys, columns := system(K, L, 1e-6), 0
		sys.K = linop.Func{N: 200, F: func(dst, x blas.General) {
			columns += x.Cols
			blas.Mul(blas.Active(), dst, false, false, K, x)
		}}
		res, err := solverNamed(t, name).Solve(context.Background(), solved[i], sys, Y, sylvester.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if res.Solver != "cholesky" {
			t.Fatalf("%s chose %s", name, res.Solver)
		}
		if columns -= 200; columns != res.Columns { // K itself, for the factor
			t.Errorf("%s: %d columns were multiplied, %d are counted", name, columns, res.Columns)
		}
	}
	blas.AddScaled(solved[0], -1, solved[1])
	if d := blas.Frob(solved[0]); d != 0 {
		t.Errorf("the solution differs by %g", d)
	}
}

// TestKnownStart checks that a start from the last solution is not multiplied by
// K again, but for the final residual, and that one for another K is.
func TestKnownStart(t *testing.T) {
	rng := rand.New(rand.NewPCG(14, 15))
	c := testCase{
		K: spectrum(rng, decay(120, 20, 0.9)), L: outputKernel(rng, 6, decay(6, 2, 0.5)), mu: 0.05,
		Y: gaussian(rng, 120, 6), tol: 1e-8,
	}
	for _, name := range []string{"rotated", "nystrom"} {
		var columns [2]int
		for i := range columns {
			s := solverNamed(t, name)
			C := blas.NewGeneral(120, 6)
			if _, err := s.Solve(context.Background(), C, system(c.K, c.L, c.mu), c.Y,
				sylvester.Options{Tol: c.tol}); err != nil {
				t.Fatal(err)
			}
			if i == 1 {
				s.Invalidate()
			}
			res, err := s.Solve(context.Background(), C, system(c.K, c.L, c.mu), c.Y, sylvester.Options{Tol: c.tol})
			if err != nil {
				t.Fatal(err)
			}
			checkClaims(t, c, C, res)
			columns[i] = res.Columns
		}
		if columns[0] != 6 || columns[1] != 12 {
			t.Errorf("%s: %d columns from the last solution, %d after Invalidate", name, columns[0], columns[1])
		}
	}
}
