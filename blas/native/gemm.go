// What all matrix products share.

package native

import "unsafe"

// engine multiplies matrices of one element type by one set of kernels.
type engine[T element] struct {
	kernels[T]
	blocks
	*buffers[T]
	over func() bool // see BLAS.Until; nil for never
}

func newEngine[T element](k kernels[T]) *engine[T] {
	var t T
	return &engine[T]{
		kernels: k, blocks: machineCaches().blocks(k.mr, k.nr, int(unsafe.Sizeof(t))), buffers: new(buffers[T]),
	}
}

// until is e with operations that over ends.
func (e *engine[T]) until(over func() bool) *engine[T] {
	c := *e
	c.over = over
	return &c
}

// ended reports whether operations are to be left out.
func (e *engine[T]) ended() bool { return e.over != nil && e.over() }

// double has what the other operations take, which all are in double precision.
type double struct {
	*engine[float64]
	vectors
}

// part is the part of a product that is wanted.
type part int

const (
	whole part = iota
	lower      // elements (i,j) with j ≤ i
	upper      // elements (i,j) with j ≥ i
)

// product is c = alpha·Σ_p a(i,p)·b(j,p) + beta·c on the wanted part of the
// m×n row-major c. The vectors of the micro-kernel run along the rows of c: b is
// packed in wide panels of mr columns, a in narrow panels of at most nr rows.
// There are two ways through it: see square and thin.
type product[T element] struct {
	e           *engine[T]
	a, b        operand[T]
	c           []T
	ldc         int
	m, n, k     int
	alpha       T
	add         bool // the first block of p adds to c; the others do so always
	want        part
	kc          int // steps of p in a block; the last may have fewer
	steps       int // blocks of p
	passes      int // of a thin product, over blocks of p
	wides       int // wide panels across c
	slab        []T // what is packed once for all jobs
	i0, rows    int // first row and number of rows of c that are worked on
	first, last int // blocks of p in the slab
	panels      int // narrow panels in the rows
	blocks      int // jobs along the columns
	chunks      int // jobs along the rows
	direct      bool
	squareJobs  [2]func(int)
	thinJobs    [2]func(int)
}

const (
	jobFlops = 1 << 20 // a job with fewer multiply-adds is not worth a goroutine
	jobsEach = 6       // jobs per thread, so that a slow thread costs little
)

// gemm computes p, whose operands, shape, alpha and part are set.
func (e *engine[T]) gemm(a, b operand[T], m, n, k int, alpha, beta T, c []T, ldc int, want part) {
	if m == 0 || n == 0 || e.ended() {
		return
	}
	if beta != 1 && (beta != 0 || k == 0 || alpha == 0) {
		scale(m, n, beta, c, ldc, want)
	}
	if k == 0 || alpha == 0 {
		return
	}
	p := e.jobs.Get()
	if p == nil {
		p = new(product[T])
		p.squareJobs = [2]func(int){p.packRows, p.multiplyBlock}
		p.thinJobs = [2]func(int){p.packColumns, p.multiplyRows}
	}
	p.e, p.a, p.b, p.c, p.ldc = e, a, b, c, ldc
	p.m, p.n, p.k, p.alpha, p.want = m, n, k, alpha, want
	p.add = beta != 0
	p.wides = (n + e.mr - 1) / e.mr
	p.split()
	if pass := p.thinPass(); pass > 0 {
		p.thin(pass)
	} else {
		p.square()
	}
	p.e, p.a, p.b, p.c = nil, operand[T]{}, operand[T]{}, nil
	e.jobs.Put(p)
}

// split divides the k steps into even blocks, at whose ends the sums are rounded to c. The blocks
// depend on k alone: element (i,j) of a product is a function of row i of a and column j of b.
func (p *product[T]) split() {
	p.steps = (p.k + p.e.kc - 1) / p.e.kc
	p.kc = ((p.k+p.steps-1)/p.steps + 3) &^ 3
	p.steps = (p.k + p.kc - 1) / p.kc
}

// block is the first step and the number of steps of block s.
func (p *product[T]) block(s int) (p0, np int) { return s * p.kc, min(p.kc, p.k-s*p.kc) }

// start sets up the tiles of block s.
func (p *product[T]) start(t *tile, s int) {
	_, np := p.block(s)
	*t = tile{kc: np, ldc: p.ldc, alpha: float64(p.alpha)}
	if p.add || s > 0 {
		t.add = 1
	}
}

// tiles computes the tiles of c at row i in columns j to end, of which wide has the panels: those that are wanted whole
// in one call of the kernel, which fetches what comes next, and each that the diagonal crosses through a buffer.
func (p *product[T]) tiles(s *scratch[T], i, j, end int, wide []T) {
	t := &s.t
	mr, lines := p.e.mr, t.lines
	first, last := j, end // columns that some row wants
	lo, hi := j, end      // and that every row wants
	switch p.want {
	case lower:
		hi, last = min(end, i+1), min(end, i+t.rows)
	case upper:
		lo = max(j, i+t.rows-1)
		first += max(i-j, 0) / mr * mr
	}
	for at := first; at < last; {
		t.a, t.width, t.lines = unsafe.Pointer(&wide[(at-j)*t.kc]), min(mr, end-at), 0
		count := 1
		if at < lo || at+t.width > hi {
			p.edge(s, i, at)
		} else {
			count = max((hi-at)/mr, 1)
			t.c = unsafe.Pointer(unsafe.SliceData(p.c[i*p.ldc+at:]))
			t.count, t.lines, lines = count, lines, 0
			p.e.tile(t)
		}
		at += count * mr
	}
}

// ownedSteps is the most steps of a product whose triangle takes longer to move than to compute: at 10 GB and 50 GFLOP
// a second for a core, 40 of them take as long as reading and writing an element of 8 bytes.
const ownedSteps = 40

// owned reports whether each thread has one part of the triangle, the rows that addSymv gives it, which its caches may
// hold.
func (p *product[T]) owned() bool { return p.want != whole && p.k <= ownedSteps }

// share is the range of narrow panels of a job along the rows. Jobs of a triangle that threads own have as many
// elements each, those of an upper one from the last rows on.
func (p *product[T]) share(chunk int) (q0, q1 int) {
	if !p.owned() {
		return p.panels * chunk / p.chunks, p.panels * (chunk + 1) / p.chunks
	}
	q0, q1 = groupStart(chunk, p.chunks, p.panels), groupStart(chunk+1, p.chunks, p.panels)
	if p.want == upper {
		q0, q1 = p.panels-q1, p.panels-q0
	}
	return q0, q1
}

// touches reports whether rows [r0,r1) of the slab and columns [j0,j1) hold a wanted element.
func (p *product[T]) touches(r0, r1, j0, j1 int) bool {
	switch p.want {
	case lower:
		return j0 < p.i0+r1
	case upper:
		return p.i0+r0 < j1
	default:
		return true
	}
}

// edge computes a tile that the diagonal crosses in a buffer, which gets the wanted part of c and gives it back.
func (p *product[T]) edge(s *scratch[T], i, j int) {
	t := &s.t
	if t.add != 0 {
		p.wanted(t, i, j, func(r, lo int, c []T) { copy(s.edge[r*p.e.mr+lo:], c) })
	}
	t.c, t.ldc = unsafe.Pointer(&s.edge), p.e.mr
	p.e.tile(t)
	t.ldc = p.ldc
	p.wanted(t, i, j, func(r, lo int, c []T) { copy(c, s.edge[r*p.e.mr+lo:]) })
}

// wanted calls f with the wanted part of each row r of the tile at (i,j): columns lo on.
func (p *product[T]) wanted(t *tile, i, j int, f func(r, lo int, c []T)) {
	for r := range t.rows {
		lo, hi := 0, min(t.width, i+r-j+1)
		if p.want == upper {
			lo, hi = max(0, i+r-j), t.width
		}
		if lo < hi {
			at := (i+r)*p.ldc + j
			f(r, lo, p.c[at+lo:at+hi])
		}
	}
}

// scale multiplies the wanted part of c by beta; with beta 0 it does not read c.
func scale[T element](m, n int, beta T, c []T, ldc int, want part) {
	for i := range m {
		lo, hi := 0, n
		switch want {
		case lower:
			hi = min(i+1, n)
		case upper:
			lo = min(i, n)
		}
		row := c[i*ldc+lo : i*ldc+hi]
		if beta == 0 {
			clear(row)
			continue
		}
		for j := range row {
			row[j] *= beta
		}
	}
}
