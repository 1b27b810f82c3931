package bcd

import (
	"context"
	"math"

	"github.com/iokl/iokl/linop"
)

// outputSteps lets the descent move η and L in turn where there are many outputs: L
// to its best for η by the barrier method, which costs an eigendecomposition of A_η
// and one C step whatever λ is, η by steps that leave L alone. Where that makes
// no progress, the joint quasi-Newton method takes over for a number of steps.
type outputSteps struct {
	on, possible bool
	model        outputModel
	joint, late  int     // steps of the joint method before, and how many there are to be
	poor         int     // output steps in a row that left most of the gap
	target       float64 // of the last step where that was one of L, 0 else, see [outputModel].progress
	tol          float64 // of its C step
}

// outputModel is h as a function of L, exactly or approximately, and what follows for steps on it from the current
// point of a descent.
type outputModel interface {
	// early reports whether steps of L begin before their turn, the number of joint steps being late.
	early(late int) bool
	// gains reports whether L has more to gain than the weights have, target being that of the last step of L.
	gains(target float64) bool
	// open is the relative gap that the C step of a step may leave, target being left to gain.
	open(target float64) float64
	// minimize lowers the model over L until about target is left to gain.
	minimize(ctx context.Context, target float64) (*linop.Spectral, error)
	// highest is the objective that a step is to stay below, and admits reports whether one that exceeds it serves.
	highest() float64
	admits(ctx context.Context, next *point) (bool, error)
	// renew forgets what makes the model approximate where a step failed, and reports false where that is nothing.
	renew() bool
	// progress reports whether the step to the certified next was a good one, and returns the target to tell of it.
	progress(next *point, target float64) (float64, bool)
}

func newOutputSteps(t *task) (o outputSteps) {
	N := t.space.Unknowns()
	o.late = outputStepsLast
	o.possible = !t.fixL && t.rho == 0 && (t.n >= outputStepsLeast && N <= outputStepsMost || t.exactWeights())
	if t.n >= outputStepsFrom || t.exactWeights() {
		o.late = outputStepsLate
	}
	o.on = o.possible && t.n >= outputStepsLeast && N <= outputStepsRows*t.n
	return o
}

// takeTurns changes to moving L and η in turn, or back to the joint method, each time
// for twice as many steps.
func (d *blocks) takeTurns(on bool) error {
	o := &d.outputs
	if o.on = on; !on {
		o.joint, o.late, o.poor, o.model = 0, 2*max(o.late, outputStepsLast), 0, newOutputModel(d)
	}
	return d.begin(d.cur.pt, !on)
}

// inTurn is the next point by the method whose turn it is, or by one block where no joint step lowers the objective.
func (d *blocks) inTurn(ctx context.Context) (*iterate, error) {
	if next, err := d.step(ctx); next != nil || err != nil {
		return next, err
	}
	return d.oneBlock(ctx)
}

func (d *blocks) step(ctx context.Context) (*iterate, error) {
	o := &d.outputs
	if o.possible && !o.on {
		if o.joint++; o.joint > o.late || o.model.early(o.late) {
			if err := d.takeTurns(true); err != nil {
				return nil, err
			}
		}
	}
	if o.on && (d.t.fixEta || o.model.gains(o.target)) {
		next, err := d.outputStep(ctx)
		if next != nil || err != nil {
			return next, err
		}
		if err := d.takeTurns(false); err != nil {
			return nil, err
		}
	}
	o.target = 0
	if err := d.prepareWeights(ctx); err != nil {
		return nil, err
	}
	return d.search(ctx)
}

// outputStep moves L to about the best for the weights of cur. It returns nil when the
// objective rises, or poorSteps steps in a row made no progress.
func (d *blocks) outputStep(ctx context.Context) (*iterate, error) {
	cert, o := d.cur.pt.cert, &d.outputs
	target := math.Max(0.1*cert.gapEta, riseShare*d.goal*math.Abs(cert.objective))
	if o.target > 0 { // the gap bound at the last point exceeds what its step left to gain
		target = math.Min(target, 0.1*o.target)
	}
	o.target = target
	next, err := d.bestPoint(ctx, target)
	if next == nil || err != nil {
		return nil, err
	}
	if err := d.certify(ctx, next); err != nil {
		return nil, err
	}
	var good bool
	o.target, good = o.model.progress(next, target)
	if o.poor++; good {
		o.poor = 0
	}
	if o.poor == poorSteps {
		return nil, nil
	}
	return d.iterate(next), nil
}

// bestPoint is the point that minimises the model until target is left, nil where no model leads to one that serves.
func (d *blocks) bestPoint(ctx context.Context, target float64) (*point, error) {
	o := &d.outputs
	o.tol = math.Min(d.tol(), math.Max(innerTightest, d.share*math.Max(o.model.open(target), d.goal)))
	if o.poor > 0 { // the error of C may have been what kept gapL large
		o.tol = math.Max(innerTightest, poorTol*o.tol)
	}
	for {
		next, err := d.outputPoint(ctx, target)
		if err != nil {
			return nil, err
		}
		fits := !d.rises(next)
		if !fits {
			if fits, err = o.model.admits(ctx, next); err != nil {
				return nil, err
			}
		}
		if fits {
			return next, nil
		}
		if !o.model.renew() {
			return nil, nil
		}
	}
}

// outputPoint is the point that minimises the model until target is left, with a C step to tol, or more exactly where
// its error would hide target.
func (d *blocks) outputPoint(ctx context.Context, target float64) (*point, error) {
	pt, o := d.cur.pt, &d.outputs
	L, err := o.model.minimize(ctx, target)
	if err != nil {
		return nil, err
	}
	next, err := d.try(ctx, d.t.next(pt, pt.eta, L), o.tol)
	if err != nil {
		return nil, err
	}
	if inexact := d.t.inexactness(next); d.rises(next) && inexact > 0.1*target && d.opt.InnerTol == 0 {
		o.tol = math.Max(innerTightest, next.residual*math.Sqrt(0.1*target/inexact))
		return d.try(ctx, d.t.next(pt, pt.eta, L), o.tol)
	}
	return next, nil
}

// rises reports whether the objective at next is more than noise above where a step may lead.
func (d *blocks) rises(next *point) bool {
	return next.cert.objective > d.outputs.model.highest()+d.t.noise(next)
}
