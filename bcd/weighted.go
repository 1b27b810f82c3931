// This file gives the cells of a problem in sample space their weights.

package bcd

import (
	"fmt"
	"math"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// NewWeighted is NewSamples with a weight w_ij ≥ 0 for every target, or for every row of Y where W is
// l×1: the loss is (1/l)Σ w_ij(F − Y)²_ij. A weight of 0 makes the target a missing one, and one of 2 stands for an
// observation that is made twice. l counts the rows of Y that hold a number, whatever their weights. W without Data
// is 1 everywhere.
func NewWeighted(K linop.Sum, Y, W blas.General) Space {
	s := &samples{K: K, Y: Y, rows: Y.Rows, unit: 1}
	if s.bad = checkCellWeights(Y, W); s.bad != nil {
		return s
	}
	s.weigh(func(i, j int) float64 {
		if math.IsNaN(Y.Data[i*Y.Stride+j]) {
			return 0
		}
		return weightAt(W, i, j)
	})
	s.yy = square(blas.Frob(s.Y))
	return s
}

// weightAt is the weight of a cell in a matrix of weights of cells or of rows; 1 in one without Data.
func weightAt(W blas.General, i, j int) float64 {
	if W.Data == nil {
		return 1
	}
	return W.Data[i*W.Stride+min(j, W.Cols-1)]
}

func checkCellWeights(Y, W blas.General) error {
	if W.Data == nil {
		return nil
	}
	if W.Rows != Y.Rows || W.Cols != 1 && W.Cols != Y.Cols {
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

// observedRows counts the rows of Y that hold a number.
func observedRows(Y blas.General) (count int) {
	for i := range Y.Rows {
		if slices.ContainsFunc(blas.Row(Y, i), func(y float64) bool { return !math.IsNaN(y) }) {
			count++
		}
	}
	return count
}

// weigh gives the cells their weights.
func (s *samples) weigh(weight func(i, j int) float64) {
	top := slices.Repeat([]float64{1}, s.Y.Rows)
	s.rows = observedRows(s.Y)
	for i := range top {
		most := 0.0
		for j := range s.Y.Cols {
			most = max(most, weight(i, j))
		}
		if most > 0 {
			top[i] = most
		}
	}
	s.cells = linop.WeightedCells(s.Y.Rows, s.Y.Cols, func(i, j int) float64 { return weight(i, j) / top[i] })
	if slices.ContainsFunc(top, func(w float64) bool { return w != 1 }) && s.K.Dim() == len(top) {
		s.root = blas.Roots(top)
		Y := blas.Like(s.Y)
		blas.ScaleRows(Y, s.root, s.Y)
		s.K, s.Y = linop.NewScaled(s.K, s.root), Y
	}
	if s.cells.Complete() {
		s.cells = nil
		return
	}
	Y := blas.Like(s.Y)
	s.cells.Project(Y, s.Y)
	s.Y = Y
}

// outward turns X for all outputs into the coefficients of the samples, in place; inward does the reverse.
func (s *samples) outward(X blas.General) blas.General {
	if s.observed() != nil && !s.convex() {
		s.cells.Project(X, X)
	}
	if s != nil && s.root != nil {
		blas.ScaleRows(X, s.root, X)
	}
	return X
}

func (s *samples) inward(C blas.General) {
	if s == nil {
		return
	}
	for i := range C.Rows {
		row := blas.Row(C, i)
		if s.root != nil {
			blas.Scal(1/s.root[i], row)
		}
		if s.cells == nil {
			continue
		}
		for j, root := range s.cells.Row(i) {
			if row[j] /= root; root == 0 {
				row[j] = 0
			}
		}
	}
}

// coefficients are P·X, in the scratch of w.
func (s *samples) coefficients(w *work, X blas.General) blas.General {
	if s.observed() == nil {
		return X
	}
	w.px = blas.Reshape(w.px, X.Rows, X.Cols)
	s.cells.Project(w.px, X)
	return w.px
}

// curvature is the mean over all cells of ½w·∂²φ/∂F² at pt, the mean weight for squares. A quantile has that of the
// loss whose kinks the last C step has rounded.
func (s *samples) curvature(t *task, pt *point) (mean float64) {
	switch {
	case s.cells == nil:
		return 1
	case !s.convex():
		return s.cells.Mean()
	}
	s.predict(t, pt)
	s.loss.Settle(t.work.xl)
	s.loss.Each(func(at int, y, w float64) {
		_, curvature := s.loss.SlopeAt(at, y, t.work.xl.Data[at])
		mean += w * curvature / 2
	})
	return mean / float64(len(s.Y.Data))
}

// quadratic is, where cells are missing or weighted, that for filled targets Y = w∘T + (1−w)∘F, T the targets, of which
// ‖AL′ − Y‖² and a constant bound the loss at any L′ from above and equal it at L.
func (s *samples) quadratic(t *task, pt *point, q *quadratic) {
	n, w, A, Y := t.n, &t.work, pt.AX, s.Y
	q.YY = s.yy
	if s.cells != nil {
		s.predict(t, pt)
		w.px = blas.Reshape(w.px, A.Rows, n)
		s.cells.Project(w.px, w.xl)
		blas.AddScaled(w.px, -1, s.Y)
		s.cells.ProjectMissing(w.px, w.px)
		q.YY = square(blas.Frob(w.px)) + s.dropped
		Y = w.xl
		for range 2 {
			s.cells.ProjectMissing(Y, Y)
		}
		s.cells.Project(w.px, s.Y)
		blas.AddScaled(Y, 1, w.px)
		q.YY += square(blas.Frob(Y))
	}
	q.AtA, q.AtY, q.B = blas.Reshape(q.AtA, n, n), blas.Reshape(q.AtY, n, n), blas.Reshape(q.B, n, n)
	blas.GramOf(w.be, q.AtA, A)
	blas.Mul(w.be, q.AtY, true, false, A, Y)
	blas.Mul(w.be, q.B, true, false, s.coefficients(w, pt.X), A)
	blas.Symmetrize(q.B)
}
