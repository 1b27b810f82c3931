// This file solves general equations by a Hessenberg and a Schur form (Golub, Nash and Van Loan).

package sylvester

import (
	"fmt"
	"math"

	"github.com/iokl/iokl/blas"
)

// HessenbergSchur solves A·X·B + μX = Q for any real square A (l×l) and B (n×n)
// with the Hessenberg form of A, which is cheaper than its Schur form, and the
// Schur form of B (Golub, Nash, Van Loan 1979): about 5l³ + 25n³ operations for
// Factor and 5l²n + 2ln² for each Solve. It is the faster of the two when n ≪ l.
// The zero value is ready; it keeps its memory, up to 8l² + 4n² + 3ln floats, between calls.
type HessenbergSchur struct {
	Backend blas.Backend // nil means blas.Active()
	eq      equation
	HZ      blas.General // S·Z, l×n
	matrix  blas.General // of the system of one column of T, or of two
	rhs     []float64
}

// Factor computes the Hessenberg form of A and the Schur form of B, which it copies.
func (w *HessenbergSchur) Factor(A, B blas.General) error {
	if err := w.eq.load(w.Backend, A, B); err != nil {
		return err
	}
	w.eq.be.Hessenberg(w.eq.S, w.eq.U)
	return w.eq.be.Schur(w.eq.T, w.eq.V)
}

// Solve is as that of [BartelsStewart].
func (w *HessenbergSchur) Solve(X blas.General, mu float64, Q blas.General) (GeneralResult, error) {
	if err := w.eq.enter(mu, Q); err != nil {
		return nowhere, err
	}
	n := w.eq.B.Rows
	w.HZ = blas.Reshape(w.HZ, w.eq.A.Rows, n)
	for k := 0; k < n; {
		wide := 1
		if k+1 < n && w.eq.T.Data[(k+1)*w.eq.T.Stride+k] != 0 {
			wide = 2
		}
		if !w.columns(mu, k, wide) {
			return nowhere, fmt.Errorf("%w: μ = %g", ErrSingular, mu)
		}
		k += wide
	}
	return w.eq.leave(X, mu, Q)
}

// columns solves for the columns [k,k+wide) of Z, those before being solved:
//
//	S·Z_k·T_kk + μZ_k = F_k − Σ_{j<k} S·Z_j·T_jk
//
// as one system whose unknowns are interleaved row by row, so that its matrix is
// zero below the subdiagonal 2·wide−1.
func (w *HessenbergSchur) columns(mu float64, k, wide int) bool {
	S, T := w.eq.S, w.eq.T
	l, n := S.Rows, T.Rows
	F := blas.View(w.eq.F, 0, k, l, wide)
	if k > 0 {
		blas.Gemm(w.eq.be, false, false, -1, blas.View(w.HZ, 0, 0, l, k), blas.View(T, 0, k, k, wide), 1, F)
	}
	w.matrix = blas.Reshape(w.matrix, l*wide, l*wide)
	w.rhs = w.rhs[:0]
	for i := range l {
		s := blas.Row(S, i)
		for c := range wide {
			out := blas.Row(w.matrix, i*wide+c)
			clear(out[max(i-2, 0)*wide : max(i-1, 0)*wide])
			for j := max(i-1, 0); j < l; j++ {
				for c2 := range wide {
					out[j*wide+c2] = s[j] * T.Data[(k+c2)*n+k+c]
				}
			}
			out[i*wide+c] += mu
		}
		w.rhs = append(w.rhs, blas.Row(F, i)...)
	}
	tiny := 0x1p-52 * (w.eq.normA*w.eq.normB + math.Abs(mu))
	if !eliminate(w.matrix, 2*wide-1, w.rhs, tiny) {
		return false
	}
	for i := range l {
		copy(blas.Row(F, i), w.rhs[i*wide:])
	}
	blas.Mul(w.eq.be, blas.View(w.HZ, 0, k, l, wide), false, false, S, F)
	return true
}

// eliminate overwrites b by the solution of a·x = b, where row i of a is zero,
// and not read, before column i−band. It pivots on rows and reports whether
// every pivot exceeds tiny; a is destroyed.
func eliminate(a blas.General, band int, b []float64, tiny float64) bool {
	n := a.Rows
	for c := range n {
		end := min(n, c+band+1)
		p := c
		for i := c + 1; i < end; i++ {
			if math.Abs(a.Data[i*a.Stride+c]) > math.Abs(a.Data[p*a.Stride+c]) {
				p = i
			}
		}
		pivot := blas.Row(a, c)[c:]
		if p != c {
			other := blas.Row(a, p)[c:]
			for j, v := range pivot {
				pivot[j], other[j] = other[j], v
			}
			b[c], b[p] = b[p], b[c]
		}
		if !(math.Abs(pivot[0]) > tiny) {
			return false
		}
		for i := c + 1; i < end; i++ {
			r := blas.Row(a, i)[c:]
			if m := r[0] / pivot[0]; m != 0 {
				blas.Axpy(-m, pivot[1:], r[1:])
				b[i] -= m * b[c]
			}
		}
	}
	for i := n - 1; i >= 0; i-- {
		r := blas.Row(a, i)
		b[i] = (b[i] - blas.Dot(r[i+1:], b[i+1:])) / r[i]
	}
	return true
}
