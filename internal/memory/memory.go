// Package memory holds the memory limit of the process and the one error for work that exceeds a limit.
//
// Code that is about to allocate much calls [Check], or [Within] where its caller set a limit, and returns the error.
package memory

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
)

// ErrTooLarge is what errors.Is finds in every [Error]. Exported packages offer it under a name of their own.
var ErrTooLarge = errors.New("not enough memory")

// Error says that something needs more memory than its limit.
type Error struct {
	What    string  // what needs the memory
	Bytes   float64 // how much it needs
	Limit   int64   // how much it may take, in bytes
	Instead string  // what the caller can do, as "use float32"
}

func (e *Error) Error() string {
	return fmt.Sprintf("%v: %s: %.0f bytes (%s) are needed, and the limit is %d (%s): %s",
		ErrTooLarge, e.What, e.Bytes, Format(e.Bytes), e.Limit, Format(float64(e.Limit)), e.Instead)
}

// Is makes every Error an ErrTooLarge.
func (e *Error) Is(target error) bool { return target == ErrTooLarge }

var limit atomic.Int64

// SetLimit sets how many bytes one piece of work may take. n ≤ 0, the default, means
// what the machine has available when the work starts.
func SetLimit(n int64) { limit.Store(max(n, 0)) }

// Limit is the number of bytes that one piece of work may take now: the largest int64
// where the machine does not tell what is available.
func Limit() int64 {
	if n := limit.Load(); n > 0 {
		return n
	}
	return available("/proc/meminfo")
}

// Check returns an [Error] when bytes exceed [Limit]. what names what needs them, instead says what to do.
func Check(what string, bytes float64, instead string) error {
	return Within(Limit(), what, bytes, instead)
}

// Within is Check with a limit of the caller's; limit ≤ 0 means none.
func Within(limit int64, what string, bytes float64, instead string) error {
	if limit <= 0 || bytes <= float64(limit) {
		return nil
	}
	return &Error{What: what, Bytes: bytes, Limit: limit, Instead: instead}
}

// Format is a number of bytes as a person reads it.
func Format(bytes float64) string {
	if bytes < 1<<30 {
		return fmt.Sprintf("%.1f MiB", bytes/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", bytes/(1<<30))
}

// available reads the line "MemAvailable: N kB" of Linux.
func available(path string) int64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return math.MaxInt64
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) >= 2 && f[0] == "MemAvailable:" {
			if kib, err := strconv.ParseInt(f[1], 10, 64); err == nil && kib < math.MaxInt64/1024 {
				return kib * 1024
			}
		}
	}
	return math.MaxInt64
}
