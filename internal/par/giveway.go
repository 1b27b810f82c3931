package par

import (
	"runtime"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"
)

// GiveWay lets others have the processor: the garbage collector, and goroutines
// that are ready to run. A goroutine that computes for long without blocking
// calls it every tenth of a millisecond or so. Where a processor is idle it does
// nothing, since the others can go there.
//
// Most goroutines hand the processor back at once, but one that computes keeps it
// until the scheduler takes it away after ten milliseconds or more. Were every
// call answered by so much, it would have the processor nearly all the time.
// Whoever was away for so long therefore leaves it to the scheduler, for a while,
// to share the processors fairly. The operating system too takes a processor away
// for so long, and the collector's goroutines would then wait for nothing: that
// while ends when the collector begins, and no wait that it had a part in counts.
func GiveWay() {
	idle, waiting := load()
	switch {
	case idle:
	case waiting == 0:
		runtime.Gosched() // to the collector, if it has work
	case int64(waiting) > queued.Load():
		before, known := pauses()
		if !known || crowded() && !disperse(before) {
			return
		}
		queued.Add(1)
		left := now()
		runtime.Gosched()
		away := now() - left
		queued.Add(-1)
		if after, known := pauses(); known && before == after {
			waited(away, after)
		}
	}
}

// crowded reports whether a goroutine of this package has waited for a processor
// for long, not long ago.
func crowded() bool {
	until := crowd.until.Load()
	return until > 0 && now() < time.Duration(until)
}

// waited notes that a goroutine waited for a processor until now, and how often
// the collector has paused the program.
func waited(t time.Duration, pauses uint64) {
	if t > quick && pauses%2 == 0 {
		crowd.pauses.Store(pauses)
		crowd.until.Store(int64(now() + crowdedFor*t))
	}
}

// disperse ends the crowd when the collector has been at work since it came
// together, and reports whether it has.
func disperse(pauses uint64) bool {
	if pauses == crowd.pauses.Load() {
		return false
	}
	crowd.until.Store(0)
	return true
}

const (
	quick      = 9 * time.Millisecond // who keeps a processor for longer computes
	crowdedFor = 30                   // times as long as somebody waited there is a crowd
)

// crowd is what is known of others that compute.
var crowd struct {
	until  atomic.Int64  // leave the processors to the scheduler until then
	pauses atomic.Uint64 // of the collector, when that was found
}

var (
	queued atomic.Int64 // goroutines of this package that gave way, or have not begun
	began  = time.Now()
)

// now is the time since the program began.
func now() time.Duration { return time.Since(began) }

// scheduler holds what the runtime tells about its scheduler.
var scheduler = struct {
	mu      sync.Mutex
	samples []metrics.Sample
	pauses  []metrics.Sample
}{
	samples: []metrics.Sample{
		{Name: "/sched/goroutines/running:goroutines"},
		{Name: "/sched/goroutines/runnable:goroutines"},
	},
	pauses: []metrics.Sample{{Name: "/sched/pauses/total/gc:seconds"}},
}

// load tells whether a processor is idle, and else how many goroutines wait for
// one. It takes a tenth of a microsecond. Where somebody else is asking it says
// that a processor is idle.
func load() (idle bool, waiting int) {
	if !scheduler.mu.TryLock() {
		return true, 0
	}
	defer scheduler.mu.Unlock()
	metrics.Read(scheduler.samples)
	running := scheduler.samples[0].Value.Uint64()
	return running < uint64(runtime.GOMAXPROCS(0)), int(scheduler.samples[1].Value.Uint64())
}

// pauses is how often the garbage collector has paused the program, unless
// somebody else is asking. It does so once before it marks and once after, so that
// the number is odd while it is at work. (A collection that must mark again pauses
// once more, which is very rare; what follows is then only less polite in a crowd,
// or less fair.)
func pauses() (n uint64, known bool) {
	if !scheduler.mu.TryLock() {
		return 0, false
	}
	defer scheduler.mu.Unlock()
	metrics.Read(scheduler.pauses)
	for _, c := range scheduler.pauses[0].Value.Float64Histogram().Counts {
		n += c
	}
	return n, true
}
