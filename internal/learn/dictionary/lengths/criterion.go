// This file evaluates the likelihood of a Gaussian process and its gradient in the parameters of the kernel.

package lengths

import (
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/par"
	"github.com/iokl/iokl/internal/vmath"
	"github.com/iokl/iokl/kernel"
)

// shape is a kernel as a function of r² = Σ_c θ_c (x_c−z_c)², or of Σ_c √θ_c |x_c−z_c|.
type shape struct {
	absolute bool // it is the second
	// fill overwrites values of this argument by those of the kernel, and slope by its derivative.
	fill func(k, slope []float64)
}

// shapes are the kernels whose lengths can be learned.
var shapes = map[kernel.Kind]shape{
	"gaussian": {fill: func(k, slope []float64) {
		vmath.Exp(k, k, -0.5)
		copy(slope, k)
		blas.Scal(-0.5, slope)
	}},
	"laplacian": {absolute: true, fill: func(k, slope []float64) {
		vmath.Exp(k, k, -1)
		copy(slope, k)
		blas.Scal(-1, slope)
	}},
	kernel.Matern12: {fill: func(k, slope []float64) {
		copy(slope, k)
		vmath.Matern(k, k, 1, 0)
		for i, v := range slope {
			if v > 0 { // rows that coincide do so at all lengths
				slope[i] = -k[i] / (2 * math.Sqrt(v))
			}
		}
	}},
	kernel.Matern32: matern(3, 1, -3./2),
	kernel.Matern52: matern(5, 2, -5./6),
}

// matern is the Matérn kernel of order ν, twice of which is given, a polynomial of this degree times exp(−√(2ν)·r). Its
// derivative by r² is factor times that of the degree below.
func matern(twice float64, degree int, factor float64) shape {
	rate := math.Sqrt(twice)
	return shape{fill: func(k, slope []float64) {
		vmath.Matern(slope, k, rate, degree-1)
		blas.Scal(factor, slope)
		vmath.Matern(k, k, rate, degree)
	}}
}

// criterion is the negative logarithm of the likelihood of n independent targets, up to constants and averaged,
//
//	S = (1/n) Σ_t log(y_tᵀα_t) − log det(A)/l,   α = AY,   A = (K + μI)⁻¹,
//
// for Gaussian processes of covariance σ_t²(K + μI) at the σ_t that are most likely, K = k + c·XXᵀ/d. It is a function
// of p = (log θ_1, …, log θ_d, log μ, log c). With
//
//	G = ∂S/∂K = A/l − α diag(1/y_tᵀα_t) αᵀ/n,   M = G ∘ ∂k/∂r²
//
// its gradient is
//
//	∂S/∂log μ = μ tr G,   ∂S/∂log c = c⟨G, XXᵀ⟩/d,   ∂S/∂log θ_c = 2θ_c(Σ_i x_ic² (M1)_i − x_cᵀMx_c).
//
// An evaluation takes l³ + 3l²d multiplications and additions, and three matrices of l² numbers, of which the lower
// triangles are used. It serves one goroutine.
type criterion struct {
	shape
	be       blas.Backend
	X, Y     blas.General // X is l×(d+1), with a column of ones
	linear   blas.General // XXᵀ/d
	Z, Zt    blas.General // X scaled by √θ, and its transpose
	norm     []float64    // squared norms of the rows of Z
	A        blas.General // K + μI, its inverse, G
	slopes   blas.General // ∂k/∂r², M
	MX       blas.General
	alpha    blas.General
	trace    []float64 // what each row adds to tr G
	products []float64 // and to ⟨G, XXᵀ⟩/d
}

// newCriterion is that of X (l×d) and Y (l×n).
func newCriterion(kind kernel.Kind, X, Y blas.General, be blas.Backend) *criterion {
	l, d := X.Rows, X.Cols
	c := &criterion{
		shape: shapes[kind], be: blas.Or(be), X: blas.NewGeneral(l, d+1), Y: Y, linear: blas.NewGeneral(l, l),
		A: blas.NewGeneral(l, l), slopes: blas.NewGeneral(l, l), Z: blas.NewGeneral(l, d), Zt: blas.NewGeneral(d, l),
		norm: make([]float64, l), MX: blas.NewGeneral(l, d+1), alpha: blas.NewGeneral(l, Y.Cols),
		trace: make([]float64, l), products: make([]float64, l),
	}
	for i := range l {
		row := blas.Row(c.X, i)
		copy(row, blas.Row(X, i))
		row[d] = 1
	}
	c.be.Dsyrk(blas.Lower, blas.NoTrans, l, d, 1/float64(d), X.Data, X.Stride, 0, c.linear.Data, l)
	return c
}

// rowsAtOnce is the number of rows of a triangle in one iteration of a parallel loop.
const rowsAtOnce = 16

// rows calls f for the rows of the lower triangles, in parallel.
func (c *criterion) rows(f func(i int)) {
	par.Ranges(c.X.Rows, rowsAtOnce, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			f(i)
		}
	})
}

// low is row i of the lower triangle of a.
func low(a blas.General, i int) []float64 { return blas.Row(a, i)[:i+1] }

// evaluate returns S at p and writes its gradient. Where S is not finite it returns +Inf, and zeros.
func (c *criterion) evaluate(p, grad []float64) float64 {
	d := c.Z.Cols
	theta := make([]float64, d)
	for k := range theta {
		theta[k] = math.Exp(p[k])
	}
	mu, linear := math.Exp(p[d]), math.Exp(p[d+1])
	clear(grad)
	S := math.Inf(1)
	if c.factorize(theta, mu, linear) {
		S = c.likelihood()
		c.gradient(theta, mu, linear, grad)
	}
	sum := S
	for _, v := range grad {
		sum += v
	}
	if math.IsNaN(sum) || math.IsInf(sum, 0) {
		clear(grad)
		return math.Inf(1)
	}
	return S
}

// factorize leaves the Cholesky factor of K + μI in A and ∂k/∂r² in slopes, and reports whether the matrix is positive
// definite.
func (c *criterion) factorize(theta []float64, mu, linear float64) bool {
	c.scale(theta)
	l, d := c.Z.Rows, c.Z.Cols
	if !c.absolute {
		c.be.Dsyrk(blas.Lower, blas.NoTrans, l, d, 1, c.Z.Data, d, 0, c.A.Data, l)
	}
	c.rows(func(i int) {
		k := low(c.A, i)
		if c.absolute {
			vmath.L1Row(k, blas.Row(c.Z, i), c.Zt.Data, l)
		} else {
			vmath.SqDist(k, c.norm[i], c.norm)
			for j, r2 := range k { // rounding parts rows that coincide
				if r2 <= float64(c.Z.Cols)*0x1p-52*(c.norm[i]+c.norm[j]) {
					k[j] = 0
				}
			}
		}
		c.fill(k, low(c.slopes, i))
		blas.Axpy(linear, low(c.linear, i), k)
		k[i] += mu
	})
	return c.be.Potrf(c.A)
}

// scale multiplies the columns of X by √θ.
func (c *criterion) scale(theta []float64) {
	l := c.Z.Rows
	for i := range l {
		row, x := blas.Row(c.Z, i), blas.Row(c.X, i)
		for k, t := range theta {
			row[k] = math.Sqrt(t) * x[k]
			c.Zt.Data[k*l+i] = row[k]
		}
		c.norm[i] = blas.Dot(row, row)
	}
}

// likelihood returns S and leaves G in A, from its factor.
func (c *criterion) likelihood() (S float64) {
	l, n := c.Y.Rows, c.Y.Cols
	for i := range l {
		S += 2 * math.Log(c.A.Data[i*l+i]) / float64(l)
	}
	c.be.Potri(c.A)
	c.be.Dsymm(blas.Left, blas.Lower, l, n, 1, c.A.Data, l, c.Y.Data, c.Y.Stride, 0, c.alpha.Data, n)
	root := make([]float64, n) // 1/√(n·y_tᵀα_t)
	for i := range l {
		for t, a := range blas.Row(c.alpha, i) {
			root[t] += a * blas.Row(c.Y, i)[t]
		}
	}
	for t, v := range root {
		S += math.Log(v) / float64(n)
		root[t] = 1 / math.Sqrt(v*float64(n))
	}
	blas.ScaleColumns(c.alpha, root)
	c.be.Dsyrk(blas.Lower, blas.NoTrans, l, n, -1, c.alpha.Data, n, 1/float64(l), c.A.Data, l)
	return S
}

// gradient is made from G.
func (c *criterion) gradient(theta []float64, mu, linear float64, grad []float64) {
	l, d := c.Z.Rows, c.Z.Cols
	c.rows(func(i int) {
		g, m, x := low(c.A, i), low(c.slopes, i), low(c.linear, i)
		c.trace[i], c.products[i] = g[i], 2*blas.Dot(g, x)-g[i]*x[i]
		for j, v := range g {
			m[j] *= v
		}
	})
	for i := range l {
		grad[d] += mu * c.trace[i]
		grad[d+1] += linear * c.products[i]
	}
	if c.absolute {
		c.absoluteGradient(grad)
		return
	}
	c.be.Dsymm(blas.Left, blas.Lower, l, d+1, 1, c.slopes.Data, l, c.X.Data, d+1, 0, c.MX.Data, d+1)
	for i := range l {
		x, mx := blas.Row(c.X, i), blas.Row(c.MX, i)
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
