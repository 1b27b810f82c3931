package sylvester_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/sylvester"
)

// every calls run with each solver of the package for cells of weight 1 of an l×n grid, but for the first of each row
// where some are missing.
func every(t *testing.T, l, n int, run func(name string, solve func(
	C blas.General, sys sylvester.System, Y blas.General) (sylvester.Result, error), cells *linop.Cells,
),
) {
	all := linop.NewCells(l, n, func(int, int) bool { return true })
	some := linop.NewCells(l, n, func(i, j int) bool { return j > 0 || i%2 > 0 })
	for _, name := range sylvester.Names() {
		run(name, func(C blas.General, sys sylvester.System, Y blas.General) (sylvester.Result, error) {
			return solverNamed(t, name).Solve(t.Context(), C, sys, Y, sylvester.Options{Tol: 1e-8})
		}, all)
	}
	for _, name := range sylvester.Names() {
		run("masked "+name, func(C blas.General, sys sylvester.System, Y blas.General) (sylvester.Result, error) {
			return newMasked(t, name, some).Solve(t.Context(), C, sys, Y, sylvester.Options{Tol: 1e-8})
		}, some)
	}
	for _, cells := range []*linop.Cells{all, some} {
		run("sum", func(C blas.General, sys sylvester.System, Y blas.General) (sylvester.Result, error) {
			half := &linop.Spectral{V: sys.L.V, S: make([]float64, sys.L.Rank())}
			for b, v := range sys.L.S {
				half.S[b] = v / 2
			}
			terms := []linop.Term{{K: sys.K, L: half}, {K: sys.K, L: half}}
			return sylvester.NewSum(cells, sylvester.Config{}).Solve(t.Context(), C, terms, sys.Mu, Y,
				sylvester.Options{Tol: 1e-8})
		}, cells)
		run("reweighted", func(C blas.General, sys sylvester.System, Y blas.General) (sylvester.Result, error) {
			return newReweighted(t).Solve(t.Context(), C, sys, cells, Y, sylvester.Options{Tol: 1e-8})
		}, cells)
	}
	for _, name := range []string{"bordered", "leave one out"} {
		run(name, func(C blas.General, sys sylvester.System, Y blas.General) (sylvester.Result, error) {
			dec, err := sylvester.Decompose(t.Context(), sys.K, nil)
			if err != nil {
				return sylvester.Result{}, err
			}
			if name == "bordered" {
				return sylvester.NewBordered(dec, Y, nil).Solve(t.Context(), C, sys, Y, sylvester.Options{Tol: 1e-8})
			}
			lo := sylvester.NewLeaveOut(dec, nil)
			if err := lo.Use(sys.L, Y); err != nil {
				return sylvester.Result{}, err
			}
			return sylvester.Result{}, lo.At(C, sys.Mu)
		}, all)
	}
}

// Systems without rows or columns have an empty solution, whatever the solver.
func TestEmptySystems(t *testing.T) {
	for _, shape := range [][3]int{{0, 0, 0}, {0, 3, 3}, {0, 3, 0}, {4, 0, 0}} {
		l, n, rank := shape[0], shape[1], shape[2]
		L := linop.ScaledIdentity(n, 1)
		L = &linop.Spectral{V: blas.Clone(blas.View(L.V, 0, 0, n, rank)), S: L.S[:rank]}
		sys := sylvester.System{K: linop.NewDense(blas.NewGeneral(l, l), nil), L: L, Mu: 1}
		every(t, l, n, func(name string, solve func(
			C blas.General, sys sylvester.System, Y blas.General) (sylvester.Result, error), _ *linop.Cells,
		) {
			t.Run(fmt.Sprint(name, shape), func(t *testing.T) {
				res, err := solve(blas.NewGeneral(l, n), sys, blas.NewGeneral(l, n))
				if err != nil || res.Residual != 0 {
					t.Errorf("residual %g, %v", res.Residual, err)
				}
			})
		})
	}
}

// Scales that leave the solution a number of full precision change nothing, and what leaves the range is said so.
func TestExtremeSystems(t *testing.T) {
	const l, n = 5, 2
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		name          string
		K, rho, mu, Y float64 // what K, the eigenvalues of L, μ and Y are multiplied by
		want          error
	}{
		{"plain", 1, 1, 1, 1, nil},
		{"Y zero", 1, 1, 1, 0, nil},
		{"Y tiny", 1, 1, 1, 1e-300, nil},
		{"Y subnormal", 1, 1, 1, 1e-310, nil},
		{"Y huge", 1, 1, 1, 1e300, nil},
		{"Y overflows", 1, 1, 1, 1.7e308, sylvester.ErrNotFinite},
		{"Y NaN", 1, 1, 1, nan, sylvester.ErrNotFinite},
		{"Y infinite", 1, 1, 1, inf, sylvester.ErrNotFinite},
		{"K zero", 0, 1, 1, 1, nil},
		{"K and μ tiny", 1e-300, 1, 1e-300, 1, nil},
		{"K and μ huge", 1e300, 1, 1e300, 1, nil},
		{"K tiny", 1e-300, 1, 1, 1, nil},
		{"K NaN", nan, 1, 1, 1, sylvester.ErrNotFinite},
		{"K infinite", inf, 1, 1, 1, sylvester.ErrNotFinite},
		{"L zero", 1, 0, 1, 1, nil},
		{"L and μ tiny", 1, 1e-300, 1e-300, 1, nil},
		{"L and μ huge", 1, 1e300, 1e300, 1, nil},
		{"L NaN", 1, nan, 1, 1, sylvester.ErrNotFinite},
		{"L infinite", 1, inf, 1, 1, sylvester.ErrNotFinite},
		{"K times L overflows", 1e200, 1e200, 1, 1, sylvester.ErrNotFinite},
		{"μ subnormal", 1, 1, 1e-310, 1, sylvester.ErrNotFinite},
		{"μ tiny, Y zero", 1, 1, 1e-300, 0, nil},
		{"μ tiny, L zero", 1, 0, 1e-300, 1e-200, nil},
		{"μ zero", 1, 1, 0, 1, sylvester.ErrNotSPD},
		{"μ negative", 1, 1, -1, 1, sylvester.ErrNotSPD},
		{"μ NaN", 1, 1, nan, 1, sylvester.ErrNotSPD},
		{"μ infinite", 1, 1, inf, 1, sylvester.ErrNotSPD},
		{"all of C underflows", 1, 1, 1e300, 1e-200, sylvester.ErrNotFinite},
	} {
		K, Y := blas.NewGeneral(l, l), blas.NewGeneral(l, n)
		for i := range l {
			K.Data[i*l+i] = c.K * float64(i+1)
			for j := range n {
				Y.Data[i*n+j] = c.Y * (1 - float64(i*n+j)/20)
			}
		}
		sys := sylvester.System{K: linop.NewDense(K, nil), L: linop.ScaledIdentity(n, c.rho), Mu: c.mu}
		every(t, l, n, func(name string, solve func(
			C blas.General, sys sylvester.System, Y blas.General) (sylvester.Result, error), cells *linop.Cells,
		) {
			t.Run(c.name+"/"+name, func(t *testing.T) {
				C := blas.NewGeneral(l, n)
				if _, err := solve(C, sys, Y); !errors.Is(err, c.want) {
					t.Fatalf("error %v, want %v", err, c.want)
				} else if err != nil {
					return
				}
				cells.Each(func(i, j int, _ float64) {
					want := Y.Data[i*n+j] / (K.Data[i*l+i]*c.rho + c.mu)
					if got := C.Data[i*n+j]; !(math.Abs(got-want) <= 1e-7*math.Abs(want)) {
						t.Errorf("element %d,%d is %g, want %g", i, j, got, want)
					}
				})
			})
		})
	}
}
