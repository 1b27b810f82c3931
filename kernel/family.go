// Tiles of distances and inner products, which all kernels of the same features share.

package kernel

import (
	"fmt"
	"math"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/par"
	"github.com/iokl/iokl/internal/dense/vmath"
)

// A metric is what the kernels of a family are functions of.
type metric int

const (
	dot       metric = iota // xᵀz
	euclid                  // ‖x−z‖²
	manhattan               // ‖x−z‖₁
	chiSquare               // Σ (x−z)²/(x+z)
	lorentz                 // Π 1 + (x−z)²/σ²: σ is part of it
)

// name is the name of the distance that widths are measured in, for messages and for tables of medians.
func (m metric) name() string {
	switch m {
	case manhattan:
		return "absolute"
	case chiSquare:
		return "chi2"
	}
	return "euclidean"
}

// check reports the first cell of the columns, nil for all, that the metric cannot take.
func (m metric) check(X blas.General, columns []int) error {
	if err := FiniteData(X, columns); err != nil || m != chiSquare {
		return err
	}
	for i := range X.Rows {
		for c, v := range blas.Row(X, i) {
			if v < 0 && (columns == nil || slices.Contains(columns, c)) {
				return fmt.Errorf("row %d, column %d holds %g, and chi2 wants values ≥ 0: %w", i, c, v, ErrNegative)
			}
		}
	}
	return nil
}

// family is a set of kernels computed from the same tile of distances.
type family struct {
	metric  metric
	view    view
	width   float64   // of lorentz, else 0
	members []int     // indices in the dictionary
	shift   []float64 // that features are taken relative to, see center
}

// families partitions the kernels of the dictionary with skip[j] unset.
func (d Dictionary) families(skip func(j int) bool) []*family {
	var out []*family
	for j := range d {
		k := &d[j]
		if skip(j) {
			continue
		}
		f := &family{metric: k.Kind.def().metric, view: k.view(), members: []int{j}}
		if f.metric == lorentz {
			f.width = k.Width
		}
		if i := slices.IndexFunc(out, f.same); i >= 0 {
			out[i].members = append(out[i].members, j)
		} else {
			out = append(out, f)
		}
	}
	return out
}

func (f *family) same(g *family) bool {
	return f.metric == g.metric && f.width == g.width && f.view.same(g.view)
}

// directDims is the number of features up to which squared distances are
// summed directly rather than from inner products.
const directDims = 4

// direct reports whether tiles are made by the row functions of vmath, which
// read the second side transposed, and not by a matrix multiply.
func (f *family) direct(dims int) bool {
	return f.metric > euclid || f.metric == euclid && dims <= directDims
}

// least is the value of the metric, where it is direct, for a sample and itself.
func (f *family) least() float64 {
	if f.metric == lorentz {
		return 1 // an empty product of 1 + u²
	}
	return 0
}

// side is a set of samples laid out for the tiles of one family.
type side struct {
	x    blas.General // samples by the family's features, shifted for euclid
	t    []float64    // x transposed, by strips when the family is direct, else by tiles or empty
	norm []float64    // squared norms of the rows, when it is not
	chi  *chiSide     // of chi2, unless its features are too large

	picked blas.General // scratch
}

// center sets the shift of a family by the features of the first samples that are laid out: squared distances do not
// change with it, and lose less to cancellation around the mean.
func (f *family) center(Z blas.General) {
	f.shift = make([]float64, Z.Cols)
	if f.metric != euclid || Z.Rows == 0 {
		return
	}
	for i := range Z.Rows {
		blas.Axpy(1/float64(Z.Rows), blas.Row(Z, i), f.shift)
	}
}

// prepare lays out the rows of X. It fails on cells the family cannot take.
func (f *family) prepare(X blas.General) (*side, error) {
	s := new(side)
	err := s.lay(f, X)
	s.picked = blas.General{}
	return s, err
}

// lay is prepare in the memory of s.
func (s *side) lay(f *family, X blas.General) error {
	if err := f.metric.check(X, f.view.columns); err != nil {
		return err
	}
	Z := f.view.in(&s.picked, X)
	if f.shift == nil {
		f.center(Z)
	}
	s.x, s.t, s.chi = blas.Reshape(s.x, X.Rows, len(f.shift)), s.t[:0], nil
	for i := range Z.Rows {
		row := blas.Row(s.x, i)
		for c, v := range blas.Row(Z, i) {
			row[c] = v - f.shift[c]
		}
	}
	if f.direct(len(f.shift)) {
		if f.metric == lorentz {
			blas.Scal(1/f.width, s.x.Data)
		}
		s.t = transposed(s.t, s.x, strip(len(f.shift)))
		if f.metric == chiSquare {
			s.reciprocals()
		}
		return nil
	}
	s.norm = blas.Resize(s.norm, s.x.Rows)
	for i := range s.norm {
		row := blas.Row(s.x, i)
		s.norm[i] = blas.Dot(row, row)
		if math.IsInf(s.norm[i], 0) {
			return fmt.Errorf("the squared norm of row %d overflows: %w: rescale the data", i, ErrNotFinite)
		}
	}
	return nil
}

// strip is how many samples of d features are laid out together for the row
// functions: as many as stay in the first-level cache while the rows of a tile
// pass, and a divisor of tileCols. Few samples with many features take longer to
// compare than to load.
func strip(d int) int {
	const cached = 4096 // numbers
	s := tileCols
	for s > 32 && s*d > cached {
		s /= 2
	}
	return s
}

// transposed lays out x one strip of width samples after the other, each with a row
// per feature, so that tiles read consecutive memory. It uses that of t.
func transposed(t []float64, x blas.General, width int) []float64 {
	t = blas.Resize(t, x.Rows*x.Cols)
	if x.Rows <= width {
		transposeStrip(t, x, 0, x.Rows)
		return t
	}
	all := t
	par.Ranges(x.Rows, width, func(lo, hi int) { transposeStrip(all, x, lo, hi) })
	return t
}

// keepTransposed replaces x by its transpose, for a second side of many tiles of few rows: a product copies that
// faster than it transposes.
func (s *side) keepTransposed() {
	if s.norm != nil {
		s.t = transposed(nil, s.x, tileCols)
		s.x.Data = nil
	}
}

// transposeStrip lays out rows lo to hi.
func transposeStrip(t []float64, x blas.General, lo, hi int) {
	block := t[lo*x.Cols : hi*x.Cols]
	for i := lo; i < hi; i++ {
		for c, v := range blas.Row(x, i) {
			block[c*(hi-lo)+i-lo] = v
		}
	}
}

// tile computes the metric between rows [i0,i0+rows) of a and [j0,j0+cols) of b
// into out, row-major with stride cols; j0 is a multiple of tileCols.
func (f *family) tile(be blas.Backend, a *side, i0, rows int, b *side, j0, cols int, out []float64) {
	d := a.x.Cols
	if f.direct(d) {
		for s, width := 0, strip(d); s < cols; s += width {
			ld := min(width, b.x.Rows-j0-s)
			for i := range rows {
				dst := out[i*cols+s : i*cols+min(s+width, cols)]
				if a.chi != nil && b.chi != nil {
					chi2Row(dst, a, i0+i, b, j0+s, ld)
				} else {
					f.row(dst, blas.Row(a.x, i0+i), b.t[(j0+s)*d:], ld)
				}
			}
		}
		return
	}
	form, second, ld := blas.Trans, b.x.Data, d
	if len(b.t) > 0 {
		form, second, ld = blas.NoTrans, b.t, min(tileCols, b.x.Rows-j0)
	}
	be.Dgemm(blas.NoTrans, form, rows, cols, d, 1, a.x.Data[i0*d:], d, second[j0*d:], ld, 0, out, cols)
	if f.metric == euclid {
		for i := range rows {
			vmath.SqDist(out[i*cols:(i+1)*cols], a.norm[i0+i], b.norm[j0:j0+cols])
		}
	}
}

func (f *family) row(dst, x, zt []float64, ld int) {
	switch f.metric {
	case euclid:
		vmath.SqRow(dst, x, zt, ld)
	case manhattan:
		vmath.L1Row(dst, x, zt, ld)
	case chiSquare:
		vmath.Chi2Row(dst, x, zt, ld)
	case lorentz:
		vmath.LorentzRow(dst, x, zt, ld)
	}
}

// scale holds the factors 1/√k(x,x) of a unit kernel on one side, 0 where k(x,x) is 0; nil for other kernels.
func (k *Kernel) scale(s *side) []float64 {
	if !k.UnitDiagonal() {
		return nil
	}
	out := make([]float64, len(s.norm))
	e := k.evaluator()
	e.row(out, s.norm)
	for i, v := range out {
		if v > 0 {
			out[i] = 1 / math.Sqrt(v)
		} else {
			out[i] = 0
		}
	}
	return out
}
