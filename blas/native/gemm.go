package native

import (
	"runtime"
	"unsafe"

	"github.com/iokl/iokl/internal/par"
)

// engine is the level 2 and 3 BLAS for one element type on one set of kernels.
type engine[T element] struct {
	kernels[T]
	blocks
	buffers[T]
}

func newEngine[T element](k kernels[T]) *engine[T] {
	var t T
	return &engine[T]{kernels: k, blocks: blockSizes(k.mr, k.nr, int(unsafe.Sizeof(t)))}
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
//
// The loops are those of Goto and van de Geijn (doi:10.1145/1356052.1356053) with
// the roles that row-major storage gives: for each block of kc steps of p and
// each slab of rows, a's slab is packed once for all goroutines; each job then
// packs one block of nc columns of b, which stays in its second-level cache while
// the slab streams past.
type product[T element] struct {
	e           *engine[T]
	a, b        operand[T]
	c           []T
	ldc         int
	m, n, k     int
	alpha       T
	add         int // 1: the present block adds to c
	want        part
	slab        []T // the packed rows of a
	i0, rows    int // the slab: first row and number of rows
	p0, kc      int // the block of p
	panels      int // narrow panels in the slab
	nc          int // columns of a job
	chunks      int // jobs along the rows
	packJob     func(int)
	multiplyJob func(int)
}

const (
	slabBytes  = 8 << 20 // a slab of packed rows is at most this large: it lives in the third-level cache
	packPanels = 16      // narrow panels per packing job
	jobFlops   = 1 << 20 // a job with fewer multiply-adds is not worth a goroutine
	jobsEach   = 6       // jobs per thread, so that a slow thread costs little
)

// gemm computes p, whose operands, shape, alpha and part are set.
func (e *engine[T]) gemm(a, b operand[T], m, n, k int, alpha, beta T, c []T, ldc int, want part) {
	if m == 0 || n == 0 {
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
		p = &product[T]{e: e}
		p.packJob, p.multiplyJob = p.pack, p.multiply
	}
	p.a, p.b, p.c, p.ldc = a, b, c, ldc
	p.m, p.n, p.k, p.alpha, p.want = m, n, k, alpha, want
	p.run(beta != 0)
	p.a, p.b, p.c = operand[T]{}, operand[T]{}, nil
	e.jobs.Put(p)
}

// run loops over the blocks of p and the slabs of rows.
func (p *product[T]) run(add bool) {
	var t T
	e := p.e
	steps := (p.k + e.kc - 1) / e.kc
	kc := ((p.k+steps-1)/steps + 3) &^ 3
	maxRows := max(slabBytes/(kc*int(unsafe.Sizeof(t)))/e.nr, 1) * e.nr
	slabs := (p.m + maxRows - 1) / maxRows
	for s := range slabs {
		p.i0 = p.m * s / slabs
		p.rows = p.m*(s+1)/slabs - p.i0
		p.panels = (p.rows + e.nr - 1) / e.nr
		p.slab = grow(p.slab, p.rows*kc)
		p.add = 0
		if add {
			p.add = 1
		}
		for p.p0 = 0; p.p0 < p.k; p.p0 += kc {
			p.kc = min(kc, p.k-p.p0)
			p.step()
			p.add = 1
		}
	}
}

// step does one block of p on one slab.
func (p *product[T]) step() {
	e := p.e
	blocks := (p.n + e.nc - 1) / e.nc
	p.nc = ((p.n+blocks-1)/blocks + e.mr - 1) / e.mr * e.mr
	blocks = (p.n + p.nc - 1) / p.nc
	p.chunks = 1
	if nt := par.Threads(); nt > 1 {
		each := max(p.nc*p.kc*e.nr, 1)
		want := (nt*jobsEach + blocks - 1) / blocks
		p.chunks = max(min(want, p.panels*each/jobFlops, p.panels/4), 1)
	}
	if p.rows*p.kc*min(p.n, e.mr) < jobFlops {
		for i := range p.panels {
			p.packPanel(i)
		}
	} else {
		par.For((p.panels+packPanels-1)/packPanels, p.packJob)
	}
	par.For(blocks*p.chunks, p.multiplyJob)
}

// panel is where narrow panel q of the slab starts, in rows; panels differ by at most one row.
func (p *product[T]) panel(q int) int { return p.rows * q / p.panels }

func (p *product[T]) pack(job int) {
	for q := job * packPanels; q < min((job+1)*packPanels, p.panels); q++ {
		p.packPanel(q)
	}
}

func (p *product[T]) packPanel(q int) {
	r0, r1 := p.panel(q), p.panel(q+1)
	p.e.pack(p.a, p.slab[r0*p.kc:r1*p.kc], r1-r0, p.i0+r0, r1-r0, p.p0, p.kc)
}

// multiply does one job: a chunk of the slab's rows times a block of columns.
func (p *product[T]) multiply(job int) {
	e := p.e
	j0 := job / p.chunks * p.nc
	j1 := min(j0+p.nc, p.n)
	q0 := p.panels * (job % p.chunks) / p.chunks
	q1 := p.panels * (job%p.chunks + 1) / p.chunks
	if !p.touches(p.panel(q0), p.panel(q1), j0, j1) {
		return
	}
	s := e.getScratch((p.nc + e.mr) * p.kc)
	for j := j0; j < j1; j += e.mr {
		e.pack(p.b, s.wide[(j-j0)*p.kc:], e.mr, j, min(e.mr, j1-j), p.p0, p.kc)
	}
	t := &s.t
	*t = tile{kc: p.kc, ldc: p.ldc, add: p.add, alpha: float64(p.alpha)}
	wides := (j1 - j0 + e.mr - 1) / e.mr
	for q := q0; q < q1; q++ {
		r0, r1 := p.panel(q), p.panel(q+1)
		t.rows = r1 - r0
		for w := range wides {
			p.fetchNext(t, q, q1, w, wides)
			t.b = unsafe.Pointer(unsafe.SliceData(p.slab[r0*p.kc:]))
			j := j0 + w*e.mr
			t.a = unsafe.Pointer(unsafe.SliceData(s.wide[w*e.mr*p.kc:]))
			t.width = min(e.mr, j1-j)
			p.one(s, p.i0+r0, j)
		}
	}
	t.a, t.b, t.c, t.next = nil, nil, nil, nil
	e.scratch.Put(s)
	if p.chunks > 1 || j1 < p.n {
		runtime.Gosched() // a long product lets others in, the garbage collector among them
	}
}

// fetchNext lets the kernel fetch its share of the next narrow panel.
func (p *product[T]) fetchNext(t *tile, q, q1, w, wides int) {
	t.lines = 0
	if q+1 == q1 {
		return
	}
	var v T
	size := t.rows * p.kc * int(unsafe.Sizeof(v))
	groups := max(p.kc/4, 1)
	t.lines = (size/64/wides + groups) / groups
	at := min(p.panel(q+1)*p.kc+w*t.lines*groups*64/int(unsafe.Sizeof(v)), len(p.slab)-1)
	t.next = unsafe.Pointer(&p.slab[at])
}

// one computes the tile at (i,j) of c, through an edge buffer when only part of it is wanted.
func (p *product[T]) one(s *scratch[T], i, j int) {
	t := &s.t
	if !p.wants(i, i+t.rows, j, j+t.width) {
		if p.touches(i-p.i0, i-p.i0+t.rows, j, j+t.width) {
			p.edge(s, i, j)
		}
		return
	}
	t.c = unsafe.Pointer(unsafe.SliceData(p.c[i*p.ldc+j:]))
	p.e.tile(t)
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

// wants reports whether every element of rows [i0,i1) and columns [j0,j1) is wanted.
func (p *product[T]) wants(i0, i1, j0, j1 int) bool {
	switch p.want {
	case lower:
		return j1-1 <= i0
	case upper:
		return i1-1 <= j0
	default:
		return true
	}
}

// edge computes a tile that the diagonal crosses and keeps its wanted part.
func (p *product[T]) edge(s *scratch[T], i, j int) {
	t := &s.t
	mr := p.e.mr
	t.c, t.ldc, t.add = unsafe.Pointer(&s.edge), mr, 0
	p.e.tile(t)
	t.ldc, t.add = p.ldc, p.add
	for r := range t.rows {
		lo, hi := 0, min(t.width, i+r-j+1)
		if p.want == upper {
			lo, hi = max(0, i+r-j), t.width
		}
		if lo >= hi {
			continue
		}
		out := p.c[(i+r)*p.ldc+j:]
		for c := lo; c < hi; c++ {
			if p.add != 0 {
				out[c] += s.edge[r*mr+c]
			} else {
				out[c] = s.edge[r*mr+c]
			}
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
