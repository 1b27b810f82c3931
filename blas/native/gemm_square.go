// Matrix products of many columns.

package native

import (
	"math"
	"unsafe"

	"github.com/iokl/iokl/internal/base/par"
)

const packPanels = 16 // narrow panels per packing job

// square computes a product of many columns. The loops are those of Goto and van
// de Geijn (doi:10.1145/1356052.1356053) with the roles that row-major storage
// gives: a slab of the rows of a is packed for all goroutines, for as many blocks
// of p as there is room for; each job then packs, one block of p after another,
// the wide panels of some columns of b, which stay in its second-level cache while
// the slab streams past.
func (p *product[T]) square() {
	var t T
	e := p.e
	room := e.slab / int(unsafe.Sizeof(t))
	most := max(room/p.kc/e.nr, 1) * e.nr
	slabs := (p.m + most - 1) / most
	pass := 1
	if slabs == 1 {
		pass = min(max(room/(p.m*p.kc), 1), p.steps)
	}
	for s := range slabs {
		p.i0 = p.m * s / slabs
		p.rows = p.m*(s+1)/slabs - p.i0
		p.panels = (p.rows + e.nr - 1) / e.nr
		p.slab = grow(p.slab, p.rows*min(pass*p.kc, p.k))
		for p.first = 0; p.first < p.steps; p.first = p.last {
			p.last = min(p.first+pass, p.steps)
			p.squarePass()
		}
	}
}

// squarePass does the blocks of p from first to last on one slab.
func (p *product[T]) squarePass() {
	e := p.e
	nt := par.Threads()
	nc := e.nc * e.kc / p.kc // of shorter blocks of p there is room for more columns
	p.blocks = (p.wides*e.mr + nc - 1) / nc
	p.chunks = p.chunksOf(nt)
	if p.blocks > nt && p.blocks*p.chunks%nt != 0 {
		p.blocks = min((p.blocks+nt-1)/nt*nt, p.wides) // as many jobs for each thread
		p.chunks = p.chunksOf(nt)
	}
	packs := (p.last - p.first) * p.packsEach()
	loop(packs, p.rows*p.kc*min(p.n, e.mr), p.squareJobs[0])
	loop(p.blocks*p.chunks, p.rows*(p.last-p.first)*p.kc*p.n, p.squareJobs[1])
}

// packCost is how many multiply-adds take as long as packing an element of b, measured with AVX2 and AVX-512.
const packCost = 16

// chunksOf is the number of jobs along the rows for the blocks there are. A job packs the columns of its block, which
// takes packCost·chunks/rows of the time of all multiply-adds, and at the end each thread waits for the others half a
// job on average, threads/(2·blocks·chunks) of that time: the sum of both is to be least.
func (p *product[T]) chunksOf(threads int) int {
	if threads == 1 {
		return 1
	}
	best := threads
	if !p.owned() {
		best = int(math.Sqrt(float64(threads*p.rows) / float64(2*packCost*p.blocks)))
	}
	flops := p.rows * (p.last - p.first) * p.kc * p.n / p.blocks
	return max(min(best, flops/jobFlops, p.panels/4), 1)
}

// loop runs jobs of so many multiply-adds in sum, in parallel where that is worth waking a thread.
func loop(jobs, flops int, f func(int)) {
	if flops >= jobFlops {
		par.For(jobs, f)
		return
	}
	for job := range jobs {
		f(job)
	}
}

// packsEach is the number of packing jobs of one block of p.
func (p *product[T]) packsEach() int { return (p.panels + packPanels - 1) / packPanels }

// panel is where narrow panel q of the slab starts, in rows; panels differ by at most one row.
func (p *product[T]) panel(q int) int { return p.rows * q / p.panels }

// inSlab is where narrow panel q of the slab starts for the block of p that starts at p0 and has np steps.
func (p *product[T]) inSlab(q, p0, np int) int { return p.rows*(p0-p.first*p.kc) + p.panel(q)*np }

// packRows packs some narrow panels of the slab for one block of p.
func (p *product[T]) packRows(job int) {
	p0, np := p.block(p.first + job/p.packsEach())
	q := job % p.packsEach() * packPanels
	for end := min(q+packPanels, p.panels); q < end; q++ {
		r0, r1 := p.panel(q), p.panel(q+1)
		p.e.pack(p.a, p.slab[p.inSlab(q, p0, np):p.inSlab(q+1, p0, np)], r1-r0, p.i0+r0, r1-r0, p0, np)
	}
}

// multiplyBlock does one job: a chunk of the slab's rows times a block of columns.
func (p *product[T]) multiplyBlock(job int) {
	mr := p.e.mr
	block, chunk := job/p.chunks, job%p.chunks
	w0, w1 := p.wides*block/p.blocks, p.wides*(block+1)/p.blocks
	j0, j1 := w0*mr, min(w1*mr, p.n)
	q0, q1 := p.share(chunk)
	if !p.touches(p.panel(q0), p.panel(q1), j0, j1) {
		return
	}
	s := p.e.getScratch((w1 - w0) * mr * p.kc)
	for z := p.first; z < p.last; z++ {
		p0, np := p.block(z)
		p.e.packWide(p.b, s.wide, j0, j1, p0, np)
		p.start(&s.t, z)
		for q := q0; q < q1; q++ {
			p.multiplyPanel(s, q, q1, j0, j1, p0)
		}
	}
	p.e.release(s)
}

// multiplyPanel multiplies narrow panel q of the slab by the wide panels in s and
// has the kernels fetch the next one, if there is one before panel end.
func (p *product[T]) multiplyPanel(s *scratch[T], q, end, j0, j1, p0 int) {
	var v T
	t := &s.t
	t.rows = p.panel(q+1) - p.panel(q)
	t.b = unsafe.Pointer(&p.slab[p.inSlab(q, p0, t.kc)])
	t.lines = 0
	if q+1 < end {
		wides, groups := (j1-j0+p.e.mr-1)/p.e.mr, max(t.kc/4, 1)
		t.next = unsafe.Pointer(&p.slab[p.inSlab(q+1, p0, t.kc)])
		t.lines = (t.rows*t.kc*int(unsafe.Sizeof(v))/64/wides + groups) / groups
	}
	p.tiles(s, p.i0+p.panel(q), j0, j1, s.wide)
}
