// This file solves for cells that differ by few from those of a factor.

package sylvester

import (
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/par"
	"github.com/iokl/iokl/linop"
)

// cellBorder solves the system M of cells Ω by Cholesky's factor F of M₀, that of the same K, L and μ for cells Ω₀.
// With the a cells that are new and the d that are gone, those of another weight being both, it is the system
//
//	⎡M₀  B⎤⎡x₀⎤   ⎡y₀⎤
//	⎣Bᵀ  D⎦⎣ z⎦ = ⎣ t⎦,   B = (M_{0,new}, E_gone),   D = diag(M_{new,new}, 0),
//
// whose x₀ is 0 where a cell is gone. With W = F⁻¹B it takes the factor of the k×k D − WᵀW, k = a + d, and
// |Ω₀|²k + |Ω₀|k² + k³ flops.
type cellBorder struct {
	o     *ObservedFactor
	added cellMatrix // the new cells
	gone  []int      // places in Ω₀
	W     blas.General
	schur mat.LU
	v, t  blas.General
}

// set is for cells, and reports false where a new factor costs less.
func (b *cellBorder) set(o *ObservedFactor, cells *linop.Cells) bool {
	b.o, b.gone = o, b.gone[:0]
	b.added = cellMatrix{K: o.K, L: o.L, i: b.added.i[:0], j: b.added.j[:0], root: b.added.root[:0]}
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
	if fN, fk := float64(N), float64(k); fN*fN*fk+fN*fk*fk+fk*fk*fk > fN*fN*fN/3 {
		return false
	}
	if k == 0 {
		return true
	}
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
	D := blas.NewGeneral(k, k)
	blas.GramOf(o.be, D, b.W)
	blas.Scal(-1, D.Data)
	line := make([]float64, a)
	for p := range a {
		b.added.element(&b.added, p, line)
		line[p] += o.mu
		blas.Axpy(1, line, blas.Row(D, p)[:a])
	}
	b.schur.Factorize(mat.NewDense(k, k, D.Data))
	return b.schur.Cond() < 1/borderCond
}

// borderCond is the least reciprocal condition number of D − WᵀW at which rounding leaves half of the digits.
const borderCond = 0x1p-26

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
	var z mat.VecDense
	_ = b.schur.SolveVecTo(&z, false, mat.NewVecDense(k, b.t.Data)) // the residual tells what is wrong
	copy(b.t.Data, z.RawVector().Data)
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

// same reports whether the factor is for L and μ.
func (o *ObservedFactor) same(L blas.General, mu float64) bool {
	return o.mu == mu && o.L.Rows == L.Rows && slices.Equal(o.L.Data, L.Data)
}
