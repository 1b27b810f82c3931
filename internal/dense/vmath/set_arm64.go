//go:build !purego

// Declarations of the assembly for arm64.

package vmath

import "github.com/iokl/iokl/internal/base/instructions"

// vectorSets is NEON where it is allowed. Features are made, and results
// written, in Go: they are bound by memory, or of no Gram matrix.
func vectorSets() []set {
	if !instructions.NEON() {
		return nil
	}
	s := generic
	s.name = "neon"
	s.exp, s.expStream, s.matern, s.power = expNEON, expNEON, maternNEON, powerNEON
	s.sqDist, s.sqDistBelow = sqDistNEON, sqDistBelowNEON
	s.narrow, s.streamNarrow = narrowNEON, narrowNEON
	s.l1Row, s.sqRow, s.chi2Row, s.harmonicRow, s.lorentzRow = l1RowNEON, sqRowNEON, chi2RowNEON, harmonicRowNEON,
		lorentzRowNEON
	s.secular = secularNEON
	return []set{s}
}

//go:noescape
func expNEON(dst, x []float64, a float64)

//go:noescape
func maternNEON(dst, x []float64, s, c1, c2 float64)

//go:noescape
func powerNEON(dst, x []float64, gamma, c float64, q int)

//go:noescape
func sqDistNEON(g []float64, ni float64, nj []float64)

//go:noescape
func sqDistBelowNEON(g []float64, ni float64, nj []float64, s, c float64) bool

//go:noescape
func narrowNEON(dst []float32, x []float64)

//go:noescape
func l1RowNEON(dst, x, zt []float64, ld int)

//go:noescape
func sqRowNEON(dst, x, zt []float64, ld int)

//go:noescape
func chi2RowNEON(dst, x, zt []float64, ld int)

//go:noescape
func harmonicRowNEON(dst, x, zt []float64, ld int)

//go:noescape
func lorentzRowNEON(dst, x, zt []float64, ld int)

//go:noescape
func secularNEON(d, z []float64, mu float64) (sum, slope float64)

func fence() {}
