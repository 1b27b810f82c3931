package interior

import (
	"context"
	"math"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/par"
	"github.com/iokl/iokl/linop"
)

// innerKernel is an output kernel of full rank.
type innerKernel struct {
	*linop.Spectral
	R, dual blas.General // R_j, once balanced that of [Sum], and S_j
	Lambda  []float64    // the diagonal of RᵀSR
}

// balance makes R and Λ.
func (k *innerKernel) balance(be blas.Backend) error {
	Q := congruent(be, k.R, k.dual)
	blas.Symmetrize(Q)
	Q, w, err := eigen(be, Q)
	if err != nil {
		return err
	}
	scale := make([]float64, len(w))
	for i, v := range w {
		w[i] = math.Sqrt(math.Max(v, 0x1p-100*w[len(w)-1]))
		scale[i] = 1 / math.Sqrt(w[i])
	}
	blas.ScaleColumns(Q, scale)
	k.R, k.Lambda = blas.Product(be, false, false, k.R, Q), w
	return nil
}

// along is the output kernel R(Λ + a·x)Rᵀ, not yet balanced, with R⁻ᵀ(Λ + b·z)R⁻¹ for S, by way of R⁻ᵀ = S·R·Λ⁻¹.
func (k *innerKernel) along(be blas.Backend, x, z blas.General, a, b float64) (next innerKernel, err error) {
	F, w, err := eigen(be, plusDiagonal(a, x, k.Lambda))
	if err != nil {
		return next, err
	}
	blas.ScaleColumns(F, blas.Roots(w))
	next.R = blas.Product(be, false, false, k.R, F)
	for i, v := range k.Lambda {
		w[i] = 1 / v
	}
	F = blas.Product(be, false, false, k.dual, k.R)
	blas.ScaleColumns(F, w)
	next.dual = congruent(be, blas.Transposed(F), plusDiagonal(b, z, k.Lambda))
	blas.Symmetrize(next.dual)
	return next, nil
}

// order is the number of elements of a lower triangle.
func (d *Sum) order() int { return d.n * (d.n + 1) / 2 }

// direction solves for the X_j of the Newton step, in the basis of the elements of lower triangles, times √2 off
// the diagonal, which is orthonormal. It returns nil where rounding leaves the Hessian no factor.
func (d *Sum) direction(ctx context.Context) ([]blas.General, error) {
	each, M := d.order(), d.Point.factor
	B, g, curve := d.derivatives()
	p, rows := g.Rows, g.Cols-1
	A := blas.Clone(blas.View(g, 0, 1, p, rows))
	d.Backend.Dtrsm(blas.Left, blas.Lower, blas.NoTrans, blas.NonUnit, B.Rows, p, math.Sqrt2, M.Data, M.Stride,
		B.Data, p)
	H := blas.NewGeneral(p, p)
	blas.GramOf(d.Backend, H, B)
	for j, u := range curve { // the second derivative of the constraint
		for a, v := range u {
			blas.Axpy(v, u[:a+1], blas.Row(H, j*each+a)[j*each:][:a+1])
		}
	}
	for i := range p {
		H.Data[i*p+i]++
	}
	if err := ctx.Err(); err != nil || !d.Backend.Potrf(H) {
		return nil, err
	}
	blas.Potrs(d.Backend, H, g)
	S := blas.Product(d.Backend, true, false, A, g)
	multipliers, F := blas.Clone(blas.View(S, 0, 0, rows, 1)), blas.Clone(blas.View(S, 0, 1, rows, rows))
	if !d.Backend.Potrf(F) {
		return nil, nil
	}
	blas.Potrs(d.Backend, F, multipliers)
	X := make([]blas.General, d.m)
	x := make([]float64, p)
	for i := range x {
		x[i] = blas.Row(g, i)[0] - blas.Dot(blas.Row(g, i)[1:], multipliers.Data)
	}
	for j := range X {
		X[j] = fromTriangle(x[j*each:(j+1)*each], d.n)
	}
	d.Tangent = blas.Clone(d.Point.X)
	c := blas.Product(d.Backend, false, false, B, blas.Vector(x))
	d.Backend.Dtrsm(blas.Left, blas.Lower, blas.Trans, blas.NonUnit, B.Rows, 1, -1/math.Sqrt2, M.Data, M.Stride,
		c.Data, 1)
	for a, v := range c.Data {
		blas.Row(d.Tangent, d.row[a])[d.col[a]] += v
	}
	return X, nil
}

// derivatives are, by the elements of X, the derivatives a of the predictions in the cells, one cell a row; the
// negative gradient of the merit, followed by the derivatives of the constraints; and vectors u_j, where u_ju_jᵀ
// is the second derivative of the constraint times its multiplier.
func (d *Sum) derivatives() (B, g blas.General, curve [][]float64) {
	q, each := d.Norm.Q(), d.order()
	rows := 1
	if math.IsInf(q, 1) {
		rows = d.m
	} else {
		curve = make([][]float64, d.m)
	}
	theta := d.multipliers()
	B, g = blas.NewGeneral(len(d.y), d.m*each), blas.NewGeneral(d.m*each, 1+rows)
	C, KC, P := blas.Clone(d.Point.X), blas.Like(d.Y), blas.Like(d.Y)
	if d.Cells != nil {
		d.Cells.Project(C, C)
	}
	for j, k := range d.kernels {
		G, RR := congruent(d.Backend, k.R, d.Point.G[j]), blas.Like(k.R)
		blas.Symmetrize(G)
		for i, v := range k.Lambda {
			G.Data[i*d.n+i] += d.nu / v
		}
		blas.GramOf(d.Backend, RR, k.R)
		size, at, traces := k.Trace()/d.Tau, 1, triangle(RR)
		if math.IsInf(q, 1) {
			at, size = 1+j, 1
		} else {
			curve[j] = slices.Clone(traces)
			blas.Scal(math.Sqrt((q-1)*theta[j]/(size*d.Tau)), curve[j])
			size = math.Pow(size, q-1)
		}
		for i, v := range triangle(G) {
			row := blas.Row(g, j*each+i)
			row[0], row[at] = v, size*traces[i]
		}
		d.K[j].Apply(KC, C)
		d.Columns += d.n
		blas.Mul(d.Backend, P, false, false, KC, k.R)
		par.For(len(d.y), func(c int) {
			x, v, out, at := blas.Row(P, d.row[c]), blas.Row(k.R, d.col[c]), blas.Row(B, c)[j*each:], 0
			for a := range d.n {
				for b := range a {
					out[at] = (x[a]*v[b] + x[b]*v[a]) / math.Sqrt2
					at++
				}
				out[at] = x[a] * v[a]
				at++
			}
			blas.Scal(d.root[c], out[:at])
		})
	}
	return B, g, curve
}

// triangle is the elements of the lower triangle of the symmetric a, times √2 off the diagonal.
func triangle(a blas.General) (x []float64) {
	for i := range a.Rows {
		for _, v := range blas.Row(a, i)[:i] {
			x = append(x, math.Sqrt2*v)
		}
		x = append(x, blas.Row(a, i)[i])
	}
	return x
}

// fromTriangle is the matrix of order n that [triangle] reads x from.
func fromTriangle(x []float64, n int) blas.General {
	a := blas.NewGeneral(n, n)
	for i := range n {
		for j := range i {
			a.Data[i*n+j], a.Data[j*n+i] = x[j]/math.Sqrt2, x[j]/math.Sqrt2
		}
		a.Data[i*n+i] = x[i]
		x = x[i+1:]
	}
	return a
}
