package vmath

import (
	"math/rand/v2"
	"syscall"
	"testing"
	"unsafe"
)

// atPageEnd returns n float64 that end where an unreadable page begins.
func atPageEnd(t *testing.T, n int) []float64 {
	t.Helper()
	page := syscall.Getpagesize()
	size := (8*n + page - 1) / page * page
	mem, err := syscall.Mmap(-1, 0, size+page, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Munmap(mem) })
	if err := syscall.Mprotect(mem[size:], syscall.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*float64)(unsafe.Pointer(&mem[size-8*n])), n)
}

// No implementation touches memory past its slices: a read there faults.
func TestPageBoundary(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	forEachSet(t, func(t *testing.T) {
		for _, n := range []int{1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33} {
			x, y, dst, zt := atPageEnd(t, n), atPageEnd(t, n), atPageEnd(t, n), atPageEnd(t, 2*n)
			for _, s := range [][]float64{x, y, zt} {
				for i := range s {
					s[i] = rng.Float64()
				}
			}
			single := atPageEnd(t, (n+1)/2)
			narrow := unsafe.Slice((*float32)(unsafe.Pointer(&single[0])), n+n%2)[n%2:]
			Exp(dst, x, 1)
			ExpStream(dst, x, 1)
			SqDist(dst, 1, y)
			Matern(dst, x, 1, 1)
			Power(dst, x, 1, 1, 3)
			SinCos(dst, y, x, 1)
			Cos(dst, x, 1)
			Narrow(narrow, x)
			StreamNarrow(narrow, x)
			Stream(dst, x)
			L1Row(dst, x[:min(2, n)], zt, n)
			SqRow(dst, x[:min(2, n)], zt, n)
			Chi2Row(dst, x[:min(2, n)], zt, n)
			HarmonicRow(dst, x[:min(2, n)], zt, n)
			SqDistBelow(dst, 1, y, -1, 0)
			Secular(x, y, 2.5)
			Reflect3(x, y, dst, 1.5, 0.5, 0.25)
			Rotate([]float64{0.6}, []float64{0.8}, zt, n, n)
			LorentzRow(dst, x[:min(2, n)], zt, n)
		}
	})
}
