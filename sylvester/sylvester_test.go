package sylvester_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/par"
	"github.com/iokl/iokl/sylvester"
)

func TestCases(t *testing.T) {
	for _, c := range cases() {
		for _, name := range sylvester.Names() {
			t.Run(c.name+"/"+name, func(t *testing.T) {
				C := blas.NewGeneral(c.Y.Rows, c.Y.Cols)
				res, err := solverNamed(t, name).Solve(context.Background(), C, system(c.K, c.L, c.mu), c.Y,
					sylvester.Options{Tol: c.tol, MaxIter: 5000})
				if !errors.Is(err, c.want) && !errors.Is(err, c.or) {
					t.Fatalf("error %v, want %v", err, c.want)
				}
				if err == nil {
					checkClaims(t, c, C, res)
				}
			})
		}
	}
}

// checkClaims compares what res says with C itself.
func checkClaims(t *testing.T, c testCase, C blas.General, res sylvester.Result) {
	t.Helper()
	r := residual(c.K, c.L, c.mu, C, c.Y)
	if !(r <= c.tol) {
		t.Errorf("residual %g, tolerance %g", r, c.tol)
	}
	if !(math.Abs(r-res.Residual) <= 1e-3*r+1e-12) {
		t.Errorf("residual %g, claimed %g", r, res.Residual)
	}
	KC := blas.NewGeneral(C.Rows, C.Cols)
	blas.Mul(blas.Active(), KC, false, false, c.K, C)
	blas.AddScaled(KC, -1, res.KC)
	if d := blas.Frob(KC); !(d <= 1e-12*blas.Frob(c.K)*blas.Frob(C)) {
		t.Errorf("KC is off by %g", d)
	}
}

// TestReuse runs one solver through changes of L, of K after Invalidate, of shape
// and of tolerance, each time from the last solution when that fits.
func TestReuse(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	small := testCase{
		K: spectrum(rng, decay(40, 5, 0.8)), L: outputKernel(rng, 4, decay(3, 2, 0.5)), mu: 0.1,
		Y: gaussian(rng, 40, 4), tol: 1e-9,
	}
	large := testCase{
		K: spectrum(rng, decay(300, 50, 0.97)), L: outputKernel(rng, 6, decay(6, 2, 0.5)), mu: 0.01,
		Y: gaussian(rng, 300, 6), tol: 1e-6,
	}
	otherL, otherK, near := large, large, large
	otherL.L = outputKernel(rng, 6, decay(5, 3, 0.7))
	near.K = blas.Clone(large.K)
	blas.Scal(1.1, near.K.Data)
	otherK.K = spectrum(rng, decay(300, 80, 0.99))
	for _, name := range sylvester.Names() {
		t.Run(name, func(t *testing.T) {
			s := solverNamed(t, name)
			C := map[int]blas.General{40: blas.NewGeneral(40, 4), 300: blas.NewGeneral(300, 6)}
			for i, c := range []testCase{large, otherL, near, otherK, small, large, large} {
				if i >= 2 && i <= 5 {
					s.Invalidate()
				}
				res, err := s.Solve(context.Background(), C[c.Y.Rows], system(c.K, c.L, c.mu), c.Y,
					sylvester.Options{Tol: c.tol})
				if err != nil {
					t.Fatalf("solve %d: %v", i, err)
				}
				checkClaims(t, c, C[c.Y.Rows], res)
			}
		})
	}
}

// TestStrides solves inside larger matrices.
func TestStrides(t *testing.T) {
	c := cases()[0]
	inside := func(a blas.General) blas.General {
		b := blas.View(gaussian(rand.New(rand.NewPCG(5, 6)), a.Rows+2, a.Cols+3), 1, 2, a.Rows, a.Cols)
		blas.Copy(b, a)
		return b
	}
	for _, name := range sylvester.Names() {
		t.Run(name, func(t *testing.T) {
			C := inside(blas.NewGeneral(c.Y.Rows, c.Y.Cols))
			res, err := solverNamed(t, name).Solve(context.Background(), C, system(c.K, c.L, c.mu), inside(c.Y),
				sylvester.Options{Tol: c.tol})
			if err != nil {
				t.Fatal(err)
			}
			checkClaims(t, c, C, res)
		})
	}
}

// TestThreads asserts that results do not depend on the number of threads.
func TestThreads(t *testing.T) {
	defer par.SetThreads(0)
	rng := rand.New(rand.NewPCG(9, 10))
	K := spectrum(rng, decay(400, 30, 0.98))
	L := outputKernel(rng, 9, decay(9, 2, 0.6))
	Y := gaussian(rng, 400, 9)
	for _, name := range sylvester.Names() {
		t.Run(name, func(t *testing.T) {
			var first blas.General
			for _, threads := range []int{1, 2, 5} {
				par.SetThreads(threads)
				C := blas.NewGeneral(400, 9)
				if _, err := solverNamed(t, name).Solve(context.Background(), C, system(K, L, 0.05), Y,
					sylvester.Options{Tol: 1e-6}); err != nil {
					t.Fatal(err)
				}
				if first.Data == nil {
					first = C
				}
				for i, v := range C.Data {
					if v != first.Data[i] {
						t.Fatalf("%d threads: element %d is %v, with one thread %v", threads, i, v, first.Data[i])
					}
				}
			}
		})
	}
}
