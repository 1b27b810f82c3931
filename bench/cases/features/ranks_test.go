//go:build mpi

package features

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/benchtest"
)

// TestMain lets the test binary be the ranks of its own case.
func TestMain(m *testing.M) {
	if status, ok := RankMain(context.Background(), os.Stdout, os.Stderr); ok {
		os.Exit(status)
	}
	os.Exit(m.Run())
}

// Every rank takes its rows, and what they exchange is what the model says.
func TestRanks(t *testing.T) {
	env := benchtest.Quick()
	env.Count = 1
	results, err := runRanks(context.Background(), env)
	if errors.Is(err, bench.ErrSkipped) {
		t.Skip(err)
	}
	if err != nil || len(results) < 2 {
		t.Fatalf("%d lines, %v", len(results), err)
	}
	for k, r := range results {
		if l := r.Number("l"); l != float64(int(16384)<<k) {
			t.Errorf("%s took %g rows", r.Name, l)
		}
		if r.Metrics["bytes_exchanged"] != r.Metrics["bytes_on_paper"] {
			t.Errorf("%s exchanged %g bytes, on paper %g", r.Name, r.Metrics["bytes_exchanged"],
				r.Metrics["bytes_on_paper"])
		}
		if e := r.Metrics["weak_scaling"]; k > 0 && !(e > 0) {
			t.Errorf("%s: efficiency %g", r.Name, e)
		}
	}
	t.Setenv(rankVariable, "") // an order that cannot be read ends the job
	if _, err := startRanks(context.Background(), "mpirun", 2, rankOrder{Backend: "none"}); err == nil {
		t.Error("an unknown backend is not refused")
	}
}
