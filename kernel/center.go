// This file centres Gram matrices in feature space.

package kernel

import (
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/par"
)

// center stores the training means of the Gram matrix g in the kernel and
// centres g in place: k(x,z) − k̄(x) − k̄(z) + k̄̄.
func (k *Kernel) center(g *blas.Sym) {
	k.Means = rowMeans(g)
	k.Mean = 0
	for _, v := range k.Means {
		k.Mean += v / float64(g.N)
	}
	par.For(g.Panels(), func(p int) {
		row, rows, cols, off := g.Panel(p)
		for i := range rows {
			shift := k.Mean - k.Means[row+i]
			at := off + i*cols
			if g.Prec == blas.Float32 {
				for c, v := range g.F32[at : at+cols] {
					g.F32[at+c] = float32(float64(v) + (shift - k.Means[c]))
				}
				continue
			}
			for c, v := range g.F64[at : at+cols] {
				g.F64[at+c] = v + (shift - k.Means[c])
			}
		}
		symmetrize(g, p)
	})
}

// symmetrize copies the lower half of the diagonal block p over the upper one:
// the two halves were shifted in a different order.
func symmetrize(g *blas.Sym, p int) {
	row, rows, cols, off := g.Panel(p)
	for i := range rows {
		for j := range i {
			lower, upper := off+i*cols+row+j, off+j*cols+row+i
			if g.Prec == blas.Float32 {
				g.F32[upper] = g.F32[lower]
			} else {
				g.F64[upper] = g.F64[lower]
			}
		}
	}
}

// rowMeans is the mean of each row of the full matrix. Row sums of block b come
// from its own block row and from the columns of the later ones, in order.
func rowMeans(g *blas.Sym) []float64 {
	means := make([]float64, g.N)
	par.For(g.Panels(), func(b int) {
		row, rows, cols, off := g.Panel(b)
		part := means[row : row+rows]
		for i := range rows {
			for c := range cols {
				part[i] += element(g, off+i*cols+c)
			}
		}
		for p := b + 1; p < g.Panels(); p++ {
			_, below, stride, start := g.Panel(p)
			for r := range below {
				for i := range part {
					part[i] += element(g, start+r*stride+row+i)
				}
			}
		}
		blas.Scal(1/float64(g.N), part)
	})
	return means
}

// element is the stored element at an offset.
func element(g *blas.Sym, at int) float64 {
	if g.Prec == blas.Float32 {
		return float64(g.F32[at])
	}
	return g.F64[at]
}
