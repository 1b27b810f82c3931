package layout

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestRecipes follows the recipes of CONTRIBUTING.md that have code: it lays the files that the section
// shows, new ones and old ones with lines behind a text, over the tree, and runs the section's commands.
func TestRecipes(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles most packages anew")
	}
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("the recipes need a POSIX shell")
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	file := regexp.MustCompile("(?s)`([a-z/]+\\.go)`:\n\n```go\n(.*?)```")
	insert := regexp.MustCompile("(?s)`([a-z/]+\\.[a-z]+)`, behind `([^\n]*)`:\n\n```[a-z]*\n(.*?)```")
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
			dir, overlay := t.TempDir(), map[string]string{}
			lay := func(path, text string) {
				overlay[path] = filepath.Join(dir, fmt.Sprint(len(overlay), filepath.Ext(path)))
				if err := os.WriteFile(overlay[path], []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			for _, f := range files {
				path := filepath.Join(root, filepath.FromSlash(f[1]))
				if _, err := os.Stat(path); err == nil {
					t.Fatalf("%s is there already", f[1])
				}
				lay(path, f[2])
			}
			for _, f := range insert.FindAllStringSubmatch(text, -1) {
				path := filepath.Join(root, filepath.FromSlash(f[1]))
				old, err := os.ReadFile(path)
				before, after, found := strings.Cut(string(old), f[2])
				if err != nil || !found {
					t.Fatalf("%s has no %q: %v", f[1], f[2], err)
				}
				lay(path, before+f[2]+"\n"+f[3]+after)
			}
			list, err := json.Marshal(map[string]any{"Replace": overlay})
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "overlay.json"), list, 0o666); err != nil {
				t.Fatal(err)
			}
			script := commands.FindStringSubmatch(text)
			if script == nil {
				t.Fatal("no commands")
			}
			cmd := exec.Command(sh, "-eu")
			cmd.Dir, cmd.Stdin = root, strings.NewReader(script[1])
			cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "TMPDIR="+dir,
				"GOFLAGS=-buildvcs=false -overlay="+filepath.Join(dir, "overlay.json"))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	if found == 0 {
		t.Error("no recipes with code")
	}
}
