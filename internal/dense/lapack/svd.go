// Singular value decompositions, by way of bidiagonal matrices.

package lapack

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/gonum"
)

const (
	svdLeaf    = 64 // order up to which the QR iteration of gonum serves the core
	bisectLeaf = 8  // order up to which it serves blocks of a bidiagonal matrix
)

// SVD computes the singular value decomposition a = u·diag(s)·vt of an m×n matrix,
// which is destroyed; with k = min(m,n), u is m×k or m×m, vt is k×n or n×n, and s
// descends. An empty u or vt is not wanted; without both, singular values are all
// it computes. A rectangular matrix is first reduced to its
// triangular factor, of order k; that is made bidiagonal. Errors are of the order
// of k roundings of ‖a‖ in u·diag(s)·vt, of 1 in uᵀ·u and v·vᵀ.
// Scratch: about 8k² + 3mn floats.
func (impl Implementation) SVD(a matrix, s []float64, u, vt matrix) error {
	m, n := a.Rows, a.Cols
	if m == 0 || n == 0 {
		return nil
	}
	for i := range m {
		if !finite(row(a, i)) {
			return fmt.Errorf("%w: %d×%d matrix has elements that are not finite", ErrNoConvergence, m, n)
		}
	}
	if m < n {
		ut, v := zeros(u.Cols, u.Rows), zeros(vt.Cols, vt.Rows)
		if err := impl.SVD(transposed(a), s, v, ut); err != nil {
			return err
		}
		transpose(u, ut)
		transpose(vt, v)
		return nil
	}
	r, tau := a, make([]float64, n)
	if m > n {
		impl.Geqrf(a, tau)
		r = zeros(n, n)
		upperTriangle(r, a)
	}
	if u.Rows == 0 && vt.Rows == 0 {
		return impl.singularValues(r, s)
	}
	if u.Rows == 0 {
		u = zeros(n, n)
	}
	if vt.Rows == 0 {
		vt = zeros(n, n)
	}
	if err := impl.squareSVD(r, s, view(u, 0, 0, n, n), vt); err != nil || u.Rows == n {
		return err
	}
	identityColumns(view(u, 0, n, u.Rows, u.Cols-n), n, u.Cols-n)
	for i := n; i < u.Rows; i++ {
		clear(row(u, i)[:n])
	}
	impl.Ormqr(blas.Left, false, a, tau, u)
	return nil
}

// singularValues computes the singular values of the square a, which is destroyed.
func (impl Implementation) singularValues(a matrix, s []float64) error {
	n := a.Rows
	exp := normalize(a)
	b := impl.bidiagonalize(a)
	copy(s, b.d)
	if !(gonum.Implementation{}).Dbdsqr(blas.Upper, n, 0, 0, 0, s, b.e[:n-1], nil, 1, nil, 1, nil, 1,
		make([]float64, 4*n)) {
		return fmt.Errorf("%w: singular values of order %d", ErrNoConvergence, n)
	}
	scaleBy(exp, s[:n])
	return nil
}

// squareSVD is SVD of a square a, by way of an upper bidiagonal B where it is not small.
func (impl Implementation) squareSVD(a matrix, s []float64, u, vt matrix) error {
	n := a.Rows
	if n <= svdLeaf {
		var size [1]float64
		call := func(work []float64, lwork int) bool {
			return gonum.Implementation{}.Dgesvd(lapack.SVDStore, lapack.SVDStore, n, n, a.Data, a.Stride, s, u.Data,
				u.Stride, vt.Data, vt.Stride, work, lwork)
		}
		call(size[:], -1)
		if !call(make([]float64, int(size[0])), int(size[0])) {
			return fmt.Errorf("%w: singular values of order %d", ErrNoConvergence, n)
		}
		return nil
	}
	exp := normalize(a)
	b := impl.bidiagonalize(a)
	U, V := zeros(n, n), zeros(n, n) // singular vectors as rows
	c := newCuppen(impl, n)
	c.left = make([]float64, n*n)
	if !finite(b.d, b.e) || !c.bisect(b.d, b.e[:n-1], U, V) {
		return fmt.Errorf("%w: singular values of order %d", ErrNoConvergence, n)
	}
	impl.timesTransposed(U, b.left, b.tauLeft, 0)
	impl.timesTransposed(V, b.right, b.tauRight, 1)
	slices.Reverse(c.order)
	columnsFromRows(u, U, c.order)
	for j, r := range c.order {
		s[j] = b.d[r]
		copy(row(vt, j), row(V, r))
	}
	scaleBy(exp, s[:n])
	return nil
}

// bisect computes the singular value decomposition of the upper bidiagonal matrix B with diagonal
// d and superdiagonal e by divide and conquer (Gu and Eisenstat, SIAM J. Matrix Anal.
// Appl. 16, 1995). Rows r of U and V, zero at entry, become the left and right
// singular vectors of d[r]; c.order lists them in ascending order. e is destroyed. Matrices
// of elements below leastScale count as zero.
//
// With row m of B taken out, blocks B₁ and B₂ remain on the diagonal. The last row of B₁ is zero:
// the last unit vector is the left vector of one of its singular values, which are 0, and B is
//
//	diag(B₁,B₂) + e_m·(d_m·e_m + e_m·e_{m+1})ᵀ
//
// In the vectors of B₁ and B₂ that is diag(d) with z in its row of that singular value: the roots
// of 1 + Σ z_j²/(d_j² − σ²) are its singular values.
func (c cuppen) bisect(d, e []float64, U, V matrix) bool {
	n := len(d)
	if n <= bisectLeaf {
		return c.bidiagonalLeaf(d, e, U, V)
	}
	m := n / 2
	diagonal, above := d[m-1], e[m-1]
	d[m-1] = 0
	if !c.halves(n, m, func(c cuppen, lo, hi int) bool {
		return c.bisect(d[lo:hi], e[lo:hi-1], view(U, lo, lo, hi-lo, hi-lo), view(V, lo, lo, hi-lo, hi-lo))
	}) {
		return false
	}
	null := 0
	for r := range n {
		if r >= m {
			c.z[r] = above * V.Data[r*V.Stride+m]
			continue
		}
		c.z[r] = diagonal * V.Data[r*V.Stride+m-1]
		if U.Data[r*U.Stride+m-1] != 0 {
			null = r // of a unit vector up to its sign; all others are exactly 0 there
			U.Data[r*U.Stride+m-1] = 1
		}
	}
	d[null] = 0
	return c.merge(d, m, 1, null, V, U)
}

// bidiagonalLeaf is bisect by QR iterations, which keep the left vector of a last row of zeros.
func (c cuppen) bidiagonalLeaf(d, e []float64, U, V matrix) bool {
	n := len(d)
	for i := range n {
		U.Data[i*U.Stride+i], V.Data[i*V.Stride+i] = 1, 1
		c.order[i] = n - 1 - i
	}
	return gonum.Implementation{}.Dbdsqr(blas.Upper, n, n, 0, n, d, e, V.Data, V.Stride, nil, 1, U.Data, U.Stride,
		make([]float64, 4*n))
}

// bidiagonalBlock is the number of columns and rows reduced between two updates.
const bidiagonalBlock = 32

// bidiagonal is an upper bidiagonal B with A = Q·B·Pᵀ: its diagonal d and
// superdiagonal e, and the reflections of which Q and P are products. The rows of
// left hold the vectors of Q from their diagonal element on, which is 1, those of
// right the vectors of P from the element right of it.
type bidiagonal struct {
	d, e              []float64
	left, right       matrix
	tauLeft, tauRight []float64
}

// bidiagonalize destroys the square a. Within a panel of b columns and rows the
// rest stays as it is, and what the reflections make of it is
//
//	A − Vᵀ·Y − Xᵀ·U
//
// with their vectors as the rows of V and U: half of the 8/3·n³ operations are
// two products of the rest with a vector for each column, half one product of
// matrices for each panel.
func (impl Implementation) bidiagonalize(a matrix) bidiagonal {
	n := a.Rows
	b := bidiagonal{
		d: make([]float64, n), e: make([]float64, n), left: zeros(n, n), right: zeros(n, n),
		tauLeft: make([]float64, n), tauRight: make([]float64, n),
	}
	const rows = bidiagonalBlock
	// What multiplies from the left and from the right, stacked: V over X, Y over U.
	L, R := zeros(2*rows, n), zeros(2*rows, n)
	w := make([]float64, 4*rows)
	for i0 := 0; i0 < n; i0 += rows {
		size := min(rows, n-i0)
		p := bidiagonalPanel{
			impl: impl, a: a, out: &b, first: i0, L: view(L, 0, 0, 2*size, n), R: view(R, 0, 0, 2*size, n), w: w,
		}
		for j := range size {
			p.column(j)
			p.row(j)
		}
		if i := i0 + size; i < n {
			impl.gemm(tr, nt, -1, view(L, 0, i, 2*size, n-i), view(R, 0, i, 2*size, n-i), 1, view(a, i, i, n-i, n-i))
		}
	}
	return b
}

// bidiagonalPanel is a panel under way: row 2j of L and R holds v_j and y_j, row
// 2j+1 x_j and u_j.
type bidiagonalPanel struct {
	impl  Implementation
	a     matrix
	out   *bidiagonal
	first int
	L, R  matrix
	w     []float64
}

// column brings column first+j up to date, makes its reflection, and y_j.
func (p *bidiagonalPanel) column(j int) {
	n, i := p.a.Rows, p.first+j
	v := row(p.out.left, i)[i:]
	for k := range v {
		v[k] = p.a.Data[(i+k)*p.a.Stride+i]
	}
	c := p.w[:2*j]
	for k := range c {
		c[k] = p.R.Data[k*n+i]
	}
	p.less(p.L, i, c, v)
	p.out.d[i], p.out.tauLeft[i] = reflector(v[0], v[1:])
	v[0] = 1
	clear(row(p.L, 2*j)[:i])
	copy(row(p.L, 2*j)[i:], v)
	y := row(p.R, 2*j)
	clear(y[:i+1])
	if m := n - i - 1; m > 0 {
		p.impl.bl.Dgemv(tr, n-i, m, 1, p.a.Data[i*p.a.Stride+i+1:], p.a.Stride, v, 1, 0, y[i+1:], 1)
		p.products(p.L, i, v, c)
		p.less(p.R, i+1, c, y[i+1:])
		scal(p.out.tauLeft[i], y)
	}
}

// row does the same for row first+j, and makes x_j.
func (p *bidiagonalPanel) row(j int) {
	n, i := p.a.Rows, p.first+j
	x, u := row(p.L, 2*j+1), row(p.R, 2*j+1)
	clear(x[:i+1])
	clear(u[:i+1])
	m := n - i - 1
	if m == 0 {
		return
	}
	r := row(p.out.right, i)[i+1:]
	copy(r, row(p.a, i)[i+1:])
	c := p.w[:2*j+1]
	for k := range c {
		c[k] = p.L.Data[k*n+i]
	}
	p.less(p.R, i+1, c, r)
	p.out.e[i], p.out.tauRight[i] = reflector(r[0], r[1:])
	r[0] = 1
	copy(u[i+1:], r)
	p.impl.bl.Dgemv(nt, m, m, 1, p.a.Data[(i+1)*p.a.Stride+i+1:], p.a.Stride, r, 1, 0, x[i+1:], 1)
	p.products(p.R, i+1, r, c)
	p.less(p.L, i+1, c, x[i+1:])
	scal(p.out.tauRight[i], x)
}

// less subtracts Mᵀ·c, from column first of the rows of M that c has, from dst.
func (p *bidiagonalPanel) less(M matrix, first int, c, dst []float64) {
	if len(c) > 0 {
		p.impl.bl.Dgemv(tr, len(c), len(dst), -1, M.Data[first:], M.Stride, c, 1, 1, dst, 1)
	}
}

// products computes c = M·x, of the columns from first on.
func (p *bidiagonalPanel) products(M matrix, first int, x, c []float64) {
	if len(c) > 0 {
		p.impl.bl.Dgemv(nt, len(c), len(x), 1, M.Data[first:], M.Stride, x, 1, 0, c, 1)
	}
}

// timesTransposed overwrites c by c·Qᵀ, with Q the product of the reflections
// whose vectors are the rows of vectors, from shift right of the diagonal on.
func (impl Implementation) timesTransposed(c, vectors matrix, tau []float64, shift int) {
	n := vectors.Rows - shift
	size := min(applyBlock(n), n)
	w := make([]float64, c.Rows*size)
	work := make([]float64, size*(vectors.Rows+2*size))
	impl.eachRowBlock(vectors, tau[:n], shift, size, true, work, func(h block, first int) {
		impl.applyRight(h, true, view(c, 0, first, c.Rows, vectors.Rows-first), w)
	})
}
