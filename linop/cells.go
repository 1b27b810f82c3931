// Weights of cells, and operators between their square roots.

package linop

import (
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/par"
)

// Cells holds a weight w ≥ 0 for every cell of an l×n matrix: 0 for a missing target, 1 for an observed one, 2 for one
// that was observed twice. Ω is the set of cells of positive weight. P = diag(√w) acts on the row-major vec; with
// weights 0 and 1 it is the projection on Ω. Cells are immutable, and serve any number of goroutines. Memory: 8·l·n
// bytes.
type Cells struct {
	rows, cols, count int
	complete          bool
	root              []float64 // √w, row-major
	sums              []float64 // Σ_i w_ij of every column that is balanced; nil where none is
}

// NewCells gives weight 1 to the cells (i,j) of an l×n matrix for which observed is true, 0 to the others.
func NewCells(l, n int, observed func(i, j int) bool) *Cells {
	return WeightedCells(l, n, func(i, j int) float64 {
		if observed(i, j) {
			return 1
		}
		return 0
	})
}

// WeightedCells gives the cells (i,j) of an l×n matrix the weights weight(i, j), which are ≥ 0 and finite.
func WeightedCells(l, n int, weight func(i, j int) float64) *Cells {
	if l < 0 || n < 0 {
		panic("linop: cells of a negative shape")
	}
	c := &Cells{rows: l, cols: n, root: make([]float64, l*n), complete: true}
	for i := range l {
		for j := range n {
			w := weight(i, j)
			if !(w >= 0) || math.IsInf(w, 1) {
				panic("linop: a weight that is negative or not finite")
			}
			if w > 0 {
				c.count++
			}
			c.complete = c.complete && w == 1
			c.root[i*n+j] = math.Sqrt(w)
		}
	}
	return c
}

// Balanced returns c for systems in which a constant of every column is free (mathematics.md §17): their coefficients x
// satisfy Σ_i √w_ij·x_ij = 0 for every column j.
func (c *Cells) Balanced() *Cells {
	b := *c
	b.sums = make([]float64, c.cols)
	c.Each(func(_, j int, root float64) { b.sums[j] += root * root })
	return &b
}

// Balance projects x (l×n, 0 outside Ω) in place on the matrices with Σ_i √w_ij·x_ij = 0 for every column j, if c is
// balanced, and does nothing otherwise. The projection is orthogonal.
func (c *Cells) Balance(x blas.General) {
	if c.sums == nil {
		return
	}
	mean := make([]float64, c.cols)
	for i := range c.rows {
		row := blas.Row(x, i)
		for j, root := range c.Row(i) {
			mean[j] += root * row[j]
		}
	}
	for j, sum := range c.sums {
		if mean[j] != 0 {
			mean[j] /= sum
		}
	}
	c.cells(x, x, func(j int, root, v float64) float64 {
		part := root * mean[j]
		if left := v - part; !(math.Abs(left) <= balanceRounding*math.Abs(part)) { // NaN stays
			return left
		}
		return 0
	})
}

// balanceRounding is the rounding of what Balance takes away, relative to that.
const balanceRounding = 0x1p-50

// Between returns Q·A·Q on columns, with Q the projection of [Cells.Balance], if c is balanced, and A otherwise.
func (c *Cells) Between(A Operator) Operator {
	if !c.IsBalanced() {
		return A
	}
	var in blas.General
	return Func{A.Dim(), func(dst, x blas.General) {
		in = blas.Reshape(in, x.Rows, x.Cols)
		blas.Copy(in, x)
		c.Balance(c.matrix(in))
		A.Apply(dst, in)
		c.Balance(c.matrix(dst))
	}}
}

// matrix is the column v as an l×n matrix.
func (c *Cells) matrix(v blas.General) blas.General {
	if v.Cols != 1 || v.Stride != 1 {
		panic("linop: balanced cells take one column")
	}
	return blas.General{Rows: c.rows, Cols: c.cols, Stride: max(c.cols, 1), Data: v.Data}
}

// IsBalanced reports whether c was made by Balanced.
func (c *Cells) IsBalanced() bool { return c != nil && c.sums != nil }

// ObservedCells gives weight 1 to the cells of Y that do not hold NaN, 0 to the others.
func ObservedCells(Y blas.General) *Cells {
	return NewCells(Y.Rows, Y.Cols, func(i, j int) bool { return !math.IsNaN(Y.Data[i*Y.Stride+j]) })
}

// Dims are l and n.
func (c *Cells) Dims() (l, n int) { return c.rows, c.cols }

// Count is |Ω|.
func (c *Cells) Count() int { return c.count }

// Mean is the mean of the weights of all l·n cells.
func (c *Cells) Mean() (mean float64) {
	c.Each(func(_, _ int, root float64) { mean += root * root })
	return mean / float64(len(c.root))
}

// Complete reports whether every cell has weight 1, so that P is the identity.
func (c *Cells) Complete() bool { return c.complete }

// Has reports whether the cell (i,j) is in Ω.
func (c *Cells) Has(i, j int) bool { return c.root[i*c.cols+j] > 0 }

// Row is √w of row i. The caller must not change it.
func (c *Cells) Row(i int) []float64 { return c.root[i*c.cols : (i+1)*c.cols] }

// Each calls visit for every cell of Ω, row by row, with √w.
func (c *Cells) Each(visit func(i, j int, root float64)) {
	for i := range c.rows {
		for j, root := range c.Row(i) {
			if root > 0 {
				visit(i, j, root)
			}
		}
	}
}

// Keep copies to dst the cells of the l×n src in Ω and writes 0 to the others,
// whatever src holds there. dst may be src.
func (c *Cells) Keep(dst, src blas.General) {
	c.cells(dst, src, func(_ int, root, v float64) float64 {
		if root > 0 {
			return v
		}
		return 0
	})
}

// Project computes dst = √w∘src, 0 where w is, whatever src holds there. dst may be src.
func (c *Cells) Project(dst, src blas.General) {
	c.cells(dst, src, func(_ int, root, v float64) float64 {
		if root > 0 {
			return root * v
		}
		return 0
	})
}

// ProjectMissing computes dst = √(1−w)∘src, 0 where w is 1, whatever src holds there. No weight may
// exceed 1. dst may be src.
func (c *Cells) ProjectMissing(dst, src blas.General) {
	c.cells(dst, src, func(_ int, root, v float64) float64 {
		if root == 1 {
			return 0
		}
		return math.Sqrt((1-root)*(1+root)) * v
	})
}

// cells makes the cells of dst those that f makes of √w and of the cells of src in column j, in parallel over rows.
func (c *Cells) cells(dst, src blas.General, f func(j int, root, v float64) float64) {
	if src.Rows != c.rows || src.Cols != c.cols || dst.Rows != c.rows || dst.Cols != c.cols {
		panic("linop: Project: shape mismatch")
	}
	par.Ranges(c.rows, par.Elements/max(1, c.cols), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			out, from := blas.Row(dst, i), blas.Row(src, i)
			for j, root := range c.Row(i) {
				out[j] = f(j, root, from[j])
			}
		}
	})
}

// byOutput is how near to the largest of its column a weight counts as that.
const byOutput = 1 - 0x1p-40

// ByOutput splits the weights into b_j, the largest of every column, and Cells of w_ij/b_j ≤ 1. b is nil where all b_j
// are 1.
func (c *Cells) ByOutput() (b []float64, rest *Cells) {
	b = make([]float64, c.cols)
	c.Each(func(_, j int, root float64) { b[j] = max(b[j], root*root) })
	same := true
	for j, top := range b {
		if top == 0 {
			b[j] = 1
		}
		same = same && b[j] == 1
	}
	if same {
		return nil, c
	}
	return b, WeightedCells(c.rows, c.cols, func(i, j int) float64 {
		root := c.root[i*c.cols+j]
		w := root * root / b[j]
		if w >= byOutput {
			return 1
		}
		return w
	})
}

// Mask is the operator P·A·P + Mu·I on Ω and 0 elsewhere, where A acts on the row-major vec of l×n matrices and P =
// diag(√w). With weights 0 and 1 it is the principal submatrix of A + Mu·I on Ω. Iterates of conjugate gradients that
// start at 0 outside Ω stay 0 there. A product costs one with A.
type Mask struct {
	A     Operator // of order l·n
	Cells *Cells
	Mu    float64

	work par.Free[maskWork]
}

// maskWork is as many floats as the block that is multiplied.
type maskWork struct{ X blas.General }

// Dim is l·n.
func (m *Mask) Dim() int { return m.A.Dim() }

// Apply computes dst = P·A·P·x + Mu·x on Ω.
func (m *Mask) Apply(dst, x blas.General) {
	if m.A.Dim() != len(m.Cells.root) {
		panic("linop: Mask: the operator and the cells have different sizes")
	}
	checkBlocks(m.Dim(), dst, x)
	w := m.work.Take()
	w.X = blas.Reshape(w.X, x.Rows, x.Cols)
	for i, root := range m.Cells.root {
		to := blas.Row(w.X, i)
		if root == 0 {
			clear(to)
			continue
		}
		for j, v := range blas.Row(x, i) {
			to[j] = root * v
		}
	}
	m.A.Apply(dst, w.X)
	for i, root := range m.Cells.root {
		out := blas.Row(dst, i)
		if root == 0 {
			clear(out)
			continue
		}
		for j, v := range blas.Row(x, i) {
			out[j] = root*out[j] + m.Mu*v
		}
	}
	m.work.Put(w)
}
