// This file builds weighted sums of Gram matrices that are not kept one by one.

package kernel

import (
	"context"
	"fmt"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/memory"
	"github.com/iokl/iokl/internal/par"
	"github.com/iokl/iokl/internal/phase"
)

// WeightedGram computes Σ_j w_j·K_j over the rows of X (l×d) as an operator of the backend's, tile by tile in parallel:
// nothing else of order l×l is made, however many kernels there are. Elements are rounded once, and the sum does not
// depend on the number of threads. Centred kernels are evaluated twice more, for the training means, which they store
// in the dictionary. opt.Into is not used. Errors as for Grams.
func (d Dictionary) WeightedGram(
	ctx context.Context, X blas.General, weights []float64, opt GramOptions,
) (blas.Packed, error) {
	if len(weights) != len(d) {
		panic("kernel: one weight for each kernel")
	}
	if err := d.ready(X); err != nil {
		return nil, err
	}
	be := blas.Or(opt.Backend)
	what := fmt.Sprintf("the sum of %d Gram matrices of %d samples in %v", len(d), X.Rows, opt.Precision)
	if err := memory.Within(opt.MaxBytes, what, be.PackedBytes(X.Rows, opt.Precision), useInstead); err != nil {
		return nil, err
	}
	b := summer{builder: builder{d: d, be: be, l: X.Rows}, weights: weights}
	if err := b.prepare(X); err != nil {
		return nil, err
	}
	b.K = be.NewPacked(X.Rows, opt.Precision)
	var err error
	phase.Do(ctx, phase.FormK, func(ctx context.Context) {
		if err = b.center(ctx, X); err == nil {
			err = b.run(ctx)
		}
	})
	return b.K, err
}

// summer adds up Gram matrices tile by tile.
type summer struct {
	builder
	weights []float64
	shift   []float64 // what centring takes off K_ik is shift_i + shift_k
	K       blas.Packed
}

// center finds the training means of centred kernels, K_j·1/l, and what they take off the sum:
// k̄(x) + k̄(z) − k̄̄ of each.
func (b *summer) center(ctx context.Context, X blas.General) error {
	b.shift = make([]float64, b.l)
	mean := blas.Vector(slices.Repeat([]float64{1 / float64(b.l)}, b.l))
	for j := range b.d {
		k := &b.d[j]
		if !k.Center {
			continue
		}
		plain := *k
		plain.Center = false
		c, err := Dictionary{plain}.Crossing([]float64{1}, X, b.be)
		if err != nil {
			return err
		}
		k.Means, k.Mean = make([]float64, b.l), 0
		for lo := 0; lo < b.l; lo += meanRows {
			rows := min(meanRows, b.l-lo)
			if err := ctx.Err(); err != nil {
				return err
			}
			err := c.Mul(blas.Vector(k.Means[lo:lo+rows]), blas.View(X, lo, 0, rows, X.Cols), mean)
			if err != nil {
				return err
			}
		}
		for _, v := range k.Means {
			k.Mean += v / float64(b.l)
		}
		for i, v := range k.Means {
			b.shift[i] += b.weights[j] * (v - k.Mean/2)
		}
	}
	return nil
}

// meanRows is the number of rows between two looks at the context.
const meanRows = 1024

func (b *summer) run(ctx context.Context) error {
	shape := &blas.Sym{N: b.l}
	var tiles []position
	for p := range shape.Panels() {
		_, _, cols, _ := shape.Panel(p)
		for j0 := 0; j0 < cols; j0 += tileCols {
			tiles = append(tiles, position{p: p, j0: j0})
		}
	}
	var free par.Free[sumScratch]
	par.For(len(tiles), func(i int) {
		if ctx.Err() != nil {
			return
		}
		s := free.Get()
		if s == nil {
			s = &sumScratch{
				scratch{make([]float64, tileRows*tileCols), make([]float64, tileCols)},
				make([]float64, tileRows*tileCols),
			}
		}
		b.tile(tiles[i], s)
		free.Put(s)
	})
	if err := ctx.Err(); err != nil {
		return err
	}
	b.K.Complete()
	return nil
}

// sumScratch is one worker's tile and line of a kernel, and the tile of the sum.
type sumScratch struct {
	scratch
	sum []float64
}

// tile sets one tile of the sum.
func (b *summer) tile(at position, s *sumScratch) {
	row, rows, stored, _ := (&blas.Sym{N: b.l}).Panel(at.p)
	cols := min(tileCols, stored-at.j0)
	for i := range rows {
		for c := range cols {
			s.sum[i*cols+c] = -(b.shift[row+i] + b.shift[at.j0+c])
		}
	}
	for f, fam := range b.fams {
		at.family = f
		b.metric(at, row, rows, cols, s.scratch.tile)
		for _, j := range fam.members {
			if b.weights[j] == 0 {
				continue
			}
			for i := range rows {
				value := s.line[:cols]
				b.values(value, s.scratch.tile[i*cols:(i+1)*cols], j, row+i, at.j0)
				blas.Axpy(b.weights[j], value, s.sum[i*cols:(i+1)*cols])
			}
		}
	}
	for i := range rows {
		b.K.Set(row+i, at.j0, s.sum[i*cols:][:max(min(cols, row+i+1-at.j0), 0)])
	}
}
