// Package openblas holds OpenBLAS and its LAPACK behind the contract of package
// blas, through gonum.org/v1/netlib and cgo. It exists in builds with the tag
// openblas and needs the C libraries and headers of OpenBLAS and LAPACKE
// (Debian: libopenblas-dev and liblapacke-dev); without the tag the package is
// empty and nothing of C is compiled.
//
// # Threads
//
// The thread count is the module's own (internal/base/par): OpenBLAS's workers are
// borrowed from the same pool as the helpers of a parallel Go loop, call by
// call. A call made while no helper is free, for example from inside a parallel
// loop, runs on its caller's thread alone; a call that got helpers runs with
// that many workers and nothing beside it. No more calls are inside OpenBLAS at
// a time than there are threads: the library allots its buffers to a fixed
// number of threads and has crashed when entered by many more.
//
// OpenBLAS divides sums among its threads. Results therefore differ in the last
// bits between thread counts, and between calls inside and outside a parallel
// loop: on this backend the module's promise of equal bits for any number of
// threads does not hold.
//
// # Row-major storage
//
// BLAS calls pass row-major matrices as they are. LAPACK through LAPACKE works
// on column-major copies that LAPACKE makes, O(n²) beside the O(n³) of the
// factorization itself; Cholesky's, where that would tell, is the module's own
// on OpenBLAS's products.
package openblas
