//go:build !purego

// Declarations of the assembly for amd64, and the kernels of each instruction set.

package native

import (
	"unsafe"

	"github.com/iokl/iokl/internal/base/instructions"
)

// The micro-kernels; their contract stands at tile.

//go:noescape
func tileF64AVX2(t *tile)

//go:noescape
func tileF32AVX2(t *tile)

//go:noescape
func tileMixedAVX2(t *tile)

//go:noescape
func tileF64AVX512(t *tile)

//go:noescape
func tileF32AVX512(t *tile)

//go:noescape
func tileMixedAVX512(t *tile)

//go:noescape
func turnF64AVX512(dst []float64, w int, src []float64, ld, np int)

//go:noescape
func turn4F64AVX2(dst []float64, w int, src []float64, ld, np int)

//go:noescape
func turn4F32AVX2(dst []float32, w int, src []float32, ld, np int)

//go:noescape
func turnF32AVX2(dst []float32, w int, src []float32, ld, np int)

//go:noescape
func copyPanelsAVX2(dst, src unsafe.Pointer, ld, panel, np, panels int)

//go:noescape
func copyPanelsAVX512(dst, src unsafe.Pointer, ld, panel, np, panels int)

// The kernels for few columns; their contract stands at fewTile.

//go:noescape
func fewF64AVX2(t *fewTile)

//go:noescape
func fewF32AVX2(t *fewTile)

//go:noescape
func fewF64AVX512(t *fewTile)

//go:noescape
func fewF32AVX512(t *fewTile)

// The vector routines; what they do stands at vectors.

//go:noescape
func dotF64AVX2(x, y []float64) float64

//go:noescape
func outerF64AVX2(alpha float64, w, x []float64, n int, a []float64, ld, grow int)

//go:noescape
func scalF64AVX2(alpha float64, x []float64)

//go:noescape
func dot4F64AVX2(a []float64, ld int, x []float64) [4]float64

//go:noescape
func axpy4F64AVX2(w [4]float64, a []float64, ld int, y []float64)

//go:noescape
func symvF64AVX2(t symRows)

//go:noescape
func symvF64AVX512(t symRows)

// Measurements; see MeasurePeak and MeasureBandwidth.

func spinF64AVX512(n int) int

func spinF32AVX512(n int) int

func spinF64AVX2(n int) int

func spinF32AVX2(n int) int

//go:noescape
func readF64AVX2(x []float64) float64

func assemblyLevels() []Level {
	var l []Level
	if instructions.AVX512() {
		l = append(l, AVX512)
	}
	if instructions.AVX2() {
		l = append(l, AVX2)
	}
	return l
}

func kernels64(l Level) kernels[float64] {
	k := generic[float64]()
	if l == Generic {
		return k
	}
	k.mr, k.nr, k.tile, k.direct, k.spread = 12, 4, tileF64AVX2, true, copyPanelsAVX2
	k.turn4, k.spin = turn4F64AVX2, spinF64AVX2
	if l == AVX512 {
		k.mr, k.nr, k.tile, k.spin = 24, 8, tileF64AVX512, spinF64AVX512
		k.turn, k.spread = turnF64AVX512, copyPanelsAVX512
	}
	return k
}

func kernels32(l Level) kernels[float32] {
	k := generic[float32]()
	if l == Generic {
		return k
	}
	k.mr, k.nr, k.tile, k.spin = 24, 4, tileF32AVX2, spinF32AVX2
	k.direct, k.turn, k.turn4, k.spread = true, turnF32AVX2, turn4F32AVX2, copyPanelsAVX2
	if l == AVX512 {
		k.mr, k.nr, k.tile, k.spin = 48, 8, tileF32AVX512, spinF32AVX512
		k.spread = copyPanelsAVX512
	}
	return k
}

func vectors64(l Level) vectors {
	if l == Generic {
		return genericVectors
	}
	v := vectors{
		dot: dotF64AVX2, outer: outerF64AVX2, scal: scalF64AVX2, dot4: dot4F64AVX2, axpy4: axpy4F64AVX2,
		symv: symvF64AVX2, read: readF64AVX2,
	}
	if l == AVX512 {
		v.symv = symvF64AVX512
	}
	return v
}

// fewKernelsOf returns the kernels for few columns of a matrix stored in single or double precision.
func fewKernelsOf(l Level, single bool) (fewKernels, bool) {
	switch {
	case l == AVX512 && single:
		return fewKernels{rows: 24, block: 4, most: 4, few: fewF32AVX512, diag: tileMixedAVX512, wide: 24}, true
	case l == AVX512:
		return fewKernels{rows: 24, block: 4, most: 8, few: fewF64AVX512, diag: tileF64AVX512, wide: 24}, true
	case l == AVX2 && single:
		return fewKernels{rows: 24, block: 2, most: 3, few: fewF32AVX2, diag: tileMixedAVX2, wide: 12}, true
	case l == AVX2:
		return fewKernels{rows: 24, block: 2, most: 4, few: fewF64AVX2, diag: tileF64AVX2, wide: 12}, true
	}
	return fewKernels{}, false
}
