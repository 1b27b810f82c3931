package native

import (
	"runtime"
	"sync/atomic"
)

// progress counts the jobs done on one range of panels.
type progress struct{ atomic.Int32 }

// wait returns when s jobs are done.
func (p *progress) wait(s int) {
	for p.Load() < int32(s) {
		runtime.Gosched()
	}
}
