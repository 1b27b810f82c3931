package memory

import (
	"runtime"
	"testing"
)

// TestInUse grows by what is allocated.
func TestInUse(t *testing.T) {
	const bytes = 64 << 20
	before := InUse()
	b := make([]byte, bytes)
	for i := range b {
		b[i] = 1
	}
	if grown := InUse() - before; !(grown >= bytes/2 && grown <= 2*bytes) {
		t.Errorf("%g bytes more of %d allocated", grown, bytes)
	}
	runtime.KeepAlive(b)
}
