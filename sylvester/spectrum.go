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
// others fall as exp(−c·√i): those after a sketch have the sum and the sum of squares that the trace of K and the
// submatrix tell of what the sketch leaves of K, those after the submatrix go on from its last one and have the sum.
// Spectra of smooth kernels fall faster in the end, those of rough ones more slowly.
type spectrumModel struct {
	l       int
	trace   float64      // of K; 0 where K shows no elements
	rows    []int        // of the submatrix; none where K shows no elements
	element blas.General // the submatrix
	vectors blas.General // and its eigenvectors
	theta   []float64    // eigenvalues of the submatrix, ascending
	sampled []float64    // eigenvalues of K by the submatrix, descending, those that are trusted
	along   []float64    // the part of ‖Ỹ‖² along each of them
	beyond  float64      // that along each other eigenvector of K

	value, weight []float64
	count         []int
	whole         bool // K has no other eigenvalues than those of a sketch

	run        recurrence
	B, E, left blas.General
}

const (
	// trusted is the part of the eigenvalues of a submatrix, or of a sketch, that is used. The last ones are too small.
	trusted = 0.8
	// mostRows is the largest order of the submatrix. With 24, looking at small systems takes longer than it saves.
	mostRows = 16
	// The group that begins i eigenvalues after those of a sketch or a submatrix holds i/groupsOf of them, or
	// i/(l/groupShare) where that is fewer, but at least one. Conjugate gradients end after about as many iterations
	// as there are groups, so that fewer groups would end them early.
	groupsOf   = 32
	groupShare = 16
)

// known is how many of n eigenvalues of a submatrix or a sketch are used.
func (m *spectrumModel) known(n int) int {
	if n == m.l || n == 0 || m.whole {
		return n
	}
	return min(n, max(1, int(trusted*float64(n))))
}

// sample decomposes a principal submatrix of K. It has at most mostRows rows, and takes no more flops to decompose than
// a product of K with a column has multiplications. Without one, for a K that shows no elements, the model has the
// eigenvalues of a sketch.
func (m *spectrumModel) sample(be blas.Backend, K linop.Operator, seed uint64) {
	l := K.Dim()
	m.l, m.trace, m.rows, m.sampled, m.whole = l, 0, m.rows[:0], m.sampled[:0], false
	at := linop.ElementsOf(K)
	if at == nil {
		return
	}
	for i := range l {
		m.trace += at(i, i)
	}
	n := max(1, min(mostRows, int(math.Cbrt(float64(l)*float64(l)/DecomposeCubes))))
	m.element, m.vectors = blas.Reshape(m.element, n, n), blas.Reshape(m.vectors, n, n)
	m.theta = blas.Resize(m.theta, n)
	rng := rand.New(rand.NewPCG(seed, uint64(l)))
	for i := range n {
		row := rng.IntN(l)
		for slices.Contains(m.rows, row) {
			row = rng.IntN(l)
		}
		m.rows = append(m.rows, row)
		for j, other := range m.rows {
			m.element.Data[i*n+j] = at(row, other)
		}
	}
	blas.MirrorLower(m.element)
	blas.Copy(m.vectors, m.element)
	if !finite(sum(m.vectors)+m.trace) || be.Syevd(m.vectors, m.theta) != nil || !(m.theta[n-1] > 0) {
		m.trace, m.rows = 0, m.rows[:0]
		return
	}
	scale, nu := float64(l)/float64(n), m.nugget()
	for i := range m.known(n) {
		m.sampled = append(m.sampled, max(scale*(m.theta[n-1-i]-nu)+nu, 0x1p-52*m.theta[n-1]))
	}
}

// nugget is the ν of K ≈ K′ + ν·I for which the model and K have the same sum of squares of eigenvalues, as far as a
// submatrix tells it: with n rows, l/n·(θ_i − ν) + ν estimates an eigenvalue, and the others are ν. For a K of equal
// diagonal d that is d less the root mean square of the elements beside it. It is at most the smallest eigenvalue.
func (m *spectrumModel) nugget() float64 {
	_, beside := meanSquares(m.element)
	return max(min(m.trace/float64(m.l)-math.Sqrt(beside), m.theta[0]), 0)
}

// meanSquares are those of the elements on the diagonal of A and beside it.
func meanSquares(A blas.General) (on, beside float64) {
	n := float64(A.Rows)
	for i := range A.Rows {
		on += square(A.Data[i*A.Stride+i])
	}
	beside = max(square(blas.Frob(A))-on, 0) / max(n*(n-1), 1)
	return on / n, beside
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
	m.take(Y)
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

// take copies the rows of the submatrix from A to B, and shapes E like it.
func (m *spectrumModel) take(A blas.General) {
	n := len(m.rows)
	m.B, m.E = blas.Reshape(m.B, n, A.Cols), blas.Reshape(m.E, n, A.Cols)
	for i, row := range m.rows {
		copy(blas.Row(m.B, i), blas.Row(A, row))
	}
}

// fit makes the groups, of the eigenvalues of a sketch, or of the submatrix where there is none, and of the others.
// whole says that K has no other eigenvalues than those of the sketch.
func (m *spectrumModel) fit(be blas.Backend, low *lowRank, whole bool) {
	m.value, m.weight, m.count, m.whole = m.value[:0], m.weight[:0], m.count[:0], whole
	i := 0
	add := func(v float64, count int) {
		w := m.beyond
		if i < len(m.along) {
			w = m.along[i]
		}
		m.value, m.weight, m.count = append(m.value, v), append(m.weight, w*float64(count)), append(m.count, count)
		i += count
	}
	s := low.s
	if len(s) == 0 {
		s = m.sampled
	}
	for _, v := range s {
		add(v, 1)
	}
	first, c := 0., 0.
	if !whole && len(s) > 0 {
		first, c = m.others(be, s, low)
	}
	from, each := math.Sqrt(float64(len(s))), max(groupsOf, m.l/groupShare)
	for i < m.l {
		count := min(m.l-i, max(1, (i-len(s))/each))
		add(first*math.Exp(-c*(math.Sqrt(float64(i)+float64(count+1)/2)-from)), count)
	}
}

// others returns the law first·exp(−c·(√i − √t)) of the eigenvalues after the t in s, which are those of the sketch low
// where that has any.
func (m *spectrumModel) others(be blas.Backend, s []float64, low *lowRank) (first, c float64) {
	t, last := float64(len(s)), s[len(s)-1]
	from, begin, end := math.Sqrt(t), math.Sqrt(t+0.5), math.Sqrt(float64(m.l)+0.5)
	// after is the integral of exp(−c·(√i − √t)) over i from x².
	after := func(c, x float64) float64 { return 2 / c * (x + 1/c) * math.Exp(-c*(x-from)) }
	sum := func(c float64) float64 { return after(c, begin) - after(c, end) }
	rest := m.trace - floats.Sum(s)
	switch {
	case m.trace == 0: // the law of the last three octaves of s
		top := (len(s) + 7) / 8
		return last, math.Log(s[top-1]/last) / max(from-math.Sqrt(float64(top)), 1)
	case !(rest > 0):
		return 0, 0
	case low.rank() == 0:
		return last, steepness(func(c float64) bool { return last*sum(c) < rest })
	}
	share := m.squaresLeft(be, low) / square(rest)
	c = steepness(func(c float64) bool { return sum(2*c) > share*square(sum(c)) })
	return rest / sum(c), c
}

// steepness finds to four digits the c up to which enough is false, and from which on it is true.
func steepness(enough func(c float64) bool) float64 {
	least, most := 0x1p-20, 0x1p6
	for most/least > 1+1e-4 {
		if c := math.Sqrt(least * most); enough(c) {
			most = c
		} else {
			least = c
		}
	}
	return most
}

// squaresLeft estimates ‖K − U·diag(s)·Uᵀ‖² from the rows of the submatrix.
func (m *spectrumModel) squaresLeft(be blas.Backend, low *lowRank) float64 {
	l, n := float64(m.l), len(m.rows)
	m.left = blas.Reshape(m.left, n, n)
	m.take(low.U)
	blas.Copy(m.E, m.B)
	blas.ScaleColumns(m.E, low.s)
	blas.Copy(m.left, m.element)
	blas.Gemm(be, false, true, -1, m.E, m.B, 1, m.left)
	on, beside := meanSquares(m.left)
	return l*on + l*(l-1)*beside
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
// A sketch of rank q maps the eigenvalues that it knows to the last one of them. Columns that the formula with it is
// exact enough for take no iterations.
func (m *spectrumModel) iterate(w *workload, q int, each func(columns float64) bool) {
	x := &m.run
	m.load(q)
	x.pivot, x.left = blas.Resize(x.pivot, len(w.count)), blas.Resize(x.left, len(w.count))
	columns := 0.0
	for g, ratio := range w.ratio {
		x.left[g] = math.Exp(w.digits[g])
		if q > 0 && m.formulaError(ratio, q)*x.left[g] <= math.Sqrt(1-formulaShare) {
			x.left[g] = 0
		}
		if x.left[g] > 1 {
			columns += w.count[g]
		}
	}
	top := slices.Max(x.diag)
	for k, beta := 0, 0.0; columns > 0; k++ {
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

// formulaError bounds what [nystrom.solveByFormula] leaves of a right-hand side of norm 1, for a ratio ρ/μ.
func (m *spectrumModel) formulaError(ratio float64, q int) float64 {
	if m.whole {
		return 0
	}
	var sq float64
	for i, w := range m.weight {
		sq += w / square(1+ratio*m.value[i])
	}
	return ratio * sketchExcess * m.eigenvalue(q-1) * math.Sqrt(sq)
}

// eigenvalue is the i-th one of the model, from 0.
func (m *spectrumModel) eigenvalue(i int) float64 {
	at := 0
	for g, count := range m.count {
		if at += count; at > i {
			return m.value[g]
		}
	}
	return 0
}

// load starts the recurrence behind a sketch of rank q.
func (m *spectrumModel) load(q int) {
	x := &m.run
	n := len(m.weight)
	x.diag, x.v = blas.Resize(x.diag, n)[:0], blas.Resize(x.v, n)[:0]
	x.before, x.next = blas.Resize(x.before, n), blas.Resize(x.next, n)
	most, all := math.Inf(1), floats.Sum(m.weight)
	if q > 0 {
		most = m.eigenvalue(m.known(q) - 1)
	}
	for i, w := range m.weight {
		if last := len(x.v) - 1; last >= 0 && m.value[i] >= most && x.diag[last] == most {
			x.v[last] += w / all
		} else {
			x.diag, x.v = append(x.diag, min(m.value[i], most)), append(x.v, w/all)
		}
	}
	for i, w := range x.v {
		x.v[i] = math.Sqrt(w)
	}
	x.before, x.next = x.before[:len(x.v)], x.next[:len(x.v)]
	clear(x.before)
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
