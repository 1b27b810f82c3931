package layout

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
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
	if got, want := strings.Join(lines(string(block[1])), "\n"), strings.Join(lines(string(body[1])),
		"\n"); got != want {
		t.Errorf("the README shows\n%s\n\nand the example is\n%s", got, want)
	}
}

// TestPages checks that the files which the pages link to, or name as code, are there.
func TestPages(t *testing.T) {
	root := filepath.Join("..", "..")
	link := regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)
	named := regexp.MustCompile("`([a-z]+(?:/[a-z0-9_.-]+)+\\.(?:go|md|csv|gz))`(:\n\n```go)?")
	var pages []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/decisions/*.md"} {
		more, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil || more == nil {
			t.Fatal(pattern, err)
		}
		pages = append(pages, more...)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), filepath.FromSlash(m[1]))); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
		for _, m := range named.FindAllStringSubmatch(string(text), -1) {
			if m[2] != "" {
				continue // a new file of a recipe
			}
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(m[1]))); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
	}
}

// TestPageLength holds pages to 100 columns, except tables, links and code, and those of docs to 150 lines, rows of
// docs/architecture.md, which follow the packages, excepted. docs/evidence.md is written by mklbench.
func TestPageLength(t *testing.T) {
	root := filepath.Join("..", "..")
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || pages == nil {
		t.Fatal(err)
	}
	for _, name := range append(pages, filepath.Join(root, "README.md"), filepath.Join(root, "CONTRIBUTING.md"),
		filepath.Join(root, "CHANGELOG.md")) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(name) == "evidence.md" {
			continue
		}
		page := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
		count, code := len(page), false
		for i, line := range page {
			if strings.HasPrefix(line, "```") {
				code = !code
			}
			if code || strings.HasPrefix(line, "|") || strings.HasPrefix(line, "    ") || strings.Contains(line, "](") {
				continue
			}
			if wide := utf8.RuneCountInString(line); wide > 100 {
				t.Errorf("%s:%d: %d columns", name, i+1, wide)
			}
		}
		if filepath.Base(name) == "architecture.md" {
			count -= strings.Count(string(text), "\n| `")
		}
		if slices.Contains(pages, name) && count > 150 {
			t.Errorf("%s has %d lines", name, count)
		}
	}
}

// Every package for others to import shows in an example, whose output the tests
// compare, how it is used. The exceptions serve tests and commands, are a backend, or are for C (examples/c).
func TestExamples(t *testing.T) {
	without := []string{"capi", "blas/blastest", "blas/openblas", "linop/linoptest", "sylvester/solvertest"}
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		dir, _ := filepath.Rel(root, path)
		dir = filepath.ToSlash(dir)
		switch {
		case d.Name() == "internal" || dir == "bench" || dir == "cmd" || dir == "examples" || d.Name() == "testdata" ||
			dir != "." && strings.HasPrefix(d.Name(), "."):
			return filepath.SkipDir
		case slices.Contains(without, dir):
			return nil
		}
		if sources, _ := filepath.Glob(filepath.Join(path, "*.go")); len(sources) == 0 {
			return nil
		}
		tests, _ := filepath.Glob(filepath.Join(path, "*_test.go"))
		shown := slices.ContainsFunc(tests, func(name string) bool {
			text, err := os.ReadFile(name)
			return err == nil && strings.Contains(string(text), "\nfunc Example") &&
				strings.Contains(string(text), "// Output:")
		})
		if !shown {
			t.Errorf("package %s has no example with its output", dir)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
