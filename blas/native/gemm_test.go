package native

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/iokl/iokl/internal/base/race"
)

// TestBlockings multiplies with blocks so small that every loop runs several
// times, on both ways through a product, and compares with plain sums.
func TestBlockings(t *testing.T) {
	eachLevel(t, func(t *testing.T, b *BLAS) {
		t.Run("float64", func(t *testing.T) { blockings(t, b.d.kernels, 8) })
		t.Run("float32", func(t *testing.T) { blockings(t, b.s.kernels, 4) })
	})
}

func blockings[T element](t *testing.T, k kernels[T], size int) {
	rng := rand.New(rand.NewPCG(4, 1))
	thin := 2 * thinLeast * k.mr * size // the cache for which one wide panel is thin, and two are not
	for _, c := range []struct {
		name    string
		m, n, k int
		blocks  blocks
	}{
		{"one pass", 37, 3*k.mr + 5, 70, blocks{kc: 16, nc: k.mr, slab: 1 << 20}},
		{"several passes", 37, 3*k.mr + 5, 70, blocks{kc: 16, nc: 2 * k.mr, slab: 40 * 32 * size}},
		{"several slabs", 37, 3*k.mr + 5, 70, blocks{kc: 16, nc: 2 * k.mr, slab: 16 * 20 * size}},
		{"few rows", 3, 70, 50, blocks{kc: 16, nc: k.mr, slab: 1 << 20}},
		{"thin", 17, k.mr, 2*thinLeast + 77, blocks{kc: 16, nc: k.mr, slab: 1 << 20, l2: thin}},
		{"very thin", 17, 5, 2*thinLeast + 77, blocks{kc: 16, nc: k.mr, slab: 1 << 20, l2: thin}},
		{"too wide", 17, k.mr + 1, 2*thinLeast + 77, blocks{kc: 64, nc: k.mr, slab: 1 << 20, l2: thin}},
		{"three panels", 17, 2*k.mr + 1, thinLeast + 77, blocks{kc: 16, nc: k.mr, slab: 1 << 20, l2: 3 * thin}},
	} {
		e := &engine[T]{kernels: k, blocks: c.blocks, buffers: new(buffers[T])}
		setThreads(t, 3)
		for _, fa := range []form{byFree, bySum} {
			for _, fb := range []form{byFree, bySum} {
				for _, want := range []part{whole, lower, upper} {
					if race.Enabled && (fa != fb || want == upper) {
						continue // they share their work as the others do
					}
					what := fmt.Sprintf("%s, forms %d %d, part %d", c.name, fa, fb, want)
					productOnce(t, what, rng, e, c.m, c.n, c.k, fa, fb, want)
				}
			}
		}
	}
}

// productOnce compares one product with its definition.
func productOnce[T element](
	t *testing.T, what string, rng *rand.Rand, e *engine[T], m, n, k int, fa, fb form, want part,
) {
	t.Helper()
	ldc := n + 3
	ld := max(m, n, k) + 1
	a, b := fill(rng, make([]T, ld*ld)), fill(rng, make([]T, ld*ld))
	c := fill(rng, make([]T, m*ldc))
	old := append([]T(nil), c...)
	e.gemm(operand[T]{a, ld, fa}, operand[T]{b, ld, fb}, m, n, k, -0.5, 1, c, ldc, want)
	at := func(x []T, f form, i, p int) T {
		if f == byFree {
			return x[p*ld+i]
		}
		return x[i*ld+p]
	}
	for i := range m {
		for j := range ldc {
			sum := old[i*ldc+j]
			if j < n && (want == whole || want == lower && j <= i || want == upper && j >= i) {
				for p := range k {
					sum -= at(a, fa, i, p) * at(b, fb, j, p) / 2
				}
			}
			near(t, what, c[i*ldc+j], sum, k, 4*float64(k))
		}
	}
}
