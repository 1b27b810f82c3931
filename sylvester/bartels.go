// This file solves general equations by two Schur forms (Bartels and Stewart).

package sylvester

import (
	"fmt"
	"math"

	"github.com/iokl/iokl/blas"
)

// BartelsStewart solves A·X·B + μX = Q for any real square A (l×l) and B (n×n)
// by their real Schur forms (Bartels and Stewart, Comm. ACM 15, 1972): about
// 25(l³+n³) operations for Factor and 5(l²n+ln²) for each Solve. The
// triangular equation is solved by blocks, so that matrix products do the work.
// The zero value is ready; it keeps its memory, 4l² + 4n² + 2ln floats, between calls.
type BartelsStewart struct {
	Backend blas.Backend // nil means blas.Active()
	eq      equation
	block   blas.General
}

// Factor computes the Schur forms of A and B, which it copies.
func (w *BartelsStewart) Factor(A, B blas.General) error {
	if err := w.eq.load(w.Backend, A, B); err != nil {
		return err
	}
	if err := w.eq.be.Schur(w.eq.S, w.eq.U); err != nil {
		return err
	}
	return w.eq.be.Schur(w.eq.T, w.eq.V)
}

// Solve overwrites X (l×n), which does not overlap Q, by the solution for the
// factors of the last Factor. A nil error means Backward ≤ 100; else the error
// wraps ErrSingular, ErrNotConverged or ErrNotFinite.
func (w *BartelsStewart) Solve(X blas.General, mu float64, Q blas.General) (GeneralResult, error) {
	if err := w.eq.enter(mu, Q); err != nil {
		return nowhere, err
	}
	if !w.triangular(mu) {
		return nowhere, fmt.Errorf("%w: μ = %g", ErrSingular, mu)
	}
	return w.eq.leave(X, mu, Q)
}

// nowhere is the result at no X.
var nowhere = GeneralResult{Residual: math.NaN(), Backward: math.NaN()}

// schurBlock is the number of rows and of columns solved between two products.
const schurBlock = 48

// triangular overwrites F by the Z of S·Z·T + μZ = F, S and T upper
// quasi-triangular. Columns are solved from the left, rows from the bottom:
//
//	S_II·Z_IK·T_KK + μZ_IK = F_IK − (Σ_{J>I} S_IJ·Z_JK)·T_KK,   F_·R ← F_·R − S·Z_·K·T_KR
func (w *BartelsStewart) triangular(mu float64) bool {
	S, T, F := w.eq.S, w.eq.T, w.eq.F
	l, n := S.Rows, T.Rows
	rows, cols := steps(S, schurBlock), steps(T, schurBlock)
	tiny := 0x1p-52 * (w.eq.normA*w.eq.normB + math.Abs(mu))
	for k := range len(cols) - 1 {
		k0, k1 := cols[k], cols[k+1]
		TK := blas.View(T, k0, k0, k1-k0, k1-k0)
		w.block = blas.Reshape(w.block, l, k1-k0) // S·Z_·K
		for i := len(rows) - 2; i >= 0; i-- {
			i0, i1 := rows[i], rows[i+1]
			SZ, FI := blas.View(w.block, i0, 0, i1-i0, k1-k0), blas.View(F, i0, k0, i1-i0, k1-k0)
			if i1 < l {
				blas.Mul(w.eq.be, SZ, false, false, blas.View(S, i0, i1, i1-i0, l-i1),
					blas.View(F, i1, k0, l-i1, k1-k0))
				blas.Gemm(w.eq.be, false, false, -1, SZ, TK, 1, FI)
			} else {
				blas.Zero(SZ)
			}
			if !quasiTriangular(blas.View(S, i0, i0, i1-i0, i1-i0), TK, mu, FI, SZ, tiny) {
				return false
			}
		}
		if k1 < n {
			blas.Gemm(w.eq.be, false, false, -1, w.block, blas.View(T, k0, k1, k1-k0, n-k1), 1,
				blas.View(F, 0, k1, l, n-k1))
		}
	}
	return true
}

// quasiTriangular overwrites the small F by the Z of S·Z·T + μZ = F, adds S·Z to
// SZ, and reports whether the equation is regular.
func quasiTriangular(S, T blas.General, mu float64, F, SZ blas.General, tiny float64) bool {
	p, q := S.Rows, T.Rows
	own := blas.NewGeneral(p, q) // S·Z
	z := blas.NewGeneral(2, p)   // the columns of Z being solved, as rows
	for k := 0; k < q; {
		wide := 1
		if k+1 < q && T.Data[(k+1)*T.Stride+k] != 0 {
			wide = 2
		}
		for i := range p {
			for c := k; c < k+wide; c++ {
				for j, v := range blas.Row(own, i)[:k] {
					F.Data[i*F.Stride+c] -= v * T.Data[j*T.Stride+c]
				}
			}
		}
		for i := p - 1; i >= 0; {
			high := 1
			if i > 0 && S.Data[i*S.Stride+i-1] != 0 {
				high = 2
			}
			if !diagonalBlock(S, T, mu, F, own, z, i-high+1, high, k, wide, tiny) {
				return false
			}
			i -= high
		}
		k += wide
	}
	blas.AddScaled(SZ, 1, own)
	return true
}

// diagonalBlock solves for rows [i,i+high) and columns [k,k+wide), the rows below being solved.
func diagonalBlock(S, T blas.General, mu float64, F, own, z blas.General, i, high, k, wide int, tiny float64) bool {
	var below [2][2]float64 // (Σ_{j ≥ i+high} S_ij·z_j) for each row and column
	for a := range high {
		right := blas.Row(S, i+a)[i+high:]
		for c := range wide {
			below[a][c] = blas.Dot(right, blas.Row(z, c)[i+high:])
		}
	}
	n := high * wide // unknowns, row by row
	var matrix [16]float64
	var x [4]float64
	A := blas.General{Rows: n, Cols: n, Stride: n, Data: matrix[:n*n]}
	for a := range high {
		for c := range wide {
			at := a*wide + c
			x[at] = F.Data[(i+a)*F.Stride+k+c]
			for c2 := range wide {
				t := T.Data[(k+c2)*T.Stride+k+c]
				x[at] -= below[a][c2] * t
				for a2 := range high {
					matrix[at*n+a2*wide+c2] = S.Data[(i+a)*S.Stride+i+a2] * t
				}
			}
			matrix[at*n+at] += mu
		}
	}
	if !eliminate(A, n, x[:n], tiny) {
		return false
	}
	for a := range high {
		for c := range wide {
			v := x[a*wide+c]
			F.Data[(i+a)*F.Stride+k+c] = v
			z.Data[c*z.Stride+i+a] = v
			for a2 := range high {
				below[a2][c] += S.Data[(i+a2)*S.Stride+i+a] * v
			}
		}
	}
	for a := range high {
		for c := range wide {
			own.Data[(i+a)*own.Stride+k+c] = below[a][c]
		}
	}
	return true
}
