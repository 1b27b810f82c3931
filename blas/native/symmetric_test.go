package native

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/iokl/iokl/internal/base/par"
	"github.com/iokl/iokl/internal/base/race"
)

// setThreads sets the thread count for one test.
func setThreads(t testing.TB, n int) {
	t.Helper()
	old := par.Threads()
	par.SetThreads(n)
	t.Cleanup(func() { par.SetThreads(old) })
}

// eachLevel runs f for the BLAS of every level there is.
func eachLevel(t *testing.T, f func(t *testing.T, b *BLAS)) {
	for _, l := range Levels() {
		b, err := NewLevel(l)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(l.String(), func(t *testing.T) { f(t, b) })
	}
}

// randomSymmetric returns an operator with random elements and the same matrix row by row.
func randomSymmetric(rng *rand.Rand, b *BLAS, n int, single, whole bool) (*Symmetric, []float64) {
	s := b.newSymmetric(n, single, whole)
	a := make([]float64, n*n)
	for j := range n {
		for i := range j + 1 {
			v := rng.NormFloat64()
			if single {
				v = float64(float32(v))
			}
			a[i*n+j], a[j*n+i] = v, v
		}
		for i := 0; i <= j; { // in pieces that do not end where panels do
			next := min(i+1+rng.IntN(70), j+1)
			s.Set(j, i, a[j*n+i:j*n+next])
			i = next
		}
	}
	s.Complete()
	return s, a
}

func TestSymmetricMultiply(t *testing.T) {
	orders := []int{1, 2, 7, 23, 24, 25, 47, 48, 49, 63, 120, 131, 250}
	columns := []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 17, 32, 102, 201}
	if race.Enabled || testing.Short() {
		orders, columns = []int{1, 25, 48, 131}, []int{1, 3, 4, 8, 10, 33}
	}
	eachLevel(t, func(t *testing.T, b *BLAS) {
		for _, single := range []bool{false, true} {
			for _, n := range orders {
				for _, k := range columns {
					multiplyOnce(t, b, n, k, single, true)
					multiplyOnce(t, b, n, k, single, false)
				}
			}
		}
		if !race.Enabled {
			multiplyOnce(t, b, 700, 400, false, true)
			multiplyOnce(t, b, 700, 400, false, false)
			multiplyOnce(t, b, 901, 230, true, false)
		}
	})
}

func multiplyOnce(t *testing.T, b *BLAS, n, k int, single, whole bool) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(n), uint64(k)))
	s, a := randomSymmetric(rng, b, n, single, whole)
	ldx, ldd := k+rng.IntN(3), k+rng.IntN(3)
	x, dst := make([]float64, n*ldx), make([]float64, n*ldd)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	for i := range dst {
		dst[i] = math.NaN()
	}
	s.Multiply(k, dst, ldd, x, ldx)
	row := make([]float64, n)
	for _, i := range []int{0, n / 2, n - 1} {
		if s.Row(i, row); !slices.Equal(row, a[i*n:i*n+n]) {
			t.Fatalf("n=%d single=%v whole=%v: row %d differs", n, single, whole, i)
		}
	}
	unit, stride := 0x1p-53, 1
	if single {
		unit = 0x1p-24
	}
	if n > 250 {
		stride = 11 // has no factor in common with the sizes of tiles and panels
	}
	for i := range n {
		for c := range ldd {
			got := dst[i*ldd+c]
			if c >= k {
				if !math.IsNaN(got) {
					t.Fatalf("n=%d k=%d: element (%d,%d) beyond the block was written", n, k, i, c)
				}
				continue
			}
			if i%stride != 0 {
				continue
			}
			var want, size float64
			for j := range n {
				want += a[i*n+j] * x[j*ldx+c]
				size += math.Abs(a[i*n+j] * x[j*ldx+c])
			}
			if !(math.Abs(got-want) <= 2*float64(n+2)*unit*size) {
				t.Fatalf("n=%d k=%d single=%v whole=%v: element (%d,%d) is %g, want %g", n, k, single, whole, i, c,
					got, want)
			}
		}
	}
}
