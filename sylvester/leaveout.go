package sylvester

import (
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// LeaveOut evaluates, for every row i, the refit without that row of a fit f(x) = L·Cᵀ·k(x) with K·C·L + μC = Y, for
// any L and μ, from one decomposition K = T·diag(σ)·Tᵀ (mathematics.md §13). With L = V·diag(ρ)·Vᵀ and
//
//	g_ib = Σ_a T_ia²/(σ_a·ρ_b + μ),   the diagonal of (ρ_b·K + μI)⁻¹,
//
// the residual of row i in the refit without it, at the same L and μ, is r̃_ib = (C·V)_ib/g_ib in the coordinates of V.
// A decomposition of q < l eigenvectors is that of a K of rank q, such as Z·Zᵀ with q features; g_ib then gains (1 −
// Σ_a T_ia²)/μ.
//
// Use comes first, then At for every μ of a path. The other methods concern the μ of the last At. Use and At serve one
// goroutine; between them the other methods may run in several. Memory: l·q for the squares of T, and 3·l·r + l·n +
// 3·q·r floats.
type LeaveOut struct {
	be         blas.Backend
	dec        *Decomposition
	square     blas.General // T∘T, l×q
	complement []float64    // 1 − Σ_a T_ia²; 0 for a whole T

	L    *linop.Spectral
	norm float64      // ‖Y‖
	yt   blas.General // Y·V, l×r
	b    blas.General // Tᵀ·Y·V, q×r
	rest blas.General // Y − Y·V·Vᵀ, l×n; 0 for r = n

	mu     float64      // 0 before At
	weight blas.General // 1/(σ_a·ρ_b + μ), q×r
	g, res blas.General // g and r̃, l×r
	w      blas.General // scratch, q×r
}

// NewLeaveOut returns a LeaveOut for a decomposition, which it keeps. A nil backend is the active one.
func NewLeaveOut(dec *Decomposition, be blas.Backend) *LeaveOut {
	s := &LeaveOut{be: blas.Or(be), dec: dec, square: blas.Clone(dec.T), complement: make([]float64, dec.T.Rows)}
	for i := range s.square.Rows {
		row := blas.Row(s.square, i)
		sum := 0.0
		for a, v := range row {
			row[a] = v * v
			sum += row[a]
		}
		if !dec.whole() {
			s.complement[i] = max(0, 1-sum)
		}
	}
	return s
}

// Use takes an L, which it keeps, and targets Y (l×n), which it does not: 2lqr flops
// for the products with T. The error is ErrNotSPD or ErrNotFinite, as of a [Solver].
func (s *LeaveOut) Use(L *linop.Spectral, Y blas.General) error {
	l, n, q, r := s.dec.T.Rows, L.Dim(), len(s.dec.Sigma), L.Rank()
	if Y.Rows != l || Y.Cols != n {
		panic("sylvester: shape mismatch")
	}
	s.L, s.mu, s.norm = nil, 0, blas.Frob(Y)
	if err := checkSystem(L, 1, s.norm); err != nil {
		return err
	}
	s.L = L
	s.yt, s.b, s.rest = blas.Reshape(s.yt, l, r), blas.Reshape(s.b, q, r), blas.Reshape(s.rest, l, n)
	L.Rotate(s.be, s.yt, Y)
	blas.Mul(s.be, s.b, true, false, s.dec.T, s.yt)
	if blas.Zero(s.rest); r < n {
		blas.Copy(s.rest, Y)
		s.expand(s.rest, -1, s.yt)
	}
	return nil
}

// At sets μ > 0, and writes to C (l×n) the solution of K·C·L + μC = Y, unless C is the
// zero value: 4lqr flops, and 2lnr for C. The error is ErrNotSPD or
// ErrNotFinite.
func (s *LeaveOut) At(C blas.General, mu float64) error {
	if s.L == nil {
		panic("sylvester: LeaveOut: At before Use")
	}
	s.mu = 0
	if err := checkSystem(s.L, mu, s.norm); err != nil {
		return err
	}
	s.weight = blas.Reshape(s.weight, len(s.dec.Sigma), s.L.Rank())
	for a, sigma := range s.dec.Sigma {
		row := blas.Row(s.weight, a)
		for b, rho := range s.L.S {
			d := sigma*rho + mu
			if !(d > 0) || !finite(d) {
				return notPositive(d, "eigenvalue %g", d)
			}
			row[b] = 1 / d
		}
	}
	s.mu = mu
	s.leverage()
	s.solve(C)
	return nil
}

// leverage computes g.
func (s *LeaveOut) leverage() {
	l, r := s.dec.T.Rows, s.L.Rank()
	s.g = blas.Reshape(s.g, l, r)
	blas.Mul(s.be, s.g, false, false, s.square, s.weight)
	for i, d := range s.complement {
		row := blas.Row(s.g, i)
		for b := range row {
			row[b] += d / s.mu
		}
	}
}

// expand computes dst += alpha·A·Vᵀ.
func (s *LeaveOut) expand(dst blas.General, alpha float64, A blas.General) {
	blas.Gemm(s.be, false, true, alpha, A, s.L.V, 1, dst)
}

// outside is what 1/(σ·ρ_b + μ) is outside T.
func (s *LeaveOut) outside() float64 {
	if s.dec.whole() {
		return 0
	}
	return 1 / s.mu
}

// solve computes r̃ and C.
func (s *LeaveOut) solve(C blas.General) {
	s.res = blas.Reshape(s.res, s.dec.T.Rows, s.L.Rank())
	s.w = blas.Reshape(s.w, len(s.dec.Sigma), s.L.Rank())
	outside := s.outside()
	for a := range s.w.Rows {
		out, from := blas.Row(s.w, a), blas.Row(s.b, a)
		for b, d := range blas.Row(s.weight, a) {
			out[b] = from[b] * (d - outside)
		}
	}
	blas.Mul(s.be, s.res, false, false, s.dec.T, s.w)
	blas.AddScaled(s.res, outside, s.yt)
	if C.Data != nil {
		blas.CopyScaled(C, 1/s.mu, s.rest)
		s.expand(C, 1, s.res)
	}
	for i := range s.res.Rows {
		row, g := blas.Row(s.res, i), blas.Row(s.g, i)
		for b := range row {
			row[b] /= g[b]
		}
	}
}

// set checks that there is a μ.
func (s *LeaveOut) set() {
	if s.mu == 0 {
		panic("sylvester: LeaveOut before At")
	}
}

// Residuals writes y_i − f₋ᵢ(x_i) to the rows of dst (l×n), with f₋ᵢ the refit without
// row i at the same L and μ.
func (s *LeaveOut) Residuals(dst blas.General) {
	s.set()
	blas.Copy(dst, s.rest)
	s.expand(dst, 1, s.res)
}

// Deviations writes to dst (l×n) the standard deviation of every residual of [LeaveOut.Residuals] in
// the Gaussian process of [LeaveOut.Deviation], which has noise of variance 1:
//
//	√(1 + var f₋ᵢ,k(x_i)) = √(1 + Σ_b V_kb²·(1/(μ·g_ib) − 1)).
func (s *LeaveOut) Deviations(dst blas.General) {
	s.set()
	for i := range dst.Rows {
		g := blas.Row(s.g, i)
		for k := range dst.Cols {
			v := 1.0
			for b, c := range blas.Row(s.L.V, k) {
				v += c * c * max(0, 1/(s.mu*g[b])-1)
			}
			dst.Data[i*dst.Stride+k] = math.Sqrt(v)
		}
	}
}

// Leverages writes to dst (l×n) the derivative of the fitted value of every cell by its
// target, the diagonal of the matrix that maps vec(Y) to vec(K·C·L), between 0 and 1.
func (s *LeaveOut) Leverages(dst blas.General) {
	s.set()
	for i := range dst.Rows {
		g := blas.Row(s.g, i)
		for k := range dst.Cols {
			var h float64
			for b, v := range blas.Row(s.L.V, k) {
				h += v * v * max(0, 1-s.mu*g[b])
			}
			dst.Data[i*dst.Stride+k] = h
		}
	}
}

// DegreesOfFreedom is the trace of the matrix that maps vec(Y) to vec(K·C·L),
// Σ_ab σ_a·ρ_b/(σ_a·ρ_b + μ), between 0 and l·n: the sum of the leverages.
func (s *LeaveOut) DegreesOfFreedom() float64 {
	s.set()
	var df float64
	for a, sigma := range s.dec.Sigma {
		for b, d := range blas.Row(s.weight, a) {
			df += sigma * s.L.S[b] * d
		}
	}
	return df
}

// Smoothers writes to dst (r·t × l) the rows ρ_b·k(x)ᵀ(ρ_b·K + μI)⁻¹ for t new points x, of which KX
// (t×l) holds the k(x)ᵀ = [k(x, x_1) … k(x, x_l)]: row b·t + i is that of point i and eigenvalue
// ρ_b of L. It costs 2·t·l·q·(1 + r) flops and allocates t·q·(1 + r) floats.
func (s *LeaveOut) Smoothers(dst, KX blas.General) {
	s.set()
	t, l, q, r := KX.Rows, s.dec.T.Rows, len(s.dec.Sigma), s.L.Rank()
	if KX.Cols != l || dst.Rows != r*t || dst.Cols != l {
		panic("sylvester: shape mismatch")
	}
	w, all, outside := blas.NewGeneral(t, q), blas.NewGeneral(r*t, q), s.outside()
	blas.Mul(s.be, w, false, false, KX, s.dec.T)
	for b, rho := range s.L.S {
		for i := range t {
			out := blas.Row(all, b*t+i)
			for a, v := range blas.Row(w, i) {
				out[a] = rho * v * (s.weight.Data[a*s.weight.Stride+b] - outside)
			}
		}
	}
	blas.Mul(s.be, dst, false, true, all, s.dec.T)
	for b, rho := range s.L.S {
		for i := range t {
			blas.Axpy(rho*outside, blas.Row(KX, i), blas.Row(dst, b*t+i))
		}
	}
}

// Changes writes to row i of dst (l×n) the change f(x) − f₋ᵢ(x) that row i makes in the prediction at a new point x. x
// is point number at of the smoothers U, which Smoothers writes. In the coordinates of V,
//
//	f̃_b(x) − f̃₋ᵢ,b(x) = ρ_b·(Σ_a w_a·T_ia/(σ_a·ρ_b + μ))·r̃_ib,   w = Tᵀ·k(x).
//
// The f₋ᵢ(x) are the predictions that jackknife+ takes (Barber, Candès, Ramdas, Tibshirani, doi:10.1214/20-AOS1965). It
// costs 2·l·r·n flops and allocates l·r floats. Calls may run in several goroutines.
func (s *LeaveOut) Changes(dst, U blas.General, at int) {
	s.set()
	l, n, r := s.dec.T.Rows, s.L.Dim(), s.L.Rank()
	if U.Cols != l || dst.Rows != l || dst.Cols != n {
		panic("sylvester: shape mismatch")
	}
	change := blas.NewGeneral(l, r)
	for b := range r {
		for i, v := range blas.Row(U, b*(U.Rows/r)+at) {
			change.Data[i*r+b] = v * s.res.Data[i*s.res.Stride+b]
		}
	}
	blas.Zero(dst)
	s.expand(dst, 1, change)
}

// Deviation writes to dst (t×n) the posterior standard deviation at t new points of the
// Gaussian process with covariance (σ²/μ)·k(x,x')·L and noise of variance σ² = 1:
//
//	var f_k(x) = (1/μ)·[k(x,x)·L_kk − Σ_b V_kb²·ρ_b²·k(x)ᵀ(ρ_b·K + μI)⁻¹·k(x)].
//
// KX (t×l) holds the k(x, x_i), kxx (t) the k(x,x). It costs 2·t·l·q + 2·t·q·r flops and allocates t·(q + r) floats.
func (s *LeaveOut) Deviation(dst, KX blas.General, kxx []float64) {
	s.set()
	t, l, n, q, r := KX.Rows, s.dec.T.Rows, s.L.Dim(), len(s.dec.Sigma), s.L.Rank()
	if KX.Cols != l || len(kxx) != t || dst.Rows != t || dst.Cols != n {
		panic("sylvester: shape mismatch")
	}
	w, form := blas.NewGeneral(t, q), blas.NewGeneral(t, r)
	blas.Mul(s.be, w, false, false, KX, s.dec.T)
	outside := make([]float64, t) // of T
	for i := range t {
		row := blas.Row(w, i)
		for a, v := range row {
			row[a] = v * v
			outside[i] -= row[a]
		}
		if outside[i] += blas.Dot(blas.Row(KX, i), blas.Row(KX, i)); s.dec.whole() {
			outside[i] = 0
		}
	}
	blas.Mul(s.be, form, false, false, w, s.weight)
	for i := range t {
		for k := range n {
			var v float64
			for b, rho := range s.L.S {
				c := s.L.V.Data[k*s.L.V.Stride+b]
				v += c * c * rho * (kxx[i] - rho*(blas.Row(form, i)[b]+max(0, outside[i])/s.mu))
			}
			dst.Data[i*dst.Stride+k] = math.Sqrt(max(0, v) / s.mu)
		}
	}
}
