package par

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// oneProcessor gives the test a single processor and no crowd, and puts back what was.
func oneProcessor(t *testing.T) {
	t.Helper()
	settle(t)
	old := runtime.GOMAXPROCS(1)
	crowdedUntil.Store(0)
	t.Cleanup(func() {
		runtime.GOMAXPROCS(old)
		crowdedUntil.Store(0)
	})
}

// TestGiveWay has one goroutine wait for the only processor: who gives way lets it
// in, who has waited for long himself does not.
func TestGiveWay(t *testing.T) {
	oneProcessor(t)
	var wg sync.WaitGroup
	defer wg.Wait()
	for crowd, want := range map[bool]bool{false: true, true: false} {
		wg.Wait()
		crowdedUntil.Store(0)
		if crowd {
			runtime.GC() // none begins soon
			waited(time.Second)
		}
		var ran atomic.Bool
		wg.Go(func() { ran.Store(true) })
		GiveWay()
		if ran.Load() != want {
			t.Errorf("crowd %v: another goroutine ran: %v", crowd, ran.Load())
		}
	}
}

// TestCrowd looks at what makes one.
func TestCrowd(t *testing.T) {
	oneProcessor(t)
	runtime.GC() // none begins soon
	if waited(quick / 2); crowded() {
		t.Error("a short wait made a crowd")
	}
	if waited(2 * quick); !crowded() {
		t.Error("a long wait made no crowd")
	}
	if collecting() {
		t.Error("no collection is at work")
	}
}

// TestForInACrowd runs loops whose caller begins alone.
func TestForInACrowd(t *testing.T) {
	setThreads(t, 3)
	defer crowdedUntil.Store(0)
	for _, each := range []time.Duration{0, awakeMost} {
		crowdedUntil.Store(int64(now() + time.Hour))
		var seen [7]atomic.Int32
		For(len(seen), func(i int) {
			for start := now(); now()-start < each; {
			}
			seen[i].Add(1)
		})
		for i := range seen {
			if got := seen[i].Load(); got != 1 {
				t.Errorf("%v each: iteration %d ran %d times", each, i, got)
			}
		}
		if n := queued.Load(); n != 0 {
			t.Errorf("%v each: %d goroutines still counted as waiting", each, n)
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

func TestGiveWayDoesNotAllocate(t *testing.T) {
	f := func() { GiveWay(); collecting() }
	f()
	if a := testing.AllocsPerRun(100, f); a > 0 {
		t.Errorf("%v allocations a call", a)
	}
}
