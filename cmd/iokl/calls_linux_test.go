package main

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// fileWritten finds the name of a file that a system call makes, opens to write, renames or removes.
var fileWritten = regexp.MustCompile(
	`(?:openat\(\w+, "([^"]*)", [^)]*O_(?:WRONLY|RDWR|CREAT)|(?:mkdirat|unlinkat|renameat2?)\(\w+, "([^"]*)")`)

// Commands use no network, and write in no folder but that of the files they are told to write.
func TestSystemCalls(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("needs strace; Debian: apt-get install strace")
	}
	dir := t.TempDir()
	writeData(t, dir)
	if err := exec.Command(strace, "-o", "/dev/null", "true").Run(); err != nil {
		t.Skip("strace may not trace here:", err)
	}
	seen := 0
	for _, line := range soakLines[:8] {
		cmd, log := process(t, dir, line), filepath.Join(t.TempDir(), "calls")
		cmd.Args = append([]string{
			"strace", "-f", "-qq", "-e",
			"trace=%network,openat,mkdirat,unlinkat,renameat,renameat2", "-o", log,
		}, cmd.Path)
		cmd.Path = strace
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
		for call := range strings.Lines(mustRead(t, log)) {
			if strings.Contains(call, "socket(") || strings.Contains(call, "connect(") {
				t.Errorf("%s: network: %s", line, call)
			}
			m := fileWritten.FindStringSubmatch(call)
			if m == nil {
				continue
			}
			seen++
			name := m[1] + m[2]
			if filepath.IsAbs(name) && name != "/dev/null" && filepath.Dir(name) != dir ||
				strings.HasPrefix(name, "..") {
				t.Errorf("%s: writes elsewhere: %s", line, call)
			}
		}
	}
	if seen == 0 {
		t.Error("no written file was seen")
	}
}
