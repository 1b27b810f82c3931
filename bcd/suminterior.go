// This file minimizes a small sum of separable kernels by an interior point method.

package bcd

import (
	"context"
	"math"

	"github.com/iokl/iokl/interior"
	"github.com/iokl/iokl/internal/memory"
	"github.com/iokl/iokl/internal/phase"
)

// innerProblem is the problem as an interior point method takes it.
func (f *sumModel) innerProblem() *interior.SumProblem {
	return &interior.SumProblem{
		Backend: f.t.be, Tau: f.t.tau, Mu: f.t.mu, Norm: f.norm, K: f.K, Cells: f.s.cells, Y: f.s.Y,
	}
}

// inside takes steps of [interior.Sum] from pt until the relative gap is at most the tolerance, and extraSteps at most
// to go beyond. Where memory does not suffice it takes none.
func (f *sumModel) inside(ctx context.Context, pt *point) error {
	p := f.innerProblem()
	if _, floats := p.Work(); memory.Check("bcd: a factor for the observed cells", 8*floats, "") != nil {
		return nil
	}
	var at *point
	p.Measure = func(ctx context.Context, q *interior.SumPoint) (float64, error) {
		at = &point{Ls: q.L, X: q.X}
		err := f.measure(ctx, at, f.t.all)
		q.G = at.Gs
		return (at.cert.objective - f.low) / f.t.lambda, err
	}
	d, err := interior.NewSum(ctx, p, pt.Ls, pt.cert.gapL/f.t.lambda)
	if err != nil || d == nil {
		return err
	}
	count := func() {
		f.cost.solver, f.cost.solves, f.cost.columns = "cholesky", f.cost.solves+d.Solves, f.cost.columns+d.Columns
		d.Solves, d.Columns = 0, 0
	}
	defer count()
	extra := 0
	for range interiorSteps {
		var lowered bool
		phase.Do(ctx, phase.LStep, func(ctx context.Context) { lowered, err = d.Step(ctx) })
		if err != nil || !lowered {
			return err
		}
		f.iter++
		next, err := f.cut(ctx, d, at)
		if err != nil {
			return err
		}
		count()
		if err := f.accept(next, f.opt.Tol); err != nil || f.spent() {
			return err
		}
		if f.ends(next, f.opt.Tol) {
			extra++
		}
		if extra > 0 && (extra > extraSteps || next.cert.relative() <= extraGoal*f.opt.Tol) {
			return nil
		}
	}
	return nil
}

// cut is the certified point without the eigenvalues of the L_j that the barrier alone keeps from 0, or with them where
// the gap would rise above the tolerance.
func (f *sumModel) cut(ctx context.Context, d *interior.Sum, whole *point) (*point, error) {
	if err := f.certify(ctx, whole); err != nil {
		return nil, err
	}
	if whole.cert.relative() > f.opt.Tol { // the bound at C moves by much where the objective hardly does
		if err := f.cover(ctx, &point{Ls: whole.Ls, X: d.Tangent}); err != nil {
			return nil, err
		}
		whole.cert.gapL = math.Min(whole.cert.gapL, math.Abs(whole.cert.objective-f.low))
	}
	p, err := d.Output(ctx)
	if err != nil || p == nil {
		return whole, err
	}
	pt := &point{Ls: p.L, X: p.X}
	if err := f.cover(ctx, pt); err != nil {
		return nil, err
	}
	if pt.cert.relative() > f.opt.Tol && pt.cert.gapL > whole.cert.gapL {
		return whole, nil
	}
	return pt, nil
}
