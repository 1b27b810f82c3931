// Instruction sets, and block sizes derived from the caches.

package native

import (
	"fmt"
	"slices"
	"unsafe"

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

// caches are the sizes of the caches in bytes: a core's first two levels, and the third, which cores share.
type caches struct{ l1, l2, l3 int }

// blocks are the sizes that the caches decide.
type blocks struct {
	kc int // steps of the inner dimension in one pass: a narrow panel stays in the first-level cache
	nc int // columns of a wide block, a multiple of mr: it takes 3/8 of the second-level cache at most
	l2 int // bytes of the second-level cache

	slab int // bytes of packed rows shared by all threads: they live in the third-level cache
}

// machineCaches are the caches that cpuid reports, 32 KiB, 512 KiB and 32 MiB where it knows none.
func machineCaches() caches {
	known := func(size, otherwise int) int {
		if size > 0 {
			return size
		}
		return otherwise
	}
	c := cpuid.CPU.Cache
	return caches{known(c.L1D, 32<<10), known(c.L2, 512<<10), known(c.L3, 32<<20)}
}

const (
	mostSteps = 512     // of a block: more gain nothing, and of fewer more columns fit the second-level cache
	mostSlab  = 8 << 20 // bytes: more would be memory that every product of a kind keeps
)

// blocks derives the blocking for tiles of mr×nr elements of size bytes. A block of columns takes 3/8 of the
// second-level cache: its pages of memory fall on the sets of the cache at random, and of half of the cache so many
// fall on the same sets in some processes that products take a tenth longer.
func (c caches) blocks(mr, nr, size int) blocks {
	kc := max(min(c.l1*7/8/(nr*size), mostSteps)&^15, 64)
	return blocks{kc: kc, nc: max(c.l2*3/8/(kc*size)/mr, 1) * mr, l2: c.l2, slab: min(c.l3/4, mostSlab)}
}

// Blocking says how products of one precision are divided, and why so.
type Blocking struct {
	Precision string   `json:"precision"`
	Tile      [2]int   `json:"tile"`       // rows and columns of the micro-kernel
	Steps     int      `json:"steps"`      // most products that are summed before a sum is rounded to memory
	Columns   int      `json:"columns"`    // of a block of the right factor, which each thread packs
	Thin      int      `json:"thin"`       // most columns of a product that reads the rows of the left factor in place
	SlabBytes int      `json:"slab_bytes"` // of packed rows of the left factor, which threads share
	Why       []string `json:"why"`
}

// Blockings lists the blocking in double and in single precision.
func (b *BLAS) Blockings() []Blocking {
	return []Blocking{b.d.blocking("float64"), b.s.blocking("float32")}
}

func (e *engine[T]) blocking(precision string) Blocking {
	var v T
	size, c := int(unsafe.Sizeof(v)), machineCaches()
	return Blocking{
		Precision: precision, Tile: [2]int{e.nr, e.mr}, Steps: e.kc, Columns: e.nc, Thin: e.thinColumns(e.kc),
		SlabBytes: e.slab,
		Why: []string{
			fmt.Sprintf("%d steps of %d rows take %d of the %d bytes of the first-level cache, 7/8 at most",
				e.kc, e.nr, e.kc*e.nr*size, c.l1),
			fmt.Sprintf("%d columns of so many steps take %d of the %d bytes of the second-level cache, 3/8 at most",
				e.nc, e.nc*e.kc*size, c.l2),
			fmt.Sprintf("%d columns of so many take %d of those, 7/8 at most: products of so few read rows in place",
				e.thinColumns(e.kc), e.thinColumns(e.kc)*e.kc*size),
			fmt.Sprintf("packed rows take %d of the %d bytes of the third-level cache, a quarter and %d at most",
				e.slab, c.l3, mostSlab),
		},
	}
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
