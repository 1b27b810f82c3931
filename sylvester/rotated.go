// This file is the solver rotated: conjugate gradients on the decoupled columns without a preconditioner.

package sylvester

import "context"

// rotated solves in the eigenvector coordinates of L, where the columns
// decouple, by conjugate gradients on all of them side by side; see [shifted].
// Columns outside the range of L need no multiplication.
type rotated struct{ cg shifted }

func (s *rotated) Name() string { return "rotated" }

func (s *rotated) Invalidate() {}

func (s *rotated) prepare(_ context.Context, f *frame) error {
	if err := f.iterative(); err != nil {
		return err
	}
	f.rotate()
	f.iterated = len(f.rho)
	return nil
}

func (s *rotated) round(ctx context.Context, f *frame, round int) error {
	if round == 0 {
		f.start()
	}
	return s.cg.round(ctx, f, round)
}
