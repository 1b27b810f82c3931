// This file predicts the cost of each method.

package sylvester

import "math"

// spectrumModel estimates all eigenvalues of K in descending order: the leading
// ones are those of a sketch, the rest follow a power law.
type spectrumModel struct {
	values []float64
	known  int
}

// fit makes the model of order l from the eigenvalues s, at least one, of a
// sketch. The last eigenvalues of a Nyström approximation are too small and are
// left out; the slope is taken over three octaves, since spectra of kernels in
// several dimensions fall in steps, and kept within what such spectra do.
func (m *spectrumModel) fit(l int, s []float64) {
	m.values, m.known = resize(m.values, l), max(1, int(trusted*float64(len(s))))
	top := m.known
	copy(m.values, s[:top])
	slope := leastSlope
	if lo := top / 8; lo > 0 {
		slope = math.Log(s[lo-1]/s[top-1]) / math.Log(float64(top)/float64(lo))
		slope = min(max(slope, leastSlope), mostSlope)
	}
	scale := math.Log(s[top-1]) + slope*math.Log(float64(top))
	for i := top; i < l; i++ {
		m.values[i] = math.Exp(scale - slope*math.Log(float64(i+1)))
	}
}

// at estimates the eigenvalue with i larger ones before it.
func (m *spectrumModel) at(i int) float64 { return m.values[min(i, len(m.values)-1)] }

// corrected adds to a number of plain iterations that exceeds the number of known
// eigenvalues, since the power law then predicts too few.
func (m *spectrumModel) corrected(iterations float64) float64 {
	if ratio := iterations / float64(2*m.known); ratio > 1 {
		iterations *= 1 + excess*math.Log2(ratio)
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

// reset empties the workload of order l.
func (w *workload) reset(l int) {
	w.l, w.single = l, false
	w.ratio, w.digits, w.count = w.ratio[:0], w.digits[:0], w.count[:0]
}

// add counts one more column, in the group of the one before when their ratios are alike.
// The group takes the mean of the digits and keeps the ratio of its first column.
func (w *workload) add(ratio, digits float64) {
	if !(digits > 0) {
		return
	}
	g := len(w.count) - 1
	if g < 0 || ratio > groupRatio*w.ratio[g] || w.ratio[g] > groupRatio*ratio {
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
	if a := math.Log(next) / lossFrom; a > 1 {
		each = math.Pow(a, lossPower)
	}
	best, err := math.Inf(1), sketchError
	if q == 0 {
		err = 1
	}
	for k := 0; q+k < w.l && each*float64(k) < best; k += 1 + k/3 {
		root := math.Sqrt(1 + err*w.ratio[g]*m.at(q+k))
		best = min(best, each*float64(k)+(w.digits[g]+math.Ln2)/math.Log((root+1)/(root-1)))
	}
	return max(best, 1)
}

// total predicts passes iterations, of columns columns in all, of order l behind a sketch of rank q.
func (it iterationCost) total(passes, columns, l, q float64) float64 {
	return passes*(it.pass[0]+(it.pass[1]+it.pass[2]*min(max(l/1000-2, 0), 1))*l*l+it.passSketch*l*q) +
		columns*(it.column[0]*l*l+it.column[1]*l+it.columnSketch*l*q)
}

// solveBy predicts one solve behind a sketch of rank q, none for q = 0.
func (w *workload) solveBy(m *spectrumModel, q int, c *costs) float64 {
	var columns, passes float64
	for g, count := range w.count {
		n := w.iterations(m, q, g)
		if q == 0 {
			n = m.corrected(n)
		}
		columns += count * n
		passes = max(passes, n)
	}
	return w.iterationCost(c, q).total(passes, columns, float64(w.l), float64(q))
}

// iterationCost is that behind a sketch of rank q, none for q = 0.
func (w *workload) iterationCost(c *costs, q int) iterationCost {
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

// cacheExcess is 0 for a matrix in the third-level cache and grows with what does not fit.
func cacheExcess(l int) float64 { return max(0, float64(l)/1000-1) }

// cholesky predicts the solver of that name for the given number of shifts.
func (c *costs) cholesky(l, r, shifts int) float64 {
	fl := float64(l)
	return fl * fl * (5 + float64(shifts)*(c.factor[0]+c.factor[1]*fl) + c.byFactor*float64(r))
}

// tridiagonal and eigendecomposition predict those solvers for r columns.
func (c *costs) tridiagonal(l, r int, kept bool) float64 {
	far, fl := min(cacheExcess(l), 1), float64(l)
	t := c.perReflector*fl + (between(c.readReflectors, far)+between(c.byReflectors, far)*float64(r))*fl*fl
	if !kept {
		t += fl * (c.reduce[0] + (c.reduce[1]+c.reduce[2]*fl)*fl)
	}
	return t
}

func (c *costs) eigendecomposition(l, r int, kept bool) float64 {
	fl := float64(l)
	t := c.byVectors * fl * fl * float64(r)
	if !kept {
		t += fl * fl * (c.eigen[0] + (c.eigen[1]+c.eigen[2]*min(cacheExcess(l), 2))*fl)
	}
	return t
}

// between is ends[0] at 0 and ends[1] at 1.
func between(ends [2]float64, at float64) float64 { return ends[0] + (ends[1]-ends[0])*at }

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
