// This file is kernel ridge regression on targets that are observed in many different sets of rows.

package samples

import (
	"context"
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/sylvester"
)

// Costs in units of l³ flops of large matrix products, of matrices of order l: a reduction to tridiagonal form, and
// an eigendecomposition.
const (
	reductionCubes     = 4.
	decompositionCubes = 10.
)

// cheaperByHoles reports whether byHoles is forecast to take fewer flops than a reduction for every pattern.
func cheaperByHoles(parts []pattern, l, lambdas int) bool {
	separate, shared := 0., decompositionCubes+float64(lambdas)
	for _, p := range parts {
		share := float64(len(p.rows)) / float64(l)
		separate += reductionCubes * share * share * share
		shared += float64(lambdas) * math.Pow(min(share, 1-share), 3) / 3
	}
	return shared < separate
}

// byHoles fills in F, the predictions for each λ and targets Y (l×n), by one decomposition of K for all patterns and λ.
// With B = (ρK + μI)⁻¹ on all rows, the coefficients C on the rows o of a pattern, 0 in the others s, are
//
//	C = B·(y + z),   z_s = −(B_ss)⁻¹·(B·y)_s,   z_o = 0,
//
// where y is 0 in s. Where s is the larger part, they are the solution of the system of o. A λ has l³ flops for B, and
// each pattern the third power of its smaller part, over 3. F without Data means a singular system.
func (r *ridge) byHoles(
	ctx context.Context, K, Y blas.General, parts []pattern, rho float64, lambdas []float64, F []blas.General,
) error {
	l, be := Y.Rows, blas.Or(r.opt.Backend)
	inner, cross := blas.View(K, 0, 0, l, l), blas.View(K, l, 0, r.test.Rows, l)
	dec, err := sylvester.Decompose(ctx, linop.NewDense(inner, be), be)
	if err != nil {
		return err
	}
	dec.Clip()
	B, C := blas.NewGeneral(l, l), blas.NewGeneral(l, Y.Cols)
	T, scale := blas.NewGeneral(l, l), make([]float64, l)
	for i, lambda := range lambdas {
		if err := ctx.Err(); err != nil {
			return err
		}
		mu := lambda * float64(l) / rho
		for a, s := range dec.Sigma {
			scale[a] = 1 / math.Sqrt(s+mu)
		}
		blas.Copy(T, dec.T)
		blas.ScaleColumns(T, scale)
		be.Dsyrk(blas.Lower, blas.NoTrans, l, l, 1, T.Data, T.Stride, 0, B.Data, B.Stride)
		blas.MirrorLower(B)
		blas.Zero(C)
		for _, p := range parts {
			if !solvePattern(be, C, inner, B, Y, p, mu) {
				F[i] = blas.General{}
				break
			}
		}
		if F[i].Data != nil {
			blas.Mul(be, F[i], false, false, cross, C)
		}
	}
	return nil
}

// solvePattern writes the coefficients of the targets of p, times ρ, to C, and reports whether their system is regular.
// B is (K + μI)⁻¹.
func solvePattern(be blas.Backend, C, K, B, Y blas.General, p pattern, mu float64) bool {
	out := others(p.rows, K.Rows)
	if len(out) > len(p.rows) {
		A, c := columns.Take(blas.TakeRows(K, p.rows), p.rows), columns.Take(blas.TakeRows(Y, p.rows), p.targets)
		for i := range A.Rows {
			A.Data[i*A.Stride+i] += mu
		}
		if A.Rows > 0 && !be.Potrf(A) {
			return false
		}
		blas.Potrs(be, A, c)
		put(C, c, p.rows, p.targets)
		return true
	}
	y := blas.NewGeneral(K.Rows, len(p.targets))
	for _, i := range p.rows {
		for k, j := range p.targets {
			y.Data[i*y.Stride+k] = Y.Data[i*Y.Stride+j]
		}
	}
	x := blas.Like(y)
	blas.Mul(be, x, false, false, B, y)
	if len(out) > 0 {
		some := blas.TakeRows(B, out)
		S, z := columns.Take(some, out), blas.TakeRows(x, out)
		if !be.Potrf(S) {
			return false
		}
		blas.Potrs(be, S, z)
		blas.Gemm(be, true, false, -1, some, z, 1, x) // B is symmetric
	}
	put(C, blas.TakeRows(x, p.rows), p.rows, p.targets)
	return true
}

// others are the numbers below l that are not among the ascending rows.
func others(rows []int, l int) (out []int) {
	for i := range l {
		if len(rows) > 0 && rows[0] == i {
			rows = rows[1:]
			continue
		}
		out = append(out, i)
	}
	return out
}

// put writes c to some rows and columns of C.
func put(C, c blas.General, rows, cols []int) {
	for a, i := range rows {
		for b, j := range cols {
			C.Data[i*C.Stride+j] = c.Data[a*c.Stride+b]
		}
	}
}
