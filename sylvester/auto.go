package sylvester

import (
	"context"

	"github.com/iokl/iokl/blas"
)

// auto picks the method for every call.
type auto struct {
	exact  *eigen
	sketch *nystrom
}

func newAuto(cfg Config) Solver {
	return &auto{exact: newEigen(cfg).(*eigen), sketch: newNystrom(cfg).(*nystrom)}
}

func (s *auto) Name() string { return "auto" }

func (s *auto) Invalidate() {
	s.exact.Invalidate()
	s.sketch.Invalidate()
}

// smallOrder is the order below which an eigendecomposition is cheapest.
const smallOrder = 150

func (s *auto) Solve(ctx context.Context, C blas.General, sys System, Y blas.General, opt Options) (Result, error) {
	if l := Y.Rows; l <= smallOrder || s.exact.kept && len(s.exact.sigma) == l {
		return s.exact.Solve(ctx, C, sys, Y, opt)
	}
	return s.sketch.Solve(ctx, C, sys, Y, opt)
}
