package layout

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// lines are those of text that are not blank, trimmed.
func lines(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		if s := strings.TrimSpace(line); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// TestReadmeExample checks that the program in the README is the example that
// the tests compile and run.
func TestReadmeExample(t *testing.T) {
	root := filepath.Join("..", "..")
	source, err := os.ReadFile(filepath.Join(root, "example_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	body := regexp.MustCompile(`(?s)\nfunc Example\(\) \{\n(.*?)\n\}\n`).FindSubmatch(source)
	block := regexp.MustCompile("(?s)```go\n(.*?)```").FindSubmatch(readme)
	if body == nil || block == nil {
		t.Fatal("no func Example in example_test.go, or no Go block in README.md")
	}
	if got, want := strings.Join(lines(string(block[1])), "\n"), strings.Join(lines(string(body[1])), "\n"); got != want {
		t.Errorf("the README shows\n%s\n\nand the example is\n%s", got, want)
	}
}

// TestReadmeLinks checks that the files the README points to are there.
func TestReadmeLinks(t *testing.T) {
	root := filepath.Join("..", "..")
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	links := regexp.MustCompile(`\]\(([^)]+)\)`).FindAllSubmatch(readme, -1)
	if len(links) == 0 {
		t.Fatal("no links found")
	}
	for _, m := range links {
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(string(m[1])))); err != nil {
			t.Errorf("%s: %v", m[1], err)
		}
	}
}
