package bcd

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/loss"
)

// samples is the problem over X (l×n): P(K_η(P X)L) + μX = Y with P = diag(√w), for the coefficients C = P X
// and the targets times √w (mathematics.md §11, §15). A target that is missing has weight 0. The largest weight of
// every row is in K and Y, so that w ≤ 1, and rows that are weighted as a whole are complete. For losses other than
// the squared one X is C, and cells tells w > 0.
type samples struct {
	data
	K      linop.Sum
	traces []float64 // tr K_j, once asked for
}

// NewSamples is the space of coefficients C (l×n) for the Gram matrices of K (order l) and the targets Y (l×n), by the
// squared loss (1/l)Σ(F − Y)²_ij. It keeps both and changes only K's weights. NaN in Y is a missing cell: the loss is
// the sum over the others, C is 0 there, and l counts the rows that have an observed cell. [Solve] reports shapes that
// do not fit and values that are infinite.
func NewSamples(K linop.Sum, Y blas.General) Space {
	return NewLoss(K, Y, blas.General{}, loss.Loss{}, false)
}

// NewLoss is [NewSamples] for the loss (1/l)Σ w_ij·φ(Y_ij, F_ij), with a weight w_ij ≥ 0 for every target, or for every
// row of Y where W is l×1. A weight of 0 makes the target a missing one, and one of 2 stands for an observation that is
// made twice. l counts the rows of Y that hold a number, whatever their weights. W without Data is 1 everywhere.
//
// The unknown is C. With u = 2μC and v = u/w,
//
//	Σ w·φ(Y, F) + μ·tr(CᵀK_ηCL)  ≥  l·min  ≥  Σ w·ψ*(v) − μ·tr(CᵀK_ηCL)
//
// for every C whose v lies in the domain of the conjugate ψ*, as all iterates do (mathematics.md §15). The lower bound
// is linear in the kernels and in L, so that derivatives, certificates and methods are those of the squared loss.
//
// With constants, b_j is added to column j of the predictions and learned too. The left side is then the minimum over
// b, the columns of C add up to 0, and kernels are centred, which does not change the objective for such C
// (mathematics.md §17).
//
// The solvers paper and okl take the squared loss alone.
func NewLoss(K linop.Sum, Y, W blas.General, l loss.Loss, constants bool) Space {
	s := &samples{data: data{B: Y, unit: 1, sizeY: 1}, K: K}
	if s.bad = s.checkShapes(W); s.bad != nil {
		return s
	}
	weight := func(i, j int) float64 {
		switch {
		case math.IsNaN(Y.Data[i*Y.Stride+j]):
			return 0
		case W.Data == nil:
			return 1
		}
		return W.Data[i*W.Stride+min(j, W.Cols-1)]
	}
	for i := range Y.Rows {
		if slices.ContainsFunc(blas.Row(Y, i), func(y float64) bool { return !math.IsNaN(y) }) {
			s.l++
		}
	}
	if l.Kind == loss.Squared && !constants {
		s.weigh(weight)
	} else {
		s.bad = s.losses(l, weight, constants)
	}
	s.tell()
	return s
}

func (s *samples) checkShapes(W blas.General) error {
	Y, N := s.B, s.K.Dim()
	switch {
	case N != Y.Rows:
		return fmt.Errorf("%w: the kernel matrices are %d×%d, Y is %d×%d", ErrInput, N, N, Y.Rows, Y.Cols)
	case Y.Rows < 1 || Y.Cols < 1:
		return fmt.Errorf("%w: Y is %d×%d", ErrInput, Y.Rows, Y.Cols)
	case W.Data == nil:
		return nil
	case W.Rows != Y.Rows || W.Cols != 1 && W.Cols != Y.Cols:
		return fmt.Errorf("%w: the weights are %d×%d, Y is %d×%d", ErrInput, W.Rows, W.Cols, Y.Rows, Y.Cols)
	}
	for i := range W.Rows {
		for j, w := range blas.Row(W, i) {
			if !(w >= 0) || math.IsInf(w, 0) {
				return fmt.Errorf("%w: the weight at row %d, column %d is %g", ErrInput, i, j, w)
			}
		}
	}
	return nil
}

// weigh gives the cells their weights.
func (s *samples) weigh(weight func(i, j int) float64) {
	Y := s.B
	top := slices.Repeat([]float64{1}, Y.Rows)
	for i := range top {
		most := 0.0
		for j := range Y.Cols {
			most = max(most, weight(i, j))
		}
		if most > 0 {
			top[i] = most
		}
	}
	s.cells = linop.WeightedCells(Y.Rows, Y.Cols, func(i, j int) float64 { return weight(i, j) / top[i] })
	if slices.ContainsFunc(top, func(w float64) bool { return w != 1 }) {
		s.rowRoots, s.B = blas.Roots(top), blas.Like(Y)
		blas.ScaleRows(s.B, s.rowRoots, Y)
		s.K = linop.NewScaled(s.K, s.rowRoots)
	}
	s.keepCells()
	s.yy = square(blas.Frob(s.B))
}

// keepCells makes the targets those of the cells, times the roots of their weights.
func (s *samples) keepCells() {
	if s.cells.Complete() {
		s.cells = nil
		return
	}
	Y := blas.Like(s.B)
	s.cells.Project(Y, s.B)
	s.B = Y
}

// tell fills in what data tells of the kernels and of the size of the targets, and refuses what cannot be fitted.
func (s *samples) tell() {
	if s.bad != nil {
		return
	}
	_, s.mixed = s.K.(linop.Mixed)
	s.mixed = s.mixed && s.K.Dim() >= singleFrom
	s.single = linop.PrecisionOf(s.K) == blas.Float32
	s.ending, _ = s.K.(linop.Ending)
	count := s.B.Rows * s.B.Cols
	if s.cells != nil {
		count = s.cells.Count()
	}
	if s.loss == nil { // most losses know no units
		s.sizeY = blas.Frob(s.B) / math.Sqrt(float64(count))
	}
	if s.bad = checkFinite("Y", s.B); s.bad == nil {
		if s.bad = s.checkSize(); s.bad == nil {
			s.sizeK, s.bad = s.checkTerms()
		}
	}
}

// checkTerms refuses kernels whose diagonal is not finite and ≥ 0, and returns the largest mean of one, 1 if unknown.
func (s *samples) checkTerms() (size float64, err error) {
	if c, ok := s.K.(linop.Checker); ok {
		if err := c.Check(); err != nil {
			return 1, fmt.Errorf("%w: %w", ErrInput, err)
		}
		return 1, nil
	}
	d := make([]float64, s.K.Dim())
	for j := range s.K.Len() {
		s.K.Diag(d, j)
		mean := 0.0
		for i, v := range d {
			if !(v >= 0) || math.IsInf(v, 0) {
				return 1, fmt.Errorf("%w: kernel %d has %g on its diagonal at sample %d", ErrInput, j, v, i)
			}
			mean += v / float64(len(d))
		}
		size = math.Max(size, mean)
	}
	return size, nil
}

func (s *samples) Kernels() int   { return s.K.Len() }
func (s *samples) system() system { return s }

func (s *samples) with(d data) Space { return &samples{data: d, K: s.K} }

func (s *samples) probe() []float64 {
	u, v := probeVector(s.Unknowns()), make([]float64, s.Kernels())
	s.K.Forms(v, u, u, upTo(len(v)))
	return v
}

// diagonalSum is tr K_j.
func (s *samples) diagonalSum(j int) float64 {
	if s.traces == nil {
		d := make([]float64, s.K.Dim())
		s.traces = make([]float64, s.K.Len())
		for j := range s.traces {
			s.K.Diag(d, j)
			blas.Scal(1/s.unit, d)
			s.traces[j] = floats.Sum(d)
		}
	}
	return s.traces[j]
}

func (s *samples) trace(eta []float64) (sum float64) {
	for j, e := range eta {
		if e > 0 {
			sum += e * s.diagonalSum(j)
		}
	}
	return sum
}

func (s *samples) at(eta []float64, single bool) linop.Operator {
	eta = slices.Clone(eta)
	blas.Scal(1/s.unit, eta)
	s.K.SetWeights(eta)
	if m, ok := s.K.(linop.Mixed); ok && single {
		m.Single()
	} else if ok {
		m.Form()
	}
	return s.centered(s.K)
}

// centered is K, or, where constants are learned, H·K·H: a kernel of the same functions up to constants.
func (s *samples) centered(K linop.Operator) linop.Operator {
	if s.loss != nil && s.loss.Free {
		return &linop.Centered{A: K}
	}
	return K
}

// term is K_j, in the units of the space and centred where constants are learned.
func (s *samples) term(j int) linop.Operator { return s.centered(sampleTerm{s, j}) }

type sampleTerm struct {
	s *samples
	j int
}

func (k sampleTerm) Dim() int { return k.s.K.Dim() }

func (k sampleTerm) Apply(dst, x blas.General) {
	k.s.K.(linop.Separate).ApplyTerm(dst, x, k.j)
	blas.CopyScaled(dst, 1/k.s.unit, dst)
}

func (k sampleTerm) Dense(dst blas.General) {
	k.s.K.(linop.Separate).DenseTerm(dst, k.j)
	blas.CopyScaled(dst, 1/k.s.unit, dst)
}

func (s *samples) rhs([]float64) blas.General { return s.B }

// rebase leaves C: it changes little.
func (s *samples) rebase(_ blas.General, _, _ []float64) {}

func (s *samples) half(_ *task, pt *point) (blas.General, linop.Operator) {
	return pt.X, s.at(pt.eta, false)
}

func (s *samples) measure(t *task, pt *point, c []float64, idx []int) {
	t.measureFit(&pt.measures, pt.X, t.predict(pt))
	C := s.coefficients(&t.work, pt.X)
	if !t.fixL {
		pt.G = blas.Reshape(pt.G, t.n, t.n)
		blas.Mul(t.be, pt.G, true, false, C, pt.AX)
		blas.Symmetrize(pt.G)
	}
	s.forms(c, t.work.half(C, pt.L), idx)
}

// forms are tr(UᵀK_jU) for the kernels of idx. It overwrites U by U/√unit, which keeps the
// products with K_j as given in the range of float64. A negative form is 0 where rounding can have made it so.
func (s *samples) forms(c []float64, U blas.General, idx []int) {
	size := square(blas.Frob(U))
	blas.Scal(1/math.Sqrt(s.unit), U.Data)
	s.K.Forms(c, U, U, idx)
	for i, v := range c {
		if v < 0 && -v <= psdSlack*s.diagonalSum(idx[i])*size { // no entry of a kernel exceeds its trace
			c[i] = 0
		}
	}
}

// norms are η_j²·tr(CᵀK_jCL).
func (s *samples) norms(t *task, pt *point, L *linop.Spectral) []float64 {
	v := make([]float64, t.m)
	s.forms(v, t.work.half(s.coefficients(&t.work, pt.X), L), t.all)
	for j, e := range pt.eta {
		v[j] *= e * e
	}
	return v
}

// quadratic is, where cells are missing or weighted, that for filled targets Y = w∘T + (1−w)∘F, T the targets, of which
// ‖AL′ − Y‖² and a constant bound the loss at any L′ from above and equal it at L.
func (s *samples) quadratic(t *task, pt *point, q *quadratic) {
	w, A, Y := &t.work, pt.AX, s.B
	q.YY = s.yy
	if s.cells != nil {
		Y = t.predict(pt)
		w.px = blas.Reshape(w.px, A.Rows, t.n)
		s.cells.Project(w.px, Y)
		blas.AddScaled(w.px, -1, s.B)
		s.cells.ProjectMissing(w.px, w.px)
		q.YY = square(blas.Frob(w.px)) + s.dropped
		for range 2 {
			s.cells.ProjectMissing(Y, Y)
		}
		s.cells.Project(w.px, s.B)
		blas.AddScaled(Y, 1, w.px)
		q.YY += square(blas.Frob(Y))
	}
	q.reshape(t.n)
	blas.GramOf(w.be, q.AtA, A)
	blas.Mul(w.be, q.AtY, true, false, A, Y)
	blas.Mul(w.be, q.B, true, false, s.coefficients(w, pt.X), A)
	blas.Symmetrize(q.B)
}

// distance2 is ‖a − b‖²_F.
func distance2(a, b blas.General) (s float64) {
	for i := range a.Rows {
		y := blas.Row(b, i)
		for j, v := range blas.Row(a, i) {
			s += square(v - y[j])
		}
	}
	return s
}

// checkFinite reports the first element of a that is NaN or infinite.
func checkFinite(name string, a blas.General) error {
	for i := range a.Rows {
		for j, v := range blas.Row(a, i) {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("%w: %s is %g at row %d, column %d", ErrInput, name, v, i, j)
			}
		}
	}
	return nil
}
