package memory

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

func TestCheck(t *testing.T) {
	SetLimit(3 << 30)
	t.Cleanup(func() { SetLimit(0) })
	if err := Check("a small thing", 3<<30, "nothing"); err != nil {
		t.Error(err)
	}
	err := Check("a dense matrix", 4<<30, "use factors")
	if !errors.Is(err, ErrTooLarge) {
		t.Fatalf("got %v", err)
	}
	var details *Error
	if !errors.As(err, &details) || details.Bytes != 4<<30 || details.Limit != 3<<30 {
		t.Errorf("details %+v", details)
	}
	for _, part := range []string{
		"not enough memory", "a dense matrix", "4294967296 bytes (4.0 GiB)", "3221225472 (3.0 GiB)", "use factors",
	} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
	if err := Check("an overflow", math.Inf(1), "less"); !errors.Is(err, ErrTooLarge) {
		t.Errorf("got %v", err)
	}
	if err := Check("not a number", math.NaN(), "less"); !errors.Is(err, ErrTooLarge) {
		t.Errorf("got %v", err)
	}
	for limit, refused := range map[int64]bool{-1: false, 0: false, 99: true, 100: false} {
		if err := Within(limit, "a list", 100, "use less"); errors.Is(err, ErrTooLarge) != refused {
			t.Errorf("100 bytes within %d: %v", limit, err)
		}
	}
}

func TestAvailable(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		name, text string
		want       int64
	}{
		{"linux", "MemTotal: 900 kB\nMemAvailable:     700 kB\n", 700 * 1024},
		{"no such line", "MemTotal: 900 kB\n", math.MaxInt64},
		{"not a number", "MemAvailable: x kB\n", math.MaxInt64},
		{"overflow", "MemAvailable: 9223372036854775807 kB\n", math.MaxInt64},
	} {
		path := filepath.Join(dir, c.name)
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := available(path); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
	if got := available(filepath.Join(dir, "absent")); got != math.MaxInt64 {
		t.Errorf("no file: %d", got)
	}
	SetLimit(-1)
	if Limit() <= 0 {
		t.Error("no limit without a setting")
	}
}

// TestAllowed reads the files of control groups and of the limits of a process.
func TestAllowed(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text),
			0o600)); err != nil {
			t.Fatal(err)
		}
	}
	groups := func() int64 { return ofGroups(filepath.Join(dir, "cgroup"), filepath.Join(dir, "fs")) }
	if got := groups(); got != math.MaxInt64 {
		t.Errorf("no groups: %d", got)
	}
	write("cgroup", "0::/a/b\n")
	write("fs/a/b/memory.max", "max\n")
	write("fs/a/b/memory.current", "100\n")
	if got := groups(); got != math.MaxInt64 {
		t.Errorf("a group without limit: %d", got)
	}
	write("fs/a/memory.max", "1000\n")
	write("fs/a/memory.current", "400\n")
	write("fs/a/memory.stat", "anon 300\ninactive_file 50\n")
	if got := groups(); got != 650 {
		t.Errorf("limit of the parent: %d, want 650", got)
	}
	write("cgroup", "5:cpu:/c\n4:memory:/c\n")
	write("fs/memory/c/memory.limit_in_bytes", "5000\n")
	write("fs/memory/c/memory.usage_in_bytes", "1000\n")
	write("fs/memory/c/memory.stat", "total_inactive_file 7\n")
	if got := groups(); got != 4007 {
		t.Errorf("version 1: %d, want 4007", got)
	}

	write("limits", "Limit   Soft Limit  Hard Limit  Units\nMax data size   unlimited   unlimited   bytes\nMax "+
		"address space  819200000  900000000  bytes\n")
	write("status", "VmSize:\t    3000 kB\nVmData:\t    1000 kB\n")
	if got := ofProcess(dir); got != (819200000-3000*1024-runtimeAddresses)/4*3 {
		t.Errorf("address space: %d", got)
	}
	write("limits", "Max data size   204800000   unlimited   bytes\nMax address space  819200000  900000000  bytes\n")
	if got := ofProcess(dir); got != (204800000-1000*1024-runtimeData)/4*3 {
		t.Errorf("data: %d", got)
	}
	if got := ofProcess(filepath.Join(dir, "absent")); got != math.MaxInt64 {
		t.Errorf("no files: %d", got)
	}
}

// TestReserve takes what is reserved out of the limit.
func TestReserve(t *testing.T) {
	SetLimit(1000)
	t.Cleanup(func() { SetLimit(0) })
	first, second := Reserve(300), Reserve(200)
	if err := Check("more", 501, "take less"); err == nil ||
		!strings.Contains(err.Error(), "the limit is 1000 (0.0 MiB), of which 0.0 MiB are taken: take less") {
		t.Errorf("%v", err)
	}
	if Limit() != 500 {
		t.Errorf("limit %d beside 500 of 1000", Limit())
	}
	first()
	if Limit() != 800 {
		t.Errorf("limit %d beside 200 of 1000", Limit())
	}
	second()
	if release := Reserve(math.Inf(1)); Limit() != 1 {
		t.Errorf("limit %d beside everything", Limit())
	} else {
		release()
	}
	if Limit() != 1000 {
		t.Errorf("limit %d after all is released", Limit())
	}
}

// TestPeak holds a heap of known size against what the runtime takes for it.
func TestPeak(t *testing.T) {
	if got := Peak(1000, 1<<30); got != 1000 {
		t.Errorf("a small heap: %g", got)
	}
	if got := Peak(1<<30, 8<<30); got != 2<<30 {
		t.Errorf("GOGC alone: %g", got)
	}
	before := debug.SetMemoryLimit(2 << 30)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	if got := Peak(1<<30, 2<<30); got != collected*(1<<30) {
		t.Errorf("a limit of the runtime: %g", got)
	}
	if got := Peak(1<<30, 1<<30); got != 2<<30 {
		t.Errorf("a limit of the runtime above that of the work: %g", got)
	}
}

// TestBoundLeavesSmallHeapsAlone makes garbage of less than leastHeap, which is not collected.
func TestBoundLeavesSmallHeapsAlone(t *testing.T) {
	soft := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(soft); SetLimit(0) })
	before := InUse()
	Bound(1 << 30)
	if held := InUse() - before; held > leastHeap/4 {
		t.Errorf("the ballast counts as %g bytes in use", held)
	}
	runtime.GC()
	var start, end runtime.MemStats
	runtime.ReadMemStats(&start)
	for range 24 {
		garbage = make([]byte, 1<<20)
	}
	if runtime.ReadMemStats(&end); end.NumGC != start.NumGC {
		t.Errorf("the collector ran %d times in 24 MiB", end.NumGC-start.NumGC)
	}
}

var garbage []byte // keeps the compiler from leaving it out

// TestReading takes what was asked for from what was read, and reads again where that is not enough.
func TestReading(t *testing.T) {
	r := reading{left: 1000, until: time.Now().Add(time.Hour)}
	for k, want := range []bool{true, true, false} {
		if got := r.allows(300); got != want {
			t.Errorf("request %d of 300 from 1000: %v", k+1, got)
		}
	}
	if r.left != 400 {
		t.Errorf("%g are left", r.left)
	}
	release := Reserve(300)
	if r.allows(100) {
		t.Error("what was reserved since counts as left")
	}
	release()
	r.until = time.Now().Add(-time.Second)
	if !r.allows(300) || !r.until.After(time.Now()) {
		t.Error("an old reading serves")
	}
}
