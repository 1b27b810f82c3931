// This file evaluates the leave-one-out error of kernel ridge regression and its gradient in the parameters of the kernel.

package lengths

import (
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/par"
	"github.com/iokl/iokl/internal/vmath"
	"github.com/iokl/iokl/kernel"
)

// shape is a kernel as a function of a distance of scaled columns: r² = Σ_c θ_c (x_c−z_c)², or Σ_c √θ_c |x_c−z_c|.
type shape struct {
	absolute     bool                   // the distance is Σ_c √θ_c |x_c−z_c|
	value, slope func(dst, r []float64) // the kernel and its derivative by the distance
}

// shapes are the kernels whose lengths can be learned.
var shapes = map[kernel.Kind]shape{
	"gaussian": {
		value: func(dst, r []float64) { vmath.Exp(dst, r, -0.5) },
		slope: func(dst, r []float64) { scaled(-0.5, vmath.Exp)(dst, r, -0.5) },
	},
	"laplacian": {
		absolute: true,
		value:    func(dst, r []float64) { vmath.Exp(dst, r, -1) },
		slope:    func(dst, r []float64) { scaled(-1, vmath.Exp)(dst, r, -1) },
	},
	kernel.Matern12: {
		value: func(dst, r []float64) { vmath.Matern(dst, r, 1, 0) },
		slope: func(dst, r []float64) {
			vmath.Matern(dst, r, 1, 0)
			for i, v := range r {
				if v > 0 {
					dst[i] /= -2 * math.Sqrt(v)
				} else {
					dst[i] = 0 // rows that coincide do so at any length
				}
			}
		},
	},
	kernel.Matern32: matern(3, 1, -3./2),
	kernel.Matern52: matern(5, 2, -5./6),
}

// matern is the Matérn kernel of order ν = half/2, of a polynomial of this degree: its derivative by r² is factor times that
// of the degree below.
func matern(half float64, degree int, factor float64) shape {
	rate := math.Sqrt(half)
	return shape{
		value: func(dst, r []float64) { vmath.Matern(dst, r, rate, degree) },
		slope: func(dst, r []float64) {
			vmath.Matern(dst, r, rate, degree-1)
			blas.Scal(factor, dst)
		},
	}
}

func scaled(by float64, f func(dst, x []float64, a float64)) func(dst, x []float64, a float64) {
	return func(dst, x []float64, a float64) {
		f(dst, x, a)
		blas.Scal(by, dst)
	}
}

// criterion is the logarithm of the leave-one-out error, averaged over the n targets,
//
//	S = (1/n) Σ_t log(‖e_t‖²/l),   e_it = α_it/A_ii,   α = AY,   A = (K + μI)⁻¹,
//
// of kernel ridge regression of Y (l×n) on X (l×d) with K = k(r) + c·XXᵀ/d, as a function of
// p = (log θ_1, …, log θ_d, log μ, log c). With G = ∂S/∂K its gradient is
//
//	∂S/∂log μ = μ tr G,   ∂S/∂log c = c⟨G, XXᵀ⟩/d,   ∂S/∂log θ_c = ⟨G ∘ ∂k/∂r, ∂r/∂log θ_c⟩.
//
// An evaluation takes 2l³ + 3l²d multiplications and additions, and five matrices of l² numbers.
// It serves one goroutine.
type criterion struct {
	shape
	likelihood bool // the criterion is the negative logarithm of the likelihood, see evidence
	be         blas.Backend
	X1, Y      blas.General // X1 is X with a column of ones
	linear     blas.General // XXᵀ/d
	Z, Zt      blas.General // X scaled by √θ, and its transpose
	norm       []float64    // squared norms of the rows of Z
	A          blas.General // K + μI and its inverse
	slopes     blas.General // ∂k/∂r, then G ∘ ∂k/∂r
	G          blas.General
	root       blas.General
	MX         blas.General
	alpha, B   blas.General
	D, trace   []float64 // by rows
	inner      []float64
	line       [][]float64
}

// newCriterion keeps X and Y.
func newCriterion(kind kernel.Kind, X, Y blas.General, be blas.Backend) *criterion {
	l, d := X.Rows, X.Cols
	square := func() blas.General { return blas.NewGeneral(l, l) }
	c := &criterion{
		shape: shapes[kind], be: blas.Or(be), Y: Y, X1: blas.NewGeneral(l, d+1),
		linear: square(), Z: blas.NewGeneral(l, d), Zt: blas.NewGeneral(d, l), norm: make([]float64, l),
		A: square(), slopes: square(), G: square(), root: square(), MX: blas.NewGeneral(l, d+1),
		alpha: blas.NewGeneral(l, Y.Cols), B: blas.NewGeneral(l, Y.Cols),
		D: make([]float64, l), trace: make([]float64, l), inner: make([]float64, l),
	}
	for i := range l {
		row := blas.Row(c.X1, i)
		copy(row, blas.Row(X, i))
		row[d] = 1
	}
	c.be.Dsyrk(blas.Lower, blas.NoTrans, l, d, 1/float64(d), X.Data, X.Stride, 0, c.linear.Data, l)
	return c
}

// rowsAtOnce is the number of rows of a triangle that are computed by one call of a parallel loop.
const rowsAtOnce = 16

// rows calls f for the rows of the lower triangles.
func (c *criterion) rows(f func(i int)) {
	par.Ranges(c.X1.Rows, rowsAtOnce, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			f(i)
		}
	})
}

// distances fills the lower triangle of G with the distances of the scaled rows.
func (c *criterion) distances(theta []float64) {
	l, d := c.Z.Rows, c.Z.Cols
	for i := range l {
		row, x := blas.Row(c.Z, i), blas.Row(c.X1, i)
		for k, t := range theta {
			row[k] = math.Sqrt(t) * x[k]
			c.Zt.Data[k*l+i] = row[k]
		}
		c.norm[i] = blas.Dot(row, row)
	}
	if c.absolute {
		c.rows(func(i int) { vmath.L1Row(blas.Row(c.G, i)[:i+1], blas.Row(c.Z, i), c.Zt.Data, l) })
		return
	}
	c.be.Dsyrk(blas.Lower, blas.NoTrans, l, d, 1, c.Z.Data, c.Z.Stride, 0, c.G.Data, l)
	c.rows(func(i int) { vmath.SqDist(blas.Row(c.G, i)[:i+1], c.norm[i], c.norm) })
}

// factor makes A = (K + μI)⁻¹ and returns log det(K + μI); ok is false where that is not positive definite.
func (c *criterion) factor(theta []float64, mu, linear float64) (det float64, ok bool) {
	c.distances(theta)
	c.rows(func(i int) {
		r, k := blas.Row(c.G, i)[:i+1], blas.Row(c.A, i)[:i+1]
		c.value(k, r)
		c.slope(blas.Row(c.slopes, i)[:i+1], r)
		blas.Axpy(linear, blas.Row(c.linear, i)[:i+1], k)
		k[i] += mu
	})
	if !c.be.Potrf(c.A) {
		return 0, false
	}
	for i := range c.A.Rows {
		det += 2 * math.Log(c.A.Data[i*c.A.Stride+i])
	}
	c.be.Potri(c.A)
	blas.MirrorLower(c.A)
	return det, true
}

// evaluate returns S at p and writes its gradient; +Inf and zeros where S is not finite.
func (c *criterion) evaluate(p, grad []float64) float64 {
	d := c.Z.Cols
	clear(grad)
	theta := make([]float64, d)
	for k := range theta {
		theta[k] = math.Exp(p[k])
	}
	mu, linear := math.Exp(p[d]), math.Exp(p[d+1])
	det, ok := c.factor(theta, mu, linear)
	if !ok {
		return math.Inf(1)
	}
	blas.Mul(c.be, c.alpha, false, false, c.A, c.Y)
	S := c.leaveOneOut
	if c.likelihood {
		S = func() float64 { return c.evidence(det) }
	}
	value := S()
	c.gradient(theta, mu, linear, grad)
	for _, v := range grad {
		value += 0 * v
	}
	if math.IsNaN(value) || math.IsInf(value, 0) {
		clear(grad)
		return math.Inf(1)
	}
	return value
}

// leaveOneOut returns S and leaves ∂S/∂K in the lower triangle of G:
//
//	G = 2A diag(s) A − (Bαᵀ + αBᵀ),   s_i = A_ii⁻² Σ_t e_it α_it/‖e_t‖²/n,   B = A diag(1/A_ii) E diag(1/‖e_t‖²)/n.
func (c *criterion) leaveOneOut() (S float64) {
	l, n := c.Y.Rows, c.Y.Cols
	square := make([]float64, n) // ‖e_t‖²
	for i := range l {
		c.D[i] = 1 / c.A.Data[i*c.A.Stride+i]
		for t, a := range blas.Row(c.alpha, i) {
			square[t] += c.D[i] * a * c.D[i] * a
		}
	}
	for _, v := range square {
		S += math.Log(v/float64(l)) / float64(n)
	}
	E := blas.NewGeneral(l, n) // diag(1/A_ii) E diag(1/‖e_t‖²)/n
	for i := range l {
		var s float64
		for t, a := range blas.Row(c.alpha, i) {
			e := c.D[i] * a / square[t] / float64(n)
			s += e * a
			E.Data[i*n+t] = c.D[i] * e
		}
		c.trace[i] = c.D[i] * math.Sqrt(2*s)
	}
	c.rows(func(i int) {
		row := blas.Row(c.root, i)
		for j, v := range blas.Row(c.A, i) {
			row[j] = v * c.trace[j]
		}
	})
	c.be.Dsyrk(blas.Lower, blas.NoTrans, l, l, 1, c.root.Data, l, 0, c.G.Data, l)
	blas.Mul(c.be, c.B, false, false, c.A, E)
	c.be.Dsyr2k(blas.Lower, blas.NoTrans, l, n, -1, c.B.Data, n, c.alpha.Data, n, 1, c.G.Data, l)
	return S
}

// evidence is the negative log likelihood.
func (c *criterion) evidence(det float64) (S float64) {
	l, n := c.Y.Rows, c.Y.Cols
	square := make([]float64, n)
	for i := range l {
		for t, a := range blas.Row(c.alpha, i) {
			square[t] += a * blas.Row(c.Y, i)[t]
		}
	}
	blas.Copy(c.B, c.alpha)
	for t, v := range square {
		S += math.Log(v) / float64(n)
		square[t] = 1 / math.Sqrt(v*float64(n))
	}
	blas.ScaleColumns(c.B, square)
	c.rows(func(i int) { copy(blas.Row(c.G, i)[:i+1], blas.Row(c.A, i)[:i+1]) })
	c.be.Dsyrk(blas.Lower, blas.NoTrans, l, n, -1, c.B.Data, n, 1/float64(l), c.G.Data, l)
	return S + det/float64(l)
}

// gradient turns ∂S/∂K into the gradient.
func (c *criterion) gradient(theta []float64, mu, linear float64, grad []float64) {
	l, d := c.Z.Rows, c.Z.Cols
	c.rows(func(i int) {
		g, m := blas.Row(c.G, i)[:i+1], blas.Row(c.slopes, i)[:i+1]
		x := blas.Row(c.linear, i)[:i+1]
		c.trace[i] = g[i]
		c.inner[i] = 2*blas.Dot(g, x) - g[i]*x[i]
		for j, v := range g {
			m[j] *= v
		}
	})
	for i := range l {
		grad[d] += mu * c.trace[i]
		grad[d+1] += linear * c.inner[i]
	}
	if c.absolute {
		c.absoluteGradient(grad)
		return
	}
	c.be.Dsymm(blas.Left, blas.Lower, l, d+1, 1, c.slopes.Data, l, c.X1.Data, c.X1.Stride, 0, c.MX.Data, c.MX.Stride)
	for i := range l {
		x, mx := blas.Row(c.X1, i), blas.Row(c.MX, i)
		for k, t := range theta {
			grad[k] += 2 * t * x[k] * (x[k]*mx[d] - mx[k])
		}
	}
}

// absoluteGradient is ∂S/∂log θ_c = Σ_{i>j} M_ij √θ_c |x_ic − x_jc|.
func (c *criterion) absoluteGradient(grad []float64) {
	l := c.Z.Rows
	par.For(c.Z.Cols, func(k int) {
		column, apart := blas.Row(c.Zt, k), make([]float64, l)
		for i := range l {
			vmath.L1Row(apart[:i], column[i:i+1], column, l)
			grad[k] += blas.Dot(apart[:i], blas.Row(c.slopes, i))
		}
	})
}
