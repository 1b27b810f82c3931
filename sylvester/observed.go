package sylvester

import (
	"context"
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/internal/base/par"
	"github.com/iokl/iokl/linop"
)

// Factor returns the inverse of the matrix of the observed cells Ω of sys, as an operator on the row-major vec of l×n
// matrices, which it applies to one column at a time. The matrix has the elements √w_ij·K_ii′·L_jj′·√w_i′j′ + μ·[i =
// i′, j = j′] on Ω, and the result is 0 outside. It is kept by Cholesky's factor: |Ω|³/3 flops once, and 2|Ω|² for each
// product. Memory: |Ω|² + l² + n·|Ω| + n² floats. The error is ErrNotSPD or ErrNotFinite, that of a limit of memory, or
// that of ctx.
func Factor(ctx context.Context, be blas.Backend, sys System) (linop.Operator, error) {
	o := new(observedFactor)
	return o, o.set(ctx, be, sys, sys.Cells)
}

// observedFactor is what [Factor] returns, in memory that it keeps: with an eighth more rows where they are more than
// in a call before.
type observedFactor struct {
	be     blas.Backend
	cells  *linop.Cells
	K, L   blas.General // K without Data where it is to be formed
	mu     float64      // NaN without a factor
	i, j   []int        // row and column of every observed cell
	factor blas.General
	v      blas.General
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
	if o.mu = math.NaN(); o.K.Rows != l {
		K := blas.NewGeneral(l, l)
		if err := dense(ctx, K, sys.K); err != nil {
			return err
		}
		o.K = K
	}
	o.L = blas.NewGeneral(n, n)
	sys.L.Dense(be, o.L)
	o.factor = blas.Reshape(blas.Reshape(o.factor, room, room), N, N)
	o.be, o.cells, o.v = be, cells, blas.Reshape(o.v, N, 1)
	o.fill(sys.Mu)
	if trace := blas.Trace(o.factor); !be.Potrf(o.factor) {
		return notPositive(trace, "the %d×%d matrix of the observed cells, of trace %.3g", N, N, trace)
	}
	o.mu = sys.Mu
	return nil
}

// fill writes the lower triangle of the matrix.
func (o *observedFactor) fill(mu float64) {
	o.i, o.j = o.i[:0], o.j[:0]
	var roots []float64
	o.cells.Each(func(i, j int, root float64) {
		o.i, o.j, roots = append(o.i, i), append(o.j, j), append(roots, root)
	})
	weighted := blas.NewGeneral(o.L.Rows, len(o.i)) // L between an output and that of every observed cell, times √w
	for j := range weighted.Rows {
		out, L := blas.Row(weighted, j), blas.Row(o.L, j)
		for b, root := range roots {
			out[b] = root * L[o.j[b]]
		}
	}
	par.Ranges(len(o.i), blas.SymBlock, func(lo, hi int) {
		for a := lo; a < hi; a++ {
			row, k, out := blas.Row(o.factor, a)[:a+1], blas.Row(o.K, o.i[a]), blas.Row(weighted, o.j[a])[:a+1]
			for b, i := range o.i[:a+1] {
				row[b] = roots[a] * k[i] * out[b]
			}
			row[a] += mu
		}
	})
}

// Dim is l·n.
func (o *observedFactor) Dim() int { return o.K.Rows * o.L.Rows }

// Apply computes dst = A_ΩΩ⁻¹·x on the observed cells and 0 elsewhere, for one column.
func (o *observedFactor) Apply(dst, x blas.General) {
	n := o.L.Rows
	for a, i := range o.i {
		o.v.Data[a] = x.Data[i*n+o.j[a]]
	}
	blas.Potrs(o.be, o.factor, o.v)
	blas.Zero(dst)
	for a, i := range o.i {
		dst.Data[i*n+o.j[a]] = o.v.Data[a]
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
