// Packed symmetric matrices, and the choice between the ways to multiply by them.

package native

// Symmetric is a symmetric matrix A of order n in the layout the micro-kernels
// read: panels of mr rows, each stored column by column. Few columns are multiplied
// by the lower triangle alone, which is a prefix of each panel, many by whole panels.
// Up to the order wholeOrder both triangles are stored; element (i,j) then stands at
// ((i/mr)·n + j)·mr + i mod mr. Beyond it the prefixes alone are, and a product with
// many columns transposes the blocks on the other side of the diagonal as it reads them.
//
// Multiply may be called from several goroutines at once.
type Symmetric struct {
	n      int
	double *panels[float64] // one of the two is nil
	single *panels[float32]
	few    *fewer // the product with few columns; nil where the level has no kernel for it
}

// wholeOrder is the largest order of which both triangles are stored: 512 MiB in double precision.
const wholeOrder = 8192

// NewSymmetric returns the zero matrix of order n, stored and multiplied in
// single precision when single is set.
func (b *BLAS) NewSymmetric(n int, single bool) *Symmetric {
	return b.newSymmetric(n, single, n <= wholeOrder)
}

func (b *BLAS) newSymmetric(n int, single, whole bool) *Symmetric {
	s := &Symmetric{n: n}
	if single {
		s.single = newPanels(b.s, n, whole)
	} else {
		s.double = newPanels(b.d.engine, n, whole)
	}
	s.few = newFewer(b, s)
	return s
}

func (s *Symmetric) whole() bool {
	if s.single != nil {
		return s.single.whole
	}
	return s.double.whole
}

// rows is the number of rows of a panel.
func (s *Symmetric) rows() int {
	if s.single != nil {
		return s.single.rows
	}
	return s.double.rows
}

// Bytes is the memory of the elements.
func (s *Symmetric) Bytes() int64 {
	if s.single != nil {
		return 4 * int64(len(s.single.data))
	}
	return 8 * int64(len(s.double.data))
}

// SymmetricBytes is the memory of the elements of NewSymmetric(n, single), as a number of any size.
func (b *BLAS) SymmetricBytes(n int, single bool) float64 {
	size, mr := 8., b.d.mr
	if single {
		size, mr = 4, b.s.mr
	}
	rows, padded := float64(n), float64((n+mr-1)/mr*mr)
	if n > wholeOrder {
		rows = (padded + float64(mr)) / 2
	}
	return size * padded * rows
}

// Set makes line the elements (i,j), (i,j+1), … of the lower triangle, j+len(line) ≤ i+1.
// Several goroutines may set different elements at once. Complete must follow.
func (s *Symmetric) Set(i, j int, line []float64) {
	if s.single != nil {
		s.single.set(i, j, line)
	} else {
		s.double.set(i, j, line)
	}
}

// Complete makes what Set has set that of both triangles.
func (s *Symmetric) Complete() {
	if s.single != nil {
		s.single.complete()
	} else {
		s.double.complete()
	}
}

// Row writes the first len(dst) elements of row i to dst.
func (s *Symmetric) Row(i int, dst []float64) {
	for j := range dst {
		dst[j] = s.At(i, j)
	}
}

// At is the element (i,j).
func (s *Symmetric) At(i, j int) float64 {
	if s.single != nil {
		return float64(s.single.data[s.single.at(i, j)])
	}
	return s.double.data[s.double.at(i, j)]
}

// Multiply computes dst = A·x for row-major n×k blocks of strides ldd and ldx.
// dst is not read and does not overlap x. After the first call of a k nothing is
// allocated.
//
// Up to eight columns, fewer in single precision or with shorter vectors and more where one triangle is stored, each
// element of the lower triangle is read once and used twice, in double precision whatever the storage. More columns
// are multiplied by whole panels in the precision of the storage; in single precision each column is scaled by a power
// of two so that it cannot overflow.
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
