// This file learns a sum of separable kernels by restricted likelihood.

package bcd

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/memory"
	"github.com/iokl/iokl/internal/par"
	"github.com/iokl/iokl/linop"
)

// Components are the estimates of a mixed model beside its output kernels L_j.
type Components struct {
	LogLikelihood float64   `json:"log_likelihood"` // restricted, of the observed cells
	Gain          float64   `json:"gain"`           // what a further step would raise it and the logarithm of the prior by, to second order
	Noise         []float64 `json:"noise"`          // residual variance σ_k² of each output
	Intercept     []float64 `json:"intercept"`      // of each output, by generalised least squares
	// Shares holds for each kernel, and last for the residuals, the share of the variance of each
	// output: κ_j·(L_j)_kk and σ_k² over their sum, with κ_j the mean diagonal of K_j.
	Shares [][]float64 `json:"shares"`
}

// mixed maximises the restricted likelihood of the mixed model
//
//	y_Ω ~ N(Hb, V),   V = (Σ_j K_j⊗L_j + I⊗diag(σ²))_ΩΩ,   −log p = ½(log|V| + log|HᵀV⁻¹H| + yᵀα + (N−n)·log 2π),
//
// with an intercept b_k of each output, N observed cells, P = V⁻¹ − V⁻¹H(HᵀV⁻¹H)⁻¹HᵀV⁻¹ and α = Py, times an inverse Wishart
// density of each L_j,
//
//	−log p(L_j) = ½ν(log|L_j| + mode·tr L_j⁻¹) + const.,   mode = priorVariance/m,   ν = 2(n + 1),
//
// for outputs of variance 1, the default of BGLR for several outputs (Pérez-Rodríguez and de los Campos 2022) without its
// correlations: it weighs as much as 2(n + 1) samples, and keeps L_j positive definite. The unknowns are triangular A_j
// with L_j = A_jA_jᵀ, and σ. The steps are Newton's with the average information
// ½αᵀ(∂V)P(∂V)α in the place of the second derivatives with respect to V (Gilmour, Thompson and Cullis 1995), damped so
// that each raises the product. A step costs N³ flops and takes 16N² bytes.
type mixed struct {
	be   blas.Backend
	l, n int
	K    []blas.General // of mean diagonal 1
	size []float64      // the mean diagonals they had
	y    []float64      // the observed cells, output by output, over the deviations
	dev  []float64      // of the outputs, about their means
	row  []int          // of each cell
	from []int          // the first cell of each output, and N
	V, W blas.General   // N×N: Cholesky's factor of V; its inverse
}

// mixedPoint is parameters and the likelihood there.
type mixedPoint struct {
	x     []float64      // rows of the lower triangles of all A_j, then σ
	A     []blas.General // n×n
	s     []float64      // σ
	value float64        // −log p − Σ log p(L_j)
	prior float64        // −Σ log p(L_j)
	B     []blas.General // A_j⁻¹
	b     []float64
	alpha []float64
	VH    blas.General // V⁻¹H, N×n
	M     blas.General // factor of HᵀV⁻¹H
}

// solveLikelihood is [Solve] for Problem.Likelihood.
func solveLikelihood(ctx context.Context, p *Problem, opt Options) (*Result, error) {
	if err := p.checkSum(opt); err != nil {
		return nil, err
	}
	f, err := newMixed(p, opt)
	if err != nil {
		return nil, err
	}
	pt := f.evaluate(f.start())
	if pt == nil {
		return nil, fmt.Errorf("%w: the covariance of the observed cells has no Cholesky factor", ErrNotPSD)
	}
	damped, iter, gain := dampingStart, 0, math.Inf(1)
	for ; ; iter++ {
		if err = ctx.Err(); err != nil {
			break
		}
		g, info, curvature := f.derivatives(pt)
		var step func(damping float64) []float64
		if step, gain, err = newtonStep(f.be, g, info, curvature); err != nil {
			break
		}
		if opt.Trace != nil {
			if err = opt.Trace(Step{Iter: iter, Objective: pt.value, GapL: gain, RelativeGap: gain, Eta: f.weights(pt, p.Tau), Rank: f.n}); err != nil {
				break
			}
		}
		if gain <= opt.Tol || iter == opt.MaxOuter {
			break
		}
		var next *mixedPoint
		for ; damped < dampingMost; damped = math.Max(damped, dampingLeast) * 8 {
			x, dx := slices.Clone(pt.x), step(damped)
			blas.Axpy(1, dx, x)
			if next = f.evaluate(x); next != nil && next.value < pt.value {
				expected := -blas.Dot(g, dx) / 2
				switch rise := pt.value - next.value; {
				case rise > expected/2:
					damped /= 5
				case rise < expected/5:
					damped *= 4
				}
				break
			}
			next = nil
		}
		if next == nil {
			break
		}
		pt = next
	}
	res, e := f.result(pt, p.Tau, iter, gain)
	if e != nil {
		return nil, e
	}
	if res.Converged = gain <= opt.Tol; err == nil && !res.Converged {
		err = fmt.Errorf("%w: after %d steps the next would raise the log-likelihood by %.3g, wanted %.3g", ErrNotConverged, iter, gain, opt.Tol)
	}
	return res, err
}

// newMixed gathers the observed cells and the kernels.
func newMixed(p *Problem, opt Options) (*mixed, error) {
	s := p.Space.(sampled).inSamples()
	f := &mixed{be: blas.Or(opt.Backend), l: s.Y.Rows, n: s.Y.Cols, from: []int{0}}
	for k := range f.n {
		var v []float64
		for i := range f.l {
			if s.cells == nil || s.cells.Has(i, k) {
				f.row, v = append(f.row, i), append(v, s.Y.Data[i*s.Y.Stride+k])
			}
		}
		mean, square := 0.0, 0.0
		for _, y := range v {
			mean += y / float64(len(v))
		}
		for _, y := range v {
			square += (y - mean) * (y - mean) / float64(len(v))
		}
		if len(v) < 2 || !positive(square) {
			return nil, fmt.Errorf("%w: output %d has no variance in its %d observed cells, from which a likelihood could tell anything", ErrInput, k, len(v))
		}
		f.dev = append(f.dev, math.Sqrt(square))
		for _, y := range v {
			f.y = append(f.y, y/f.dev[k])
		}
		f.from = append(f.from, len(f.y))
	}
	N, m, q := float64(len(f.y)), float64(s.K.Len()), float64(f.parameters(s.K.Len()))
	bytes := 8 * (2*N*N + 2*N*q + 4*q*q + m*float64(f.l)*float64(f.l))
	if err := memory.Allow(opt.MaxBytes, fmt.Sprintf("bcd: a likelihood of %.0f observed cells and %.0f parameters", N, q), bytes, "fit fewer rows, or learn the output kernels without likelihood"); err != nil {
		return nil, err
	}
	for j := range s.K.Len() {
		K := blas.NewGeneral(f.l, f.l)
		s.K.(linop.Separate).DenseTerm(K, j)
		size := 0.0
		for i := range f.l {
			size += K.Data[i*f.l+i] / float64(f.l)
		}
		if !positive(size) {
			return nil, fmt.Errorf("%w: kernel %d has a mean diagonal of %g", ErrInput, j, size)
		}
		blas.Scal(1/size, K.Data)
		f.K, f.size = append(f.K, K), append(f.size, size)
	}
	f.V, f.W = blas.NewGeneral(len(f.y), len(f.y)), blas.NewGeneral(len(f.y), len(f.y))
	return f, nil
}

// parameters is how many there are with m kernels.
func (f *mixed) parameters(m int) int { return m*f.n*(f.n+1)/2 + f.n }

// priorWeight is ν.
func (f *mixed) priorWeight() float64 { return 2 * float64(f.n+1) }

// priorMode is the variance of an output in each kernel where the prior density is highest.
func (f *mixed) priorMode() float64 { return priorVariance / float64(len(f.K)) }

// start is the mode of the prior, and noise of the variance that is left.
func (f *mixed) start() []float64 {
	var x []float64
	for range f.K {
		for a := range f.n {
			x = append(append(x, make([]float64, a)...), math.Sqrt(f.priorMode()))
		}
	}
	return append(x, slices.Repeat([]float64{math.Sqrt(1 - priorVariance)}, f.n)...)
}

// output is that of cell p.
func (f *mixed) output(p int) int {
	k, exact := slices.BinarySearch(f.from, p)
	if !exact {
		k--
	}
	return k
}

// evaluate computes the value at x, which it keeps; nil where V or an L_j is not positive definite.
func (f *mixed) evaluate(x []float64) *mixedPoint {
	n, N := f.n, len(f.y)
	pt := &mixedPoint{x: x, s: x[len(x)-n:]}
	L := make([]blas.General, len(f.K))
	at := 0
	for j := range f.K {
		A := blas.NewGeneral(n, n)
		for a := range n {
			at += copy(blas.Row(A, a)[:a+1], x[at:])
		}
		pt.A, L[j] = append(pt.A, A), blas.NewGeneral(n, n)
		blas.Mul(f.be, L[j], false, true, A, A)
		B := blas.NewGeneral(n, n)
		for a := range n {
			B.Data[a*n+a] = 1
			pt.prior += f.priorWeight() * math.Log(math.Abs(A.Data[a*n+a]))
		}
		f.be.Dtrsm(blas.Left, blas.Lower, blas.NoTrans, blas.NonUnit, n, n, 1, A.Data, n, B.Data, n)
		pt.prior += f.priorWeight() * f.priorMode() * blas.Dot(B.Data, B.Data) / 2
		pt.B = append(pt.B, B)
	}
	par.For(N, func(p int) {
		a, line := f.output(p), blas.Row(f.V, p)
		clear(line[:p+1])
		for j, K := range f.K {
			k := blas.Row(K, f.row[p])
			for b := range a + 1 {
				v := L[j].Data[a*n+b]
				for q := f.from[b]; q < min(f.from[b+1], p+1); q++ {
					line[q] += v * k[f.row[q]]
				}
			}
		}
		line[p] += pt.s[a] * pt.s[a]
	})
	if !f.be.Potrf(f.V) {
		return nil
	}
	B := blas.NewGeneral(N, n+1) // H and y
	for p, y := range f.y {
		B.Data[p*(n+1)+f.output(p)], B.Data[p*(n+1)+n] = 1, y
		pt.value += math.Log(f.V.Data[p*N+p])
	}
	for _, t := range []bool{false, true} {
		f.triangular(t, B)
	}
	pt.VH = blas.Clone(blas.View(B, 0, 0, N, n))
	pt.M, pt.b = blas.NewGeneral(n, n), make([]float64, n)
	for k := range n {
		for p := f.from[k]; p < f.from[k+1]; p++ {
			blas.Axpy(1, blas.Row(pt.VH, p), blas.Row(pt.M, k))
			pt.b[k] += B.Data[p*(n+1)+n]
		}
	}
	if !f.be.Potrf(pt.M) {
		return nil
	}
	pt.centre(f.be, blas.Vector(pt.b))
	pt.alpha = make([]float64, N)
	for p := range pt.alpha {
		pt.alpha[p] = B.Data[p*(n+1)+n] - blas.Dot(blas.Row(pt.VH, p), pt.b)
	}
	for k := range n {
		pt.value += math.Log(pt.M.Data[k*n+k])
		// The densities are those of the cells, not of these over the deviations.
		pt.value += float64(f.from[k+1]-f.from[k]-1) * (math.Log(f.dev[k]) + math.Log(2*math.Pi)/2)
	}
	pt.value += blas.Dot(f.y, pt.alpha)/2 + pt.prior
	if math.IsNaN(pt.value) || math.IsInf(pt.value, 0) {
		return nil
	}
	return pt
}

// coefficients are α on the grid, 0 in the missing cells.
func (f *mixed) coefficients(pt *mixedPoint) blas.General {
	C := blas.NewGeneral(f.l, f.n)
	for p, v := range pt.alpha {
		C.Data[f.row[p]*f.n+f.output(p)] = v
	}
	return C
}

// kernel is L_j in the units of the caller.
func (f *mixed) kernel(pt *mixedPoint, j int) blas.General {
	L := blas.NewGeneral(f.n, f.n)
	blas.Mul(f.be, L, false, true, pt.A[j], pt.A[j])
	for a := range f.n {
		for b := range f.n {
			L.Data[a*f.n+b] *= f.dev[a] * f.dev[b] / f.size[j]
		}
	}
	return L
}

// weights are tr L_j/τ.
func (f *mixed) weights(pt *mixedPoint, tau float64) []float64 {
	eta := make([]float64, len(f.K))
	for j := range eta {
		eta[j] = trace(f.kernel(pt, j)) / tau
	}
	return eta
}

// result describes pt.
func (f *mixed) result(pt *mixedPoint, tau float64, iter int, gain float64) (*Result, error) {
	c := &Components{LogLikelihood: pt.prior - pt.value, Gain: gain, Shares: make([][]float64, len(f.K)+1)}
	res := &Result{Eta: f.weights(pt, tau), C: f.coefficients(pt), Objective: pt.value, GapL: gain, RelativeGap: gain, OuterIterations: iter, Solver: "average information", Components: c}
	total := blas.NewGeneral(f.n, f.n)
	for j := range f.K {
		L := f.kernel(pt, j)
		blas.AddScaled(total, 1, L)
		S, err := linop.NewSpectral(f.be, L, eigenDrop)
		if err != nil {
			return nil, err
		}
		res.Ls = append(res.Ls, S)
		for k := range f.n {
			c.Shares[j] = append(c.Shares[j], L.Data[k*f.n+k]*f.size[j])
		}
	}
	for k, s := range pt.s {
		for i := range f.l {
			res.C.Data[i*f.n+k] /= f.dev[k]
		}
		c.Noise, c.Intercept = append(c.Noise, s*s*f.dev[k]*f.dev[k]), append(c.Intercept, pt.b[k]*f.dev[k])
		c.Shares[len(f.K)] = append(c.Shares[len(f.K)], c.Noise[k])
		sum := 0.0
		for _, v := range c.Shares {
			sum += v[k]
		}
		for _, v := range c.Shares {
			v[k] /= sum
		}
	}
	var err error
	res.L, err = linop.NewSpectral(f.be, total, eigenDrop)
	return res, err
}
