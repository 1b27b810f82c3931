// The contract of the micro-kernels, and their reference in Go.

package native

import "unsafe"

// tile is the one argument of a micro-kernel, which computes
//
//	c[i·ldc+j] = alpha·Σ_p a[p·MR+j]·b[p·rows+i] (+ c[i·ldc+j] when add is 1)
//
// for the rows 0 ≤ i < rows ≤ NR of the tile and its columns 0 ≤ j < width ≤ MR,
// with p from 0 to kc-1 in ascending order and one fused multiply-add each (the
// generic kernel rounds twice). What an element becomes does not depend on the
// shape of the tile it falls in.
//
// The contract is that of BLIS. a is a packed panel of kc·MR elements, which may hold anything beyond width, NaN
// included: columns from width on are computed and discarded. b is a packed panel of kc·rows elements. Neither needs
// alignment, neither is read outside. c is neither read nor written outside rows×width, and with add 0 it is not read
// at all: it may hold NaN.
//
// Where count is more than 1 and width is MR, it computes so many tiles of the row, by panels of a that follow each
// other, and counts them down.
//
// While it works the kernel fetches next into the second-level cache, lines
// cache lines for four steps of p, of AVX2 twice as many for eight; a fetch never
// faults, so next may be any address. kc ≥ 0.
//
// The mixed kernels read a as float32 from panels of 2·MR columns of which MR enter.
type tile struct {
	a, b, c     unsafe.Pointer
	ldc         int // in elements
	kc          int
	rows, width int
	count       int // of tiles; 0 and 1 are one
	add         int // 1 adds to c, 0 overwrites it
	alpha       float64
	next        unsafe.Pointer
	lines       int
	ldb         int // in elements, where b is not packed
}

// element is what the kernels compute with.
type element interface{ ~float32 | ~float64 }

// kernels are the routines of one instruction set for one element type.
type kernels[T element] struct {
	mr, nr int // the largest tile: mr columns, the direction of the vectors, by nr rows
	tile   func(*tile)

	// direct says that tile also takes nr rows whose b is not packed where ldb > 0: element (i,p) stands
	// at b[i·ldb+p]. It then fetches b by fetchAhead bytes before it reads it, and with AVX2 before each tile, in place
	// of next alone, so many lines of nr rows, the first at next and each ldb after the one before.
	direct bool

	// spread copies np rows of src, ld bytes apart, to so many panels of mr columns that lie panel bytes
	// apart; nil where it would gain nothing.
	spread func(dst, src unsafe.Pointer, ld, panel, np, panels int)

	// turn writes src[i·ld+p] to dst[p·w+i] for i < 8 and p < np, a positive multiple of 8; turn4 for i < 4, and a
	// positive multiple of what 32 bytes hold. Nil where they would gain nothing.
	turn, turn4 func(dst []T, w int, src []T, ld, np int)

	spin func(n int) int // n steps of multiply-adds on registers; returns the operations done, for measurements
}

// vectors are the routines on vectors of one instruction set. Slices have one length, at most vectorChunk, and what
// outer adds to has no more elements.
type vectors struct {
	dot   func(x, y []float64) float64                         // Σ x_i·y_i
	scal  func(alpha float64, x []float64)                     // x *= alpha
	dot4  func(a []float64, ld int, x []float64) [4]float64    // Σ_i a[q·ld+i]·x_i for q < 4
	axpy4 func(w [4]float64, a []float64, ld int, y []float64) // y_i += Σ_q w[q]·a[q·ld+i]
	symv  func(t symRows)                                      // y += a·x for groups of rows of a symmetric a

	// outer adds alpha·w_i·x to row i of a: to its first n + i·grow elements, for a grow of −1 those of x from i on.
	outer func(alpha float64, w, x []float64, n int, a []float64, ld, grow int)

	read func(x []float64) float64 // Σ x_i for a length that is a multiple of 32, for measurements
}

const (
	maxNR, maxMR = 8, 48
	fetchAhead   = 768 // bytes, AHEAD in the kernels
)

// tileGeneric is the reference of every micro-kernel.
func tileGeneric[T element](mr int) func(*tile) {
	one := func(t *tile) {
		a := unsafe.Slice((*T)(t.a), t.kc*mr)
		b := unsafe.Slice((*T)(t.b), t.kc*t.rows)
		var acc [maxNR * maxMR]T
		for p := range t.kc {
			ap := a[p*mr : p*mr+mr]
			for i, bv := range b[p*t.rows : (p+1)*t.rows] {
				row := acc[i*mr:][:len(ap)]
				for j, av := range ap {
					row[j] += av * bv
				}
			}
		}
		store(t, acc[:], mr)
	}
	return func(t *tile) {
		one(t)
		for size := unsafe.Sizeof(T(0)) * uintptr(mr); t.count > 1; t.count-- {
			t.a, t.c = unsafe.Add(t.a, uintptr(t.kc)*size), unsafe.Add(t.c, size)
			one(t)
		}
	}
}

// store writes the accumulated tile, of row length ld, to t.c.
func store[T element](t *tile, acc []T, ld int) {
	alpha := T(t.alpha)
	for i := range t.rows {
		c := unsafe.Slice((*T)(unsafe.Add(t.c, uintptr(i*t.ldc)*unsafe.Sizeof(alpha))), t.width)
		for j, v := range acc[i*ld : i*ld+t.width] {
			if t.add != 0 {
				c[j] += alpha * v
			} else {
				c[j] = alpha * v
			}
		}
	}
}

// generic is the reference table, which each level overrides where it has something faster.
func generic[T element]() kernels[T] {
	return kernels[T]{mr: 8, nr: 4, tile: tileGeneric[T](8), spin: spinGeneric[T]}
}

// genericVectors is the same for vectors.
var genericVectors = vectors{
	dot: dotGeneric, outer: outerGeneric, scal: scalGeneric, dot4: dot4Generic, axpy4: axpy4Generic,
	symv: symvBy(symv4Generic), read: readGeneric,
}
