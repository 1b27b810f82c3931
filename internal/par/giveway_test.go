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
	crowd.until.Store(0)
	t.Cleanup(func() {
		runtime.GOMAXPROCS(old)
		crowd.until.Store(0)
	})
}

// paused returns the number of pauses after a collection: another begins not soon.
func paused(t *testing.T) uint64 {
	t.Helper()
	runtime.GC()
	n, known := pauses()
	if !known || n == 0 || n%2 == 1 {
		t.Fatalf("%d pauses after a collection, known: %v", n, known)
	}
	return n
}

// TestGiveWay has one goroutine wait for the only processor: who gives way lets it
// in, who has waited for long himself does not, unless the collector comes.
func TestGiveWay(t *testing.T) {
	oneProcessor(t)
	var wg sync.WaitGroup
	defer wg.Wait()
	for _, c := range []struct{ crowd, collect, want bool }{
		{false, false, true}, {true, false, false}, {true, true, true},
	} {
		wg.Wait()
		crowd.until.Store(0)
		n := paused(t)
		if c.crowd {
			waited(time.Second, n)
		}
		if c.collect {
			runtime.GC()
		}
		var ran atomic.Bool
		wg.Go(func() { ran.Store(true) })
		GiveWay()
		for i := 0; c.want && !ran.Load() && i < 100; i++ {
			GiveWay() // the operating system was in between
		}
		if ran.Load() != c.want {
			t.Errorf("%+v: another goroutine ran: %v", c, ran.Load())
		}
	}
}

// TestCrowd looks at what makes one and what ends it.
func TestCrowd(t *testing.T) {
	defer crowd.until.Store(0)
	for _, c := range []struct {
		wait   time.Duration
		pauses uint64
		want   bool
	}{{quick / 2, 2, false}, {2 * quick, 3, false}, {2 * quick, 2, true}} {
		crowd.until.Store(0)
		if waited(c.wait, c.pauses); crowded() != c.want {
			t.Errorf("after %v and %d pauses, a crowd: %v", c.wait, c.pauses, crowded())
		}
	}
	if disperse(2) || !crowded() {
		t.Error("dispersed without a collection")
	}
	if !disperse(3) || crowded() {
		t.Error("not dispersed by a collection")
	}
}

// TestForInACrowd runs loops whose caller begins alone.
func TestForInACrowd(t *testing.T) {
	setThreads(t, 3)
	defer crowd.until.Store(0)
	for _, each := range []time.Duration{0, awakeMost} {
		crowd.until.Store(int64(now() + time.Hour))
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
		settle(t)
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
	f := func() { GiveWay(); pauses() }
	f()
	if a := testing.AllocsPerRun(100, f); a > 0 {
		t.Errorf("%v allocations a call", a)
	}
}
