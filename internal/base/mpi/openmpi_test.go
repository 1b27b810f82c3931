//go:build mpi

package mpi

import (
	"fmt"
	"strings"
	"testing"
)

func TestRanks(t *testing.T) {
	for _, ranks := range []int{1, 2, 4} {
		stdout, stderr, err := job(t, "sum", ranks)
		if err != nil || stdout != fmt.Sprintf("%d ranks agree\n", ranks) {
			t.Errorf("%d ranks: %v\n%s%s", ranks, err, stdout, stderr)
		}
	}
}

// A rank that fails ends the job with its message and status.
func TestAbort(t *testing.T) {
	_, stderr, err := job(t, "fail", 2)
	if err == nil || !strings.Contains(stderr, "rank 1: part7.csv, row 12: not a number") {
		t.Errorf("%v\n%s", err, stderr)
	}
}
