package bcd

import (
	"context"
	"math"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/phase"
	"github.com/iokl/iokl/linop"
)

// outputSteps lets the descent move η and L in turn where there are many outputs: L
// to its best for η by the barrier method, which costs an eigendecomposition of A_η
// and one C step whatever λ is, η by steps that leave L alone. Where that does not
// get on, the joint quasi-Newton method takes over for good.
type outputSteps struct {
	on, possible bool
	joint, late  int     // steps of the joint method before, and how many there are to be
	poor         int     // output steps in a row that left most of the gap
	target       float64 // of the last one, when it was the last step
}

const (
	outputStepsFrom  = 40   // outputs; fewer are cheap enough to minimise the joint model well
	outputStepsRows  = 4    // rows of A_η for each output up to which the steps are taken from the start
	outputStepsLate  = 5    // steps after which they are taken with more rows, or where weights have an exact model,
	outputStepsLast  = 20   // and with fewer outputs, but
	outputStepsLeast = 10   // so many at least,
	outputStepsMost  = 3000 // up to this number
	poorStep         = 0.5  // share of gapL that a good step may leave
	poorSteps        = 2
	poorTol          = 1e-2 // factor of the tolerance of the C step after a poor one
)

func (o *outputSteps) init(d *descent) {
	N := d.space.Unknowns()
	o.possible = !d.fixL && d.rho == 0 && (d.n >= outputStepsLeast && N <= outputStepsMost || d.exactWeights())
	if o.late = outputStepsLast; d.n >= outputStepsFrom || d.exactWeights() {
		o.late = outputStepsLate
	}
	if o.possible && d.n >= outputStepsFrom && N <= outputStepsRows*d.n {
		o.on, d.model.n = true, 0
	}
}

// turn changes to the joint method, or from it, at cur.
func (d *descent) turn(cur *iterate, on bool) error {
	o := &d.outputs
	o.on, o.possible = on, on
	if d.model.n = d.n; on {
		d.model.n = 0
	}
	*cur = *d.iterate(cur.pt)
	return d.restart(cur)
}

// advance is the next point, or nil where no step lowers the objective.
func (d *descent) advance(ctx context.Context, cur *iterate) (*iterate, error) {
	o, cert := &d.outputs, cur.pt.cert
	if o.possible && !o.on {
		if o.joint++; o.joint > o.late {
			if err := d.turn(cur, true); err != nil {
				return nil, err
			}
		}
	}
	if o.on && (d.fixEta || cert.gapL > cert.gapEta) {
		next, err := d.outputStep(ctx, cur)
		if next != nil || err != nil {
			return next, err
		}
		if err := d.turn(cur, false); err != nil {
			return nil, err
		}
	}
	o.target = 0
	if err := d.prepareWeights(ctx, cur); err != nil {
		return nil, err
	}
	return d.search(ctx, cur)
}

// outputStep moves L to about the best for the weights of cur. It returns nil when
// that does not get on.
func (d *descent) outputStep(ctx context.Context, cur *iterate) (*iterate, error) {
	pt, o := cur.pt, &d.outputs
	U := pt.cert.objective
	target := 0.1 * math.Max(pt.cert.gapEta, 0.3*d.opt.Tol*math.Abs(U))
	if o.target > 0 { // the certificate is weaker than the step was good
		target = math.Min(target, 0.1*o.target)
	}
	o.target = target
	L, err := d.bestOutput(ctx, pt, target)
	if err != nil {
		return nil, err
	}
	left := (pt.cert.gapEta + target) / math.Abs(U)
	tol := math.Min(d.innerTol(pt), math.Max(innerTightest, d.share*math.Max(left, d.opt.Tol)))
	if o.poor > 0 { // the error of C may have been what kept gapL large
		tol = math.Max(innerTightest, poorTol*tol)
	}
	next, err := d.try(ctx, pt, pt.eta, L, tol)
	if err != nil {
		return nil, err
	}
	if next.cert.objective > slices.Max(d.history)+d.noise(next) {
		return nil, nil
	}
	if err := d.certify(next); err != nil {
		return nil, err
	}
	if o.poor++; next.cert.gapL <= poorStep*pt.cert.gapL {
		o.poor = 0
	}
	if o.poor == poorSteps {
		return nil, nil
	}
	return d.iterate(next), nil
}

// bestOutput lowers the objective over L at the weights of pt until about target is left to gain.
func (r *run) bestOutput(ctx context.Context, pt *point, target float64) (L *linop.Spectral, err error) {
	r.formFor(ctx, pt, 0)
	phase.Do(ctx, phase.LStep, func(ctx context.Context) {
		U, s, failed := r.eigenvectors()
		if err = failed; err != nil {
			return
		}
		H := blas.NewGeneral(len(s), r.n)
		blas.Mul(r.be, H, true, false, U, r.space.rhs())
		H, s = r.space.spectral(H, s)
		if !(maxOf(s) > 0) {
			L = pt.L
			return
		}
		var b *barrier
		if b, err = r.newBarrier(s, H, pt.L, pt.G, pt.cert.gapL/r.lambda); err == nil {
			L, err = b.minimize(ctx, target/r.lambda)
		}
	})
	return L, err
}

// eigenvectors are those of A_η as it was formed last, with ascending eigenvalues.
func (r *run) eigenvectors() (U blas.General, s []float64, err error) {
	N := r.space.Unknowns()
	U, s = blas.NewGeneral(N, N), make([]float64, N)
	if err := linop.Dense(context.Background(), U, r.space.operator()); err != nil {
		return U, s, err
	}
	return U, s, r.be.Syevd(U, s)
}
