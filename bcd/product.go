// This file measures and certifies points of the product model.

package bcd

import "context"

func (p *productModel) fill(_ context.Context, pt *point, idx []int) error {
	columns, err := p.t.measure(pt, idx)
	p.cost.columns += columns
	pt.cert.objective = p.t.objective(pt)
	return err
}

func (p *productModel) gaps(pt *point) error { return p.t.certify(pt) }

// resume takes the counts and the coefficients of the state to continue from.
func (p *productModel) resume(pt *point, s *State) {
	p.iter, p.cost.solves, p.cost.columns = s.Iter, s.SylvesterSolves, s.KernelMultiplies
	if s.SylvesterSolves > 0 {
		p.loosest = innerLoosest
	}
	p.begin(pt, s.X)
}

// finish certifies the point to return over all kernels and in double precision. The function 0
// takes its place where rounding has left nothing better and no bound.
func (p *productModel) finish() error {
	err, pt := p.complete(p.best), p.best
	zero := &point{eta: p.t.zeroWeights(pt.eta), L: pt.L, measures: measures{fit: p.t.space.normY2()}}
	U := pt.cert.objective
	if bounded := U >= 0 && pt.cert.relative() < 1; !bounded &&
		!(U+pt.rounding.fit/float64(p.t.l) <= p.t.objective(zero)) {
		p.best = p.t.start(zero.eta, zero.L)
	}
	return err
}

// complete measures pt on all kernels, with a product in double precision and for the loss as given.
func (p *productModel) complete(pt *point) error {
	p.t.space.inSamples().hold(false)
	if pt.complete && !pt.single && !pt.rounded {
		return nil
	}
	if pt.single {
		X := p.t.space.inSamples().coefficients(&p.t.work, pt.X)
		p.t.space.at(pt.eta, false).Apply(pt.AX, X)
		p.cost.columns += pt.X.Cols
		pt.single = false
	}
	return p.cover(context.Background(), pt)
}
