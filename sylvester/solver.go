// This file runs a method until the true residual meets the tolerance.

package sylvester

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/iokl/iokl/blas"
)

// engine is what stands behind one of the names of [New]: a [method], or [auto], which chooses one for each call.
type engine interface {
	Name() string
	Invalidate()
}

// method is an engine that improves C by rounds; see [frame.run]. It owns what it
// keeps of K between solves; the system, the tolerance and the solution are the frame's.
type method interface {
	engine
	// prepare makes what the method needs of K, unless that is kept.
	prepare(ctx context.Context, f *frame) error
	// round brings C nearer to the solution: from the caller's start at round 0,
	// later from the residual of C, which lies in f.rt in the coordinates of C̃. What
	// it reaches stands in C beside an error too. ErrNotConverged says that another
	// round would not help.
	round(ctx context.Context, f *frame, round int) error
}

// roundingLevel is the largest backward-error ratio that a direct method promises where it is asked for no tolerance.
const roundingLevel = 100

// stalled is the least factor that a round after the first must gain on the true residual.
const stalled = 0.5

// run lets a method improve C until its true residual is as promised, which is the default
// tolerance where none is asked for and the method is not direct. After the first round each must halve the residual, so there are not many. watch, when it
// is not nil, sees every step and may end the run by errSlow, which leaves C as it was.
func (f *frame) run(ctx context.Context, m method, watch func(Step) error) error {
	f.res.Solver, f.res.Residual, f.watch = m.Name(), math.NaN(), watch
	d, isDirect := m.(*direct)
	if !isDirect {
		f.opt = f.opt.filled()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := m.prepare(ctx, f); err != nil {
		return err
	}
	for round := 0; ; round++ {
		previous := f.res.Residual
		f.measured = false
		err := m.round(ctx, f, round)
		if errors.Is(err, errSlow) {
			return err
		}
		if !f.measured {
			f.measure()
		}
		if err != nil && !errors.Is(err, ErrNotConverged) {
			return err
		}
		now := f.res.Residual
		if !finite(now) {
			return fmt.Errorf("%w: the solution has residual %g", ErrNotFinite, now)
		}
		done := now <= f.opt.Tol
		if isDirect {
			if done = done || f.opt.Tol == 0 && f.backward(d.norm()) <= roundingLevel; done {
				return f.step(now * f.normY) // the only one
			}
		}
		if done {
			return nil
		}
		if err != nil || round > 0 && !(now <= stalled*previous) || f.res.Iter >= f.opt.MaxIter {
			return notConverged(&f.res, f.opt.Tol)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		f.strips(true)
	}
}

func notConverged(res *Result, tol float64) error {
	return fmt.Errorf("%w: relative residual %.3g after %d multiplications, tolerance %.3g", ErrNotConverged,
		res.Residual, res.Iter, tol)
}

// solver is the [Solver] of an engine.
type solver struct {
	frame
	engine engine
	billed Result // what Sketch has multiplied for the next solve
}

func (s *solver) Name() string { return s.engine.Name() }

func (s *solver) Invalidate() {
	s.forget()
	s.engine.Invalidate()
}

func (s *solver) Solve(ctx context.Context, C blas.General, sys System, Y blas.General, opt Options) (Result, error) {
	err := s.begin(C, sys, Y, opt)
	if err == nil {
		s.res.Iter, s.res.Columns = s.billed.Iter, s.billed.Columns
		if chooser, ok := s.engine.(*auto); ok {
			err = chooser.solve(ctx, &s.frame)
		} else {
			err = s.run(ctx, s.engine.(method), nil)
		}
	}
	s.billed = Result{}
	return s.res, err
}
