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

// costs are the rough speeds of a backend, in units of one operation of a large
// matrix product: how many such operations take as long. Only their ratios
// matter. They were fitted to solves of order 250 to 3060 with 102 outputs.
type costs struct {
	start  float64    // of one iteration
	pass   float64    // columns of K whose arithmetic takes as long as reading K
	thin   float64    // the same for a matrix of few columns, multiplied unpacked
	reduce [2]float64 // tridiagonal reduction: coefficients of l² and l³
	eigen  [2]float64 // eigendecomposition: the same
	back   [2]float64 // what a solve with either kept takes: coefficient of l²·n
}

// costsOf returns those of a backend at order l; one that is not known is taken
// for a library like OpenBLAS.
func costsOf(be blas.Backend, l int) costs {
	if be.Name() == "native" {
		// The reflectors of a large matrix are applied at the speed of memory.
		return costs{
			start: 2e6, pass: 5, thin: 30,
			reduce: [2]float64{7200, 1.3}, eigen: [2]float64{13000, 7.4},
			back: [2]float64{min(45, 10+float64(l)/75), 10},
		}
	}
	return costs{
		start: 2e6, pass: 16, thin: 12,
		reduce: [2]float64{500, 3.5}, eigen: [2]float64{2300, 5.8},
		back: [2]float64{21, 7},
	}
}

// vectorCost is that of the vector updates of an iteration, for every element.
const vectorCost = 500

// solve predicts one solve behind a sketch of rank q, none for q = 0.
func (w *workload) solve(m *spectrumModel, q int, c costs) float64 {
	var columns, passes float64
	for j, d := range w.digits {
		if d > 0 {
			n := w.iterations(m, q, j)
			columns += n
			passes = max(passes, n)
		}
	}
	fl := float64(w.l)
	t := passes*c.start + (columns+c.pass*passes)*2*fl*fl + vectorCost*fl*columns
	if q > 0 {
		t += 4*passes*c.start + (columns+c.thin*passes)*4*fl*float64(q)
	}
	return t
}

// sketch predicts the growth of a sketch from known columns to q.
func (c costs) sketch(l, q, known int) float64 {
	fl, fq := float64(l), float64(q)
	return 4*fl*fl*float64(q-known) + 12*fl*fq*fq + c.eigen[0]*fq*fq + c.eigen[1]*fq*fq*fq + 20*c.start
}

// direct predicts a direct method of the given coefficients.
func (c costs) direct(coef [2]float64, back float64, l, n int, kept bool) float64 {
	fl := float64(l)
	t := back * fl * fl * float64(n)
	if !kept {
		t += coef[0]*fl*fl + coef[1]*fl*fl*fl
	}
	return t
}

// bestRank is the rank from known to limit that makes uses solves cheapest in
// all, the growth of the sketch included.
func (w *workload) bestRank(m *spectrumModel, c costs, known, limit int, uses float64) (rank int, cost float64) {
	cost = math.Inf(1)
	for q := known; q <= limit; q = max(q+1, q*9/8) {
		t := uses * w.solve(m, q, c)
		if q > known {
			t += c.sketch(w.l, q, known)
		}
		if t < cost {
			rank, cost = q, t
		}
	}
	return rank, cost
}
