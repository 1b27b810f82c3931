//go:build !purego

package native

import "github.com/klauspost/cpuid/v2"

// The micro-kernels of tile_avx512_amd64.s; their contract stands at tile.

//go:noescape
func tileF64AVX512(t *tile)

//go:noescape
func tileF32AVX512(t *tile)

//go:noescape
func tileMixedAVX512(t *tile)

func assemblyLevels() []Level {
	var l []Level
	if cpuid.CPU.Supports(cpuid.AVX512F, cpuid.AVX512DQ, cpuid.AVX512VL) {
		l = append(l, AVX512)
	}
	return l
}

func kernels64(l Level) kernels[float64] {
	k := generic64()
	if l == AVX512 {
		k.mr, k.nr, k.tile = 24, 8, tileF64AVX512
	}
	return k
}

func kernels32(l Level) kernels[float32] {
	k := generic32()
	if l == AVX512 {
		k.mr, k.nr, k.tile = 48, 8, tileF32AVX512
	}
	return k
}
