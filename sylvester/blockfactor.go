package sylvester

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/cg"
	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/internal/base/par"
	"github.com/iokl/iokl/internal/base/phase"
	"github.com/iokl/iokl/linop"
)

// rower is a symmetric operator that tells its elements: Row writes those of row i in the first len(dst) columns.
type rower interface {
	Row(i int, dst []float64)
}

// blockFactor is Cholesky's factor of K + σI in single precision, in the place of (K + σI)⁻¹. It takes half an l×l
// matrix of single precision, and l³/3 multiplications. Block column j is the rows from j·factorWidth on, row by row;
// its block on the diagonal is the inverse of that of the factor, so that solves are products.
type blockFactor struct {
	be    blas.Backend
	l     int
	sigma float64
	least float64 // what of σ is not the system's
	cols  [][]float32
	below []float32              // a block column before it is divided
	free  par.Free[blas.General] // tiles in double precision
	parts blas.General           // what tiles add to the rows of a block, one below the other
	own   blas.General           // the rows of a block before they are multiplied
}

const (
	// factorWidth is the number of columns of a block. An element is read and written, 8 bytes, once for so many
	// multiplications: at 10¹¹ of them a second that is 1.6 GB a second, far below what memories give.
	factorWidth = 512
	// tileRows is how many rows one goroutine converts, or multiplies by, at a time: 1 MiB of them in double precision.
	tileRows = 256
	// factorFloor·tr K·2⁻²⁴ is the least part of σ that is not the system's, a tenth of the bound of the backward error
	// (Higham, Accuracy and Stability of Numerical Algorithms, 2002, theorem 10.3, of order l·max k(x,x)·2⁻²⁴). Of a
	// Gaussian kernel of eight inputs, whose eigenvalues fall far below that, factors of order 4000 exist from .03 of
	// that bound on, and of order 12,000 from .05 to .1. One that does not gets four times as much, factorTries times.
	factorFloor = 0.1
	factorTries = 3
)

// factorBytes is the memory of a factor of order l, with its work space.
func factorBytes(l int) float64 { return 2 * float64(l) * (float64(l) + 3*factorWidth) }

func (p *blockFactor) blocks() int { return (p.l + factorWidth - 1) / factorWidth }

// column returns block column j: its first row, its width and its elements.
func (p *blockFactor) column(j int) (first, width int, a []float32) {
	first = j * factorWidth
	return first, min(factorWidth, p.l-first), p.cols[j]
}

// factorize makes p the factor of K + σI, in memory that it keeps, for the least σ ≥ shift that single precision is
// expected to bear, or a larger one after that has broken down. It reports false where all do.
func (p *blockFactor) factorize(ctx context.Context, K rower, l int, shift float64) (ok bool, err error) {
	if p.l != l {
		p.l = l
		p.cols = make([][]float32, p.blocks())
		for j := range p.cols {
			first := j * factorWidth
			p.cols[j] = make([]float32, (l-first)*min(factorWidth, l-first))
			memory.PreferHuge(p.cols[j])
		}
	}
	p.sigma, p.below = 0, make([]float32, 0, l*factorWidth)
	defer func() { p.below = nil }()
	p.least = 0
	for range factorTries {
		p.least = max(4*p.least, factorFloor*0x1p-24*p.load(ctx, K))
		p.diagonal(func(v *float32) { *v += float32(shift + p.least) })
		phase.Decomposed(ctx, l)
		if ok, err = p.eliminate(ctx); ok || err != nil {
			break
		}
	}
	if ok {
		p.sigma = shift + p.least
	}
	return ok, err
}

// load copies the lower triangle of K, or what is copied when ctx ends, and returns its trace.
func (p *blockFactor) load(ctx context.Context, K rower) (trace float64) {
	par.Ranges(p.l, blas.SymBlock, func(lo, hi int) {
		if ctx.Err() != nil {
			return
		}
		line := make([]float64, hi)
		for i := lo; i < hi; i++ {
			K.Row(i, line[:i+1])
			for j := 0; j*factorWidth <= i; j++ {
				first, width, a := p.column(j)
				out := a[(i-first)*width:][:width]
				for k, v := range line[first:min(first+width, i+1)] {
					out[k] = float32(v)
				}
			}
		}
	})
	p.diagonal(func(v *float32) { trace += float64(*v) })
	return trace
}

// diagonal calls f for the elements on the diagonal.
func (p *blockFactor) diagonal(f func(*float32)) {
	for j := range p.cols {
		_, width, a := p.column(j)
		for i := range width {
			f(&a[i*width+i])
		}
	}
}

// eliminate turns the matrix into its factor, block column by block column.
func (p *blockFactor) eliminate(ctx context.Context) (ok bool, err error) {
	for j := range p.cols {
		if err := p.reduce(ctx, j); err != nil {
			return false, err
		}
		if !p.divide(j) {
			return false, nil
		}
	}
	return true, nil
}

// reduce subtracts from block column j the products of those before it.
func (p *blockFactor) reduce(ctx context.Context, j int) error {
	at, width, a := p.column(j)
	for k := range j {
		if err := ctx.Err(); err != nil {
			return err
		}
		first, w, b := p.column(k)
		b = b[(at-first)*w:]
		p.be.Sgemm(blas.NoTrans, blas.Trans, p.l-at, width, w, -1, b, w, b, w, 1, a, width)
	}
	return ctx.Err()
}

// divide turns the block column j of what is left of the matrix into that of the factor.
func (p *blockFactor) divide(j int) bool {
	at, width, a := p.column(j)
	D, inverse := blas.NewGeneral(width, width), linop.ScaledIdentity(width, 1).V
	widen(D.Data, a)
	if !p.be.Potrf(D) {
		return false
	}
	p.be.Dtrsm(blas.Left, blas.Lower, blas.NoTrans, blas.NonUnit, width, width, 1, D.Data, width, inverse.Data, width)
	for i, v := range inverse.Data {
		a[i] = float32(v)
	}
	rows := p.l - at - width
	if rows == 0 {
		return finite(sum(inverse))
	}
	below := a[width*width:]
	b := append(p.below[:0], below...)
	p.be.Sgemm(blas.NoTrans, blas.Trans, rows, width, width, 1, b, width, a, width, 0, below, width)
	return finite(sum(inverse))
}

// widen copies numbers in single precision to as many in double precision.
func widen(dst []float64, src []float32) {
	for i, v := range src[:len(dst)] {
		dst[i] = float64(v)
	}
}

// solve overwrites the l×k X by (K + σI)⁻¹·X, in double precision: the map is linear and symmetric to its rounding.
// Its scratch stays allocated: garbage would double the memory of the factor before it is collected.
func (p *blockFactor) solve(X blas.General) {
	for j := range p.cols {
		p.invert(j, X, false)
		first, width, _ := p.column(j)
		p.tiles(j, func(_, row, rows int, T blas.General) {
			p.add(false, -1, T, blas.View(X, first, 0, width, X.Cols), blas.View(X, row, 0, rows, X.Cols))
		})
	}
	for j := len(p.cols) - 1; j >= 0; j-- {
		first, width, _ := p.column(j)
		count := (p.l - first - width + tileRows - 1) / tileRows
		p.parts = blas.Reshape(p.parts, count*width, X.Cols)
		blas.Zero(p.parts)
		part := func(t int) blas.General { return blas.View(p.parts, t*width, 0, width, X.Cols) }
		p.tiles(j, func(t, row, rows int, T blas.General) {
			p.add(true, -1, T, blas.View(X, row, 0, rows, X.Cols), part(t))
		})
		out := blas.View(X, first, 0, width, X.Cols)
		for t := range count {
			blas.AddScaled(out, 1, part(t))
		}
		p.invert(j, X, true)
	}
}

// add computes Y += alpha·op(T)·X.
func (p *blockFactor) add(trans bool, alpha float64, T, X, Y blas.General) {
	if X.Cols > 1 {
		blas.Gemm(p.be, trans, false, alpha, T, X, 1, Y)
		return
	}
	op := blas.NoTrans
	if trans {
		op = blas.Trans
	}
	p.be.Dgemv(op, T.Rows, T.Cols, alpha, T.Data, T.Stride, X.Data, X.Stride, 1, Y.Data, Y.Stride)
}

// invert multiplies the rows of block j of X by the inverse of the block on the diagonal, or its transpose.
func (p *blockFactor) invert(j int, X blas.General, trans bool) {
	first, width, a := p.column(j)
	out := blas.View(X, first, 0, width, X.Cols)
	p.own = blas.Reshape(p.own, width, X.Cols)
	blas.Copy(p.own, out)
	blas.Zero(out)
	p.widened(a, width, width, func(T blas.General) { p.add(trans, 1, T, p.own, out) })
}

// widened calls f with the first elements of a as a matrix in double precision.
func (p *blockFactor) widened(a []float32, rows, cols int, f func(T blas.General)) {
	T := p.free.Take()
	*T = blas.Reshape(*T, rows, cols)
	widen(T.Data, a)
	f(*T)
	p.free.Put(T)
}

// tiles calls f, in parallel, for some rows below the diagonal block of block column j at a time: their number among
// such, the first of them, how many, and their elements.
func (p *blockFactor) tiles(j int, f func(t, row, rows int, T blas.General)) {
	first, width, a := p.column(j)
	from := first + width
	par.Ranges(p.l-from, tileRows, func(lo, hi int) {
		p.widened(a[(from+lo-first)*width:], hi-lo, width, func(T blas.General) { f(lo/tileRows, from+lo, hi-lo, T) })
	})
}

// singleCholesky is conjugate gradients on the decoupled columns, preconditioned by a [blockFactor] of K + σI with
// σ ≥ μ/ρ₁: the method for a large K in single precision where a sketch leaves many iterations. The factor serves until
// K changes or a new one is predicted to be cheaper.
type singleCholesky struct {
	p      blockFactor
	stale  bool // K has changed since
	broken bool // this K has no factor in single precision
	work   cg.Workspace
	rho    []float64
	mu     float64
	K      linop.Operator
}

func (s *singleCholesky) Name() string { return "cholesky" }

func (s *singleCholesky) Invalidate() { s.stale, s.broken = true, false }

// kept is the factor's σ for a K of order l, 0 where there is none.
func (s *singleCholesky) kept(l int) float64 {
	if s.stale || s.p.l != l {
		return 0
	}
	return s.p.sigma
}

// fits reports whether memory holds a factor of K, whose elements are to be known, and none has broken down.
func (s *singleCholesky) fits(K linop.Operator) bool {
	_, ok := K.(rower)
	return ok && !s.broken && (s.p.l == K.Dim() || memory.Check("", factorBytes(K.Dim()), "") == nil)
}

// behind predicts the iterations behind a factor with σ: the eigenvalues of (ρK + μI)(K + σI)⁻¹/ρ lie between 1 and
// μ/(ρσ), and conjugate gradients of condition number κ gain the factor (√κ + 1)/(√κ − 1) in each.
func behind(sigma float64, L *linop.Spectral, mu, tol float64) float64 {
	lo, hi := math.Min(1, mu/(L.S[0]*sigma)), math.Max(1, mu/(L.S[L.Rank()-1]*sigma))
	root := math.Sqrt(factorError * hi / lo)
	return 1 + math.Log(2/tol)/math.Log((root+1)/(root-1))
}

// plan predicts the cost of a solve, and whether it begins with a new factor.
func (s *singleCholesky) plan(c *costs, l int, L *linop.Spectral, mu, tol float64) (cost float64, anew bool) {
	fl, r := float64(l), float64(L.Rank())
	each := c.plain.total(1, r, fl, 0) + fl*fl*(c.single[1]+c.single[2]*r)
	old, shift := math.Inf(1), mu/L.S[0]
	if sigma := s.kept(l); sigma > 0 {
		old, shift = each*behind(sigma, L, mu, tol), shift+s.p.least
	}
	cost = c.single[0]*fl*fl*fl + each*behind(shift, L, mu, tol)
	return min(cost, old), cost < old
}

func (s *singleCholesky) prepare(ctx context.Context, f *frame) error {
	if err := f.iterative(); err != nil {
		return err
	}
	f.rotate()
	s.rho, s.mu, s.K = f.rho, f.mu, f.fast
	l := f.Y.Rows
	_, anew := s.plan(costsOf(f.be), l, f.sys.L, f.sys.Mu, f.opt.Tol)
	if !anew {
		return nil
	}
	s.p.be = f.be
	sigma := f.mu / f.rho[0]
	ok, err := s.p.factorize(ctx, f.fast.(rower), l, sigma)
	s.stale, s.broken = false, err == nil && !ok
	if s.broken {
		err = fmt.Errorf("%w: Cholesky's factorization in single precision breaks down at μ/ρ = %g", ErrNotSPD, sigma)
	}
	return err
}

func (s *singleCholesky) round(ctx context.Context, f *frame, _ int) error {
	blas.Zero(f.ct)
	if !f.cold {
		f.toColumns(f.ct, f.C, f.b/f.a)
	}
	f.rotate()
	_, err := f.conjugate(ctx, &s.work, f.ct.Data, s.system(), s.inverse(), f.yt.Data)
	f.restore()
	f.cold = false
	return cmp.Or(ctx.Err(), err)
}

// system is the map of columns x_j to (ρ_j·K + μI)·x_j.
func (s *singleCholesky) system() linop.Operator {
	return onMatrices(s.K.Dim(), len(s.rho), func(dst, x blas.General) {
		s.K.Apply(dst, x)
		blas.ScaleColumns(dst, s.rho)
		blas.AddScaled(dst, s.mu, x)
	})
}

// inverse is the map of columns x_j to (K + σI)⁻¹·x_j/ρ_j.
func (s *singleCholesky) inverse() linop.Operator {
	return onMatrices(s.K.Dim(), len(s.rho), func(dst, x blas.General) {
		for i := range x.Rows {
			out := blas.Row(dst, i)
			for j, v := range blas.Row(x, i) {
				out[j] = v / s.rho[j]
			}
		}
		s.p.solve(dst)
	})
}
