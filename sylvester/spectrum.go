// This file predicts the iterations of conjugate gradients by running them on a model of the spectrum of K.

package sylvester

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// spectrumModel stands for K and the right-hand sides: eigenvalues in descending order, in groups of some that are
// alike, and the part of ‖Ỹ‖² that lies along the eigenvectors of each group.
//
// Before there is a sketch, the leading eigenvalues come from a principal submatrix on random rows. They estimate those
// of K (Williams and Seeger, The effect of the input density distribution on kernel-based classifiers, ICML 2000). The
// others follow the law s_t·exp(−c·(√i − √t)), with the c for which all have the sum that is the trace of K. Spectra of
// smooth kernels fall faster in the end, those of rough ones more slowly.
type spectrumModel struct {
	l       int
	trace   float64 // of K; 0 where K shows no elements
	rows    []int   // of the submatrix; none where K shows no elements
	vectors blas.General
	theta   []float64 // eigenvalues of the submatrix, ascending
	sampled []float64 // eigenvalues of K by the submatrix, descending, those that are trusted
	along   []float64 // the part of ‖Ỹ‖² along each of them
	beyond  float64   // that along each other eigenvector of K

	value, weight []float64
	count         []int

	run  recurrence
	B, E blas.General
}

const (
	// trusted is the part of the eigenvalues of a submatrix, or of a sketch, that is used. The last ones are too small.
	trusted = 0.8
	// mostRows is the largest order of the submatrix. With 128 rows choices are no better.
	mostRows = 24
	// A group holds one eigenvalue for every groupsOf before it. Conjugate gradients take at most as many iterations as
	// there are groups, so that fewer of them would end iterations early.
	groupsOf = 32
	// modelSteps·l is the number of iterations that are predicted at most: as many as a solve takes by default.
	modelSteps = 10
)

// known is how many of n eigenvalues of a submatrix or a sketch are used.
func (m *spectrumModel) known(n int) int {
	if n == m.l || n == 0 {
		return n
	}
	return min(n, max(1, int(trusted*float64(n))))
}

// sample decomposes a principal submatrix of K. It has at most mostRows rows, and takes no more flops to decompose than
// a product of K with a column has multiplications. Without one, for a K that shows no elements, the model has the
// eigenvalues of a sketch.
func (m *spectrumModel) sample(be blas.Backend, K linop.Operator, seed uint64) {
	l := K.Dim()
	m.l, m.trace, m.rows, m.sampled = l, 0, m.rows[:0], m.sampled[:0]
	at := linop.ElementsOf(K)
	if at == nil {
		return
	}
	for i := range l {
		m.trace += at(i, i)
	}
	n := max(1, min(mostRows, int(math.Cbrt(float64(l)*float64(l)/DecomposeCubes))))
	m.vectors, m.theta = blas.Reshape(m.vectors, n, n), blas.Resize(m.theta, n)
	rng := rand.New(rand.NewPCG(seed, uint64(l)))
	var diagonal float64
	for i := range n {
		row := rng.IntN(l)
		for slices.Contains(m.rows, row) {
			row = rng.IntN(l)
		}
		m.rows = append(m.rows, row)
		for j, other := range m.rows {
			m.vectors.Data[i*n+j] = at(row, other)
		}
		diagonal += square(m.vectors.Data[i*n+i])
	}
	blas.MirrorLower(m.vectors)
	if !finite(sum(m.vectors)+m.trace) || be.Syevd(m.vectors, m.theta) != nil || !(m.theta[n-1] > 0) {
		m.trace, m.rows = 0, m.rows[:0]
		return
	}
	scale, nu := float64(l)/float64(n), m.nugget(diagonal)
	for i := range m.known(n) {
		m.sampled = append(m.sampled, max(scale*(m.theta[n-1-i]-nu)+nu, 0x1p-52*m.theta[n-1]))
	}
}

// nugget is the ν of K ≈ K′ + ν·I for which the model and K have the same sum of squares of eigenvalues, as far as a
// submatrix tells it, whose diagonal has the sum of squares diagonal: with n rows, l/n·(θ_i − ν) + ν estimates an
// eigenvalue, and the others are ν. For a K of equal diagonal d that is d less the root mean square of the elements
// beside it. It is at most the smallest eigenvalue.
func (m *spectrumModel) nugget(diagonal float64) float64 {
	n := float64(len(m.theta))
	beside := math.Sqrt(max(blas.Dot(m.theta, m.theta)-diagonal, 0) / max(n*(n-1), 1))
	return max(min(m.trace/float64(m.l)-beside, m.theta[0]), 0)
}

// project takes the parts of the right-hand sides Y (l×r) along the eigenvectors of the submatrix. Without one, they
// are of equal size. A function that is an eigenvector has l/n times the square on all rows that it has on the n of the
// submatrix. Noise has the same along every eigenvector: the mean of those not trusted.
func (m *spectrumModel) project(be blas.Backend, Y blas.General) {
	n, t := len(m.rows), len(m.sampled)
	m.along, m.beyond = m.along[:0], 1/float64(m.l)
	if n == 0 {
		return
	}
	m.B, m.E = blas.Reshape(m.B, n, Y.Cols), blas.Reshape(m.E, n, Y.Cols)
	for i, row := range m.rows {
		copy(blas.Row(m.B, i), blas.Row(Y, row))
	}
	blas.Mul(be, m.E, true, false, m.vectors, m.B)
	for i := n - 1; i >= 0; i-- {
		e := blas.Row(m.E, i)
		m.along = append(m.along, blas.Dot(e, e))
	}
	scale := float64(m.l) / float64(n)
	all, noise := scale*floats.Sum(m.along), floats.Sum(m.along[t:])/float64(max(n-t, 1))
	m.along = m.along[:t]
	for i, e := range m.along {
		m.along[i] = max(e-noise, 0)*scale + noise
	}
	found := floats.Sum(m.along)
	rest := max(all-found, noise*float64(m.l-t))
	if all = found + rest; !(all > 0) {
		m.along = m.along[:0]
		return
	}
	blas.Scal(1/all, m.along)
	m.beyond = rest / all / max(float64(m.l-t), 1)
}

// fit makes the groups, of the eigenvalues s of a sketch, or of the sample where there is none, and of the others.
// whole says that K has no other eigenvalues than s.
func (m *spectrumModel) fit(s []float64, whole bool) {
	m.value, m.weight, m.count = m.value[:0], m.weight[:0], m.count[:0]
	i := 0
	add := func(v float64, count int) {
		w := m.beyond
		if i < len(m.along) {
			w = m.along[i]
		}
		m.value, m.weight, m.count = append(m.value, v), append(m.weight, w*float64(count)), append(m.count, count)
		i += count
	}
	switch {
	case len(s) == 0:
		s = m.sampled
	case !whole:
		s = s[:m.known(len(s))]
	}
	for _, v := range s {
		add(v, 1)
	}
	last, c := 0., 0.
	if !whole && len(s) > 0 {
		last, c = s[len(s)-1], m.decay(s)
	}
	from := math.Sqrt(float64(len(s)))
	for i < m.l {
		count := min(m.l-i, max(1, i/groupsOf))
		add(last*math.Exp(-c*(math.Sqrt(float64(i)+float64(count+1)/2)-from)), count)
	}
}

// decay is the c of the law that the eigenvalues after s follow. Where K shows no elements, it is that of the last
// three octaves of s.
func (m *spectrumModel) decay(s []float64) float64 {
	t, last := float64(len(s)), s[len(s)-1]
	if m.trace == 0 {
		low := (len(s) + 7) / 8
		return math.Log(s[low-1]/last) / max(math.Sqrt(t)-math.Sqrt(float64(low)), 1)
	}
	rest := m.trace - floats.Sum(s)
	if rest >= last*(float64(m.l)-t) {
		return 0
	}
	from, begin, end := math.Sqrt(t), math.Sqrt(t+0.5), math.Sqrt(float64(m.l)+0.5)
	// after is the integral of exp(−c·(√i − √t)) over i from x².
	after := func(c, x float64) float64 { return 2 / c * (x + 1/c) * math.Exp(-c*(x-from)) }
	least, most := 0x1p-20, 0x1p6
	for range 50 {
		c := math.Sqrt(least * most)
		if last*(after(c, begin)-after(c, end)) > rest {
			least = c
		} else {
			most = c
		}
	}
	return most
}

// recurrence is Lanczos' three-term recurrence on a diagonal matrix.
type recurrence struct {
	diag, v, before, next []float64

	// Of each shift, the last pivot of the shifted tridiagonal matrix, and the norm of the residual over its goal.
	pivot, left []float64
}

// iterate runs conjugate gradients on the columns of the workload w, behind a sketch of rank q, on the model in place
// of K. It calls each, before each iteration, with the number of columns that take part, until all have converged or
// each returns false.
//
// Lanczos' method for the eigenvalues σ_i and right-hand sides of norm 1 makes the tridiagonal matrix T of all shifts,
// and from its diagonal α and the one beside it β follow the residuals of column j, in units of the first:
// ‖r_k‖ = ∏ (ρ_j/μ)·β_k/δ_k, with the pivots δ_k = 1 + (ρ_j/μ)·α_k − ((ρ_j/μ)·β_{k−1})²/δ_{k−1}. In floating-point
// arithmetic it loses orthogonality where conjugate gradients do, and they take longer for it.
//
// A sketch removes those of the first q eigenvalues that are trusted. The formula with it leaves of Ỹ, along each of
// the others, the part (ρ_j/μ)·σ_i, and of what that is, by chance, the part q/l in its own span.
func (m *spectrumModel) iterate(w *workload, q int, each func(columns float64) bool) {
	x, first := &m.run, m.load(q)
	x.pivot, x.left = blas.Resize(x.pivot, len(w.count)), blas.Resize(x.left, len(w.count))
	columns := 0.0
	for g, ratio := range w.ratio {
		x.left[g] = math.Exp(w.digits[g])
		if q > 0 {
			x.left[g] *= ratio * first
		}
		if x.left[g] > 1 {
			columns += w.count[g]
		}
	}
	top := slices.Max(x.diag)
	for k, beta := 0, 0.0; columns > 0 && k < modelSteps*w.l; k++ {
		if !each(columns) {
			return
		}
		alpha, next := x.step(beta)
		for g, ratio := range w.ratio {
			if !(x.left[g] > 1) {
				continue
			}
			pivot := 1 + ratio*alpha
			if k > 0 {
				pivot -= square(ratio*beta) / x.pivot[g]
			}
			x.pivot[g] = max(pivot, 1) // T is positive semidefinite
			x.left[g] *= ratio * next / x.pivot[g]
			if !(x.left[g] > 1) {
				columns -= w.count[g]
			}
		}
		if beta = next; !(beta > 0x1p-50*top) {
			return // a space that K maps into itself
		}
	}
}

// load starts the recurrence behind a sketch of rank q, and returns the norm of what that leaves of right-hand sides of
// norm 1 for ρ/μ = 1.
func (m *spectrumModel) load(q int) float64 {
	x := &m.run
	x.diag, x.v = x.diag[:0], x.v[:0]
	var all float64
	for i, at := 0, 0; i < len(m.value); i++ {
		out := min(max(m.known(q)-at, 0), m.count[i])
		at += m.count[i]
		if out == m.count[i] {
			continue
		}
		w := m.weight[i] * float64(m.count[i]-out) / float64(m.count[i])
		if q > 0 {
			w *= square(m.value[i])
		}
		x.diag, x.v, all = append(x.diag, m.value[i]), append(x.v, w), all+w
	}
	if q > 0 {
		w := all * float64(q) / float64(m.l)
		x.diag, x.v, all = append(x.diag, 0), append(x.v, w), all+w
	}
	for i, w := range x.v {
		x.v[i] = math.Sqrt(w / max(all, math.SmallestNonzeroFloat64))
	}
	x.before, x.next = blas.Resize(x.before, len(x.v)), blas.Resize(x.next, len(x.v))
	clear(x.before)
	return math.Sqrt(all)
}

// step makes the next vector of the recurrence, and returns the elements of T.
func (x *recurrence) step(beta float64) (alpha, next float64) {
	for i, v := range x.v {
		x.next[i] = x.diag[i]*v - beta*x.before[i]
		alpha += x.next[i] * v
	}
	for i, v := range x.v {
		x.next[i] -= alpha * v
		next += square(x.next[i])
	}
	next = math.Sqrt(next)
	if next > 0 {
		blas.Scal(1/next, x.next)
	}
	x.before, x.v, x.next = x.v, x.next, x.before
	return alpha, next
}
