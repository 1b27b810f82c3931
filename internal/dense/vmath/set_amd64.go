//go:build !purego

// Declarations of the assembly for amd64.

package vmath

import "github.com/iokl/iokl/internal/base/instructions"

// vectorSets is the assembly this processor can run.
func vectorSets() []set {
	var out []set
	if instructions.AVX512() {
		out = append(out, set{
			name: "avx512", exp: expAVX512, expStream: expStreamAVX512, sqDist: sqDistAVX512, matern: maternAVX512,
			power: powerAVX512, sinCos: sinCosAVX512, cos: cosAVX512, narrow: narrowAVX512, stream: streamAVX512,
			streamNarrow: streamNarrowAVX512, radix2: radix2AVX512, radix4: radix4AVX512, l1Row: l1RowAVX512,
			sqRow: sqRowAVX512, chi2Row: chi2RowAVX512, harmonicRow: harmonicRowAVX512, sqDistBelow: sqDistBelowAVX512,
			lorentzRow: lorentzRowAVX512, secular: secularAVX2, reflect3: reflect3AVX2, rotate: rotateAVX2,
		})
	}
	if instructions.AVX2() {
		out = append(out, set{
			name: "avx2", exp: expAVX2, expStream: expStreamAVX2, sqDist: sqDistAVX2, matern: maternAVX2,
			power: powerAVX2, sinCos: sinCosAVX2, cos: cosAVX2, narrow: narrowAVX2, stream: streamAVX2,
			streamNarrow: streamNarrowAVX2, radix2: radix2AVX2, radix4: radix4AVX2, l1Row: l1RowAVX2, sqRow: sqRowAVX2,
			chi2Row: chi2RowAVX2, harmonicRow: harmonicRowAVX2, sqDistBelow: sqDistBelowAVX2,
			lorentzRow: lorentzRowAVX2, secular: secularAVX2, reflect3: reflect3AVX2, rotate: rotateAVX2,
		})
	}
	return out
}

//go:noescape
func expAVX512(dst, x []float64, a float64)

//go:noescape
func expStreamAVX512(dst, x []float64, a float64)

//go:noescape
func sqDistAVX512(g []float64, ni float64, nj []float64)

//go:noescape
func maternAVX512(dst, x []float64, s, c1, c2 float64)

//go:noescape
func powerAVX512(dst, x []float64, gamma, c float64, q int)

//go:noescape
func sinCosAVX512(sin, cos, x []float64, amp float64) int

//go:noescape
func cosAVX512(dst, x []float64, amp float64) int

//go:noescape
func narrowAVX512(dst []float32, x []float64)

//go:noescape
func streamAVX512(dst, x []float64)

//go:noescape
func streamNarrowAVX512(dst []float32, x []float64)

//go:noescape
func l1RowAVX512(dst, x, zt []float64, ld int)

//go:noescape
func sqRowAVX512(dst, x, zt []float64, ld int)

//go:noescape
func chi2RowAVX512(dst, x, zt []float64, ld int)

//go:noescape
func harmonicRowAVX512(dst, x, zt []float64, ld int)

//go:noescape
func sqDistBelowAVX512(g []float64, ni float64, nj []float64, s, c float64) bool

//go:noescape
func lorentzRowAVX512(dst, x, zt []float64, ld int)

//go:noescape
func expAVX2(dst, x []float64, a float64)

//go:noescape
func expStreamAVX2(dst, x []float64, a float64)

//go:noescape
func sqDistAVX2(g []float64, ni float64, nj []float64)

//go:noescape
func maternAVX2(dst, x []float64, s, c1, c2 float64)

//go:noescape
func powerAVX2(dst, x []float64, gamma, c float64, q int)

//go:noescape
func sinCosAVX2(sin, cos, x []float64, amp float64) int

//go:noescape
func cosAVX2(dst, x []float64, amp float64) int

//go:noescape
func narrowAVX2(dst []float32, x []float64)

//go:noescape
func streamAVX2(dst, x []float64)

//go:noescape
func streamNarrowAVX2(dst []float32, x []float64)

//go:noescape
func l1RowAVX2(dst, x, zt []float64, ld int)

//go:noescape
func sqRowAVX2(dst, x, zt []float64, ld int)

//go:noescape
func chi2RowAVX2(dst, x, zt []float64, ld int)

//go:noescape
func harmonicRowAVX2(dst, x, zt []float64, ld int)

//go:noescape
func sqDistBelowAVX2(g []float64, ni float64, nj []float64, s, c float64) bool

//go:noescape
func lorentzRowAVX2(dst, x, zt []float64, ld int)

//go:noescape
func radix2AVX512(x []float64, h int)

//go:noescape
func radix4AVX512(x []float64, h int)

//go:noescape
func radix2AVX2(x []float64, h int)

//go:noescape
func radix4AVX2(x []float64, h int)

//go:noescape
func reflect3AVX2(x, y, z []float64, tau, v1, v2 float64)

//go:noescape
func rotateAVX2(c, s, a []float64, ld, n int)

//go:noescape
func secularAVX2(d, z []float64, mu float64) (sum, slope float64)

func fence()
