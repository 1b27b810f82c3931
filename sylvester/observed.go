package sylvester

import (
	"context"
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/internal/base/par"
	"github.com/iokl/iokl/linop"
)

// cellMatrix is √w_ij·K_ii′·L_jj′·√w_i′j′ of the observed cells, whose elements are computed when asked for.
type cellMatrix struct {
	K, L blas.General // K without Data where it is to be formed
	i, j []int        // row and column of every observed cell
	root []float64    // √w of these
	out  blas.General // n×|Ω|: L between an output and that of every observed cell, times √w
}

// set is for the cells of a system.
func (c *cellMatrix) set(ctx context.Context, be blas.Backend, sys System, cells *linop.Cells) error {
	l, n := cells.Dims()
	if c.K.Rows != l {
		K := blas.NewGeneral(l, l)
		if err := dense(ctx, K, sys.K); err != nil {
			return err
		}
		c.K = K
	}
	c.L = blas.NewGeneral(n, n)
	sys.L.Dense(be, c.L)
	c.i, c.j, c.root = c.i[:0], c.j[:0], c.root[:0]
	cells.Each(func(i, j int, root float64) {
		c.i, c.j, c.root = append(c.i, i), append(c.j, j), append(c.root, root)
	})
	c.between()
	return nil
}

// between fills in out.
func (c *cellMatrix) between() {
	c.out = blas.Reshape(c.out, c.L.Rows, len(c.i))
	for j := range c.out.Rows {
		out, L := blas.Row(c.out, j), blas.Row(c.L, j)
		for b, root := range c.root {
			out[b] = root * L[c.j[b]]
		}
	}
}

// element writes the elements between a cell of another matrix of the same K and L, and the first cells of c.
func (c *cellMatrix) element(other *cellMatrix, a int, dst []float64) {
	k, out, root := blas.Row(c.K, other.i[a]), blas.Row(c.out, other.j[a])[:len(dst)], other.root[a]
	for b, i := range c.i[:len(dst)] {
		dst[b] = root * k[i] * out[b]
	}
}

// gather and scatter copy the observed cells of an l×n matrix to a column and back; the others become 0.
func (c *cellMatrix) gather(dst []float64, x blas.General) {
	for a, i := range c.i {
		dst[a] = x.Data[i*x.Stride+c.j[a]]
	}
}

func (c *cellMatrix) scatter(x blas.General, src []float64) {
	blas.Zero(x)
	for a, i := range c.i {
		x.Data[i*x.Stride+c.j[a]] = src[a]
	}
}

// observedFactor is what [Factor] returns, in memory that it keeps: with an eighth more rows where they are more than
// in a call before.
type observedFactor struct {
	cellMatrix
	be     blas.Backend
	factor blas.General
	mu     float64
	v      blas.General
}

// Factor is the inverse of the matrix of the observed cells Ω of sys, √w_ij·K_ii′·L_jj′·√w_i′j′ + μ·[i = i′, j = j′],
// on the row-major vec of l×n matrices, one column at a time: 0 outside Ω. It is by Cholesky's factor: |Ω|³/3 flops,
// and 2|Ω|² for each product. Memory: |Ω|² + l² + n·|Ω| + n² floats. The error is that of a [Solver] for a matrix
// that is not positive definite or finite, of a limit of memory, or of ctx.
func Factor(ctx context.Context, be blas.Backend, sys System) (linop.Operator, error) {
	o := new(observedFactor)
	return o, o.set(ctx, be, sys, sys.Cells)
}

// set computes the factor.
func (o *observedFactor) set(ctx context.Context, be blas.Backend, sys System, cells *linop.Cells) error {
	l, n := cells.Dims()
	N := cells.Count()
	room := N
	if cap(o.factor.Data) > 0 && cap(o.factor.Data) < N*N { // calls before had few cells less
		room += N / 8
	}
	floats := float64(room)*float64(room) + float64(l)*float64(l) + float64(n)*float64(n+N)
	if err := memory.Check("sylvester: a factor for the observed cells", 8*floats, "use the method auto"); err != nil {
		return err
	}
	if err := o.cellMatrix.set(ctx, be, sys, cells); err != nil {
		return err
	}
	o.factor = blas.Reshape(blas.Reshape(o.factor, room, room), N, N)
	o.be, o.mu, o.v = be, math.NaN(), blas.Reshape(o.v, N, 1)
	par.Ranges(N, blas.SymBlock, func(lo, hi int) {
		for a := lo; a < hi; a++ {
			row := blas.Row(o.factor, a)[:a+1]
			o.element(&o.cellMatrix, a, row)
			row[a] += sys.Mu
		}
	})
	if trace := blas.Trace(o.factor); !be.Potrf(o.factor) {
		return notPositive(trace, "the %d×%d matrix of the observed cells, of trace %.3g", N, N, trace)
	}
	o.mu = sys.Mu
	return nil
}

// Dim is l·n.
func (o *observedFactor) Dim() int { return o.K.Rows * o.L.Rows }

// Apply computes dst = A_ΩΩ⁻¹·x on the observed cells and 0 elsewhere, for one column.
func (o *observedFactor) Apply(dst, x blas.General) {
	o.gather(o.v.Data, o.matrix(x))
	blas.Potrs(o.be, o.factor, o.v)
	o.scatter(o.matrix(dst), o.v.Data)
}

// matrix is vec as a matrix.
func (o *observedFactor) matrix(v blas.General) blas.General { return asMatrix(v, o.K.Rows, o.L.Rows) }

// cellBorder solves the system M of cells Ω by Cholesky's factor F of M₀, that of the same K, L and μ for cells Ω₀.
// With the a cells that are new and the d that are gone, those of another weight being both, it is the system
//
//	⎡M₀  B⎤⎡x₀⎤   ⎡y₀⎤
//	⎣Bᵀ  D⎦⎣ z⎦ = ⎣ t⎦,   B = (M_{0,new}, E_gone),   D = diag(M_{new,new}, 0),
//
// whose x₀ is 0 where a cell is gone. With W = F⁻¹B it takes a factor of the k×k
//
//	D − WᵀW = ⎡ A  −Cᵀ⎤,   A = R·Rᵀ,   G + Z·Zᵀ for Z = C·R⁻ᵀ,   k = a + d,
//	          ⎣−C  −G ⎦
//
// where A and G are positive definite, and |Ω₀|²k + |Ω₀|k² + k³/3 flops.
type cellBorder struct {
	o     *observedFactor
	added cellMatrix // the new cells
	gone  []int      // places in Ω₀
	W     blas.General
	schur blas.General // R, Z and the factor of G + Z·Zᵀ, in their places
	v, t  blas.General
	spent float64 // flops since the factor was made
}

// borderShare is the part of a new factor that borders may cost before it is made: it serves the calls that follow.
// Figures in docs/decisions/2026-11-26-kinks.md.
const borderShare = 0.5

// set is for cells, and reports false where borders since the factor was made cost more than the given share of a new
// factor, or rounding leaves no border.
func (b *cellBorder) set(o *observedFactor, cells *linop.Cells, share float64) bool {
	b.o, b.gone = o, b.gone[:0]
	b.added = cellMatrix{K: o.K, L: o.L, i: b.added.i[:0], j: b.added.j[:0], root: b.added.root[:0], out: b.added.out}
	at, N := 0, len(o.i)
	before := func(i, j int) bool { return at < N && (o.i[at] < i || o.i[at] == i && o.j[at] < j) }
	cells.Each(func(i, j int, root float64) {
		for ; before(i, j); at++ {
			b.gone = append(b.gone, at)
		}
		if at < N && o.i[at] == i && o.j[at] == j {
			if at++; o.root[at-1] == root {
				return
			}
			b.gone = append(b.gone, at-1)
		}
		b.added.i, b.added.j, b.added.root = append(b.added.i, i), append(b.added.j, j), append(b.added.root, root)
	})
	for ; at < N; at++ {
		b.gone = append(b.gone, at)
	}
	a, k := len(b.added.i), len(b.added.i)+len(b.gone)
	fN, fk, all := float64(N), float64(k), float64(cells.Count())
	if b.spent += fN*fN*fk + fN*fk*fk + fk*fk*fk/3; b.spent > borderShare*share*all*all*all/3 {
		return false
	}
	if k == 0 {
		return true
	}
	b.added.between()
	b.W = blas.Reshape(b.W, N, k)
	blas.Zero(b.W)
	par.Ranges(N, blas.SymBlock, func(lo, hi int) {
		for p := lo; p < hi; p++ {
			b.added.element(&o.cellMatrix, p, blas.Row(b.W, p)[:a])
		}
	})
	for c, p := range b.gone {
		b.W.Data[p*b.W.Stride+a+c] = 1
	}
	o.be.Dtrsm(blas.Left, blas.Lower, blas.NoTrans, blas.NonUnit, N, k, 1, o.factor.Data, o.factor.Stride,
		b.W.Data, b.W.Stride)
	b.schur = blas.Reshape(b.schur, k, k)
	blas.GramOf(o.be, b.schur, b.W)
	line := make([]float64, a)
	for p := range a {
		b.added.element(&b.added, p, line)
		line[p] += o.mu
		row := blas.Row(b.schur, p)[:a]
		blas.Scal(-1, row)
		blas.Axpy(1, line, row)
	}
	A, Z, G := b.parts()
	if !o.be.Potrf(A) {
		return false
	}
	o.be.Dtrsm(blas.Right, blas.Lower, blas.Trans, blas.NonUnit, k-a, a, 1, A.Data, A.Stride, Z.Data, Z.Stride)
	blas.Gemm(o.be, false, true, 1, Z, Z, 1, G)
	return o.be.Potrf(G)
}

// parts is the places of R, Z and the factor of G + Z·Zᵀ.
func (b *cellBorder) parts() (R, Z, G blas.General) {
	a, d := len(b.added.i), len(b.gone)
	return blas.View(b.schur, 0, 0, a, a), blas.View(b.schur, a, 0, d, a), blas.View(b.schur, a, a, d, d)
}

// Apply computes dst = M⁻¹·x on Ω and 0 elsewhere, for one column.
func (b *cellBorder) Apply(dst, x blas.General) {
	o, N, a := b.o, len(b.o.i), len(b.added.i)
	k := a + len(b.gone)
	if k == 0 {
		o.Apply(dst, x)
		return
	}
	b.v, b.t = blas.Reshape(b.v, N, 1), blas.Reshape(b.t, k, 1)
	o.gather(b.v.Data, o.matrix(x))
	for _, p := range b.gone {
		b.v.Data[p] = 0
	}
	clear(b.t.Data)
	b.added.gather(b.t.Data[:a], o.matrix(x))
	o.be.Dtrsm(blas.Left, blas.Lower, blas.NoTrans, blas.NonUnit, N, 1, 1, o.factor.Data, o.factor.Stride, b.v.Data, 1)
	blas.Gemm(o.be, true, false, -1, b.W, b.v, 1, b.t)
	R, Z, G := b.parts()
	u, w := blas.View(b.t, 0, 0, a, 1), blas.View(b.t, a, 0, k-a, 1)
	o.be.Dtrsm(blas.Left, blas.Lower, blas.NoTrans, blas.NonUnit, a, 1, 1, R.Data, R.Stride, u.Data, 1)
	blas.Gemm(o.be, false, false, -1, Z, u, -1, w)
	blas.Potrs(o.be, G, w)
	blas.Gemm(o.be, true, false, 1, Z, w, 1, u)
	o.be.Dtrsm(blas.Left, blas.Lower, blas.Trans, blas.NonUnit, a, 1, 1, R.Data, R.Stride, u.Data, 1)
	blas.Gemm(o.be, false, false, -1, b.W, b.t, 1, b.v)
	o.be.Dtrsm(blas.Left, blas.Lower, blas.Trans, blas.NonUnit, N, 1, 1, o.factor.Data, o.factor.Stride, b.v.Data, 1)
	for _, p := range b.gone {
		b.v.Data[p] = 0
	}
	out := o.matrix(dst)
	o.scatter(out, b.v.Data)
	for p, i := range b.added.i {
		out.Data[i*out.Stride+b.added.j[p]] = b.t.Data[p]
	}
}

// balanced is the inverse of Q·M·Q on the columns that Q of the cells keeps, by that of M, and reports whether rounding
// leaves one: with the columns E of √w for each output, whose sums of weights are not 0,
//
//	M⁻¹ − M⁻¹·E·(Eᵀ·M⁻¹·E)⁻¹·Eᵀ·M⁻¹.
func balanced(
	be blas.Backend, inverse func(dst, x blas.General), cells *linop.Cells,
) (of func(dst, x blas.General), ok bool) {
	l, n := cells.Dims()
	var outputs []int
	for j := range n {
		for i := range l {
			if cells.Has(i, j) {
				outputs = append(outputs, j)
				break
			}
		}
	}
	sums := func(x blas.General) blas.General { // Eᵀ·x
		s := blas.NewGeneral(len(outputs), 1)
		for k, j := range outputs {
			for i := range l {
				s.Data[k] += cells.Row(i)[j] * x.Data[i*n+j]
			}
		}
		return s
	}
	q := len(outputs)
	schur, columns, e := blas.NewGeneral(q, q), make([]blas.General, q), blas.NewGeneral(l*n, 1)
	for k, j := range outputs {
		blas.Zero(e)
		for i := range l {
			e.Data[i*n+j] = cells.Row(i)[j]
		}
		columns[k] = blas.NewGeneral(l*n, 1)
		inverse(columns[k], e)
		for a, v := range sums(columns[k]).Data {
			schur.Data[a*schur.Stride+k] = v
		}
	}
	blas.Symmetrize(schur)
	if !be.Potrf(schur) {
		return nil, false
	}
	return func(dst, x blas.General) {
		inverse(dst, x)
		s := sums(dst)
		blas.Potrs(be, schur, s)
		for k, z := range columns {
			blas.AddScaled(dst, -s.Data[k], z)
		}
	}, true
}
