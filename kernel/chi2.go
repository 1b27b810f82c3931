// χ² distances with few divisions.

package kernel

import (
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/dense/vmath"
)

// chiSide is a set of samples laid out for χ² distances as
//
//	Σ_f (x−z)²/(x+z) = Σ_f x + Σ_f z − 2·Σ_f 1/(1/2x + 1/2z),
//
// which needs one division for up to ten features where the left side needs ten.
type chiSide struct {
	half blas.General // 1/2x of every feature
	t    []float64    // half transposed by strips
	mass []float64    // Σ_f x of every sample
}

// The right side is within (20 + d/8)·2⁻⁵² of the masses, for d features. Where
// the distance is less than chiCancel of them, or the masses are as small as
// chiTiny, the left side is taken: the relative error is (20 + d/8)·2⁻⁴² at most.
const (
	chiCancel = 0x1p-10
	chiTiny   = 0x1p-30
)

// reciprocals fills s.chi unless a feature is too large for it. One that is too
// small counts as 2⁻⁹⁷.
func (s *side) reciprocals() {
	c := &chiSide{half: blas.NewGeneral(s.x.Rows, s.x.Cols), mass: make([]float64, s.x.Rows)}
	for i := range s.x.Rows {
		half := blas.Row(c.half, i)
		for f, v := range blas.Row(s.x, i) {
			half[f] = 0.5 / max(v, 0.5/vmath.HarmonicMost)
			if half[f] < vmath.HarmonicLeast {
				return
			}
			c.mass[i] += v
		}
	}
	c.t = transposed(nil, c.half, strip(s.x.Cols))
	s.chi = c
}

// chi2Row computes the distances of sample i of a to a strip of samples of b, of
// width ld, from j on: by the right side, then the eights with one that is not
// exact enough, such as that of a sample to itself, by the left side.
func chi2Row(dst []float64, a *side, i int, b *side, j, ld int) {
	d := a.x.Cols
	own, mass := a.chi.mass[i], b.chi.mass[j:j+len(dst)]
	vmath.HarmonicRow(dst, blas.Row(a.chi.half, i), b.chi.t[j*d:], ld)
	if !vmath.SqDistBelow(dst, own, mass, chiCancel, chiCancel*chiTiny) {
		return
	}
	for from := 0; from < len(dst); from += 8 {
		to := from
		for to < len(dst) && cancelled(dst[to:min(to+8, len(dst))], own, mass[to:]) {
			to = min(to+8, len(dst))
		}
		if to > from {
			vmath.Chi2Row(dst[from:to], blas.Row(a.x, i), b.t[j*d+from:], ld)
			from = to // the eight that ends the run is exact
		}
	}
}

// cancelled reports whether any distance is too small to be a difference of masses.
func cancelled(distance []float64, own float64, mass []float64) bool {
	for c, v := range distance {
		if v <= chiCancel*(own+mass[c]+chiTiny) {
			return true
		}
	}
	return false
}
