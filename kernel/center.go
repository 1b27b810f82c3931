// Centring of Gram matrices in feature space.

package kernel

import (
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/par"
)

// center stores the training means of the Gram matrix g in the kernel and
// centres g in place: k(x,z) − k̄(x) − k̄(z) + k̄̄.
func (k *Kernel) center(g *blas.Sym) {
	if g.Prec == blas.Float32 {
		centerElements(k, g, g.F32)
	} else {
		centerElements(k, g, g.F64)
	}
}

// centerElements is center for the elements of g.
func centerElements[T float32 | float64](k *Kernel, g *blas.Sym, elements []T) {
	k.Means = rowMeans(g, elements)
	k.Mean = 0
	for _, v := range k.Means {
		k.Mean += v / float64(g.N)
	}
	par.For(g.Panels(), func(p int) {
		row, rows, cols, off := g.Panel(p)
		for i := range rows {
			mean := k.Means[row+i]
			line := elements[off+i*cols:][:cols]
			for c, v := range line { // the sum of two means has no order, and the block on the diagonal stays symmetric
				line[c] = T(float64(v) - (mean + k.Means[c] - k.Mean))
			}
		}
	})
}

// rowMeans is the mean of each row of the full matrix. Row sums of block b come
// from its own block row and from the columns of the later ones, in order.
func rowMeans[T float32 | float64](g *blas.Sym, elements []T) []float64 {
	means := make([]float64, g.N)
	par.For(g.Panels(), func(b int) {
		row, rows, cols, off := g.Panel(b)
		part := means[row : row+rows]
		for i := range rows {
			for c := range cols {
				part[i] += float64(elements[off+i*cols+c])
			}
		}
		for p := b + 1; p < g.Panels(); p++ {
			_, below, stride, start := g.Panel(p)
			for r := range below {
				for i := range part {
					part[i] += float64(elements[start+r*stride+row+i])
				}
			}
		}
		blas.Scal(1/float64(g.N), part)
	})
	return means
}
