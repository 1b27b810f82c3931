//go:build mpi

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/cmd/internal/results"
	"github.com/iokl/iokl/internal/base/deadline"
)

// ranks runs a command line on several ranks, one thread each.
func ranks(t *testing.T, dir string, n int, line string) (stdout, stderr string, err error) {
	t.Helper()
	return watchedRanks(t, dir, n, line, nil)
}

// rankObject is the JSON object that a command line on several ranks prints.
func rankObject[T any](t *testing.T, dir string, n int, line string) (v T) {
	t.Helper()
	stdout, stderr, err := ranks(t, dir, n, line)
	if err != nil || json.Unmarshal([]byte(stdout), &v) != nil {
		t.Fatalf("%d ranks %s: %v\n%s%s", n, line, err, stdout, stderr)
	}
	return v
}

// watchedRanks is ranks with a function that gets the process id of mpirun.
func watchedRanks(
	t *testing.T, dir string, n int, line string, started func(pid int),
) (stdout, stderr string, err error) {
	t.Helper()
	mpirun, err := exec.LookPath("mpirun")
	if err != nil {
		t.Skip("mpirun is not installed (Debian: openmpi-bin)")
	}
	cmd := exec.Command(mpirun, "--allow-run-as-root", "--oversubscribe", "-n", strconv.Itoa(n), self(t))
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "IOKL_TEST_COMMAND="+line+" --threads 1")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err = cmd.Start(); err == nil && started != nil {
		started(cmd.Process.Pid)
	}
	if err == nil {
		err = cmd.Wait()
	}
	return out.String(), errs.String(), err
}

// children are the processes that the process pid has started.
func children(t *testing.T, pid int) (ids []int) {
	t.Helper()
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range lists {
		text, _ := os.ReadFile(list) // the thread may have ended
		for _, f := range strings.Fields(string(text)) {
			id, err := strconv.Atoi(f)
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, id)
		}
	}
	return ids
}

// A rank that is lost, at whatever moment, ends the others: the job ends with a message and status, no
// process stays, there is no output or a whole one, and the same job then gives its answer.
func TestRanksLost(t *testing.T) {
	dir := large(t, 9000)
	chain(t, dir)
	lines := []*interruptible{
		{line: "fit --stream --x x.csv --y y.npy --kernel rff:gaussian:all:0.5,1:60 --lambda 1e-4 --tol 1e-9 --json " +
			"--checkpoint sums --out m.iokl", files: []string{"m.iokl"}},
		{line: "cv --stream --x x.csv --y y.npy --kernel rff:gaussian:all:0.5:20 --folds 4 --lambdas 1e-2,1e-4 " +
			"--json --out cv.iokl", files: []string{"cv.iokl"}},
		{
			line:  chainLine + "--json --lambdas 0.1,1 --stability 4 --null 5 --checkpoint rounds.json --out g.json",
			files: []string{"g.json"},
		},
	}
	run := func(c *interruptible) []float64 {
		start := time.Now()
		stdout, stderr, err := ranks(t, dir, 3, c.line)
		if err != nil {
			t.Fatalf("%s: %v\n%s", c.line, err, stderr)
		}
		c.span = time.Since(start)
		return c.answer(t, dir, []byte(stdout))
	}
	rng := rand.New(rand.NewPCG(*faultsSeed, 6))
	lost, trials := 0, max(6, *faults/10)
	for trial := range trials {
		c := lines[trial%len(lines)]
		out := filepath.Join(dir, c.files[0])
		if c.want == nil {
			c.want = run(c)
		}
		for _, name := range []string{out, filepath.Join(dir, "rounds.json")} {
			_ = os.Remove(name)
		}
		var ids []int
		var stderr string
		var err error
		deadline.Run(t, *within, func() {
			_, stderr, err = watchedRanks(t, dir, 3, c.line, func(pid int) {
				for len(ids) < 3 {
					ids = children(t, pid)
				}
				time.Sleep(c.moment(rng))
				_ = syscall.Kill(ids[rng.IntN(3)], syscall.SIGKILL) // it may have ended
			})
		})
		// mpirun ends as the rank that was killed did; its words differ where the others had ended before.
		var exit *exec.ExitError
		killed := errors.As(err, &exit) && exit.ExitCode() == 128+int(syscall.SIGKILL)
		if there := whole(t, dir, c.files[0]); err == nil && !there || err != nil && !killed {
			t.Errorf("trial %d: %v, %s: %v\n%s", trial, err, c.files[0], there, stderr)
		}
		if err != nil {
			lost++
		}
		for _, id := range ids {
			left := func() bool {
				state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id))
				return err == nil && !strings.Contains(string(state), ") Z ") // which nobody has waited for
			}
			for range 100 { // mpirun kills ranks without waiting for their end
				if !left() {
					break
				}
				time.Sleep(100 * time.Millisecond)
			}
			if left() {
				t.Errorf("trial %d: process %d is left", trial, id)
			}
		}
		c.same(t, "after the loss of a rank", run(c))
	}
	t.Logf("seed %d, %d trials, %d ranks lost before the end", *faultsSeed, trials, lost)
}

// 1, 2 and 4 ranks give the same model, and only one of them prints.
func TestRanksAgree(t *testing.T) {
	dir := large(t, 9000)
	line := "fit --stream --x x.csv --y y.npy --kernel rff:gaussian:all:0.5,1:20 --kernel linear:all --lambda 1e-2 " +
		"--tol 1e-9 --json --out m%d.iokl"
	var models []*iokl.Model
	for _, n := range []int{1, 2, 4} {
		if got := rankObject[results.Fit](t, dir, n, fmt.Sprintf(line, n)); got.Samples != 9000 {
			t.Fatalf("%d ranks: %+v", n, got)
		}
		m := mustLoad(t, fmt.Sprintf("%s/m%d.iokl", dir, n))
		models = append(models, m)
	}
	t.Chdir(dir)
	want := predictions(t, "m1.iokl")
	for k, n := range []int{1, 2, 4} {
		for i, v := range predictions(t, fmt.Sprintf("m%d.iokl", n)) {
			if !(math.Abs(v-want[i]) <= 1e-12*math.Max(1, math.Abs(want[i]))) {
				t.Errorf("%d ranks: prediction %d is %.15g, on one rank %.15g", n, i, v, want[i])
				break
			}
		}
		a, b := models[k].Certificate().Objective, models[0].Certificate().Objective
		if !(math.Abs(a-b) <= 1e-12*b) {
			t.Errorf("%d ranks: objective %.15g, on one rank %.15g", n, a, b)
		}
		for j, e := range models[k].Eta() {
			if !(math.Abs(e-models[0].Eta()[j]) <= 1e-12) {
				t.Errorf("%d ranks: weight %d is %.15g, on one rank %.15g", n, j, e, models[0].Eta()[j])
			}
		}
	}
}

// λ is chosen from the same folds, and Γ multiplied by where it does not fit.
func TestRanksChooseAndMultiply(t *testing.T) {
	dir := large(t, 3000)
	for _, flags := range []string{
		"--kernel rff:gaussian:all:1:20", "--kernel rff:gaussian:all:1:600 --lambda 0.1 --tol 1e-7 --memory 2MB",
	} {
		line := "fit --stream --x x.csv --y y.csv --norm lp:1 --json " + flags
		one, two := rankObject[results.Fit](t, dir, 1, line), rankObject[results.Fit](t, dir, 2, line)
		if !(math.Abs(one.Lambda-two.Lambda) <= 1e-9*one.Lambda) ||
			!(math.Abs(one.Objective-two.Objective) <= 1e-6*one.Objective) {
			t.Errorf("%s: λ %g and %g, objective %.10g and %.10g", flags, one.Lambda, two.Lambda, one.Objective,
				two.Objective)
		}
	}
}

// A rank that fails ends the job with its message.
func TestRanksFail(t *testing.T) {
	dir := large(t, 3000)
	write(t, dir, "x.csv", strings.Repeat("1,2\n3,4\n", 1000)+"oops,1\n")
	_, stderr, err := ranks(t, dir, 2, "fit --stream --x x.csv --y y.csv --kernel linear:all --lambda 1")
	if err == nil || !strings.Contains(stderr, "x.csv: row 2001") || !strings.Contains(stderr, "rank ") {
		t.Errorf("%v: %s", err, stderr)
	}
}

// Ranks share the folds too, and find what one process finds.
func TestRanksCrossValidate(t *testing.T) {
	dir := large(t, 5000)
	line := "cv --stream --x x.csv --y y.npy --kernel rff:gaussian:all:0.5,1:20 --folds 5 --lambdas 1e-2,1e-4 --taus " +
		"1,2 --json --out m%d.iokl"
	var want results.CV
	for _, n := range []int{1, 2, 4} {
		got := rankObject[results.CV](t, dir, n, fmt.Sprintf(line, n))
		if len(got.Points) != 8 {
			t.Fatalf("%d ranks: %+v", n, got)
		}
		if n == 1 {
			want = got
		}
		for i, p := range got.Points {
			for f, e := range p.Folds {
				if a := want.Points[i].Folds[f]; !(math.Abs(e-a) <= 1e-9*a) || !(e > 0) {
					t.Errorf("%d ranks: point %d has error %.12g on fold %d, on one rank %.12g", n, i, e, f, a)
				}
			}
		}
		if m := mustLoad(t, fmt.Sprintf("%s/m%d.iokl", dir, n)); m.Certificate().Lambda != want.Best.Lambda {
			t.Errorf("%d ranks: %v", n, m)
		}
	}
}

// A bad row ends every rank with its message; each has kept its rows, from which the job goes on.
func TestRanksResume(t *testing.T) {
	dir := large(t, 9000)
	line := "fit --stream --x x.csv --y y.csv --survey-rows 5000 --kernel rff:gaussian:all:0.5,1:20 --lambda 1e-2 " +
		"--tol 1e-9 --json --out m%d.iokl"
	if _, stderr, err := ranks(t, dir, 2, fmt.Sprintf(line, 1)); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	good := mustRead(t, dir+"/x.csv")
	lines := strings.SplitAfter(good, "\n")
	lines[8000] = "0.1,oops\n"
	write(t, dir, "x.csv", strings.Join(lines, ""))
	resumed := fmt.Sprintf(line, 2) + " --checkpoint sums"
	stdout, stderr, err := ranks(t, dir, 2, resumed)
	if err == nil || stdout != "" || !strings.Contains(stderr, "x.csv: row 8000 (line 8001)") {
		t.Fatalf("a bad row: %v\n%s%s", err, stdout, stderr)
	}
	write(t, dir, "x.csv", good)
	if stdout, stderr, err = ranks(t, dir, 2, resumed+" -v"); err != nil ||
		!strings.Contains(stderr, "going on after the ") || !strings.Contains(stdout, `"samples": 9000`) {
		t.Fatalf("going on: %v\n%s%s", err, stdout, stderr)
	}
	for k := range 2 {
		if _, err := os.Stat(fmt.Sprintf("%s/sums.%d-of-2", dir, k+1)); err != nil {
			t.Error(err)
		}
	}
	t.Chdir(dir)
	want := predictions(t, "m1.iokl")
	for i, v := range predictions(t, "m2.iokl") {
		if !(math.Abs(v-want[i]) <= 1e-12*math.Max(1, math.Abs(want[i]))) {
			t.Fatalf("prediction %d is %.15g, of a job that was not interrupted %.15g", i, v, want[i])
		}
	}
}

// The nodes of a graph are shared, and the rounds of its confidence; the first rank
// alone prints and writes.
func TestRanksGranger(t *testing.T) {
	dir := t.TempDir()
	chain(t, dir)
	line := chainLine + "--json --lambdas 0.1,1 --stability 4 --null 5 --improvement --checkpoint c%[1]d.json --out " +
		"g%[1]d.json"
	var want results.Graph
	for _, n := range []int{1, 2, 4} {
		got := rankObject[results.Graph](t, dir, n, fmt.Sprintf(line, n))
		if len(got.Nodes) != 3 {
			t.Fatalf("%d ranks: %+v", n, got)
		}
		if n == 1 {
			want = got
		}
		for i, row := range want.Graph {
			// Targets fitted together meet in products of single precision.
			for j, v := range row {
				if g := got.Graph[i][j]; !(math.Abs(g-v) <= 1e-6) {
					t.Errorf("%d ranks: G(%d,%d) is %.12g, on one rank %.12g", n, i, j, g, v)
				}
			}
			if g, w := *got.RMSE[i], *want.RMSE[i]; !(math.Abs(g-w) <= 1e-6*w) {
				t.Errorf("%d ranks: error of node %d is %.12g, on one rank %.12g", n, i, g, w)
			}
			if g, w := got.Improvement[i], want.Improvement[i]; !(math.Abs(g.Own-w.Own) <= 1e-6*w.Own) {
				t.Errorf("%d ranks: %+v, on one rank %+v", n, g, w)
			}
		}
		if !sameConfidence(got, want) || got.StabilityRounds != 4 || got.NullRounds != 5 {
			t.Errorf("%d ranks: other counts", n)
		}
		for _, name := range []string{"c", "g"} {
			if _, err := os.Stat(fmt.Sprintf("%s/%s%d.json", dir, name, n)); err != nil {
				t.Error(err)
			}
		}
	}
	write(t, dir, "s.csv", "a,b\n1,2\n1,oops\n")
	if _, stderr, err := ranks(t, dir, 2, "granger --series s.csv"); err == nil || !strings.Contains(stderr, "rank ") ||
		!strings.Contains(stderr, "s.csv") {
		t.Errorf("%v: %s", err, stderr)
	}
}
