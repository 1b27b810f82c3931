//go:build !mpi

// A job of one rank, for builds without MPI.

package mpi

import (
	"fmt"
	"os"
)

// Linked reports whether the build has a message passing library.
const Linked = false

// World is the ranks of the job.
type World struct{}

// Start joins the job. Every process calls it once, and Close at the end.
func Start() (*World, error) {
	if launched() > 1 {
		return nil, ErrBuild
	}
	return &World{}, nil
}

// Rank is the number of this process in the job, from 0.
func (*World) Rank() int { return 0 }

// Size is the number of processes in the job.
func (*World) Size() int { return 1 }

// Allreduce replaces x by its sum over the ranks, element by element; every rank
// calls it with as many elements and gets the same bits.
func (*World) Allreduce(x []float64) error {
	return pieces(x, maxMessage, func([]float64) error { return nil })
}

// Bcast replaces x on every rank by that of rank root.
func (*World) Bcast(x []byte, root int) error {
	if root != 0 {
		panic("mpi: no such rank")
	}
	return pieces(x, maxMessage, func([]byte) error { return nil })
}

// Abort ends every process of the job with the exit status, after the message on
// standard error. It does not return.
func (*World) Abort(message string, status int) {
	fmt.Fprintln(os.Stderr, message)
	os.Exit(status)
}

// Close leaves the job.
func (*World) Close() error { return nil }
