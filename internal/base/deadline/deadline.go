// Package deadline fails tests whose code does not end in time.
package deadline

import (
	"runtime"
	"testing"
	"time"
)

// Run calls f in a goroutine of its own and waits for it. Unless f returns within
// limit, t fails at once with the stacks of all goroutines; f is then left running.
// f may use t, FailNow included; a panic in f ends the program, as any does.
func Run(t testing.TB, limit time.Duration, f func()) {
	t.Helper()
	done := make(chan bool, 1)
	go func() {
		returned := false
		defer func() { done <- returned }()
		f()
		returned = true
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case returned := <-done:
		if !returned { // by FailNow or SkipNow, which ended the goroutine of f only
			if t.Skipped() {
				t.SkipNow()
			}
			t.FailNow()
		}
	case <-timer.C:
		stacks := make([]byte, 1<<20)
		t.Fatalf("not done after %v\n\n%s", limit, stacks[:runtime.Stack(stacks, true)])
	}
}
