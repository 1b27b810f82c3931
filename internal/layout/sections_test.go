package layout

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// Every section that a comment or a page cites with the sign § is a heading of docs/mathematics.md or of the pages that
// go on from it, the only ones whose sections have numbers.
func TestSections(t *testing.T) {
	root := filepath.Join("..", "..")
	pages, err := filepath.Glob(filepath.Join(root, "docs", "mathematics*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatal(err, pages)
	}
	known := map[string]bool{}
	for _, name := range pages {
		page, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^## (\d+)\. `).FindAllStringSubmatch(string(page), -1) {
			if known[m[1]] {
				t.Errorf("%s has section %s a second time", name, m[1])
			}
			known[m[1]] = true
		}
	}
	sections := regexp.MustCompile(`§§?\s*(\d+)(?:(?:,|–|-| and) ?§?(\d+))*`)
	number := regexp.MustCompile(`\d+`)
	cited := 0
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && d.Name() == ".git" {
				return filepath.SkipDir
			}
			return err
		}
		switch filepath.Ext(path) {
		case ".go", ".s", ".md", ".py", ".h", ".c", ".txt":
		default:
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range sections.FindAllString(string(text), -1) {
			for _, n := range number.FindAllString(m, -1) {
				if cited++; !known[n] {
					t.Errorf("%s cites §%s, which no page of the mathematics has", path, n)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if cited < len(known) {
		t.Errorf("%d citations of %d sections were found", cited, len(known))
	}
}
