package sylvester

import (
	"context"
	"math"

	"github.com/iokl/iokl/blas"
)

// rotated solves in the eigenvector coordinates of L, where the columns
// decouple, by conjugate gradients on all of them side by side; see [shifted].
// Columns outside the range of L need no multiplication. The joint residual is
// recomputed in the original coordinates before it is claimed; when the
// recurrences were too hopeful, another round starts from the true residual.
type rotated struct {
	*frame
	cg shifted
}

func newRotated(cfg Config) Solver {
	return &rotated{frame: &frame{be: cfg.Backend, single: cfg.Single}}
}

func (s *rotated) Name() string { return "rotated" }

func (s *rotated) Invalidate() { s.forget() }

func (s *rotated) Solve(ctx context.Context, C blas.General, sys System, Y blas.General, opt Options) (Result, error) {
	res := Result{Solver: s.Name(), Residual: math.NaN()}
	opt = opt.filled(Y.Rows)
	var err error
	if res.Single, err = s.beginIn(opt.Single, C, sys, Y); err != nil {
		return res, err
	}
	s.rotate()
	s.hard = sys.L.Rank()
	if err := s.open(C, &res); err != nil {
		return res, err
	}
	err = s.iterate(ctx, &s.cg, C, opt, &res)
	return res, err
}
