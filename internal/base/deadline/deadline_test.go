package deadline

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// recorder is a test that may fail.
type recorder struct {
	testing.TB
	failed bool
	said   string
}

func (r *recorder) Helper()       {}
func (r *recorder) Skipped() bool { return false }
func (r *recorder) FailNow()      { r.failed = true; runtime.Goexit() }
func (r *recorder) Fatalf(format string, args ...any) {
	r.said = fmt.Sprintf(format, args...)
	r.FailNow()
}

// outcome runs f under a deadline in a test of its own and says whether it failed,
// with what words, and whether what follows Run was reached.
func outcome(limit time.Duration, f func(t testing.TB)) (r *recorder, reached bool) {
	r = &recorder{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		Run(r, limit, func() { f(r) })
		reached = true
	}()
	<-done
	return r, reached
}

func hang(release chan struct{}) { <-release }

func TestRun(t *testing.T) {
	if r, reached := outcome(time.Minute, func(testing.TB) {}); r.failed || !reached {
		t.Errorf("in time: failed %v, reached %v", r.failed, reached)
	}
	if r, reached := outcome(time.Minute, func(t testing.TB) { t.FailNow() }); !r.failed || reached {
		t.Errorf("failure inside: failed %v, reached %v", r.failed, reached)
	}
	release := make(chan struct{})
	defer close(release)
	r, reached := outcome(10*time.Millisecond, func(testing.TB) { hang(release) })
	if !r.failed || reached || !strings.Contains(r.said, "deadline.hang(") {
		t.Errorf("too late: failed %v, reached %v, said %q", r.failed, reached, r.said)
	}
}
