// Package memory answers one question before a large allocation: whether it
// fits. The limit is what the caller set, or what the machine says is available.
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

// ErrTooLarge says that something needs more memory than there is.
var ErrTooLarge = errors.New("not enough memory")

var limit atomic.Int64

// SetLimit sets how many bytes one request may take; n ≤ 0 means what is
// available when it is made, which is also the default.
func SetLimit(n int64) { limit.Store(max(n, 0)) }

// Limit is the number of bytes a request may take now, the largest int64 where
// the machine does not say.
func Limit() int64 {
	if n := limit.Load(); n > 0 {
		return n
	}
	return available("/proc/meminfo")
}

// Check returns an error wrapping ErrTooLarge when bytes exceed the limit. what
// names what needs them, and instead what to use in its place.
func Check(what string, bytes float64, instead string) error {
	have := Limit()
	if !(bytes > float64(have)) {
		return nil
	}
	return fmt.Errorf("%w: %s needs %s, the limit is %s; %s", ErrTooLarge, what, Format(bytes), Format(float64(have)), instead)
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
