// This file is the solver krylov: Galerkin projection on one block Krylov space for all columns.

package sylvester

import (
	"context"
	"fmt"
	"math"

	"github.com/iokl/iokl/blas"
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
	cg    shifted
	space sketch // its Q and Z, and the preconditioner made of them
	inner Tridiagonal

	T     blas.General // d×d
	form  blas.General // T as inner has it, when ready
	ready bool
	b     blas.General // Qᵀ·Ỹ, as far as computed
	c     blas.General // the coefficients, d×r
	work  blas.General
}

func (s *krylov) Name() string { return "krylov" }

func (s *krylov) Invalidate() { s.space.reset() }

func (s *krylov) prepare(ctx context.Context, f *frame) error {
	f.direct()
	if err := f.checkStart(); err != nil {
		return err
	}
	f.rotate()
	if s.space.Q.Rows != f.Y.Rows {
		s.space.reset()
	}
	s.b.Rows, s.c.Rows = 0, 0
	if s.space.Q.Cols == 0 && len(f.rho) > 0 {
		f.toColumns(f.rt, f.C, 1)
		s.extend(ctx, f, f.rt, blas.Frob(f.rt))
	}
	return nil
}

// round projects on the space first; conjugate gradients do what that leaves.
func (s *krylov) round(ctx context.Context, f *frame, round int) error {
	s.cg.pre = nil
	if round == 0 {
		size, err := s.build(ctx, f)
		s.expand(f)
		if err != nil {
			f.restore()
			return err
		}
		if !(size <= margin*f.opt.Tol*f.normY) && s.space.Q.Cols > 0 && s.space.factor(ctx) {
			s.cg.pre = &s.space.low
		}
		f.iterated = len(f.rho)
	} else if s.space.low.rank() > 0 {
		s.cg.pre = &s.space.low
	}
	return s.cg.round(ctx, f, round)
}

// build extends the space until the residual is within the tolerance, the space
// is at its limit or extensions do not help any more. It leaves the solution in C̃,
// its residual in rt, and returns the norm of that.
func (s *krylov) build(ctx context.Context, f *frame) (size float64, err error) {
	limit := dimension(f.Y.Rows)
	for best, idle := math.Inf(1), 0; ; {
		if err = ctx.Err(); err != nil {
			return size, err
		}
		if size, err = s.project(f); err != nil {
			return size, err
		}
		if idle++; size < krylovGain*best {
			best, idle = size, 0
		}
		if size <= margin*f.opt.Tol*f.normY || s.space.Q.Cols >= limit || f.res.Iter >= f.opt.MaxIter ||
			idle > krylovIdle {
			return size, nil
		}
		if err = f.step(size); err != nil {
			return size, err
		}
		s.extend(ctx, f, f.rt, size)
	}
}

// dimension is the largest d.
func dimension(l int) int { return max(l/3, min(l, 32)) }

// project solves the projected systems, writes the residuals of Q·c to rt, and
// returns their norm.
func (s *krylov) project(f *frame) (float64, error) {
	blas.Copy(f.rt, f.yt)
	d, r := s.space.Q.Cols, len(f.rho)
	if d == 0 || r == 0 {
		return blas.Frob(f.rt), nil
	}
	s.sides(f)
	s.c = blas.Reshape(s.c, d, r)
	s.work = blas.Reshape(s.work, d, r)
	if !s.ready {
		s.form = blas.Reshape(s.form, d, d)
		blas.Copy(s.form, s.T)
		if v := sum(s.form); !finite(v) {
			return math.NaN(), fmt.Errorf("%w: on a space of dimension %d the elements of K sum to %g", ErrNotFinite, d,
				v)
		}
		s.inner.Reduce(context.Background(), f.be, s.form) // small
		s.ready = true
	}
	blas.Copy(s.c, s.b)
	s.inner.ToQ(s.c)
	if err := s.inner.Solve(s.c, s.work, f.rho, f.mu); err != nil {
		return math.NaN(), fmt.Errorf("on a space of dimension %d: %w", d, err)
	}
	s.inner.FromQ(s.c)
	blas.Gemm(f.be, false, false, -f.mu, s.space.Q, s.c, 1, f.rt)
	blas.Copy(s.work, s.c)
	blas.ScaleColumns(s.work, f.rho)
	blas.Gemm(f.be, false, false, -1, s.space.Z, s.work, 1, f.rt)
	return blas.Frob(f.rt), nil
}

// sides extends b = Qᵀ·Ỹ by the rows of the new part of Q.
func (s *krylov) sides(f *frame) {
	d, r := s.space.Q.Cols, f.yt.Cols
	known := s.b.Rows
	b := blas.NewGeneral(d, r)
	copy(b.Data, s.b.Data[:known*r])
	blas.Mul(f.be, blas.View(b, known, 0, d-known, r), true, false, blas.View(s.space.Q, 0, known, f.yt.Rows, d-known),
		f.yt)
	s.b = b
}

// expand writes C̃ = Q·c.
func (s *krylov) expand(f *frame) {
	if d := s.space.Q.Cols; d == 0 || s.c.Rows != d || s.c.Cols != f.yt.Cols {
		blas.Zero(f.ct) // nothing projected yet
		return
	}
	blas.Mul(f.be, f.ct, false, false, s.space.Q, s.c)
}

// extend adds to the space the leading left singular directions of the l×r block
// M, of Frobenius norm size, that hold all but the part cut of it.
func (s *krylov) extend(ctx context.Context, f *frame, M blas.General, size float64) {
	if !(size > 0) {
		return
	}
	l, r := M.Rows, M.Cols
	G, theta := blas.NewGeneral(r, r), make([]float64, r)
	blas.GramOf(f.be, G, M)
	blas.Scal(1/square(size), G.Data)
	if !finite(sum(G)) || f.be.Syevd(G, theta) != nil {
		return
	}
	d, p := s.space.Q.Cols, 0
	for tail := 1.0; p < min(r, dimension(l)-d) && (p < krylovLeast || tail > square(krylovCut)); p++ {
		tail -= theta[r-1-p]
	}
	B, E := blas.NewGeneral(l, p), blas.NewGeneral(r, p)
	for c := range p {
		scale := 1 / (size * math.Sqrt(max(theta[r-1-c], 0x1p-52)))
		for i := range r {
			E.Data[i*p+c] = scale * G.Data[i*r+r-1-c]
		}
	}
	blas.Mul(f.be, B, false, false, M, E)
	if B = s.space.orthonormalize(ctx, B); B.Cols == 0 {
		return
	}
	Z := blas.NewGeneral(l, B.Cols)
	f.sys.K.Apply(Z, B)
	f.res.Iter++
	f.res.Columns += B.Cols
	s.append(f.be, B, Z)
}

// append adds the orthonormal B and Z = K·B to the space and borders T.
func (s *krylov) append(be blas.Backend, B, Z blas.General) {
	d, p := s.space.Q.Cols, B.Cols
	T := blas.NewGeneral(d+p, d+p)
	for i := range d {
		copy(blas.Row(T, i), blas.Row(s.T, i))
	}
	s.space.extend(B, Z)
	blas.Mul(be, blas.View(T, d, 0, p, d+p), true, false, Z, s.space.Q)
	blas.MirrorLower(T)
	s.T = T
	s.ready = false
}
