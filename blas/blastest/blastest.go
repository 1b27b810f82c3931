// Package blastest is the conformance suite of package blas: every backend passes it. Results are compared with those
// of gonum, within rounding bounds that scale with the operands. Memory outside a result holds NaN before an operation
// and must hold NaN after it. Memory that an operation must not read holds NaN throughout.
package blastest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	gblas "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/race"
)

// Run runs the suite.
func Run(t *testing.T, be blas.Backend) {
	t.Run("Gemm", func(t *testing.T) { gemm(t, be) })
	t.Run("Gemm32", func(t *testing.T) { gemm32(t, be) })
	t.Run("Symm", func(t *testing.T) { symm(t, be) })
	t.Run("Syrk", func(t *testing.T) { syrk(t, be) })
	t.Run("Triangular", func(t *testing.T) { triangular(t, be) })
	t.Run("Gemv", func(t *testing.T) { gemv(t, be) })
	t.Run("Symv", func(t *testing.T) { symv(t, be) })
	t.Run("Shapes", func(t *testing.T) { shapes(t, be) })
	packed(t, be)
}

var reference gonum.Implementation

const unit = 0x1p-53

// sizes are the orders that each operation is tried at.
var sizes = chosenSizes()

// Under the race detector the sizes are those that take different paths through
// the loops and the sharing of work: the arithmetic is tested without it.
func chosenSizes() [][3]int {
	if race.Enabled {
		return [][3]int{{3, 0, 2}, {7, 1, 5}, {9, 25, 17}, {66, 65, 66}, {150, 10, 130}, {10, 150, 400}}
	}
	return allSizes
}

// allSizes are around the edges of tiles and vectors, and large enough for
// threads and several blocks.
var allSizes = [][3]int{
	{0, 3, 2},
	{3, 0, 2},
	{3, 2, 0},
	{1, 1, 1},
	{1, 7, 5},
	{7, 1, 5},
	{5, 7, 1},
	{8, 24, 16},
	{9, 25, 17},
	{23, 47, 64},
	{66, 65, 66},
	{48, 49, 3},
	{130, 70, 90},
	{300, 10, 260},
	{10, 300, 40},
	{70, 170, 801},
}

// alphaBeta are the scalars; with beta 0 the destination is NaN.
var alphaBeta = [][2]float64{{1, 0}, {1, 1}, {-0.5, 0}, {2, -1.5}, {0, 0.5}, {0, 0}}

// scalars are the pairs to try on an operation of so many steps: two when it is long.
func scalars(steps int) [][2]float64 {
	if steps > 1<<18 || race.Enabled {
		return alphaBeta[2:4]
	}
	return alphaBeta
}

// matrix is a random r×c matrix of stride c+pad whose elements keep accepts;
// everything else is NaN.
func matrix(rng *rand.Rand, r, c int, keep func(i, j int) bool) blas.General {
	ld := c + 1 + rng.IntN(3)
	a := blas.General{Rows: r, Cols: c, Stride: ld, Data: make([]float64, max(r, 1)*ld)}
	for i := range a.Data {
		a.Data[i] = math.NaN()
	}
	for i := range r {
		for j := range c {
			if keep == nil || keep(i, j) {
				a.Data[i*ld+j] = rng.NormFloat64()
			}
		}
	}
	return a
}

// nothing makes a destination that may not be read.
func nothing(int, int) bool { return false }

// inTriangle accepts the elements of one triangle.
func inTriangle(ul gblas.Uplo) func(i, j int) bool {
	if ul == gblas.Lower {
		return func(i, j int) bool { return j <= i }
	}
	return func(i, j int) bool { return j >= i }
}

// expected is where the reference computes what c should become: c, or zero when
// beta is 0, since gonum multiplies what it finds by beta in places.
func expected(c blas.General, beta float64) blas.General {
	c = duplicate(c)
	if beta == 0 {
		clear(c.Data)
	}
	return c
}

// duplicate is a of the same stride, with what is between its rows.
func duplicate(a blas.General) blas.General {
	a.Data = slices.Clone(a.Data)
	return a
}

// equal fails unless got is want within bound in the elements that keep accepts,
// and NaN elsewhere.
func equal(t *testing.T, what string, got, want blas.General, keep func(i, j int) bool, bound float64) {
	t.Helper()
	for k, v := range got.Data {
		i, j := k/got.Stride, k%got.Stride
		if i >= got.Rows || j >= got.Cols || keep != nil && !keep(i, j) {
			if !math.IsNaN(v) {
				t.Fatalf("%s: wrote %g outside the result, at (%d,%d)", what, v, i, j)
			}
			continue
		}
		if d := math.Abs(v - want.Data[k]); !(d <= bound) {
			t.Fatalf("%s: element (%d,%d) is %g, want %g; the bound is %.3g", what, i, j, v, want.Data[k], bound)
		}
	}
}

// rounding bounds the error of sums of n products of normally distributed numbers, scaled.
func rounding(n int, scalars ...float64) float64 {
	s := 1.0
	for _, v := range scalars {
		s += math.Abs(v)
	}
	return 60 * unit * float64(n+4) * s
}

// destination makes an r×c result operand for the given beta: not to be read when it is 0.
func destination(rng *rand.Rand, r, c int, beta float64, keep func(i, j int) bool) blas.General {
	if beta == 0 {
		keep = nothing
	}
	return matrix(rng, r, c, keep)
}

// transposes are the values of a transpose flag.
var transposes = []gblas.Transpose{gblas.NoTrans, gblas.Trans}

// operand makes a matrix for which op(a) is r×c.
func operand(rng *rand.Rand, t gblas.Transpose, r, c int) blas.General {
	if t != gblas.NoTrans {
		r, c = c, r
	}
	return matrix(rng, r, c, nil)
}

func gemm(t *testing.T, be blas.Backend) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, s := range sizes {
		for _, tA := range transposes {
			for _, tB := range transposes {
				m, n, k := s[0], s[1], s[2]
				for _, ab := range scalars(m * n * k) {
					a, b := operand(rng, tA, m, k), operand(rng, tB, k, n)
					c := destination(rng, m, n, ab[1], nil)
					want := expected(c, ab[1])
					reference.Dgemm(tA, tB, m, n, k, ab[0], a.Data, a.Stride, b.Data, b.Stride, ab[1], want.Data,
						want.Stride)
					be.Dgemm(tA, tB, m, n, k, ab[0], a.Data, a.Stride, b.Data, b.Stride, ab[1], c.Data, c.Stride)
					equal(t, fmt.Sprintf("%v %c%c alpha,beta %v", s, tA, tB, ab), c, want, nil,
						rounding(k, ab[0], ab[1]))
				}
			}
		}
	}
}

func gemm32(t *testing.T, be blas.Backend) {
	rng := rand.New(rand.NewPCG(2, 1))
	for _, s := range sizes {
		for _, tA := range transposes {
			for _, tB := range transposes {
				m, n, k := s[0], s[1], s[2]
				a, b := operand(rng, tA, m, k), operand(rng, tB, k, n)
				c := matrix(rng, m, n, nil)
				a32, b32, c32 := single(a), single(b), single(c)
				want := duplicate(c)
				reference.Dgemm(tA, tB, m, n, k, -0.5, a.Data, a.Stride, b.Data, b.Stride, 2, want.Data, want.Stride)
				be.Sgemm(tA, tB, m, n, k, -0.5, a32, a.Stride, b32, b.Stride, 2, c32, c.Stride)
				for i, v := range c32 {
					c.Data[i] = float64(v)
				}
				equal(t, fmt.Sprintf("%v %c%c", s, tA, tB), c, want, nil, 0x1p29*rounding(k, 0.5, 2))
			}
		}
	}
}

func single(a blas.General) []float32 {
	s := make([]float32, len(a.Data))
	for i, v := range a.Data {
		s[i] = float32(v)
	}
	return s
}
