// This file reduces matrices to bidiagonal form, for singular values.

package lapack

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
	T, gram, w := zeros(size, size), zeros(size, size), make([]float64, c.Rows*size)
	for i := (n - 1) / size * size; i >= 0; i -= size {
		b := min(size, n-i)
		V := view(vectors, i, i+shift, b, n-i)
		h := impl.newBlock(V, tau[i:i+b], view(T, 0, 0, b, b), gram)
		impl.applyRight(h, true, view(c, 0, i+shift, c.Rows, n-i), w)
	}
}
