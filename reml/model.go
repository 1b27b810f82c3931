// The restricted likelihood and the prior.

package reml

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/internal/base/par"
	"github.com/iokl/iokl/linop"
)

// mixed is the observed cells and the kernels.
type mixed struct {
	be   blas.Backend
	l, n int
	K    []blas.General // of mean diagonal 1
	size []float64      // the mean diagonals they had
	y    []float64      // the observed cells, output by output, over the deviations
	dev  []float64      // of the outputs, about their means
	row  []int          // of each cell
	col  []int          // its output
	from []int          // the first cell of each output, and N
}

// point is parameters and the likelihood there.
type point struct {
	x     []float64      // rows of the lower triangles of all A_j, then σ
	A     []blas.General // n×n
	s     []float64      // σ
	value float64        // −log p − Σ log p(L_j)
	prior float64        // −Σ log p(L_j)
	B     []blas.General // A_j⁻¹
	b     []float64
	alpha []float64
	V     blas.General // Cholesky's factor of V, N×N
	VH    blas.General // V⁻¹H, N×n
	M     blas.General // factor of HᵀV⁻¹H
}

// newMixed gathers the observed cells and the kernels.
func newMixed(K linop.Separate, Y blas.General, opt Options) (*mixed, error) {
	if K.Dim() != Y.Rows || Y.Rows < 1 || Y.Cols < 1 {
		return nil, fmt.Errorf("%w: the kernel matrices are of order %d, Y is %d×%d", bcd.ErrInput, K.Dim(), Y.Rows,
			Y.Cols)
	}
	f := &mixed{be: blas.Or(opt.Backend), l: Y.Rows, n: Y.Cols, from: []int{0}}
	for k := range f.n {
		if err := f.gather(Y, k); err != nil {
			return nil, err
		}
	}
	N, m, q := float64(len(f.y)), float64(K.Len()), float64(f.parameters(K.Len()))
	bytes := 8 * (2*N*N + 2*N*q + 4*q*q + m*float64(f.l)*float64(f.l))
	what := fmt.Sprintf("reml: a likelihood of %.0f observed cells and %.0f parameters", N, q)
	if err := memory.Allow(opt.MaxBytes, what, bytes,
		"fit fewer rows, or learn the output kernels without likelihood"); err != nil {
		return nil, err
	}
	for j := range K.Len() {
		one := blas.NewGeneral(f.l, f.l)
		K.DenseTerm(one, j)
		size := blas.Trace(one) / float64(f.l)
		if !(size > 0) || math.IsInf(size, 0) {
			return nil, fmt.Errorf("%w: kernel %d has a mean diagonal of %g", bcd.ErrInput, j, size)
		}
		blas.Scal(1/size, one.Data)
		f.K, f.size = append(f.K, one), append(f.size, size)
	}
	return f, nil
}

// gather appends the observed cells of output k.
func (f *mixed) gather(Y blas.General, k int) error {
	var v []float64
	for i := range f.l {
		if y := Y.Data[i*Y.Stride+k]; !math.IsNaN(y) {
			f.row, f.col, v = append(f.row, i), append(f.col, k), append(v, y)
		}
	}
	variance := stat.PopVariance(v, nil)
	if len(v) < 2 || !(variance > 0) || math.IsInf(variance, 0) {
		return fmt.Errorf("%w: output %d has no variance in its %d observed cells, from which a likelihood could "+
			"tell anything", bcd.ErrInput, k, len(v))
	}
	f.dev = append(f.dev, math.Sqrt(variance))
	for _, y := range v {
		f.y = append(f.y, y/f.dev[k])
	}
	f.from = append(f.from, len(f.y))
	return nil
}

// parameters is how many there are with m kernels.
func (f *mixed) parameters(m int) int { return f.index(m, 0, 0) + f.n }

// index is the place of element (a, b), b ≤ a, of A_j among the parameters.
func (f *mixed) index(j, a, b int) int { return j*f.n*(f.n+1)/2 + a*(a+1)/2 + b }

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

// evaluate computes the value at x; nil where V or an L_j is not positive definite. The point keeps x and, for the
// factor, the N×N V.
func (f *mixed) evaluate(x []float64, V blas.General) *point {
	pt := &point{x: x, s: x[len(x)-f.n:], V: V}
	for j := range f.K {
		f.addPrior(pt, x[f.index(j, 0, 0):])
	}
	f.covariance(pt)
	if !f.be.Potrf(V) || !f.solve(pt) {
		return nil
	}
	for k, dev := range f.dev {
		pt.value += math.Log(pt.M.Data[k*f.n+k])
		// The densities are those of the cells, not of these over the deviations.
		pt.value += float64(f.from[k+1]-f.from[k]-1) * (math.Log(dev) + math.Log(2*math.Pi)/2)
	}
	pt.value += blas.Dot(f.y, pt.alpha)/2 + pt.prior
	if math.IsNaN(pt.value) || math.IsInf(pt.value, 0) {
		return nil
	}
	return pt
}

// addPrior appends the A of the next kernel, with the parameters x, and its inverse, and adds its share to the prior.
func (f *mixed) addPrior(pt *point, x []float64) {
	n := f.n
	A, B := blas.NewGeneral(n, n), linop.ScaledIdentity(n, 1).V
	for a := range n {
		x = x[copy(blas.Row(A, a)[:a+1], x):]
		pt.prior += f.priorWeight() * math.Log(math.Abs(A.Data[a*n+a]))
	}
	f.be.Dtrsm(blas.Left, blas.Lower, blas.NoTrans, blas.NonUnit, n, n, 1, A.Data, n, B.Data, n)
	pt.prior += f.priorWeight() * f.priorMode() * blas.Dot(B.Data, B.Data) / 2
	pt.A, pt.B = append(pt.A, A), append(pt.B, B)
}

// covariance writes the lower triangle of V.
func (f *mixed) covariance(pt *point) {
	n := f.n
	L := make([]blas.General, len(f.K))
	for j, A := range pt.A {
		L[j] = f.square(A)
	}
	par.For(len(f.y), func(p int) {
		a, line := f.col[p], blas.Row(pt.V, p)
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
}

// square is L = AAᵀ.
func (f *mixed) square(A blas.General) blas.General {
	return blas.Product(f.be, false, true, A, A)
}

// solve computes V⁻¹H, b and α with the factor of V, and begins the value with ½log|V|. It reports false where HᵀV⁻¹H
// has no factor.
func (f *mixed) solve(pt *point) bool {
	n, N := f.n, len(f.y)
	B := blas.NewGeneral(N, n+1) // H and y
	for p, y := range f.y {
		B.Data[p*(n+1)+f.col[p]], B.Data[p*(n+1)+n] = 1, y
		pt.value += math.Log(pt.V.Data[p*N+p])
	}
	blas.Potrs(f.be, pt.V, B)
	pt.VH = blas.Clone(blas.View(B, 0, 0, N, n))
	pt.M, pt.b = blas.NewGeneral(n, n), make([]float64, n)
	for k := range n {
		for p := f.from[k]; p < f.from[k+1]; p++ {
			blas.Axpy(1, blas.Row(pt.VH, p), blas.Row(pt.M, k))
			pt.b[k] += B.Data[p*(n+1)+n]
		}
	}
	if !f.be.Potrf(pt.M) {
		return false
	}
	blas.Potrs(f.be, pt.M, blas.Vector(pt.b))
	pt.alpha = make([]float64, N)
	for p := range pt.alpha {
		pt.alpha[p] = B.Data[p*(n+1)+n] - blas.Dot(blas.Row(pt.VH, p), pt.b)
	}
	return true
}

// coefficients are α on the grid, 0 in the missing cells.
func (f *mixed) coefficients(pt *point) blas.General {
	C := blas.NewGeneral(f.l, f.n)
	for p, v := range pt.alpha {
		C.Data[f.row[p]*f.n+f.col[p]] = v
	}
	return C
}

// kernel is L_j in the units of the caller.
func (f *mixed) kernel(pt *point, j int) blas.General {
	L := f.square(pt.A[j])
	for a := range f.n {
		for b := range f.n {
			L.Data[a*f.n+b] *= f.dev[a] * f.dev[b] / f.size[j]
		}
	}
	return L
}

// weights are (tr L_j)/n.
func (f *mixed) weights(pt *point) []float64 {
	eta := make([]float64, len(f.K))
	for j := range eta {
		eta[j] = blas.Trace(f.kernel(pt, j)) / float64(f.n)
	}
	return eta
}

// result describes pt.
func (f *mixed) result(pt *point) (*bcd.Result, *Components, error) {
	c := &Components{LogLikelihood: pt.prior - pt.value, Shares: make([][]float64, len(f.K)+1)}
	res := &bcd.Result{Eta: f.weights(pt), C: f.coefficients(pt), Objective: pt.value, Solver: "average information"}
	total := blas.NewGeneral(f.n, f.n)
	for j := range f.K {
		L := f.kernel(pt, j)
		blas.AddScaled(total, 1, L)
		S, err := linop.NewSpectral(f.be, L, eigenDrop)
		if err != nil {
			return nil, nil, err
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
	return res, c, err
}
