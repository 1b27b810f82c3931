package sylvester

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/memory"
)

// keeper keeps the decomposition of K, or the leading part of one, by which systems of cells and sums are
// preconditioned, and decides when it is made anew: K may have changed since, and a part may say too little about K.
type keeper struct {
	cfg   Config
	only  bool // dec holds all eigenvectors, whatever is forecast
	below int  // the order up to which all eigenvectors are computed without a sketch before
	dec   *Decomposition
	most  bool    // dec is a sketch, and no larger one would show more
	stale bool    // K has changed since
	each  float64 // flops of one product with the system to solve
	last  int     // iterations of the last solve
	pace  float64 // iterations for each factor e of the residual in that,
	fresh float64 // and in the first one after dec was made; 0 where it is not known
}

// These decide between methods only; docs/decisions/2026-11-27-constants.md says what half and twice of sketchGap
// change.
const (
	// exactBelow is keeper.below for the methods that choose.
	exactBelow = 400
	// expectedIterations is how many iterations by mean weights a system is expected to take, fewIterations the number
	// up to which a factor takes their place at once.
	expectedIterations, fewIterations = 48., 12.
	// sketchGap is the largest σ·ρ/μ beyond a sketch that needs no larger one, where a
	// product with the system costs what one with K does. It is smaller in proportion where that costs more.
	sketchGap = 4.
	// A sketch begins with rank sketchFirst. Where one of order l/sketchLast is too small, all sketches have cost a
	// third of what all eigenvectors do, which then take their place.
	sketchFirst, sketchLast = 32, 4
)

// prepare makes sure that the decomposition serves a system near the one to solve. One of an earlier K does until
// iterations have doubled.
func (k *keeper) prepare(ctx context.Context, near System) error {
	if k.dec != nil && k.dec.T.Rows == near.K.Dim() && !(k.stale && k.pace > 2*k.fresh) &&
		(k.dec.whole() || k.most || !k.coarse(near)) {
		return nil
	}
	return k.renew(ctx, near)
}

// counted takes the iterations of a solve for a measure of the decomposition.
func (k *keeper) counted(iterations int, pace float64) {
	if k.last = iterations; pace > 0 {
		k.pace, k.fresh = pace, cmp.Or(k.fresh, pace)
	}
}

// renewal is what dec of the present K costs, in flops: 0 where it is that.
func (k *keeper) renewal(l int) float64 {
	fl := float64(l)
	switch {
	case k.dec != nil && !k.stale:
		return 0
	case k.only || l <= k.below || k.dec != nil && k.dec.whole():
		return DecomposeCubes * fl * fl * fl
	}
	q := fl / 8
	return 4*fl*fl*q + 10*fl*q*q
}

// take makes dec all eigenvectors of the present K.
func (k *keeper) take(dec *Decomposition) {
	k.dec, k.most, k.stale, k.pace, k.fresh = dec, false, false, 0, 0
}

// renew makes dec from the present K. Where memory does not allow all eigenvectors and nothing but speed asks for them,
// it is the largest sketch.
func (k *keeper) renew(ctx context.Context, near System) (err error) {
	k.dec, k.most, k.pace, k.fresh = nil, false, 0, 0 // dec to be collected
	enough := false
	if !k.only && near.K.Dim() > k.below {
		enough, err = k.sketch(ctx, near)
	}
	if !enough && err == nil {
		var all *Decomposition
		switch all, err = Decompose(ctx, near.K, k.cfg.Backend); {
		case err == nil:
			k.dec = all
		case k.dec != nil && errors.Is(err, memory.ErrTooLarge):
			k.most, err = true, nil
		}
	}
	if err != nil {
		k.dec = nil
		return err
	}
	k.stale = false
	return nil
}

// sketch makes dec of leading eigenvectors, as many as the condition of the system asks for. It reports false when
// these are too many.
func (k *keeper) sketch(ctx context.Context, near System) (enough bool, err error) {
	l := near.K.Dim()
	s := sketch{be: k.cfg.Backend, seed: k.cfg.Seed}
	for q := min(sketchFirst, l); ; q *= 2 {
		known, err := s.grow(ctx, near.K, min(q, l))
		if err != nil {
			return false, err
		}
		if !known { // K is zero, or not positive semidefinite
			k.dec, k.most = &Decomposition{T: blas.NewGeneral(l, 0)}, true
			return true, nil
		}
		k.dec = &Decomposition{T: s.low.U, Sigma: s.low.s}
		if k.most = s.exhausted(); k.most || !k.coarse(near) {
			return true, nil
		}
		if q >= l/sketchLast {
			return false, nil
		}
	}
}

// gap is sketchGap for the cost of a product.
func (k *keeper) gap(near System) float64 {
	l, r := float64(near.K.Dim()), float64(near.L.Rank())
	return sketchGap * min(1, 2*l*l*r/k.each)
}

// coarse reports whether what a sketch leaves out of K matters for the condition of the system.
func (k *keeper) coarse(near System) bool {
	last := len(k.dec.Sigma) - 1
	return near.L.Rank() > 0 && (last < 0 || k.dec.Sigma[last]*near.L.S[0] > k.gap(near)*near.Mu)
}

// leading are the pairs of dec that a sketch for the system would keep, no eigenvalue negative by rounding.
func (k *keeper) leading(near System) lowRank {
	d := *k.dec
	if s := d.Sigma; len(s) > 0 && s[0] < s[len(s)-1] && near.L.Rank() > 0 { // they ascend, those of a sketch descend
		out, _ := slices.BinarySearch(s, k.gap(near)*near.Mu/near.L.S[0])
		out = max(out-1, 0)
		d = Decomposition{blas.View(d.T, 0, out, d.T.Rows, d.T.Cols-out), s[out:]}
	}
	d.Sigma = slices.Clone(d.Sigma)
	return lowRank{U: d.T, s: d.Clip().Sigma}
}
