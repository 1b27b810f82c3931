// Kernel values between new points and training points.

package kernel

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/par"
)

// ErrMeans is returned when a centred kernel meets new points before Gram has
// set its training means, or with another training set.
var ErrMeans = errors.New("the kernel is centred and its training means are not known: build its Gram matrix first")

// Cross computes dst = k(Xnew, X): t×l for the t rows of Xnew and the l training
// rows X. Errors as for CrossSum.
func (k *Kernel) Cross(dst, Xnew, X blas.General) error {
	return Dictionary{*k}.CrossSum(dst, []float64{1}, Xnew, X)
}

// CrossSum computes dst = K_η(Xnew, X) = Σ_j eta_j k_j(Xnew, X), t×l, in
// parallel over the rows of Xnew. Kernels with eta_j = 0 cost nothing, and
// kernels that differ in their width only share distances. dst is not read.
// For large t call it on blocks of rows: the result of a row does not depend on
// the others.
//
// Errors wrap ErrNotFinite or ErrNegative with the row and column, or ErrMeans.
func (d Dictionary) CrossSum(dst blas.General, eta []float64, Xnew, X blas.General) error {
	c, err := d.Crossing(eta, X, nil)
	if err != nil {
		return err
	}
	return c.Sum(dst, Xnew)
}

// Crossing computes weighted sums of cross-Gram matrices K_η(·, X) with the same l
// training points, which are laid out once. Its methods may be called from several
// goroutines at once.
type Crossing struct {
	laid    // the training points, for kernels of positive weight
	eta     []float64
	active  Dictionary // kernels of positive weight
	centred bool       // some kernel is
}

// Crossing prepares K_η(·, X) = Σ_j eta_j k_j(·, X). The caller must not change
// eta and X while it is in use. be multiplies; nil means blas.Active(). Errors are
// those of CrossSum that concern X.
func (d Dictionary) Crossing(eta []float64, X blas.General, be blas.Backend) (*Crossing, error) {
	if len(eta) != len(d) {
		panic("kernel: one weight for each kernel")
	}
	c := &Crossing{eta: eta}
	for j := range d {
		if eta[j] == 0 {
			continue
		}
		if err := d[j : j+1].ready(X); err != nil {
			return nil, err
		}
		if d[j].Center && len(d[j].Means) != X.Rows {
			return nil, fmt.Errorf("kernel %q: %w", d[j].Name, ErrMeans)
		}
		c.centred = c.centred || d[j].Center
		c.active = append(c.active, d[j])
	}
	var err error
	if c.laid, err = d.lay(X, "training data: ", be, func(j int) bool { return eta[j] == 0 }); err != nil {
		return nil, err
	}
	for _, b := range c.sides {
		b.keepTransposed()
	}
	return c, nil
}

// slabRows is how many new points are worked on at a time: few enough for their
// part of K_η to stay in the caches, enough to be worth packing what it is multiplied by.
const slabRows = 2 * tileRows

// dotCols is how many columns B of K_η·B has at most for which inner products are faster than a matrix product, which
// fills panels of 8 columns with zeros.
const dotCols = 4

// slabCols is how many training points are, of kernels that are not centred.
const slabCols = 2 * tileCols

// Sum writes K_η(Xnew, X), t×l for the t rows of Xnew, to dst, which is not read.
// It is parallel over the rows, and the result of a row does not depend on the others.
func (c *Crossing) Sum(dst, Xnew blas.General) error {
	if dst.Rows != Xnew.Rows || dst.Cols != c.X.Rows {
		panic("kernel: Cross: shape mismatch")
	}
	return c.each(Xnew, func(s *slab, lo, rows int) {
		s.fill(blas.View(dst, lo, 0, rows, dst.Cols), 0)
	})
}

// Among writes K_η(Xnew, Xnew), t×t, to dst, which is not read. Kernels must not be centred. It runs on one goroutine,
// and for few points costs less than a new Crossing.
func (c *Crossing) Among(dst, Xnew blas.General) error {
	if t := Xnew.Rows; dst.Rows != t || dst.Cols != t || t > slabRows || c.centred {
		panic("kernel: Among: shape mismatch")
	}
	if err := c.active.ready(Xnew); err != nil {
		return err
	}
	s := slabs.Get().(*slab)
	defer s.release()
	if s.lay(c, Xnew) != nil {
		return c.unfit(Xnew)
	}
	own := *c
	own.sides, own.scale = s.sides, s.scale
	s.c = &own
	s.fill(dst, 0)
	return nil
}

// Mul writes K_η(Xnew, X)·B, t×n for the l×n matrix B, to dst, which is not read. It holds a part of K_η at a time. The
// size of a part does not depend on t, nor on l unless kernels are centred. Errors as for Sum.
func (c *Crossing) Mul(dst, Xnew, B blas.General) error {
	if dst.Rows != Xnew.Rows || B.Rows != c.X.Rows || dst.Cols != B.Cols {
		panic("kernel: Mul: shape mismatch")
	}
	if Xnew.Rows > slabRows || c.active.ready(Xnew) != nil {
		return c.each(Xnew, func(s *slab, lo, rows int) { s.multiply(blas.View(dst, lo, 0, rows, dst.Cols), B) })
	}
	s := slabs.Get().(*slab) // a closure would be allocated
	defer s.release()
	if s.lay(c, Xnew) != nil {
		return c.unfit(Xnew)
	}
	s.multiply(dst, B)
	return nil
}

// Parts calls f with parts of K_η(Xnew, X): K holds the values of the rows of Xnew from i0 on with the training points
// from j0 on. The parts of the same rows come from one goroutine in the order of the training points; parts of other
// rows come concurrently. f must not keep K. The size of K does not depend on t, nor on l unless kernels are centred.
func (c *Crossing) Parts(Xnew blas.General, f func(i0, j0 int, K blas.General)) error {
	return c.each(Xnew, func(s *slab, lo, _ int) { s.parts(func(j0 int, K blas.General) { f(lo, j0, K) }) })
}

// parts calls f for the columns of K_η from j0 on, as many as stay in the caches.
func (s *slab) parts(f func(j0 int, K blas.General)) {
	l := s.c.X.Rows
	width := min(slabCols, l)
	if s.c.centred {
		width = l // what centring takes away is known when all of a row is
	}
	s.k = blas.Resize(s.k, s.rows*width)
	for j0 := 0; j0 < l; j0 += width {
		cols := min(width, l-j0)
		K := blas.General{Rows: s.rows, Cols: cols, Stride: cols, Data: s.k[:s.rows*cols]}
		s.fill(K, j0)
		f(j0, K)
	}
}

// multiply writes K_η·B to dst.
func (s *slab) multiply(dst, B blas.General) {
	s.parts(func(j0 int, K blas.General) {
		beta := 1.0
		if j0 == 0 {
			beta = 0
		}
		part := blas.View(B, j0, 0, K.Cols, B.Cols)
		if B.Cols <= dotCols {
			s.dots(dst, K, part, beta)
			return
		}
		s.c.be.Dgemm(blas.NoTrans, blas.NoTrans, s.rows, dst.Cols, K.Cols, 1, K.Data, K.Stride, part.Data, part.Stride,
			beta, dst.Data, dst.Stride)
	})
}

// dots writes beta·dst + K·B to dst, an inner product for each element.
func (s *slab) dots(dst, K, B blas.General, beta float64) {
	s.column = blas.Resize(s.column, B.Rows)
	for j := range B.Cols {
		for i := range s.column {
			s.column[i] = B.Data[i*B.Stride+j]
		}
		for i := range K.Rows {
			out := &dst.Data[i*dst.Stride+j]
			if beta == 0 {
				*out = 0
			}
			*out += blas.Dot(blas.Row(K, i), s.column)
		}
	}
}

// Diagonal writes K_η(x,x) for the rows x of Xnew to dst.
func (c *Crossing) Diagonal(dst []float64, Xnew blas.General) error {
	if len(dst) != Xnew.Rows {
		panic("kernel: Diagonal: shape mismatch")
	}
	return c.each(Xnew, func(s *slab, lo, rows int) {
		var value, metric [1]float64
		for i := range rows {
			dst[lo+i] = 0
			for f, fam := range c.fams {
				if metric[0] = fam.least(); !fam.direct(s.sides[f].x.Cols) {
					fam.tile(c.be, s.sides[f], i, 1, s.sides[f], i, 1, metric[:])
				}
				fam.diagonal(metric[:], 0, 1, 1)
				for _, j := range fam.members {
					c.eval[j].row(value[:], metric[:])
					if s.scale[j] != nil {
						value[0] *= s.scale[j][i] * s.scale[j][i]
					}
					dst[lo+i] += c.eta[j] * value[0]
				}
			}
		}
		if !c.centred {
			return
		}
		for j := range c.d {
			if c.eta[j] != 0 && c.d[j].Center {
				s.centerDiagonal(dst[lo:lo+rows], j)
			}
		}
	})
}

// centerDiagonal subtracts from η_j·k_j(x,x) what centring takes away, 2·mean_i k_j(x,x_i) − mean of K_j.
func (s *slab) centerDiagonal(dst []float64, j int) {
	c := s.c
	f := slices.IndexFunc(c.fams, func(f *family) bool { return slices.Contains(f.members, j) })
	for j0 := 0; j0 < c.X.Rows; j0 += tileCols {
		cols := min(tileCols, c.X.Rows-j0)
		c.fams[f].tile(c.be, s.sides[f], 0, s.rows, c.sides[f], j0, cols, s.tile)
		for i := range s.rows {
			s.values(s.line[:cols], j, i, j0)
			for _, v := range s.line[:cols] {
				dst[i] -= 2 * c.eta[j] * v / float64(c.X.Rows)
			}
		}
	}
	for i := range dst {
		dst[i] += c.eta[j] * c.d[j].Mean
	}
}

// each calls f for every slab of the rows of Xnew, with the number of its first row.
func (c *Crossing) each(Xnew blas.General, f func(s *slab, lo, rows int)) error {
	if err := c.active.ready(Xnew); err != nil {
		return err
	}
	var failed atomic.Bool
	par.Ranges(Xnew.Rows, slabRows, func(lo, hi int) {
		s := slabs.Get().(*slab)
		defer s.release()
		if s.lay(c, blas.View(Xnew, lo, 0, hi-lo, Xnew.Cols)) != nil {
			failed.Store(true)
			return
		}
		f(s, lo, hi-lo)
	})
	if failed.Load() {
		return c.unfit(Xnew)
	}
	return nil
}

// unfit is the error of new points that lay refuses, with the number of the row.
func (c *Crossing) unfit(Xnew blas.General) error {
	for _, f := range c.fams {
		if _, err := f.prepare(Xnew); err != nil {
			return fmt.Errorf("kernel %q: %w", c.d[f.members[0]].Name, err)
		}
	}
	panic("kernel: rows that fail alone and not together")
}

// slab is some rows of new points, and scratch.
type slab struct {
	c          *Crossing
	rows       int
	sides      []*side     // of each family: the new points
	scale      [][]float64 // unit scales of each kernel
	tile, line []float64
	sums       []float64 // of the rows of each centred kernel
	k, column  []float64
}

var slabs = sync.Pool{New: func() any {
	return &slab{tile: make([]float64, slabRows*tileCols), line: make([]float64, tileCols)}
}}

// release keeps the scratch for another slab.
func (s *slab) release() {
	s.c = nil
	clear(s.scale)
	slabs.Put(s)
}

// lay lays out new points of c.
func (s *slab) lay(c *Crossing, X blas.General) error {
	s.c, s.rows = c, X.Rows
	for len(s.sides) < len(c.fams) {
		s.sides = append(s.sides, new(side))
	}
	s.scale = blas.Resize(s.scale, len(c.d))
	for i, f := range c.fams {
		a := s.sides[i]
		if err := a.lay(f, X); err != nil {
			return err
		}
		for _, j := range f.members {
			s.scale[j] = c.d[j].scale(a)
		}
	}
	return nil
}

// fill writes the columns of K_η from j0 on, as many as dst has: all where a kernel is centred.
func (s *slab) fill(dst blas.General, j0 int) {
	c := s.c
	if len(c.fams) == 0 {
		blas.Zero(dst)
		return
	}
	if c.centred {
		s.sums = blas.Resize(s.sums, len(c.d)*s.rows)
		clear(s.sums)
	}
	for i, f := range c.fams {
		for j := 0; j < dst.Cols; j += tileCols {
			cols := min(tileCols, dst.Cols-j)
			f.tile(c.be, s.sides[i], 0, s.rows, c.sides[i], j0+j, cols, s.tile)
			for k, member := range f.members {
				s.put(blas.View(dst, 0, j, s.rows, cols), member, j0+j, i == 0 && k == 0)
			}
		}
	}
	for j := range c.d {
		if c.eta[j] != 0 && c.d[j].Center {
			s.center(dst, j)
		}
	}
}

// put makes eta_j times the values of kernel j of the tile, or adds them to dst. j0 is
// the training point of the first column.
func (s *slab) put(dst blas.General, j, j0 int, first bool) {
	c := s.c
	k := &c.d[j]
	for i := range s.rows {
		out := blas.Row(dst, i)
		value := out
		if !first {
			value = s.line[:dst.Cols]
		}
		s.values(value, j, i, j0)
		if k.Center {
			for _, v := range value {
				s.sums[j*s.rows+i] += v
			}
		}
		switch {
		case !first:
			blas.Axpy(c.eta[j], value, out)
		case c.eta[j] != 1:
			blas.Scal(c.eta[j], out)
		}
	}
}

// values evaluates kernel j on row i of the tile, whose first column is training point j0.
func (s *slab) values(dst []float64, j, i, j0 int) {
	s.c.eval[j].row(dst, s.tile[i*len(dst):(i+1)*len(dst)])
	if s.scale[j] != nil {
		for t := range dst {
			dst[t] *= s.scale[j][i] * s.c.scale[j][j0+t]
		}
	}
}

// center centres the contribution of kernel j to all columns of dst.
func (s *slab) center(dst blas.General, j int) {
	k := &s.c.d[j]
	for i := range s.rows {
		own := s.sums[j*s.rows+i]/float64(dst.Cols) - k.Mean
		row := blas.Row(dst, i)
		for t, mean := range k.Means {
			row[t] -= s.c.eta[j] * (own + mean)
		}
	}
}
