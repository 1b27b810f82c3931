package sylvester

import "math"

// spectrumModel is what is known of the eigenvalues of K: the leading ones from
// a sketch, the rest by a power law through the better half of them.
type spectrumModel struct {
	known []float64 // descending
	top   int       // how many of them are trusted
	slope float64   // s_i ∝ i^−slope beyond
}

// newSpectrum fits the model. The last eigenvalues of a Nyström approximation
// are too small; the fit uses the first four fifths.
func newSpectrum(s []float64) spectrumModel {
	m := spectrumModel{known: s, top: len(s) * 4 / 5}
	if lo := m.top / 2; lo > 0 && m.top > lo {
		m.slope = max(0, math.Log(s[lo-1]/s[m.top-1])/math.Log(float64(m.top)/float64(lo)))
	}
	return m
}

// at estimates the eigenvalue with i larger ones before it.
func (m *spectrumModel) at(i int) float64 {
	switch {
	case i < m.top:
		return m.known[i]
	case m.top == 0:
		return m.known[0]
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

// iterations predicts those of conjugate gradients for one column when the q
// leading eigenvalues of K are preconditioned away. After them CG still removes
// eigenvalues one by one where that pays:
//
//	min over k of  k + ½·√(1 + (ρ/μ)·s_{q+k})·(digits + ln 2).
func (w *workload) iterations(m *spectrumModel, q, j int) float64 {
	best := math.Inf(1)
	for k := 0; q+k < w.l && float64(k) < best; k += 1 + k/4 {
		n := float64(k) + 0.5*math.Sqrt(1+w.ratio[j]*m.at(q+k))*(w.digits[j]+math.Ln2)
		best = min(best, n)
	}
	return max(best, 1)
}

// columns predicts how many columns are multiplied by K in all.
func (w *workload) columns(m *spectrumModel, q int) float64 {
	var t float64
	for j, d := range w.digits {
		if d > 0 {
			t += w.iterations(m, q, j)
		}
	}
	return t
}

// Flops by which ranks and methods are compared; a factor on the eigenproblem
// stands for its lower speed.
func sketchFlops(l, q, known int) float64 {
	fl, fq := float64(l), float64(q)
	return 2*fl*fl*float64(q-known) + 8*fl*fq*fq + 60*fq*fq*fq
}

// columnFlops is one column through K, a preconditioner of rank q and the vector updates.
func columnFlops(l, q int) float64 {
	fl := float64(l)
	return 2*fl*fl + 4*fl*float64(q) + 40*fl
}

// bestRank is the rank q ≥ known, at most limit, that makes uses solves cheapest
// in all, its own set-up included.
func (w *workload) bestRank(m *spectrumModel, known, limit int, uses float64) (rank int, flops float64) {
	flops = math.Inf(1)
	for q := known; q <= limit; q = max(q+1, q*9/8) {
		var setup float64
		if q > known {
			setup = sketchFlops(w.l, q, known)
		}
		if c := setup + uses*w.columns(m, q)*columnFlops(w.l, q); c < flops {
			rank, flops = q, c
		}
	}
	return rank, flops
}
