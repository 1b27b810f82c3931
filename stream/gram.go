// Products with the Gram matrix of the features, each in a pass over the rows.

package stream

import (
	"cmp"
	"fmt"
	"io"
	"math"

	"github.com/iokl/iokl/blas"
)

// Gram is the operator Γ = ZᵀWZ, with the weights W of the rows, for a D at which D² numbers do not fit into memory.
// Each product reads the rows again, Γv = Σ_blocks Z_bᵀW_b(Z_b v): 4lDk flops for k columns, and 8·BlockRows·(D+k)
// bytes. It is a [linop.Operator] that can fail. After an error Apply fills dst with NaN, which no solver accepts as a
// solution, and Err returns the error.
type Gram struct {
	features Features
	open     func() (Source, error)
	rows     int
	be       blas.Backend
	ranks    Ranks
	z, t     blas.General
	err      error
}

// NewGram returns the operator of the rows that open returns, from the first row on, at each call. A source that is an
// io.Closer is closed after its pass. The ranks of a parallel job, nil for this process alone, add up the products of
// their rows, and must all multiply the same columns.
func NewGram(features Features, open func() (Source, error), opt Options, ranks Ranks) *Gram {
	opt.fill()
	return &Gram{features: features, open: open, rows: opt.BlockRows, be: blas.Or(opt.Backend), ranks: ranks}
}

// Dim is D.
func (g *Gram) Dim() int { return g.features.Dim() }

// Err is the first error of a product. All later products fail.
func (g *Gram) Err() error {
	if g.err == nil {
		return nil
	}
	return fmt.Errorf("stream: multiplying by the feature Gram matrix: %w", g.err)
}

// Apply computes dst = Γ·x for D×k blocks, in one pass over the data.
func (g *Gram) Apply(dst, x blas.General) {
	blas.Zero(dst)
	if g.err == nil {
		g.err = g.pass(func(z blas.General, weights []float64) {
			g.t = blas.Reshape(g.t, z.Rows, x.Cols)
			blas.Mul(g.be, g.t, false, false, z, x)
			for i, w := range weights {
				blas.Scal(w, blas.Row(g.t, i))
			}
			blas.Gemm(g.be, true, false, 1, z, g.t, 1, dst)
		})
	}
	if g.err != nil { // the other ranks wait for it
		blas.Fill(dst, math.NaN())
	}
	if g.ranks == nil {
		return
	}
	sum := blas.Clone(dst)
	if err := g.ranks.Allreduce(sum.Data); err != nil {
		g.err = cmp.Or(g.err, fmt.Errorf("adding up the products of the ranks: %w", err))
		blas.Fill(sum, math.NaN())
	}
	blas.Copy(dst, sum)
}

// pass calls f on the features and weights of every block of at most BlockRows rows.
func (g *Gram) pass(f func(z blas.General, weights []float64)) error {
	src, err := g.open()
	if err != nil {
		return err
	}
	if c, ok := src.(io.Closer); ok {
		defer c.Close()
	}
	for b, err := range blocks(src) {
		for lo := 0; lo < b.X.Rows; lo += g.rows {
			part := b.Part(lo, min(lo+g.rows, b.X.Rows)).seen()
			g.z = blas.Reshape(g.z, part.X.Rows, g.Dim())
			if err := g.features.Transform(g.z, part.X); err != nil {
				return fmt.Errorf("%s, from row %d: %w", part.Source, part.Row, err)
			}
			f(g.z, part.Weights)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
