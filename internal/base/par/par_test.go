package par

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// setThreads sets the thread count for one test.
func setThreads(t *testing.T, n int) {
	t.Helper()
	old := int(threads.Load())
	SetThreads(n)
	t.Cleanup(func() { SetThreads(old) })
}

func TestForVisitsEachOnce(t *testing.T) {
	for _, nt := range []int{1, 2, 3, 8} {
		setThreads(t, nt)
		for _, n := range []int{0, 1, 2, 7, 1000} {
			seen := make([]atomic.Int32, n)
			For(n, func(i int) { seen[i].Add(1) })
			for i := range seen {
				if got := seen[i].Load(); got != 1 {
					t.Fatalf("threads %d, n %d: iteration %d ran %d times", nt, n, i, got)
				}
			}
		}
	}
}

func TestRangesCover(t *testing.T) {
	setThreads(t, 2)
	for _, c := range [][2]int{{0, 3}, {1, 3}, {9, 3}, {10, 3}, {5, 0}} {
		sum := make([]atomic.Int32, c[0])
		Ranges(c[0], c[1], func(lo, hi int) {
			if hi-lo > max(c[1], 1) {
				t.Errorf("piece [%d,%d) longer than %d", lo, hi, c[1])
			}
			for i := lo; i < hi; i++ {
				sum[i].Add(1)
			}
		})
		for i := range sum {
			if sum[i].Load() != 1 {
				t.Fatalf("n %d size %d: element %d covered %d times", c[0], c[1], i, sum[i].Load())
			}
		}
	}
}

// TestNestedRunsOnTheGivenThreads counts how many iterations of the inner loops run at once.
func TestNestedRunsOnTheGivenThreads(t *testing.T) {
	setThreads(t, 3)
	var now, most atomic.Int32
	For(6, func(int) {
		For(20, func(int) {
			c := now.Add(1)
			for m := most.Load(); c > m && !most.CompareAndSwap(m, c); m = most.Load() {
			}
			time.Sleep(100 * time.Microsecond)
			now.Add(-1)
		})
	})
	if m := most.Load(); m > 3 {
		t.Errorf("%d iterations at once with 3 threads", m)
	}
	if b := busy.Load(); b != 0 {
		t.Errorf("%d helpers still counted as busy", b)
	}
}

func TestPanicReachesCaller(t *testing.T) {
	for _, nt := range []int{1, 4} {
		setThreads(t, nt)
		func() {
			defer func() {
				if r := recover(); r != "seven" {
					t.Errorf("threads %d: recovered %v", nt, r)
				}
			}()
			For(100, func(i int) {
				if i == 7 {
					panic("seven")
				}
			})
			t.Errorf("threads %d: no panic", nt)
		}()
		var count atomic.Int32
		For(10, func(int) { count.Add(1) })
		if count.Load() != 10 || busy.Load() != 0 {
			t.Errorf("threads %d: loop after a panic ran %d of 10, %d busy", nt, count.Load(), busy.Load())
		}
	}
}

// A loop whose helpers have no processor ends without them, and the next one
// starts no more.
func TestNobodyWaitsForProcessor(t *testing.T) {
	oneProcessor(t)
	setThreads(t, 3)
	for try := 0; ; try++ {
		settle(t)
		var ran int
		for range 10 {
			For(4, func(int) { ran++ })
		}
		waiting, working := starting.Load(), busy.Load()
		if ran != 40 || working != 0 {
			t.Fatalf("%d iterations of 40, %d helpers counted as busy", ran, working)
		}
		if waiting == 2 {
			break
		}
		if try == 20 { // unless the scheduler let others in meanwhile
			t.Fatalf("%d helpers wait for a processor, want 2", waiting)
		}
	}
	settle(t)
}

func TestManyCallers(t *testing.T) {
	setThreads(t, 2)
	var wg sync.WaitGroup
	var total atomic.Int64
	for range 8 {
		wg.Go(func() {
			for range 50 {
				For(9, func(i int) { total.Add(int64(i)) })
			}
		})
	}
	wg.Wait()
	if got := total.Load(); got != 8*50*36 {
		t.Errorf("sum %d, want %d", got, 8*50*36)
	}
}

func TestThreads(t *testing.T) {
	setThreads(t, 0)
	if Threads() != runtime.GOMAXPROCS(0) {
		t.Errorf("Threads() = %d, GOMAXPROCS %d", Threads(), runtime.GOMAXPROCS(0))
	}
	SetThreads(5)
	if Threads() != 5 {
		t.Errorf("Threads() = %d after SetThreads(5)", Threads())
	}
}

func TestForDoesNotAllocate(t *testing.T) {
	setThreads(t, 2)
	var sink atomic.Int64
	f := func(i int) { sink.Add(int64(i)) }
	For(8, f)
	if a := testing.AllocsPerRun(50, func() { For(8, f) }); a > 0 {
		t.Errorf("%v allocations a loop", a)
	}
}
