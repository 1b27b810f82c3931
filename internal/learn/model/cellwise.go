package model

import (
	"cmp"
	"context"
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/internal/base/par"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/kernel"
)

// cellwise is the posterior given single target cells, by one factor of their covariance
//
//	A_cc' = Σ_q k_q(x_i, x_i')·(L_q)_jj' + δ_cc'·ν_c,   c = (i, j),
//
// ν_c being μ/w_c, or the variance of the noise of output j in a model by likelihood. Cells are missing, have weights,
// or kernels have an L_q each.
type cellwise struct {
	be     blas.Backend
	parts  []*Samples
	cross  []*kernel.Crossing
	L      []func(i, j int) float64
	first  []int          // the number of the first cell of each row, and that of all cells
	output []int          // of each cell
	noise  []float64      // ν_c
	unit   []float64      // what noise 1 of each output stands for
	R      blas.General   // lower factor of A
	block  []blas.General // (A⁻¹)_ii⁻¹ of the cells of row i: the covariance of its targets without the row
	own    []float64      // diagonal of A⁻¹
	change []float64      // residuals of the cells without their row; nil without targets
	n      int
}

// cells is the number of target cells that the posterior is given; all of them where the model keeps no targets.
func (m *Model) cells() int {
	if m.Y.Rows == 0 {
		return m.Coefficients() * m.L.Dim()
	}
	return m.Source.Cells()
}

func (m *Model) cellwise(ctx context.Context, b *Samples) (*cellwise, error) {
	l, n, N := b.Z.Rows, m.L.Dim(), m.cells()
	if N > cellsAtMost {
		return nil, fault.Input("closed forms for single rows of %d observed cells take the factor of a matrix of "+
			"that order, and %d are the most", N, cellsAtMost)
	}
	bytes := 24 * float64(N) * float64(N)
	if err := memory.Check("closed forms for single rows", bytes, "a model of fewer rows"); err != nil {
		return nil, err
	}
	c := &cellwise{be: blas.Or(b.be), parts: b.parts(), n: n, unit: m.Noise, first: make([]int, 1, l+1)}
	if c.unit == nil {
		c.unit = make([]float64, n)
		for j := range c.unit {
			c.unit[j] = m.Mu
		}
	}
	for i := range l {
		for j := range n {
			if m.Y.Rows > 0 && math.IsNaN(m.Y.Data[i*m.Y.Stride+j]) {
				continue
			}
			c.output = append(c.output, j)
			c.noise = append(c.noise, c.unit[j]/columns.WeightAt(m.W, i, j))
		}
		c.first = append(c.first, len(c.output))
	}
	A, Ki := blas.NewGeneral(N, N), blas.General{}
	for q, part := range c.parts {
		cross, err := part.dict.Crossing(part.eta, part.Z, b.be)
		if err != nil {
			return nil, fault.From(err)
		}
		L := m.L
		if b.L != nil {
			L = b.L[q]
		}
		c.cross, c.L = append(c.cross, cross), append(c.L, L.Elements())
		for at := 0; at < l; at += SlabRows {
			rows := min(SlabRows, l-at)
			Ki = blas.Reshape(Ki, rows, l)
			if err := cmp.Or(ctx.Err(), fault.From(cross.Sum(Ki, blas.View(b.Z, at, 0, rows, b.Z.Cols)))); err != nil {
				return nil, err
			}
			c.cover(blas.View(A, c.first[at], 0, c.first[at+rows]-c.first[at], N), Ki, q, at)
		}
	}
	for i, v := range c.noise {
		A.Data[i*A.Stride+i] += v
	}
	if !blas.Until(ctx, c.be).Potrf(A) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fault.Input("the kernel of the model is not positive semidefinite")
	}
	c.R = A
	return c, c.invert(m.Y)
}

// cover adds to the rows of dst the covariance, by part q, of the cells of rows from first on with all cells. K holds
// the kernel between these rows and all.
func (c *cellwise) cover(dst, K blas.General, q, first int) {
	L := c.L[q]
	par.For(K.Rows, func(a int) {
		k := blas.Row(K, a)
		for cell := c.first[first+a]; cell < c.first[first+a+1]; cell++ {
			row := blas.Row(dst, cell-c.first[first])
			for i, v := range k {
				for other := c.first[i]; other < c.first[i+1]; other++ {
					row[other] += v * L(c.output[cell], c.output[other])
				}
			}
		}
	})
}

// invert fills in what refits without each row take, of targets Y that may have no rows.
func (c *cellwise) invert(Y blas.General) error {
	N := c.R.Rows
	B := blas.Clone(c.R)
	c.be.Potri(B)
	blas.MirrorLower(B)
	alpha := blas.NewGeneral(N, 1)
	for i := range Y.Rows {
		for cell := c.first[i]; cell < c.first[i+1]; cell++ {
			alpha.Data[cell] = Y.Data[i*Y.Stride+c.output[cell]]
		}
	}
	blas.Potrs(c.be, c.R, alpha)
	if Y.Rows > 0 {
		c.change = make([]float64, N)
	}
	for cell := range N {
		c.own = append(c.own, B.Data[cell*B.Stride+cell])
	}
	for i := range len(c.first) - 1 {
		at, size := c.first[i], c.first[i+1]-c.first[i]
		own := blas.Clone(blas.View(B, at, at, size, size))
		if size > 0 && !c.be.Potrf(own) {
			return fault.Input("rounding leaves no refits without single rows: use a larger λ")
		}
		if c.change != nil {
			x := blas.Clone(blas.View(alpha, at, 0, size, 1))
			blas.Potrs(c.be, own, x)
			copy(c.change[at:], x.Data[:size])
		}
		c.be.Potri(own)
		c.block = append(c.block, own)
	}
	return nil
}

// covariance writes to G (N × t·n) the covariance of all cells with the outputs at the t rows of Z, n columns a row,
// and to prior (t·n) their own.
func (c *cellwise) covariance(G blas.General, prior []float64, Z blas.General) error {
	l := len(c.first) - 1
	K, kxx := blas.NewGeneral(Z.Rows, l), make([]float64, Z.Rows)
	for q, cross := range c.cross {
		if err := cmp.Or(cross.Sum(K, Z), cross.Diagonal(kxx, Z)); err != nil {
			return fault.From(err)
		}
		L := c.L[q]
		for t, v := range kxx {
			for j := range c.n {
				prior[t*c.n+j] += v * L(j, j)
			}
		}
		par.For(l, func(i int) {
			for cell := c.first[i]; cell < c.first[i+1]; cell++ {
				row := blas.Row(G, cell)
				for t := range Z.Rows {
					v := K.Data[t*K.Stride+i]
					for j := range c.n {
						row[t*c.n+j] += v * L(c.output[cell], j)
					}
				}
			}
		})
	}
	return nil
}

func (c *cellwise) rowsAtOnce() int { return max(1, SlabRows/c.n) }

func (c *cellwise) deviation(ctx context.Context, dst, Z blas.General) error {
	for at := 0; at < Z.Rows; at += c.rowsAtOnce() {
		some := blas.View(Z, at, 0, min(c.rowsAtOnce(), Z.Rows-at), Z.Cols)
		G, prior := blas.NewGeneral(c.R.Rows, some.Rows*c.n), make([]float64, some.Rows*c.n)
		if err := cmp.Or(ctx.Err(), c.covariance(G, prior, some)); err != nil {
			return err
		}
		c.be.Dtrsm(blas.Left, blas.Lower, blas.NoTrans, blas.NonUnit, G.Rows, G.Cols, 1, c.R.Data, c.R.Stride, G.Data,
			G.Stride)
		for i := range G.Rows {
			for k, v := range blas.Row(G, i) {
				prior[k] -= v * v
			}
		}
		for k, v := range prior {
			dst.Data[(at+k/c.n)*dst.Stride+k%c.n] = math.Sqrt(max(0, v) / c.unit[k%c.n])
		}
	}
	return nil
}

func (c *cellwise) without(_ context.Context, dst blas.General, rows []int, _ blas.General) error {
	blas.Zero(dst)
	for a, i := range rows {
		own := c.block[i]
		for k := range own.Rows {
			cell := c.first[i] + k
			j := c.output[cell]
			dst.Data[a*dst.Stride+j] = math.Sqrt(max(0, own.Data[k*own.Stride+k]-c.noise[cell]) / c.unit[j])
		}
	}
	return nil
}

// table is a number for each cell as a matrix of rows and outputs, NaN where there is no cell.
func (c *cellwise) table(of func(cell int) float64) blas.General {
	A := blas.NewGeneral(len(c.first)-1, c.n)
	blas.Fill(A, math.NaN())
	for i := range A.Rows {
		for cell := c.first[i]; cell < c.first[i+1]; cell++ {
			A.Data[i*A.Stride+c.output[cell]] = of(cell)
		}
	}
	return A
}

func (c *cellwise) residuals() (R blas.General) {
	if c.change != nil {
		R = c.table(func(cell int) float64 { return c.change[cell] })
	}
	return R
}

func (c *cellwise) leverages() blas.General {
	H := c.table(func(cell int) float64 { return 1 - c.noise[cell]*c.own[cell] })
	for i, v := range H.Data {
		if math.IsNaN(v) {
			H.Data[i] = 0
		}
	}
	return H
}

func (c *cellwise) changes(ctx context.Context, Z blas.General, f func(at int, moved blas.General)) error {
	U := blas.NewGeneral(c.R.Rows, Z.Rows*c.n)
	if err := c.covariance(U, make([]float64, U.Cols), Z); err != nil {
		return err
	}
	blas.Potrs(c.be, c.R, U)
	par.For(Z.Rows, func(t int) {
		moved := blas.NewGeneral(len(c.first)-1, c.n)
		for i := range moved.Rows {
			row := blas.Row(moved, i)
			for cell := c.first[i]; cell < c.first[i+1]; cell++ {
				blas.Axpy(c.change[cell], blas.Row(U, cell)[t*c.n:(t+1)*c.n], row)
			}
		}
		f(t, moved)
	})
	return ctx.Err()
}
