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
// to share the processors fairly, unless the collector is at work.
func GiveWay() {
	idle, waiting := load()
	switch {
	case idle:
	case waiting == 0:
		runtime.Gosched() // to the collector, if it has work
	case int64(waiting) > queued.Load() && (!crowded() || collecting()):
		queued.Add(1)
		left := now()
		runtime.Gosched()
		waited(now() - left)
		queued.Add(-1)
	}
}

// crowded reports whether a goroutine of this package has waited for a processor
// for long, not long ago.
func crowded() bool {
	until := crowdedUntil.Load()
	return until > 0 && now() < time.Duration(until)
}

// waited notes that a goroutine waited for a processor until now.
func waited(t time.Duration) {
	if t > quick {
		crowdedUntil.Store(int64(now() + crowdedFor*t))
	}
}

const (
	quick      = 9 * time.Millisecond // who keeps a processor for longer computes
	crowdedFor = 10                   // times as long as somebody waited there is a crowd
)

var (
	queued       atomic.Int64 // goroutines of this package that gave way, or have not begun
	crowdedUntil atomic.Int64 // there was somebody who waited for long
	began        = time.Now()
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

// collecting reports whether a garbage collection is marking: it pauses the
// program once before and once after, so that the number of pauses is odd. (A
// collection that must mark again pauses once more, which is very rare; what
// follows is then only less polite in a crowd, or less fair.)
func collecting() bool {
	if !scheduler.mu.TryLock() {
		return false
	}
	defer scheduler.mu.Unlock()
	metrics.Read(scheduler.pauses)
	var pauses uint64
	for _, n := range scheduler.pauses[0].Value.Float64Histogram().Counts {
		pauses += n
	}
	return pauses%2 == 1
}
