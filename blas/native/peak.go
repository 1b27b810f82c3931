// The largest arithmetic speed and memory bandwidth that the processor reaches.

package native

import (
	"sync"
	"time"
	"unsafe"

	"github.com/iokl/iokl/internal/base/memory"
)

// MeasurePeak measures the floating-point operations per second, a fused
// multiply-add counting two, that the given number of threads reach together in
// the given time with the level's vector instructions on registers alone. It is
// what the speed of a kernel is a fraction of.
func (b *BLAS) MeasurePeak(single bool, threads int, d time.Duration) float64 {
	spin := b.d.spin
	if single {
		spin = b.s.spin
	}
	start := time.Now()
	return onThreads(threads, func() float64 {
		var flops float64
		for again := true; again; again = time.Since(start) < d { // once even when started late
			flops += float64(spin(1 << 14))
		}
		return flops / time.Since(start).Seconds()
	})
}

// MeasureBandwidth measures the bytes per second that the given number of
// threads together read from a buffer of the given size, each its own part over
// and over, in the given time.
func (b *BLAS) MeasureBandwidth(bytes, threads int, d time.Duration) float64 {
	const chunk = 1 << 16 // elements between two looks at the clock
	threads = max(threads, 1)
	each := max(bytes/8/threads, chunk)
	data := make([]float64, each*threads)
	memory.PreferHuge(data)
	for i := range data {
		data[i] = 1 // pages that were never written are one and the same
	}
	parts := make(chan []float64, threads)
	for t := range threads {
		parts <- data[t*each : (t+1)*each]
	}
	start := time.Now()
	return onThreads(threads, func() float64 {
		part := <-parts
		var read int
		var sum float64
		for again := true; again; again = time.Since(start) < d {
			for at := 0; at+chunk <= len(part); at += chunk {
				sum += b.d.read(part[at : at+chunk])
				read += chunk
			}
		}
		if sum < 0 {
			panic("native: a sum of ones is negative")
		}
		return float64(read*8) / time.Since(start).Seconds()
	})
}

// onThreads runs f on so many goroutines at once and adds up what they return.
func onThreads(threads int, f func() float64) float64 {
	var (
		wg  sync.WaitGroup
		mu  sync.Mutex
		all float64
	)
	for range max(threads, 1) {
		wg.Go(func() {
			v := f()
			mu.Lock()
			all += v
			mu.Unlock()
		})
	}
	wg.Wait()
	return all
}

// spinGeneric does n steps of eight multiply-adds and returns the operations done.
func spinGeneric[T element](n int) int {
	var s [8]T
	x, y := T(1), T(unsafe.Sizeof(s))
	for range n {
		for i := range s {
			s[i] += x * y
		}
	}
	if s[0] < 0 {
		return 0
	}
	return 16 * n
}

// readGeneric returns the sum of x.
func readGeneric(x []float64) float64 {
	var s float64
	for _, v := range x {
		s += v
	}
	return s
}
