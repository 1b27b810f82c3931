package build

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// scripts/api compares with the last tag: additions pass, what breaks callers does not, packages
// without API are left out.
func TestAPI(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the tool that compares")
	}
	script, err := filepath.Abs("../../../scripts/api")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	run := func(name string, args ...string) (string, error) {
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for _, name := range []string{"bash", "git"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip("needs ", name)
		}
	}
	const before = "package p\n\n// F is exported.\nfunc F(x int) {}\n"
	write("scripts/api", string(text))
	write("go.mod", "module example.org/m\n\ngo 1.26\n")
	write("p/p.go", before)
	write("r/r.go", "package r\n")
	write("internal/q/q.go", strings.Replace(before, "package p", "package q", 1))
	git := func(args ...string) {
		t.Helper()
		if out, err := run("git", append([]string{
			"-c", "user.name=a", "-c", "user.email=a@example.org", "-c",
			"commit.gpgsign=false", "-c", "tag.gpgsign=false",
		}, args...)...); err != nil {
			t.Fatal(out, err)
		}
	}
	git("init", "-q")
	git("add", ".")
	git("commit", "-q", "-m", "first")
	if out, err := run("bash", "scripts/api"); err != nil || !strings.Contains(out, "SKIPPED: no tag") {
		t.Fatal(out, err)
	}
	git("tag", "v1.0.0")
	write("internal/q/q.go", "package q\n")
	for _, c := range []struct {
		name, text string
		breaks     bool
		says       string
	}{
		{"the same", before, false, ""},
		{"an addition", before + "\n// G is new.\nfunc G() {}\n", false, "G: added"},
		{"another argument", strings.Replace(before, "x int)", "x float64)", 1), true, "F: changed"},
		{"no function", "package p\n", true, "F: removed"},
	} {
		write("p/p.go", c.text)
		out, err := run("bash", "scripts/api")
		if strings.Contains(out, "dial tcp") {
			t.Skip("the tool cannot be fetched here")
		}
		if (err != nil) != c.breaks || !strings.Contains(out, c.says) ||
			c.breaks != strings.Contains(out, "v1.0.0 and this tree are not compatible") ||
			strings.Contains(out, "/q") {
			t.Errorf("%s: %v\n%s", c.name, err, out)
		}
	}
	git("rm", "-rqf", "p")
	if out, err := run("bash", "scripts/api"); err == nil || !strings.Contains(out, "example.org/m/p: removed") {
		t.Errorf("no package: %v\n%s", err, out)
	}
}
