// Goroutines that stay awake between two short loops.

package par

import (
	"runtime"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"
)

// Solvers run one short loop after another, and to wake a sleeping thread takes longer than many a loop does: a tenth
// of a millisecond on a virtual machine. So a helper that has nothing to do stays awake for a while, and so does a
// caller that waits for its helpers, unless another goroutine wants the processor.
const (
	awake      = 300 * time.Microsecond // how long a helper or a caller waits before it sleeps
	checkEvery = 20 * time.Microsecond  // how often it checks whether other goroutines want its processor
	spinsEach  = 64                     // calls of ready between two readings of the clock
	asleep     = 1 << 32                // in loop.left: the caller sleeps
	maxOffers  = 1 << 10
)

var (
	spinning atomic.Int64                  // helpers awake to whom nothing was offered yet
	offers   = make(chan *loop, maxOffers) // what they were offered
)

// spin calls ready until it returns true, for as long as it makes sense to stay awake: then it returns false.
func spin(ready func() bool) bool {
	var start time.Time
	next := checkEvery
	for i := 0; ; i++ {
		if ready() {
			return true
		}
		if i == 0 {
			start = time.Now()
		}
		if i%spinsEach != 0 {
			continue
		}
		waited := time.Since(start)
		if waited < next {
			continue
		}
		if waited > awake || contended() {
			return false
		}
		yield()
		next = waited + checkEvery
	}
}

// scheduler holds what the runtime tells about goroutines.
var scheduler = struct {
	mu      sync.Mutex
	samples []metrics.Sample
}{samples: []metrics.Sample{
	{Name: "/sched/goroutines/running:goroutines"},
	{Name: "/sched/goroutines/runnable:goroutines"},
}}

// contended reports whether goroutines wait and no processor is idle. It takes a tenth of a
// microsecond; while another goroutine asks it reports false.
func contended() bool {
	if !scheduler.mu.TryLock() {
		return false
	}
	defer scheduler.mu.Unlock()
	metrics.Read(scheduler.samples)
	return scheduler.samples[0].Value.Uint64() >= uint64(runtime.GOMAXPROCS(0)) &&
		scheduler.samples[1].Value.Uint64() > 0
}

// Until returns when ready, which another goroutine is about to make true, returns true.
func Until(ready func() bool) {
	for !spin(ready) {
		time.Sleep(checkEvery)
	}
}

// offer gives l to a helper that is awake, if there is one.
func offer(l *loop) bool {
	if !claim() {
		return false
	}
	offers <- l
	return true
}

// claim takes one of the helpers that are awake, if there is one, out of the count.
func claim() bool {
	for {
		s := spinning.Load()
		if s <= 0 {
			return false
		}
		if spinning.CompareAndSwap(s, s-1) {
			return true
		}
	}
}

// await returns the next loop to help with, or nil when none came for a while.
// As many helpers are in here as spinning counts and offers holds together.
func await() *loop {
	spinning.Add(1)
	var l *loop
	found := spin(func() bool {
		select {
		case l = <-offers:
			return true
		default:
			return false
		}
	})
	if found || claim() {
		return l
	}
	return <-offers // a loop was offered to this helper meanwhile
}

// wait returns when no helper is at work on l.
func (l *loop) wait() {
	if spin(func() bool { return l.left.Load() == 0 }) {
		return
	}
	if l.left.Add(asleep) > asleep {
		<-l.ended
	}
}
