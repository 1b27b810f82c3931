// Package kernels is gonum's BLAS and LAPACK on this module's own kernels: [Use]
// hands both to gonum until it is told to restore what was. Package accelerate
// calls it when it is imported.
//
// The BLAS is gonum's blas.Float64 by package native, and of blas.Float32 the product
// of matrices; the rest of that stays gonum's. The LAPACK is the whole of gonum's lapack.Float64: [LAPACK] computes
// itself what is faster here, by blocked factorizations whose operations are nearly
// all products of matrices, eigenvectors and singular vectors by divide and
// conquer, and condition numbers by plain triangular solves. The rest it leaves to
// gonum's LAPACK on this BLAS. Small matrices stay with gonum's code at every
// level, from orders that were fitted on AVX-512; where the native kernels have
// no assembly, the BLAS stays gonum's too.
//
// # Contract
//
// Arguments, panics, workspace queries, stored factors and results are those that
// gonum documents. A routine needs no more workspace than gonum's; some
// allocate more of their own: about three matrices for eigenvectors, twenty for
// singular vectors. Eigenvectors and singular vectors are determined up to sign, or
// rotation where values coincide, and may differ in that from gonum's. Errors of
// singular values are of the order of rounding of the largest one. Where LAPACK
// computes itself, NaN and infinite elements make Dsyev, Dgesvd and Dpotrf return false.
//
// # Threads
//
// Large operations run on as many goroutines as package blas has threads, which
// follows GOMAXPROCS unless blas.SetThreads says otherwise; small ones run on the
// caller's. All may be called from several goroutines at once, and share those
// threads. Results are the same bit for bit whatever the number of threads and of
// concurrent calls; they differ in rounding between instruction sets.
//
// On a host where other goroutines compute, or where the operating system gives
// the processors to others, work is handed out in small pieces to whichever
// thread is free, so that a delayed thread delays one piece. Threads give way to
// goroutines that are ready to run, the garbage collector's among them, every few
// tenths of a millisecond.
package kernels

import (
	"sync"

	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/gonum"
	"gonum.org/v1/gonum/lapack/lapack64"

	"github.com/iokl/iokl/blas/native"
)

// Use makes these kernels the implementation behind gonum's blas64, blas32 and
// lapack64. Where the native kernels have no assembly, gonum keeps its BLAS, which is
// faster then. restore puts back the two of BLAS that were there; lapack64 tells
// nobody what it held, so restore gives it gonum's own implementation. As with
// gonum's own functions Use, nothing else may compute with gonum meanwhile.
func Use() (restore func()) {
	double, single := blas64.Implementation(), blas32.Implementation()
	if b := shared(); b.Level() == native.Generic {
		lapack64.Use(NewLAPACK(small))
	} else {
		blas64.Use(b)
		blas32.Use(b)
		lapack64.Use(NewLAPACK(b))
	}
	return func() {
		blas64.Use(double)
		blas32.Use(single)
		lapack64.Use(gonum.Implementation{})
	}
}

// shared keeps its scratch memory between calls of Use.
var shared = sync.OnceValue(NewBLAS)
