package bcd

import (
	"context"
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/lanczos"
	"github.com/iokl/iokl/linop"
)

// maxOutputs is the order from which no square array over the outputs is made.
// Where neither rank nor number of the outputs is below it, L = P·L_q·Pᵀ for an
// orthonormal basis P of directions of outputs that grows until the certificate
// meets Tol over all of them. For coefficients C = C_q·Pᵀ + B(I − PPᵀ)/μ, B the
// right side, the problem is that of the outputs B·P but for a constant. It begins
// with the leading singular vectors of B, and goes on with directions along which
// G = CᵀA_ηC, which is only ever multiplied by, has larger eigenvalues than along P.
const maxOutputs = 4096

// growing runs a method on bases P that grow until the goal is met over all outputs.
func (p *productModel) growing(minimize method) method {
	return func(ctx context.Context, pt *point, goal float64) error {
		for within := firstGap; ; within = growthGap * pt.cert.relative() {
			before, width := p.iter, p.t.n
			if err := minimize(ctx, pt, math.Max(goal/2, within)); err != nil {
				return err
			}
			grown, err := p.grow(ctx, goal)
			stuck := p.iter == before && p.t.n <= width
			if pt = p.best; err != nil || pt.covered && pt.meets(goal) || !grown || stuck || p.spent() {
				return err
			}
		}
	}
}

// gradient multiplies by G = CᵀA_ηC (n×n) of coefficients C = E·Pᵀ + B/μ.
type gradient struct {
	be      blas.Backend
	P, E, B blas.General
	A       linop.Operator // nil for the identity
	mu      float64
}

// Dim is n.
func (g *gradient) Dim() int { return g.P.Rows }

// Apply computes dst = G·x.
func (g *gradient) Apply(dst, x blas.General) {
	a := blas.Product(g.be, true, false, g.P, x)
	c := blas.Product(g.be, false, false, g.E, a)
	blas.Gemm(g.be, false, false, 1/g.mu, g.B, x, 1, c)
	z := c
	if g.A != nil {
		z = blas.Like(c)
		g.A.Apply(z, c)
	}
	blas.Mul(g.be, a, true, false, g.E, z)
	blas.Mul(g.be, dst, false, false, g.P, a)
	blas.Gemm(g.be, true, false, 1/g.mu, g.B, z, 1, dst)
}

// times is G·x.
func (g *gradient) times(x blas.General) blas.General {
	dst := blas.Like(x)
	g.Apply(dst, x)
	return dst
}

// gradientAt is the operator T·G·T at pt: that of C·T, whose part within P is that of C times V·diag(t)·Vᵀ.
func (p *productModel) gradientAt(ctx context.Context, pt *point, form shape) *gradient {
	t := p.t
	t.form(ctx, pt.eta, false)
	E, A := t.system.half(t, pt)
	if form.V.Data != nil {
		ET := blas.Like(E)
		t.work.mulRight(ET, E, &linop.Spectral{V: form.V, S: form.t})
		E = ET
	}
	return &gradient{be: t.be, P: p.basis.P, E: inside(t, pt, E), B: p.basis.whole.system().rhs(pt.eta), A: A, mu: t.mu}
}

// shape is the coefficients C·T that a bound from below is taken at: T is
// V·diag(t)·Vᵀ on the range of P and the identity outside.
type shape struct {
	V      blas.General // no Data: T is the identity
	t      []float64
	yc, cc float64 // ⟨Y,CT⟩, ‖CT‖²
}

// coverOutputs makes gapL of pt, certified within P, the gap over all outputs: the bound
// from below with the largest eigenvalue of TGT by the Lanczos method, plus its residual.
func (p *productModel) coverOutputs(ctx context.Context, pt *point, goal float64) error {
	f, t := p.fit, p.t
	if pt.covered || t.fixL {
		return nil
	}
	_, form, err := t.lowerL(pt)
	if err != nil {
		return err
	}
	U := pt.cert.objective
	op := p.gradientAt(ctx, pt, form)
	k := min(topBlock, pt.L.Rank())
	start := blas.Product(t.be, false, false, f.basis.P, blas.View(pt.L.V, 0, 0, t.n, k))
	res, err := lanczos.Eigs(ctx, op, lanczos.Options{
		Block: topBlock, AbsTol: topShare * goal * math.Abs(U) / (t.lambda * t.tau), Tol: 0x1p-50,
		MaxIter: topSteps, Start: start, Seed: t.seed, Backend: t.be,
	})
	if err != nil && !errors.Is(err, lanczos.ErrNotConverged) {
		return err
	}
	f.cost.columns += res.Applies
	top := math.Inf(1)
	if len(res.Values) > 0 {
		top = raised(res.Values[0]+res.Residuals[0], pt.rounding.G)
	}
	low := t.omega(pt.eta) + t.bestMultiple(&measures{yc: form.yc, cc: form.cc}, t.tau*top)
	pt.cert.gapL, pt.covered = math.Max(pt.cert.gapL, t.gap(U, t.lambda*low, pt.rounding.fit)), true
	return nil
}

// grow extends the basis at the best point, which becomes one of the larger
// problem, and certifies it; over all outputs once the gap within the basis allows. It
// reports false where there is no direction to add.
func (p *productModel) grow(ctx context.Context, goal float64) (grown bool, err error) {
	f, t := p.fit, p.t
	if err := p.settle(); err != nil {
		return false, err
	}
	pt := f.best
	full := t.wide-1-t.n < t.n/2
	if full {
		p.compress(pt, goal)
	}
	Z, err := p.directions(ctx, pt)
	if err != nil {
		return false, err
	}
	if grown = Z.Cols > 0; grown || full {
		if err := p.extend(ctx, pt, Z); err != nil {
			return grown, err
		}
	}
	if !grown || pt.meets(goal) {
		return grown, p.coverOutputs(ctx, pt, goal)
	}
	return grown, nil
}

// compress leaves of P the eigenvectors of L: elsewhere C is B/μ. It goes without
// the smallest eigenvalues, whose sum hardly matters. pt is to be extended next.
func (p *productModel) compress(pt *point, goal float64) {
	f, t := p.fit, p.t
	k, sum := pt.L.Rank(), 0.0
	for k > 1 {
		if sum += pt.L.S[k-1]; sum > compressShare*math.Max(pt.cert.relative(), goal)*t.tau {
			break
		}
		k--
	}
	V := blas.View(pt.L.V, 0, 0, t.n, k)
	along := func(A blas.General) blas.General {
		return blas.Product(t.be, false, false, A, V)
	}
	f.basis.P, pt.X, pt.AX, pt.G = along(f.basis.P), along(pt.X), along(pt.AX), within(t.be, V, pt.G)
	pt.L = &linop.Spectral{V: linop.ScaledIdentity(k, 1).V, S: slices.Clone(pt.L.S[:k])}
	t.setOutputs(project(f.basis.whole, t.be, f.basis.P))
}

// extend makes pt, and the fit, those of the basis [P Z].
func (p *productModel) extend(ctx context.Context, pt *point, Z blas.General) error {
	f, t := p.fit, p.t
	N, q := pt.X.Rows, t.n
	if Z.Cols > 0 {
		f.basis.P = linop.Orthonormal(t.be, blas.SideBySide(f.basis.P, Z))
	}
	t.setOutputs(project(f.basis.whole, t.be, f.basis.P))
	if err := p.outputsChanged(); err != nil {
		return err
	}
	X := blas.NewGeneral(N, t.n)
	A := t.form(ctx, pt.eta, false)
	blas.AddScaled(X, 1/t.mu, t.system.rhs(pt.eta))
	blas.Copy(blas.View(X, 0, 0, N, q), pt.X)
	V := blas.NewGeneral(t.n, pt.L.Rank())
	blas.Copy(blas.View(V, 0, 0, q, V.Cols), pt.L.V)
	pt.X, pt.AX, pt.L, pt.single = X, blas.Like(X), &linop.Spectral{V: V, S: pt.L.S}, false
	pt.G = blas.General{}
	A.Apply(pt.AX, X)
	f.cost.columns += t.n
	return f.cover(ctx, pt)
}

// directions are new columns for P: of those that one and two multiplications by
// G lead to from the range of L and from random vectors, those along which the
// eigenvectors of TGT above its largest eigenvalue in P point.
func (p *productModel) directions(ctx context.Context, pt *point) (blas.General, error) {
	f, t := p.fit, p.t
	room := min(t.wide-1-t.n, max(t.n, t.wide/growthShare))
	_, form, err := t.lowerL(pt)
	if err != nil || room < 1 {
		return blas.General{}, err
	}
	n, q := f.basis.P.Rows, t.n
	op := p.gradientAt(ctx, pt, form)
	k := min(pt.L.Rank(), room)
	S := blas.NewGeneral(n, k+topBlock)
	blas.Mul(t.be, blas.View(S, 0, 0, n, k), false, false, f.basis.P, blas.View(pt.L.V, 0, 0, q, k))
	linop.FillNormal(blas.View(S, 0, k, n, topBlock), t.seed)
	Z := linop.Outside(t.be, f.basis.P, op.times(S))
	if Z.Cols == 0 {
		return Z, nil
	}
	Z = linop.Outside(t.be, f.basis.P, blas.SideBySide(Z, op.times(Z)))
	// Rayleigh–Ritz: TGT on [P Z].
	z := Z.Cols
	GZ, M, TGT := op.times(Z), blas.NewGeneral(q+z, q+z), form.within(t.be, pt.G)
	blas.Copy(blas.View(M, 0, 0, q, q), TGT)
	_, old, err := t.eigen(TGT)
	if err != nil {
		return Z, err
	}
	blas.Mul(t.be, blas.View(M, q, 0, z, q), true, false, GZ, f.basis.P)
	blas.Mul(t.be, blas.View(M, q, q, z, z), true, false, Z, GZ)
	M, theta, err := t.eigen(M)
	if err != nil {
		return Z, err
	}
	return p.chosen(Z, blas.View(M, q, 0, z, q+z), theta, old[q-1], room)
}

// chosen are at most room combinations of the columns of Z: the leading left singular vectors of
// its part of the eigenvectors with θ > top, weighted by √(θ − top).
func (p *productModel) chosen(
	Z, vectors blas.General, theta []float64, top float64, room int,
) (blas.General, error) {
	above := linop.Leading(vectors, theta, top*(1+violation))
	if above.Rank() == 0 {
		return blas.General{}, nil
	}
	floats.AddConst(-top, above.S)
	D := blas.NewGeneral(Z.Cols, Z.Cols)
	above.Dense(p.t.be, D)
	lead, err := linop.NewSpectral(p.t.be, D, newDirection)
	if err != nil {
		return Z, err
	}
	V := blas.View(lead.V, 0, 0, Z.Cols, min(lead.Rank(), room))
	return linop.Outside(p.t.be, p.basis.P, blas.Product(p.t.be, false, false, Z, V)), nil
}

// within is T·G·T for the G within P.
func (s *shape) within(be blas.Backend, G blas.General) blas.General {
	if s.V.Data == nil {
		return G
	}
	T := blas.Like(G)
	(&linop.Spectral{V: s.V, S: s.t}).Dense(be, T)
	return within(be, T, G)
}

// firstBasis is of the leading right singular vectors of B and the first columns of V.
func firstBasis(
	ctx context.Context, be blas.Backend, B, V blas.General, wide int, seed uint64,
) (blas.General, error) {
	T, err := linop.LeadingBasis(ctx, be, B, max(wide/firstShare, topBlock), seed)
	if err == nil && V.Cols > 0 {
		T = blas.SideBySide(blas.View(V, 0, 0, B.Cols, min(V.Cols, wide/2)), T)
		be.QR(T, blas.General{})
	}
	return T, err
}
