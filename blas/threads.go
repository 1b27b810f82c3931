package blas

import "github.com/iokl/iokl/internal/base/par"

// SetThreads sets how many threads compute at once: the module's own loops, the
// native kernels and OpenBLAS together. n ≤ 0 means GOMAXPROCS, but at most one
// for each physical core unless the environment sets GOMAXPROCS, which is also
// the default. The gonum backend's Dgemm follows GOMAXPROCS alone.
func SetThreads(n int) { par.SetThreads(n) }

// Threads returns how many threads compute at once.
func Threads() int { return par.Threads() }
