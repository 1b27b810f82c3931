// Package mpi connects the ranks of a parallel job, through the message passing
// library that mpirun starts them with. Builds with the tag mpi link Open MPI (or
// another MPI-3 library that pkg-config knows as "mpi-c"); in builds without it
// there is one rank, and every operation on several is that on one.
package mpi

import (
	"errors"
	"os"
	"strconv"
)

// ErrBuild is returned by Start when mpirun started several processes of a build
// without the tag: each would take itself for the only one.
var ErrBuild = errors.New("mpi: started by mpirun, but built without MPI: rebuild with -tags mpi")

// maxMessage is the largest number of elements in one call, whose count is a C int.
const maxMessage = 1 << 28

// launched is the number of processes that a launcher says it started, 1 when it says nothing.
func launched() int {
	for _, name := range []string{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"} {
		if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
			return n
		}
	}
	return 1
}

// pieces calls f on consecutive parts of x of at most size elements.
func pieces[T any](x []T, size int, f func(part []T) error) error {
	for len(x) > 0 {
		n := min(len(x), size)
		if err := f(x[:n]); err != nil {
			return err
		}
		x = x[n:]
	}
	return nil
}
