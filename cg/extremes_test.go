package cg_test

import (
	"errors"
	"math"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/cg"
	"github.com/iokl/iokl/linop"
)

// The scales of A, b, the start and the preconditioner change nothing as long as the solution is a number of some
// digits, and what leaves the range is said so.
func TestExtremes(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		name             string
		A, b, x0, M, tol float64 // what each is multiplied by; no preconditioner for M = 0
		want             error
	}{
		{"plain", 1, 1, 0, 0, 0, nil},
		{"zero b", 1, 0, 1, 0, 0, nil},
		{"zero A", 0, 1, 0, 0, 0, cg.ErrNotSPD},
		{"negative A", -1, 1, 0, 0, 0, cg.ErrNotSPD},
		{"negative M", 1, 1, 0, -1, 0, cg.ErrNotSPD},
		{"tiny b", 1, 1e-300, 0, 0, 0, nil},
		{"subnormal b", 1, 1e-310, 0, 0, 0, nil},
		{"subnormal b, warm", 1, 1e-310, 1e-310, 0, 0, nil},
		{"subnormal b, far start", 1, 1e-310, 1, 0, 0, nil},
		{"subnormal b, preconditioned", 1, 1e-310, 0, 1, 0, nil},
		{"huge b", 1, 1e300, 0, 0, 0, nil},
		{"hugest b", 1, 4e307, 0, 0, 0, nil}, // ‖b‖ overflows
		{"tiny A and b", 1e-300, 1e-300, 1, 0, 0, nil},
		{"subnormal A and b", 1e-310, 1e-310, 1, 0, 0, nil},
		{"huge A and b", 1e300, 1e300, 1, 0, 0, nil},
		{"huge A", 1e300, 1, 0, 0, 0, nil},
		{"tiny A", 1e-300, 1, 0, 0, 0, nil},
		{"huge M", 1, 1, 0, 1e300, 0, nil},
		{"tiny M", 1, 1, 0, 1e-300, 0, nil},
		{"tight", 1e-300, 1e-300, 0, 0, 1e-15, nil},
		{"A·x overflows at the start", 1e300, 1, 1e300, 0, 0, nil},
		{"the solution overflows", 1e-300, 1e300, 0, 0, 0, cg.ErrNotFinite},
		{"the solution underflows", 1e300, 1e-300, 0, 0, 0, cg.ErrNotConverged},
		{"NaN in A", nan, 1, 0, 0, 0, cg.ErrNotFinite},
		{"NaN in b", 1, nan, 0, 0, 0, cg.ErrNotFinite},
		{"NaN in the start", 1, 1, nan, 0, 0, cg.ErrNotFinite},
		{"NaN in M", 1, 1, 0, nan, 0, cg.ErrNotFinite},
		{"infinite A", inf, 1, 0, 0, 0, cg.ErrNotFinite},
		{"infinite b", 1, inf, 0, 0, 0, cg.ErrNotFinite},
		{"infinite start", 1, 1, inf, 0, 0, cg.ErrNotFinite},
		{"infinite M", 1, 1, 0, inf, 0, cg.ErrNotFinite},
	} {
		for _, n := range []int{1, 30} {
			for _, opt := range []cg.Options{{}, {ScaleStart: true}, {Flexible: true}} {
				A, M := make(diagonal, n), make(diagonal, n)
				b, x := make([]float64, n), make([]float64, n)
				for i := range n {
					d := 1 + float64(i)/8
					A[i], M[i], b[i], x[i] = c.A*d, c.M/d, c.b*(2-float64(i)/float64(n)), c.x0
				}
				if opt.Tol = c.tol; c.M != 0 {
					opt.Precond = M
				}
				res, err := cg.Solve(bg, x, A, b, opt)
				if !errors.Is(err, c.want) {
					t.Errorf("%s, n = %d, %+v: error %v, want %v", c.name, n, opt, err, c.want)
					continue
				}
				for i := range n {
					want := b[i] / A[i]
					if c.b == 0 {
						want = 0
					}
					if err == nil && !(math.Abs(x[i]-want) <= 1e-6*math.Abs(want)) {
						t.Errorf("%s, n = %d, %+v: x[%d] = %g, want %g; %+v", c.name, n, opt, i, x[i], want, res)
						break
					}
				}
			}
		}
	}
	if _, err := cg.Solve(bg, nil, linop.NewDense(blas.NewGeneral(0, 0), nil), nil, cg.Options{}); err != nil {
		t.Errorf("n = 0: %v", err)
	}
}
