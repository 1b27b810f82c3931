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
	for _, part := range []string{"a dense matrix", "4.0 GiB", "3.0 GiB", "use factors"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
	if err := Check("an overflow", math.Inf(1), "less"); !errors.Is(err, ErrTooLarge) {
		t.Errorf("got %v", err)
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
