package bcd

import (
	"context"
	"errors"
	"math"

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
var maxOutputs = 4096

// Shares of maxOutputs, of the first basis and at least of a growth.
const (
	firstShare  = 32
	growthShare = 256
)

// Of the relative gap: what the first basis is solved to, and what later ones are
// solved to of what the one before left.
const (
	firstGap  = 1e-2
	growthGap = 0.1
)

// minimize runs the solver, on growing bases where P is not all there is.
func (r *run) minimize(ctx context.Context, pt *point) error {
	solver := methods[r.opt.Solver]
	if r.whole == nil {
		return solver(r, ctx, pt)
	}
	tol := r.opt.Tol
	defer func() { r.opt.Tol = tol }()
	for goal := firstGap; ; {
		r.opt.Tol = math.Max(tol/2, goal)
		err := solver(r, ctx, pt)
		r.opt.Tol = tol
		if err == nil {
			err = r.grow(ctx)
		}
		if err != nil || r.best.covered && r.done(r.best) || !r.grown || r.iter >= r.opt.MaxOuter {
			return err
		}
		pt = r.best
		goal = growthGap * pt.cert.relative()
	}
}

// gradient multiplies by G = CᵀA_ηC (n×n) of the coefficients C = E·Pᵀ + B/μ.
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
	N, b := g.B.Rows, x.Cols
	c, z, a := blas.NewGeneral(N, b), blas.NewGeneral(N, b), blas.NewGeneral(g.P.Cols, b)
	blas.Mul(g.be, a, true, false, g.P, x)
	blas.Mul(g.be, c, false, false, g.E, a)
	blas.Gemm(g.be, false, false, 1/g.mu, g.B, x, 1, c)
	if g.A != nil {
		g.A.Apply(z, c)
	} else {
		z = c
	}
	blas.Mul(g.be, a, true, false, g.E, z)
	blas.Mul(g.be, dst, false, false, g.P, a)
	blas.Gemm(g.be, true, false, 1/g.mu, g.B, z, 1, dst)
}

// gradientAt is the operator G at pt.
func (r *run) gradientAt(ctx context.Context, pt *point) *gradient {
	r.whole.setWeights(pt.eta)
	r.formFor(ctx, pt, 0)
	g := &gradient{be: r.be, P: r.P, B: r.whole.rhs(), mu: r.mu}
	g.E, g.A = r.space.half(&r.work, pt.X, pt.AX, pt.L)
	g.E = r.inside(g.E)
	return g
}

// inside is X − B·P/μ, so that the whole of the coefficients is inside(X)·Pᵀ + B/μ.
func (r *run) inside(X blas.General) blas.General {
	E := blas.Clone(X)
	blas.AddScaled(E, -1/r.mu, r.space.rhs())
	return E
}

// shape is the coefficients C·T that a bound from below is taken at: T is
// V·diag(t)·Vᵀ on the range of P and the identity outside.
type shape struct {
	V      blas.General // no Data: T is the identity
	t      []float64
	yc, cc float64 // ⟨Y,CT⟩, ‖CT‖²
}

// shaped multiplies by T·G·T.
type shaped struct {
	*gradient
	shape
}

func (s *shaped) Apply(dst, x blas.General) {
	y := blas.Clone(x)
	s.turn(y)
	s.gradient.Apply(dst, y)
	s.turn(dst)
}

// turn overwrites x by T·x.
func (s *shaped) turn(x blas.General) {
	if s.V.Data == nil {
		return
	}
	a, b := blas.NewGeneral(s.P.Cols, x.Cols), blas.NewGeneral(s.P.Cols, x.Cols)
	blas.Mul(s.be, a, true, false, s.P, x)
	blas.Mul(s.be, b, true, false, s.V, a)
	for i, t := range s.t {
		blas.Scal(t-1, blas.Row(b, i))
	}
	blas.Mul(s.be, a, false, false, s.V, b)
	blas.Gemm(s.be, false, false, 1, s.P, a, 1, x)
}

const (
	topBlock = 8    // vectors of the Lanczos method for λ_max
	topShare = 0.02 // of the gap asked for that its residual may take
	topSteps = 60
)

// cover makes gapL of pt, certified within P, the gap over all outputs: the bound
// from below with the largest eigenvalue of TGT by the Lanczos method, plus its residual.
func (r *run) cover(ctx context.Context, pt *point) error {
	if r.whole == nil || pt.covered || r.fixL {
		return nil
	}
	_, form, err := r.lowerL(pt)
	if err != nil {
		return err
	}
	U := pt.cert.objective
	op := &shaped{r.gradientAt(ctx, pt), form}
	k := min(topBlock, pt.L.Rank())
	start := blas.NewGeneral(op.Dim(), k)
	if k > 0 {
		blas.Mul(r.be, start, false, false, r.P, blas.View(pt.L.V, 0, 0, r.n, k))
	}
	res, err := lanczos.Eigs(ctx, op, lanczos.Options{
		Block: topBlock, AbsTol: topShare * r.opt.Tol * math.Abs(U) / (r.lambda * r.tau), Tol: 0x1p-50,
		MaxIter: topSteps, Start: start, Seed: r.opt.Seed, Backend: r.be,
	})
	if err != nil && !errors.Is(err, lanczos.ErrNotConverged) {
		return err
	}
	r.columns += res.Applies
	top := math.Inf(1)
	if len(res.Values) > 0 {
		top = math.Max(res.Values[0]+res.Residuals[0], 0)
	}
	low := r.omega(pt.eta)
	if quad := r.mu*form.cc + r.tau*top; form.yc > 0 && quad > 0 {
		low += form.yc * (form.yc / quad)
	}
	pt.cert.gapL, pt.covered = math.Max(pt.cert.gapL, r.gap(U, r.lambda*low)), true
	return nil
}

// grow extends the basis at the best point, which becomes one of the larger
// problem, and certifies it; over all outputs once the gap within the basis allows.
func (r *run) grow(ctx context.Context) error {
	if err := r.finish(); err != nil {
		return err
	}
	pt := r.best
	full := maxOutputs-1-r.n < r.n/2
	if full {
		r.compress(pt)
	}
	Z, err := r.directions(ctx, pt)
	if err != nil {
		return err
	}
	if r.grown = Z.Cols > 0; r.grown || full {
		if err := r.extend(ctx, pt, Z); err != nil {
			return err
		}
	}
	if !r.grown || r.done(pt) {
		return r.cover(ctx, pt)
	}
	return nil
}

// compressShare is the part of the gap that eigenvalues of L may cost when the basis is compressed.
const compressShare = 0.1

// compress leaves of P the eigenvectors of L: elsewhere C is B/μ. It goes without
// the smallest eigenvalues, whose sum hardly matters. pt is to be extended next.
func (r *run) compress(pt *point) {
	k, sum := pt.L.Rank(), 0.0
	for k > 1 {
		if sum += pt.L.S[k-1]; sum > compressShare*math.Max(pt.cert.relative(), r.opt.Tol)*r.tau {
			break
		}
		k--
	}
	V := blas.View(pt.L.V, 0, 0, r.n, k)
	P, X, AX, G := blas.NewGeneral(r.P.Rows, k), blas.NewGeneral(pt.X.Rows, k), blas.NewGeneral(pt.X.Rows, k), blas.NewGeneral(k, k)
	blas.Mul(r.be, P, false, false, r.P, V)
	blas.Mul(r.be, X, false, false, pt.X, V)
	blas.Mul(r.be, AX, false, false, pt.AX, V)
	T := blas.NewGeneral(r.n, k)
	blas.Mul(r.be, T, false, false, pt.G, V)
	blas.Mul(r.be, G, true, false, V, T)
	L := linop.ScaledIdentity(k, 1)
	copy(L.S, pt.L.S)
	r.P, pt.X, pt.AX, pt.G, pt.L = P, X, AX, G, L
	r.n, r.space = k, r.whole.project(r.be, P)
	r.space.setWeights(pt.eta)
}

// extend makes pt, and the run, those of the basis [P Z].
func (r *run) extend(ctx context.Context, pt *point, Z blas.General) error {
	N, q := pt.X.Rows, r.n
	if Z.Cols > 0 {
		r.P = r.orthonormal(sideBySide(r.P, Z))
	}
	r.space = r.whole.project(r.be, r.P)
	r.n = r.P.Cols
	r.work = work{be: r.be, mu: r.mu, skipG: r.fixL}
	if err := r.newSolver(); err != nil {
		return err
	}
	X := blas.NewGeneral(N, r.n)
	r.formFor(ctx, pt, 0)
	blas.AddScaled(X, 1/r.mu, r.space.rhs())
	blas.Copy(blas.View(X, 0, 0, N, q), pt.X)
	V := blas.NewGeneral(r.n, pt.L.Rank())
	blas.Copy(blas.View(V, 0, 0, q, V.Cols), pt.L.V)
	pt.X, pt.AX, pt.L, pt.single = X, cloneLike(X), &linop.Spectral{V: V, S: pt.L.S}, false
	pt.G = blas.General{}
	r.space.operator().Apply(pt.AX, X)
	r.columns += r.n
	if err := r.measure(ctx, pt, r.all); err != nil {
		return err
	}
	return r.certify(pt)
}

// orthonormal removes from P, nearly orthonormal, what rounding has let in.
func (r *run) orthonormal(P blas.General) blas.General {
	D, Q := blas.NewGeneral(P.Cols, P.Cols), cloneLike(P)
	blas.GramOf(r.be, D, P)
	blas.Scal(-0.5, D.Data)
	for i := range P.Cols {
		D.Data[i*D.Stride+i] += 1.5
	}
	blas.Mul(r.be, Q, false, false, P, D) // P(3I − PᵀP)/2
	return Q
}
