// Package blas holds the dense operations the solvers are built on, behind one
// small interface, [Backend], with interchangeable implementations:
//
//   - native: this module's own Go and assembly kernels, the default;
//   - openblas: OpenBLAS through cgo, in builds with the tag openblas;
//   - gonum: gonum's pure-Go BLAS and LAPACK, the reference.
//
// Matrices are row-major. A [General] is a Rows×Cols matrix whose element (i,j)
// is Data[i*Stride+j]; it is gonum's blas64.General, so mat.Dense.RawMatrix
// converts at no cost. Vectors are slices; where a block is asked for, a vector
// of length N is the N×1 matrix of stride 1 that [Vector] returns.
//
// A program picks its backend once with [Use]; solvers take a Backend value in
// their options and fall back on [Active] when it is nil. The package never
// touches gonum's own global BLAS.
//
// Vector operations (Dot, Axpy, Nrm2, …) are plain functions of this package:
// they are too short to be worth a call through an interface or cgo.
package blas
