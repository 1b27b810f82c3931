package layout

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestRecipes follows the recipes of CONTRIBUTING.md that have code, each on a copy
// of the tree: it writes the files that the section shows, all of them new, and runs
// the section's commands.
func TestRecipes(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles the tree anew")
	}
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("the recipes need a POSIX shell")
	}
	root := filepath.Join("..", "..")
	page, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	file := regexp.MustCompile("(?s)`([a-z/]+\\.go)`:\n\n```go\n(.*?)```")
	commands := regexp.MustCompile("(?s)```sh\n(.*?)```")
	found := 0
	for _, section := range strings.Split(string(page), "\n## ")[1:] {
		name, text, _ := strings.Cut(section, "\n")
		files := file.FindAllStringSubmatch(text, -1)
		if files == nil {
			continue
		}
		found++
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			copyTree(t, root, dir)
			for _, f := range files {
				path := filepath.Join(dir, filepath.FromSlash(f[1]))
				if _, err := os.Stat(path); err == nil {
					t.Fatalf("%s is there already", f[1])
				}
				if err := os.WriteFile(path, []byte(f[2]), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			script := commands.FindStringSubmatch(text)
			if script == nil {
				t.Fatal("no commands")
			}
			cmd := exec.Command(sh, "-eu")
			cmd.Dir, cmd.Stdin = dir, strings.NewReader(script[1])
			cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	if found == 0 {
		t.Error("no recipes with code")
	}
}

// copyTree copies what git would keep of the tree, roughly: all but hidden folders and results.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == from {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if strings.HasPrefix(d.Name(), ".") || rel == "bin" || rel == "out" {
				return filepath.SkipDir
			}
			return os.Mkdir(filepath.Join(to, rel), 0o777)
		}
		if !d.Type().IsRegular() {
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), b, 0o666)
	})
	if err != nil {
		t.Fatal(err)
	}
}
