package layout

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// scripts/check names checks that could not run in its last lines, also where all others pass.
func TestCheckSaysWhatDidNotRun(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("needs bash")
	}
	// A go command that succeeds, except that govulncheck finds no database where OFFLINE is set.
	stub := filepath.Join(t.TempDir(), "go")
	const script = `#!/bin/sh
case "$*" in
*govulncheck*) [ -z "$OFFLINE" ] || { echo "govulncheck: fetching vulnerabilities: no such host"; exit 1; } ;;
esac
`
	if err := os.WriteFile(stub, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	for offline, want := range map[string]bool{"": false, "yes": true} {
		cmd := exec.Command(bash, filepath.Join("scripts", "check"))
		cmd.Dir = filepath.Join("..", "..")
		cmd.Env = append(os.Environ(), "GO="+stub, "OFFLINE="+offline)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		last := strings.Join(lines[max(0, len(lines)-3):], "\n")
		if got := strings.Contains(last, "vulnerabilities (govulncheck) DID NOT RUN"); got != want {
			t.Errorf("offline %q: it ends with\n%s", offline, last)
		}
		if !strings.Contains(last, "passed") {
			t.Errorf("it does not end: %s", last)
		}
	}
}
