// The marginal likelihood of a Gaussian process, and its gradient in the parameters of the kernel.

package lengths

import (
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/par"
	"github.com/iokl/iokl/internal/dense/vmath"
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
// for Gaussian processes of covariance σ_t²(K + μI) at the σ_t that are most likely, K = Σ_b w_b k_b + c·XXᵀ/d with
// lengths θ_b of each of B kernels and w_1 = 1. It is a function of p = (log θ_1, …, log θ_B, log w_2, …, log w_B,
// log μ, log c), of B·d + B + 1 numbers. With
//
//	G = ∂S/∂K = A/l − α diag(1/y_tᵀα_t) αᵀ/n,   M = w_b·G ∘ ∂k_b/∂r²
//
// its gradient is
//
//	∂S/∂log μ = μ tr G,   ∂S/∂log c = c⟨G, XXᵀ⟩/d,   ∂S/∂log w_b = w_b⟨G, k_b⟩,
//	∂S/∂log θ_bc = 2θ_bc(Σ_i x_ic² (M1)_i − x_cᵀMx_c).
//
// Where it is turned, kernels of r² are of T_b·diag(√θ_b)·x, T_b unit lower triangular: any metric (x−z)ᵀM(x−z) is one
// of these. The numbers below the diagonals of T_b follow log w_B, row by row, d(d−1)/2 for each such kernel. With
//
//	E = 2T_b·diag(√θ_b)·Xᵀ(diag(M1)X − MX)·diag(√θ_b)
//
// they have the gradient ∂S/∂T_b = 2E, and ∂S/∂log θ_bc = Σ_r E_rc (T_b)_rc, which is the one above for T_b = I.
//
// An evaluation takes l³ + 3Bl²d multiplications and additions, and 2 + 2B matrices of l² numbers, of which the lower
// triangles are used. It ends with +Inf soon after ended reports true. It serves one goroutine.
type criterion struct {
	layout
	be     blas.Backend
	ended  func() bool  // nil for never
	X, Y   blas.General // X is l×(d+1), with a column of ones
	linear blas.General // XXᵀ/d
	terms  []term
	A      blas.General // K + μI, its inverse, G
	MX     blas.General
	alpha  blas.General
	inner  blas.General // l×(2+B): what each row adds to tr G, to ⟨G, XXᵀ⟩/d and to ⟨G, k_b⟩
}

// term is one kernel k_b.
type term struct {
	shape
	Z, Zt  blas.General // T·diag(√θ)·x in rows, and where it is absolute its transpose
	norm   []float64    // squared norms of the rows of Z
	K      blas.General
	slopes blas.General // ∂k/∂r², M
}

// newCriterion is that of X (l×d) and Y (l×n).
func newCriterion(kinds []kernel.Kind, turned bool, X, Y blas.General, be blas.Backend) *criterion {
	l, d := X.Rows, X.Cols
	c := &criterion{
		layout: layout{kinds, d, turned}, be: blas.Or(be), X: blas.NewGeneral(l, d+1), Y: Y,
		linear: blas.NewGeneral(l, l), A: blas.NewGeneral(l, l),
		MX: blas.NewGeneral(l, d+1), alpha: blas.NewGeneral(l, Y.Cols), inner: blas.NewGeneral(l, 2+len(kinds)),
	}
	for _, kind := range kinds {
		c.terms = append(c.terms, term{
			shape: shapes[kind], Z: blas.NewGeneral(l, d), norm: make([]float64, l),
			K: blas.NewGeneral(l, l), slopes: blas.NewGeneral(l, l),
		})
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
		if c.over() {
			return
		}
		for i := lo; i < hi; i++ {
			f(i)
		}
	})
}

// over reports whether values mean nothing any more.
func (c *criterion) over() bool { return c.ended != nil && c.ended() }

// low is row i of the lower triangle of a.
func low(a blas.General, i int) []float64 { return blas.Row(a, i)[:i+1] }

// parameters are the values whose logarithms p has, and the numbers of T.
type parameters struct {
	theta      [][]float64 // of each term
	turn       [][]float64 // of each term the numbers below the diagonal of T; none: T = I
	weights    []float64
	mu, linear float64
}

func (c *criterion) parameters(p []float64) (v parameters) {
	value := make([]float64, len(p))
	for k := range p {
		value[k] = math.Exp(p[k])
	}
	for range c.terms {
		v.theta, value = append(v.theta, value[:c.d]), value[c.d:]
	}
	more, last := len(c.terms)-1, len(value)-2
	v.weights, v.mu, v.linear = append([]float64{1}, value[:more]...), value[last], value[last+1]
	v.turn = c.turns(p)
	return v
}

// evaluate returns S at p and writes its gradient, unless that is nil. Where S is not finite it returns +Inf and zeros.
func (c *criterion) evaluate(p, grad []float64) float64 {
	v := c.parameters(p)
	clear(grad)
	S := math.Inf(1)
	if !c.over() && c.factorize(&v) {
		if S = c.likelihood(grad != nil); grad != nil {
			c.gradient(&v, grad)
		}
	}
	sum := S
	for _, g := range grad {
		sum += g
	}
	if c.over() || math.IsNaN(sum) || math.IsInf(sum, 0) {
		clear(grad)
		return math.Inf(1)
	}
	return S
}

// factorize leaves the Cholesky factor of K + μI in A, and the kernels and their derivatives in the terms. It reports
// whether the matrix is positive definite.
func (c *criterion) factorize(v *parameters) bool {
	for b := range c.terms {
		c.terms[b].transform(c.X, v.theta[b], v.turn[b])
		c.fill(&c.terms[b])
	}
	c.rows(func(i int) {
		k := low(c.A, i)
		clear(k)
		for b := range c.terms {
			blas.Axpy(v.weights[b], low(c.terms[b].K, i), k)
		}
		blas.Axpy(v.linear, low(c.linear, i), k)
		k[i] += v.mu
	})
	return c.be.Potrf(c.A)
}

// fill computes the kernel and its derivative on the rows of Z.
func (c *criterion) fill(t *term) {
	l, d := t.Z.Rows, t.Z.Cols
	if !t.absolute {
		c.be.Dsyrk(blas.Lower, blas.NoTrans, l, d, 1, t.Z.Data, d, 0, t.K.Data, l)
	}
	c.rows(func(i int) {
		k := low(t.K, i)
		if t.absolute {
			vmath.L1Row(k, blas.Row(t.Z, i), t.Zt.Data, l)
		} else {
			apart, rounding := k[:i], float64(d)*0x1p-52
			if k[i] = 0; vmath.SqDistBelow(apart, t.norm[i], t.norm, rounding, 0) { // rounding parts rows that coincide
				for j, r2 := range apart {
					if r2 <= rounding*(t.norm[i]+t.norm[j]) {
						apart[j] = 0
					}
				}
			}
		}
		t.shape.fill(k, low(t.slopes, i))
	})
}

// transform multiplies the rows of X by T·diag(√θ).
func (t *term) transform(X blas.General, theta, turn []float64) {
	root := make([]float64, len(theta))
	for k, v := range theta {
		root[k] = math.Sqrt(v)
	}
	for i := range t.Z.Rows {
		row, x := blas.Row(t.Z, i), blas.Row(X, i)
		for k, v := range root {
			row[k] = v * x[k]
		}
		for r := len(row) - 1; r > 0 && len(turn) > 0; r-- {
			row[r] += blas.Dot(below(turn, r), row[:r])
		}
		t.norm[i] = blas.Dot(row, row)
	}
	if t.absolute {
		t.Zt = blas.Transposed(t.Z)
	}
}

// likelihood returns S, from the factor of K + μI in A, and leaves G there where the gradient is wanted.
func (c *criterion) likelihood(gradient bool) (S float64) {
	l, n := c.Y.Rows, c.Y.Cols
	for i := range l {
		S += 2 * math.Log(c.A.Data[i*l+i]) / float64(l)
	}
	if gradient {
		c.be.Potri(c.A)
		c.be.Dsymm(blas.Left, blas.Lower, l, n, 1, c.A.Data, l, c.Y.Data, c.Y.Stride, 0, c.alpha.Data, n)
	} else {
		blas.Copy(c.alpha, c.Y)
		blas.Potrs(c.be, c.A, c.alpha)
	}
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
	if gradient {
		blas.ScaleColumns(c.alpha, root)
		c.be.Dsyrk(blas.Lower, blas.NoTrans, l, n, -1, c.alpha.Data, n, 1/float64(l), c.A.Data, l)
	}
	return S
}

// gradient is made from G.
func (c *criterion) gradient(v *parameters, grad []float64) {
	d, B := c.d, len(c.terms)
	c.rows(func(i int) {
		g, inner := low(c.A, i), blas.Row(c.inner, i)
		product := func(k []float64) float64 { return 2*blas.Dot(g, k) - g[i]*k[i] }
		inner[0], inner[1] = g[i], product(low(c.linear, i))
		for b := range c.terms {
			inner[2+b] = product(low(c.terms[b].K, i))
			m := low(c.terms[b].slopes, i)
			for j, h := range g {
				m[j] *= v.weights[b] * h
			}
		}
	})
	for i := range c.X.Rows {
		inner := blas.Row(c.inner, i)
		grad[len(grad)-2] += v.mu * inner[0]
		grad[len(grad)-1] += v.linear * inner[1]
		for b := 1; b < B; b++ {
			grad[B*d+b-1] += v.weights[b] * inner[2+b]
		}
	}
	turns := c.turns(grad)
	for b := range c.terms {
		t, lengths := &c.terms[b], grad[b*d:(b+1)*d]
		switch {
		case t.absolute:
			t.absoluteGradient(lengths)
		case len(turns[b]) > 0:
			c.turnedGradient(t, v.theta[b], v.turn[b], lengths, turns[b])
		default:
			c.squaredGradient(t, v.theta[b], lengths)
		}
	}
}

// squaredGradient is ∂S/∂log θ_c of a kernel of r².
func (c *criterion) squaredGradient(t *term, theta, grad []float64) {
	d := len(theta)
	c.multiply(t)
	for i := range c.X.Rows {
		x, mx := blas.Row(c.X, i), blas.Row(c.MX, i)
		for k, v := range theta {
			grad[k] += 2 * v * x[k] * (x[k]*mx[d] - mx[k])
		}
	}
}

// multiply leaves MX, and M1 in its last column.
func (c *criterion) multiply(t *term) {
	l, d := c.X.Rows, c.X.Cols
	c.be.Dsymm(blas.Left, blas.Lower, l, d, 1, t.slopes.Data, l, c.X.Data, d, 0, c.MX.Data, d)
}

// absoluteGradient is ∂S/∂log θ_c = Σ_{i>j} M_ij √θ_c |x_ic − x_jc|.
func (t *term) absoluteGradient(grad []float64) {
	l := t.Z.Rows
	par.For(len(grad), func(k int) {
		column, apart := blas.Row(t.Zt, k), make([]float64, l)
		for i := range l {
			vmath.L1Row(apart[:i], column[i:i+1], column, l)
			grad[k] += blas.Dot(apart[:i], blas.Row(t.slopes, i))
		}
	})
}
