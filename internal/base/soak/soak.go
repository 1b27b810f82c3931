// Package soak fails tests of processes whose memory, goroutines or open files grow over a long run.
package soak

import (
	"os"
	"runtime"
	"testing"
	"time"
)

// held is what a process holds on to.
type held struct {
	goroutines, files int
	heap              uint64
}

func nowHeld() held {
	runtime.GC()
	runtime.GC() // what finalizers let go
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		files = nil // not told here
	}
	return held{runtime.NumGoroutine(), len(files), m.HeapAlloc}
}

// slack is the garbage of a pool, and of what the runtime keeps of goroutines that ended.
const slack = 8 << 20

// Run calls round with the seeds 0, 1, … for d. At the end the process holds no more goroutines,
// open files and memory than after the first third, or the first minute.
func Run(t testing.TB, d time.Duration, round func(seed uint64)) {
	t.Helper()
	var seed uint64
	run := func(d time.Duration) {
		for end := time.Now().Add(d); time.Now().Before(end) && !t.Failed(); seed++ {
			round(seed)
		}
	}
	first := min(d/3, time.Minute)
	run(first)
	start, half := nowHeld(), seed
	run(d - first)
	end := nowHeld()
	if end.goroutines > start.goroutines || end.files > start.files || end.heap > start.heap+slack {
		t.Errorf("after %d rounds %+v, after %d %+v", half, start, seed, end)
	}
	t.Logf("%d rounds: %d goroutines, %d files, %.1f MiB, after the first %d: %d, %d, %.1f", seed, end.goroutines,
		end.files,
		float64(end.heap)/(1<<20), half, start.goroutines, start.files, float64(start.heap)/(1<<20))
}
