package sylvester

import (
	"math"

	"github.com/iokl/iokl/blas"
)

// spectrumModel estimates all eigenvalues of K in descending order: the leading
// ones are those of a sketch, the rest follow a power law.
type spectrumModel struct {
	values []float64
	known  int
}

// fit makes the model of order l from the eigenvalues s, at least one, of a
// sketch. The last eigenvalues of a Nyström approximation are too small, so a fifth
// is left out; the slope is taken over three octaves, since spectra of kernels in
// several dimensions fall in steps, and kept within what such spectra do.
func (m *spectrumModel) fit(l int, s []float64) {
	m.values, m.known = resize(m.values, l), max(1, len(s)*4/5)
	top := m.known
	copy(m.values, s[:top])
	slope := 1.0
	if lo := top / 8; lo > 0 {
		slope = math.Log(s[lo-1]/s[top-1]) / math.Log(float64(top)/float64(lo))
		slope = min(max(slope, 1), 4)
	}
	scale := math.Log(s[top-1]) + slope*math.Log(float64(top))
	for i := top; i < l; i++ {
		m.values[i] = math.Exp(scale - slope*math.Log(float64(i+1)))
	}
}

// at estimates the eigenvalue with i larger ones before it.
func (m *spectrumModel) at(i int) float64 { return m.values[min(i, len(m.values)-1)] }

// beyond corrects a number of plain iterations that exceeds the number of known
// eigenvalues: the power law is then mostly too hopeful, by this much on kernels
// of ten inputs.
func (m *spectrumModel) beyond(iterations float64) float64 {
	if ratio := iterations / float64(2*m.known); ratio > 1 {
		iterations *= 1 + 0.25*math.Log2(ratio)
	}
	return iterations
}

// workload is what the columns ask for, in groups of columns that ask for about
// the same: group g has count[g] columns, whose shift ratio is ρ/μ = ratio[g] and
// whose residuals must fall by the factor exp(digits[g]).
type workload struct {
	l                    int
	single               bool // behind a sketch, K is taken in single precision
	ratio, digits, count []float64
}

// alike is how much the ratios of one group may differ.
const alike = 1.5

// reset empties the workload of order l.
func (w *workload) reset(l int) {
	w.l, w.single = l, false
	w.ratio, w.digits, w.count = w.ratio[:0], w.digits[:0], w.count[:0]
}

// add counts one more column, in the group of the one before when they are alike.
// The group takes the mean of the digits and keeps the ratio of its first column.
func (w *workload) add(ratio, digits float64) {
	if !(digits > 0) {
		return
	}
	g := len(w.count) - 1
	if g < 0 || ratio > alike*w.ratio[g] || w.ratio[g] > alike*ratio {
		w.ratio, w.digits, w.count = append(w.ratio, ratio), append(w.digits, digits), append(w.count, 1)
		return
	}
	w.count[g]++
	w.digits[g] += (digits - w.digits[g]) / w.count[g]
}

// iterations predicts those of conjugate gradients for one column of group g behind
// a sketch of rank q, whose error norm is about sketchError·s_{q+1}. After the
// sketch CG still removes eigenvalues one after the other where that pays:
//
//	min over k of  a·k + (digits + ln 2)/ln((√κ+1)/(√κ−1)),   κ = 1 + (ρ/μ)·error_{q+k},
//
// each in a ≥ 1 iterations, more in ill-conditioned systems, where orthogonality
// is lost. A column that the sketch alone solves to the tolerance needs none.
func (w *workload) iterations(m *spectrumModel, q, g int) float64 {
	next := w.ratio[g] * m.at(q)
	if q > 0 && w.digits[g]+math.Log(next) <= 0 {
		return 0
	}
	each := 1.0
	if a := math.Log(next) / 6; a > 1 {
		each = math.Pow(a, 1.3)
	}
	best, blur := math.Inf(1), sketchError
	if q == 0 {
		blur = 1
	}
	for k := 0; q+k < w.l && each*float64(k) < best; k += 1 + k/3 {
		root := math.Sqrt(1 + blur*w.ratio[g]*m.at(q+k))
		best = min(best, each*float64(k)+(w.digits[g]+math.Ln2)/math.Log((root+1)/(root-1)))
	}
	return max(best, 1)
}

// sketchError is the usual ratio of ‖K − U·diag(s)·Uᵀ‖ to the eigenvalue after the last one kept.
const sketchError = 1.2

// costs are the speeds of a backend as measured times: nanoseconds per unit of
// work. They were fitted to solves of order 250 to 4000 with 1 to 1000 outputs on
// two AVX-512 cores with 32 MiB of cache. On other machines only their ratios have to
// hold. They are constants, rather than measured when a program starts, so that the
// choice, and with it the last digits of a solution, does not depend on the moment.
// What every method does, the change of coordinates and the residual, is left out.
type costs struct {
	plain    iterationCost
	sketched iterationCost
	sketch   [5]float64 // growth of a sketch: constant, l and l² for each column, l·q², q²
	factor   [2]float64 // Cholesky factorization for one shift: l² and l³
	reduce   [3]float64 // tridiagonal reduction: l, l² and l³
	eigen    [3]float64 // eigendecomposition: l², l³, and l³ beyond the cache
	// What a solve with kept factors takes, for each of l²·r: by Cholesky's factor, by
	// eigenvectors, and by the reflectors of the reduction, which are also read at
	// a cost of l and l². Those take the second figure beyond the cache.
	solve, turn float64
	call        float64
	visit, back [2]float64
}

// iterationCost is that of conjugate gradients on some columns side by side.
type iterationCost struct {
	pass       [3]float64 // of one iteration: constant, l² for reading K, and l² more from memory
	column     [2]float64 // of one column in it: l², and l for the vectors
	low, lowAt float64    // with a sketch of rank q: l·q for an iteration, for a column
}

// What the products with K take in single precision, of a column in an iteration
// and of one in a sketch, as a share.
const (
	singleColumn = 0.65
	singleSketch = 0.62
)

// of predicts some iterations, of columns columns in all, of order l behind a sketch of rank q.
func (it iterationCost) of(passes, columns, l, q float64) float64 {
	return passes*(it.pass[0]+(it.pass[1]+it.pass[2]*min(max(l/1000-2, 0), 1))*l*l+it.low*l*q) +
		columns*(it.column[0]*l*l+it.column[1]*l+it.lowAt*l*q)
}

var nativeCosts = costs{
	plain:    iterationCost{pass: [3]float64{1e4, 0.02, 0.06}, column: [2]float64{0.0185, 5.5}},
	sketched: iterationCost{pass: [3]float64{2.2e4, 0.06, 0.04}, column: [2]float64{0.017, 6.5}, low: 0.8, lowAt: 0.05},
	sketch:   [5]float64{3e5, 30, 0.047, 0.05, 200},
	factor:   [2]float64{6.5, 0.0026},
	reduce:   [3]float64{4.4e3, 14, 0.0275},
	eigen:    [3]float64{80, 0.03, 0.015},
	solve:    0.035, turn: 0.045, call: 2.5e3,
	visit: [2]float64{5, 18}, back: [2]float64{0.085, 0.235},
}

// libraryCosts are those of OpenBLAS, and of whatever else is not known. Iterations
// do not use it, see [blas.Beside].
var libraryCosts = costs{
	plain:    nativeCosts.plain,
	sketched: nativeCosts.sketched,
	sketch:   nativeCosts.sketch,
	factor:   [2]float64{8.5, 0.0025},
	reduce:   [3]float64{0, 25, 0.02},
	eigen:    [3]float64{65, 0.055, 0},
	solve:    0.035, turn: 0.08,
	visit: [2]float64{4, 6}, back: [2]float64{0.2, 0.2},
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
	for g, count := range w.count {
		n := w.iterations(m, q, g)
		if q == 0 {
			n = m.beyond(n)
		}
		columns += count * n
		passes = max(passes, n)
	}
	return w.price(c, q).of(passes, columns, float64(w.l), float64(q))
}

// price is that of iterations behind a sketch of rank q, none for q = 0.
func (w *workload) price(c *costs, q int) iterationCost {
	if q == 0 {
		return c.plain
	}
	it := c.sketched
	if w.single {
		it.column[0] *= singleColumn
	}
	return it
}

// growth predicts that of a sketch from known columns to q, with K in single
// precision or not.
func (c *costs) growth(l, q, known int, single bool) float64 {
	fl, fq := float64(l), float64(q)
	each := c.sketch[2]
	if single {
		each *= singleSketch
	}
	return c.sketch[0] + (c.sketch[1]+each*fl)*fl*float64(q-known) + c.sketch[3]*fl*fq*fq + c.sketch[4]*fq*fq
}

// far is 0 for a matrix in the third-level cache and grows with what does not fit.
func far(l int) float64 { return max(0, float64(l)/1000-1) }

// cholesky predicts the solver of that name for the given number of shifts.
func (c *costs) cholesky(l, r, shifts int) float64 {
	fl := float64(l)
	return fl * fl * (5 + float64(shifts)*(c.factor[0]+c.factor[1]*fl) + c.solve*float64(r))
}

// tridiagonal and eigendecomposition predict those solvers for r columns.
func (c *costs) tridiagonal(l, r int, kept bool) float64 {
	f, fl := min(far(l), 1), float64(l)
	t := c.call*fl + (c.visit[0]+(c.visit[1]-c.visit[0])*f+(c.back[0]+(c.back[1]-c.back[0])*f)*float64(r))*fl*fl
	if !kept {
		t += fl * (c.reduce[0] + (c.reduce[1]+c.reduce[2]*fl)*fl)
	}
	return t
}

func (c *costs) eigendecomposition(l, r int, kept bool) float64 {
	fl := float64(l)
	t := c.turn * fl * fl * float64(r)
	if !kept {
		t += fl * fl * (c.eigen[0] + (c.eigen[1]+c.eigen[2]*min(far(l), 2))*fl)
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
			t += c.growth(w.l, q, known, w.single)
		}
		if t < cost {
			rank, cost = q, t
		}
	}
	return rank, cost
}
