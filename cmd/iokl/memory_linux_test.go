package main

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/iokl/iokl/internal/files/npy"
)

var (
	allCorners = flag.Bool("corners", false,
		"fit tables of up to 3e9 cells, which takes hours and 24 GB of disk, in TestSizesUnderALimit")
	randomSizes = flag.Int("sizes", 0, "random sizes to fit tables of in TestSizesUnderALimit")
	randomSeed  = flag.Uint64("sizes-seed", 1, "seed of -sizes")
)

// tableOf writes x.npy and y.npy, targets that are smooth functions of some columns, and noise.
func tableOf(t *testing.T, dir string, l, d, n int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(l), uint64(d*n)))
	x, y := make([]float64, d), make([]float64, n)
	var files [2]*bufio.Writer
	for k, name := range []string{"x.npy", "y.npy"} {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		files[k] = bufio.NewWriter(f)
		npy.WriteHeader(files[k], l, []int{d, n}[k])
	}
	for range l {
		for j := range x {
			x[j] = rng.NormFloat64()
		}
		for k := range y {
			y[k] = math.Sin(x[k%d]+x[(k*k+1)%d]) + .1*rng.NormFloat64()
		}
		npy.WriteElements(files[0], x)
		npy.WriteElements(files[1], y)
	}
	for _, f := range files {
		if err := f.Flush(); err != nil {
			t.Fatal(err)
		}
	}
}

// measured runs a command line as a process, which the shell starts after the command limit, unless
// that is "", in a mount namespace of its own where that mounts. It returns what it said, and its
// largest resident size. A process
// that is killed, or that the runtime ends for want of memory, fails the test.
func measured(t *testing.T, dir, line, limit string) (said string, status int, resident int64) {
	t.Helper()
	cmd := process(t, dir, line)
	file := filepath.Join(t.TempDir(), "status")
	cmd.Env = append(cmd.Env, "IOKL_TEST_STATUS="+file)
	if limit != "" {
		if strings.HasPrefix(limit, "mount ") {
			cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
		}
		cmd.Path = "/bin/sh"
		cmd.Args = []string{"sh", "-c", fmt.Sprintf("%s && exec %q", limit, cmd.Args[0])}
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if err != nil {
		if _, ok := err.(*exec.ExitError); !ok {
			t.Fatal(err)
		}
	}
	said, status = out.String(), cmd.ProcessState.ExitCode()
	if status < 0 || status > exitUsage || strings.Contains(said, "fatal error") ||
		strings.Contains(said, "goroutine ") || strings.Contains(said, "internal error") {
		t.Fatalf("%s: status %d\n%.2000s", line, status, said)
	}
	text := mustRead(t, file)
	_, after, _ := strings.Cut(string(text), "VmHWM:")
	if _, err := fmt.Sscan(after, &resident); err != nil {
		t.Fatal(err)
	}
	return said, status, resident << 10
}

// underGroup is the shell command after which the files of control groups, in a mount namespace of
// its own, show a group
// that is limited to so many bytes.
func underGroup(t *testing.T, limit int64) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "memory.max", fmt.Sprint(limit))
	write(t, dir, "memory.current", fmt.Sprint(10<<20)) // a process of Go that has just begun
	command := fmt.Sprintf("mount --bind %q /sys/fs/cgroup", dir)
	try := exec.Command("/bin/sh", "-c", command)
	try.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if out, err := try.CombinedOutput(); err != nil {
		t.Skipf("no mounts in a namespace of its own here: %v %s", err, out)
	}
	return command
}

// inGroup is the shell command that takes it into a new control group of so many bytes, in which nothing
// may be killed.
func inGroup(t *testing.T, limit int64) string {
	t.Helper()
	dir, files := "/sys/fs/cgroup/memory", []string{"memory.limit_in_bytes", "memory.oom_control"}
	if _, err := os.Stat(dir); err != nil { // version 2
		dir, files = "/sys/fs/cgroup", []string{"memory.max", "memory.events"}
	}
	group, err := os.MkdirTemp(dir, "iokl-test-")
	if err != nil {
		t.Skipf("no control groups can be made here: %v", err)
	}
	t.Cleanup(func() {
		if text, err := os.ReadFile(filepath.Join(group, files[1])); err == nil &&
			!strings.Contains(string(text), "oom_kill 0\n") {
			t.Errorf("the system has killed a process: %s", text)
		}
		if err := os.Remove(group); err != nil {
			t.Error(err)
		}
	})
	f, err := os.OpenFile(filepath.Join(group, files[0]), os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("no control groups of memory can be made here: %v", err)
	}
	defer f.Close()
	if _, err := fmt.Fprint(f, limit); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("echo $$ >%q", filepath.Join(group, "cgroup.procs"))
}

// TestPeakWithinMemory compares the largest resident size of fits, of exact kernels and of
// features, with the memory that they are given, or that their control group has, be it one that the
// files of control groups show or one that is enforced.
func TestPeakWithinMemory(t *testing.T) {
	dir := t.TempDir()
	tableOf(t, dir, 1500, 6, 3)
	for _, c := range []struct {
		memory int64 // MiB
		line   string
		refuse bool
		from   string
	}{
		{200, "--kernel gaussian:all:median*1,2 --lambda 1e-3", false, "--memory"},
		{80, "--kernel gaussian:all:median*1,2 --lambda 1e-3", false, "--memory"},
		{40, "--kernel gaussian:all:median*1,2 --lambda 1e-3", true, "--memory"},
		{200, "--kernel gaussian:each:median*1,2 --lambda 1e-3", false, "--memory"},
		{150, "", false, "--memory"},
		{200, "--kernel gaussian:all:median*1,2 --lambda 1e-3", false, "files"},
		{40, "--kernel gaussian:all:median*1,2 --lambda 1e-3", true, "files"},
		{200, "--kernel gaussian:all:median*1,2 --lambda 1e-3", false, "group"},
		{80, "--kernel gaussian:all:median*1,2 --lambda 1e-3", false, "group"},
		{40, "--kernel gaussian:all:median*1,2 --lambda 1e-3", true, "group"},
		{150, "", false, "group"},
	} {
		t.Run(fmt.Sprintf("%d MiB by %s %s", c.memory, c.from, c.line), func(t *testing.T) {
			line, limit, most := "fit --x x.npy --y y.npy -q "+c.line, "", c.memory<<20
			switch c.from {
			case "files":
				limit = underGroup(t, most)
			case "group":
				if testing.Short() && c.line == "" {
					t.Skip("chooses settings a second time")
				}
				limit = inGroup(t, most)
			default:
				line += fmt.Sprintf(" --memory %dMiB", c.memory)
				most += most / 5
			}
			said, status, resident := measured(t, dir, line, limit)
			if refused := status == exitUsage && strings.Contains(said, "not enough memory"); refused != c.refuse ||
				!refused && status != exitOK {
				t.Errorf("status %d: %s", status, said)
			}
			if resident > most {
				t.Errorf("%d MiB are resident", resident>>20)
			}
			t.Logf("status %d, %d MiB", status, resident>>20)
		})
	}
}

// TestTablesBeyondMemory streams a table that the limit does not hold, and refuses one that cannot be streamed.
func TestTablesBeyondMemory(t *testing.T) {
	dir := t.TempDir()
	tableOf(t, dir, 10000, 20, 2)
	t.Chdir(dir)
	var out, msg bytes.Buffer
	if status := run(t.Context(), strings.Fields("fit --x x.npy --y y.npy --memory 4MB --json"), nil, &out,
		&msg); status != exitOK {
		t.Fatal(msg.String())
	}
	if !strings.Contains(msg.String(), "rows are read in blocks") || !strings.Contains(out.String(), "nystrom:") {
		t.Errorf("%s\n%s", msg.String(), out.String())
	}
	msg.Reset()
	status := run(t.Context(), strings.Fields("fit --x x.npy --y y.npy --memory 4MB --lambda 1e-3"), nil, &out, &msg)
	if status != exitUsage || !strings.Contains(msg.String(), "use --stream") {
		t.Errorf("status %d: %s", status, msg.String())
	}
}

// TestSizesUnderALimit fits tables of small and large sizes with zero options in processes
// whose addresses the system limits. None may be killed. -corners and -sizes add large tables, of
// which the choice of settings has a budget of time.
func TestSizesUnderALimit(t *testing.T) {
	var sizes [][3]int
	kib, mostCells := 3<<20, 3000.0
	rows, columns, outputs := []int{2, 40}, []int{1, 60}, []int{1, 5}
	if *allCorners {
		mostCells = 3e9
		rows, columns, outputs = []int{2, 3, 100, 3000, 100_000, 1_000_000}, []int{1, 30, 2000}, []int{1, 30, 1000}
	}
	for _, l := range rows {
		for _, d := range columns {
			for _, n := range outputs {
				sizes = append(sizes, [3]int{l, d, n})
			}
		}
	}
	rng := rand.New(rand.NewPCG(*randomSeed, 0))
	upTo := func(least, most float64) int { return int(least * math.Exp(rng.Float64()*math.Log(most/least))) }
	for range *randomSizes {
		mostCells = max(mostCells, 3e7)
		sizes = append(sizes, [3]int{upTo(3, 1e6), upTo(1, 2000), upTo(1, 1000)})
	}
	for _, size := range sizes {
		l, d, n := size[0], size[1], size[2]
		cells := float64(l) * float64(d+n)
		if cells > mostCells {
			continue
		}
		line := "fit --x x.npy --y y.npy -q --out m.iokl"
		limit := kib
		if cells > 3000 {
			line, limit = line+" --budget 20s", 6<<20
		}
		name := fmt.Sprintf("%d×%d→%d", l, d, n)
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			tableOf(t, dir, l, d, n)
			start := time.Now()
			said, status, resident := measured(t, dir, line, fmt.Sprint("ulimit -v ", limit))
			if l > 2 && status != exitOK {
				t.Errorf("status %d: %s", status, said)
			}
			t.Logf("status %d, %v, %d MiB", status, time.Since(start).Round(time.Millisecond), resident>>20)
		})
	}
}
