package iokl_test

import (
	"strings"
	"testing"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/internal/fittest"
)

// Where memory holds the sum of the kernels and not each of them, kernels are computed anew for each step: the model is
// that of kernels that are kept, by its certificate.
func TestKernelsComputedAnew(t *testing.T) {
	X, Y := ripple(300, 3)
	var lines []string
	opt := iokl.Options{
		Kernels: []string{"gaussian:each:median*0.25,0.5,1,2,4", "laplacian:each:median", "poly:1:all:0"},
		Norm:    "lp:1.5", Lambda: 1e-3, Tol: 1e-9, Notify: func(line string) { lines = append(lines, line) },
	}
	kept := fittest.Fit(t, X, Y, opt)
	if s := strings.Join(lines, "\n"); strings.Contains(s, "computed anew") {
		t.Fatalf("with all memory:\n%s", s)
	}
	opt.MaxBytes = 10 << 20
	lines = nil
	anew := fittest.Fit(t, X, Y, opt)
	told := strings.Join(lines, "\n")
	if !strings.Contains(told, "sum of 25 kernels on 300 samples in float64 that are computed anew") {
		t.Fatalf("with 10 MiB:\n%s", told)
	}
	if a, b := anew.Certificate(), kept.Certificate(); !(a.Objective <= b.Objective*(1+1e-9)) || !a.Converged {
		t.Errorf("%+v, of kernels that are kept %+v", a, b)
	}
	if d := fittest.Far(fittest.Predict(t, anew, X), fittest.Predict(t, kept, X)); !(d <= 1e-4) {
		t.Errorf("predictions differ by %.2g", d)
	}
}
