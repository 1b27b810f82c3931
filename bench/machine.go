package bench

import (
	"cmp"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/cpuid/v2"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/blas/native"
	"github.com/iokl/iokl/internal/base/par"
	"github.com/iokl/iokl/internal/files/build"
)

// Machine describes where and with what a run was made.
type Machine struct {
	Time     time.Time   `json:"time"`
	OS       string      `json:"os"`
	Arch     string      `json:"arch"`
	CPU      string      `json:"cpu"`
	Family   int         `json:"cpu_family,omitempty"` // of the processor, as cpuid counts; so the model
	Model    int         `json:"cpu_model,omitempty"`
	CPUs     int         `json:"cpus"`
	Features []string    `json:"features"` // of cpuid, those that matter to dense kernels
	L1Data   int         `json:"l1d_bytes,omitempty"`
	L2       int         `json:"l2_bytes,omitempty"`
	L3       int         `json:"l3_bytes,omitempty"`
	Memory   int64       `json:"memory_bytes,omitempty"`
	Go       string      `json:"go"`
	Commit   string      `json:"commit,omitempty"`
	Dirty    bool        `json:"dirty,omitempty"` // the tree differed from Commit
	Backend  blas.Info   `json:"backend"`
	Backends []blas.Info `json:"backends"`         // all in this build
	Forced   []string    `json:"forced,omitempty"` // what the environment imposes on libraries: see Forced
	Cores    int         `json:"cores,omitempty"`  // physical ones that the process may run on
	Threads  int         `json:"threads"`
	Quick    bool        `json:"quick,omitempty"`
	Count    int         `json:"count,omitempty"` // repetitions asked for; 0: each case's own number
	Seed     uint64      `json:"seed"`
	Load     float64     `json:"load"` // one-minute load average at the start
	Limits   *Limits     `json:"limits,omitempty"`
	Noise    *Noise      `json:"noise,omitempty"`
	Skipped  []string    `json:"skipped,omitempty"`
	Cases    []CaseRun   `json:"cases,omitempty"` // how long each took and what disturbed it

	Blocks []native.Blocking `json:"blocks,omitempty"` // of products by the native kernels; mklbench env alone has them
}

// Noise is what disturbed a run.
type Noise struct {
	Steal float64 `json:"steal"` // share of processor time the hypervisor gave to others
	Other float64 `json:"other"` // share of processor time used by other processes
	Drift float64 `json:"drift"` // clock at the end over clock at the start, by a fixed piece of work
	Load  float64 `json:"load"`  // one-minute load average at the end
}

// Noisy tells whether the figures of the run deserve suspicion.
func (n *Noise) Noisy() bool {
	return n != nil && (n.Steal > 0.02 || n.Other > 0.1 || n.Drift < 0.9 || n.Drift > 1.1)
}

// Worse is the disturbance of two runs that make one.
func (n *Noise) Worse(o *Noise) *Noise {
	if n == nil || o == nil {
		return cmp.Or(n, o)
	}
	w := Noise{Steal: max(n.Steal, o.Steal), Other: max(n.Other, o.Other), Load: max(n.Load, o.Load), Drift: n.Drift}
	if math.Abs(math.Log(o.Drift)) > math.Abs(math.Log(n.Drift)) {
		w.Drift = o.Drift
	}
	return &w
}

// dense lists the cpuid features that dense kernels may use.
var dense = []cpuid.FeatureID{
	cpuid.SSE2, cpuid.AVX, cpuid.AVX2, cpuid.FMA3, cpuid.AVX512F, cpuid.AVX512DQ, cpuid.AVX512VL, cpuid.AVX512BW,
	cpuid.ASIMD, cpuid.SVE,
}

// Describe returns the description of this machine and build.
func Describe(env *Env) Machine {
	m := Machine{
		Time: time.Now().UTC().Truncate(time.Second), OS: runtime.GOOS, Arch: runtime.GOARCH,
		CPU: cpuid.CPU.BrandName, Family: cpuid.CPU.Family, Model: cpuid.CPU.Model,
		CPUs: runtime.NumCPU(), Features: []string{},
		L1Data: max(cpuid.CPU.Cache.L1D, 0), L2: max(cpuid.CPU.Cache.L2, 0), L3: max(cpuid.CPU.Cache.L3, 0),
		Memory: memory(), Go: runtime.Version(), Backend: env.Backend.Info(),
		Cores: par.Cores(), Threads: env.Threads, Quick: env.Quick, Count: env.Count, Seed: env.Seed, Load: load(),
	}
	for _, f := range dense {
		if cpuid.CPU.Supports(f) {
			m.Features = append(m.Features, f.String())
		}
	}
	for _, b := range blas.Backends() {
		m.Backends = append(m.Backends, b.Info())
	}
	m.Forced = Forced()
	m.Commit, m.Dirty = build.Commit()
	return m
}

// forcing are the variables that make OpenBLAS run other kernels than it chooses for the processor. They are read when
// the library is loaded.
var forcing = []string{"OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"}

// Forced lists what the environment imposes on libraries measured for comparison, as NAME=VALUE.
func Forced() (set []string) {
	for _, name := range forcing {
		if v := os.Getenv(name); v != "" {
			set = append(set, name+"="+v)
		}
	}
	return set
}

// WarnForced logs what is forced.
func (e *Env) WarnForced() {
	if f := Forced(); len(f) > 0 {
		e.Log("libraries do not choose their kernels themselves: %s (--own-cores unsets it)", strings.Join(f, " "))
	}
}

// field returns the first number of the line of a /proc file that starts with
// key; 0 where there is no such file or line.
func field(file, key string) float64 {
	if c := columns(file, key); len(c) > 0 {
		return c[0]
	}
	return 0
}

func memory() int64 { return int64(field("/proc/meminfo", "MemTotal:")) * 1024 }

func load() float64 { return field("/proc/loadavg", "") }

// PeakRSS is the largest resident set since ResetPeakRSS; 0 where /proc does not tell.
func PeakRSS() int64 { return int64(field("/proc/self/status", "VmHWM:")) * 1024 }

// ResetPeakRSS hands unused memory back and starts a new peak. Where the kernel
// does not allow it the peak is that of the whole process, which is still an upper bound.
func ResetPeakRSS() {
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
}

// ticks are the processor times of the machine and of this process, in clock ticks.
type ticks struct {
	total, busy, steal, own float64
	clock                   time.Duration // of the fixed piece of work
	known                   bool
}

func readNoise() ticks {
	t := ticks{clock: fixedWork()}
	cpu := columns("/proc/stat", "cpu ")
	own := columns("/proc/self/stat", "")
	if len(cpu) < 8 || len(own) < 17 {
		return t
	}
	for _, v := range cpu[:8] {
		t.total += v
	}
	t.busy = t.total - cpu[3] - cpu[4] // idle, iowait
	t.steal = cpu[7]
	t.own = own[13] + own[14] + own[15] + own[16] // with children that have ended: the peers
	t.known = true
	return t
}

// columns are the numbers of the first line that starts with key; what is not a number is 0.
func columns(file, key string) []float64 {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, key); ok {
			var out []float64
			for _, w := range strings.Fields(rest) {
				x, _ := strconv.ParseFloat(w, 64)
				out = append(out, x)
			}
			return out
		}
	}
	return nil
}

func noiseSince(a ticks) *Noise {
	b := readNoise()
	n := &Noise{Drift: float64(a.clock) / float64(b.clock), Load: load()}
	if total := b.total - a.total; a.known && b.known && total > 0 {
		n.Steal = (b.steal - a.steal) / total
		n.Other = max(0, (b.busy-a.busy)-(b.steal-a.steal)-(b.own-a.own)) / total
	}
	return n
}

// fixedWork times a chain of dependent multiplications, whose speed follows the
// clock frequency and nothing else; the fastest of several.
func fixedWork() time.Duration {
	times := make([]time.Duration, 9)
	for i := range times {
		start := time.Now()
		x := 1.0
		for range 1 << 20 {
			x = x*0.999999 + 1e-6
		}
		times[i] = time.Since(start)
		if x > 2 {
			panic("bench: the clock loop went astray")
		}
	}
	return slices.Min(times)
}

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
	for _, t := range slices.Compact([]int{1, threads}) {
		for _, prec := range []blas.Precision{blas.Float64, blas.Float32} {
			rate := best(func() float64 { return b.MeasurePeak(prec == blas.Float32, t, limitTime) })
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
