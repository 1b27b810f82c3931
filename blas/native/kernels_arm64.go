//go:build !purego

// Declarations of the assembly for arm64, and the list of its kernels.

package native

import "github.com/iokl/iokl/internal/base/instructions"

// The micro-kernels; their contract stands at tile.

//go:noescape
func tileF64NEON(t *tile)

//go:noescape
func tileF32NEON(t *tile)

// tileMixedNEON reads a float32 a in panels of 16, of which 8 enter.
//
//go:noescape
func tileMixedNEON(t *tile)

// The kernels for few columns; their contract stands at fewTile.

//go:noescape
func fewF64NEON(t *fewTile)

//go:noescape
func fewF32NEON(t *fewTile)

// The vector routines; what they do stands at vectors.

//go:noescape
func dotF64NEON(x, y []float64) float64

//go:noescape
func outerF64NEON(alpha float64, w, x []float64, n int, a []float64, ld, grow int)

//go:noescape
func scalF64NEON(alpha float64, x []float64)

//go:noescape
func dot4F64NEON(a []float64, ld int, x []float64) [4]float64

//go:noescape
func axpy4F64NEON(w [4]float64, a []float64, ld int, y []float64)

//go:noescape
func symv4F64NEON(w [4]float64, a []float64, ld int, x, y []float64) [4]float64

// Measurements; see MeasurePeak.

func spinF64NEON(n int) int

func spinF32NEON(n int) int

func assemblyLevels() []Level {
	if !instructions.NEON() {
		return nil
	}
	return []Level{NEON}
}

func kernels64(l Level) kernels[float64] {
	k := generic[float64]()
	if l == NEON {
		k.mr, k.nr, k.tile = 8, 6, tileF64NEON
		k.spin = spinF64NEON
	}
	return k
}

func kernels32(l Level) kernels[float32] {
	k := generic[float32]()
	if l == NEON {
		k.mr, k.nr, k.tile = 16, 6, tileF32NEON
		k.spin = spinF32NEON
	}
	return k
}

func vectors64(l Level) vectors {
	v := genericVectors
	if l == NEON {
		v.dot, v.outer, v.scal = dotF64NEON, outerF64NEON, scalF64NEON
		v.dot4, v.axpy4, v.symv = dot4F64NEON, axpy4F64NEON, symvBy(symv4F64NEON)
	}
	return v
}

// fewKernelsOf returns the kernels for few columns of a matrix stored in single or double precision.
func fewKernelsOf(l Level, single bool) (fewKernels, bool) {
	k := fewKernels{rows: 8, block: 2, most: 6, few: fewF64NEON, diag: tileF64NEON, wide: 8}
	if single {
		k.most, k.few, k.diag = 4, fewF32NEON, tileMixedNEON
	}
	return k, l == NEON
}
