package main

import (
	"fmt"
	"os"
	"testing"

	"github.com/iokl/iokl/cmd/internal/results"
)

// pipe returns the name of a pipe through which text comes once.
func pipe(t *testing.T, text string) string {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	go func() {
		_, _ = w.WriteString(text)
		_ = w.Close()
	}()
	return fmt.Sprintf("/proc/self/fd/%d", r.Fd())
}

func TestPipes(t *testing.T) {
	dir := folder(t)
	x, y := mustRead(t, dir+"/x.csv"), mustRead(t, dir+"/y.csv")
	const fit = "fit --kernel gaussian:all --lambda 1e-3 --out m.iokl --json "
	var want, got results.Fit
	command(t, dir, fit+"--x x.csv --y y.csv").object(&want)
	command(t, dir, fit+"--x "+pipe(t, x)+" --y "+pipe(t, y)).object(&got)
	if got.Objective != want.Objective {
		t.Errorf("objective %v from pipes, %v from files", got.Objective, want.Objective)
	}
	one := pipe(t, x)
	command(t, dir, fit+"--x "+one+" --y "+one+" --x-columns a --y-columns b").object(&got)
	command(t, dir, fit+"--x x.csv --x-columns a --y-columns b").object(&want)
	if got.Objective != want.Objective {
		t.Errorf("objective %v from one pipe, %v from one file", got.Objective, want.Objective)
	}
	one = pipe(t, x)
	model := pipe(t, mustRead(t, dir+"/m.iokl"))
	for line, status := range map[string]int{
		"fit --stream --lambda 1 --x " + pipe(t, x) + " --y y.csv": exitUsage,
		"predict --model m.iokl --x " + pipe(t, x):                 exitOK,
		"predict --model m.iokl --x " + one + " --y-columns b":     exitUsage,
		"granger --lambda 1 --series " + pipe(t, x):                exitOK,
		"info " + model: exitOK,
		"predict --model m.iokl --x xt.csv --y " + pipe(t, "b\n1\n"): exitUsage, // rows differ
	} {
		if r := command(t, dir, line); r.status != status {
			t.Errorf("%s: %+v, want status %d", line, r, status)
		}
	}
}
