package native

import "testing"

// TestBlocks holds the blocking to the parts of the caches that it may take, for every tile there is.
func TestBlocks(t *testing.T) {
	for _, c := range []caches{
		{32 << 10, 512 << 10, 32 << 20},
		{48 << 10, 1 << 20, 32 << 20},
		{64 << 10, 1 << 20, 4 << 20},
		{32 << 10, 256 << 10, 3 << 20},
		{128 << 10, 12 << 20, 16 << 20},
	} {
		for _, k := range [][3]int{{8, 4, 8}, {12, 4, 8}, {24, 4, 4}, {24, 8, 8}, {48, 8, 4}} {
			mr, nr, size := k[0], k[1], k[2]
			b := c.blocks(mr, nr, size)
			if b.kc%16 != 0 || b.kc > mostSteps || b.kc*nr*size > c.l1*7/8 ||
				b.kc < mostSteps && (b.kc+16)*nr*size <= c.l1*7/8 {
				t.Errorf("%+v, tile %v: %d steps", c, k, b.kc)
			}
			if panel := b.kc * mr * size; b.nc%mr != 0 || b.nc > mr && b.nc/mr*panel > c.l2*3/8 ||
				(b.nc/mr+1)*panel <= c.l2*3/8 {
				t.Errorf("%+v, tile %v: %d columns", c, k, b.nc)
			}
			if b.slab > c.l3/4 || b.slab > mostSlab || b.slab < min(c.l3/4, mostSlab) || b.l2 != c.l2 {
				t.Errorf("%+v, tile %v: slab of %d bytes, second level of %d", c, k, b.slab, b.l2)
			}
		}
	}
}

// TestReportedBlocks compares what is reported with what products use.
func TestReportedBlocks(t *testing.T) {
	eachLevel(t, func(t *testing.T, b *BLAS) {
		for i, got := range b.Blockings() {
			k, kc := [][2]int{{b.d.nr, b.d.mr}, {b.s.nr, b.s.mr}}[i], []int{b.d.kc, b.s.kc}[i]
			if got.Tile != k || got.Steps != kc || len(got.Why) != 4 {
				t.Errorf("%+v", got)
			}
			column := kc * []int{8, 4}[i]
			if room := b.d.l2 * 7 / 8; got.Thin*column > room || (got.Thin+k[1])*column <= room {
				t.Errorf("%+v: products of %d columns read rows in place", got, got.Thin)
			}
			thin := func(n int) bool {
				if i == 0 {
					return isThin(b.d.engine, n)
				}
				return isThin(b.s, n)
			}
			if !thin(got.Thin) || thin(got.Thin+1) {
				t.Errorf("%+v: the most columns that read rows in place are others", got)
			}
		}
	})
}

// isThin reports whether a product of n columns and many steps is a thin one.
func isThin[T element](e *engine[T], n int) bool {
	p := product[T]{e: e, m: 1000, n: n, k: 8 * e.kc, wides: (n + e.mr - 1) / e.mr}
	p.split()
	return p.thinPass() > 0
}
