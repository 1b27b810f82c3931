// Package par is the module's one place for parallelism: a single thread count,
// shared by every loop, so that nested parallel work never runs more goroutines
// than the program was given.
//
// A loop runs on its caller's goroutine and on as many helpers as are free at
// that moment. Inside an outer parallel loop no helper is free, and an inner
// loop runs serially; results must therefore not depend on who runs what, which
// holds when iterations write disjoint outputs.
//
// Helpers stay awake for a fraction of a millisecond after a loop, since the next
// one often follows at once, and then end.
//
// A loop allocates nothing once its state exists, provided that the
// function it is given was allocated before.
package par

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

var (
	threads atomic.Int64 // configured count; 0 means GOMAXPROCS
	busy    atomic.Int64 // helpers running now, or about to
	// Helpers started that have no processor yet.
	starting atomic.Int64
	latest   atomic.Pointer[loop] // to ask for helpers
)

// SetThreads sets how many goroutines may compute at once; n ≤ 0 means GOMAXPROCS.
func SetThreads(n int) { threads.Store(int64(max(n, 0))) }

// Threads returns how many goroutines may compute at once.
func Threads() int {
	if n := threads.Load(); n > 0 {
		return int(n)
	}
	return runtime.GOMAXPROCS(0)
}

// Borrow takes up to want helpers out of the pool, for a library that brings
// threads of its own, and returns how many it got: none inside a parallel loop
// that uses them all. Return gives them back.
func Borrow(want int) int { return acquire(want) }

// Return gives back n helpers taken by Borrow.
func Return(n int) { busy.Add(-int64(n)) }

// acquire takes up to want helpers and returns how many it got.
func acquire(want int) int {
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

// loop is the state of one parallel For.
type loop struct {
	f      func(i int)
	n      int
	began  time.Duration
	next   atomic.Int64  // first iteration nobody has taken
	left   atomic.Int64  // helpers still at work, plus asleep when the caller sleeps
	coming atomic.Int64  // of these, the ones that were started and have not begun
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
	first, crowd := 0, crowded()
	if crowd && spinning.Load() == 0 {
		first = alone(n, f)
	}
	helpers := 0
	if n-first > 1 {
		helpers = acquire(n - first - 1)
	}
	if helpers == 0 {
		for i := first; i < n; i++ {
			f(i)
		}
		return
	}
	l := newLoop()
	l.f, l.n, l.failed = f, n, nil
	l.next.Store(int64(first))
	l.left.Store(int64(helpers))
	l.began = now()
	started := false
	latest.Store(l)
	for range helpers {
		switch {
		case offer(l):
		case starting.Load() < int64(Threads()-1):
			starting.Add(1)
			queued.Add(1)
			l.coming.Add(1)
			started = true
			go l.help()
		default: // others wait for a processor already, and will see this loop
			l.coming.Add(1)
		}
	}
	if started && crowd {
		// The scheduler runs what a goroutine starts on the same processor. This one
		// instead takes whichever is free first.
		runtime.Gosched()
	}
	l.work()
	l.dismiss(l.coming.Swap(0))
	l.wait(l.began)
	failed := l.failed
	l.f, l.failed = nil, nil
	loops.Put(l)
	if failed != nil {
		panic(failed)
	}
}

// alone calls f(i) from i = 0 on, for as long as helpers that must wait for a
// processor would come too late, and returns the first i that is left.
func alone(n int, f func(i int)) int {
	start := now()
	for i := range n {
		f(i)
		if now()-start > awakeMost/2 {
			return i + 1
		}
	}
	return n
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

// helper works on l, then on the loops that come while it stays awake. One that
// gets a processor only when l has ended works on the latest loop, if that waits
// for helpers, or looks for the next: where the processors are busy nobody waits for a
// helper that waits for one of them.
func (l *loop) helper() {
	starting.Add(-1)
	queued.Add(-1)
	began := now()
	switch last := latest.Load(); {
	case l.begin():
		if t := began - l.began; t > quick {
			if n, known := pauses(); known {
				waited(t, n)
			}
		}
	case last.begin():
		l = last
	default:
		l = await(began)
		began = now()
	}
	for l != nil {
		l.work()
		busy.Add(-1)
		if l.left.Add(-1) == asleep {
			l.ended <- struct{}{}
			if idle, _ := load(); !idle {
				return // the caller goes on here
			}
		}
		l = await(began)
		began = now()
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

// Ranges splits [0,n) into consecutive pieces of at most size and calls f on each as For does.
func Ranges(n, size int, f func(lo, hi int)) {
	if n <= 0 {
		return
	}
	size = max(size, 1)
	For((n+size-1)/size, func(i int) { f(i*size, min(n, (i+1)*size)) })
}
