package bcd

import (
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// certificate holds a value of the objective and two lower bounds of what could
// be reached by moving one block. With U the objective at any C, and for every s ≥ 0,
//
//	min over L ∈ S(τ)  ≥  λ(2s⟨Y,C⟩ − s²(μ‖C‖² + τ·λ_max(G)) + ω(η))
//	min over η         ≥  λ(2s⟨Y,C⟩ − s²μ‖C‖² − ω*(s²c))
//
// (mathematics.md §2); the best s is taken. c covers all m kernels.
type certificate struct {
	objective    float64
	gapEta, gapL float64
}

// relative is (gapEta + gapL)/objective, 0 when both are 0.
func (c certificate) relative() float64 {
	gap := c.gapEta + c.gapL
	if gap == 0 {
		return 0
	}
	return gap / math.Abs(c.objective)
}

// objective is U = ‖F−Y‖²/l + λ(‖f‖² + ω(η)), with the OKL term ρ‖L‖² when there is one.
func (r *run) objective(pt *point) float64 {
	return pt.fit/float64(r.l) + r.lambda*(pt.norm+r.omega(pt.eta)) + r.rho*frob2(pt.L)
}

// omega is ω(η), 0 when η is not learned.
func (r *run) omega(eta []float64) float64 {
	if r.fixEta {
		return 0
	}
	return r.reg.Omega(eta)
}

// certify computes both gaps at pt, whose measures must cover all kernels.
func (r *run) certify(pt *point) error {
	U := r.objective(pt)
	pt.cert = certificate{objective: U}
	if !r.fixL {
		low, err := r.lowerL(pt)
		if err != nil {
			return err
		}
		pt.cert.gapL = r.gap(U, low)
	}
	if !r.fixEta {
		pt.cert.gapEta = r.gap(U, r.lowerEta(pt))
	}
	return nil
}

// gapUlps is the rounding of U and of a bound, in units of their last place,
// below which their difference means nothing.
const gapUlps = 16

// gap is U − low, 0 when it is a negative number of rounding size.
func (r *run) gap(U, low float64) float64 {
	gap := U - low
	scale := math.Max(math.Abs(U), r.space.normY2()/float64(r.l))
	if gap < 0 && gap >= -gapUlps*0x1p-52*scale*float64(r.l) {
		return 0
	}
	return gap
}

// lowerL bounds the objective over L from below, η fixed. For OKL, min over
// L ⪰ 0 of ρ‖L‖² − λs²⟨G,L⟩ is −λ²s⁴‖G‖²/(4ρ).
func (r *run) lowerL(pt *point) (float64, error) {
	if r.rho > 0 {
		g2 := square(blas.Frob(pt.G)) * r.lambda / (4 * r.rho)
		return r.lambda * (r.omega(pt.eta) + bestScale(pt.yc, r.mu*pt.cc, func(s float64) float64 { return square(square(s)) * g2 })), nil
	}
	top, err := r.largest(pt.G)
	if err != nil {
		return 0, err
	}
	quad := r.mu*pt.cc + r.tau*top
	if !(pt.yc > 0) || quad == 0 {
		return r.lambda * r.omega(pt.eta), nil
	}
	return r.lambda * (pt.yc*(pt.yc/quad) + r.omega(pt.eta)), nil
}

// lowerEta bounds the objective over η from below, L fixed.
func (r *run) lowerEta(pt *point) float64 {
	sc := make([]float64, len(pt.c))
	return r.rho*frob2(pt.L) + r.lambda*bestScale(pt.yc, r.mu*pt.cc, func(s float64) float64 {
		for j, v := range pt.c {
			sc[j] = s * s * math.Max(v, 0)
		}
		return r.reg.Conjugate(sc)
	})
}

// bestScale maximises 2·s·yc − s²·quad − penalty(s) over s ≥ 0, for a convex
// non-decreasing penalty that may become +∞, by golden section: any s gives a
// valid bound, so only its tightness depends on the search.
func bestScale(yc, quad float64, penalty func(s float64) float64) float64 {
	value := func(s float64) float64 { return 2*s*yc - s*s*quad - penalty(s) }
	at0 := value(0)
	if !(yc > 0) || !(quad > 0) {
		return at0
	}
	lo, hi := 0.0, yc/quad // the maximum without the penalty
	ratio := (math.Sqrt(5) - 1) / 2
	a, b := hi-ratio*(hi-lo), lo+ratio*(hi-lo)
	fa, fb := value(a), value(b)
	best := math.Max(at0, math.Max(value(math.Min(1, hi)), math.Max(fa, fb)))
	for range 80 {
		if fa >= fb {
			hi, b, fb = b, a, fa
			a = hi - ratio*(hi-lo)
			fa = value(a)
		} else {
			lo, a, fa = a, b, fb
			b = lo + ratio*(hi-lo)
			fb = value(b)
		}
		best = math.Max(best, math.Max(fa, fb))
	}
	return best
}

// largest is an upper bound of the largest eigenvalue of the symmetric G.
func (r *run) largest(G blas.General) (float64, error) {
	a := blas.Clone(G)
	w := make([]float64, G.Rows)
	if err := r.be.Syevals(a, w); err != nil {
		return 0, err
	}
	return math.Max(w[len(w)-1], 0), nil
}

// frob2 is ‖L‖²_F.
func frob2(L *linop.Spectral) float64 { return blas.Dot(L.S, L.S) }
