// This file measures the peak arithmetic rate and the memory bandwidth of the machine.

package bench

import (
	"time"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/blas/native"
)

// Limits are what the machine itself can do, measured.
type Limits struct {
	FMA       []Peak      `json:"fma"`       // floating point
	Bandwidth []Bandwidth `json:"bandwidth"` // memory reads
}

// Peak is the highest rate of fused multiply-adds from registers.
type Peak struct {
	Precision string  `json:"precision"` // float64 or float32
	Threads   int     `json:"threads"`
	GFlops    float64 `json:"gflops"`
}

// Bandwidth is the rate at which memory of one working-set size is read.
type Bandwidth struct {
	Bytes   int     `json:"bytes"` // read over and over by all threads together
	Threads int     `json:"threads"`
	GBytes  float64 `json:"gbytes_per_second"`
}

// Peak returns the measured peak, 0 when it is unknown.
func (l Limits) Peak(precision string, threads int) float64 {
	for _, p := range l.FMA {
		if p.Precision == precision && p.Threads == threads {
			return p.GFlops
		}
	}
	return 0
}

// Read returns the bandwidth measured for the working set nearest to bytes, 0
// when none was measured with that many threads.
func (l Limits) Read(bytes float64, threads int) float64 {
	best, rate := 0.0, 0.0
	for _, b := range l.Bandwidth {
		ratio := max(float64(b.Bytes)/bytes, bytes/float64(b.Bytes))
		if b.Threads == threads && (best == 0 || ratio < best) {
			best, rate = ratio, b.GBytes
		}
	}
	return rate
}

// limitTime is how long each limit is measured.
const limitTime = 50 * time.Millisecond

// readSizes are the working sets whose bandwidth is measured: from within the
// caches to far beyond them.
var readSizes = []int{1 << 20, 6 << 20, 24 << 20, 75 << 20, 256 << 20}

// measureLimits measures the machine with one thread and with that many: the
// multiply-adds of the fastest instruction set, and reads of memory. Of three
// trials the best counts, since a limit is what was reached undisturbed.
func measureLimits(threads int) Limits {
	var l Limits
	b := native.New()
	for _, t := range ThreadCounts(threads) {
		for _, single := range []bool{false, true} {
			prec := blas.Float64
			if single {
				prec = blas.Float32
			}
			rate := best(func() float64 { return b.MeasurePeak(single, t, limitTime) })
			l.FMA = append(l.FMA, Peak{Precision: prec.String(), Threads: t, GFlops: rate / 1e9})
		}
		for _, size := range readSizes {
			rate := best(func() float64 { return b.MeasureBandwidth(size, t, limitTime) })
			l.Bandwidth = append(l.Bandwidth, Bandwidth{Bytes: size, Threads: t, GBytes: rate / 1e9})
		}
	}
	return l
}

func best(measure func() float64) float64 {
	return max(measure(), measure(), measure())
}

// ThreadCounts is 1 and, when it differs, threads.
func ThreadCounts(threads int) []int {
	if threads > 1 {
		return []int{1, threads}
	}
	return []int{1}
}

// MaxThreads is the largest number of threads that limits were measured with.
func (l *Limits) MaxThreads() int {
	threads := 0
	if l != nil {
		for _, p := range l.FMA {
			threads = max(threads, p.Threads)
		}
	}
	return threads
}
