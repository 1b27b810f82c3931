// Package memory holds the memory limit of the process, and the error of work that exceeds a limit.
//
// Code that is about to allocate much calls [Check], or [Within] if its caller set a limit, and returns the error.
// Memory that stays allocated during other work is reserved by [Reserve].
package memory

import (
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"
)

// ErrTooLarge is what errors.Is finds in every [Error]. Exported packages offer it under a name of their own.
var ErrTooLarge = errors.New("not enough memory")

// Error says that something needs more memory than its limit.
type Error struct {
	What    string  // what needs the memory
	Bytes   float64 // how much it needs
	Limit   int64   // how much there may be, in bytes
	Taken   int64   // how much of that is reserved
	Instead string  // what the caller can do, as "use float32"
}

func (e *Error) Error() string {
	taken := ""
	if e.Taken > 0 {
		taken = fmt.Sprintf(", of which %s are taken", Format(float64(e.Taken)))
	}
	return fmt.Sprintf("%v: %s: %.0f bytes (%s) are needed, and the limit is %d (%s)%s: %s",
		ErrTooLarge, e.What, e.Bytes, Format(e.Bytes), e.Limit, Format(float64(e.Limit)), taken, e.Instead)
}

// Is makes every Error an ErrTooLarge.
func (e *Error) Is(target error) bool { return target == ErrTooLarge }

var (
	limit    atomic.Int64 // 0: what the system allows
	reserved atomic.Int64
)

// SetLimit sets how many bytes the work of the process may take. n ≤ 0, the default,
// means what the system allows when the work starts.
func SetLimit(n int64) { limit.Store(max(n, 0)) }

// ownBytes is what a program takes beside its data, and leastHeap what it is given to run in.
const ownBytes, leastHeap = 40 << 20, 64 << 20

// Bound makes n, or what the system allows where n ≤ 0, the memory of the whole process: what [SetLimit] sets, with
// room for the program itself, and what the garbage collector keeps to as far as what is in use does. Where n has room
// for it, the collector leaves heaps smaller than leastHeap alone.
func Bound(n int64) {
	if n <= 0 {
		n = allowed()
	}
	free := n
	if n >= 2*leastHeap {
		free -= ownBytes
	}
	SetLimit(free)
	within := max(n-ownBytes, leastHeap)
	if n >= 2*leastHeap {
		lift.Do(func() { ballast = make([]byte, leastHeap/2) })
	}
	debug.SetMemoryLimit(min(debug.SetMemoryLimit(-1), within+int64(len(ballast))))
}

// ballast is never touched, so that it takes no memory, but the garbage collector counts it, which runs when the heap
// has twice the size of what is in use. Small fits take .8 of the time with it: they make hundreds of small matrices.
var (
	lift    sync.Once
	ballast []byte
)

// Limit is the number of bytes that one piece of work may take now: what SetLimit set,
// or allowed, less what is reserved.
func Limit() int64 {
	n := limit.Load()
	if n <= 0 {
		n = allowed()
	}
	return max(n-reserved.Load(), 1)
}

// Reserve takes bytes that are about to be allocated, or have been, out of the limit
// until release is called.
func Reserve(bytes float64) (release func()) {
	n := int64(min(bytes, math.MaxInt64/4))
	reserved.Add(n)
	return func() { reserved.Add(-n) }
}

// InUse is the number of bytes that the runtime holds of the system, garbage included.
func InUse() float64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return float64(s[0].Value.Uint64()) - float64(s[1].Value.Uint64()) - float64(len(ballast))
}

// smallHeap is a heap that the garbage collector lets grow to before it starts.
const smallHeap = 4 << 20

// Peak is how large the process may get, within a limit, when so many bytes are in use:
// what is not in use any more stays until the garbage collector runs, which is when the
// heap has grown by GOGC percent, or is near the memory limit of the runtime.
func Peak(bytes float64, within int64) float64 {
	if bytes <= smallHeap {
		return bytes
	}
	if soft := debug.SetMemoryLimit(-1); soft <= max(within, limit.Load()) && soft < math.MaxInt64 {
		return bytes * collected
	}
	percent := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(percent)
	growth := 1.0
	if v := percent[0].Value; v.Kind() == metrics.KindUint64 {
		growth = min(growth, float64(v.Uint64())/100)
	}
	return bytes * (1 + growth)
}

// collected is the room, relative to what is in use, in which the garbage collector
// keeps a heap within the limit of the runtime without running all the time.
const collected = 1.2

// Check returns an [Error] when bytes exceed [Limit]. what names what needs them, instead says what to do.
// Without a limit that was set, a small heap is not held against what the system allows, and a larger one against what
// it has allowed shortly before: reading that takes as long as a small system.
func Check(what string, bytes float64, instead string) error {
	if limit.Load() == 0 && (bytes <= smallHeap || last.allows(bytes)) {
		return nil
	}
	free, taken := Limit(), reserved.Load()
	if bytes <= float64(free) {
		return nil
	}
	return &Error{What: what, Bytes: bytes, Limit: free + taken, Taken: taken, Instead: instead}
}

// last is the last reading of what the system allows.
var last reading

// reading is what the system allowed, less what was asked of it since. It serves for a hundred times as long as it
// took.
type reading struct {
	mu    sync.Mutex
	left  float64
	until time.Time
}

// allows takes bytes from what is left, and reports whether they are at most half of what is not reserved: other
// programs ask, too.
func (r *reading) allows(bytes float64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if start := time.Now(); start.After(r.until) {
		r.left = float64(allowed())
		end := time.Now()
		r.until = end.Add(100 * end.Sub(start))
	}
	if bytes > (r.left-float64(reserved.Load()))/2 {
		return false
	}
	r.left -= bytes
	return true
}

// Within is Check with a limit of the caller's; limit ≤ 0 means none.
func Within(limit int64, what string, bytes float64, instead string) error {
	if limit <= 0 || bytes <= float64(limit) {
		return nil
	}
	return &Error{What: what, Bytes: bytes, Limit: limit, Instead: instead}
}

// Allow is Within for a positive limit, Check for 0, and allows all for a negative one.
func Allow(limit int64, what string, bytes float64, instead string) error {
	if limit == 0 {
		return Check(what, bytes, instead)
	}
	return Within(limit, what, bytes, instead)
}

// Format is a number of bytes as a person reads it.
func Format(bytes float64) string {
	if bytes < 1<<30 {
		return fmt.Sprintf("%.1f MiB", bytes/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", bytes/(1<<30))
}
