package native

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	gblas "gonum.org/v1/gonum/blas"

	"github.com/iokl/iokl/internal/base/par"
)

// TestSameBitsOnAnyThreads runs every parallel operation on 1, 2 and 3 threads.
func TestSameBitsOnAnyThreads(t *testing.T) {
	const m, n, k = 210, 190, 700
	no, tr, low := gblas.NoTrans, gblas.Trans, gblas.Lower
	rng := rand.New(rand.NewPCG(1, 5))
	a, b := fill(rng, make([]float64, m*k)), fill(rng, make([]float64, k*m))
	for i := range n {
		a[i*k+i] += 30 // the triangle in a is well conditioned
	}
	sym := fill(rng, make([]float64, k*k))
	c0 := fill(rng, make([]float64, m*k))
	eachLevel(t, func(t *testing.T, be *BLAS) {
		double, _ := randomSymmetric(rng, be, k, false, true)
		single, _ := randomSymmetric(rng, be, k, true, true)
		for name, f := range map[string]func(c []float64){
			"gemm":         func(c []float64) { be.Dgemm(no, no, m, n, k, 0.5, a, k, b, m, 2, c, k) },
			"gemm, wide":   func(c []float64) { be.Dgemm(tr, tr, 9, n, k, 0.5, b, m, a, k, 2, c, k) },
			"gemm, thin":   func(c []float64) { be.Dgemm(no, no, k, 90, k, 0.5, sym, k, b, m, 2, c, 90) },
			"gemm, few":    func(c []float64) { be.Dgemm(no, no, k, 10, k, 0.5, sym, k, b, m, 2, c, 10) },
			"symm":         func(c []float64) { be.Dsymm(gblas.Left, low, n, n, 1, a, k, b, m, 0, c, k) },
			"syrk":         func(c []float64) { be.Dsyrk(low, no, m, k, 1, a, k, 0, c, k) },
			"trsm":         func(c []float64) { be.Dtrsm(gblas.Left, low, no, gblas.NonUnit, n, k, 1, a, k, c, k) },
			"trsm, right":  func(c []float64) { be.Dtrsm(gblas.Right, low, tr, gblas.NonUnit, m, n, 1, a, k, c, k) },
			"gemv":         func(c []float64) { be.Dgemv(no, m, k, 1, a, k, b, 1, 0, c, 1) },
			"gemv, trans":  func(c []float64) { be.Dgemv(tr, m, k, 1, a, k, b, 1, 0, c, 1) },
			"symv":         func(c []float64) { be.Dsymv(low, k, 1, sym, k, b, 1, 0, c, 1) },
			"operator, 1":  func(c []float64) { double.Multiply(1, c, 1, b, 1) },
			"operator, 6":  func(c []float64) { double.Multiply(6, c, 6, b, 6) },
			"operator, 20": func(c []float64) { double.Multiply(20, c, 20, b, 20) },
			"single, 4":    func(c []float64) { single.Multiply(4, c, 4, b, 4) },
			"single, 20":   func(c []float64) { single.Multiply(20, c, 20, b, 20) },
		} {
			var want []float64
			for threads := 1; threads <= 3; threads++ {
				setThreads(t, threads)
				c := slices.Clone(c0)
				f(c)
				if threads == 1 {
					want = c
				} else if !slices.Equal(c, want) {
					t.Errorf("%s: %d threads give other bits than one", name, threads)
				}
			}
			if slices.Equal(want, c0) {
				t.Errorf("%s did nothing", name)
			}
		}
	})
}

// TestNoAllocations repeats products of a size met before.
func TestNoAllocations(t *testing.T) {
	const n = 300
	be := New()
	rng := rand.New(rand.NewPCG(1, 6))
	x, y := fill(rng, make([]float64, n*n)), make([]float64, n*n)
	a := fill(rng, make([]float64, n*n))
	for _, threads := range []int{1, 2} {
		setThreads(t, threads)
		for _, single := range []bool{false, true} {
			s, _ := randomSymmetric(rng, be, n, single, true)
			for _, k := range []int{1, 4, 10, 100} {
				f := func() { s.Multiply(k, y, k, x, k) }
				f()
				if got := testing.AllocsPerRun(20, f); got > 0 {
					t.Errorf("%d threads, single=%v: a product with %d columns allocates %v times", threads, single, k,
						got)
				}
			}
		}
		for _, size := range []int{30, n} {
			f := func() {
				be.Dgemm(gblas.NoTrans, gblas.Trans, size, size, size, 1, a, n, x, n, 0, y, n)
			}
			f()
			if got := testing.AllocsPerRun(20, f); got > 0 {
				t.Errorf("%d threads: gemm of order %d allocates %v times", threads, size, got)
			}
		}
	}
}

// TestSmallProductsStayAlone multiplies a row as predictions do, in several blocks of columns, and looks for
// goroutines that were woken for it.
func TestSmallProductsStayAlone(t *testing.T) {
	const n, k = 512, 10
	setThreads(t, 4)
	be := New()
	x, y := make([]float64, n*k), make([]float64, n)
	before := runtime.NumGoroutine()
	for range 100 {
		be.Dgemm(gblas.NoTrans, gblas.NoTrans, 1, n, k, 1, x, k, x, n, 0, y, n)
		if after := runtime.NumGoroutine(); after > before {
			t.Fatalf("%d goroutines, %d before", after, before)
		}
		before = runtime.NumGoroutine()
	}
}

// TestCollectorNeedNotWait asks for a garbage collection while a long product
// runs: the collection must end first. A kernel that could not be stopped would
// hold it up until the product is done.
func TestCollectorNeedNotWait(t *testing.T) {
	const n, k = 1000, 4000
	be := New()
	rng := rand.New(rand.NewPCG(1, 7))
	s, _ := randomSymmetric(rng, be, n, false, true)
	x := fill(rng, make([]float64, n*k))
	y := make([]float64, n*k)
	for name, f := range map[string]func(){
		"operator": func() { s.Multiply(k, y, k, x, k) },
		"few columns": func() {
			for range 500 {
				s.Multiply(2, y, 2, x, 2)
			}
		},
		"gemm": func() { be.Dgemm(gblas.NoTrans, gblas.Trans, n, n, k, 1, x, k, x, k, 0, y, k) },
	} {
		t.Run(name, func(t *testing.T) {
			for range 5 {
				var running, done atomic.Bool
				end := make(chan struct{})
				go func() {
					running.Store(true)
					f()
					done.Store(true)
					close(end)
				}()
				for !running.Load() {
					runtime.Gosched()
				}
				runtime.GC()
				first := !done.Load()
				<-end
				if first {
					return
				}
			}
			t.Error("five collections in a row ended after the product they had begun in")
		})
	}
}

// TestManyCallers multiplies from more goroutines than there are threads.
func TestManyCallers(t *testing.T) {
	setThreads(t, 2)
	be := New()
	const n = 130
	rng := rand.New(rand.NewPCG(1, 8))
	a, b, want := fill(rng, make([]float64, n*n)), fill(rng, make([]float64, n*n)), make([]float64, n*n)
	be.Dgemm(gblas.NoTrans, gblas.NoTrans, n, n, n, 1, a, n, b, n, 0, want, n)
	results := make(chan error)
	const callers = 12
	for range callers {
		go func() {
			for range 10 {
				c := make([]float64, n*n)
				be.Dgemm(gblas.NoTrans, gblas.NoTrans, n, n, n, 1, a, n, b, n, 0, c, n)
				if !slices.Equal(c, want) {
					results <- fmt.Errorf("a product beside others differs from one alone")
					return
				}
			}
			results <- nil
		}()
	}
	for range callers {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
}

// TestEvenJobs checks that threads share a product of several blocks of columns evenly.
func TestEvenJobs(t *testing.T) {
	old := par.Threads()
	t.Cleanup(func() { par.SetThreads(old) })
	k := kernels64(Levels()[0])
	const m, steps = 512, 256
	for _, threads := range []int{2, 3, 4} {
		par.SetThreads(threads)
		e := &engine[float64]{
			kernels: k, blocks: blocks{kc: steps, nc: 10 * k.mr, slab: 8 * m * steps}, buffers: new(buffers[float64]),
		}
		n := 50 * k.mr
		a, b, c := make([]float64, m*steps), make([]float64, n*steps), make([]float64, m*n)
		e.gemm(operand[float64]{a, steps, bySum}, operand[float64]{b, steps, bySum}, m, n, steps, 1, 0, c, n, whole)
		if p := e.jobs.Get(); p.blocks < 5 || p.blocks*p.chunks%threads != 0 {
			t.Errorf("%d blocks of columns in %d chunks of rows for %d threads", p.blocks, p.chunks, threads)
		}
	}
}

// TestEvenGroups checks that a symmetric product is shared where a matrix of as many multiply-adds times a vector is.
func TestEvenGroups(t *testing.T) {
	for n, want := range map[int]int{1: 1, 255: 1, 256: 2, 767: 2, 768: 4, 1 << 14: 16} {
		if got := symvGroups(n); got != want {
			t.Errorf("order %d: %d groups, want %d", n, got, want)
		}
	}
}
