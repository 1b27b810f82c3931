// This file lists instruction sets and derives block sizes from the caches.

package native

import (
	"fmt"
	"slices"

	"github.com/klauspost/cpuid/v2"
)

// Level is an instruction set the kernels are written for.
type Level int

const (
	Generic Level = iota // Go, on every architecture
	AVX2                 // 256-bit vectors with fused multiply-add
	AVX512               // 512-bit vectors (F, DQ, VL)
	NEON                 // 128-bit vectors of arm64
)

func (l Level) String() string {
	switch l {
	case AVX2:
		return "avx2"
	case AVX512:
		return "avx512"
	case NEON:
		return "neon"
	default:
		return "generic"
	}
}

// Levels lists what this machine and this build can run, the fastest first. It
// always ends with Generic.
func Levels() []Level { return append(assemblyLevels(), Generic) }

// blocks are the sizes that the cache decides.
type blocks struct {
	kc int // steps of the inner dimension in one pass: a narrow panel stays in the first-level cache
	nc int // columns of a wide block, a multiple of mr: it takes half of the second-level cache
	l2 int // bytes of the second-level cache

	slab int // bytes of packed rows shared by all threads: they live in the third-level cache
}

// Cache sizes where cpuid knows none.
const (
	defaultL1 = 32 << 10
	defaultL2 = 512 << 10
)

// blockSizes derives the blocking for tiles of mr×nr elements of size bytes.
func blockSizes(mr, nr, size int) blocks {
	l1, l2 := cpuid.CPU.Cache.L1D, cpuid.CPU.Cache.L2
	if l1 <= 0 {
		l1 = defaultL1
	}
	if l2 <= 0 {
		l2 = defaultL2
	}
	kc := min(l1*7/8/(nr*size), 1024) &^ 15
	nc := max(l2/2/(kc*size)/mr, 1) * mr
	return blocks{kc: max(kc, 64), nc: nc, l2: l2, slab: slabBytes}
}

// New returns the BLAS of the fastest level there is.
func New() *BLAS { return newBLAS(Levels()[0]) }

// NewLevel returns the BLAS of one level, or an error where the machine or the
// build lacks it.
func NewLevel(l Level) (*BLAS, error) {
	if slices.Contains(Levels(), l) {
		return newBLAS(l), nil
	}
	return nil, fmt.Errorf("native: level %v is not available here", l)
}
