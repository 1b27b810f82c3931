package main

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/table"
)

var (
	allCorners  = flag.Bool("corners", false, "fit tables of up to 3e8 cells, which takes an hour, in TestSizesUnderALimit")
	randomSizes = flag.Int("sizes", 0, "random sizes to fit tables of in TestSizesUnderALimit")
	randomSeed  = flag.Uint64("sizes-seed", 1, "seed of -sizes")
)

// tableOf writes x.npy and y.npy, targets that are smooth functions of some columns, and noise.
func tableOf(t *testing.T, dir string, l, d, n int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(l), uint64(d*n)))
	X, Y := blas.NewGeneral(l, d), blas.NewGeneral(l, n)
	for i := range l {
		x := blas.Row(X, i)
		for j := range x {
			x[j] = rng.NormFloat64()
		}
		for k := range n {
			Y.Data[i*n+k] = math.Sin(x[k%d]+x[(k*k+1)%d]) + .1*rng.NormFloat64()
		}
	}
	for name, a := range map[string]blas.General{"x.npy": X, "y.npy": Y} {
		if err := table.Write(filepath.Join(dir, name), &table.Table{Data: a}); err != nil {
			t.Fatal(err)
		}
	}
}

// measured runs a command line as a process, which the shell starts under a limit of so
// many KiB of addresses, unless that is 0. It returns what it said, and its largest resident
// size. A process that is killed, or that the runtime ends for want of memory, fails the test.
func measured(t *testing.T, dir, line string, kib int) (said string, status int, resident int64) {
	t.Helper()
	cmd := process(t, dir, line)
	file := filepath.Join(t.TempDir(), "status")
	cmd.Env = append(cmd.Env, "IOKL_TEST_STATUS="+file)
	if kib > 0 {
		cmd.Path = "/bin/sh"
		cmd.Args = []string{"sh", "-c", fmt.Sprintf("ulimit -v %d; exec %q", kib, cmd.Args[0])}
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
	if status < 0 || status > exitUsage || strings.Contains(said, "fatal error") || strings.Contains(said, "goroutine ") || strings.Contains(said, "internal error") {
		t.Fatalf("%s: status %d\n%.2000s", line, status, said)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "VmHWM:")
	if _, err := fmt.Sscan(after, &resident); err != nil {
		t.Fatal(err)
	}
	return said, status, resident << 10
}

// TestPeakWithinMemory compares the largest resident size of fits, of exact kernels and of
// features, with the memory that they are given.
func TestPeakWithinMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("resident sizes are those of Linux")
	}
	dir := t.TempDir()
	tableOf(t, dir, 1500, 6, 3)
	for _, c := range []struct {
		memory int64 // MiB
		line   string
		refuse bool
	}{
		{200, "--kernel gaussian:all:median*1,2 --lambda 1e-3", false},
		{80, "--kernel gaussian:all:median*1,2 --lambda 1e-3", true},
		{200, "--kernel gaussian:each:median*1,2 --lambda 1e-3", true},
		{150, "", false},
	} {
		line := fmt.Sprintf("fit --x x.npy --y y.npy -q --memory %dMiB %s", c.memory, c.line)
		said, status, resident := measured(t, dir, line, 0)
		if refused := status == exitUsage && strings.Contains(said, "not enough memory"); refused != c.refuse || !refused && status != exitOK {
			t.Errorf("%s: status %d: %s", line, status, said)
		}
		if limit := c.memory << 20; resident > limit+limit/5 {
			t.Errorf("%s: %d MiB are resident", line, resident>>20)
		}
	}
}

// TestTablesBeyondMemory streams a table that the limit does not hold, and refuses one that cannot be streamed.
func TestTablesBeyondMemory(t *testing.T) {
	dir := t.TempDir()
	tableOf(t, dir, 10000, 20, 2)
	t.Chdir(dir)
	var out, msg bytes.Buffer
	if status := run(t.Context(), strings.Fields("fit --x x.npy --y y.npy --memory 4MB --json"), nil, &out, &msg); status != exitOK {
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
	if runtime.GOOS != "linux" {
		t.Skip("the limit of addresses is that of Linux")
	}
	var sizes [][3]int
	kib, mostCells := 3<<20, 3000.0
	rows, columns, outputs := []int{2, 40}, []int{1, 60}, []int{1, 5}
	if *allCorners {
		mostCells = 3.1e8
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
			said, status, resident := measured(t, dir, line, limit)
			if l > 2 && status != exitOK {
				t.Errorf("status %d: %s", status, said)
			}
			t.Logf("status %d, %v, %d MiB", status, time.Since(start).Round(time.Millisecond), resident>>20)
		})
	}
}
