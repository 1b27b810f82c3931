package par

import (
	"runtime"
	"sync/atomic"
	"time"
)

// A helper that has nothing left to do stays awake for a while, and so does a
// caller that waits for its helpers. Solvers run one short loop after another, and
// waking a sleeping thread takes longer than many a loop does: a tenth of a
// millisecond on a virtual machine, more where the operating system first puts it
// on the processor of the thread that woke it. Where other goroutines want the
// processor, nobody keeps it awake for longer than a part of the time it has worked.

const (
	awake     = 300 * time.Microsecond // how long a helper or a caller waits before it sleeps
	patience  = 10                     // where others want its processor, one part in so many of what it has worked,
	awakeMost = 2 * time.Millisecond   // and at most so long
	glance    = 20 * time.Microsecond  // how long it waits before it sees whether others do
	looks     = 64                     // looks between two at the clock
	asleep    = 1 << 32                // in loop.left: the caller sleeps
	maxOffers = 1 << 10
)

var (
	spinning atomic.Int64                  // helpers awake to whom nothing was offered yet
	offers   = make(chan *loop, maxOffers) // what they were offered
)

// spin calls ready until it returns true, or false when it stayed false for too
// long for somebody who has worked since began.
func spin(began time.Duration, ready func() bool) bool {
	var start, glanced, most time.Duration
	for i := 0; ; i++ {
		if ready() {
			return true
		}
		switch {
		case i == 0:
			start, most = now(), awake
		case i%looks == 0:
			waited := now() - start
			if waited > most {
				return false
			}
			if waited-glanced < glance {
				continue
			}
			glanced = waited
			switch idle, waiting := load(); {
			case idle:
			case waiting == 0:
				runtime.Gosched() // to the collector, if it has work
			default:
				most = min((start-began)/patience, awakeMost)
			}
		}
	}
}

// Until returns when ready, which another goroutine is about to make true, returns true.
func Until(ready func() bool) {
	start := now()
	for !spin(start, ready) {
		time.Sleep(glance) // unlike one that gives way, this processor takes work from others
	}
}

// offer gives l to a helper that is awake, if there is one.
func offer(l *loop) bool {
	if !leave() {
		return false
	}
	offers <- l
	return true
}

// leave takes one away from the helpers that are awake, if there is one.
func leave() bool {
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
func await(began time.Duration) *loop {
	spinning.Add(1)
	var l *loop
	found := spin(began, func() bool {
		select {
		case l = <-offers:
			return true
		default:
			return false
		}
	})
	if found || leave() {
		return l
	}
	return <-offers // somebody counted on this one
}

// wait returns when no helper is at work on l.
func (l *loop) wait(began time.Duration) {
	if spin(began, func() bool { return l.left.Load() == 0 }) {
		return
	}
	if l.left.Add(asleep) > asleep {
		<-l.ended
	}
}
