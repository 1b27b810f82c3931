// This file shows callers the sketch of K that a solve would begin with.

package sylvester

import (
	"context"

	"github.com/iokl/iokl/blas"
)

// Sketcher is a solver that may look at K before it solves.
type Sketcher interface {
	// Sketch returns U (l×q) of orthonormal columns and s > 0 in descending order
	// with K ≈ U·diag(s)·Uᵀ, when such a sketch is how a solve of the same
	// arguments would precondition, which then uses it; otherwise s is empty. Both
	// lie in the solver's memory and are valid until its next call. What it
	// multiplies is counted in the Result of the next solve, which also reports what
	// is wrong with the arguments.
	Sketch(ctx context.Context, sys System, Y blas.General, opt Options) (U blas.General, s []float64)
}

// surveyor is an engine that may sketch K before it solves; the sketch is nil where it does not.
type surveyor interface {
	engine
	sketch(ctx context.Context, f *frame) (*lowRank, error)
}

type sketchSolver struct{ solver }

func (s *sketchSolver) Sketch(
	ctx context.Context, sys System, Y blas.General, opt Options,
) (U blas.General, sigma []float64) {
	if err := s.begin(Y, sys, Y, opt); err != nil {
		return blas.General{}, nil
	}
	s.opt = s.opt.filled()
	s.res.Iter, s.res.Columns = s.billed.Iter, s.billed.Columns
	low, err := s.engine.(surveyor).sketch(ctx, &s.frame)
	s.billed = s.res
	if low == nil || err != nil {
		return blas.General{}, nil
	}
	return low.U, low.s
}
