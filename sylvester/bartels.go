package sylvester

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/lapack/gonum"

	"github.com/iokl/iokl/blas"
)

// ErrSingular says that A·X·B + μX = Q has no unique solution: an eigenvalue of
// A times one of B is −μ, to working accuracy.
var ErrSingular = errors.New("sylvester: the equation is singular")

// GeneralResult describes the solution of A·X·B + μX = Q; both numbers are
// recomputed from their definitions at the returned X.
type GeneralResult struct {
	Residual float64 // ‖A·X·B + μX − Q‖_F/‖Q‖_F
	// Backward is the backward-error ratio ‖A·X·B + μX − Q‖_F/(ε·(‖A‖_F·‖B‖_F + |μ|)·‖X‖_F) with ε = 2⁻⁵².
	Backward float64
}

// BartelsStewart solves A·X·B + μX = Q for any real square A (l×l) and B (n×n)
// by their real Schur forms (Bartels and Stewart, Comm. ACM 15, 1972): about
// 25(l³+n³) operations for Factor and 5(l²n+ln²) for each Solve. The
// triangular equation is solved by blocks, so that matrix products do the work.
// The zero value is ready; it keeps its memory, 4l² + 4n² + 2ln floats, between calls.
type BartelsStewart struct {
	Backend blas.Backend // nil means blas.Active()

	a, b       blas.General
	s, u, t, v blas.General // a = u·s·uᵀ and b = v·t·vᵀ
	f, w       blas.General // l×n: f = uᵀ·Q·v, then the z of s·z·t + μz = f, X = u·z·vᵀ
	block      blas.General

	normA, normB float64
}

// Factor computes the Schur forms of A and B, which it copies.
func (w *BartelsStewart) Factor(A, B blas.General) error {
	if A.Rows != A.Cols || B.Rows != B.Cols {
		panic("sylvester: coefficients of a general equation are not square")
	}
	l, n := A.Rows, B.Rows
	for _, m := range []struct {
		dst *blas.General
		src blas.General
	}{{&w.a, A}, {&w.s, A}, {&w.b, B}, {&w.t, B}} {
		*m.dst = blas.Reshape(*m.dst, m.src.Rows, m.src.Cols)
		blas.Copy(*m.dst, m.src)
	}
	w.u, w.v = blas.Reshape(w.u, l, l), blas.Reshape(w.v, n, n)
	w.normA, w.normB = blas.Frob(A), blas.Frob(B)
	if !finite(w.normA) || !finite(w.normB) {
		return fmt.Errorf("%w: ‖A‖ = %g, ‖B‖ = %g", ErrNotFinite, w.normA, w.normB)
	}
	be := blas.Or(w.Backend)
	if err := be.Schur(w.s, w.u); err != nil {
		return err
	}
	return be.Schur(w.t, w.v)
}

// Solve overwrites X (l×n), which does not overlap Q, by the solution for the
// factors of the last Factor. A nil error means Backward ≤ 100; else the error
// wraps ErrSingular, ErrNotConverged or ErrNotFinite.
func (w *BartelsStewart) Solve(X blas.General, mu float64, Q blas.General) (GeneralResult, error) {
	be, l, n := blas.Or(w.Backend), w.a.Rows, w.b.Rows
	if Q.Rows != l || Q.Cols != n {
		panic("sylvester: shape mismatch")
	}
	if v := blas.Frob(Q) + mu; !finite(v) {
		return nowhere, fmt.Errorf("%w: ‖Q‖ + μ = %g", ErrNotFinite, v)
	}
	w.f, w.w = blas.Reshape(w.f, l, n), blas.Reshape(w.w, l, n)
	blas.Mul(be, w.w, true, false, w.u, Q)
	blas.Mul(be, w.f, false, false, w.w, w.v)
	if !w.triangular(be, mu) {
		return nowhere, fmt.Errorf("%w: μ = %g", ErrSingular, mu)
	}
	blas.Mul(be, w.w, false, false, w.u, w.f)
	blas.Mul(be, X, false, true, w.w, w.v)
	blas.Mul(be, w.w, false, false, w.a, X)
	blas.Mul(be, w.f, false, false, w.w, w.b)
	blas.AddScaled(w.f, mu, X)
	blas.AddScaled(w.f, -1, Q)
	r := blas.Frob(w.f)
	unit := 0x1p-52 * (w.normA*w.normB + math.Abs(mu)) * blas.Frob(X)
	res := GeneralResult{Residual: relative(r, blas.Frob(Q)), Backward: relative(r, unit)}
	if !(res.Backward <= roundingLevel) {
		return res, fmt.Errorf("%w: backward error %.3g units in the last place", ErrNotConverged, res.Backward)
	}
	return res, nil
}

// nowhere is the result at no X.
var nowhere = GeneralResult{Residual: math.NaN(), Backward: math.NaN()}

// small is for matrices that no backend is faster with.
var small gonum.Implementation

// schurBlock is the number of rows and of columns solved between two products.
const schurBlock = 48

// triangular overwrites F by the Z of S·Z·T + μZ = F, S and T upper
// quasi-triangular. Columns are solved from the left, rows from the bottom:
//
//	S_II·Z_IK·T_KK + μZ_IK = F_IK − (Σ_{J>I} S_IJ·Z_JK)·T_KK,   F_·R ← F_·R − S·Z_·K·T_KR
func (w *BartelsStewart) triangular(be blas.Backend, mu float64) bool {
	S, T, F := w.s, w.t, w.f
	l, n := S.Rows, T.Rows
	rows, cols := steps(S, schurBlock), steps(T, schurBlock)
	tiny := 0x1p-52 * (w.normA*w.normB + math.Abs(mu))
	for k := range len(cols) - 1 {
		k0, k1 := cols[k], cols[k+1]
		TK := blas.View(T, k0, k0, k1-k0, k1-k0)
		w.block = blas.Reshape(w.block, l, k1-k0) // S·Z_·K
		for i := len(rows) - 2; i >= 0; i-- {
			i0, i1 := rows[i], rows[i+1]
			SZ, FI := blas.View(w.block, i0, 0, i1-i0, k1-k0), blas.View(F, i0, k0, i1-i0, k1-k0)
			if i1 < l {
				blas.Mul(be, SZ, false, false, blas.View(S, i0, i1, i1-i0, l-i1),
					blas.View(F, i1, k0, l-i1, k1-k0))
				blas.Gemm(be, false, false, -1, SZ, TK, 1, FI)
			} else {
				blas.Zero(SZ)
			}
			if !quasiTriangular(blas.View(S, i0, i0, i1-i0, i1-i0), TK, mu, FI, SZ, tiny) {
				return false
			}
		}
		if k1 < n {
			blas.Gemm(be, false, false, -1, w.block, blas.View(T, k0, k1, k1-k0, n-k1), 1,
				blas.View(F, 0, k1, l, n-k1))
		}
	}
	return true
}

// steps cuts the quasi-triangular T into pieces of about size rows, never
// through a 2×2 block; the result starts with 0 and ends with its order.
func steps(T blas.General, size int) []int {
	cuts := []int{0}
	for at := 0; at < T.Rows; {
		at = min(at+size, T.Rows)
		if at < T.Rows && T.Data[at*T.Stride+at-1] != 0 {
			at++
		}
		cuts = append(cuts, at)
	}
	return cuts
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
	var pivots [4]int
	small.Dgetf2(n, n, A.Data, n, pivots[:n])
	for at := range n {
		if !(math.Abs(A.Data[at*n+at]) > tiny) {
			return false
		}
	}
	small.Dgetrs(blas.NoTrans, n, 1, A.Data, n, pivots[:n], x[:n], 1)
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
