// Matrix products of few columns.

package native

import (
	"unsafe"

	"github.com/iokl/iokl/internal/base/par"
)

// thinLeast is the fewest steps by which a product is found to be thin.
const thinLeast = 256

// thinColumns is the most columns of a thin product in blocks of so many steps: a block of all of them takes 7/8 of the
// second-level cache at most.
func (e *engine[T]) thinColumns(steps int) int {
	var t T
	return e.l2 * 7 / 8 / (steps * int(unsafe.Sizeof(t))) / e.mr * e.mr
}

// thinPass is how many blocks of p a pass of a thin product has, or 0 where the
// product is none.
func (p *product[T]) thinPass() int {
	var t T
	e := p.e
	p.direct = e.direct && p.a.form == bySum && p.want == whole
	if p.wides*e.mr > e.thinColumns(max(p.kc, thinLeast)) || p.m < e.nr {
		return 0
	}
	return max(e.l2/2/(p.wides*e.mr*p.kc*int(unsafe.Sizeof(t))), 1)
}

// thin computes a product of few columns in passes of at most pass blocks of p. All of
// b is packed once for all goroutines; what a pass needs of it stays in the second-level
// cache. Each job takes some rows of a, which the kernel reads where they stand or,
// where it cannot, which it packs itself, one narrow panel at a time: they are used
// too seldom to be kept.
func (p *product[T]) thin(pass int) {
	e := p.e
	p.passes = (p.steps + pass - 1) / pass
	p.i0, p.rows = 0, p.m
	p.panels = (p.m + e.nr - 1) / e.nr
	p.slab = grow(p.slab, p.wides*e.mr*p.k)
	flops := p.m * p.n * p.k
	p.blocks, p.chunks = 1, 1
	if nt := par.Threads(); nt > 1 {
		jobs := nt * jobsEach
		if p.owned() {
			jobs = nt
		}
		p.chunks = max(min(jobs, flops/jobFlops, p.panels/4), 1)
	}
	if p.n*p.k < vectorElements {
		for job := range p.steps * p.wides {
			p.packColumns(job)
		}
	} else {
		par.For(p.steps*p.wides, p.thinJobs[0])
	}
	par.For(p.chunks, p.thinJobs[1])
}

// inColumns is where wide panel w of the block of p that starts at p0 and has np steps starts in the slab.
func (p *product[T]) inColumns(w, p0, np int) int { return p.e.mr * (p.wides*p0 + w*np) }

// packColumns packs one wide panel for one block of p.
func (p *product[T]) packColumns(job int) {
	mr := p.e.mr
	p0, np := p.block(job / p.wides)
	w := job % p.wides
	p.e.packWide(p.b, p.slab[p.inColumns(w, p0, np):], w*mr, min((w+1)*mr, p.n), p0, np)
}

// multiplyRows does one job: a range of the rows of a times all columns.
func (p *product[T]) multiplyRows(chunk int) {
	nr := p.e.nr
	q0, q1 := p.share(chunk)
	i0, i1 := q0*nr, min(q1*nr, p.m)
	s := p.e.getScratch(nr * p.kc)
	for pass := range p.passes {
		for i := i0; i < i1; i += nr {
			first := p.steps * pass / p.passes
			for z := first; z < p.steps*(pass+1)/p.passes; z++ {
				p.start(&s.t, z)
				p.multiplyFew(s, z, i, z == first)
			}
		}
	}
	p.e.release(s)
}

// multiplyFew multiplies the narrow panel that starts at row i by all columns. Kernels fetch rows that are not packed
// fetchAhead bytes before they read them. With fetch, the tiles share the fetches of the first fetchAhead bytes of the
// next rows, too.
func (p *product[T]) multiplyFew(s *scratch[T], z, i int, fetch bool) {
	t := &s.t
	p0, np := p.block(z)
	t.rows = min(p.e.nr, p.m-i)
	if p.direct && t.rows == p.e.nr {
		t.b, t.ldb = unsafe.Pointer(&p.a.data[i*p.a.ld+p0]), p.a.ld
		if fetch && i+t.rows < p.m {
			t.next, t.lines = unsafe.Pointer(&p.a.data[(i+t.rows)*p.a.ld+p0]), fetchAhead/64/p.wides+1
		}
	} else {
		p.e.pack(p.a, s.wide[:t.rows*np], t.rows, i, t.rows, p0, np)
		t.b, t.ldb = unsafe.Pointer(&s.wide[0]), 0
	}
	p.tiles(s, i, 0, p.n, p.slab[p.inColumns(0, p0, np):])
}
