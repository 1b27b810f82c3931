// Products of a packed symmetric matrix with few columns.

package native

import (
	"unsafe"

	"github.com/iokl/iokl/internal/base/par"
)

// fewTile is the argument of the kernels for few columns. For one panel P of
// cols columns of a symmetric matrix, and k columns,
//
//	yr += P·x,  y += Pᵀ·xr
//
// x and y hold the elements that go with the panel's columns, xr and yr those that
// go with its rows; all are column-major with column stride ld. cols is a positive
// multiple of the panel's rows. The kernels read and write nothing else, but they may fetch ahead.
type fewTile struct {
	a, half      unsafe.Pointer // the first row, and the first of the second half of the rows
	x, y, xr, yr unsafe.Pointer
	ld           int
	cols, k      int
}

const (
	fewSegment  = 120 // columns of a panel between two groups of right-hand sides; a multiple of the rows of a panel
	fewShared   = 48  // the same where panels share one of the storage, of which the next segment is fetched meanwhile
	fewGroups   = 16  // parts the panels are dealt out in, each with a result of its own
	fewPartRows = 192 // at least so many rows of panels a part
	fewAddRows  = 512 // rows of a job that adds the parts up
	fewPage     = 512 // elements of a page: columns that start at one offset in
	fewShift    = 40  // their pages would contend for one set of the cache, so they are shifted
	// mostSingle and mostDouble are the least fewKernels.most of one stored triangle: up to so many columns,
	// transposing half of its elements takes longer than what whole panels save.
	mostSingle, mostDouble = 12, 48
)

// fewKernels are the routines of the product with few columns.
type fewKernels struct {
	// of a panel, a multiple of 4 that divides a segment, and a multiple or a divisor of the rows of a panel of the
	// storage. A panel that has more rows than the storage's is two of those.
	rows  int
	block int // columns of one call of few: 1, 2 or block, which is 2 or 4
	most  int // columns the product is used for; more are multiplied by whole panels
	few   func(*fewTile)
	diag  func(*tile) // the micro-kernel that reads a panel of the storage: wide columns, of most rows
	wide  int         // a divisor of rows
}

// fewer is the product of a Symmetric with few columns.
type fewer struct {
	fewKernels
	axpy    func(alpha float64, x, y []float64)
	s       *Symmetric
	tall    int // columns that diag takes at a time
	shared  int // panels that lie in one of the storage
	segment int // fewSegment or fewShared
	calls   par.Free[fewCall]
	scratch par.Free[fewScratch]
}

// fewScratch holds the arguments of the kernels for one goroutine.
type fewScratch struct {
	t fewTile
	d tile
}

// newFewer returns nil where the level has no kernels.
func newFewer(b *BLAS, s *Symmetric) *fewer {
	k, ok := fewKernelsOf(b.level, s.single != nil)
	if !ok {
		return nil
	}
	f := &fewer{fewKernels: k, axpy: b.d.daxpy, s: s, tall: k.most}
	f.shared, f.segment = max(s.rows()/f.rows, 1), fewSegment
	if f.shared > 1 {
		f.segment = fewShared
	}
	if !s.whole() {
		least := mostDouble
		if s.single != nil {
			least = mostSingle
		}
		f.most = max(f.most, least)
	}
	return f
}

// element is the address of the stored element (i,j), where a panel's column of rows from i on starts.
func (f *fewer) element(i, j int) unsafe.Pointer {
	if p := f.s.single; p != nil {
		return unsafe.Pointer(&p.data[p.at(i, j)])
	}
	return unsafe.Pointer(&f.s.double.data[f.s.double.at(i, j)])
}

// fewCall is one product. x and the parts of y are column-major with columns of
// np elements. Group g of the panels adds to its own part, whose k columns start
// at g·kp·np; the parts are added up in the order of the groups, so that the
// result does not depend on who did what.
type fewCall struct {
	f        *fewer
	k, kp    int // columns; columns with those that fill the last kernel call
	np       int
	count    int // panels
	groups   int
	dst      []float64
	ldd      int
	memory   []float64 // holds the three that follow
	x        []float64
	rows     []float64 // x row by row, for the blocks on the diagonal, see diagonalRows
	parts    []float64
	groupJob func(int)
	addJob   func(int)
}

func (f *fewer) multiply(k int, dst []float64, ldd int, x []float64, ldx int) {
	c := f.calls.Get()
	if c == nil {
		c = &fewCall{f: f}
		c.groupJob, c.addJob = c.group, c.add
	}
	n := f.s.n
	c.k, c.dst, c.ldd = k, dst, ldd
	c.kp = k
	if k%f.block == 3 { // there is no kernel for three
		c.kp++
	}
	c.count = (n + f.rows - 1) / f.rows
	c.np = (c.count*f.rows+fewPage-1)/fewPage*fewPage + fewShift
	c.groups = min(max(c.count*f.rows/fewPartRows, 1), fewGroups)
	if c.groups > 1 {
		c.groups += c.groups % 2 // two threads have the same work
	}
	c.memory = grow(c.memory, (c.groups+2)*c.kp*c.np)
	size := c.kp * c.np
	c.x, c.rows, c.parts = c.memory[:size], c.memory[size:2*size], c.memory[2*size:]
	c.load(x, ldx)
	if n*n*k < vectorElements {
		for g := range c.groups {
			c.group(g)
		}
		c.add(0)
		for j := 1; j*fewAddRows < n; j++ {
			c.add(j)
		}
	} else {
		par.For(c.groups, c.groupJob)
		par.For((n+fewAddRows-1)/fewAddRows, c.addJob)
	}
	c.dst = nil
	f.calls.Put(c)
}

// load copies x to columns, and to rows of zero-filled width.
func (c *fewCall) load(x []float64, ldx int) {
	n := c.f.s.n
	for j := range c.kp {
		col := c.x[j*c.np : (j+1)*c.np]
		if j >= c.k {
			clear(col)
			continue
		}
		for i := range n {
			col[i] = x[i*ldx+j]
		}
		clear(col[n:])
	}
	for b := 0; b < c.kp; b += c.f.tall {
		rows, w := c.diagonalRows(b)
		for i := range c.count * c.f.rows {
			for j := range w {
				rows[i*w+j] = c.x[(b+j)*c.np+i]
			}
		}
	}
}

// diagonalRows holds row by row the columns of x from b on that the kernel of blocks on the diagonal takes together,
// and how many they are.
func (c *fewCall) diagonalRows(b int) (rows []float64, w int) {
	return c.rows[b*c.count*c.f.rows:], min(c.f.tall, c.kp-b)
}

// start is the first panel of group g: groups hold about as many elements each.
func (c *fewCall) start(g int) int { return groupStart(g, c.groups, c.count) }

// group adds what the panels of group g give to its part.
func (c *fewCall) group(g int) {
	first, last := c.start(g), c.start(g+1)
	part := c.part(g)
	for j := range c.kp {
		clear(part[j*c.np : j*c.np+last*c.f.rows])
	}
	w := c.f.scratch.Take()
	for q, next := first, 0; q < last; q = next {
		next = min(q/c.f.shared*c.f.shared+c.f.shared, last)
		c.panels(w, q, next, part)
	}
	w.t, w.d = fewTile{}, tile{}
	c.f.scratch.Put(w)
}

// panels adds what the panels from q on to before end give, which are of one panel of the storage: the blocks on their
// diagonals, then what is left of them, segment by segment, so that what they share comes from memory once.
func (c *fewCall) panels(w *fewScratch, q, end int, part []float64) {
	rows := c.f.rows
	for i0 := q * rows; i0 < end*rows; i0 += rows {
		for i := i0; i < min(i0+rows, c.f.s.n); i += c.f.wide {
			c.diagonal(w, i0, i, part)
		}
	}
	for j := 0; j < (end-1)*rows; j += c.f.segment {
		for i0 := max(q*rows, j/rows*rows+rows); i0 < end*rows; i0 += rows {
			c.segment(w, i0, j, part)
		}
	}
}

// segment adds what the rows from i0 on give with the columns from j on that are left of the diagonal, at most
// f.segment of them.
func (c *fewCall) segment(w *fewScratch, i0, j int, part []float64) {
	middle := i0 + c.f.rows/2
	if middle >= c.f.s.n {
		middle = i0 // the elements of x that go with the second half are zero
	}
	w.t.a, w.t.half = c.f.element(i0, j), c.f.element(middle, j)
	w.t.cols = min(c.f.segment, i0-j)
	w.t.ld = c.np
	for b := 0; b < c.kp; b += w.t.k {
		w.t.k = min(c.kp-b, c.f.block)
		w.t.x, w.t.y = unsafe.Pointer(&c.x[b*c.np+j]), unsafe.Pointer(&part[b*c.np+j])
		w.t.xr, w.t.yr = unsafe.Pointer(&c.x[b*c.np+i0]), unsafe.Pointer(&part[b*c.np+i0])
		c.f.few(&w.t)
	}
}

// diagonal adds what the rows from i on give with the block on the diagonal from i0 on. Where one triangle is stored,
// a panel of fewer rows than the block lacks the last columns, which are taken from the other side of the diagonal.
func (c *fewCall) diagonal(w *fewScratch, i0, i int, part []float64) {
	cols := min(c.f.rows, c.f.s.n-i0)
	stored := cols
	if p := c.f.s.double; p != nil {
		stored = min(cols, p.stored(i/p.rows)-i0)
	}
	for b := 0; b < c.kp; b += c.f.tall {
		x, k := c.diagonalRows(b)
		w.d = tile{
			a: c.f.element(i, i0), b: unsafe.Pointer(&x[i0*k]), c: unsafe.Pointer(&part[b*c.np+i]),
			ldc: c.np, kc: stored, rows: k, width: c.f.wide, add: 1, alpha: 1,
		}
		c.f.diag(&w.d)
	}
	for j := i0 + stored; j < i0+cols; j++ {
		for r := i; r < i+c.f.wide; r++ {
			v := c.f.s.At(j, r)
			for b := range c.kp {
				part[b*c.np+r] += v * c.x[b*c.np+j]
			}
		}
	}
}

// add adds the parts up for one range of rows, onto the last part, which alone has all rows.
func (c *fewCall) add(job int) {
	lo, hi := job*fewAddRows, min((job+1)*fewAddRows, c.f.s.n)
	last := c.groups - 1
	for j := range c.k {
		sum := c.part(last)[j*c.np:]
		for g := range last {
			if end := min(hi, c.start(g+1)*c.f.rows); lo < end {
				c.f.axpy(1, c.part(g)[j*c.np+lo:j*c.np+end], sum[lo:end])
			}
		}
		at := lo*c.ldd + j
		for _, v := range sum[lo:hi] {
			c.dst[at] = v
			at += c.ldd
		}
	}
}

func (c *fewCall) part(g int) []float64 { return c.parts[g*c.kp*c.np : (g+1)*c.kp*c.np] }
