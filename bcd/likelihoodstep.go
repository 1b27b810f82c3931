// This file differentiates the restricted likelihood and the prior, and makes Newton's step from its derivatives.

package bcd

import (
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/par"
)

// triangular overwrites B by F⁻¹B or F⁻ᵀB, V = FFᵀ.
func (f *mixed) triangular(trans bool, B blas.General) {
	t := blas.NoTrans
	if trans {
		t = blas.Trans
	}
	f.be.Dtrsm(blas.Left, blas.Lower, t, blas.NonUnit, B.Rows, B.Cols, 1, f.V.Data, f.V.Stride, B.Data, B.Stride)
}

// centre overwrites B by (HᵀV⁻¹H)⁻¹B.
func (pt *mixedPoint) centre(be blas.Backend, B blas.General) {
	for _, t := range []bool{false, true} {
		op := blas.NoTrans
		if t {
			op = blas.Trans
		}
		be.Dtrsm(blas.Left, blas.Lower, op, blas.NonUnit, B.Rows, B.Cols, 1, pt.M.Data, pt.M.Stride, B.Data, B.Stride)
	}
}

// invert writes P − ααᵀ to the lower triangle of W, given the factor of V.
func (f *mixed) invert(pt *mixedPoint) {
	N := len(f.y)
	blas.Zero(f.W)
	for lo := 0; lo < N; lo += inverseBlock { // W = F⁻¹
		w := min(inverseBlock, N-lo)
		B := blas.View(f.W, lo, lo, N-lo, w)
		for i := range w {
			B.Data[i*N+i] = 1
		}
		f.be.Dtrsm(blas.Left, blas.Lower, blas.NoTrans, blas.NonUnit, B.Rows, w, 1, f.V.Data[lo*N+lo:], N, B.Data, N)
	}
	part := blas.NewGeneral(inverseBlock, N)
	for lo := 0; lo < N; lo += inverseBlock { // W = F⁻ᵀF⁻¹, of which later rows need later rows of F⁻¹ alone
		w := min(inverseBlock, N-lo)
		rows := blas.View(part, 0, 0, w, lo+w)
		blas.Mul(f.be, rows, true, false, blas.View(f.W, lo, lo, N-lo, w), blas.View(f.W, lo, 0, N-lo, lo+w))
		blas.Copy(blas.View(f.W, lo, 0, w, lo+w), rows)
	}
	U := blas.NewGeneral(f.n+1, N) // (HᵀV⁻¹H)⁻¹HᵀV⁻¹ and α
	T := blas.NewGeneral(N, f.n+1)
	for p := range N {
		copy(blas.Row(T, p), blas.Row(pt.VH, p))
		for k, v := range blas.Row(pt.VH, p) {
			U.Data[k*N+p] = v
		}
		T.Data[p*(f.n+1)+f.n], U.Data[f.n*N+p] = pt.alpha[p], pt.alpha[p]
	}
	pt.centre(f.be, blas.View(U, 0, 0, f.n, N))
	blas.Gemm(f.be, false, false, -1, T, U, 1, f.W)
}

// derivatives are the gradient at pt, at which the factor stands, the average information with that of the prior, and the curvature
// that the factors A_j and σ add to it.
func (f *mixed) derivatives(pt *mixedPoint) (g []float64, info, curvature blas.General) {
	n, m, N := f.n, len(f.K), len(f.y)
	f.invert(pt)
	sums := blas.NewGeneral(N, m*n+1) // of each row of W∘K_j, by output, and its diagonal
	par.For(N, func(p int) {
		a, line, sum := f.output(p), blas.Row(f.W, p), blas.Row(sums, p)
		for j, K := range f.K {
			k := blas.Row(K, f.row[p])
			for b := range a + 1 {
				for q := f.from[b]; q < min(f.from[b+1], p); q++ {
					sum[j*n+b] += line[q] * k[f.row[q]]
				}
			}
			sum[j*n+a] += line[p] * k[f.row[p]] / 2
		}
		sum[m*n] = line[p]
	})
	G, noise := make([]blas.General, m), make([]float64, n) // −∂ log p/∂L_j, −∂ log p/∂σ²
	for j := range G {
		G[j] = blas.NewGeneral(n, n)
	}
	for p := range N {
		a, sum := f.output(p), blas.Row(sums, p)
		noise[a] += sum[m*n] / 2
		for j := range G {
			for b := range a + 1 {
				v := sum[j*n+b]
				if a != b {
					v /= 2
				}
				G[j].Data[a*n+b] += v
				if a != b {
					G[j].Data[b*n+a] += v
				}
			}
		}
	}

	count := f.parameters(m)
	g, info, curvature = make([]float64, count), blas.NewGeneral(count, count), blas.NewGeneral(count, count)
	Q := blas.NewGeneral(N, count) // (∂V)α
	C, KC, KCA := f.coefficients(pt), blas.NewGeneral(f.l, n), blas.NewGeneral(f.l, n)
	GA := blas.NewGeneral(n, n)
	at := 0
	nu := f.priorWeight()
	for j, A := range pt.A {
		B, Li := pt.B[j], blas.NewGeneral(n, n) // A⁻¹, L⁻¹
		blas.Mul(f.be, Li, true, false, B, B)
		blas.AddScaled(G[j], nu/2, Li)
		blas.Gemm(f.be, false, false, -nu*f.priorMode()/2, Li, Li, 1, G[j])
		blas.Mul(f.be, KC, false, false, f.K[j], C)
		blas.Mul(f.be, KCA, false, false, KC, A)
		blas.Mul(f.be, GA, false, false, G[j], A)
		first := at
		for a := range n {
			for b := range a + 1 {
				g[at] = 2 * GA.Data[a*n+b]
				for p := range N {
					i, k := f.row[p], f.output(p)
					v := A.Data[k*n+b] * KC.Data[i*n+a]
					if k == a {
						v += KCA.Data[i*n+b]
					}
					Q.Data[p*count+at] = v
				}
				for c := b; c < n; c++ {
					curvature.Data[at*count+first+c*(c+1)/2+b] = 2 * G[j].Data[a*n+c]
				}
				for c := range n { // ½ν·tr(L⁻¹(∂L)L⁻¹(∂L)), the second derivative at the mode
					for d := range c + 1 {
						v := B.Data[d*n+a] * B.Data[b*n+c]
						if b == d {
							v += Li.Data[a*n+c]
						}
						info.Data[at*count+first+c*(c+1)/2+d] = nu * v
					}
				}
				at++
			}
		}
	}
	for k, s := range pt.s {
		g[at], curvature.Data[at*count+at] = 2*s*noise[k], 2*noise[k]
		for p := f.from[k]; p < f.from[k+1]; p++ {
			Q.Data[p*count+at] = 2 * s * pt.alpha[p]
		}
		at++
	}
	HQ := blas.NewGeneral(n, count)
	blas.Mul(f.be, HQ, true, false, pt.VH, Q)
	MHQ := blas.Clone(HQ)
	pt.centre(f.be, MHQ)
	f.triangular(false, Q)
	blas.Gemm(f.be, true, false, 0.5, Q, Q, 1, info)
	blas.Gemm(f.be, true, false, -0.5, HQ, MHQ, 1, info)
	return g, info, curvature
}

// newtonStep makes steps against the gradient g by the second derivatives information + curvature, of which
// the absolute eigenvalues count. gain is what the objective falls by, to second order, without damping.
func newtonStep(be blas.Backend, g []float64, information, curvature blas.General) (step func(damping float64) []float64, gain float64, err error) {
	unit := 0.0
	for i := range g {
		unit += information.Data[i*information.Stride+i] / float64(len(g))
	}
	U, w := curvature, make([]float64, len(g))
	blas.AddScaled(U, 1, information)
	if err := be.Syevd(U, w); err != nil {
		return nil, 0, err
	}
	top := math.Max(math.Abs(w[0]), math.Abs(w[len(w)-1]))
	along := blas.NewGeneral(len(g), 1)
	blas.Mul(be, along, true, false, U, blas.Vector(g))
	for i := range w {
		w[i] = math.Max(math.Abs(w[i]), flatDirection*top)
		gain += along.Data[i] * along.Data[i] / w[i] / 2
	}
	return func(damping float64) []float64 {
		t, dx := blas.Clone(along), blas.NewGeneral(len(g), 1)
		for i := range w {
			t.Data[i] /= -(w[i] + damping*unit)
		}
		blas.Mul(be, dx, false, false, U, t)
		return dx.Data
	}, gain, nil
}
