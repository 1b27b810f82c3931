package par

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// oneProcessor gives the test a single processor, and puts back what was.
func oneProcessor(t *testing.T) {
	t.Helper()
	settle(t)
	old := runtime.GOMAXPROCS(1)
	t.Cleanup(func() { runtime.GOMAXPROCS(old) })
}

// settle waits until no helper is awake, and fails when that takes far too long.
func settle(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); spinning.Load() != 0 || busy.Load() != 0 ||
		starting.Load() != 0; runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("%d helpers awake and %d busy long after the last loop", spinning.Load(), busy.Load())
		}
	}
	if n := len(offers); n != 0 {
		t.Fatalf("%d loops offered that nobody took", n)
	}
}

// TestHelpersGoToSleep runs loops from several goroutines, with pauses about as
// long as helpers stay awake, so that helpers leave while loops are offered.
func TestHelpersGoToSleep(t *testing.T) {
	setThreads(t, 4)
	settle(t)
	before := runtime.NumGoroutine()
	var wg sync.WaitGroup
	var total atomic.Int64
	const callers, rounds, n = 3, 100, 6
	for c := range callers {
		wg.Go(func() {
			for r := range rounds {
				For(n, func(int) { total.Add(1) })
				if r%4 == c {
					time.Sleep(awake - 20*time.Microsecond + time.Duration(r)*time.Microsecond/2)
				}
			}
		})
	}
	wg.Wait()
	if got := total.Load(); got != callers*rounds*n {
		t.Errorf("%d iterations, want %d", got, callers*rounds*n)
	}
	settle(t)
	for end := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines, %d before the loops", runtime.NumGoroutine(), before)
		}
	}
}

// TestHelperTakesNextLoop runs two loops in a row whose iterations wait for each
// other, so that both need a helper: the second finds the first one's awake.
func TestHelperTakesNextLoop(t *testing.T) {
	setThreads(t, 2)
	settle(t)
	together := func() {
		var wg sync.WaitGroup
		wg.Add(2)
		For(2, func(int) { wg.Done(); wg.Wait() })
	}
	for range 100 {
		together()
		together()
		if s := spinning.Load(); s > 1 {
			t.Fatalf("%d helpers awake with two threads", s)
		}
	}
}

// A helper that gets a processor after its loop has ended works on the loop that runs then.
func TestHelperTakesLaterLoop(t *testing.T) {
	oneProcessor(t)
	setThreads(t, 2)
	for range 20 {
		settle(t)
		For(2, func(int) {})
		var ran atomic.Int32
		both := make(chan struct{})
		For(2, func(int) {
			if ran.Add(1) == 2 {
				close(both)
			}
			select {
			case <-both:
			case <-time.After(5 * time.Second):
				t.Error("nobody helps")
			}
		})
		if t.Failed() {
			return
		}
	}
}

// TestCallerSleeps gives a helper an iteration that lasts far longer than a caller stays awake.
func TestCallerSleeps(t *testing.T) {
	setThreads(t, 2)
	for range 5 {
		var wg sync.WaitGroup
		wg.Add(2)
		var first, ended atomic.Int32
		For(2, func(int) {
			late := first.Add(1) == 2
			wg.Done()
			wg.Wait() // one iteration each
			if late {
				time.Sleep(10 * awake)
			}
			ended.Add(1)
		})
		if n := ended.Load(); n != 2 {
			t.Fatalf("the loop returned after %d of 2 iterations", n)
		}
	}
}

// TestUntil waits for a goroutine that needs the same processor.
func TestUntil(t *testing.T) {
	oneProcessor(t)
	var done atomic.Bool
	go func() { done.Store(true) }()
	Until(done.Load)
	if !done.Load() {
		t.Error("returned too early")
	}
}

// A goroutine that waits for the only processor ends the waiting of one that stays awake.
func TestSpinEndsForOthers(t *testing.T) {
	oneProcessor(t)
	for try := 0; ; try++ {
		var ran atomic.Bool
		go func() { ran.Store(true) }()
		if contended() && !spin(ran.Load) {
			return
		}
		if try == 100 { // unless the scheduler took the processor away meanwhile
			t.Fatal("this goroutine kept the processor from another one until that had run")
		}
		for !ran.Load() {
			runtime.Gosched()
		}
	}
}

func TestContendedDoesNotAllocate(t *testing.T) {
	f := func() { contended() }
	f()
	if a := testing.AllocsPerRun(100, f); a > 0 {
		t.Errorf("%v allocations a call", a)
	}
}
