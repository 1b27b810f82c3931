// Derivatives of the restricted likelihood and of the prior.

package reml

import (
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/par"
)

// derivatives are the gradient at pt, the average information with that of the prior, and the curvature that the
// factors A_j and σ add to it. W is N×N scratch.
func (f *mixed) derivatives(pt *point, W blas.General) (g []float64, information, curvature blas.General) {
	f.invert(pt, W)
	G, noise := f.gradient(W)
	f.addPriorGradient(pt, G)
	g, curvature = f.byFactors(pt, G, noise)
	information = f.priorInformation(pt)
	f.addAverage(pt, information)
	return g, information, curvature
}

// invert writes P − ααᵀ to the lower triangle of W.
func (f *mixed) invert(pt *point, W blas.General) {
	N := len(f.y)
	blas.Copy(W, pt.V)
	f.be.Potri(W)
	U := blas.NewGeneral(f.n+1, N) // (HᵀV⁻¹H)⁻¹HᵀV⁻¹ and α
	T := blas.NewGeneral(N, f.n+1)
	for p := range N {
		copy(blas.Row(T, p), blas.Row(pt.VH, p))
		for k, v := range blas.Row(pt.VH, p) {
			U.Data[k*N+p] = v
		}
		T.Data[p*(f.n+1)+f.n], U.Data[f.n*N+p] = pt.alpha[p], pt.alpha[p]
	}
	blas.Potrs(f.be, pt.M, blas.View(U, 0, 0, f.n, N))
	blas.Gemm(f.be, false, false, -1, T, U, 1, W)
}

// gradient is −∂ log p/∂L_j and −∂ log p/∂σ² for P − ααᵀ = W: half of the sums of W∘K_j over the cells of two outputs,
// and of the diagonal of W over those of one.
func (f *mixed) gradient(W blas.General) (G []blas.General, noise []float64) {
	n, m, N := f.n, len(f.K), len(f.y)
	sums := blas.NewGeneral(N, m*n) // of each row of W∘K_j, by output
	par.For(N, func(p int) {
		a, line, sum := f.col[p], blas.Row(W, p), blas.Row(sums, p)
		for j, K := range f.K {
			k := blas.Row(K, f.row[p])
			for b := range a + 1 {
				for q := f.from[b]; q < min(f.from[b+1], p); q++ {
					sum[j*n+b] += line[q] * k[f.row[q]]
				}
			}
			sum[j*n+a] += line[p] * k[f.row[p]] / 2
		}
	})
	noise = make([]float64, n)
	for range f.K {
		G = append(G, blas.NewGeneral(n, n))
	}
	for p := range N {
		a, sum := f.col[p], blas.Row(sums, p)
		noise[a] += W.Data[p*N+p] / 2
		for j := range G {
			G[j].Data[a*n+a] += sum[j*n+a]
			for b := range a {
				G[j].Data[a*n+b] += sum[j*n+b] / 2
				G[j].Data[b*n+a] += sum[j*n+b] / 2
			}
		}
	}
	return G, noise
}

// addPriorGradient adds −∂ log p(L_j)/∂L_j = ½ν(L_j⁻¹ − mode·L_j⁻²), where L_j⁻¹ = BᵀB for B = A_j⁻¹.
func (f *mixed) addPriorGradient(pt *point, G []blas.General) {
	nu := f.priorWeight()
	for j, B := range pt.B {
		inverse := blas.Like(B)
		blas.GramOf(f.be, inverse, B)
		blas.AddScaled(G[j], nu/2, inverse)
		blas.Gemm(f.be, false, false, -nu*f.priorMode()/2, inverse, inverse, 1, G[j])
	}
}

// byFactors is the gradient by A_j and σ, 2G_jA_j and 2σ·noise, and its derivatives at fixed G_j and noise.
func (f *mixed) byFactors(pt *point, G []blas.General, noise []float64) (g []float64, curvature blas.General) {
	n, count := f.n, f.parameters(len(f.K))
	g, curvature = make([]float64, count), blas.NewGeneral(count, count)
	GA := blas.NewGeneral(n, n)
	for j, A := range pt.A {
		blas.Mul(f.be, GA, false, false, G[j], A)
		f.each(j, func(at, a, b int) {
			g[at] = 2 * GA.Data[a*n+b]
			for c := b; c < n; c++ {
				curvature.Data[at*count+f.index(j, c, b)] = 2 * G[j].Data[a*n+c]
			}
		})
	}
	for k, s := range pt.s {
		at := f.index(len(f.K), 0, 0) + k
		g[at], curvature.Data[at*count+at] = 2*s*noise[k], 2*noise[k]
	}
	return g, curvature
}

// each calls do with the place of every element (a, b) of A_j among the parameters.
func (f *mixed) each(j int, do func(at, a, b int)) {
	for a := range f.n {
		for b := range a + 1 {
			do(f.index(j, a, b), a, b)
		}
	}
}

// priorInformation is ½ν·tr(L⁻¹(∂L)L⁻¹(∂L)), the second derivative at the mode.
func (f *mixed) priorInformation(pt *point) blas.General {
	n, count := f.n, f.parameters(len(f.K))
	info := blas.NewGeneral(count, count)
	for j, B := range pt.B {
		inverse := blas.Like(B)
		blas.GramOf(f.be, inverse, B)
		f.each(j, func(at, a, b int) {
			f.each(j, func(to, c, d int) {
				v := B.Data[d*n+a] * B.Data[b*n+c]
				if b == d {
					v += inverse.Data[a*n+c]
				}
				info.Data[at*count+to] = f.priorWeight() * v
			})
		})
	}
	return info
}

// addAverage adds the average information ½αᵀ(∂V)P(∂V)α.
func (f *mixed) addAverage(pt *point, info blas.General) {
	N := len(f.y)
	Q := f.moved(pt)
	HQ := blas.Product(f.be, true, false, pt.VH, Q)
	MHQ := blas.Clone(HQ)
	blas.Potrs(f.be, pt.M, MHQ)
	f.be.Dtrsm(blas.Left, blas.Lower, blas.NoTrans, blas.NonUnit, N, Q.Cols, 1, pt.V.Data, N, Q.Data, Q.Stride)
	blas.Gemm(f.be, true, false, 0.5, Q, Q, 1, info)
	blas.Gemm(f.be, true, false, -0.5, HQ, MHQ, 1, info)
}

// moved is (∂V)α, a column for each parameter: for element (a, b) of A_j the cells of K_j·C·(e_aA_bᵀ + A_be_aᵀ).
func (f *mixed) moved(pt *point) blas.General {
	n := f.n
	Q := blas.NewGeneral(len(f.y), f.parameters(len(f.K)))
	C, KC, KCA := f.coefficients(pt), blas.NewGeneral(f.l, n), blas.NewGeneral(f.l, n)
	for j, A := range pt.A {
		blas.Mul(f.be, KC, false, false, f.K[j], C)
		blas.Mul(f.be, KCA, false, false, KC, A)
		par.For(len(f.y), func(p int) {
			i, k, row := f.row[p], f.col[p], blas.Row(Q, p)
			f.each(j, func(at, a, b int) {
				v := A.Data[k*n+b] * KC.Data[i*n+a]
				if k == a {
					v += KCA.Data[i*n+b]
				}
				row[at] = v
			})
		})
	}
	for p, alpha := range pt.alpha {
		k := f.col[p]
		blas.Row(Q, p)[f.index(len(f.K), 0, 0)+k] = 2 * pt.s[k] * alpha
	}
	return Q
}
