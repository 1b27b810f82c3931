// This file holds what the quasi-Newton descents of product models and of sums have in common.

package bcd

import (
	"math"
	"slices"

	"github.com/iokl/iokl/blas"
)

// record is what a descent remembers of its iterates.
type record struct {
	history []float64 // recent objectives, for the non-monotone test
	lowest  float64   // relative gap so far
	stalled int       // iterations since it fell, the objective moving by noise only
}

// start forgets the objectives before this one.
func (r *record) start(objective float64) { r.history = append(r.history[:0], objective) }

// add remembers an objective, and forgets the oldest.
func (r *record) add(objective float64) {
	r.history = append(r.history, objective)
	if len(r.history) > historyLen {
		r.history = r.history[1:]
	}
}

// highest is the largest of the recent objectives.
func (r *record) highest() float64 { return slices.Max(r.history) }

// count counts an iterate that neither lowers the relative gap nor moves the objective by more than noise.
func (r *record) count(objective, gap, noise float64) {
	switch {
	case r.lowest == 0 || gap < r.lowest:
		r.lowest, r.stalled = gap, 0
	case math.Abs(objective-r.history[len(r.history)-1]) > noise:
		r.stalled = 0
	default:
		r.stalled++
	}
}

// begin empties the model at z, where the gradient is g, with a step of about half the size of z.
func (q *quasiNewton) begin(z, g []float64, weigh weighing) error {
	q.forget()
	if err := q.center(z, weigh); err != nil {
		return err
	}
	Dz := make([]float64, len(z))
	q.metric(Dz, z)
	q.sEta, q.sL = startScale(g[:q.m], Dz[:q.m]), startScale(g[q.m:], Dz[q.m:])
	return nil
}

// startScale is 2‖g‖/‖Dz‖, or ‖g‖, or 1, whichever is first positive and finite.
func startScale(g, Dz []float64) float64 {
	for _, v := range []float64{2 * blas.Nrm2(g) / blas.Nrm2(Dz), blas.Nrm2(g)} {
		if positive(v) {
			return v
		}
	}
	return 1
}

// forDecrease is the relative residual of a C step that is to lower the objective by decrease: tol, or
// less where the inexactness of that step, which is proportional to its squared residual, would exceed
// a tenth of decrease. inexact is the inexactness of a step of the given residual.
func forDecrease(tol, decrease, inexact, residual float64) float64 {
	if kappa := inexact / square(residual); positive(kappa) && decrease > 0 {
		tol = math.Min(tol, math.Sqrt(0.1*decrease/kappa))
	}
	return math.Max(tol, innerTightest)
}

// shortened is the next step after one along which the objective rose by rise, or fell by too little: the minimiser of
// the parabola of that slope, or half of the step where that is no use.
func shortened(step, slope, rise float64) float64 {
	shrink := -slope * step / (2 * (rise - slope*step))
	if !(shrink > 0.1 && shrink < 0.9) {
		shrink = 0.5
	}
	return step * shrink
}
