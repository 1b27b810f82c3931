package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/internal/base/deadline"
)

var (
	signals = flag.Int("signals", 20, "processes that are sent a signal at a random moment")
	within  = flag.Duration("within", time.Minute, "time after the signal in which they must have ended")
)

// interruptible is a command line that signals end early.
type interruptible struct {
	name, line string
	checkpoint string        // file from which the same line goes on
	files      []string      // that are whole or not there
	span       time.Duration // that it takes
	want       []float64     // its answer when nothing interrupts it
}

// answer is the numbers, of a report or of predictions in a file, that do not depend on how the work went.
func (c *interruptible) answer(t *testing.T, dir string, stdout []byte) (v []float64) {
	t.Helper()
	if filepath.Ext(c.files[0]) == ".csv" {
		predicted := mustTable(t, filepath.Join(dir, c.files[0]))
		return predicted.Data.Data
	}
	var r struct {
		Objective float64
		Best      struct{ Mean float64 }
		Graph     [][]float64
		Edges     []struct {
			Frequency float64
			PValue    float64 `json:"p_value"`
		}
	}
	if err := json.Unmarshal(stdout, &r); err != nil {
		t.Fatalf("%v: %s", err, stdout)
	}
	v = []float64{r.Objective, r.Best.Mean}
	for _, row := range r.Graph {
		v = append(v, row...)
	}
	for _, e := range r.Edges {
		v = append(v, e.Frequency, e.PValue)
	}
	return v
}

// same fails unless the numbers agree to what the line's tolerance leaves open.
func (c *interruptible) same(t *testing.T, what string, got []float64) {
	t.Helper()
	if len(got) != len(c.want) {
		t.Fatalf("%s: %d numbers, want %d", what, len(got), len(c.want))
	}
	for i, v := range c.want {
		if !(math.Abs(got[i]-v) <= 1e-6*math.Abs(v)) {
			t.Errorf("%s: number %d is %.12g, uninterrupted %.12g", what, i, got[i], v)
		}
	}
}

// ended is how a process ended that was sent a signal.
type ended struct {
	status         int // -1: by the signal itself, before the command could ask for it
	stdout, stderr string
	after          time.Duration // the signal
}

func (c *interruptible) interrupt(t *testing.T, dir string, s os.Signal, at time.Duration) (e ended) {
	t.Helper()
	cmd := process(t, dir, c.line)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(at)
	_ = cmd.Process.Signal(s) // it may have ended
	sent := time.Now()
	deadline.Run(t, *within, func() { _ = cmd.Wait() })
	return ended{cmd.ProcessState.ExitCode(), out.String(), said.String(), time.Since(sent)}
}

// whole fails unless the file can be read by what reads it.
func whole(t *testing.T, dir, name string) (there bool) {
	t.Helper()
	path := filepath.Join(dir, name)
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	switch filepath.Ext(name) {
	case ".iokl":
		_, err = iokl.Load(path)
	case ".json":
		err = json.Unmarshal(b, new(any))
	}
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
	return true
}

// check fails unless status, messages and files are those that the commands promise.
// It reports whether there was a checkpoint, from which the same line then went on.
func (c *interruptible) check(t *testing.T, dir string, e ended) bool {
	t.Helper()
	there := map[string]bool{}
	for _, name := range append(c.files, c.checkpoint) {
		there[name] = name != "" && whole(t, dir, name)
	}
	var last string
	if lines := strings.Split(strings.TrimSpace(e.stderr), "\n"); len(lines) > 0 {
		last = lines[len(lines)-1]
	}
	switch out := c.files[0]; {
	case e.status == -1:
		if len(e.stderr)+len(e.stdout) > 0 || there[out] {
			t.Errorf("ended by the signal itself after %q, %q", e.stdout, e.stderr)
		}
	case e.status == exitOK:
		if !there[out] {
			t.Errorf("status 0 without %s", out)
		}
		c.same(t, "ended before the signal", c.answer(t, dir, []byte(e.stdout)))
	case e.status != exitFailed || !strings.HasPrefix(last, "iokl: interrupted"):
		t.Errorf("status %d: %s", e.status, e.stderr)
	case strings.Contains(last, "in "+out) != there[out]:
		t.Errorf("%s there %v: %s", out, there[out], last)
	case strings.Contains(last, "goes on from") && !there[c.checkpoint]:
		t.Errorf("no checkpoint: %s", last)
	case e.stdout != "" && !json.Valid([]byte(e.stdout)):
		t.Errorf("standard output is no JSON object: %s", e.stdout)
	}
	left, err := filepath.Glob(filepath.Join(dir, ".*.tmp"))
	if err != nil || len(left) > 0 {
		t.Errorf("temporary files are left: %v %v", left, err)
	}
	if !there[c.checkpoint] {
		return false
	}
	c.again(t, dir, "went on")
	return true
}

// again runs the line once more, which goes on from its checkpoint or starts anew, to its answer.
func (c *interruptible) again(t *testing.T, dir, what string) {
	t.Helper()
	out, err := process(t, dir, c.line).Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", what, err, err.(*exec.ExitError).Stderr)
	}
	c.same(t, what, c.answer(t, dir, out))
}

// Signals and accidents at any moment leave what the commands promise.
func TestAtRandomMoments(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no signals and limits for other processes here")
	}
	lines, fresh := interruptibles(t)
	t.Run("signals", func(t *testing.T) { signalsAtRandomMoments(t, lines, fresh) })
	t.Run("faults", func(t *testing.T) { faultsAtRandomMoments(t, lines, fresh) })
}

// signalsAtRandomMoments checks that signals end the commands soon.
func signalsAtRandomMoments(t *testing.T, lines []*interruptible, fresh func() string) {
	t.Helper()
	if testing.Short() && *signals == 20 {
		*signals = len(lines)
	}
	const seed = 23
	rng := rand.New(rand.NewPCG(seed, 0))
	current := ""
	t.Cleanup(func() {
		if t.Failed() {
			t.Log("failed:", current)
		}
	})
	count, latest := map[string]int{}, time.Duration(0)
	for k := range *signals {
		c, s := lines[k%len(lines)], []os.Signal{syscall.SIGINT, syscall.SIGTERM}[k/len(lines)%2]
		at, dir := time.Duration(rng.Float64()*float64(c.span)), fresh()
		current = fmt.Sprintf("%s, %v after %v", c.name, s, at)
		e := c.interrupt(t, dir, s, at)
		if c.check(t, dir, e) {
			count[c.name+": went on"]++
		}
		if t.Failed() {
			return
		}
		count[fmt.Sprintf("%s, %v: status %d", c.name, s, e.status)]++
		latest = max(latest, e.after)
	}
	t.Logf("seed %d, %d signals, ended within %v: %v", seed, *signals, latest, count)
}

// interruptibles are command lines with their answers, and what makes a fresh folder to run one in.
func interruptibles(t *testing.T) (lines []*interruptible, fresh func() string) {
	t.Helper()
	const data = " --x x.csv --y y.csv --json"
	lines = []*interruptible{
		{name: "fit", line: "fit --kernel gaussian:each:2^-3..2^3 --lambda 1e-5 --tol 1e-7 --out m.iokl --checkpoint " +
			"state" + data, checkpoint: "state", files: []string{"m.iokl"}},
		{name: "stream", line: "fit --stream --kernel rff:gaussian:all:median:200 --tol 1e-7 --out m.iokl " +
			"--checkpoint sums --checkpoint-rows 50" + data, checkpoint: "sums", files: []string{"m.iokl"}},
		{name: "granger", line: "granger --series s.csv --lag 2 --stability 30 --null 30 --checkpoint rounds.json " +
			"--out g.json --json", checkpoint: "rounds.json", files: []string{"g.json"}},
		{name: "cv", line: "cv --kernel gaussian:all --folds 4 --out m.iokl" + data, files: []string{"m.iokl"}},
		{name: "zero options", line: "fit --out m.iokl" + data, files: []string{"m.iokl"}},
		{name: "predict", line: "predict --model ../old.iokl --x x.csv --out p.csv", files: []string{"p.csv"}},
	}
	top := t.TempDir()
	folder := 0
	fresh = func() string {
		folder++
		dir := filepath.Join(top, fmt.Sprint(folder))
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		writeData(t, dir)
		return dir
	}
	for _, c := range lines {
		start, dir := time.Now(), fresh()
		out, err := process(t, dir, c.line).Output()
		if err != nil {
			t.Fatalf("%s: %v", c.line, err)
		}
		c.span, c.want = time.Since(start), c.answer(t, dir, out)
		if c.name == "fit" {
			if err := os.Rename(filepath.Join(dir, "m.iokl"), filepath.Join(top, "old.iokl")); err != nil {
				t.Fatal(err)
			}
		}
	}
	return lines, fresh
}

// writeData puts inputs, targets and time series into dir.
func writeData(t *testing.T, dir string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 0))
	writeXY(t, dir, "", "", 300, func(int) (x, y string) {
		a, b, c := rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()
		return fmt.Sprintf("%g,%g,%g", a, b, c),
			fmt.Sprintf("%g,%g", math.Sin(a)+b*c+.3*rng.NormFloat64(), math.Cos(b)+a+.3*rng.NormFloat64())
	})
	z := make([]float64, 5)
	write(t, dir, "s.csv", rowsText("a,b,c,d,e", 150, func(int) string {
		last, cells := z[4], make([]string, 5)
		for i, v := range z {
			z[i], last = math.Tanh(.5*v+.6*last)+.5*rng.NormFloat64(), v
			cells[i] = fmt.Sprint(z[i])
		}
		return strings.Join(cells, ",")
	}))
}
