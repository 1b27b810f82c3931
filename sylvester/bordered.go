package sylvester

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/par"
	"github.com/iokl/iokl/linop"
)

// Bordered is the system K·C·L + μ·C = Y of rows that have arrived at l first rows, or left them. The kernel matrix of
// the first rows, K_B = T·diag(σ)·Tᵀ, is decomposed once. An arriving row adds an unknown row of C and an equation; a
// leaving row adds the condition that its row of C is 0, and the multiplier z of that condition to its equation. In the
// b-th eigenvector of L, with s = μ/ρ_b, the unknowns w of this border of k elements solve
//
//	(J + s·R − NᵀA⁻¹N)·w = g − NᵀA⁻¹ỹ_B/ρ_b,   A = K_B + sI,   c̃_B = A⁻¹(ỹ_B/ρ_b − N·w),
//
// where a column of N is K between the first rows and one that arrives, or the unit vector of one that leaves, J holds
// K among arriving rows and 1 between one and its own leaving, and R marks arriving rows. The matrix is quasi-definite:
// it has a factorization L·D·Lᵀ in any order, D > 0 for arriving rows and D < 0 for leaving ones, to which an element
// adds a row (mathematics.md §16).
//
// An element costs 2l² flops for Tᵀ·N, none for a first row that leaves, and k·l for every eigenvalue of L; a solve
// 4l²n flops. Memory: l² floats, which all that is derived shares, and k·l. A Bordered never changes: [Bordered.Add]
// and [Bordered.Remove] return others, and may be called from several goroutines.
type Bordered struct {
	be       blas.Backend
	dec      *Decomposition
	y        blas.General // TᵀY of the first rows
	first    blas.General // their Y
	rows     []int        // the present rows in order: first rows, and l + the number of an element
	elements []element
	known    *borders
}

// borders are the factors of the border, or of its beginning, for each s that was solved for.
type borders struct {
	mutex sync.Mutex
	of    map[float64]border
}

// element is a row that has arrived, or one that has left.
type element struct {
	arrived bool
	t       []float64 // Tᵀ·N, l; nil for 0
	j       []float64 // J up to the diagonal
	y       []float64 // the targets of the row, n
}

// NewBordered is the system of l rows with targets Y (l×n) and the decomposition of their K. It keeps both.
func NewBordered(dec *Decomposition, Y blas.General, be blas.Backend) *Bordered {
	b := &Bordered{
		be: blas.Or(be), dec: dec, first: Y, y: blas.NewGeneral(len(dec.Sigma), Y.Cols),
		known: &borders{of: map[float64]border{}},
	}
	blas.Mul(b.be, b.y, true, false, dec.T, Y)
	for i := range Y.Rows {
		b.rows = append(b.rows, i)
	}
	return b
}

// Elements is k, the size of the border.
func (b *Bordered) Elements() int { return len(b.elements) }

// with is b with another element and other rows.
func (b *Bordered) with(e element, rows []int) *Bordered {
	c := *b
	c.elements, c.rows = append(slices.Clip(b.elements), e), rows
	b.known.mutex.Lock()
	defer b.known.mutex.Unlock()
	c.known = &borders{of: maps.Clone(b.known.of)}
	return &c
}

// Add is the system with more rows, of the targets Y (m×n). first (m×l) holds their kernel values with the l first
// rows, those that have left too, and arrived those with the rows that were added, in order and those that have left
// too, and with each other.
func (b *Bordered) Add(first, arrived, Y blas.General) *Bordered {
	N := blas.NewGeneral(Y.Rows, len(b.dec.Sigma))
	if first.Rows == 1 { // reads T once, and packs nothing
		b.be.Dgemv(blas.Trans, N.Cols, N.Cols, 1, b.dec.T.Data, b.dec.T.Stride, first.Data, 1, 0, N.Data, 1)
	} else {
		blas.Mul(b.be, N, false, false, first, b.dec.T)
	}
	for i := range Y.Rows {
		e, at := element{arrived: true, t: blas.Row(N, i), y: slices.Clone(blas.Row(Y, i))}, 0
		for k := range len(b.elements) + 1 {
			v := 0.0
			if k == len(b.elements) || b.elements[k].arrived {
				v = blas.Row(arrived, i)[at]
				at++
			}
			e.j = append(e.j, v)
		}
		b = b.with(e, append(slices.Clip(b.rows), b.first.Rows+len(b.elements)))
	}
	return b
}

// Remove is the system without the present row i.
func (b *Bordered) Remove(i int) *Bordered {
	row, e := b.rows[i], element{j: make([]float64, len(b.elements)+1)}
	if l := b.first.Rows; row < l {
		e.t, e.y = blas.Row(b.dec.T, row), blas.Row(b.first, row)
	} else {
		e.j[row-l], e.y = 1, b.elements[row-l].y
	}
	return b.with(e, slices.Delete(slices.Clone(b.rows), i, i+1))
}

// border is L·D·Lᵀ of the border's matrix for one s.
type border struct {
	rows [][]float64 // of L, without its diagonal of ones
	d    []float64
}

// factor factors the matrix for s, from what is known of it on.
func (b *Bordered) factor(ctx context.Context, s float64) (f border, err error) {
	b.known.mutex.Lock()
	f = b.known.of[s]
	b.known.mutex.Unlock()
	f.rows, f.d = slices.Clip(f.rows), slices.Clip(f.d)
	over := make([]float64, len(b.dec.Sigma))
	for k := len(f.d); k < len(b.elements); k++ {
		if err := ctx.Err(); err != nil {
			return f, err
		}
		e := &b.elements[k]
		for a, t := range e.t {
			over[a] = t / (b.dec.Sigma[a] + s)
		}
		v := make([]float64, k+1)
		for i := range v {
			v[i] = e.j[i]
			if t := b.elements[i].t; e.t != nil && t != nil {
				v[i] -= blas.Dot(t, over)
			}
		}
		if e.arrived {
			v[k] += s
		}
		for i := range k {
			v[i] -= blas.Dot(f.rows[i], v[:i])
		}
		d := v[k]
		for i, w := range v[:k] {
			v[i] = w / f.d[i]
			d -= w * v[i]
		}
		if !(d > 0) && e.arrived || !(d < 0) && !e.arrived {
			return f, notPositive(d, "element %d of the border has pivot %g", k, d)
		}
		f.rows, f.d = append(f.rows, v[:k]), append(f.d, d)
	}
	b.known.mutex.Lock()
	b.known.of[s] = f
	b.known.mutex.Unlock()
	return f, nil
}

// solve overwrites w by the solution.
func (f *border) solve(w []float64) {
	for k, row := range f.rows {
		w[k] -= blas.Dot(row, w[:k])
	}
	for k, d := range f.d {
		w[k] /= d
	}
	for k := len(f.rows) - 1; k >= 0; k-- {
		blas.Axpy(-w[k], f.rows[k], w[:k])
	}
}

// Name is bordered.
func (b *Bordered) Name() string { return "bordered" }

// Invalidate does nothing: a Bordered belongs to one K.
func (b *Bordered) Invalidate() {}

// of is b for targets Y of the present rows, which are combinations of those of b. Targets of rows that have left are
// 0: the multipliers of their conditions, which nothing depends on, make up for what they are.
func (b *Bordered) of(Y blas.General) *Bordered {
	c := *b
	c.first, c.y = blas.NewGeneral(b.first.Rows, Y.Cols), blas.NewGeneral(b.y.Rows, Y.Cols)
	c.elements = slices.Clone(b.elements)
	for k := range c.elements {
		c.elements[k].y = make([]float64, Y.Cols)
	}
	for i, row := range b.rows {
		if row < c.first.Rows {
			copy(blas.Row(c.first, row), blas.Row(Y, i))
		} else {
			c.elements[row-c.first.Rows].y = blas.Row(Y, i)
		}
	}
	blas.Mul(b.be, c.y, true, false, b.dec.T, c.first)
	return &c
}

// Solve is that of a [Solver] for the present rows. It reads neither C nor sys.K, and Y where its columns are fewer
// combinations of the targets, which then have 2l² more flops each. sys.Cells is nil. The residual is that of the
// system with T·diag(σ)·Tᵀ in the place of K between first rows.
func (b *Bordered) Solve(ctx context.Context, C blas.General, sys System, Y blas.General, opt Options) (Result, error) {
	if sys.Cells != nil {
		panic("sylvester: a bordered system with cells")
	}
	if Y.Cols != b.first.Cols {
		b = b.of(Y)
	}
	res := Result{Solver: b.Name(), Residual: math.NaN()}
	l, n, k := len(b.dec.Sigma), b.first.Cols, len(b.elements)
	if C.Rows != len(b.rows) || C.Cols != n || sys.L.Dim() != n {
		panic("sylvester: shape mismatch")
	}
	if err := cmp.Or(opt.check(), checkSystem(sys.L, sys.Mu, blas.Frob(Y))); err != nil {
		return res, err
	}
	if sys.L.Rank() > 0 && l > 0 {
		if err := bounded(slices.Max(b.dec.Sigma)*sys.L.S[0] + sys.Mu); err != nil {
			return res, err
		}
	}
	opt = opt.filled()
	lost := func(rho float64) bool { return !finite(sys.Mu / rho) } // C is Y/μ there
	if r := slices.IndexFunc(sys.L.S, lost); r >= 0 {
		sys.L = &linop.Spectral{V: blas.View(sys.L.V, 0, 0, n, r), S: sys.L.S[:r]}
	}
	in, w := blas.NewGeneral(l, n), blas.NewGeneral(k, n) // c_B in T's coordinates, and w
	if sys.L.Rank() < n {
		b.outside(in, w, sys)
	}
	if err := b.along(ctx, in, w, sys); err != nil {
		return res, err
	}
	// [C_B K_BC] = T·[in, diag(σ)·in + N·w], of arriving rows
	both := blas.NewGeneral(l, 2*n)
	for a, sigma := range b.dec.Sigma {
		row := blas.Row(both, a)
		copy(row, blas.Row(in, a))
		blas.Axpy(sigma, blas.Row(in, a), row[n:])
	}
	for e := range b.elements {
		if b.elements[e].arrived {
			addOuter(blas.View(both, 0, n, l, n), 1, b.elements[e].t, blas.Row(w, e))
		}
	}
	first := blas.Product(b.be, false, false, b.dec.T, both)
	res.KC, res.Iter, res.Columns = blas.NewGeneral(len(b.rows), n), 1, n
	Y = blas.NewGeneral(len(b.rows), n)
	for i, row := range b.rows {
		if row < b.first.Rows {
			copy(blas.Row(C, i), blas.Row(first, row)[:n])
			copy(blas.Row(res.KC, i), blas.Row(first, row)[n:])
			copy(blas.Row(Y, i), blas.Row(b.first, row))
			continue
		}
		e := row - b.first.Rows
		copy(blas.Row(C, i), blas.Row(w, e))
		copy(blas.Row(Y, i), b.elements[e].y)
		b.product(blas.Row(res.KC, i), e, in, w)
	}
	R := blas.Like(C)
	sys.L.MulRight(b.be, R, res.KC)
	blas.AddScaled(R, sys.Mu, C)
	blas.AddScaled(R, -1, Y)
	res.Residual = relative(blas.Frob(R), blas.Frob(Y))
	if !(res.Residual <= opt.Tol) {
		return res, notConverged(&res, opt.Tol)
	}
	return res, nil
}

// along adds to in and w the solution along the eigenvectors of L.
func (b *Bordered) along(ctx context.Context, in, w blas.General, sys System) error {
	r, k := sys.L.Rank(), len(b.elements)
	if r == 0 {
		return nil
	}
	rotated, border := blas.NewGeneral(in.Rows, r), blas.NewGeneral(k, r)
	sys.L.Rotate(b.be, rotated, b.y)
	fail := make([]error, r)
	par.For(r, func(c int) { fail[c] = b.column(ctx, rotated, border, sys, c) })
	if err := cmp.Or(fail...); err != nil {
		return err
	}
	blas.Gemm(b.be, false, true, 1, rotated, sys.L.V, 1, in)
	blas.Gemm(b.be, false, true, 1, border, sys.L.V, 1, w)
	return nil
}

// column solves along eigenvector c of L: rotated and border hold the right side of the first rows, and get c̃ and w.
func (b *Bordered) column(ctx context.Context, rotated, border blas.General, sys System, c int) error {
	rho := sys.L.S[c]
	s := sys.Mu / rho
	f, err := b.factor(ctx, s)
	if err != nil {
		return err
	}
	x := make([]float64, rotated.Rows)
	for a := range x {
		x[a] = rotated.Data[a*rotated.Stride+c] / rho
	}
	solved := slices.Clone(x)
	for a, sigma := range b.dec.Sigma {
		if !(sigma+s > 0) {
			return notPositive(sigma+s, "an eigenvalue of K is %g", sigma)
		}
		solved[a] /= sigma + s
	}
	w := make([]float64, len(b.elements))
	for k, e := range b.elements {
		if e.arrived {
			for j, y := range e.y {
				w[k] += y * sys.L.V.Data[j*sys.L.V.Stride+c] / rho
			}
		}
		if e.t != nil {
			w[k] -= blas.Dot(e.t, solved)
		}
	}
	f.solve(w)
	for k, e := range b.elements {
		if e.t != nil {
			blas.Axpy(-w[k], e.t, x)
		}
		border.Data[k*border.Stride+c] = w[k]
	}
	for a, sigma := range b.dec.Sigma {
		rotated.Data[a*rotated.Stride+c] = x[a] / (sigma + s)
	}
	return nil
}

// outside writes to in and w the part of C = Y/μ outside the range of L.
func (b *Bordered) outside(in, w blas.General, sys System) {
	blas.Copy(in, b.y)
	for k, e := range b.elements {
		switch {
		case e.arrived:
			copy(blas.Row(w, k), e.y)
		case e.t != nil:
			addOuter(in, -1, e.t, e.y)
		default:
			clear(blas.Row(w, slices.Index(e.j, 1)))
		}
	}
	for _, a := range []blas.General{in, w} {
		P := blas.Product(b.be, false, false, a, sys.L.V)
		blas.Gemm(b.be, false, true, -1, P, sys.L.V, 1, a)
		blas.Scal(1/sys.Mu, a.Data)
	}
}

// product writes the row of K·C of the arrived element e.
func (b *Bordered) product(dst []float64, e int, in, w blas.General) {
	clear(dst)
	for a, t := range b.elements[e].t {
		blas.Axpy(t, blas.Row(in, a), dst)
	}
	for f := range b.elements {
		if !b.elements[f].arrived {
			continue
		}
		i, j := max(e, f), min(e, f)
		blas.Axpy(b.elements[i].j[j], blas.Row(w, f), dst)
	}
}

// addOuter adds alpha·x·yᵀ to A.
func addOuter(A blas.General, alpha float64, x, y []float64) {
	for i, v := range x {
		blas.Axpy(alpha*v, y, blas.Row(A, i))
	}
}

var _ Solver = (*Bordered)(nil)
