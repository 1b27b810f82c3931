package interior

import (
	"context"
	"math"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/regularizer"
)

// The steps end where the gap τ·‖(λ_max(G_1) … λ_max(G_m))‖_q* − Σ⟨G_j,L_j⟩, which bounds what the convex h/λ can fall
// by, is small, and all traces are feasible; with all cells and with few.
func TestSumGap(t *testing.T) {
	const l, n, m = 9, 3, 2
	be := blas.Active()
	for _, c := range []struct {
		name  string
		norm  regularizer.Lp
		share float64
	}{
		{"l_1", regularizer.Lp{P: 1}, 1},
		{"l_2, missing cells", regularizer.Lp{P: 2}, 0.6},
		{"l_1.3, missing cells", regularizer.Lp{P: 1.3}, 0.6},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &SumProblem{Backend: be, Tau: 2, Mu: 0.05, Norm: c.norm, Y: randn(21, l, n)}
			if c.share < 1 {
				observed := func(i, j int) bool { return math.Mod(float64(7*i+3*j)*0.31, 1) < c.share }
				p.Cells = linop.NewCells(l, n, observed)
				p.Cells.Project(p.Y, p.Y)
			}
			var L []*linop.Spectral
			for j := range m {
				p.K = append(p.K, linop.NewDense(gramOf(be, 0.3, randn(uint64(22+j), l, 4)), be))
				L = append(L, linop.ScaledIdentity(n, p.Tau/(m*n)))
			}
			gap := 0.0
			p.Measure = func(_ context.Context, q *SumPoint) (float64, error) {
				top := make([]float64, m)
				gap, q.G = 0, make([]blas.General, m)
				for j := range m {
					KC, g := blas.Like(q.X), make([]float64, n)
					p.K[j].Apply(KC, q.X)
					q.G[j] = blas.NewGeneral(n, n)
					blas.Mul(be, q.G[j], true, false, q.X, KC)
					blas.Symmetrize(q.G[j])
					for a, v := range blas.Forms(be, q.L[j].V, q.G[j]) {
						gap -= q.L[j].S[a] * v
					}
					if err := be.Syevals(blas.Clone(q.G[j]), g); err != nil {
						return 0, err
					}
					top[j] = g[n-1]
				}
				gap += p.Tau * c.norm.Conjugate(top)
				return gap, nil
			}
			d, err := NewSum(t.Context(), p, L, 1)
			if err != nil || d == nil {
				t.Fatal(d, err)
			}
			first := d.Point.value
			for range 30 {
				if lowered, err := d.Step(t.Context()); err != nil {
					t.Fatal(err)
				} else if !lowered || gap < 1e-9*d.Point.value {
					break
				}
			}
			traces := make([]float64, m)
			for j, L := range d.Point.L {
				traces[j] = L.Trace() / p.Tau
			}
			if !(gap < 1e-9*first) || !(c.norm.Norm(traces) < 1+1e-12) || d.Solves == 0 || d.Columns == 0 {
				t.Errorf("a gap of %.3g of %.6g, from %.6g; traces %v", gap, d.Point.value, first, traces)
			}
		})
	}
}
