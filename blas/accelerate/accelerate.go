// Package accelerate runs gonum on this module's kernels by one import:
//
//	import _ "github.com/iokl/iokl/blas/accelerate"
//
// From the start of the program, everything that uses gonum's blas64 or
// lapack64, such as its packages mat, optimize and stat, and products by blas32
// compute with the implementations of package [kernels], whose page says what
// they do on several threads and on a busy host, what they return and where they
// leave the work to gonum. cblas128 stays gonum's own. Package kernels offers the
// same as a function, without the side effect of an import.
package accelerate

import "github.com/iokl/iokl/blas/accelerate/kernels"

func init() { kernels.Use() }
