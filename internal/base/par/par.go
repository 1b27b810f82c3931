// Package par runs loops in parallel on one set of threads for the whole program, so that
// nested loops never compute on more of them than the program was given.
//
// [For] runs a loop on its caller's goroutine and on as many helpers as are free at
// that moment. Inside a parallel loop that uses all threads no helper is free, and an inner
// loop runs serially. Who runs which iteration is not determined: iterations must
// write to disjoint memory for the result not to depend on the number of threads.
//
// A helper without work stays awake for a fraction of a millisecond, since the next loop
// often follows at once, and then ends. A loop never waits for a helper that has no processor yet.
//
// A loop allocates nothing once its state exists, provided that the function it is given
// was allocated before.
package par

import (
	"sync"
	"sync/atomic"
)

var (
	threads atomic.Int64 // configured count; 0 means fallback
	busy    atomic.Int64 // helpers running now, or about to
	// Helpers that were started and have no processor yet.
	starting atomic.Int64
	// The last loop that found as many starting as can run: the first of these that comes too late for its own loop
	// takes this one.
	wanting atomic.Pointer[loop]
)

// SetThreads sets how many goroutines may compute at once; n ≤ 0 means GOMAXPROCS, but at most
// one for each physical core unless the environment sets GOMAXPROCS.
func SetThreads(n int) { threads.Store(int64(max(n, 0))) }

// Threads returns how many goroutines may compute at once.
func Threads() int {
	if n := threads.Load(); n > 0 {
		return int(n)
	}
	return fallback()
}

// Borrow takes up to want helpers out of the pool, for a library that brings
// threads of its own, and returns how many it got: none inside a parallel loop
// that uses them all. Return gives them back.
func Borrow(want int) int {
	for {
		b := busy.Load()
		got := min(int64(want), int64(Threads()-1)-b)
		if got <= 0 {
			return 0
		}
		if busy.CompareAndSwap(b, b+got) {
			return int(got)
		}
	}
}

// Return gives back n helpers taken by Borrow.
func Return(n int) { busy.Add(-int64(n)) }

// loop is the state of one parallel For.
type loop struct {
	f      func(i int)
	n      int
	next   atomic.Int64  // first iteration nobody has taken
	left   atomic.Int64  // helpers still at work, plus asleep when the caller sleeps
	coming atomic.Int64  // of these, the ones that are starting
	ended  chan struct{} // wakes the caller
	mu     sync.Mutex
	failed any    // the first panic of an iteration
	help   func() // the method helper, bound once so that starting it allocates nothing
}

var loops Free[loop]

func newLoop() *loop {
	l := loops.Get()
	if l == nil {
		l = &loop{ended: make(chan struct{}, 1)}
		l.help = l.helper
	}
	return l
}

// For calls f(i) for every i in [0,n), handing iterations out one at a time to
// the goroutines that are free. A panic in f is raised again in the caller once
// all iterations under way have ended.
func For(n int, f func(i int)) {
	helpers := 0
	if n > 1 {
		helpers = Borrow(n - 1)
	}
	if helpers == 0 {
		for i := range n {
			f(i)
		}
		return
	}
	l := newLoop()
	l.f, l.n, l.failed = f, n, nil
	l.next.Store(0)
	l.left.Store(int64(helpers))
	for range helpers {
		switch {
		case offer(l):
		case starting.Load() < int64(Threads()-1):
			starting.Add(1)
			l.coming.Add(1)
			go l.help()
		default: // they were started for a loop before, which may have ended when they get a processor
			l.coming.Add(1)
			wanting.Store(l)
		}
	}
	l.work()
	l.dismiss(l.coming.Swap(0))
	l.wait()
	failed := l.failed
	l.f, l.failed = nil, nil
	loops.Put(l)
	if failed != nil {
		panic(failed)
	}
}

// dismiss tells that n helpers will not come.
func (l *loop) dismiss(n int64) {
	l.left.Add(-n)
	busy.Add(-n)
}

// begin reports whether l waits for a helper that was started, and takes its place.
func (l *loop) begin() bool {
	for {
		c := l.coming.Load()
		if c <= 0 {
			return false
		}
		if l.coming.CompareAndSwap(c, c-1) {
			return true
		}
	}
}

// helper works on l, or on a loop after l where l ended before it got a processor, then on the loops that come while it
// stays awake.
func (l *loop) helper() {
	starting.Add(-1)
	if !l.begin() {
		if l = wanting.Load(); l == nil || !l.begin() {
			l = await()
		}
	}
	for l != nil {
		l.work()
		busy.Add(-1)
		if l.left.Add(-1) == asleep {
			l.ended <- struct{}{}
		}
		l = await()
	}
}

// work takes iterations until none is left, or keeps the panic of one.
func (l *loop) work() {
	defer l.catch()
	for {
		i := int(l.next.Add(1)) - 1
		if i >= l.n {
			return
		}
		l.f(i)
	}
}

func (l *loop) catch() {
	r := recover()
	if r == nil {
		return
	}
	l.next.Store(int64(l.n)) // nobody takes a new iteration
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed == nil {
		l.failed = r
	}
}

// Elements is the number of elements of a matrix in one piece of [Ranges], where little is done with each.
const Elements = 4096

// Ranges splits [0,n) into consecutive pieces of at most size and calls f on each as For does.
func Ranges(n, size int, f func(lo, hi int)) {
	if n <= 0 {
		return
	}
	size = max(size, 1)
	For((n+size-1)/size, func(i int) { f(i*size, min(n, (i+1)*size)) })
}
