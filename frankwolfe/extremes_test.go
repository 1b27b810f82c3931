package frankwolfe_test

import (
	"errors"
	"math"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/frankwolfe"
)

// The problem of a diagonal AᵀA has the diagonal solution max(y_i/a_i, 0) where the trace bound does not matter. Its
// scale changes nothing, and what leaves the range is said so.
func TestExtremes(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		name string
		n    int
		// what all of g, and then single parts of it, are multiplied by or set to
		scale                        float64
		a, y, b, yy, lambda, tau, L0 float64
		want                         error
	}{
		{"plain", 4, 1, 1, 1, 0, 1, 1, 1, 0, nil},
		{"order 1", 1, 1, 1, 1, 0, 1, 1, 1, 0, nil},
		{"order 0", 0, 1, 1, 1, 0, 1, 1, 1, 0, nil},
		{"tiny", 4, 1e-300, 1, 1, 0, 1, 1, 1, 0, nil},
		{"subnormal", 4, 1e-310, 1, 1, 0, 1, 1, 1, 0, nil},
		{"huge", 4, 1e300, 1, 1, 0, 1, 1, 1, 0, nil},
		{"zero", 4, 0, 1, 1, 0, 1, 1, 1, 0, nil},
		{"no targets", 4, 1, 1, 0, 0, 0, 1, 1, 0, nil},
		{"a point", 4, 1, 1, 1, 0, 1, 1, 0, 0, nil},
		{"overflow", 4, 1e308, 100, 100, 0, 100, 1, 1, 0, frankwolfe.ErrNotFinite},
		{"AᵀA·L overflows", 4, 1e200, 1, 1, 0, 1, 1, 1e200, 1, frankwolfe.ErrNotFinite},
		{"NaN in AᵀA", 4, 1, nan, 1, 0, 1, 1, 1, 0, frankwolfe.ErrNotFinite},
		{"NaN in AᵀY", 4, 1, 1, nan, 0, 1, 1, 1, 0, frankwolfe.ErrNotFinite},
		{"NaN in B", 4, 1, 1, 1, nan, 1, 1, 1, 0, frankwolfe.ErrNotFinite},
		{"NaN in ‖Y‖²", 4, 1, 1, 1, 0, nan, 1, 1, 0, frankwolfe.ErrNotFinite},
		{"NaN in λ", 4, 1, 1, 1, 0, 1, nan, 1, 0, frankwolfe.ErrNotFinite},
		{"NaN in τ", 4, 1, 1, 1, 0, 1, 1, nan, 0, frankwolfe.ErrNotFinite},
		{"NaN in the start", 4, 1, 1, 1, 0, 1, 1, 1, nan, frankwolfe.ErrNotFinite},
		{"infinite AᵀA", 4, 1, inf, 1, 0, 1, 1, 1, 0, frankwolfe.ErrNotFinite},
		{"infinite AᵀY", 4, 1, 1, inf, 0, 1, 1, 1, 0, frankwolfe.ErrNotFinite},
		{"infinite B", 4, 1, 1, 1, inf, 1, 1, 1, 0, frankwolfe.ErrNotFinite},
		{"infinite ‖Y‖²", 4, 1, 1, 1, 0, inf, 1, 1, 0, frankwolfe.ErrNotFinite},
		{"infinite λ", 4, 1, 1, 1, 0, 1, inf, 1, 0, frankwolfe.ErrNotFinite},
		{"infinite τ", 4, 1, 1, 1, 0, 1, 1, inf, 0, frankwolfe.ErrNotFinite},
		{"infinite start", 4, 1, 1, 1, 0, 1, 1, 1, inf, frankwolfe.ErrNotFinite},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := c.n
			p := &frankwolfe.Problem{
				AtA: blas.NewGeneral(n, n), AtY: blas.NewGeneral(n, n), B: blas.NewGeneral(n, n),
				Samples: 2, Lambda: c.lambda, Tau: c.tau * 10 * float64(n),
			}
			L := blas.NewGeneral(n, n)
			least := 0.0 // min g: the diagonal elements a·x² − 2y·x are least at y/a
			for i := range n {
				a, y := c.a*float64(1+i), c.y*float64(2*i-1)
				p.AtA.Data[i*(n+1)], p.AtY.Data[i*(n+1)], p.B.Data[i*(n+1)] = a*c.scale, y*c.scale, c.b*c.scale
				L.Data[i*(n+1)] = c.L0 * c.tau
				if best := max(y/a, 0); c.tau > 0 {
					least += a*best*best - 2*y*best
				}
				p.YY += c.yy * y * y / a
			}
			least, p.YY = (least+p.YY)/2*c.scale, p.YY*c.scale
			if math.IsInf(c.yy, 0) || math.IsNaN(c.yy) {
				p.YY = c.yy
			}
			res, err := frankwolfe.Solve(bg, L, p, frankwolfe.Options{Tol: 1e-2})
			if !errors.Is(err, c.want) {
				t.Fatalf("error %v, want %v", err, c.want)
			}
			if err == nil && !(res.Value-least <= 0.011*res.Value+1e-13*p.YY && res.Gap <= 0.01*res.Value+1e-13*p.YY) {
				t.Errorf("value %g, gap %g, least %g", res.Value, res.Gap, least)
			}
		})
	}
}
