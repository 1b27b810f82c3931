// The block Lanczos iteration.

package lanczos

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/lapack"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// chunkRows is how many rows of the basis are compressed at once.
const chunkRows = 64

// eigs is one call of Eigs. The first dim columns of Q are the basis, with
// T = QᵀAQ; the next columns hold the block of width `next` that extends it.
// A·Q = Q·T + Q_next·R·Eᵀ, E being the last `last` unit vectors.
type eigs struct {
	*Workspace
	A    linop.Operator
	opt  Options
	be   blas.Backend
	n    int
	sign float64 // the factor by which the wanted eigenvalues become the smallest
	dim  int
	last int
	next int
	res  Result

	due, looked int     // columns multiplied by A when T is to be decomposed next, and was last
	worst       float64 // largest residual estimate then, relative to the bound

	size     float64 // largest element of T so far: the magnitude of A as far as it is known
	bound    float64 // what the residuals have to meet
	rejected float64 // largest true residual at the last refused claim; 0 before one
}

// run extends the basis until the residual estimates claim convergence and the
// true residuals confirm it, restarting whenever the basis is full.
func (s *eigs) run(ctx context.Context) error {
	if err := s.begin(); err != nil {
		return err
	}
	if err := s.trace(); err != nil {
		return err
	}
	for {
		stop := s.stopped(ctx)
		if stop == nil {
			stop = s.extend()
		}
		if stop != nil {
			return s.giveUp(stop)
		}
		full := s.next == 0 || s.dim+s.next > s.opt.MaxDim
		if !full && s.res.Applies < s.due && s.opt.Trace == nil {
			continue
		}
		if err := s.ritz(); err != nil {
			return err
		}
		if err := s.trace(); err != nil {
			return s.giveUp(err)
		}
		s.schedule()
		if s.dim >= s.opt.K && s.converged() == s.opt.K { // the estimates claim convergence
			if done, err := s.confirm(); done {
				return err
			}
			full = true
		}
		if s.next == 0 {
			return s.giveUp(fmt.Errorf("%w: the whole space gives residuals above %.3g", ErrNotConverged, s.bound))
		}
		if full {
			s.restart()
		}
	}
}

// schedule sets when the projected matrix, whose eigenvalues cost as much as some
// products with A of small order, is looked at next: when the residual estimates,
// if they go on falling as between the last two looks, will have met the bound.
func (s *eigs) schedule() {
	worst := math.Inf(1)
	if len(s.resid) == s.opt.K {
		worst = slices.Max(s.resid) / s.bound
	}
	wait := float64(1 + s.dim/8)
	if columns := float64(s.res.Applies - s.looked); columns > 0 && worst < s.worst && s.worst < math.Inf(1) {
		wait = math.Log(worst) / math.Log(s.worst/worst) * columns
	}
	s.looked, s.worst = s.res.Applies, worst
	s.due = s.res.Applies + int(min(max(wait, 1+float64(s.dim)/16), 1+float64(s.dim)/2))
}

func (s *eigs) stopped(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("lanczos: after %d iterations: %w", s.res.Iter, err)
	}
	if s.res.Iter >= s.opt.MaxIter {
		return fmt.Errorf("%w: %d of %d pairs wanted, %d iterations", ErrNotConverged, s.converged(), s.opt.K,
			s.res.Iter)
	}
	return nil
}

// giveUp fills the result with the best pairs there are and returns the reason.
func (s *eigs) giveUp(reason error) error {
	if s.dim < s.opt.K || s.ritz() != nil {
		return reason
	}
	s.pairs()
	return reason
}

// begin makes the first block: the start with a little noise, then random vectors.
func (s *eigs) begin() error {
	const noise = 0.01
	for i := range s.W.Data {
		s.W.Data[i] = s.rng.NormFloat64()
	}
	for j := range s.opt.Start.Cols {
		norm := norm(column(s.opt.Start, j))
		if math.IsNaN(norm) || math.IsInf(norm, 0) {
			return fmt.Errorf("%w: start vector %d has norm %g", ErrNotFinite, j, norm)
		}
		if norm == 0 {
			continue
		}
		c := noise / math.Sqrt(float64(s.n))
		for i := range s.n {
			w := &s.W.Data[i*s.W.Stride+j]
			*w = s.opt.Start.Data[i*s.opt.Start.Stride+j]/norm + c**w
		}
	}
	s.next = s.opt.Block
	s.orthonormalize(0)
	return nil
}

// extend multiplies the next block by A, adds it to the basis with its part of T,
// and makes the residual the new next block.
func (s *eigs) extend() error {
	b, d := s.next, s.dim+s.next
	s.X, s.P = s.P, s.X
	X, W := blas.Reshape(s.X, s.n, b), blas.Reshape(s.W, s.n, b)
	blas.Copy(X, blas.View(s.Q, 0, s.dim, s.n, b))
	s.A.Apply(W, X)
	s.res.Iter++
	s.res.Applies += b
	blas.Zero(blas.View(s.T, 0, s.dim, d, b))
	// A·X lies in the span of the last block, X and what is new, up to rounding: for the
	// first pass these two are enough, except behind a restart of blocks.
	first := 0
	if s.last > 0 {
		first = s.dim - s.last
	}
	for range 2 {
		Q, H := blas.View(s.Q, 0, first, s.n, d-first), blas.View(s.H, first, 0, d-first, b)
		if s.opt.Block == 1 && d-first <= 2 {
			for j, q := range [][]float64{s.P.Data, X.Data}[2-(d-first):] { // of Q, too short for the level 2
				h := blas.Dot(q, W.Data)
				blas.Axpy(-h, q, W.Data)
				H.Data[j*H.Stride] = h
			}
		} else {
			s.mul(true, 1, Q, W, 0, H)
			s.mul(false, -1, Q, H, 1, W)
		}
		blas.AddScaled(blas.View(s.T, first, s.dim, d-first, b), 1, H)
		first = 0
	}
	for i := range d {
		for j := range b {
			v := s.T.Data[i*s.T.Stride+s.dim+j]
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("%w: a product with A in iteration %d", ErrNotFinite, s.res.Iter)
			}
			s.T.Data[(s.dim+j)*s.T.Stride+i] = v
			s.size = max(s.size, math.Abs(v))
		}
	}
	s.dim, s.last = d, b
	s.next = min(s.opt.Block, s.n-d)
	s.orthonormalize(b)
	return nil
}

// mul computes c = alpha·op(a)·b + beta·c, by matrix-vector products for one column.
func (s *eigs) mul(tA bool, alpha float64, a, b blas.General, beta float64, c blas.General) {
	if b.Cols > 1 {
		blas.Gemm(s.be, tA, false, alpha, a, b, beta, c)
		return
	}
	t := blas.NoTrans
	if tA {
		t = blas.Trans
	}
	s.be.Dgemv(t, a.Rows, a.Cols, alpha, a.Data, a.Stride, b.Data, b.Stride, beta, c.Data, c.Stride)
}

// ritz finds the eigenvalues of T and those of the wanted end in front, and
// estimates the residuals ‖R·(last rows of the eigenvector)‖. With a block of one
// column T is tridiagonal, and S holds the eigenvectors wanted alone.
func (s *eigs) ritz() error {
	d := s.dim
	k := min(s.opt.K, d)
	var S blas.General
	var ok bool
	if s.opt.Block == 1 {
		S = blas.View(s.S, 0, 0, d, k)
		ok = s.tri.decompose(blas.View(s.T, 0, 0, d, d), s.sign, s.size)
		if ok {
			copy(s.theta, s.tri.values)
			s.tri.vectors(S)
		}
	} else {
		S = blas.View(s.S, 0, 0, d, d)
		blas.Zero(S)
		blas.AddScaled(S, s.sign, blas.View(s.T, 0, 0, d, d))
		ok = s.small.Dsyev(lapack.EVCompute, blas.Lower, d, S.Data, S.Stride, s.theta[:d], s.work, len(s.work))
	}
	if !ok {
		return fmt.Errorf("%w: the eigenvalue iteration of the projected matrix", ErrNotConverged)
	}
	s.bound = max(s.opt.Tol*max(math.Abs(s.theta[0]), math.Abs(s.theta[d-1])), s.opt.AbsTol)
	s.values, s.resid = s.values[:k], s.resid[:k]
	for i := range k {
		s.values[i] = s.sign * s.theta[i]
		var sum float64
		for r := range s.next {
			var v float64
			for j := range s.last {
				v += s.R.Data[r*s.R.Stride+j] * S.Data[(d-s.last+j)*S.Stride+i]
			}
			sum = math.Hypot(sum, v)
		}
		s.resid[i] = sum
	}
	return nil
}

func (s *eigs) converged() int {
	k := 0
	for _, r := range s.resid {
		if r <= s.bound {
			k++
		}
	}
	return k
}

// confirm computes the pairs and their true residuals. It is done when these meet
// the test, or when they fail it again without progress since the last time.
func (s *eigs) confirm() (done bool, err error) {
	s.pairs()
	worst := slices.Max(s.res.Residuals) // which keeps NaN
	if worst <= s.bound {
		return true, nil
	}
	if math.IsNaN(worst) {
		return true, fmt.Errorf("%w: a product with A in the final check", ErrNotFinite)
	}
	if s.rejected > 0 && !(worst < 0.5*s.rejected) {
		return true, fmt.Errorf("%w: residual %.3g stays at rounding level, wanted %.3g", ErrNotConverged, worst,
			s.bound)
	}
	s.rejected = worst
	return false, nil
}

// pairs computes V = Q·S for the wanted columns, θ = diag(VᵀAV) and the residual norms.
func (s *eigs) pairs() {
	k := s.opt.K
	s.compress(s.V, blas.View(s.S, 0, 0, s.dim, k))
	s.A.Apply(s.AV, s.V)
	s.res.Applies += k
	s.values, s.resid = s.values[:k], s.resid[:k]
	for j := range k {
		var theta float64
		for i := range s.n {
			theta += s.V.Data[i*k+j] * s.AV.Data[i*k+j]
		}
		r := column(s.AV, j)
		axpy(-theta, column(s.V, j), r)
		s.values[j], s.resid[j] = theta, norm(r)
	}
	s.res.Values, s.res.Residuals, s.res.Vectors = s.values, s.resid, s.V
}

// missed reports whether an eigenvalue of A on the complement of V is beyond those of V: by a Lanczos iteration with
// P·A·P, P = I − VVᵀ, from a random vector, until a Ritz value is beyond them or one that has nearly converged is not.
// The result is that of s with the work of the search. s is a copy, since what closures hold is allocated.
func (s eigs) missed(ctx context.Context) (beyond bool, res Result, err error) {
	if s.probe == nil {
		s.probe = new(Workspace)
	}
	V, h, x := s.V, blas.NewGeneral(s.opt.K, 1), blas.NewGeneral(s.n, 1)
	inside := func(v blas.General) { // v ← P·v, h ← Vᵀv
		s.mul(true, 1, V, v, 0, h)
		s.mul(false, -1, V, h, 1, v)
	}
	complement := linop.Func{N: s.n, F: func(dst, v blas.General) {
		blas.Copy(x, v)
		inside(x)
		along := blas.Clone(h)
		s.A.Apply(dst, x)
		inside(dst)
		s.mul(false, s.sign*s.size, V, along, 1, dst) // the range of V goes to the other end of the spectrum
	}}
	last := s.sign * s.res.Values[s.opt.K-1]
	decided := errors.New("decided")
	e, err := s.probe.Eigs(ctx, complement, Options{
		Which: s.opt.Which, Tol: s.opt.Tol, AbsTol: s.opt.AbsTol, MaxIter: s.opt.MaxIter, Seed: s.opt.Seed + 1,
		Backend: s.opt.Backend, Trace: func(step Step) error {
			if step.Dim == 0 {
				return nil
			}
			value := s.sign * step.Values[0]
			beyond = value < last-2*s.bound
			if beyond || step.Dim >= probeLeast && step.Residuals[0] <= probeShare*(value-last) {
				return decided
			}
			return nil
		},
	})
	res = s.res
	res.Iter, res.Applies = res.Iter+e.Iter, res.Applies+e.Applies
	switch {
	case err == nil, errors.Is(err, decided),
		errors.Is(err, ErrNotConverged) && e.Iter < s.opt.MaxIter: // at rounding level
		return beyond, res, nil
	}
	return false, res, fmt.Errorf("lanczos: in the search for copies: %w", err)
}

// A Ritz value of the complement is not beyond those found where its residual is at most probeShare of its distance
// to them. Before probeLeast steps it may be that of a vector that is not along the extreme one yet.
const (
	probeLeast = 10
	probeShare = 0.1
)

func (s *eigs) trace() error {
	if s.opt.Trace == nil {
		return nil
	}
	step := Step{Iter: s.res.Iter, Applies: s.res.Applies, Dim: s.dim}
	if s.dim > 0 {
		step.Values, step.Residuals = s.values, s.resid
	}
	return s.opt.Trace(step)
}
