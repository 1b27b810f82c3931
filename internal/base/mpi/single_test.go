//go:build !mpi

package mpi

import (
	"strings"
	"testing"
)

// Several processes of a build that cannot see each other are refused.
func TestBuildWithoutMPI(t *testing.T) {
	_, stderr, err := job(t, "sum", 2)
	if err == nil || !strings.Contains(stderr, ErrBuild.Error()) {
		t.Errorf("%v\n%s", err, stderr)
	}
}
