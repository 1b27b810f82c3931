package bench

import (
	"time"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/par"
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
const limitTime = 100 * time.Millisecond

// readSizes are the working sets whose bandwidth is measured: from within the
// caches to far beyond them.
var readSizes = []int{1 << 20, 6 << 20, 24 << 20, 75 << 20, 256 << 20}

// MeasureLimits measures the machine with one thread and with that many.
func MeasureLimits(threads int) Limits {
	var l Limits
	buf := make([]float64, readSizes[len(readSizes)-1]/8)
	for i := range buf {
		buf[i] = 1
	}
	for _, t := range threadCounts(threads) {
		for _, size := range readSizes {
			l.Bandwidth = append(l.Bandwidth, Bandwidth{Bytes: size, Threads: t, GBytes: readRate(buf[:size/8], t)})
		}
	}
	return l
}

// threadCounts is 1 and, when it differs, threads.
func threadCounts(threads int) []int {
	if threads > 1 {
		return []int{1, threads}
	}
	return []int{1}
}

// readRate reads buf with that many threads over and over and returns 1e9 bytes a second.
func readRate(buf []float64, threads int) float64 {
	part := len(buf) / threads
	best := 0.0
	for range 5 {
		rounds := 0
		start := time.Now()
		for time.Since(start) < limitTime/5 {
			par.For(threads, func(i int) {
				mine := buf[i*part : (i+1)*part]
				sinks[i%len(sinks)].x = blas.Dot(mine[:part/2], mine[part/2:])
			})
			rounds++
		}
		best = max(best, float64(rounds)*float64(part*threads)*8/time.Since(start).Seconds()/1e9)
	}
	return best
}

// sinks keep what is computed alive, each on a cache line of its own.
var sinks [64]struct {
	x float64
	_ [7]float64
}
