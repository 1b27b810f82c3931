//go:build mpi

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/iokl/iokl"
)

// ranks runs a command line on several ranks, one thread each.
func ranks(t *testing.T, dir string, n int, line string) (stdout, stderr string, err error) {
	t.Helper()
	mpirun, err := exec.LookPath("mpirun")
	if err != nil {
		t.Skip("mpirun is not installed (Debian: openmpi-bin)")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(mpirun, "--allow-run-as-root", "--oversubscribe", "-n", strconv.Itoa(n), self)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "IOKL_TEST_COMMAND="+line+" --threads 1")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

// 1, 2 and 4 ranks give the same model, and only one of them prints.
func TestRanksAgree(t *testing.T) {
	dir := large(t, 9000)
	line := "fit --stream --x x.csv --y y.npy --kernel rff:gaussian:all:0.5,1:20 --kernel linear:all --lambda 1e-2 --tol 1e-9 --json --out m%d.iokl"
	var models []*iokl.Model
	for _, n := range []int{1, 2, 4} {
		stdout, stderr, err := ranks(t, dir, n, fmt.Sprintf(line, n))
		var got fitReport
		if err != nil || json.Unmarshal([]byte(stdout), &got) != nil || got.Samples != 9000 {
			t.Fatalf("%d ranks: %v\n%s%s", n, err, stdout, stderr)
		}
		m, err := iokl.Load(fmt.Sprintf("%s/m%d.iokl", dir, n))
		if err != nil {
			t.Fatal(err)
		}
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
	for _, flags := range []string{"", " --lambda 0.1 --memory 1KB"} {
		var one, two fitReport
		for n, got := range map[int]*fitReport{1: &one, 2: &two} {
			stdout, stderr, err := ranks(t, dir, n, "fit --stream --x x.csv --y y.csv --kernel rff:gaussian:all:1:20 --norm lp:1 --json"+flags)
			if err != nil || json.Unmarshal([]byte(stdout), got) != nil {
				t.Fatalf("%d ranks%s: %v\n%s%s", n, flags, err, stdout, stderr)
			}
		}
		if !(math.Abs(one.Lambda-two.Lambda) <= 1e-9*one.Lambda) || !(math.Abs(one.Objective-two.Objective) <= 1e-6*one.Objective) {
			t.Errorf("%s: λ %g and %g, objective %.10g and %.10g", flags, one.Lambda, two.Lambda, one.Objective, two.Objective)
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
