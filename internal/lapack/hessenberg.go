// This file reduces square matrices to Hessenberg form.

package lapack

// hessenbergBlock is the number of columns reduced between two updates.
const hessenbergBlock = 32

// Hessenberg overwrites the square a by the upper Hessenberg H of a = q·H·qᵀ and
// q by the orthogonal factor. Panel by panel, with the reflections of the panel
// in compact form P = I − Vᵀ·T·V and Y = a·Vᵀ·T gathered on the way for the rows
// below the panel's first, these rows of the rest are
//
//	a ← Pᵀ·(a − Y·V)
//
// and the rows above are a·P.
// Scratch: n² + 4·n·hessenbergBlock floats.
func (impl Implementation) Hessenberg(a, q matrix) {
	n := order(a)
	vectors, tau := zeros(n, n), make([]float64, n)
	Y, T := zeros(n, hessenbergBlock), zeros(hessenbergBlock, hessenbergBlock)
	w := make([]float64, hessenbergBlock*n)
	for i := 0; i < n-2; i += hessenbergBlock {
		b := min(hessenbergBlock, n-2-i)
		p := hessenbergPanel{
			a: a, V: view(vectors, i, i+1, b, n-i-1), T: view(T, 0, 0, b, b), Y: view(Y, 0, 0, n-i-1, b), first: i,
		}
		for j := range b {
			impl.hessenbergColumn(p, j, tau)
		}
		h, rest := block{p.V, p.T}, view(a, i+1, i+b, n-i-1, n-i-b)
		impl.applyRight(h, false, view(a, 0, i+1, i+1, n-i-1), w)
		impl.gemm(nt, nt, -1, p.Y, view(p.V, 0, b-1, b, rest.Cols), 1, rest)
		impl.apply(h, true, rest, w)
	}
	impl.accumulate(q, vectors, tau, w)
}

// hessenbergPanel is the panel of columns from first on: the rows of V are the
// vectors, which start at row first+1 of a; Y = a[first+1:,first+1:]·Vᵀ·T.
type hessenbergPanel struct {
	a, V, T, Y matrix
	first      int
}

// hessenbergColumn brings column first+j up to date and reduces it.
func (impl Implementation) hessenbergColumn(p hessenbergPanel, j int, tau []float64) {
	n, c := p.Y.Rows, p.first+j
	column := p.a.Data[(p.first+1)*p.a.Stride+c:]
	below, t := make([]float64, n), make([]float64, j)
	for i := range below {
		below[i] = column[i*p.a.Stride]
	}
	if j > 0 {
		// a ← a − Y·V on this column (V[:,c] is at c−first−1), then from the left by Pᵀ.
		for k := range t {
			t[k] = p.V.Data[k*p.V.Stride+j-1]
		}
		impl.bl.Dgemv(nt, n, j, -1, p.Y.Data, p.Y.Stride, t, 1, 1, below, 1)
		impl.bl.Dgemv(nt, j, n, 1, p.V.Data, p.V.Stride, below, 1, 0, t, 1)
		for k := j - 1; k >= 0; k-- { // t ← Tᵀ·t
			s := 0.0
			for i := range k + 1 {
				s += p.T.Data[i*p.T.Stride+k] * t[i]
			}
			t[k] = s
		}
		impl.bl.Dgemv(tr, j, n, -1, p.V.Data, p.V.Stride, t, 1, 1, below, 1)
	}
	x := below[j:]
	beta, factor := reflector(x[0], x[1:])
	tau[c] = factor
	v := row(p.V, j)
	clear(v[:j])
	v[j] = 1
	copy(v[j+1:], x[1:])
	x[0] = beta
	clear(x[1:])
	for i, v := range below {
		column[i*p.a.Stride] = v
	}
	impl.extendPanel(p, j, factor, t)
}

// extendPanel computes column j of T and of Y:
//
//	T[:j,j] = −tau·T·V[:j]·v,   Y[:,j] = tau·(a·v − Y[:,:j]·(V[:j]·v))
func (impl Implementation) extendPanel(p hessenbergPanel, j int, tau float64, t []float64) {
	n := p.Y.Rows
	v, y := row(p.V, j), make([]float64, n)
	right := p.a.Data[(p.first+1)*p.a.Stride+p.first+1+j:]
	impl.bl.Dgemv(nt, n, len(v)-j, tau, right, p.a.Stride, v[j:], 1, 0, y, 1)
	if j > 0 {
		impl.bl.Dgemv(nt, j, len(v), 1, p.V.Data, p.V.Stride, v, 1, 0, t, 1)
		impl.bl.Dgemv(nt, n, j, -tau, p.Y.Data, p.Y.Stride, t, 1, 1, y, 1)
	}
	for i, yi := range y {
		p.Y.Data[i*p.Y.Stride+j] = yi
	}
	for i := range j {
		var s float64
		for k := i; k < j; k++ {
			s += p.T.Data[i*p.T.Stride+k] * t[k]
		}
		p.T.Data[i*p.T.Stride+j] = -tau * s
		p.T.Data[j*p.T.Stride+i] = 0
	}
	p.T.Data[j*p.T.Stride+j] = tau
}

// accumulate forms q = H_0·H_1⋯ from the vectors.
func (impl Implementation) accumulate(q, vectors matrix, tau, w []float64) {
	n := q.Rows
	for i := range n {
		clear(row(q, i))
		q.Data[i*q.Stride+i] = 1
	}
	T, gram := zeros(hessenbergBlock, hessenbergBlock), zeros(hessenbergBlock, hessenbergBlock)
	last := max(n-3, -1) / hessenbergBlock * hessenbergBlock
	for i := last; n > 2 && i >= 0; i -= hessenbergBlock {
		b := min(hessenbergBlock, n-2-i)
		V := view(vectors, i, i+1, b, n-i-1)
		h := impl.newBlock(V, tau[i:i+b], view(T, 0, 0, b, b), gram)
		impl.apply(h, false, view(q, i+1, i+1, n-i-1, n-i-1), w)
	}
}
