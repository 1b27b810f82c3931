package native

import (
	"math/rand/v2"
	"testing"

	gblas "gonum.org/v1/gonum/blas"
)

// FuzzGemm compares the product of a level with the generic one's. Shapes, strides, scalars,
// flags and the level are those of the input.
func FuzzGemm(f *testing.F) {
	f.Add(uint8(1), uint8(1), uint8(1), uint8(0), uint64(1))
	f.Add(uint8(24), uint8(8), uint8(255), uint8(3), uint64(2))
	f.Add(uint8(66), uint8(25), uint8(9), uint8(6), uint64(3))
	f.Add(uint8(0), uint8(7), uint8(200), uint8(9), uint64(4))
	backends := map[Level]*BLAS{}
	for _, l := range Levels() {
		be, err := NewLevel(l)
		if err != nil {
			f.Fatal(err)
		}
		backends[l] = be
	}
	levels := assemblyLevels()
	if len(levels) == 0 {
		f.Skip("this machine has the generic level only")
	}
	f.Fuzz(func(t *testing.T, m8, n8, k8, flags uint8, seed uint64) {
		m, n, k := int(m8)%41, int(n8)%41, int(k8)%41 // a tile of every level and more, at thousands of inputs a second
		rng := rand.New(rand.NewPCG(seed, 1))
		tA, tB := gblas.NoTrans, gblas.NoTrans
		if flags&1 != 0 {
			tA = gblas.Trans
		}
		if flags&2 != 0 {
			tB = gblas.Trans
		}
		alpha, beta := []float64{1, -0.5}[flags>>2&1], []float64{0, 1, -2, 0.5}[flags>>3&3]
		ld := max(m, n, k, 1) + int(flags>>5)
		order := max(m, n, k)
		numbers := fill(rng, make([]float64, order*ld+2))
		a, b, c := numbers[:order*ld], numbers[1:], numbers[2:]
		want := append([]float64(nil), c...)
		backends[Generic].Dgemm(tA, tB, m, n, k, alpha, a, ld, b, ld, beta, want, ld)
		l := levels[seed%uint64(len(levels))]
		got := append([]float64(nil), c...)
		backends[l].Dgemm(tA, tB, m, n, k, alpha, a, ld, b, ld, beta, got, ld)
		same(t, l.String(), got, want, 20)
	})
}

// FuzzSymmetric compares the operator with few columns against many: the two paths share nothing.
func FuzzSymmetric(f *testing.F) {
	f.Add(uint8(1), uint8(1), uint64(1))
	f.Add(uint8(49), uint8(8), uint64(2))
	f.Add(uint8(255), uint8(3), uint64(3))
	f.Fuzz(func(t *testing.T, n8, k8 uint8, seed uint64) {
		n, k := int(n8)%80+1, int(k8)%8+1
		rng := rand.New(rand.NewPCG(seed, 2))
		s, _ := randomSymmetric(rng, New(), n, false, true)
		x := fill(rng, make([]float64, n*40))
		few, many := make([]float64, n*40), make([]float64, n*40)
		s.Multiply(k, few, 40, x, 40)
		s.Multiply(40, many, 40, x, 40)
		for i := range n {
			same(t, "row", few[i*40:i*40+k], many[i*40:i*40+k], 20*float64(n))
		}
	})
}
