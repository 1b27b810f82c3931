//go:build openblas

// The number of threads of each call of OpenBLAS.

package openblas

/*
#cgo pkg-config: openblas
#cgo LDFLAGS: -llapacke
#cgo noescape openblas_set_num_threads
#cgo nocallback openblas_set_num_threads

void openblas_set_num_threads(int);
int openblas_get_num_threads(void);
char *openblas_get_config(void);
char *openblas_get_corename(void);
*/
import "C"

import (
	"strings"
	"sync"

	"github.com/iokl/iokl/internal/base/par"
)

// Version is the library's version, such as "0.3.21".
func Version() string {
	words := strings.Fields(C.GoString(C.openblas_get_config()))
	if len(words) > 1 {
		return words[1]
	}
	return "unknown"
}

// CoreName is the processor whose kernels the library runs, such as "SkylakeX".
func CoreName() string { return C.GoString(C.openblas_get_corename()) }

// gate decides how many threads a call may use and how many calls run at once.
// At rest the library is set to one thread; only a call that has it to itself
// raises that.
type gate struct {
	mu      sync.Mutex
	changed sync.Cond
	inside  int  // calls under way
	alone   bool // one of them uses several threads
	waiting int  // calls that want to be alone
}

var door = newGate()

func newGate() *gate {
	g := &gate{}
	g.changed.L = &g.mu
	C.openblas_set_num_threads(1)
	return g
}

// enter waits for leave to call into the library and returns the helpers it
// borrowed, to be given back to exit. Calls too small to share stay serial.
func (g *gate) enter(large bool) (helpers int) {
	if large {
		helpers = par.Borrow(par.Threads() - 1)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if helpers == 0 {
		for g.alone || g.waiting > 0 || g.inside >= par.Threads() {
			g.changed.Wait()
		}
		g.inside++
		return 0
	}
	g.waiting++
	for g.inside > 0 {
		g.changed.Wait()
	}
	g.waiting--
	g.inside, g.alone = 1, true
	C.openblas_set_num_threads(C.int(1 + helpers))
	return helpers
}

func (g *gate) exit(helpers int) {
	g.mu.Lock()
	if helpers > 0 {
		C.openblas_set_num_threads(1)
		g.alone = false
	}
	g.inside--
	g.changed.Broadcast()
	g.mu.Unlock()
	par.Return(helpers)
}
