package atomicfile

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A file size limit stops the write as a full disk does, part of the way through.
func TestFileLimit(t *testing.T) {
	sh, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("needs bash to set a file size limit")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "a.txt")
	if err := Write(path, text("old")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(sh, "-c", "trap '' XFSZ; ulimit -f 512; exec "+os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+path)
	msg, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 3 || !strings.Contains(string(msg), "large") {
		t.Errorf("child ended with %v, message %q", err, msg)
	}
	if got := mustRead(t, path); got != "old" {
		t.Errorf("file holds %d bytes after a failed write", len(got))
	}
	onlyFile(t, dir, "a.txt")
}
