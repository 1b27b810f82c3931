// Package lanczos computes the largest or the smallest eigenpairs of any
// symmetric [linop.Operator] by the block Lanczos method with full
// reorthogonalization and thick restarts (Wu and Simon,
// doi:10.1137/S0895479898334605).
package lanczos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"

	"gonum.org/v1/gonum/lapack/gonum"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// Which says which end of the spectrum is wanted.
type Which int

const (
	Largest  Which = iota // algebraically largest eigenvalues
	Smallest              // algebraically smallest
)

// Options of a computation. The zero value asks for the largest eigenpair.
type Options struct {
	K     int   // number of eigenpairs; 0 means 1
	Which Which // which end of the spectrum
	// a pair has converged when ‖A·v−θ·v‖₂ ≤ max(Tol·‖A‖₂, AbsTol), ‖A‖₂ being the largest Ritz
	// value in magnitude; 0 means 1e-8
	Tol    float64
	AbsTol float64 // the absolute part of the test; 0 means none

	MaxIter int // applications of A to a block; 0 means 10·N + 100
	// Block is the number of vectors A is applied to at once; 0 means K. A block misses the
	// copies of an eigenvalue beyond its width. Below K, a random vector orthogonal to the pairs
	// found therefore looks for a better one, and where it meets one the computation goes on in blocks of K.
	Block  int
	MaxDim int // vectors kept before a restart; 0 means 60 + 4·K, raised to K + 3·Block when below that

	// Start holds start vectors, N×s with s ≤ Block, or nothing. One part in a hundred of
	// noise is added to them, lest a start without a component along the wanted vector miss it.
	Start blas.General `json:"-"`
	Seed  uint64       // of the random vectors

	Backend blas.Backend `json:"-"` // nil means the active one
	// sees the start and every iteration; an error stops the computation and is returned
	Trace func(Step) error `json:"-"`
}

// Step is what Trace sees; its slices are valid during the call only.
type Step struct {
	Iter      int
	Applies   int       // columns multiplied by A so far
	Dim       int       // of the Krylov space
	Values    []float64 // Ritz values, as many of K as there are
	Residuals []float64 // estimates of their residual norms
}

// Result holds the eigenpairs, the most extreme first. Values are Rayleigh
// quotients and Residuals are computed from their definition at the returned
// vectors. The slices belong to the Workspace and hold until its next call.
type Result struct {
	Values    []float64    // θ_i = v_iᵀ·A·v_i, length K
	Vectors   blas.General // N×K, orthonormal columns; no rows when the computation ended before it had K
	Residuals []float64    // ‖A·v_i − θ_i·v_i‖₂: some eigenvalue of A lies within it of θ_i
	Iter      int          // applications of A to a block in the main loop
	Applies   int          // columns multiplied by A in all, the final check included
	Restarts  int
}

var (
	// ErrNotConverged says that MaxIter was spent, or rounding errors forbid further progress, before Tol was met.
	// It wraps linop.ErrNotConverged.
	ErrNotConverged = fmt.Errorf("lanczos: %w", linop.ErrNotConverged)
	// ErrNotFinite says that a product with A, or the start, has an element that is NaN or infinite.
	ErrNotFinite = errors.New("lanczos: not finite")
)

// Workspace is the scratch: N·(MaxDim + 4·Block + 2·K) floats and a few times
// MaxDim², kept between calls, so that nothing is allocated after the first call
// of a size but by a search behind a Block below K, which takes 64·N floats more.
// It is ready at zero, must not be copied, and serves one goroutine.
type Workspace struct {
	_ [0]sync.Mutex // go vet reports copies

	Q      blas.General // N×(MaxDim+Block): the basis, then the next block
	X, W   blas.General // N×Block: a block, and A times it
	P      blas.General // N×Block: the block before X
	T      blas.General // MaxDim×MaxDim: QᵀAQ
	S      blas.General // eigenvectors of T, one per column, the wanted first
	tri    tridiagonal  // T where Block is 1
	turn   blas.General // MaxDim×MaxDim, for Block 1: how the kept vectors are rotated at a restart
	turned blas.General // MaxDim×MaxDim, for Block 1: S times that
	H      blas.General // (MaxDim+Block)×Block: projections on the basis
	R      blas.General // Block×Block: the residual block is (next block)·R
	chunk  blas.General // rows of the basis while it is compressed
	V, AV  blas.General // N×K: the pairs returned
	probe  *Workspace   // of the search for copies that Block missed; nil before one
	theta  []float64    // eigenvalues of T, the wanted first, of opposite sign when the largest are wanted
	values []float64
	resid  []float64
	work   []float64 // of LAPACK
	pcg    rand.PCG
	rng    *rand.Rand
	small  gonum.Implementation
}

// Eigs is [Workspace.Eigs] with scratch of its own.
func Eigs(ctx context.Context, A linop.Operator, opt Options) (Result, error) {
	return new(Workspace).Eigs(ctx, A, opt)
}

// Eigs computes K extremal eigenpairs of A. A nil error means that every residual
// met the test of Options.Tol. Otherwise the best Ritz pairs so far are returned
// beside the error: ErrNotConverged, ErrNotFinite, that of ctx, or that of Trace.
//
// An iteration costs one application of A to a block of b vectors and about
// 8·N·dim·b flops for the orthogonalization against the dim vectors before it.
// A Ritz value found for the largest eigenvalue is a lower estimate of it.
func (w *Workspace) Eigs(ctx context.Context, A linop.Operator, opt Options) (Result, error) {
	n := A.Dim()
	opt = opt.withDefaults(n)
	if opt.K < 1 || opt.K > n {
		panic("lanczos: Eigs: K outside 1..N")
	}
	if opt.Start.Cols > 0 && (opt.Start.Rows != n || opt.Start.Cols > opt.Block) {
		panic("lanczos: Eigs: shape of the start")
	}
	w.resize(n, opt)
	s := eigs{Workspace: w, A: A, opt: opt, n: n, be: blas.Or(opt.Backend), sign: 1}
	if opt.Which == Largest {
		s.sign = -1
	}
	err := s.run(ctx)
	if err != nil || opt.Block >= opt.K || opt.K == n {
		return s.res, err
	}
	missed, before, err := s.missed(ctx)
	if err != nil || !missed {
		return before, err
	}
	opt.Block, opt.Start, opt.MaxIter = opt.K, blas.Clone(w.V), opt.MaxIter-before.Iter
	opt = opt.withDefaults(n)
	w.resize(n, opt)
	s = eigs{Workspace: w, A: A, opt: opt, n: n, be: s.be, sign: s.sign}
	err = s.run(ctx)
	s.res.Iter, s.res.Applies = s.res.Iter+before.Iter, s.res.Applies+before.Applies
	s.res.Restarts += before.Restarts + 1
	return s.res, err
}

func (o Options) withDefaults(n int) Options {
	o.K = cmp.Or(o.K, 1)
	if o.Block <= 0 {
		o.Block = o.K
	}
	o.Block = min(o.Block, n)
	o.MaxDim = min(max(cmp.Or(o.MaxDim, 60+4*o.K), o.K+3*o.Block), n)
	o.Tol = cmp.Or(o.Tol, 1e-8)
	o.MaxIter = cmp.Or(o.MaxIter, 10*n+100)
	return o
}

func (w *Workspace) resize(n int, o Options) {
	d, b := o.MaxDim, o.Block
	w.Q = blas.Reshape(w.Q, n, d+b)
	w.X, w.W, w.P = blas.Reshape(w.X, n, b), blas.Reshape(w.W, n, b), blas.Reshape(w.P, n, b)
	w.T, w.S = blas.Reshape(w.T, d, d), blas.Reshape(w.S, d, d)
	if b == 1 {
		w.turn, w.turned = blas.Reshape(w.turn, d, d), blas.Reshape(w.turned, d, d)
	}
	w.H, w.R = blas.Reshape(w.H, d+b, b), blas.Reshape(w.R, b, b)
	w.chunk = blas.Reshape(w.chunk, chunkRows, d)
	w.V, w.AV = blas.Reshape(w.V, n, o.K), blas.Reshape(w.AV, n, o.K)
	w.theta = blas.Resize(w.theta, d)
	w.values, w.resid = blas.Resize(w.values, o.K), blas.Resize(w.resid, o.K)
	w.work = blas.Resize(w.work, max(1, 40*d))
	w.pcg.Seed(o.Seed, 0x6c616e637a6f73)
	if w.rng == nil {
		w.rng = rand.New(&w.pcg)
	}
}
