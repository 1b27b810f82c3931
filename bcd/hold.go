// This file solves for the coefficients alone, at weights and output kernels that stay, and certifies these.

package bcd

import "context"

// Hold performs the C step of p at the weights and the output kernels of opt.Start, to the relative residual
// opt.InnerTol, and certifies the point among all that p may learn. Of opt.Start.X only the C step's start is taken.
// A nil error says that C was found, whatever its gap; the other errors are those of [Solve].
func Hold(ctx context.Context, p *Problem, opt Options) (*Result, error) {
	opt.hold = true
	return Solve(ctx, p, opt)
}

// held is the method of [Hold]: one C step.
type held struct{ f *fit }

func (h held) minimize(ctx context.Context, pt *point, goal float64) error {
	f := h.f
	if err := f.solve(ctx, pt, f.tolFor(pt, warmUpShare, goal)); err != nil {
		return err
	}
	f.best = pt
	return f.cover(ctx, pt)
}
