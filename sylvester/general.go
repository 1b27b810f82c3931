// This file holds what the two methods for general matrices share.

package sylvester

import (
	"errors"
	"fmt"
	"math"

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

// equation is what the two general methods share: the coefficients, their
// orthogonal factors A = U·S·Uᵀ and B = V·T·Vᵀ, and the transformations
// F = Uᵀ·Q·V, X = U·Z·Vᵀ around S·Z·T + μZ = F.
type equation struct {
	be           blas.Backend
	A, B         blas.General
	S, U, T, V   blas.General
	F, W         blas.General // l×n
	normA, normB float64
}

// load copies A (l×l) and B (n×n).
func (eq *equation) load(be blas.Backend, A, B blas.General) error {
	if A.Rows != A.Cols || B.Rows != B.Cols {
		panic("sylvester: coefficients of a general equation are not square")
	}
	eq.be = blas.Or(be)
	l, n := A.Rows, B.Rows
	for _, m := range []struct {
		dst *blas.General
		src blas.General
	}{{&eq.A, A}, {&eq.S, A}, {&eq.B, B}, {&eq.T, B}} {
		*m.dst = blas.Reshape(*m.dst, m.src.Rows, m.src.Cols)
		blas.Copy(*m.dst, m.src)
	}
	eq.U, eq.V = blas.Reshape(eq.U, l, l), blas.Reshape(eq.V, n, n)
	eq.normA, eq.normB = blas.Frob(A), blas.Frob(B)
	if !finite(eq.normA) || !finite(eq.normB) {
		return fmt.Errorf("%w: ‖A‖ = %g, ‖B‖ = %g", ErrNotFinite, eq.normA, eq.normB)
	}
	return nil
}

// enter computes F = Uᵀ·Q·V.
func (eq *equation) enter(mu float64, Q blas.General) error {
	l, n := eq.A.Rows, eq.B.Rows
	if Q.Rows != l || Q.Cols != n {
		panic("sylvester: shape mismatch")
	}
	if v := blas.Frob(Q) + mu; !finite(v) {
		return fmt.Errorf("%w: ‖Q‖ + μ = %g", ErrNotFinite, v)
	}
	eq.F, eq.W = blas.Reshape(eq.F, l, n), blas.Reshape(eq.W, l, n)
	blas.Mul(eq.be, eq.W, true, false, eq.U, Q)
	blas.Mul(eq.be, eq.F, false, false, eq.W, eq.V)
	return nil
}

// leave computes X = U·F·Vᵀ and judges it.
func (eq *equation) leave(X blas.General, mu float64, Q blas.General) (GeneralResult, error) {
	blas.Mul(eq.be, eq.W, false, false, eq.U, eq.F)
	blas.Mul(eq.be, X, false, true, eq.W, eq.V)
	blas.Mul(eq.be, eq.W, false, false, eq.A, X)
	blas.Mul(eq.be, eq.F, false, false, eq.W, eq.B)
	blas.AddScaled(eq.F, mu, X)
	blas.AddScaled(eq.F, -1, Q)
	r := blas.Frob(eq.F)
	unit := 0x1p-52 * (eq.normA*eq.normB + math.Abs(mu)) * blas.Frob(X)
	res := GeneralResult{Residual: relative(r, blas.Frob(Q)), Backward: relative(r, unit)}
	if !(res.Backward <= roundingLevel) {
		return res, fmt.Errorf("%w: backward error %.3g units in the last place", ErrNotConverged, res.Backward)
	}
	return res, nil
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
