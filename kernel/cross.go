package kernel

import (
	"errors"
	"fmt"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/par"
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
	if len(eta) != len(d) {
		panic("kernel: one weight for each kernel")
	}
	if dst.Rows != Xnew.Rows || dst.Cols != X.Rows {
		panic("kernel: Cross: shape mismatch")
	}
	c, err := d.newCross(eta, Xnew, X)
	if err != nil {
		return err
	}
	par.Ranges(Xnew.Rows, tileRows, func(lo, hi int) { c.rows(dst, lo, hi) })
	return nil
}

// crossing computes a weighted sum of cross-Gram matrices.
type crossing struct {
	d        Dictionary
	eta      []float64
	be       blas.Backend
	fams     []*family
	a, b     []*side     // of each family: new points, training points
	sa, sb   [][]float64 // unit scales of each kernel on both sides
	training int
}

func (d Dictionary) newCross(eta []float64, Xnew, X blas.General) (*crossing, error) {
	c := &crossing{
		d: d, eta: eta, be: blas.Active(), training: X.Rows,
		sa: make([][]float64, len(d)), sb: make([][]float64, len(d)),
	}
	for j := range d {
		if eta[j] == 0 {
			continue
		}
		for _, x := range []blas.General{X, Xnew} {
			if err := d[j : j+1].ready(x); err != nil {
				return nil, err
			}
		}
		if d[j].Center && len(d[j].Means) != X.Rows {
			return nil, fmt.Errorf("kernel %q: %w", d[j].Name, ErrMeans)
		}
	}
	c.fams = d.families(func(j int) bool { return eta[j] == 0 })
	for _, f := range c.fams {
		if err := c.addSides(f, Xnew, X); err != nil {
			return nil, fmt.Errorf("kernel %q: %w", d[f.members[0]].Name, err)
		}
	}
	return c, nil
}

func (c *crossing) addSides(f *family, Xnew, X blas.General) error {
	shift := f.center(X)
	b, err := f.prepare(X, shift)
	if err != nil {
		return fmt.Errorf("training data: %w", err)
	}
	a, err := f.prepare(Xnew, shift)
	if err != nil {
		return err
	}
	c.a, c.b = append(c.a, a), append(c.b, b)
	for _, j := range f.members {
		c.sa[j], c.sb[j] = c.d[j].scale(a), c.d[j].scale(b)
	}
	return nil
}

// rows fills rows [lo,hi) of dst.
func (c *crossing) rows(dst blas.General, lo, hi int) {
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	for i := lo; i < hi; i++ {
		clear(blas.Row(dst, i))
	}
	sums := make([]float64, len(c.d)*(hi-lo)) // of the rows of each centred kernel
	for fi, f := range c.fams {
		for j0 := 0; j0 < c.training; j0 += tileCols {
			cols := min(tileCols, c.training-j0)
			f.tile(c.be, c.a[fi], lo, hi-lo, c.b[fi], j0, cols, s.tile)
			for _, j := range f.members {
				for i := range hi - lo {
					sum := c.add(blas.Row(dst, lo+i)[j0:j0+cols], j, lo+i, j0, s.line[:cols], s.tile[i*cols:(i+1)*cols])
					sums[j*(hi-lo)+i] += sum
				}
			}
		}
	}
	for j := range c.d {
		if c.eta[j] != 0 && c.d[j].Center {
			c.shift(dst, j, lo, sums[j*(hi-lo):(j+1)*(hi-lo)])
		}
	}
}

// add adds eta_j times the kernel values of one line to out and returns the sum of the values of a centred kernel.
func (c *crossing) add(out []float64, j, i, j0 int, buf, line []float64) float64 {
	k := &c.d[j]
	k.value(buf, line)
	if c.sa[j] != nil {
		for t := range buf {
			buf[t] *= c.sa[j][i] * c.sb[j][j0+t]
		}
	}
	blas.Axpy(c.eta[j], buf, out)
	var sum float64
	if k.Center {
		for _, v := range buf {
			sum += v
		}
	}
	return sum
}

// shift centres the contribution of kernel j to the rows from lo on, whose sums are given.
func (c *crossing) shift(dst blas.General, j, lo int, sums []float64) {
	k := &c.d[j]
	for i, sum := range sums {
		own := sum/float64(c.training) - k.Mean
		row := blas.Row(dst, lo+i)
		for t, mean := range k.Means {
			row[t] -= c.eta[j] * (own + mean)
		}
	}
}
