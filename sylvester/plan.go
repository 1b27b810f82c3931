package sylvester

import "math"

// spectrumModel is what is known of the eigenvalues of K: the leading ones from
// a sketch, the rest by a power law.
type spectrumModel struct {
	known []float64 // descending, at least one
	top   int       // how many of them are trusted
	slope float64   // s_i ∝ i^−slope beyond
}

// newSpectrum fits the model. The last eigenvalues of a Nyström approximation
// are too small, so a fifth is left out; the slope is taken over three octaves,
// since spectra of kernels in several dimensions fall in steps, and kept within
// what such spectra do.
func newSpectrum(s []float64) spectrumModel {
	m := spectrumModel{known: s, top: max(1, len(s)*4/5), slope: 1}
	if lo := m.top / 8; lo > 0 {
		m.slope = math.Log(s[lo-1]/s[m.top-1]) / math.Log(float64(m.top)/float64(lo))
		m.slope = min(max(m.slope, 1), 4)
	}
	return m
}

// at estimates the eigenvalue with i larger ones before it.
func (m *spectrumModel) at(i int) float64 {
	if i < m.top {
		return m.known[i]
	}
	return m.known[m.top-1] * math.Pow(float64(i+1)/float64(m.top), -m.slope)
}

// workload is what the columns ask for: column j has the shift ratio
// ratio[j] = ρ_j/μ and must lower its residual by the factor exp(digits[j]).
type workload struct {
	l      int
	ratio  []float64
	digits []float64
}

// iterations predicts those of conjugate gradients for one column behind a
// sketch of rank q, whose error norm is about sketchError·s_{q+1}. After the
// sketch CG still removes eigenvalues one by one where that pays:
//
//	min over k of  k + (digits + ln 2)/ln((√κ+1)/(√κ−1)),   κ = 1 + (ρ/μ)·error_{q+k}.
//
// A column that the sketch alone solves to the tolerance needs none.
func (w *workload) iterations(m *spectrumModel, q, j int) float64 {
	if q > 0 && w.digits[j]+math.Log(w.ratio[j]*m.at(q)) <= 0 {
		return 0
	}
	best := math.Inf(1)
	for k := 0; q+k < w.l && float64(k) < best; k += 1 + k/4 {
		root := math.Sqrt(1 + sketchError*w.ratio[j]*m.at(q+k))
		best = min(best, float64(k)+(w.digits[j]+math.Ln2)/math.Log((root+1)/(root-1)))
	}
	return max(best, 1)
}

// sketchError is the usual ratio of ‖K − U·diag(s)·Uᵀ‖ to the eigenvalue after the last one kept.
const sketchError = 1.2

// flops predicts those of one solve behind a sketch of rank q: the columns
// multiplied, and the passes over K and U, each of which costs as much as
// passColumns columns however few it multiplies.
func (w *workload) flops(m *spectrumModel, q int) float64 {
	var columns, passes float64
	for j, d := range w.digits {
		if d > 0 {
			n := w.iterations(m, q, j)
			columns += n
			passes = max(passes, n)
		}
	}
	fl := float64(w.l)
	return (columns+passColumns*passes)*(2*fl*fl+4*fl*float64(q)) + 40*fl*columns
}

// passColumns is the number of columns whose arithmetic takes as long as reading the matrix.
const passColumns = 16

// sketchFlops predicts those of growing a sketch from known columns to q; the
// factor on q³ stands for the low speed of eigenproblems.
func sketchFlops(l, q, known int) float64 {
	fl, fq := float64(l), float64(q)
	return 4*fl*fl*float64(q-known) + 9*fl*fq*fq + 60*fq*fq*fq
}

// bestRank is the rank from known to limit that makes uses solves cheapest in
// all, the growth of the sketch included.
func (w *workload) bestRank(m *spectrumModel, known, limit int, uses float64) (rank int, flops float64) {
	flops = math.Inf(1)
	for q := known; q <= limit; q = max(q+1, q*9/8) {
		c := uses * w.flops(m, q)
		if q > known {
			c += sketchFlops(w.l, q, known)
		}
		if c < flops {
			rank, flops = q, c
		}
	}
	return rank, flops
}
