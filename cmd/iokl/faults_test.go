package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/iokl/iokl/internal/base/deadline"
)

var (
	faults     = flag.Int("faults", 12, "processes to which an accident happens at a random moment")
	faultsSeed = flag.Uint64("faults-seed", 24, "seed of the accidents")
)

// accident is what happens to a process. It returns how the process ended.
type accident struct {
	name string
	to   func(c *interruptible, t *testing.T, dir string, rng *rand.Rand) string
	// altered says that the input of the process was another one, so that a checkpoint may be of other data.
	altered bool
}

var accidents = []accident{
	{"SIGKILL", (*interruptible).killed, false},
	{"SIGTERM", (*interruptible).terminated, false},
	{"stopped", (*interruptible).stopped, false},
	{"full disk", (*interruptible).outOfDisk, false},
	{"little memory", (*interruptible).littleMemory, false},
	{"cut short", (*interruptible).cutShort, true},
	{"read error", (*interruptible).readError, true},
	{"truncated", (*interruptible).truncated, true},
}

// moment is a random time while the line runs.
func (c *interruptible) moment(rng *rand.Rand) time.Duration {
	return time.Duration(rng.Float64() * float64(c.span))
}

// killed ends the line without a word. What it promised is there as a whole or as it was.
func (c *interruptible) killed(t *testing.T, dir string, rng *rand.Rand) string {
	t.Helper()
	e := c.interrupt(t, dir, syscall.SIGKILL, c.moment(rng))
	for _, name := range c.files {
		whole(t, dir, name)
	}
	return fmt.Sprint("status ", e.status)
}

// terminated asks the line to end.
func (c *interruptible) terminated(t *testing.T, dir string, rng *rand.Rand) string {
	t.Helper()
	_ = os.Remove(filepath.Join(dir, "m.iokl")) // what the message says of it is checked
	e := c.interrupt(t, dir, syscall.SIGTERM, c.moment(rng))
	c.check(t, dir, e)
	return fmt.Sprint("status ", e.status)
}

// stopped halts the line for a while, so that all clocks jump, and gives it files of other times. It ends as ever.
func (c *interruptible) stopped(t *testing.T, dir string, rng *rand.Rand) string {
	t.Helper()
	for _, name := range []string{"x.csv", "y.csv", "s.csv"} {
		at := time.Unix(rng.Int64N(1<<33), 0)
		if err := os.Chtimes(filepath.Join(dir, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	status := c.judge(t, dir, process(t, dir, c.line), "stopped", func(p *os.Process) {
		time.Sleep(c.moment(rng))
		_ = p.Signal(syscall.SIGSTOP)
		time.Sleep(time.Duration(rng.IntN(int(time.Second))))
		_ = p.Signal(syscall.SIGCONT)
	})
	if status != exitOK {
		t.Errorf("stopped, and then status %d", status)
	}
	return fmt.Sprint("status ", status)
}

// limited is the line as the shell runs it under a limit.
func (c *interruptible) limited(t *testing.T, dir, limit string) *exec.Cmd {
	t.Helper()
	cmd := process(t, dir, c.line)
	cmd.Path = "/bin/bash"
	cmd.Args = []string{"bash", "-c", fmt.Sprintf("trap '' XFSZ; ulimit %s; exec %q", limit, cmd.Args[0])}
	return cmd
}

// outOfDisk runs the line where files may have so many bytes and no more.
func (c *interruptible) outOfDisk(t *testing.T, dir string, rng *rand.Rand) string {
	t.Helper()
	limit := fmt.Sprint("-f ", rng.IntN(1<<(1+rng.IntN(7))))
	status := c.judge(t, dir, c.limited(t, dir, limit), limit, nil)
	left, err := filepath.Glob(filepath.Join(dir, ".*.tmp"))
	if err != nil || len(left) > 0 {
		t.Errorf("temporary files are left: %v %v", left, err)
	}
	return fmt.Sprint("status ", status)
}

// littleMemory runs the line where the system limits its addresses or its data, to little more than the
// runtime of Go takes for itself.
func (c *interruptible) littleMemory(t *testing.T, dir string, rng *rand.Rand) string {
	t.Helper()
	limit := fmt.Sprint("-v ", 1_500_000+rng.IntN(900_000))
	if rng.IntN(2) == 0 {
		limit = fmt.Sprint("-d ", 130_000+rng.IntN(200_000))
	}
	return fmt.Sprint("status ", c.judge(t, dir, c.limited(t, dir, limit), limit, nil))
}

// input is the name and the text of the line's input, which becomes standard input.
func (c *interruptible) input(t *testing.T, dir string) (name, text string) {
	t.Helper()
	name = "x.csv"
	if strings.Contains(c.line, " s.csv") {
		name = "s.csv"
	}
	return name, mustRead(t, filepath.Join(dir, name))
}

// cutShort gives the line a part of its input.
func (c *interruptible) cutShort(t *testing.T, dir string, rng *rand.Rand) string {
	t.Helper()
	name, text := c.input(t, dir)
	cut := rng.IntN(len(text))
	cmd := process(t, dir, strings.Replace(c.line, name, "-", 1))
	cmd.Stdin = strings.NewReader(text[:cut])
	return fmt.Sprint("status ", c.judge(t, dir, cmd, fmt.Sprintf("%d of %d bytes", cut, len(text)), nil))
}

// readError gives the line its input through a connection that is reset after a part of it.
func (c *interruptible) readError(t *testing.T, dir string, rng *rand.Rand) string {
	t.Helper()
	name, text := c.input(t, dir)
	cut := rng.IntN(len(text))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	from, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	to, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	in, err := from.(*net.TCPConn).File()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	from.Close()
	cmd := process(t, dir, strings.Replace(c.line, name, "-", 1))
	cmd.Stdin = in
	status := c.judge(t, dir, cmd, fmt.Sprintf("connection reset after %d of %d bytes", cut, len(text)),
		func(*os.Process) {
			_, _ = io.WriteString(to, text[:cut])
			time.Sleep(c.moment(rng))
			_ = to.(*net.TCPConn).SetLinger(0)
			_ = to.Close()
		})
	if status == exitOK {
		t.Errorf("status 0 where reading failed after %d of %d bytes", cut, len(text))
	}
	return fmt.Sprint("status ", status)
}

// truncated takes the end off the line's input while that is read.
func (c *interruptible) truncated(t *testing.T, dir string, rng *rand.Rand) string {
	t.Helper()
	name, text := c.input(t, dir)
	cut := rng.IntN(len(text))
	status := c.judge(t, dir, process(t, dir, c.line), fmt.Sprintf("truncated to %d of %d bytes", cut, len(text)),
		func(*os.Process) {
			time.Sleep(c.moment(rng))
			if err := os.Truncate(filepath.Join(dir, name), int64(cut)); err != nil {
				t.Error(err)
			}
		})
	write(t, dir, name, text)
	return fmt.Sprint("status ", status)
}

// judge runs the command to its end, and meanwhile does what happens to it: success, or one line that says why not, and
// files that are whole or as they were.
func (c *interruptible) judge(t *testing.T, dir string, cmd *exec.Cmd, what string, happens func(*os.Process)) int {
	t.Helper()
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if happens != nil {
		happens(cmd.Process)
	}
	deadline.Run(t, 5**within, func() { _ = cmd.Wait() }) // for the whole of the command, whatever else runs
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

// faultsAtRandomMoments checks that, whatever happens to a process, files are whole or as they were, and the same line
// then gives its answer. A checkpoint of other input is refused by name, and the line gives its answer without it.
func faultsAtRandomMoments(t *testing.T, lines []*interruptible, fresh func() string) {
	t.Helper()
	old := mustRead(t, filepath.Join(filepath.Dir(fresh()), "old.iokl"))
	if testing.Short() && *faults == 12 {
		*faults = 2
	}
	rng := rand.New(rand.NewPCG(*faultsSeed, 0))
	count, refused, current := map[string]int{}, 0, ""
	t.Cleanup(func() {
		if t.Failed() {
			t.Log("failed:", current)
		}
	})
	for k := range *faults {
		c, a := lines[k%len(lines)], accidents[(k+k/len(lines))%len(accidents)]
		dir := fresh()
		earlier := rng.IntN(2) == 0 && c.files[0] == "m.iokl"
		if earlier {
			write(t, dir, "m.iokl", old)
		}
		current = fmt.Sprintf("fault %d of seed %d, %s of %s in %s, with an earlier model: %v", k, *faultsSeed, a.name,
			c.name, dir, earlier)
		how := a.to(c, t, dir, rng)
		if earlier && a.name != "SIGTERM" && !whole(t, dir, "m.iokl") {
			t.Error("the model that was there is gone")
		}
		if a.altered && c.checkpoint != "" {
			said, err := process(t, dir, c.line).CombinedOutput()
			if err != nil && strings.Contains(string(said), c.checkpoint) {
				refused++
				if err := os.Remove(filepath.Join(dir, c.checkpoint)); err != nil {
					t.Error(err)
				}
			}
		}
		c.again(t, dir, "after "+a.name)
		if t.Failed() {
			t.FailNow()
		}
		count[c.name+", "+a.name+": "+how]++
		_ = os.RemoveAll(dir)
	}
	t.Logf("seed %d, %d faults, %d checkpoints of other input refused: %v", *faultsSeed, *faults, refused, count)
}
