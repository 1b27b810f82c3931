//go:build mpi

// The ranks of a job by Open MPI.

package mpi

/*
#cgo pkg-config: mpi-c
#include <mpi.h>

// The names of MPI's constants may be macros, which cgo cannot see as values.
static int start(int *provided) { return MPI_Init_thread(0, 0, MPI_THREAD_SERIALIZED, provided); }
static int quiet(void) { return MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); }
static int serialized(void) { return MPI_THREAD_SERIALIZED; }
static int rankOf(int *r) { return MPI_Comm_rank(MPI_COMM_WORLD, r); }
static int sizeOf(int *n) { return MPI_Comm_size(MPI_COMM_WORLD, n); }
static int sum(double *x, int n) { return MPI_Allreduce(MPI_IN_PLACE, x, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); }
static int bcast(void *x, int n, int root) { return MPI_Bcast(x, n, MPI_BYTE, root, MPI_COMM_WORLD); }
static int quit(int status) { return MPI_Abort(MPI_COMM_WORLD, status); }
static int maxText(void) { return MPI_MAX_ERROR_STRING; }
static int describe(int code, char *s, int *n) { return MPI_Error_string(code, s, n); }
*/
import "C"

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"unsafe"
)

// Linked reports whether the build has a message passing library.
const Linked = true

// World is the ranks of the job. Its methods may be called from any goroutine,
// one at a time in the order all ranks share.
type World struct {
	mu         sync.Mutex
	rank, size int
}

var errThreads = errors.New("mpi: the library serves one thread only (MPI_THREAD_SERIALIZED)")

// Start joins the job. Every process calls it once, and Close at the end.
func Start() (*World, error) {
	// The library may tie itself to the thread that starts it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var provided, rank, size C.int
	if err := check("MPI_Init_thread", C.start(&provided)); err != nil {
		return nil, err
	}
	if provided < C.serialized() {
		return nil, errThreads
	}
	err := errors.Join(check("MPI_Comm_set_errhandler", C.quiet()),
		check("MPI_Comm_rank", C.rankOf(&rank)), check("MPI_Comm_size", C.sizeOf(&size)))
	w := &World{rank: int(rank), size: int(size)}
	if n := launched(); err == nil && n != w.size {
		err = fmt.Errorf("mpi: the launcher started %d processes, the library sees %d: it is another "+
			"library's launcher", n, w.size)
	}
	return w, err
}

// check turns a status into an error with the library's own words.
func check(call string, code C.int) error {
	if code == 0 {
		return nil
	}
	text := make([]C.char, int(C.maxText())+1)
	var n C.int
	C.describe(code, &text[0], &n)
	return fmt.Errorf("mpi: %s: %s", call, C.GoStringN(&text[0], n))
}

// Rank is the number of this process in the job, from 0.
func (w *World) Rank() int { return w.rank }

// Size is the number of processes in the job.
func (w *World) Size() int { return w.size }

// Allreduce replaces x by its sum over the ranks, element by element; every rank
// calls it with as many elements and gets the same bits.
func (w *World) Allreduce(x []float64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return pieces(x, maxMessage, func(part []float64) error {
		return check("MPI_Allreduce", C.sum((*C.double)(unsafe.Pointer(&part[0])), C.int(len(part))))
	})
}

// Bcast replaces x on every rank by that of rank root.
func (w *World) Bcast(x []byte, root int) error {
	if root < 0 || root >= w.size {
		panic("mpi: no such rank")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return pieces(x, maxMessage, func(part []byte) error {
		return check("MPI_Bcast", C.bcast(unsafe.Pointer(&part[0]), C.int(len(part)), C.int(root)))
	})
}

// Abort ends every process of the job with the exit status, after the message on
// standard error. It does not return.
func (w *World) Abort(message string, status int) {
	fmt.Fprintf(os.Stderr, "rank %d: %s\n", w.rank, message)
	C.quit(C.int(status))
	os.Exit(status)
}

// Close leaves the job.
func (w *World) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return check("MPI_Finalize", C.MPI_Finalize())
}
