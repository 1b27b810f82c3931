package sylvester

import (
	"math"

	"github.com/iokl/iokl/blas"
)

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
// sketch CG still removes eigenvalues one after the other where that pays:
//
//	min over k of  a·k + (digits + ln 2)/ln((√κ+1)/(√κ−1)),   κ = 1 + (ρ/μ)·error_{q+k},
//
// each in a ≥ 1 iterations, more in ill-conditioned systems, where orthogonality
// is lost. A column that the sketch alone solves to the tolerance needs none.
func (w *workload) iterations(m *spectrumModel, q, j int) float64 {
	if q > 0 && w.digits[j]+math.Log(w.ratio[j]*m.at(q)) <= 0 {
		return 0
	}
	each := math.Pow(max(1, math.Log(w.ratio[j]*m.at(q))/6), 1.3)
	best := math.Inf(1)
	for k := 0; q+k < w.l && each*float64(k) < best; k += 1 + k/4 {
		root := math.Sqrt(1 + sketchError*w.ratio[j]*m.at(q+k))
		best = min(best, each*float64(k)+(w.digits[j]+math.Ln2)/math.Log((root+1)/(root-1)))
	}
	return max(best, 1)
}

// sketchError is the usual ratio of ‖K − U·diag(s)·Uᵀ‖ to the eigenvalue after the last one kept.
const sketchError = 1.2

// costs are the speeds of a backend as measured times: nanoseconds per unit of
// work. They were fitted to solves of order 250 to 2000 with 1 to 1000 outputs on
// two AVX-512 cores. On other machines only their ratios have to hold.
type costs struct {
	plain    iterationCost
	sketched iterationCost
	sketch   [3]float64 // growth of a sketch: l² for each column, l·q², q²
	factor   [2]float64 // Cholesky factorization for one shift: l² and l³
	reduce   [3]float64 // tridiagonal reduction: l², l³, and l³ beyond the cache
	eigen    [3]float64 // eigendecomposition: the same
	// What a solve with kept factors takes, for each of l²·r; beyond the cache the
	// reflectors of the reduction run at the speed of memory.
	solve, back, backFar, turn float64
}

// iterationCost is that of conjugate gradients on some columns side by side.
type iterationCost struct {
	pass       [2]float64 // of one iteration: constant, and l² for reading K
	column     [2]float64 // of one column in it: l², and l for the vectors
	low, lowAt float64    // with a sketch of rank q: l·q for an iteration, for a column
}

var nativeCosts = costs{
	plain:    iterationCost{pass: [2]float64{1e4, 0.025}, column: [2]float64{0.018, 6}},
	sketched: iterationCost{pass: [2]float64{5e4, 0.11}, column: [2]float64{0.0175, 12}, low: 0.62, lowAt: 0.015},
	sketch:   [3]float64{0.069, 0.33, 340},
	factor:   [2]float64{7.5, 0.0025},
	reduce:   [3]float64{38, 0.0085, 0.021},
	eigen:    [3]float64{80, 0.02, 0.026},
	solve:    0.017, back: 0.03, backFar: 0.3, turn: 0.05,
}

// libraryCosts are those of OpenBLAS, and of whatever else is not known.
var libraryCosts = costs{
	plain:    iterationCost{pass: [2]float64{2e4, 0.4}, column: [2]float64{0.02, 6}},
	sketched: iterationCost{pass: [2]float64{8e4, 0.45}, column: [2]float64{0.02, 12}, low: 0.5, lowAt: 0.02},
	sketch:   [3]float64{0.06, 0.2, 80},
	factor:   [2]float64{7.5, 0.0025},
	reduce:   [3]float64{8, 0.038, 0.008},
	eigen:    [3]float64{25, 0.06, 0.008},
	solve:    0.02, back: 0.1, backFar: 0.15, turn: 0.06,
}

func costsOf(be blas.Backend) *costs {
	if be.Name() == "native" {
		return &nativeCosts
	}
	return &libraryCosts
}

// solveBy predicts one solve behind a sketch of rank q, none for q = 0.
func (w *workload) solveBy(m *spectrumModel, q int, c *costs) float64 {
	var columns, passes float64
	for j, d := range w.digits {
		if d > 0 {
			n := w.iterations(m, q, j)
			columns += n
			passes = max(passes, n)
		}
	}
	fl, fq := float64(w.l), float64(q)
	it := &c.plain
	if q > 0 {
		it = &c.sketched
	}
	return passes*(it.pass[0]+it.pass[1]*fl*fl+it.low*fl*fq) + columns*(it.column[0]*fl*fl+it.column[1]*fl+it.lowAt*fl*fq)
}

// growth predicts that of a sketch from known columns to q.
func (c *costs) growth(l, q, known int) float64 {
	fl, fq := float64(l), float64(q)
	return 1e5 + c.sketch[0]*fl*fl*float64(q-known) + c.sketch[1]*fl*fq*fq + c.sketch[2]*fq*fq
}

// far is 0 for a matrix in the third-level cache and grows with what does not fit.
func far(l int) float64 { return max(0, float64(l)/1000-1) }

// direct predicts a decomposition of order l.
func direct(coef [3]float64, l int) float64 {
	fl := float64(l)
	return fl * fl * (coef[0] + (coef[1]+coef[2]*min(far(l), 2))*fl)
}

// cholesky predicts the solver of that name for the given number of shifts.
func (c *costs) cholesky(l, r, shifts int) float64 {
	fl := float64(l)
	return fl * fl * (7 + float64(shifts)*(c.factor[0]+c.factor[1]*fl) + c.solve*float64(r))
}

// tridiagonal and eigendecomposition predict those solvers for r columns.
func (c *costs) tridiagonal(l, r int, kept bool) float64 {
	t := (c.back + c.backFar*far(l)) * float64(l) * float64(l) * float64(r)
	if !kept {
		t += direct(c.reduce, l)
	}
	return t
}

func (c *costs) eigendecomposition(l, r int, kept bool) float64 {
	t := c.turn * float64(l) * float64(l) * float64(r)
	if !kept {
		t += direct(c.eigen, l)
	}
	return t
}

// bestRank is the rank from known to limit that makes uses solves cheapest in
// all, the growth of the sketch included.
func (w *workload) bestRank(m *spectrumModel, c *costs, known, limit int, uses float64) (rank int, cost float64) {
	cost = math.Inf(1)
	for q := known; q <= limit; q = max(q+1, q*9/8) {
		t := uses * w.solveBy(m, q, c)
		if q > known {
			t += c.growth(w.l, q, known)
		}
		if t < cost {
			rank, cost = q, t
		}
	}
	return rank, cost
}
