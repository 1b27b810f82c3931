package main

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/iokl/iokl/internal/deadline"
)

var faults = flag.Int("faults", 30, "processes that are killed, run out of disk or lose their input at a random moment")

// killed ends the line without a word at some moment. What it promised is there as a whole or as
// it was, and the same line then gives the same answer.
func (c *interruptible) killed(t *testing.T, dir string, rng *rand.Rand) string {
	t.Helper()
	at := time.Duration(rng.Float64() * float64(c.span))
	e := c.interrupt(t, dir, syscall.SIGKILL, at)
	for _, name := range c.files {
		whole(t, dir, name)
	}
	out, err := process(t, dir, c.line).Output()
	if err != nil {
		t.Fatalf("killed after %v, then: %v\n%s", at, err, err.(*exec.ExitError).Stderr)
	}
	if c.want != nil {
		c.same(t, "killed, then run again", answer(t, out))
	}
	if e.status == -1 {
		return "killed"
	}
	return "ended before"
}

// outOfDisk runs the line where files may have so many bytes and no more.
func (c *interruptible) outOfDisk(t *testing.T, dir string, rng *rand.Rand) string {
	t.Helper()
	kib := rng.IntN(1 << (1 + rng.IntN(7)))
	cmd := process(t, dir, c.line)
	cmd.Path = "/bin/bash"
	cmd.Args = []string{"bash", "-c", fmt.Sprintf("trap '' XFSZ; ulimit -f %d; exec %q", kib, cmd.Args[0])}
	status := c.judge(t, dir, cmd, fmt.Sprintf("files of %d KiB", kib))
	left, err := filepath.Glob(filepath.Join(dir, ".*.tmp"))
	if err != nil || len(left) > 0 {
		t.Errorf("temporary files are left: %v %v", left, err)
	}
	return fmt.Sprintf("disk, status %d", status)
}

// cutShort gives the line a part of its input.
func (c *interruptible) cutShort(t *testing.T, dir string, rng *rand.Rand) string {
	t.Helper()
	from := "../x.csv"
	if strings.Contains(c.line, "../s.csv") {
		from = "../s.csv"
	}
	text, err := os.ReadFile(filepath.Join(dir, from))
	if err != nil {
		t.Fatal(err)
	}
	cut := rng.IntN(len(text))
	cmd := process(t, dir, strings.Replace(c.line, from, "-", 1))
	cmd.Stdin = bytes.NewReader(text[:cut])
	return fmt.Sprintf("cut, status %d", c.judge(t, dir, cmd, fmt.Sprintf("%d of %d bytes", cut, len(text))))
}

// judge runs the command to its end: success, or one line that says why not, and files that
// are whole or as they were.
func (c *interruptible) judge(t *testing.T, dir string, cmd *exec.Cmd, what string) int {
	t.Helper()
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	deadline.Run(t, 5**within, func() { _ = cmd.Run() }) // for the whole of the command, whatever else runs
	status := cmd.ProcessState.ExitCode()
	last := strings.TrimSpace(said.String())
	last = last[strings.LastIndex(last, "\n")+1:]
	switch {
	case strings.Contains(said.String(), "goroutine ") || strings.Contains(said.String(), "internal error"):
		t.Errorf("%s: %s", what, said.String())
	case status == exitOK:
		if !whole(t, dir, c.files[0]) {
			t.Errorf("%s: status 0 without %s", what, c.files[0])
		}
	case status != exitFailed && status != exitUsage || !strings.HasPrefix(last, "iokl: "):
		t.Errorf("%s: status %d: %s", what, status, said.String())
	}
	for _, name := range c.files {
		whole(t, dir, name)
	}
	return status
}

// Whatever happens to a process, files are whole or as they were, and the same line goes on.
func TestFaultsAtRandomMoments(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no signals and limits for other processes here")
	}
	lines, fresh := interruptibles(t)
	first := fresh()
	if err := process(t, first, lines[0].line).Run(); err != nil {
		t.Fatal(err)
	}
	old, err := os.ReadFile(filepath.Join(first, "m.iokl"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Dir(first), "old.iokl", string(old))
	lines = append(lines, &interruptible{
		name: "predict", line: "predict --model ../old.iokl --x ../x.csv --out p.csv", files: []string{"p.csv"}, span: 300 * time.Millisecond,
	})
	kinds := []func(*interruptible, *testing.T, string, *rand.Rand) string{(*interruptible).killed, (*interruptible).outOfDisk, (*interruptible).cutShort}
	if testing.Short() && *faults == 30 {
		*faults = len(kinds)
	}
	const seed = 24
	rng := rand.New(rand.NewPCG(seed, 0))
	count, current := map[string]int{}, ""
	t.Cleanup(func() {
		if t.Failed() {
			t.Log("failed:", current)
		}
	})
	for k := range *faults {
		c, kind := lines[k%len(lines)], kinds[(k+k/len(lines))%len(kinds)]
		dir := fresh()
		earlier := rng.IntN(2) == 0 && c.files[0] == "m.iokl"
		if earlier {
			write(t, dir, "m.iokl", string(old))
		}
		current = fmt.Sprintf("fault %d of seed %d, %s in %s, with an earlier model: %v", k, seed, c.name, dir, earlier)
		how := kind(c, t, dir, rng)
		if earlier && !whole(t, dir, "m.iokl") {
			t.Error("the model that was there is gone")
		}
		if t.Failed() {
			t.FailNow()
		}
		count[c.name+": "+how]++
	}
	t.Logf("seed %d, %d faults: %v", seed, *faults, count)
}
