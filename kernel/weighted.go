// Weighted sums of Gram matrices that are not stored one by one.

package kernel

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/internal/base/phase"
)

// WeightedGram computes Σ_j w_j·K_j over the rows of X (l×d) as a packed matrix of the backend. Errors as for Grams.
func (d Dictionary) WeightedGram(
	ctx context.Context, X blas.General, weights []float64, opt GramOptions,
) (blas.Packed, error) {
	s, err := d.Sum(ctx, X, opt)
	if err != nil {
		return nil, err
	}
	s.SetWeights(weights)
	return s.form(ctx)
}

// Sum is the weighted sum K_η = Σ_j η_j·K_j of the Gram matrices of a dictionary, as a [linop.Separate] that does not
// store the K_j. It keeps K_η, of order l×l, whatever the number of kernels. SetWeights with other weights costs the
// evaluation of all kernels of positive weight, Forms that of the kernels asked for, and a product with K_η a product
// with a stored matrix. Elements are rounded once, and results do not depend on the number of threads.
type Sum struct {
	builder
	prec    blas.Precision
	weights []float64
	ctx     context.Context // see Until

	mu     sync.Mutex  // held while K is formed
	packed blas.Packed // K_η
	formed []float64   // the weights of K; nil before it is first needed
}

// Sum returns K_η over the rows of X (l×d), which it keeps, with weights 0. The training means of centred kernels are
// computed first and stored in the dictionary; this evaluates these kernels once more. opt.Into is not used. Errors as
// for Grams.
func (d Dictionary) Sum(ctx context.Context, X blas.General, opt GramOptions) (*Sum, error) {
	if err := d.ready(X); err != nil {
		return nil, err
	}
	be := blas.Or(opt.Backend)
	what := fmt.Sprintf("the sum of %d Gram matrices of %d samples in %v", len(d), X.Rows, opt.Precision)
	if err := memory.Within(opt.MaxBytes, what, be.PackedBytes(X.Rows, opt.Precision), useInstead); err != nil {
		return nil, err
	}
	a, err := d.lay(X, "", be, all)
	if err != nil {
		return nil, err
	}
	s := &Sum{
		builder: builder{laid: a}, prec: opt.Precision, weights: make([]float64, len(d)), ctx: context.Background(),
	}
	phase.Do(ctx, phase.FormK, func(ctx context.Context) { err = s.center(ctx) })
	return s, err
}

// Dim is l.
func (s *Sum) Dim() int { return s.X.Rows }

// Len is the number of kernels.
func (s *Sum) Len() int { return len(s.d) }

// Until makes the evaluation of kernels in all methods end once ctx has ended, until the next call of Until. The result
// of a method is then undefined, and the caller checks ctx first.
func (s *Sum) Until(ctx context.Context) { s.ctx = ctx }

// SetWeights makes the operator K_η. The next use of K_η forms it.
func (s *Sum) SetWeights(eta []float64) {
	if len(eta) != len(s.d) {
		panic("kernel: one weight for each kernel")
	}
	copy(s.weights, eta)
}

// form is K_η at the present weights; after an error it is formed anew.
func (s *Sum) form(ctx context.Context) (blas.Packed, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.formed != nil && slices.Equal(s.formed, s.weights) {
		return s.packed, nil
	}
	if s.packed == nil {
		s.packed = s.be.NewPacked(s.X.Rows, s.prec)
	}
	var shift []float64
	for j := range s.d {
		if k := &s.d[j]; k.Center && s.weights[j] != 0 {
			if shift == nil {
				shift = make([]float64, s.X.Rows)
			}
			for i, v := range k.Means {
				shift[i] += s.weights[j] * (v - k.Mean/2)
			}
		}
	}
	var err error
	s.formed = nil
	phase.Do(ctx, phase.FormK, func(ctx context.Context) {
		err = each(ctx, s.tiles(0), func(_ int, at position, t *scratch) { s.set(at, shift, t) })
	})
	if err != nil {
		return nil, err
	}
	s.packed.Complete()
	s.formed = slices.Clone(s.weights)
	return s.packed, nil
}

// kept is K_η, which is formed as Until says.
func (s *Sum) kept() blas.Packed {
	_, _ = s.form(s.ctx) // only its end fails it
	return s.packed
}

// Apply computes dst = K_η·x.
func (s *Sum) Apply(dst, x blas.General) { s.kept().Mul(dst, x) }

// Dense writes K_η to dst.
func (s *Sum) Dense(dst blas.General) { blas.Unpack(dst, s.kept()) }

// ApplyTerm computes dst = K_j·x.
func (s *Sum) ApplyTerm(dst, x blas.General, j int) {
	c, err := s.d[j:j+1].Crossing([]float64{1}, s.X, s.be)
	if err == nil {
		err = c.Mul(dst, s.X, x)
	}
	if err != nil { // the rows have been evaluated before
		panic("kernel: " + err.Error())
	}
}

// DenseTerm writes K_j to dst.
func (s *Sum) DenseTerm(dst blas.General, j int) {
	one := blas.NewGeneral(s.X.Rows, s.X.Rows)
	for i := range s.X.Rows {
		one.Data[i*s.X.Rows+i] = 1
	}
	s.ApplyTerm(dst, one, j)
}

// Diag writes the diagonal of K_j to dst.
func (s *Sum) Diag(dst []float64, j int) {
	if len(dst) != s.X.Rows {
		panic("kernel: Diag: shape mismatch")
	}
	only := func(k int) bool { return k == j }
	_ = each(context.Background(), s.tiles(0), func(_ int, at position, t *scratch) {
		row, rows, cols := s.shape(at)
		if row+rows > at.j0+cols {
			return // left of the block on the diagonal
		}
		k := &s.d[j]
		s.rows(at, t, only, func(_, i int, value []float64) {
			if dst[row+i] = value[row+i-at.j0]; k.Center {
				dst[row+i] -= 2*k.Means[row+i] - k.Mean
			}
		})
	})
}

// Forms computes dst[i] = ⟨U, K_{idx[i]} V⟩. It forms U·Vᵀ + V·Uᵀ tile by tile, and adds up its inner products with the
// tiles of the kernels on the lower triangle.
func (s *Sum) Forms(dst []float64, U, V blas.General, idx []int) {
	if len(dst) != len(idx) || U.Rows != s.X.Rows || V.Rows != s.X.Rows || V.Cols != U.Cols {
		panic("kernel: Forms: shape mismatch")
	}
	clear(dst)
	if len(idx) == 0 || U.Cols == 0 {
		return
	}
	part := make([]float64, len(s.tiles(0))*len(idx))
	_ = each(s.ctx, s.tiles(0), func(i int, at position, t *scratch) {
		s.forms(part[i*len(idx):(i+1)*len(idx)], at, U, V, idx, t)
	})
	for i, v := range part {
		dst[i%len(idx)] += v
	}
}

// forms sets out to the parts of ⟨U, K_j V⟩ that a tile has.
func (s *Sum) forms(out []float64, at position, U, V blas.General, idx []int, t *scratch) {
	row, rows, cols := s.shape(at)
	blas.FormTile(s.be, t.sum, U, V, row, rows, at.j0, cols)
	s.rows(at, t, func(j int) bool { return slices.Contains(idx, j) }, func(j, i int, value []float64) {
		if k := &s.d[j]; k.Center {
			for c := range value {
				value[c] -= k.Means[row+i] + k.Means[at.j0+c] - k.Mean
			}
		}
		out[slices.Index(idx, j)] += blas.Dot(value, t.sum[i*cols:(i+1)*cols])
	})
}

// rows calls f for each row i of a tile of each kernel in use, without what centring takes off.
func (s *Sum) rows(at position, t *scratch, in func(j int) bool, f func(j, i int, value []float64)) {
	row, rows, cols := s.shape(at)
	for family, fam := range s.fams {
		if !slices.ContainsFunc(fam.members, in) {
			continue
		}
		at.family = family
		s.metric(at, row, rows, cols, t.tile)
		for _, j := range fam.members {
			if !in(j) {
				continue
			}
			for i := range rows {
				s.values(t.line[:cols], t.tile[i*cols:(i+1)*cols], j, row+i, at.j0)
				f(j, i, t.line[:cols])
			}
		}
	}
}

// center finds the training means of centred kernels, K_j·1/l.
func (s *Sum) center(ctx context.Context) error {
	mean := blas.Vector(slices.Repeat([]float64{1 / float64(s.X.Rows)}, s.X.Rows))
	for j := range s.d {
		k := &s.d[j]
		if !k.Center {
			continue
		}
		plain := *k
		plain.Center = false
		c, err := Dictionary{plain}.Crossing([]float64{1}, s.X, s.be)
		if err != nil {
			return err
		}
		k.Means, k.Mean = make([]float64, s.X.Rows), 0
		for lo := 0; lo < s.X.Rows; lo += meanRows {
			rows := min(meanRows, s.X.Rows-lo)
			if err := ctx.Err(); err != nil {
				return err
			}
			err := c.Mul(blas.Vector(k.Means[lo:lo+rows]), blas.View(s.X, lo, 0, rows, s.X.Cols), mean)
			if err != nil {
				return err
			}
		}
		for _, v := range k.Means {
			k.Mean += v / float64(s.X.Rows)
		}
	}
	return nil
}

// meanRows is the number of rows between two looks at the context.
const meanRows = 1024

// shape is the first row of a tile, and how many rows and columns it has.
func (s *Sum) shape(at position) (row, rows, cols int) {
	row, rows, stored, _ := (&blas.Sym{N: s.X.Rows}).Panel(at.p)
	return row, rows, min(tileCols, stored-at.j0)
}

// set sets one tile of K_η, of whose elements centring takes shift_i + shift_k.
func (s *Sum) set(at position, shift []float64, t *scratch) {
	row, rows, cols := s.shape(at)
	clear(t.sum)
	if shift != nil {
		for i := range rows {
			for c := range cols {
				t.sum[i*cols+c] = -(shift[row+i] + shift[at.j0+c])
			}
		}
	}
	s.rows(at, t, func(j int) bool { return s.weights[j] != 0 }, func(j, i int, value []float64) {
		blas.Axpy(s.weights[j], value, t.sum[i*cols:(i+1)*cols])
	})
	for i := range rows {
		s.packed.Set(row+i, at.j0, t.sum[i*cols:][:max(min(cols, row+i+1-at.j0), 0)])
	}
}
