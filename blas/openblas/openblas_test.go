//go:build openblas

package openblas

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/blas/gonum"

	"github.com/iokl/iokl/blas/native"
	"github.com/iokl/iokl/internal/base/par"
	"github.com/iokl/iokl/internal/dense/lapack"
)

func randomMatrix(rng *rand.Rand, n int) []float64 {
	a := make([]float64, n*n)
	for i := range a {
		a[i] = rng.NormFloat64()
	}
	return a
}

// TestManyCallers enters the library from far more goroutines than it has
// threads, with products large and small and a factorization among them.
func TestManyCallers(t *testing.T) {
	const n = 96
	rng := rand.New(rand.NewPCG(1, 2))
	a, b := randomMatrix(rng, n), randomMatrix(rng, n)
	want := make([]float64, n*n)
	gonum.Implementation{}.Dgemm(blas.NoTrans, blas.Trans, n, n, n, 1, a, n, b, n, 0, want, n)
	var wg sync.WaitGroup
	for g := range 64 {
		wg.Go(func() {
			for range 20 {
				k := n
				if g%2 == 0 {
					k = n / 4 // stays below the size that asks for helpers
				}
				c := make([]float64, n*n)
				Implementation{}.Dgemm(blas.NoTrans, blas.Trans, k, n, n, 1, a, n, b, n, 0, c, n)
				for i := range k * n {
					if d := c[i] - want[i]; !(d < 1e-11 && d > -1e-11) {
						t.Errorf("element %d is %g, want %g", i, c[i], want[i])
						return
					}
				}
			}
			w := make([]float64, n)
			if err := (Implementation{}).Syevd(blas64.General{Rows: n, Cols: n, Stride: n, Data: append([]float64(nil),
				a...)}, w); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if door.inside != 0 || door.alone || door.waiting != 0 {
		t.Errorf("the gate was left at %d inside, alone %v, %d waiting", door.inside, door.alone, door.waiting)
	}
}

// TestGate checks that a call in a parallel loop gets no helper, that one
// outside gets them all, and that a panic of a shape check gives them back.
func TestGate(t *testing.T) {
	par.SetThreads(3)
	t.Cleanup(func() { par.SetThreads(0) })
	if h := door.enter(true); h != 2 || !door.alone {
		t.Errorf("a large call alone got %d helpers, alone %v", h, door.alone)
	} else {
		door.exit(h)
	}
	taken := par.Borrow(2)
	if h := door.enter(true); h != 0 || door.alone {
		t.Errorf("a call while the pool is taken got %d helpers", h)
	} else {
		door.exit(h)
	}
	par.Return(taken)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("a short matrix was accepted")
			}
		}()
		Implementation{}.Dgemm(blas.NoTrans, blas.NoTrans, 200, 200, 200, 1, nil, 200, nil, 200, 0, nil, 200)
	}()
	if h := door.enter(true); h != 2 {
		t.Errorf("after a panic %d helpers are free, want 2", h)
	} else {
		door.exit(h)
	}
}

func TestIdentity(t *testing.T) {
	if Version() == "unknown" || CoreName() == "" {
		t.Errorf("version %q, core %q", Version(), CoreName())
	}
}

func TestSizesBeyond32Bits(t *testing.T) {
	defer func() {
		if r := fmt.Sprint(recover()); r != "openblas: size does not fit 32 bits" {
			t.Errorf("panic %q", r)
		}
	}()
	Implementation{}.Dgemv(blas.NoTrans, 1, 1, 1, make([]float64, 1), 1<<31, make([]float64, 1), 1, 0,
		make([]float64, 1), 1)
}

// TestLU compares the factors of aᵀ, which stand in the columns, with this module's.
func TestLU(t *testing.T) {
	rng, reference := rand.New(rand.NewPCG(7, 1)), lapack.New(native.New(), native.New())
	for _, n := range []int{1, 2, 17, 200} {
		a, at := blas64.General{Rows: n, Cols: n, Stride: n, Data: randomMatrix(rng, n)}, make([]float64, n*n)
		for i := range at {
			at[i] = a.Data[i%n*n+i/n]
		}
		b, pivots, want := blas64.General{Rows: n, Cols: n, Stride: n, Data: at}, make([]int, n), make([]int, n)
		if !(Implementation{}).LU(a, pivots) || !reference.LU(b, want) || !slices.Equal(pivots, want) {
			t.Fatalf("order %d: pivots %v, want %v", n, pivots, want)
		}
		for i, v := range at {
			if got := a.Data[i%n*n+i/n]; !(math.Abs(got-v) <= 1e-10*(1+math.Abs(v))) {
				t.Fatalf("order %d: %g, want %g", n, got, v)
			}
		}
		clear(a.Data)
		if (Implementation{}).LU(a, pivots) {
			t.Errorf("order %d: zero is not singular", n)
		}
	}
}
