// Symmetric matrices stored in panels, and their products with many columns.

package native

import (
	"math"
	"sync/atomic"
	"unsafe"

	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/internal/base/par"
)

// panels are the elements of a Symmetric and the product by whole panels. Panel q is the rows from q·rows on of the
// columns up to n or, where only one triangle is stored, up to the last of the panel's own.
type panels[T element] struct {
	e       *engine[T]
	n, rows int  // order; rows of a panel
	whole   bool // both triangles are stored
	data    []T
	calls   par.Free[panelCall[T]]
}

func newPanels[T element](e *engine[T], n int, whole bool) *panels[T] {
	p := &panels[T]{e: e, n: n, rows: e.mr, whole: whole}
	p.data = make([]T, p.start(p.count()))
	memory.PreferHuge(p.data)
	return p
}

func (p *panels[T]) count() int { return (p.n + p.rows - 1) / p.rows }

// start is the offset of panel q.
func (p *panels[T]) start(q int) int {
	if p.whole {
		return q * p.n * p.rows
	}
	return q * (q + 1) / 2 * p.rows * p.rows
}

// stored is the number of columns of panel q.
func (p *panels[T]) stored(q int) int {
	if p.whole {
		return p.n
	}
	return (q + 1) * p.rows
}

// at is the offset of the element (i,j), or of (j,i) where that one is stored in its place.
func (p *panels[T]) at(i, j int) int {
	if j >= p.stored(i/p.rows) {
		i, j = j, i
	}
	return p.start(i/p.rows) + j*p.rows + i%p.rows
}

// set makes line the elements (i,j0), (i,j0+1), … of the lower triangle: where both triangles are stored, in the upper
// one, in which they lie side by side.
func (p *panels[T]) set(i, j0 int, line []float64) {
	r := p.rows
	if !p.whole {
		out := p.data[p.start(i/r)+j0*r+i%r:]
		for k, v := range line {
			out[k*r] = T(v)
		}
		return
	}
	for j := j0; j < j0+len(line); {
		next := min(j/r*r+r, j0+len(line))
		out := p.data[p.at(j, i):]
		for k, v := range line[j-j0 : next-j0] {
			out[k] = T(v)
		}
		j = next
	}
}

// complete fills what set has left: the columns left of each panel's own rows, tile by tile, and the triangles of the
// blocks on the diagonal.
func (p *panels[T]) complete() {
	r := p.rows
	par.For(p.count(), func(q int) {
		i0, i1 := q*r, min((q+1)*r, p.n)
		for left := 0; p.whole && left < q; left++ {
			p.e.transpose(p.data[p.start(q)+left*r*r:], r, p.data[p.start(left)+i0*r:], r, i1-i0, r)
		}
		for i := i0; i < i1; i++ {
			for j := i0; j < i; j++ {
				upper, lower := p.start(q)+i*r+j-i0, p.start(q)+j*r+i-i0
				if p.whole {
					p.data[lower] = p.data[upper]
				} else {
					p.data[upper] = p.data[lower]
				}
			}
		}
	})
}

// block is the elements of panel q in the columns from p0 to before p1, gathered in room unless they are stored.
func (p *panels[T]) block(room []T, q, p0, p1 int) []T {
	r, at := p.rows, p.start(q)
	if p1 <= p.stored(q) {
		return p.data[at+p0*r : at+p1*r]
	}
	own := max(p.stored(q), p0) // those before it are stored
	if p0 < own {
		copy(room, p.data[at+p0*r:at+own*r])
	}
	for j := own; j < p1; {
		below := j / r
		last := min((below+1)*r, p1)
		p.e.transpose(room[(j-p0)*r:(last-p0)*r], r, p.data[p.start(below)+q*r*r+j-below*r:], r, r, last-j)
		j = last
	}
	return room
}

// panelCall is one product by whole panels. X is packed once in column blocks of at most nr columns, as even as
// possible, for super-blocks of rows that fit the second-level cache beside two panels of A. A super-block is some
// blocks of steps, at whose ends sums are rounded; these depend on n alone, so that a column comes out the same
// whatever the others are. Results gather in y, panel by panel and there column by column, and are turned into rows by
// the job that adds the last.
//
// Jobs are numbered super-block by super-block. A job starts when the one before it on its
// panels has ended. Deadlock-free: that one has a smaller number, and the smallest
// unfinished job is always being computed.
type panelCall[T element] struct {
	p        *panels[T]
	k        int // columns of this call's chunk
	dst      []float64
	ldd      int
	x        []float64
	ldx      int
	blocks   int // column blocks
	steps    int // blocks of steps
	supers   int // super-blocks of rows of x
	each     int // panels of a job
	ranges   int // jobs of a super-block
	packed   []T
	y        []T
	scale    []float64 // by which a column was divided
	progress []progress
	packJob  func(int)
	job      func(int)
}

const (
	panelSteps = 384 // at most so many columns of a panel at a time; the packed rows of x have room for as many
	panelShare = 65  // percent of the second-level cache for the packed rows of x
	panelsEach = 8   // panels of a job, fewer where that leaves too few jobs
)

// multiply splits k into even chunks of columns and multiplies each.
func (p *panels[T]) multiply(k int, dst []float64, ldd int, x []float64, ldx int) {
	var t T
	c := p.calls.Get()
	if c == nil {
		c = &panelCall[T]{p: p}
		c.packJob, c.job = c.pack, c.run
	}
	room := p.e.l2 * panelShare / 100 / int(unsafe.Sizeof(t))
	widest := max(room/panelSteps, p.e.nr)
	chunks := (k + widest - 1) / widest
	for q := range chunks {
		k0, k1 := k*q/chunks, k*(q+1)/chunks
		c.dst, c.ldd, c.x, c.ldx, c.k = dst[k0:], ldd, x[k0:], ldx, k1-k0
		c.plan(room)
		c.start()
	}
	c.dst, c.x = nil, nil
	p.calls.Put(c)
}

// plan chooses the blocking of one chunk.
func (c *panelCall[T]) plan(room int) {
	p := c.p
	c.blocks = (c.k + p.e.nr - 1) / p.e.nr
	c.steps = (p.n + panelSteps - 1) / panelSteps
	each := max(room/c.k/((p.n+c.steps-1)/c.steps), 1)
	c.supers = (c.steps + each - 1) / each
	count := p.count()
	c.each = count
	if p.n*p.n*c.k > jobFlops {
		c.each = max(min(panelsEach, count/(jobsEach*par.Threads())), 1)
	}
	c.ranges = (count + c.each - 1) / c.each
	c.packed = grow(c.packed, p.n*c.k)
	c.y = grow(c.y, count*p.rows*c.k)
	c.scale = grow(c.scale, c.k)
	c.progress = grow(c.progress, c.ranges)
	for i := range c.progress {
		c.progress[i].Store(0)
	}
}

func (c *panelCall[T]) start() {
	if c.p.n*c.k < vectorElements {
		for b := range c.blocks {
			c.pack(b)
		}
	} else {
		par.For(c.blocks, c.packJob)
	}
	par.For(c.supers*c.ranges, c.job)
}

// super is the first row of super-block s, step that of block z of steps, block the first column of block b.
func (c *panelCall[T]) super(s int) int { return c.step(c.steps * s / c.supers) }
func (c *panelCall[T]) step(z int) int  { return c.p.n * z / c.steps }
func (c *panelCall[T]) block(b int) int { return c.k * b / c.blocks }

// pack packs column block b of x: super-block by super-block, each row by row.
func (c *panelCall[T]) pack(b int) {
	c0, c1 := c.block(b), c.block(b+1)
	w := c1 - c0
	var inverse [maxNR]float64
	c.scales(c0, inverse[:w])
	for s := range c.supers {
		lo, hi := c.super(s), c.super(s+1)
		out := c.packed[lo*c.k+c0*(hi-lo):]
		x := c.x[lo*c.ldx+c0:]
		if same, ok := any(out).([]float64); ok {
			operand[float64]{x, c.ldx, byFree}.packRows(same, w, 0, w, 0, hi-lo)
			continue
		}
		for i := range hi - lo {
			o := out[i*w : (i+1)*w : (i+1)*w]
			for j, v := range x[i*c.ldx:][:len(o)] {
				o[j] = T(v * inverse[j&(maxNR-1)])
			}
		}
	}
}

// scales sets the scale of the columns from c0 on, and its inverse: 1 in double precision.
func (c *panelCall[T]) scales(c0 int, inverse []float64) {
	var t T
	scale := c.scale[c0 : c0+len(inverse)]
	if unsafe.Sizeof(t) == 8 {
		for j := range scale {
			scale[j], inverse[j] = 1, 1
		}
		return
	}
	clear(scale)
	for i := range c.p.n {
		for j, v := range c.x[i*c.ldx+c0:][:len(scale)] {
			if v < 0 {
				v = -v
			}
			if v > scale[j] {
				scale[j] = v
			}
		}
	}
	for j, v := range scale {
		scale[j], inverse[j] = 1, 1
		if v > 0 && !math.IsInf(v, 0) {
			_, e := math.Frexp(v)
			e = min(max(e, -1021), 1021) // the inverse is a normal number too
			scale[j], inverse[j] = math.Ldexp(1, e), math.Ldexp(1, -e)
		}
	}
}

// run does one job: a range of panels times one super-block of x.
func (c *panelCall[T]) run(job int) {
	p := c.p
	s, r := job/c.ranges, job%c.ranges
	c.progress[r].wait(s)
	room := 0
	if !p.whole {
		room = panelSteps * p.rows
	}
	w := p.e.getScratch(room)
	for q := r * c.each; q < min((r+1)*c.each, p.count()); q++ {
		c.panel(w, s, q)
		if s == c.supers-1 {
			c.finish(q)
		}
	}
	c.progress[r].Store(int32(s + 1))
	p.e.release(w)
}

// panel multiplies panel q by super-block s of x.
func (c *panelCall[T]) panel(w *scratch[T], s, q int) {
	p, t := c.p, &w.t
	mr := p.rows
	lo, hi := c.super(s), c.super(s+1)
	last := c.steps * (s + 1) / c.supers
	y := c.y[q*mr*c.k:]
	*t = tile{ldc: mr, width: mr, alpha: 1}
	for z := c.steps * s / c.supers; z < last; z++ {
		p0, p1 := c.step(z), c.step(z+1)
		t.kc = p1 - p0
		t.a = unsafe.Pointer(&p.block(w.wide, q, p0, p1)[0])
		t.add = 1
		if p0 == 0 {
			t.add = 0
		}
		next := p.start(q) + p1*mr // what follows in the panel
		if z == last-1 {
			next = p.start(q+1) + lo*mr // the same super-block of the next panel
		}
		c.fetch(t, next)
		for b := range c.blocks {
			c0, c1 := c.block(b), c.block(b+1)
			t.rows = c1 - c0
			t.b = unsafe.Pointer(&c.packed[lo*c.k+c0*(hi-lo)+(p0-lo)*t.rows])
			t.c = unsafe.Pointer(&y[c0*mr])
			p.e.tile(t)
			c.advance(t)
		}
	}
}

// fetch sets up the kernels to fetch as much of A as the present block holds, from element next on.
func (c *panelCall[T]) fetch(t *tile, next int) {
	t.lines = 0
	if !c.p.whole || next >= len(c.p.data) || t.kc < 4 {
		return
	}
	var v T
	bytes := t.kc * c.p.rows * int(unsafe.Sizeof(v))
	groups := t.kc / 4 * c.blocks
	t.lines = (bytes/64 + groups - 1) / groups
	t.next = unsafe.Pointer(&c.p.data[next])
}

// advance moves what is fetched past what the last call has fetched.
func (c *panelCall[T]) advance(t *tile) {
	if t.lines == 0 {
		return
	}
	var v T
	d := c.p.data
	at := (uintptr(t.next)-uintptr(unsafe.Pointer(&d[0])))/unsafe.Sizeof(v) + uintptr(t.kc/4*t.lines*64)/unsafe.Sizeof(
		v)
	if at >= uintptr(len(d)) {
		t.lines = 0
		return
	}
	t.next = unsafe.Pointer(&d[at])
}

// finish turns the columns of panel q's result into rows of dst, four at a time.
func (c *panelCall[T]) finish(q int) {
	mr, k := c.p.rows, c.k
	y := c.y[q*mr*k : (q+1)*mr*k]
	rows := min(mr, c.p.n-q*mr)
	scale := c.scale[:k]
	for i := 0; i < rows; i += 4 {
		if i+4 > rows {
			i = max(rows-4, 0) // again some rows: they come out the same
		}
		var r [4][]float64
		for z := range r {
			r[z] = c.dst[(q*mr+min(i+z, rows-1))*c.ldd:][:k:k]
		}
		r0, r1, r2, r3 := r[0], r[1], r[2], r[3]
		at := i
		for j, s := range scale {
			v := y[at : at+4 : at+4]
			r3[j], r2[j], r1[j], r0[j] = s*float64(v[3]), s*float64(v[2]), s*float64(v[1]), s*float64(v[0])
			at += mr
		}
	}
}

// progress counts the jobs done on one range of panels.
type progress struct{ atomic.Int32 }

// wait returns when s jobs are done.
func (p *progress) wait(s int) {
	if p.Load() < int32(s) {
		par.Until(func() bool { return p.Load() >= int32(s) })
	}
}
