package memory

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
)

// TestGrowing refuses what grows beyond the limit, with the number, and gives back what it held.
func TestGrowing(t *testing.T) {
	SetLimit(8 << 20)
	t.Cleanup(func() { SetLimit(0) })
	g := Grow("reading a file", "read less")
	for _, bytes := range []float64{1 << 20, 2 << 20, -1 << 20} {
		if err := g.Add(bytes); err != nil {
			t.Fatal(err)
		}
	}
	if left := Limit(); left > 6<<20 {
		t.Errorf("%d bytes are left beside 2 MiB that are held and 3 that were", left)
	}
	err := g.Add(7 << 20)
	if !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "reading a file") ||
		!strings.Contains(err.Error(), "(8.0 MiB)") || strings.Contains(err.Error(), "taken") {
		t.Errorf("9 of 8 MiB: %v", err)
	}
	if g.Free(); Limit() != 8<<20 {
		t.Errorf("%d bytes are left after all was given back", Limit())
	}
}

// TestReadAll reads to the end, or to the limit.
func TestReadAll(t *testing.T) {
	SetLimit(16 << 20)
	t.Cleanup(func() { SetLimit(0) })
	for _, size := range []int{0, 1, 64 << 10, 64<<10 + 1, 1 << 20} {
		want := bytes.Repeat([]byte("abc"), size/3+1)[:size]
		if got, err := ReadAll(bytes.NewReader(want), "a file"); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d of %d bytes, %v", len(got), size, err)
		}
	}
	if _, err := ReadAll(endless{}, "a pipe"); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a pipe without end: %v", err)
	}
	if Limit() != 16<<20 {
		t.Errorf("%d bytes are left", Limit())
	}
	guard := &Guard{R: endless{}, Separator: 'x', PerByte: 1, PerSeparator: 9, What: "a row"}
	n, err := io.Copy(io.Discard, guard)
	if guard.Reset(); !errors.Is(err, ErrTooLarge) || n > 1600<<10 {
		t.Errorf("%d bytes of 10 each: %v", n, err)
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	return len(b), nil
}

// TestJSON holds what decoding lists of any kind takes at its end, with garbage, against the estimate.
func TestJSON(t *testing.T) {
	type record struct {
		A, B, C, D string
		E, F, G    []float64
		H          *int
	}
	for element, to := range map[string]func() any{
		"{}":       func() any { return new([]record) },
		" null":    func() any { return new([]record) },
		`{"A":""}`: func() any { return new([]record) },
		`""`:       func() any { return new([]string) },
		`"\"[{"`:   func() any { return new([]string) },
		"0":        func() any { return new([]float64) },
		"[]":       func() any { return new([][]float64) },
		"[1,2]":    func() any { return new([][]float64) },
		"true":     func() any { return new([]bool) },
	} {
		text := []byte("[" + strings.Repeat(element+",", 50_000) + element + "]")
		v := to()
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		if err := json.Unmarshal(text, v); err != nil {
			t.Fatal(element, err)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		// A list that grows by a quarter is copied from one of four fifths of its size.
		if took, most := 1.8*float64(after.HeapAlloc-before.HeapAlloc), JSON(text); took > most {
			t.Errorf("%s: %g bytes, estimated as %g", element, took, most)
		}
		runtime.KeepAlive(v)
	}
	if err := Unmarshal([]byte("["+strings.Repeat("{},", 1<<20)+"{}]"), new([]record)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a million of empty objects: %v", err)
	}
	var v []int
	if err := Unmarshal([]byte("[1, 2]"), &v); err != nil || len(v) != 2 {
		t.Errorf("%v, %v", v, err)
	}
}
