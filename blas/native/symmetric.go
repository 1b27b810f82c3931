// This file holds packed symmetric matrices, and chooses how they are multiplied.

package native

// Symmetric is a symmetric matrix A of order n in the layout the micro-kernels
// read: panels of mr rows, each stored column by column. Element (i,j) stands at
// ((i/mr)·n + j)·mr + i mod mr. Both triangles are stored: many columns are
// multiplied by whole panels, few columns by the lower triangle alone, which is a
// prefix of each panel.
//
// Multiply may be called from several goroutines at once.
type Symmetric struct {
	n      int
	double *panels[float64] // one of the two is nil
	single *panels[float32]
	few    *fewer // the product with few columns; nil where the level has no kernel for it
}

// NewSymmetric returns the zero matrix of order n, stored and multiplied in
// single precision when single is set.
func (b *BLAS) NewSymmetric(n int, single bool) *Symmetric {
	s := &Symmetric{n: n}
	if single {
		s.single = newPanels(b.s, n)
	} else {
		s.double = newPanels(b.d, n)
	}
	s.few = newFewer(b, s)
	return s
}

// Bytes is the memory of the elements.
func (s *Symmetric) Bytes() int64 {
	if s.single != nil {
		return 4 * int64(len(s.single.data))
	}
	return 8 * int64(len(s.double.data))
}

// SetRow sets the elements (j,0) to (j,j) to the first j+1 elements of line.
// Rows may be set from several goroutines at once. Complete must follow.
func (s *Symmetric) SetRow(j int, line []float64) {
	if s.single != nil {
		s.single.setRow(j, line)
	} else {
		s.double.setRow(j, line)
	}
}

// Complete copies the triangle that SetRow has set over the other one.
func (s *Symmetric) Complete() {
	if s.single != nil {
		s.single.complete()
	} else {
		s.double.complete()
	}
}

// Row writes row i, of n elements, to dst.
func (s *Symmetric) Row(i int, dst []float64) {
	for j := range dst[:s.n] {
		if s.single != nil {
			dst[j] = float64(s.single.data[s.single.at(i, j)])
		} else {
			dst[j] = s.double.data[s.double.at(i, j)]
		}
	}
}

// Multiply computes dst = A·x for row-major n×k blocks of strides ldd and ldx.
// dst is not read and does not overlap x. After the first call of a k nothing is
// allocated.
//
// Up to eight columns, fewer in single precision or with shorter vectors, each element of the lower triangle is read
// once and used twice, in double precision whatever the storage. More columns are multiplied by whole panels in the
// precision of the storage; in single precision each column is scaled by a power of two so that it cannot overflow.
// What a column becomes among many does not depend on the others or their number; among few its rounding may.
func (s *Symmetric) Multiply(k int, dst []float64, ldd int, x []float64, ldx int) {
	checkSizes(k)
	checkStride("dst", ldd, k)
	checkStride("x", ldx, k)
	if s.n == 0 || k == 0 {
		return
	}
	checkLen("dst", len(dst), s.n, k, ldd)
	checkLen("x", len(x), s.n, k, ldx)
	switch {
	case s.few != nil && k <= s.few.most:
		s.few.multiply(k, dst, ldd, x, ldx)
	case s.single != nil:
		s.single.multiply(k, dst, ldd, x, ldx)
	default:
		s.double.multiply(k, dst, ldd, x, ldx)
	}
}
