package bcd

import (
	"math"

	"github.com/iokl/iokl/blas"
)

// Bounds of the tolerance of a C step that is tied to the gap, and of the share of
// the relative gap that it may leave open.
const (
	innerFirst    = 3e-2 // the loosest of the first C step, which begins at 0
	innerLoosest  = 5e-3
	innerTightest = 1e-13
	warmUpShare   = 2 // while closed forms run: C errors enter them in second order
	innerShare    = 0.2
	sharpest      = 1e-4
)

// A C step to a relative residual of singleTol or more may take A_η in single
// precision, whose rounding moves the relative gap by singleSlack at most.
const (
	singleTol   = 5e-4
	singleSlack = 1e-5
)

// tame reports whether the system at pt is so well conditioned that A_η in single
// precision reaches tol. Its rounding leaves a relative residual of up to
// ‖A_η‖·‖L‖·2⁻²⁴/μ, a tenth of that in practice, and tr A_η is several times ‖A_η‖.
func (r *run) tame(pt *point, tol float64) bool {
	if pt.L.Rank() == 0 {
		return true
	}
	return blas.Dot(pt.eta, r.traces)*pt.L.S[0]*0x1p-24 <= 5*tol*r.mu
}

// innerTol is the relative residual asked of the next C step. An error of
// relative size ε in C moves the two sides of the certificate by ε²‖Y‖²/l or
// less, and the forms c and G by O(ε): a share of the gap at hand keeps both below
// it. That is so in sample space; the space translates.
func (r *run) innerTol(pt *point) float64 { return r.tolFor(pt, r.share) }

func (r *run) tolFor(pt *point, share float64) float64 {
	if r.opt.InnerTol > 0 {
		return r.opt.InnerTol
	}
	gap := math.Max(pt.cert.relative(), r.opt.Tol)
	loosest := innerLoosest
	if r.solves == 0 {
		loosest = innerFirst
	}
	return math.Max(innerTightest, math.Min(loosest, share*gap)*r.space.residualScale(pt.eta, pt.L, r.mu))
}

// stepTol is the relative residual for a step that is to lower the objective by
// the given amount: the inexactness, κ times the squared residual by the point
// before, shall be a tenth of that at most.
func (r *run) stepTol(pt *point, decrease float64) float64 {
	tol := r.innerTol(pt)
	if kappa := r.inexactness(pt) / (pt.residual * pt.residual); r.opt.InnerTol == 0 && positive(kappa) && decrease > 0 {
		tol = math.Min(tol, math.Sqrt(0.1*decrease/kappa))
	}
	return math.Max(tol, innerTightest)
}

// inexactness is U − λ(2⟨Y,C⟩ − μ‖C‖² − ‖f‖² + ω(η)), the part of the certificate
// that is due to the error of C: 0 at the exact C, and of second order in its error.
func (r *run) inexactness(pt *point) float64 {
	return math.Max(0, pt.fit/float64(r.l)+r.lambda*(2*pt.norm-2*pt.yc+r.mu*pt.cc))
}
