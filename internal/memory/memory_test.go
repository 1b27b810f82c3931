package memory

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
	for _, part := range []string{"not enough memory", "a dense matrix", "4294967296 bytes (4.0 GiB)", "3221225472 (3.0 GiB)", "use factors"} {
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
