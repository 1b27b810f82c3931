package report

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestMarkdown checks the page of evidence: topics in order, each result with its figure and the command that measures
// it, tables of one width, pictures that exist.
func TestMarkdown(t *testing.T) {
	f, dir := someResults(), t.TempDir()
	var buf bytes.Buffer
	if err := WriteMarkdown(&buf, f, dir); err != nil {
		t.Fatal(err)
	}
	page := buf.String()
	at := -1
	for _, want := range []string{
		"## Linear systems with K⊗L + μI", "### sylvester", "    mklbench run sylvester",
		"## The paper: ", "### caltech", "| reduced-fast | ", "    mklbench run caltech",
		"## Not measured", "\n- uci: ",
	} {
		next := strings.Index(page, want)
		if next <= at {
			t.Errorf("%q is at %d, after %d", want, next, at)
		}
		at = next
	}
	if strings.Contains(page, "### gemm") {
		t.Error("a case of no topic is on the page")
	}
	if strings.Contains(page, "\n- caltech: ") {
		t.Error("a case that was run is among those that were not")
	}
	width := 0
	for line := range strings.SplitSeq(page, "\n") {
		cells := strings.Count(line, "|")
		if cells > 0 && width > 0 && cells != width {
			t.Errorf("%d bars after %d: %s", cells, width, line)
		}
		width = cells
	}
	pictures := regexp.MustCompile(`!\[[^\]]+\]\(([^)]*)\)`).FindAllStringSubmatch(page, -1)
	if len(pictures) == 0 {
		t.Error("there is no picture")
	}
	for _, p := range pictures {
		if _, err := os.Stat(filepath.Join(dir, p[1])); err != nil {
			t.Error(err)
		}
	}
}
