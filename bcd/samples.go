// This file is the problem in sample space, whose unknowns are coefficients of the samples.

package bcd

import (
	"context"
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
// every row is in K and Y, so that w ≤ 1, and rows that are weighted as a whole are complete.
type samples struct {
	K       linop.Sum    // divided by unit in all that leaves this type
	Y       blas.General // 0 where no target is observed
	cells   *linop.Cells // w; nil for 1
	root    []float64    // the root of the largest weight of every row; nil for 1
	loss    loss.Cells   // Y and w for losses other than the squared one, where X is C and cells tells w > 0
	held    bool         // the rounding of loss stays, and the certificate is of the rounded loss
	shift   []float64    // that Y is less than the targets, in every column, where constants are learned; nil for 0
	bad     error        // what the constructor saw
	rows    int          // of Y that have an observed cell, or that those of Y stand for: l
	yy      float64      // ‖Y‖²_F with what is dropped
	dropped float64      // ‖Y‖² of what project left out, or of what no row stands for, see NewPatterns
	unit    float64
	size    float64   // the largest mean of a diagonal, known after check
	traces  []float64 // tr K_j, once asked for
}

// NewSamples is the space of coefficients C (l×n) for the Gram matrices of K
// (order l) and the targets Y (l×n). It keeps both and changes only K's weights.
// NaN in Y is a missing cell: the loss is the sum over the others, C is 0 there, and l
// counts the rows that have an observed cell. [Solve] reports shapes that do not fit
// and values that are infinite.
func NewSamples(K linop.Sum, Y blas.General) Space { return NewWeighted(K, Y, blas.General{}) }

func (s *samples) Samples() int  { return s.rows }
func (s *samples) Outputs() int  { return s.Y.Cols }
func (s *samples) Kernels() int  { return s.K.Len() }
func (s *samples) Unknowns() int { return s.Y.Rows }

func (s *samples) check() error {
	if s.bad != nil {
		return s.bad
	}
	if s.K.Dim() != s.Y.Rows {
		return fmt.Errorf("%w: the kernel matrices are %d×%d, Y is %d×%d", ErrInput, s.K.Dim(), s.K.Dim(), s.Y.Rows,
			s.Y.Cols)
	}
	if s.Y.Rows < 1 || s.Y.Cols < 1 {
		return fmt.Errorf("%w: Y is %d×%d", ErrInput, s.Y.Rows, s.Y.Cols)
	}
	if s.rows == 0 || s.cells != nil && s.cells.Count() == 0 {
		return fmt.Errorf("%w: no cell of Y is observed with a weight above 0", ErrInput)
	}
	if err := checkFinite("Y", s.Y); err != nil {
		return err
	}
	if math.IsInf(s.yy, 1) {
		return fmt.Errorf("%w: ‖Y‖² overflows: rescale Y", ErrInput)
	}
	return s.checkTerms()
}

// checkTerms refuses kernels whose diagonal is not finite and ≥ 0.
func (s *samples) checkTerms() error {
	s.size = 1
	if c, ok := s.K.(linop.Checker); ok {
		if err := c.Check(); err != nil {
			return fmt.Errorf("%w: %w", ErrInput, err)
		}
		return nil
	}
	d, top := make([]float64, s.K.Dim()), 0.0
	for j := range s.K.Len() {
		s.K.Diag(d, j)
		mean := 0.0
		for i, v := range d {
			if !(v >= 0) || math.IsInf(v, 0) {
				return fmt.Errorf("%w: kernel %d has %g on its diagonal at sample %d", ErrInput, j, v, i)
			}
			mean += v / float64(len(d))
		}
		top = math.Max(top, mean)
	}
	s.size = top
	return nil
}

func (s *samples) sizes() (y, k float64) {
	if s.convex() {
		return 1, s.size // most losses know no units
	}
	count := s.Y.Rows * s.Y.Cols
	if s.cells != nil {
		count = s.cells.Count()
	}
	return blas.Frob(s.Y) / math.Sqrt(float64(count)), s.size
}

func (s *samples) inUnits(y, k float64) (Space, float64) {
	t := *s
	t.unit, t.traces = k, nil
	if !s.convex() {
		t.Y, t.dropped = blas.Clone(s.Y), s.dropped/y/y
		blas.Scal(1/y, t.Y.Data)
		t.yy = square(blas.Frob(t.Y)) + t.dropped
	}
	return &t, 1
}

// rounding is that of ‖F − Y‖²: F and Y are exact to their own rounding.
func (s *samples) rounding(fit float64) float64 { return 0x1p-50 * math.Sqrt(fit*s.yy) }

func (s *samples) inSamples() *samples { return s }

// complete reports whether all cells have the weight of their row. Only then do the outputs decouple in the
// eigenvectors of L.
func (s *samples) complete() bool { return s != nil && s.cells == nil }

func (s *samples) setWeights(eta []float64) {
	eta = slices.Clone(eta)
	blas.Scal(1/s.unit, eta)
	s.K.SetWeights(eta)
}

// until makes kernels that are computed when they are needed end with ctx, which is then to be looked at, and reports
// whether there are such.
func (s *samples) until(ctx context.Context) bool {
	if s == nil {
		return false
	}
	e, ok := s.K.(linop.Ending)
	if ok {
		e.Until(ctx)
	}
	return ok
}

// trace is tr K_j.
func (s *samples) trace(j int) float64 {
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

func (s *samples) traceOf(eta []float64) float64 {
	sum := 0.0
	for j, e := range eta {
		if e > 0 {
			sum += e * s.trace(j)
		}
	}
	return sum
}

func (s *samples) mixed() bool {
	_, ok := s.K.(linop.Mixed)
	return ok && s.K.Dim() >= singleFrom
}

func (s *samples) at(eta []float64, single bool) linop.Operator {
	s.setWeights(eta)
	if m, ok := s.K.(linop.Mixed); ok && single {
		m.Single()
	} else if ok {
		m.Form()
	}
	return s.centered(s.K)
}

// centered is K, or, where constants are learned, H·K·H: a kernel of the same functions up to constants.
func (s *samples) centered(K linop.Operator) linop.Operator {
	if s.loss.Free {
		return &linop.Centered{A: K}
	}
	return K
}

// observed is the weights of the cells, at most 1; nil where all are 1.
func (s *samples) observed() *linop.Cells {
	if s == nil {
		return nil
	}
	return s.cells
}

func (s *samples) rhs([]float64) blas.General                                { return s.Y }
func (s *samples) normY2() float64                                           { return s.yy }
func (s *samples) residualScale([]float64, *linop.Spectral, float64) float64 { return 1 }

// outputs is Y with NaN in the missing cells.
func (s *samples) outputs() blas.General {
	if s.cells == nil {
		return s.Y
	}
	Y := blas.Clone(s.Y)
	for i := range Y.Rows {
		row := blas.Row(Y, i)
		for j, root := range s.cells.Row(i) {
			if root == 0 {
				row[j] = math.NaN()
			}
		}
	}
	return Y
}

// rebase leaves C: it changes little.
func (s *samples) rebase(_ blas.General, _, _ []float64) {}

func (s *samples) probe() []float64 {
	u, v := probeVector(s.Unknowns()), make([]float64, s.Kernels())
	s.K.Forms(v, u, u, upTo(len(v)))
	return v
}

func (s *samples) project(be blas.Backend, P blas.General) Space {
	p := *s
	p.Y, p.dropped = blas.NewGeneral(s.Y.Rows, P.Cols), 0
	blas.Mul(be, p.Y, false, false, s.Y, P)
	if left := s.yy - square(blas.Frob(p.Y)); left > float64(P.Rows)*0x1p-52*s.yy { // more than rounding
		p.dropped = left
	}
	return &p
}

func (s *samples) half(_ *task, pt *point) (blas.General, linop.Operator) {
	return pt.X, s.at(pt.eta, false)
}

func (s *samples) measure(t *task, pt *point, c []float64, idx []int) {
	s.predict(t, pt)
	s.measureFit(&pt.measures, t.mu, pt.X, t.work.xl)
	C := s.coefficients(&t.work, pt.X)
	if !t.fixL {
		pt.G = blas.Reshape(pt.G, t.n, t.n)
		blas.Mul(t.be, pt.G, true, false, C, pt.AX)
		blas.Symmetrize(pt.G)
	}
	s.forms(c, t.work.half(C, pt.L), idx)
}

// predict writes F = K_ηCL to the scratch xl.
func (s *samples) predict(t *task, pt *point) {
	t.work.xl = blas.Reshape(t.work.xl, pt.X.Rows, t.n)
	t.work.mulRight(t.work.xl, pt.AX, pt.L)
}

// measureFit fills in what m tells of the predictions F = KCL and of X, and overwrites F.
func (s *samples) measureFit(m *measures, mu float64, X, F blas.General) {
	if s.cells != nil {
		s.cells.Project(F, F)
	}
	if s.convex() {
		s.measureConvex(m, mu, X, F)
		return
	}
	m.norm = blas.Inner(X, F)
	m.form = m.norm
	m.fit = distance2(F, s.Y) + s.dropped
	m.yc, m.cc = blas.Inner(s.Y, X)+s.dropped/mu, square(blas.Frob(X))+s.dropped/(mu*mu)
}

// forms are tr(UᵀK_jU) for the kernels of idx. It overwrites U by U/√unit, which keeps the
// products with K_j as given in the range of float64. A negative form is 0 where rounding can have made it so.
func (s *samples) forms(c []float64, U blas.General, idx []int) {
	size := square(blas.Frob(U))
	blas.Scal(1/math.Sqrt(s.unit), U.Data)
	s.K.Forms(c, U, U, idx)
	for i, v := range c {
		if v < 0 && -v <= psdSlack*s.trace(idx[i])*size { // no entry of a kernel exceeds its trace
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

// along returns y_i = vᵢᵀYᵀC vᵢ and ‖C vᵢ‖² for the columns vᵢ of V.
func (s *samples) along(w *work, C, V blas.General) (yc, cc []float64) {
	w.xl, w.tall = blas.Reshape(w.xl, C.Rows, V.Cols), blas.Reshape(w.tall, C.Rows, V.Cols)
	blas.Mul(w.be, w.xl, false, false, C, V)
	blas.Mul(w.be, w.tall, false, false, s.Y, V)
	yc, cc = make([]float64, V.Cols), make([]float64, V.Cols)
	for i := range C.Rows {
		y := blas.Row(w.tall, i)
		for j, c := range blas.Row(w.xl, i) {
			yc[j] += c * y[j]
			cc[j] += c * c
		}
	}
	return yc, cc
}

// distance2 is ‖a − b‖²_F.
func distance2(a, b blas.General) float64 {
	var s float64
	for i := range a.Rows {
		x, y := blas.Row(a, i), blas.Row(b, i)
		for j := range x {
			d := x[j] - y[j]
			s += d * d
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
