// This file approximates the inverse on the observed cells by inverses on the full grid.

package sylvester

import (
	"context"
	"errors"
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// missingCells approximates the inverse of P_Ω·Ā·P_Ω, the system of the observed
// cells in units of μ, with Ā⁻¹ on the full grid. It looks for values z of the
// missing cells for which x = Ā⁻¹(b + z) is 0 there,
//
//	P·Ā⁻¹·P·z = −P·Ā⁻¹·b,   P = I − P_Ω,
//
// by conjugate gradients, one application of Ā⁻¹ an iteration. Their residual is
// −P·x, and what remains of b when x is cut to Ω is P_Ω(K⊗L/μ)·P·x. They stop on
// its norm, or on the norm of P·x in the metric of Ā. The eigenvalues of μA⁻¹ lie in (0, 1], most
// of them near 1 where the
// eigenvalues of K and L fall fast, so that few iterations do (mathematics.md §11).
//
// As it stops early, it is no linear map: it preconditions flexible iterations.
// Scratch: 3·l·n floats.
type missingCells struct {
	cells *linop.Cells // nil for a complete grid
	grid  gridInverse
	mu    float64
	tol   float64 // stop when ‖P_Ω(K⊗L/μ)·P·x‖ is at most this, or
	rel   float64 // ‖P·x‖ in the metric of Ā at most this part of √⟨b,x⟩; 1 for no iteration
	limit int     // applications of Ā⁻¹ in all

	ctx     context.Context
	solves  int // applications of Ā⁻¹ so far
	err     error
	x, p, u blas.General
}

// errLimit says that the applications of Ā⁻¹ are spent.
var errLimit = errors.New("sylvester: the full-grid solves are spent")

// missingPatience is how many iterations may pass without a lower residual.
const missingPatience = 20

func (s *missingCells) shape(l, n int) {
	s.x = blas.Reshape(s.x, l, n)
	if s.cells != nil {
		s.p, s.u = blas.Reshape(s.p, l, n), blas.Reshape(s.u, l, n)
	}
}

// Dim is l·n.
func (s *missingCells) Dim() int { return s.x.Rows * s.x.Cols }

// Apply computes dst ≈ (P_Ω·A·P_Ω)⁻¹·b for one contiguous column b that is zero
// outside Ω. After an error, which is kept in err, and where rounding leaves no
// positive ⟨b, dst⟩, it is the identity over μ.
func (s *missingCells) Apply(dst, b blas.General) {
	R := blas.General{Rows: s.x.Rows, Cols: s.x.Cols, Stride: s.x.Cols, Data: b.Data}
	out := blas.General{Rows: R.Rows, Cols: R.Cols, Stride: R.Cols, Data: dst.Data}
	if s.err == nil {
		s.err = s.solve(R)
	}
	if s.cells == nil {
		blas.Copy(out, s.x)
	} else {
		s.cells.Project(out, s.x)
	}
	if s.err != nil || !(blas.Inner(R, out) > 0) {
		blas.Copy(out, R)
	}
	blas.Scal(1/s.mu, out.Data)
}

// solve writes Ā⁻¹(b + z) to x.
func (s *missingCells) solve(b blas.General) error {
	if err := s.count(); err != nil {
		return err
	}
	if err := s.grid.begin(s.ctx, s.x, b); err != nil {
		return err
	}
	if s.cells == nil || s.rel >= 1 {
		return nil
	}
	lowest, idle := math.Inf(1), 0
	var rr, beta float64
	for first := true; ; first = false {
		s.cells.ProjectMissing(s.u, s.x) // u = −r
		before := rr
		rr = blas.Inner(s.u, s.u)
		size, energy := s.grid.residual(s.u)
		if !(rr > 0) || !(size > s.tol) || energy+rr <= square(s.rel)*blas.Inner(b, s.x) {
			return nil
		}
		if idle++; size < lowest {
			lowest, idle = size, 0
		}
		if idle >= missingPatience {
			return nil
		}
		if first {
			beta = 0
			blas.Copy(s.p, s.u)
		} else {
			beta = rr / before
			blas.Scal(beta, s.p.Data)
			blas.AddScaled(s.p, 1, s.u)
		}
		if err := s.count(); err != nil {
			return err
		}
		if err := s.grid.advance(s.ctx, s.u, s.p, beta); err != nil {
			return err
		}
		pu := blas.Inner(s.p, s.u)
		if !(pu > 0) {
			return nil // at rounding level
		}
		blas.AddScaled(s.x, -rr/pu, s.u) // p has the sign of −r
	}
}

// count looks at the context and the limit before an application of Ā⁻¹.
func (s *missingCells) count() error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	if s.solves >= s.limit {
		return errLimit
	}
	s.solves++
	return nil
}
