package learn_test

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/bcd"

	"github.com/iokl/iokl/internal/learn/learntest"
)

// TestCheckpointResume ends a fit after two outer iterations and continues it from its file.
func TestCheckpointResume(t *testing.T) {
	X, Y := learntest.Wave(60, 5)
	opt := iokl.Options{Kernels: []string{"gaussian:each:0.5,1,2"}, Lambda: 1e-3, Tol: 1e-8}
	want, err := iokl.Fit(context.Background(), X, Y, opt)
	if err != nil {
		t.Fatal(err)
	}
	opt.Checkpoint = filepath.Join(t.TempDir(), "state")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	opt.Trace = func(s bcd.Step) error {
		if s.Iter == 2 {
			cancel()
		}
		return nil
	}
	if _, err := iokl.Fit(ctx, X, Y, opt); !errors.Is(err, context.Canceled) {
		t.Fatalf("cancelled fit: %v", err)
	}
	whole, err := os.ReadFile(opt.Checkpoint)
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	opt.Trace, opt.Notify = nil, func(line string) { said = append(said, line) }
	got, err := iokl.Fit(context.Background(), X, Y, opt)
	if err != nil {
		t.Fatal(err)
	}
	a, b := got.Certificate().Objective, want.Certificate().Objective
	if !(math.Abs(a-b) <= 1e-7*b) {
		t.Errorf("objective %g after the interruption, %g without", a, b)
	}
	if !strings.Contains(strings.Join(said, "\n"), "going on after the 2 outer iterations") {
		t.Errorf("said %q", said)
	}

	if err := os.WriteFile(opt.Checkpoint, whole[:len(whole)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := iokl.Fit(context.Background(), X, Y, opt); !errors.Is(err, bcd.ErrCheckpoint) || !errors.Is(err,
		iokl.ErrInput) ||
		!strings.Contains(err.Error(), opt.Checkpoint) {
		t.Errorf("half a checkpoint: %v", err)
	}
	if err := os.WriteFile(opt.Checkpoint, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	opt.Lambda = 2e-3
	if _, err := iokl.Fit(context.Background(), X, Y, opt); !errors.Is(err, bcd.ErrForeign) || !errors.Is(err,
		iokl.ErrInput) {
		t.Errorf("the checkpoint of another λ: %v", err)
	}
}
