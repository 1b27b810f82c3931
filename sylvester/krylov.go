package sylvester

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// krylov solves by Galerkin projection on one growing space for all columns, the
// block Krylov space of K and Ỹ: it does not depend on the shifts, so the same
// orthonormal basis Q (l×d), with Z = K·Q and T = QᵀZ, serves every column,
//
//	x_j = Q·c_j,   (ρ_j·T + μI)·c_j = Qᵀ·ỹ_j,
//
// and every L. The residuals ỹ_j − ρ_j·Z·c_j − μ·Q·c_j follow without another
// multiplication by K; their leading singular directions, which in exact
// arithmetic lie in the next Krylov block, extend the space.
//
// Q and Z are kept until Invalidate: a second solve, for another L or another
// shift, needs few new directions or none. When d reaches its limit,
// conjugate gradients finish the work, preconditioned by the space; see
// [lowRank]. Memory: 2·l·d floats and the d×d of the projected system.
type krylov struct {
	frame
	cg    shifted
	space sketch // its Q and Z, and the preconditioner made of them
	inner tridiagonal
	limit int

	res   Result
	store [2]blas.General // what Q and Z are views of
	T     blas.General    // d×d
	b     blas.General    // Qᵀ·Ỹ, as far as computed
	c, cr blas.General    // the coefficients and c·diag(ρ), d×r
	unit  linop.Spectral  // diag(ρ)
}

func newKrylov(cfg Config) Solver {
	return &krylov{
		frame: frame{be: cfg.Backend}, space: sketch{be: cfg.Backend, seed: cfg.Seed},
		inner: tridiagonal{frame: &frame{be: cfg.Backend}}, limit: cfg.Rank,
	}
}

func (s *krylov) Name() string { return "krylov" }

func (s *krylov) Invalidate() { s.space.reset() }

func (s *krylov) Solve(ctx context.Context, C blas.General, sys System, Y blas.General, opt Options) (Result, error) {
	s.res = Result{Solver: s.Name(), Residual: math.NaN()}
	err := s.solve(ctx, C, sys, Y, opt.filled(Y.Rows))
	return s.res, err
}

// An extension leaves out at most the part cut of the residual, in the norm, and
// takes at least as many directions as cost little more than one.
const (
	cut   = 0.1
	least = 24
)

func (s *krylov) solve(ctx context.Context, C blas.General, sys System, Y blas.General, opt Options) error {
	if err := s.begin(C, sys, Y); err != nil {
		return err
	}
	if v := blas.Frob(C); !finite(v) {
		return fmt.Errorf("%w: the starting point has norm %g", ErrNotFinite, v)
	}
	s.rotate()
	if s.space.Q.Rows != Y.Rows {
		s.space.reset()
	}
	s.diagonal()
	if s.space.Q.Cols == 0 && sys.L.Rank() > 0 {
		sys.L.Rotate(s.be, s.rt, C)
		s.extend(s.rt, blas.Frob(s.rt))
	}
	s.b.Rows, s.c.Rows = 0, 0
	size, err := s.build(ctx, opt)
	s.form()
	s.hard = sys.L.Rank()
	s.cg.pre = nil
	if err == nil && !(size <= margin*opt.Tol*s.normY) && s.space.Q.Cols > 0 && s.space.factor() {
		s.cg.pre = &s.space.low
	}
	if err != nil {
		s.restore(C)
		s.finish(&s.res, C)
		return err
	}
	return s.iterate(ctx, &s.cg, C, opt, &s.res)
}

// build extends the space until the residual is within the tolerance, the space
// is at its limit or extensions no longer help. It leaves the solution in C̃, its
// residual in rt, and returns the norm of that.
func (s *krylov) build(ctx context.Context, opt Options) (size float64, err error) {
	limit := s.dimension()
	for best, idle := math.Inf(1), 0; ; {
		if err = ctx.Err(); err != nil {
			return size, err
		}
		if size, err = s.project(ctx); err != nil {
			return size, err
		}
		if idle++; size < 0.9*best {
			best, idle = size, 0
		}
		if size <= margin*opt.Tol*s.normY || s.space.Q.Cols >= limit || s.res.Iter >= opt.MaxIter || idle > 3 {
			return size, nil
		}
		if err = trace(opt, Step{Iter: s.res.Iter, Residual: relative(size, s.normY), Columns: s.res.Columns}, nil); err != nil {
			return size, err
		}
		s.extend(s.rt, size)
	}
}

// dimension is the largest d: a third of l, beyond which a direct method is cheaper.
func (s *krylov) dimension() int {
	if s.limit > 0 {
		return min(s.limit, s.Y.Rows)
	}
	return max(s.Y.Rows/3, min(s.Y.Rows, 32))
}

// diagonal makes unit = diag(ρ), the L of the projected system.
func (s *krylov) diagonal() {
	r := s.sys.L.Rank()
	if s.unit.V.Rows != r {
		s.unit = *linop.ScaledIdentity(r, 1)
	}
	copy(s.unit.S, s.sys.L.S)
}

// project solves the projected systems, writes C̃ = Q·c and the residuals to rt,
// and returns their norm.
func (s *krylov) project(ctx context.Context) (float64, error) {
	blas.Copy(s.rt, s.yt)
	d, r := s.space.Q.Cols, s.yt.Cols
	if d == 0 || r == 0 {
		return blas.Frob(s.rt), nil
	}
	s.c = blas.Reshape(s.c, d, r)
	s.sides()
	small := System{K: linop.NewDense(s.T, s.be), L: &s.unit, Mu: s.sys.Mu}
	if _, err := s.inner.Solve(ctx, s.c, small, s.b, Options{}); err != nil && !errors.Is(err, ErrNotConverged) {
		return math.NaN(), fmt.Errorf("on a space of dimension %d: %w", d, err)
	}
	blas.Gemm(s.be, false, false, -s.sys.Mu, s.space.Q, s.c, 1, s.rt)
	s.cr = blas.Reshape(s.cr, d, r)
	blas.Copy(s.cr, s.c)
	scaleColumns(s.cr, s.sys.L.S)
	blas.Gemm(s.be, false, false, -1, s.space.Z, s.cr, 1, s.rt)
	return blas.Frob(s.rt), nil
}

// sides extends b = Qᵀ·Ỹ by the rows of the new part of Q.
func (s *krylov) sides() {
	d, r := s.space.Q.Cols, s.yt.Cols
	known := s.b.Rows
	b := blas.NewGeneral(d, r)
	if known > 0 {
		blas.Copy(blas.View(b, 0, 0, known, r), s.b)
	}
	if d > known {
		blas.Mul(s.be, blas.View(b, known, 0, d-known, r), true, false, blas.View(s.space.Q, 0, known, s.yt.Rows, d-known), s.yt)
	}
	s.b = b
}

// form writes C̃ = Q·c.
func (s *krylov) form() {
	if d := s.space.Q.Cols; d == 0 || s.c.Rows != d || s.c.Cols != s.yt.Cols {
		blas.Zero(s.ct) // nothing projected yet
		return
	}
	blas.Mul(s.be, s.ct, false, false, s.space.Q, s.c)
}

// extend adds to the space the leading left singular directions of the l×r block
// M, of Frobenius norm size, that hold all but the part cut of it.
func (s *krylov) extend(M blas.General, size float64) {
	if !(size > 0) {
		return
	}
	l, r := M.Rows, M.Cols
	G, theta := blas.NewGeneral(r, r), make([]float64, r)
	blas.GramOf(s.be, G, M)
	blas.Scal(1/square(size), G.Data)
	if !finite(sum(G)) || s.be.Syevd(G, theta) != nil {
		return
	}
	d, p := s.space.Q.Cols, 0
	for tail := 1.0; p < min(r, s.dimension()-d) && (p < least || tail > square(cut)); p++ {
		tail -= theta[r-1-p]
	}
	B, E := blas.NewGeneral(l, p), blas.NewGeneral(r, p)
	for c := range p {
		scale := 1 / (size * math.Sqrt(max(theta[r-1-c], 0x1p-52)))
		for i := range r {
			E.Data[i*p+c] = scale * G.Data[i*r+r-1-c]
		}
	}
	blas.Mul(s.be, B, false, false, M, E)
	s.space.orthonormalize(B)
	Z := blas.NewGeneral(l, p)
	s.sys.K.Apply(Z, B)
	s.res.Iter++
	s.res.Columns += p
	s.append(B, Z)
}

// append adds the orthonormal B and Z = K·B to the space and borders T.
func (s *krylov) append(B, Z blas.General) {
	d, p := s.space.Q.Cols, B.Cols
	T := blas.NewGeneral(d+p, d+p)
	for i := range d {
		copy(blas.Row(T, i), blas.Row(s.T, i))
	}
	s.space.Q, s.space.Z = s.widen(0, s.space.Q, B), s.widen(1, s.space.Z, Z)
	blas.Mul(s.be, blas.View(T, d, 0, p, d+p), true, false, Z, s.space.Q)
	blas.MirrorLower(T)
	s.T = T
	s.inner.Invalidate()
}

// widen returns [a b] in the store i, which grows by doubling.
func (s *krylov) widen(i int, a, b blas.General) blas.General {
	l, d := b.Rows, a.Cols+b.Cols
	if s.store[i].Rows != l || s.store[i].Cols < d {
		wide := blas.NewGeneral(l, max(d, 2*a.Cols))
		if a.Cols > 0 {
			blas.Copy(blas.View(wide, 0, 0, l, a.Cols), a)
		}
		s.store[i] = wide
	}
	blas.Copy(blas.View(s.store[i], 0, a.Cols, l, b.Cols), b)
	return blas.View(s.store[i], 0, 0, l, d)
}
