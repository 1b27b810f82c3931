package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/cmd/internal/results"
)

// TestMain makes the test program the command itself where a test starts it so.
func TestMain(m *testing.M) {
	if line := os.Getenv("IOKL_TEST_COMMAND"); line != "" {
		os.Args = append([]string{"iokl"}, strings.Fields(line)...)
		if file := os.Getenv("IOKL_TEST_STATUS"); file != "" {
			code := run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
			// What wait reports as the largest resident size may be that of the parent.
			status, err := os.ReadFile("/proc/self/status")
			if err != nil || os.WriteFile(file, status, 0o600) != nil {
				code = -1
			}
			os.Exit(code)
		}
		main()
	}
	os.Exit(m.Run())
}

// self is the test program.
func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// process is the command line as a process of its own in dir.
func process(t *testing.T, dir, line string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(self(t))
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "IOKL_TEST_COMMAND="+line)
	return cmd
}

// watcher calls f when it sees the text.
type watcher struct {
	bytes.Buffer
	text string
	f    func()
}

func (w *watcher) Write(b []byte) (int, error) {
	n, err := w.Buffer.Write(b)
	if strings.Contains(w.String(), w.text) {
		w.f()
	}
	return n, err
}

// interrupted runs a command line that is interrupted when it has said the text, and must fail.
func interrupted(t *testing.T, dir, line, text string) result {
	t.Helper()
	t.Chdir(dir)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out bytes.Buffer
	msg := watcher{text: text, f: cancel}
	status := run(ctx, strings.Fields(line), nil, &out, &msg)
	return result{t, line, status, out.String(), msg.String()}.ended(exitFailed)
}

func TestInterruptSavesModel(t *testing.T) {
	r := interrupted(t, folder(t), "fit --x x.csv --y y.csv --kernel gaussian:each:2^-6..2^6 --lambda 1e-7 --solver "+
		"paper --tol 1e-14 --out m.iokl --json -v", "iteration 3 ").err("interrupted at relative gap", "m.iokl")
	c := mustLoad(t, "m.iokl").Certificate()
	gap, err := json.Marshal(c.RelativeGap)
	if r.out(fmt.Sprintf(`"relative_gap": %s`, gap)); c.Converged || err != nil {
		t.Errorf("certificate %+v, %v", c, err)
	}
}

// Interrupted while settings are compared, fit and cv keep the best of them so far.
func TestInterruptedChoice(t *testing.T) {
	dir := folder(t)
	t.Chdir(dir)
	const kept = "interrupted at relative gap"
	for name, c := range map[string]struct {
		line, shown, says string
		model             bool
	}{
		"fit":          {"fit --x x.csv --y y.csv --out m.iokl -v", "certified", kept, true},
		"fit, no file": {"fit --x x.csv --y y.csv -v", "certified", "interrupted", false},
		"cv":           {"cv --x x.csv --y y.csv --kernel gaussian:all --out m.iokl --plot p -v", "← best", kept, true},
		"cv, no file":  {"cv --x x.csv --y y.csv --kernel gaussian:all -v", "← best", "interrupted", false},
		"grams":        {"fit --gram g.npz:Ks --y g.npz:Y --out m.iokl -v", "certified", kept, true},
	} {
		t.Run(name, func(t *testing.T) {
			_ = os.Remove("m.iokl")
			interrupted(t, dir, c.line, "cross-validation: ").err(c.says).out(c.shown)
			m, err := iokl.Load("m.iokl")
			if (err == nil) != c.model {
				t.Fatalf("the model: %v", err)
			}
			if c.model && !(m.Certificate().RelativeGap <= 1e-2) {
				t.Errorf("certificate %+v", m.Certificate())
			}
		})
	}
	_ = os.Remove("m.iokl")
	interrupted(t, dir, "cv --x x.csv --y y.csv --out m.iokl -v --seed 7", "choosing kernels").prints("").
		err("interrupted before any setting was tried")
	if _, err := iokl.Load("m.iokl"); err == nil {
		t.Error("a model was written")
	}
}

// TestBudgetEnds ends fits and comparisons long before they would end: what there is by then is kept and said, and what
// was asked for is no failure.
func TestBudgetEnds(t *testing.T) {
	dir := folder(t)
	t.Chdir(dir)
	for _, line := range []string{
		"fit --x x.csv --y y.csv", "fit --x x.csv --y y.csv --kernel gaussian:each:2^-6..2^6 --lambda 1e-7",
		"fit --x x.csv --y y.csv --loss huber", "fit --gram g.npz:Ks --y g.npz:Y", "cv --x x.csv --y y.csv",
	} {
		t.Run(line, func(t *testing.T) {
			_ = os.Remove("m.iokl")
			r := succeed(t, dir, line+" --budget 1ms --out m.iokl --json")
			if !mustLoad(t, "m.iokl").Certificate().Converged {
				r.err("stopped by --budget")
			}
		})
	}
}

// A signal ends a process as a cancelled context ends run.
func TestSignalSavesModel(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no SIGINT for other processes here")
	}
	dir := folder(t)
	cmd := process(t, dir, "fit --x x.csv --y y.csv --kernel gaussian:each:2^-6..2^6 --lambda 1e-7 --solver paper "+
		"--tol 1e-14 --out m.iokl -v")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
		if strings.HasPrefix(lines.Text(), "iteration 3 ") {
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitFailed ||
		!strings.Contains(said.String(), "interrupted at relative gap") {
		t.Errorf("status %d: %s", code, said.String())
	}
	if mustLoad(t, filepath.Join(dir, "m.iokl")).Certificate().Converged {
		t.Error("the model converged")
	}
}

// Whenever the process is killed, the model that was there is whole, and so is
// the checkpoint, which the next one goes on from.
func TestKillLeavesFilesWhole(t *testing.T) {
	dir := large(t, 8000)
	line := "fit --stream --x x.csv --y y.npy --kernel rff:gaussian:all:0.5:20 --lambda 1e-2 --survey-rows 1000 " +
		"--out m.iokl "
	succeed(t, dir, line)
	old := mustRead(t, "m.iokl")
	line += "--checkpoint sums --checkpoint-rows 1000"
	seen := 0
	for delay := 20 * time.Millisecond; delay <= 120*time.Millisecond; delay += 20 * time.Millisecond {
		cmd := process(t, dir, line)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(delay)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		mustLoad(t, "m.iokl")
		if _, err := os.Stat("sums"); err == nil {
			seen++
		}
	}
	if seen == 0 {
		t.Skip("this machine is too slow to come to a checkpoint")
	}
	succeed(t, dir, line+" -v").err("going on after the ")
	if now := mustRead(t, "m.iokl"); len(now) < len(old)/2 {
		t.Errorf("the model has %d bytes, before %d", len(now), len(old))
	}
}

// The report names a model only when it was saved.
func TestReportNamesSavedModels(t *testing.T) {
	r := &iokl.CVResult{Metric: "mse", Folds: 2, Points: []iokl.CVPoint{{Norm: "lp:1", Lambda: 1}}}
	for _, saved := range []bool{false, true} {
		var out bytes.Buffer
		cmd := new(cobra.Command)
		cmd.SetOut(&out)
		stopped := errors.New("stopped")
		l := learning{cmd: cmd, m: machine{json: true}, out: "m.iokl"}
		err := l.report(r, 1, func() (bool, error) { return saved, stopped })
		var got results.CV
		if e := json.Unmarshal(out.Bytes(), &got); e != nil || !errors.Is(err, stopped) ||
			(got.Model == "m.iokl") != saved {
			t.Errorf("saved %v: %v, %v, %s", saved, err, e, out.String())
		}
	}
}
