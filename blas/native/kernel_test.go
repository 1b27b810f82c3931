package native

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	gblas "gonum.org/v1/gonum/blas"
)

// unit is the rounding unit of T.
func unit[T element]() float64 {
	var v T
	if unsafe.Sizeof(v) == 4 {
		return 0x1p-24
	}
	return 0x1p-53
}

func fill[T element](rng *rand.Rand, v []T) []T {
	for i := range v {
		v[i] = T(rng.NormFloat64())
	}
	return v
}

// near fails when got and want differ by more than rounding of a sum of n terms of magnitude size.
func near[T element](t *testing.T, what string, got, want T, n int, size float64) {
	t.Helper()
	if !(math.Abs(float64(got)-float64(want)) <= 4*float64(n+4)*unit[T]()*size) {
		t.Fatalf("%s: %v, want %v", what, got, want)
	}
}

// TestTiles compares every micro-kernel with the generic one on all shapes, with
// its operands against unreadable pages and NaN around the tile of c.
func TestTiles(t *testing.T) {
	eachLevel(t, func(t *testing.T, b *BLAS) {
		t.Run("float64", func(t *testing.T) { tiles(t, b.d.kernels); tileRuns(t, b.d.kernels) })
		t.Run("float32", func(t *testing.T) { tiles(t, b.s.kernels); tileRuns(t, b.s.kernels) })
	})
}

func tiles[T element](t *testing.T, k kernels[T]) {
	rng := rand.New(rand.NewPCG(3, 1))
	for _, kc := range []int{0, 1, 3, 4, 7, 66} {
		for width := 1; width <= k.mr; width++ {
			for rows := 1; rows <= k.nr; rows++ {
				tileOnce(t, rng, k, kc, rows, width, 0)
			}
			if k.direct {
				tileOnce(t, rng, k, kc, k.nr, width, kc)
				tileOnce(t, rng, k, kc, k.nr, width, kc+1)
			}
		}
	}
}

// tileRuns compares tiles of one row in one call of a micro-kernel with one call for each.
func tileRuns[T element](t *testing.T, k kernels[T]) {
	rng := rand.New(rand.NewPCG(3, 2))
	const count = 3
	for _, kc := range []int{0, 1, 7, 66} {
		for rows := 1; rows <= k.nr; rows++ {
			for _, ldb := range []int{0, kc + 1} {
				if ldb > 0 && (!k.direct || rows < k.nr) {
					continue
				}
				a, b := make([]T, count*kc*k.mr+1), make([]T, rows*(kc+1)+1)
				ldc := count*k.mr + 1
				c := make([]T, rows*ldc)
				fill(rng, a)
				fill(rng, b)
				fill(rng, c)
				want := slices.Clone(c)
				tile := func(c []T, at, count int) {
					k.tile(&tile{
						a: unsafe.Pointer(&a[at*kc*k.mr]), b: unsafe.Pointer(&b[0]), c: unsafe.Pointer(&c[at*k.mr]),
						ldc: ldc, kc: kc, rows: rows, width: k.mr, count: count, add: 1, alpha: -1.5,
						next: unsafe.Pointer(&b[0]), lines: 1, ldb: ldb,
					})
				}
				tile(c, 0, count)
				for at := range count {
					tile(want, at, 1)
				}
				if !slices.Equal(c, want) {
					t.Fatalf("kc %d, %d rows, ldb %d: one call differs from one for each tile", kc, rows, ldb)
				}
			}
		}
	}
}

// tileOnce tries one shape; with a positive ldb, b is unpacked.
func tileOnce[T element](t *testing.T, rng *rand.Rand, k kernels[T], kc, rows, width, ldb int) {
	t.Helper()
	sizeB := kc * rows
	at := func(p, i int) int { return p*rows + i }
	if ldb > 0 {
		sizeB = (rows-1)*ldb + kc
		at = func(p, i int) int { return i*ldb + p }
	}
	mem := atPageEndOnce[T](t, k.mr, k.nr)
	ldc := k.mr + 1
	a, b := mem.a[len(mem.a)-kc*k.mr:], mem.b[len(mem.b)-sizeB:]
	fill(rng, a)
	fill(rng, b)
	for i := range a { // what lies beyond the width must not matter
		if i%k.mr >= width {
			a[i] = T(math.NaN())
		}
	}
	c := mem.c[len(mem.c)-((rows-1)*ldc+width):]
	old := make([]T, len(c))
	for add := range 2 {
		for i := range c {
			c[i] = T(math.NaN())
			if add == 1 && i%ldc < width {
				c[i] = T(rng.NormFloat64())
			}
		}
		copy(old, c)
		t1 := &tile{
			a: unsafe.Pointer(unsafe.SliceData(a)), b: unsafe.Pointer(unsafe.SliceData(b)), c: unsafe.Pointer(&c[0]),
			ldc: ldc, kc: kc, rows: rows, width: width, add: add, alpha: -1.5,
			next: unsafe.Pointer(&c[0]), lines: add, ldb: ldb,
		}
		k.tile(t1)
		for i := range c {
			r, j := i/ldc, i%ldc
			if j >= width {
				if c[i] == c[i] {
					t.Fatalf("kc %d, %d×%d: element (%d,%d) outside the tile was written", kc, rows, width, r, j)
				}
				continue
			}
			var want T
			var size float64
			for p := range kc {
				want += a[p*k.mr+j] * b[at(p, r)]
				size += math.Abs(float64(a[p*k.mr+j] * b[at(p, r)]))
			}
			want *= -1.5
			if add == 1 {
				want += old[i]
				size += math.Abs(float64(old[i]))
			}
			near(t, "tile", c[i], want, kc, 1.5*size)
		}
	}
}

// guarded are the operands of one kernel, each against the end of its pages.
type guarded[T element] struct{ a, b, c []T }

var guardedMemory = map[[3]int]any{}

// atPageEndOnce keeps the guarded memory of a kernel's largest tile.
func atPageEndOnce[T element](t *testing.T, mr, nr int) guarded[T] {
	t.Helper()
	var v T
	key := [3]int{mr, nr, int(unsafe.Sizeof(v))}
	if g, ok := guardedMemory[key].(guarded[T]); ok {
		return g
	}
	g := guarded[T]{atPageEnd[T](t, 66*mr), atPageEnd[T](t, 67*nr), atPageEnd[T](t, nr*(mr+1))}
	guardedMemory[key] = g
	t.Cleanup(func() { delete(guardedMemory, key) })
	return g
}

// TestVectors compares the vector kernels with the generic ones for all lengths
// from 0 to 66 at two alignments, against unreadable pages.
func TestVectors(t *testing.T) {
	eachLevel(t, func(t *testing.T, b *BLAS) { vectorLengths(t, b.d.vectors) })
}

func vectorLengths(t *testing.T, k vectors) {
	rng := rand.New(rand.NewPCG(5, 1))
	const most = 67
	x, y, m := atPageEnd[float64](t, most), atPageEnd[float64](t, most), atPageEnd[float64](t, 4*(most+3))
	for n := 0; n < most; n++ {
		for shift := range 2 {
			if n+shift > most {
				continue
			}
			end := most - shift
			vectorOnce(t, rng, k, x[end-n:end], y[end-n:end], m[len(m)-shift-3*(n+3)-n:len(m)-shift], n+3)
		}
	}
}

// vectorOnce tries every vector kernel on x and y and the four rows in a.
func vectorOnce(t *testing.T, rng *rand.Rand, k vectors, x, y, a []float64, ld int) {
	t.Helper()
	n := len(x)
	fill(rng, x)
	fill(rng, y)
	fill(rng, a)
	size := 20 * float64(n+1)
	near(t, "dot", k.dot(x, y), dotGeneric(x, y), n, size)

	want := append([]float64(nil), x...)
	scalGeneric(-1.3, want)
	k.scal(-1.3, x)
	same(t, "scal", x, want, size)

	r, s := k.dot4(a, ld, x), dot4Generic(a, ld, x)
	same(t, "dot4", r[:], s[:], size)

	w := [4]float64{1.5, -0.5, 2, 0.25}
	want = append(want[:0], y...)
	axpy4Generic(w, a, ld, want)
	k.axpy4(w, a, ld, y)
	same(t, "axpy4", y, want, size)
}

// TestOuter compares sums of a matrix and an outer product, of rows of one length and of rows that grow or shrink, with
// their definition, against unreadable pages.
func TestOuter(t *testing.T) {
	eachLevel(t, func(t *testing.T, b *BLAS) {
		rng := rand.New(rand.NewPCG(7, 1))
		const most, rows = 37, 6
		xs, m := atPageEnd[float64](t, most+rows), atPageEnd[float64](t, rows*(most+rows+4))
		for n := range most {
			for grow := -1; grow <= 1; grow++ {
				for count := range rows {
					last := n + max(count-1, 0)*grow
					if last < 0 {
						continue
					}
					w, ld := fill(rng, make([]float64, count)), most+rows+1
					x := fill(rng, xs[len(xs)-max(n, last):])
					a := fill(rng, m[len(m)-max(count-1, 0)*ld-last:])
					want := append([]float64(nil), a...)
					for i, v := range w {
						for j := range n + i*grow {
							want[i*ld+j] += 0.7 * v * x[max(-i*grow, 0)+j]
						}
					}
					b.d.outer(0.7, w, x, n, a, ld, grow)
					same(t, "outer", a, want, 20)
				}
			}
		}
	})
}

// TestSymv compares symmetric products with their definition, by either triangle, whole and in groups of rows. Operands
// stand against unreadable pages, and the other triangle is NaN.
func TestSymv(t *testing.T) {
	eachLevel(t, func(t *testing.T, b *BLAS) {
		rng := rand.New(rand.NewPCG(6, 1))
		const most = 53
		m, xs, ys := atPageEnd[float64](t, most*(most+3)), atPageEnd[float64](t, most), atPageEnd[float64](t, most)
		for n := 1; n <= most; n++ {
			for _, lda := range []int{n, n + 3} {
				for _, ul := range []gblas.Uplo{gblas.Lower, gblas.Upper} {
					a, x, y := m[len(m)-(n-1)*lda-n:], fill(rng, xs[most-n:]), fill(rng, ys[most-n:])
					product, parts := make([]float64, n), make([]float64, 3*n)
					for i := range a {
						a[i] = math.NaN()
					}
					for i := range n {
						lo, hi := 0, i+1
						if ul == gblas.Upper {
							lo, hi = i, n
						}
						for j := lo; j < hi; j++ {
							v := rng.NormFloat64()
							a[i*lda+j] = v
							product[i] += v * x[j]
							if i != j {
								product[j] += v * x[i]
							}
						}
					}
					for g := range 3 {
						b.d.symvGroup(ul, n, g, 3, a, lda, x, parts)
					}
					want := append([]float64(nil), y...)
					for i, v := range product {
						want[i] += 0.7 * v
						near(t, "groups", parts[i]+parts[n+i]+parts[2*n+i], v, n, 20)
					}
					b.Dsymv(ul, n, 0.7, a, lda, x, 1, 1, y, 1)
					same(t, fmt.Sprintf("order %d, %c", n, ul), y, want, 20)
				}
			}
		}
	})
}

func same[T element](t *testing.T, what string, got, want []T, size float64) {
	t.Helper()
	for i := range want {
		near(t, what, got[i], want[i], len(got), size)
	}
}

// TestFew compares the kernels for few columns, and those for the blocks on the diagonal, with
// their definition, their operands against unreadable pages.
func TestFew(t *testing.T) {
	eachLevel(t, func(t *testing.T, b *BLAS) {
		t.Run("double", func(t *testing.T) { fewOnce[float64](t, b, false, b.d.mr) })
		t.Run("single", func(t *testing.T) { fewOnce[float32](t, b, true, b.s.mr) })
	})
}

// fewOnce reads the last rows of a panel of the storage, which has mr, or two whole panels.
func fewOnce[T element](t *testing.T, b *BLAS, single bool, mr int) {
	k, ok := fewKernelsOf(b.level, single)
	if !ok {
		t.Skip("this level multiplies few columns as it does many")
	}
	rng := rand.New(rand.NewPCG(9, 9))
	const ld = 200
	wide := max(mr, k.rows)
	at := func(i, j, cols int) int { i += wide - k.rows; return (i/mr*cols+j)*mr + i%mr }
	panel := atPageEnd[T](t, fewSegment*wide)
	x, y := atPageEnd[float64](t, 4*ld), atPageEnd[float64](t, 4*ld)
	for _, cols := range []int{k.rows, 3 * k.rows, fewSegment} {
		for _, rhs := range slices.Compact([]int{1, 2, k.block}) {
			a := fill(rng, panel[len(panel)-cols*wide:])
			fill(rng, x)
			fill(rng, y)
			old := append([]float64(nil), y...)
			// The elements of the columns end with the memory, those of the rows stand before them.
			first := len(x) - (rhs-1)*ld - cols
			rows := first - k.rows - 3
			k.few(&fewTile{
				a: unsafe.Pointer(&a[at(0, 0, cols)]), half: unsafe.Pointer(&a[at(k.rows/2, 0, cols)]),
				x: unsafe.Pointer(&x[first]), y: unsafe.Pointer(&y[first]),
				xr: unsafe.Pointer(&x[rows]), yr: unsafe.Pointer(&y[rows]), ld: ld, cols: cols, k: rhs,
			})
			want := old
			for c := range rhs {
				for j := range cols {
					for i := range k.rows {
						v := float64(a[at(i, j, cols)])
						want[rows+c*ld+i] += v * x[first+c*ld+j]
						want[first+c*ld+j] += v * x[rows+c*ld+i]
					}
				}
			}
			same(t, "few", y, want, 100)
		}
	}
	for kc := 1; kc <= k.rows; kc++ {
		for rhs := 1; rhs <= k.most; rhs++ {
			a, xs, c := fill(rng, panel[len(panel)-kc*mr:]), fill(rng, x[len(x)-kc*rhs:]), y[len(y)-rhs*k.wide:]
			clear(c)
			k.diag(&tile{
				a: unsafe.Pointer(&a[mr-k.wide]), b: unsafe.Pointer(&xs[0]), c: unsafe.Pointer(&c[0]),
				ldc: k.wide, kc: kc, rows: rhs, width: k.wide, add: 1, alpha: 1,
			})
			want := make([]float64, len(c))
			for i := range want {
				for p := range kc {
					want[i] += float64(a[p*mr+mr-k.wide+i%k.wide]) * xs[p*rhs+i/k.wide]
				}
			}
			same(t, "diag", c, want, 100)
		}
	}
}

// TestTurn checks the transposition of some rows against unreadable pages.
func TestTurn(t *testing.T) {
	eachLevel(t, func(t *testing.T, b *BLAS) {
		t.Run("float64", func(t *testing.T) { turnOnce(t, b.d.turn, 8, 8) })
		t.Run("float64 by four", func(t *testing.T) { turnOnce(t, b.d.turn4, 4, 4) })
		t.Run("float32", func(t *testing.T) { turnOnce(t, b.s.turn, 8, 8) })
		t.Run("float32 by four", func(t *testing.T) { turnOnce(t, b.s.turn4, 4, 8) })
	})
}

func turnOnce[T element](t *testing.T, turn func(dst []T, w int, src []T, ld, np int), rows, columns int) {
	if turn == nil {
		t.Skip("this level turns rows in Go")
	}
	rng := rand.New(rand.NewPCG(2, 9))
	for _, np := range []int{columns, 8, 3 * columns, 16, 24, 64} {
		for _, w := range []int{8, 9, 24} {
			ld := np + w%3
			src := fill(rng, atPageEnd[T](t, (rows-1)*ld+np))
			dst := atPageEnd[T](t, (np-1)*w+rows)
			turn(dst, w, src, ld, np)
			for z, v := range dst {
				p, i := z/w, z%w
				if i < rows && v != src[i*ld+p] || i >= rows && v != 0 {
					t.Fatalf("np %d, w %d: element (%d,%d) is %g", np, w, i, p, v)
				}
			}
		}
	}
}

// TestSpread checks the copy of rows to panels against unreadable pages.
func TestSpread(t *testing.T) {
	eachLevel(t, func(t *testing.T, b *BLAS) {
		t.Run("float64", func(t *testing.T) { spreadOnce(t, b.d.kernels) })
		t.Run("float32", func(t *testing.T) { spreadOnce(t, b.s.kernels) })
	})
}

func spreadOnce[T element](t *testing.T, k kernels[T]) {
	if k.spread == nil {
		t.Skip("this level copies in Go")
	}
	var v T
	size := int(unsafe.Sizeof(v))
	rng := rand.New(rand.NewPCG(2, 10))
	for _, c := range [][2]int{{1, 1}, {1, 3}, {5, 1}, {9, 2}} {
		np, panels := c[0], c[1]
		ld := panels*k.mr + 3
		src := fill(rng, atPageEnd[T](t, (np-1)*ld+panels*k.mr))
		apart := np*k.mr + 5 // elements from one panel to the next
		dst := atPageEnd[T](t, (panels-1)*apart+np*k.mr)
		k.spread(unsafe.Pointer(&dst[0]), unsafe.Pointer(&src[0]), ld*size, apart*size, np, panels)
		for z, got := range dst {
			var want T
			if at := z % apart; at < np*k.mr {
				want = src[at/k.mr*ld+z/apart*k.mr+at%k.mr]
			}
			if got != want {
				t.Fatalf("%d rows, %d panels: element %d is %g, want %g", np, panels, z, got, want)
			}
		}
	}
}
