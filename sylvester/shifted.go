package sylvester

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/par"
	"github.com/iokl/iokl/linop"
)

// shifted runs conjugate gradients on the decoupled columns
//
//	(ρ_j·K + μI)·x_j = b_j
//
// side by side: every iteration multiplies K by one contiguous block of the
// columns still active, each with its own step lengths, and a column that has
// converged leaves the block. The columns share one budget for the squared
// residual, Σ_j ‖r_j‖² ≤ budget, so that an easy column leaves what it does not
// need to the hard ones. Package cg has one step length for all columns, those of one system: shared by many shifts, it
// takes as many iterations as their joint spectrum asks for, and no column leaves.
//
// Scratch: four l×r blocks, with a preconditioner of rank q also two q×r.
type shifted struct {
	be  blas.Backend
	K   linop.Operator
	mu  float64
	pre *lowRank // nil for none

	idx         []int     // number of each active column
	rho         []float64 // its eigenvalue of L
	rr, rz      []float64 // ‖r_j‖² and r_jᵀ·P_j⁻¹·r_j
	rzNext      []float64 // the new rz
	curvature   []float64 // p_jᵀ(ρ_j·K + μI)p_j
	alpha, beta []float64
	order       []int

	X, R, P, KP blas.General // l×k, contiguous
	W           blas.General // Uᵀ·R
	part        []float64    // one row of partial sums for each strip of rows
	removed     float64      // squared residual of the columns that have left the block

	// before, unless it is nil, is called before every iteration with the number of active columns. It may change pre
	// and K, which it reports, and end the iterations by an error.
	before func(ctx context.Context, f *frame, active int) (changed bool, err error)

	curvatureFn, stepFn, directionFn func(strip int) // method values, made once
}

// stripRows is the number of rows the vector updates of one goroutine cover at
// a time. It is fixed, so that sums do not depend on the number of threads.
const stripRows = 128

// start loads the columns of X0 and of their residuals R0 that are not yet
// within the budget.
func (s *shifted) start(X0, R0 blas.General, rho []float64, budget float64) {
	l, r := X0.Rows, X0.Cols
	s.fit(l, r)
	columnSquares(s.rr, R0)
	for j := range r {
		s.idx[j], s.rho[j] = j, rho[j]
	}
	s.removed = 0
	if s.markConverged(budget) {
		s.dropMarked()
	}
	s.shape(l)
	for i := range l {
		x, res := blas.Row(X0, i), blas.Row(R0, i)
		xa, ra := blas.Row(s.X, i), blas.Row(s.R, i)
		for a, j := range s.idx {
			xa[a], ra[a] = x[j], res[j]
		}
	}
	blas.Zero(s.P)
	clear(s.beta)
}

// fit sizes the scratch for l×r blocks.
func (s *shifted) fit(l, r int) {
	if s.curvatureFn == nil {
		s.curvatureFn, s.stepFn, s.directionFn = s.curve, s.advance, s.turn
	}
	for _, b := range []*blas.General{&s.X, &s.R, &s.P, &s.KP} {
		*b = blas.Reshape(*b, l, r)
	}
	for _, v := range []*[]float64{&s.rho, &s.rr, &s.rz, &s.rzNext, &s.curvature, &s.alpha, &s.beta} {
		*v = blas.Resize(*v, r)
	}
	s.idx = blas.Resize(s.idx, r)
	s.order = blas.Resize(s.order, r)
	s.part = blas.Resize(s.part, strips(l)*r)
}

func strips(l int) int { return (l + stripRows - 1) / stripRows }

// shape gives the blocks the width of the active columns, without moving data.
func (s *shifted) shape(l int) {
	k := len(s.idx)
	for _, b := range []*blas.General{&s.X, &s.R, &s.P, &s.KP} {
		*b = blas.Reshape(*b, l, k)
	}
	if s.pre != nil {
		s.W = blas.Reshape(s.W, len(s.pre.s), k)
	}
}

// markConverged marks in idx, by −1−j in place of j, the columns that may leave the
// block: from the smallest residual up, each may use an equal share of what is left
// of the budget. It reports whether there are any.
func (s *shifted) markConverged(budget float64) bool {
	k := len(s.idx)
	s.order = s.order[:k]
	for a := range s.order {
		s.order[a] = a
	}
	slices.SortFunc(s.order, func(a, b int) int { return cmp.Or(cmp.Compare(s.rr[a], s.rr[b]), a-b) })
	gone := 0
	for _, a := range s.order {
		if !(s.rr[a] <= (budget-s.removed)/float64(k-gone)) {
			break
		}
		s.removed += s.rr[a]
		s.idx[a] = -1 - s.idx[a]
		gone++
	}
	return gone > 0
}

// removeMarked copies the solutions of the marked columns to X0 and closes the gaps.
func (s *shifted) removeMarked(X0 blas.General) {
	l, k := s.X.Rows, len(s.idx)
	s.order = s.order[:0]
	for a, j := range s.idx {
		if j >= 0 {
			s.order = append(s.order, a)
		}
	}
	for i := range l {
		x, out := s.X.Data[i*k:(i+1)*k], blas.Row(X0, i)
		for a, j := range s.idx {
			if j < 0 {
				out[-1-j] = x[a]
			}
		}
	}
	m := len(s.order)
	for _, b := range []blas.General{s.X, s.R, s.P} {
		for i := range l {
			src, dst := b.Data[i*k:(i+1)*k], b.Data[i*m:(i+1)*m]
			for c, a := range s.order {
				dst[c] = src[a]
			}
		}
	}
	s.dropMarked()
	s.shape(l)
}

// dropMarked takes the marked columns from the lists.
func (s *shifted) dropMarked() {
	m := 0
	for a, j := range s.idx {
		if j >= 0 {
			s.idx[m], s.rho[m], s.rr[m], s.rz[m] = j, s.rho[a], s.rr[a], s.rz[a]
			m++
		}
	}
	s.idx = s.idx[:m]
}

// run iterates until the columns are within the budget or f's multiplications
// are spent, and leaves the solutions in X0.
func (s *shifted) run(ctx context.Context, f *frame, X0 blas.General, budget float64) error {
	err := f.step(math.Sqrt(s.squared()))
	fresh := true
	for err == nil && len(s.idx) > 0 && f.res.Iter < f.opt.MaxIter {
		if err = ctx.Err(); err != nil {
			break
		}
		if s.before != nil {
			var changed bool
			if changed, err = s.before(ctx, f, len(s.idx)); err != nil {
				break
			}
			if changed {
				fresh = true
				s.shape(s.R.Rows)
			}
		}
		s.search(fresh)
		fresh = false
		s.K.Apply(s.KP, s.P)
		f.res.Iter++
		f.res.Columns += len(s.idx)
		if err = s.advanceAll(); err != nil {
			break
		}
		if s.markConverged(budget) {
			s.removeMarked(X0)
		}
		err = f.step(math.Sqrt(s.squared()))
	}
	for i := range s.X.Rows { // columns still active
		out := blas.Row(X0, i)
		for a, v := range blas.Row(s.X, i) {
			out[s.idx[a]] = v
		}
	}
	return err
}

// search makes the new directions p_j = P_j⁻¹·r_j + β_j·p_j.
func (s *shifted) search(fresh bool) {
	k := len(s.idx)
	rz := s.rzNext[:k]
	copy(rz, s.rr)
	if s.pre != nil {
		blas.Mul(s.be, s.W, true, false, s.pre.U, s.R)
		s.pre.weigh(s.W, s.rho[:k], s.mu, s.rr[:k], rz, s.curvature[:k])
	}
	for a, v := range rz {
		s.beta[a] = 0
		if !fresh {
			s.beta[a] = v / s.rz[a]
		}
		s.rz[a] = v
	}
	par.For(strips(s.R.Rows), s.directionFn)
	if s.pre != nil {
		blas.Gemm(s.be, false, false, 1, s.pre.U, s.W, 1, s.P)
	}
}

// advanceAll takes the step α_j along every direction.
func (s *shifted) advanceAll() error {
	par.For(strips(s.R.Rows), s.curvatureFn)
	s.gather(s.curvature)
	for a := range s.idx {
		if v := s.curvature[a]; !(v > 0) || !finite(v) {
			return notPositive(v, "pᵀ(ρK + μI)p = %g in column %d", v, s.idx[a])
		}
		s.alpha[a] = s.rz[a] / s.curvature[a]
	}
	par.For(strips(s.R.Rows), s.stepFn)
	s.gather(s.rr)
	return nil
}

// gather sums the partial sums of all strips, in their order.
func (s *shifted) gather(dst []float64) {
	k := len(s.idx)
	dst = dst[:k]
	clear(dst)
	for b := range strips(s.R.Rows) {
		for a, v := range s.part[b*k : (b+1)*k] {
			dst[a] += v
		}
	}
}

// rows is the range of elements that a strip covers.
func (s *shifted) rows(strip int) (k, lo, hi int) {
	k = len(s.idx)
	return k, strip * stripRows * k, min((strip+1)*stripRows, s.R.Rows) * k
}

// turn computes p = r + β·p on a strip.
func (s *shifted) turn(strip int) {
	k, lo, hi := s.rows(strip)
	beta := s.beta[:k]
	for i := lo; i < hi; i += k {
		p, r := s.P.Data[i:i+k], s.R.Data[i:i+k]
		for a, b := range beta {
			p[a] = r[a] + b*p[a]
		}
	}
}

// curve adds up pᵀ(ρ·Kp + μ·p) on a strip.
func (s *shifted) curve(strip int) {
	k, lo, hi := s.rows(strip)
	acc, rho, mu := s.part[strip*k:(strip+1)*k], s.rho[:k], s.mu
	clear(acc)
	for i := lo; i < hi; i += k {
		p, kp := s.P.Data[i:i+k], s.KP.Data[i:i+k]
		for a, v := range p {
			acc[a] += v * (rho[a]*kp[a] + mu*v)
		}
	}
}

// advance computes x += α·p, r −= α·(ρ·Kp + μ·p) and ‖r‖² on a strip.
func (s *shifted) advance(strip int) {
	k, lo, hi := s.rows(strip)
	acc, rho, mu, alpha := s.part[strip*k:(strip+1)*k], s.rho[:k], s.mu, s.alpha[:k]
	clear(acc)
	for i := lo; i < hi; i += k {
		p, kp, x, r := s.P.Data[i:i+k], s.KP.Data[i:i+k], s.X.Data[i:i+k], s.R.Data[i:i+k]
		for a, v := range p {
			x[a] += alpha[a] * v
			w := r[a] - alpha[a]*(rho[a]*kp[a]+mu*v)
			r[a] = w
			acc[a] += w * w
		}
	}
}

// squared is the squared residual of all columns, those that have left included.
func (s *shifted) squared() float64 {
	t := s.removed
	for a := range s.idx {
		t += s.rr[a]
	}
	return t
}
