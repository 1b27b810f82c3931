package cases

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/benchtest"
)

func TestSelect(t *testing.T) {
	all, err := bench.Select([]string{"all"})
	if err != nil || len(all) != len(bench.Cases()) {
		t.Errorf("all: %d cases, %v", len(all), err)
	}
	part, err := bench.Select([]string{"mtr:jura,edm"})
	if err != nil || len(part) != 1 || !slices.Equal(part[0].Parts, []string{"jura", "edm"}) {
		t.Errorf("parts of a case: %v, %v", part, err)
	}
	for _, bad := range []string{"mtr:nothing", "digits:some"} {
		if _, err := bench.Select([]string{bad}); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
	two, err := bench.Select([]string{"macro", "digits", "macro"})
	if err != nil || len(two) != 2 || two[0].Name != "macro" || two[1].Name != "digits" {
		t.Errorf("two cases: %v, %v", two, err)
	}
	if _, err := bench.Select([]string{"digits", "nonsense"}); err == nil ||
		!strings.Contains(err.Error(), `"nonsense"`) {
		t.Errorf("unknown case: %v", err)
	}
	var names []string
	for _, c := range bench.Cases() {
		names = append(names, c.Name)
		if c.Does == "" {
			t.Errorf("%s does not say what it does", c.Name)
		}
	}
	slices.Sort(names)
	if u := slices.Compact(slices.Clone(names)); len(u) != len(names) {
		t.Errorf("names repeat: %v", names)
	}
}

func TestAbsentDataIsSkipped(t *testing.T) {
	env := benchtest.Quick()
	env.Data = t.TempDir()
	for _, name := range []string{"leaves", "mfeat", "stock04", "dream3", "drosophila", "wheat", "jura"} {
		c, err := bench.Select([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c[0].Measure(context.Background(), env); !errors.Is(err, bench.ErrSkipped) {
			t.Errorf("%s without its data: %v", name, err)
		}
	}
}

// TestEveryTopicIsLinked finds a folder that no import names.
func TestEveryTopicIsLinked(t *testing.T) {
	text, err := os.ReadFile("cases.go")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	topics := 0
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		topics++
		if line := `_ "github.com/iokl/iokl/bench/cases/` + e.Name() + `"`; !strings.Contains(string(text), line) {
			t.Errorf("cases.go lacks %s", line)
		}
	}
	if topics == 0 {
		t.Error("no topics")
	}
}
