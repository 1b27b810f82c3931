package granger

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"
)

// TestCountsOfNoColumns refuses rows without entries before it makes a square of them.
func TestCountsOfNoColumns(t *testing.T) {
	text := []byte(`{"count":[` + strings.Repeat("[],", 9999) + "[]]}")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := json.Unmarshal(text, new(Counts)); err == nil {
		t.Error("rows of no entries are counts")
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 64<<20 {
		t.Errorf("%d bytes took %d", len(text), took)
	}
}
