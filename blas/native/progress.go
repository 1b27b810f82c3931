// This file makes jobs wait for the one before them on the same panels.

package native

import (
	"sync/atomic"

	"github.com/iokl/iokl/internal/par"
)

// progress counts the jobs done on one range of panels.
type progress struct{ atomic.Int32 }

// wait returns when s jobs are done.
func (p *progress) wait(s int) {
	if p.Load() < int32(s) {
		par.Until(func() bool { return p.Load() >= int32(s) })
	}
}
