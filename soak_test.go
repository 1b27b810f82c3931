package iokl_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/internal/base/soak"
	"github.com/iokl/iokl/internal/fittest"
	"github.com/iokl/iokl/internal/learn/learntest"
)

var soakFor = flag.Duration("soak", 3*time.Second, "time for which TestSoak fits, saves, loads, predicts and cancels")

// soakOnce learns from random data by random options, some of it cancelled on the way, and
// puts the model through a file.
func soakOnce(t *testing.T, dir string, seed uint64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 0x736f616b))
	X, Y := learntest.Wave(20+rng.IntN(40), seed)
	opt := iokl.Options{
		Lambda: math.Pow(10, -4*rng.Float64()), Seed: seed, Tol: 1e-3,
		Norm: []iokl.Norm{"", "lp:1.5", iokl.NormBlock1}[rng.IntN(3)], Solver: []string{"", "closed"}[rng.IntN(2)],
		Kernels: [][]string{
			{"gaussian:all:median*0.5,1,2"},
			{"rff:gaussian:all:median:30", "linear:all"},
			{"laplacian:each", "poly:2:all"},
		}[rng.IntN(3)],
	}
	if opt.Norm == "block1" {
		opt.Solver = ""
	}
	if rng.IntN(8) == 0 {
		opt.Lambda, opt.CV = 0, iokl.CVOptions{Folds: 3, Repeats: 1}
	}
	if rng.IntN(4) == 0 {
		opt.Checkpoint = filepath.Join(dir, "state")
		defer os.Remove(opt.Checkpoint)
	}
	ctx, cancel := context.WithCancel(bg)
	defer cancel()
	if rng.IntN(3) == 0 {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(rng.IntN(int(20*time.Millisecond))))
		defer cancel()
	}
	m, err := iokl.Fit(ctx, X, Y, opt)
	if err != nil && ctx.Err() == nil && !errors.Is(err, bcd.ErrNotConverged) &&
		!errors.Is(err, context.DeadlineExceeded) { // of a share of the time
		t.Fatalf("seed %d: %v", seed, err)
	}
	if m == nil {
		return
	}
	path := filepath.Join(dir, "m.iokl")
	if err := m.Save(path); err != nil {
		t.Fatal(err)
	}
	again, err := iokl.Load(path)
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	want, err := m.Predict(X)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := again.Predict(X); err != nil || !fittest.SameBits(got, want) {
		t.Fatalf("seed %d: the loaded model predicts other values: %v", seed, err)
	}
	if _, err := iokl.Decode(bytes.NewReader(nil), 0); !errors.Is(err, iokl.ErrModel) {
		t.Fatal(err)
	}
	if _, err := m.Predict(mat.NewDense(1, 1, nil)); err == nil {
		t.Fatalf("seed %d: a row of another length was taken", seed)
	}
}

// A process that learns for hours holds no more at the end than after its first minute.
func TestSoak(t *testing.T) {
	dir := t.TempDir()
	soak.Run(t, *soakFor, func(seed uint64) { soakOnce(t, dir, seed) })
}
