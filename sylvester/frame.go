package sylvester

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// frame is one solve under way: its arguments, the change to the eigenvector
// coordinates of L = V·diag(ρ)·Vᵀ, where the columns decouple into
//
//	(ρ'_j·K + μ'I)·c̃_j = ỹ_j,   Ỹ = Y·V/a,   ρ' = ρ/b,   μ' = μ/b,   C = (a/b)·C̃·Vᵀ,
//
// the way back, and the true residual. a and b are 1 or, where ‖Y‖ or μ is very
// large or tiny, powers of two that keep squares finite and change no digit.
// Scratch: K·C (l×n), three l×r blocks and two blocks of frameRows rows.
type frame struct {
	own blas.Backend // of the solver

	// The solve under way.
	be    blas.Backend   // own, or the one whose kernels multiply by K
	given linop.Operator // K
	sys   System         // its K is given, or that in single precision as Options.Single asks
	fast  linop.Operator // the operator of iterations: sys.K, or K in single precision
	mixed bool           // fast is the latter until that proves too rough
	C, Y  blas.General
	opt   Options
	res   Result

	a, b  float64
	normY float64   // ‖Y‖/a
	rho   []float64 // ρ'
	mu    float64   // μ'

	kc       blas.General // K·C, what Result.KC shows
	last     blas.General // the C of kc, when that is known and not too large to keep
	yt, ct   blas.General // Ỹ and C̃
	rotated  bool         // yt is that of the solve under way
	cold     bool         // the caller's start is zero
	measured bool         // res.Residual is that of C already
	rt       blas.General // residual in the coordinates of C̃, also scratch
	iterated int          // the leading columns that need iterations
	x0, ax   blas.General // the start of imaged columns, and what the system makes of it
	imaged   int
	sums     []float64    // a number or two per column
	strip    blas.General // frameRows rows of an l×n matrix
	small    blas.General // frameRows rows of an l×r matrix
}

// frameRows is the number of rows the residual is formed at a time, so that no
// l×n matrix is kept for it.
const frameRows = 256

// lastElements is the largest C of which a copy is kept, so that a next solve
// that starts from it need not multiply it by K.
const lastElements = 1 << 22

// begin checks the arguments and takes hold of them for one solve.
func (f *frame) begin(C blas.General, sys System, Y blas.General, opt Options) error {
	l, n := Y.Rows, Y.Cols
	if sys.K.Dim() != l || sys.L.Dim() != n || C.Rows != l || C.Cols != n {
		panic("sylvester: shape mismatch")
	}
	r := sys.L.Rank()
	f.given, f.sys, f.C, f.Y, f.opt = sys.K, sys, C, Y, opt
	f.opt.MaxIter = cmp.Or(f.opt.MaxIter, 10*l)
	f.res = Result{Residual: math.NaN()}
	f.rotated, f.measured, f.imaged = false, false, 0
	if f.kc.Rows != l || f.kc.Cols != n {
		f.forget()
	}
	f.kc = blas.Reshape(f.kc, l, n)
	f.yt = blas.Reshape(f.yt, l, r)
	f.ct = blas.Reshape(f.ct, l, r)
	f.rt = blas.Reshape(f.rt, l, r)
	f.strip = blas.Reshape(f.strip, min(l, frameRows), n)
	f.small = blas.Reshape(f.small, min(l, frameRows), r)
	if err := opt.check(); err != nil {
		return err
	}
	norm := blas.Frob(Y)
	if err := checkSystem(sys.L, sys.Mu, norm); err != nil {
		return err
	}
	f.a, f.b = powerOfTwo(norm), powerOfTwo(sys.Mu)
	if ratio := math.Ilogb(f.a) - math.Ilogb(f.b); ratio > mostRatio || ratio < -mostRatio {
		f.b = math.Ldexp(f.a, -max(-mostRatio, min(ratio, mostRatio)))
	}
	f.normY, f.mu = norm/f.a, sys.Mu/f.b
	f.rho = blas.Resize(f.rho, r)
	for j, s := range sys.L.S {
		f.rho[j] = s / f.b
	}
	return nil
}

// checkSystem refuses an L, a μ and targets of a norm that no solver can do with.
func checkSystem(L *linop.Spectral, mu, norm float64) error {
	if !(mu > 0) || !finite(mu) {
		return fmt.Errorf("%w: μ = %g", ErrNotSPD, mu)
	}
	if !finite(1 / mu) {
		return fmt.Errorf("%w: μ = %g has no finite inverse", ErrNotFinite, mu)
	}
	if norm > 0 && norm/mu == 0 {
		return fmt.Errorf("%w: the solution, of at most ‖Y‖/μ = %g/%g, underflows", ErrNotFinite, norm, mu)
	}
	if v := norm + sum(L.V); !finite(v) {
		return fmt.Errorf("%w: ‖Y‖ and the eigenvectors of L sum to %g", ErrNotFinite, v)
	}
	for j, s := range L.S {
		switch {
		case !finite(s):
			return fmt.Errorf("%w: eigenvalue %d of L is %g", ErrNotFinite, j, s)
		case s < 0:
			return fmt.Errorf("%w: eigenvalue %d of L is %g", ErrNotSPD, j, s)
		}
	}
	return nil
}

// moderate is how large a number may be, and its inverse how small, whose products
// with others like it need no scaling.
const moderate = 0x1p200

// mostRatio bounds the binary logarithm of a/b, so that it and its inverse are numbers of full precision.
const mostRatio = 1000

// powerOfTwo is 1 for a moderate x and for 0, else the largest power of two up to x whose inverse is finite.
func powerOfTwo(x float64) float64 {
	if x == 0 || x >= 1/moderate && x <= moderate {
		return 1
	}
	_, e := math.Frexp(x)
	return math.Ldexp(1, max(e-1, -1022))
}

// direct lets a method take K as it was given.
func (f *frame) direct() {
	f.be, f.sys.K, f.res.Single = f.own, f.given, false
	f.unmix()
}

// iterative lets a method that does little else than multiply by K do so with the
// backend of those products, and in single precision where that is asked for.
func (f *frame) iterative() error {
	f.direct()
	f.be = blas.Beside(f.own)
	if err := f.checkStart(); err != nil {
		return err
	}
	if m, ok := f.given.(linop.Mixed); ok && f.opt.Single {
		f.sys.K, f.res.Single = m.Single(), true
	}
	f.unmix()
	return nil
}

func (f *frame) checkStart() error {
	v := blas.Frob(f.C)
	if !finite(v) {
		return fmt.Errorf("%w: the starting point has norm %g", ErrNotFinite, v)
	}
	f.cold = v == 0
	return nil
}

// unmix gives all products back to K itself.
func (f *frame) unmix() { f.fast, f.mixed = f.sys.K, false }

// columnSquares writes ‖a_j‖² for every column of a.
func columnSquares(dst []float64, a blas.General) {
	clear(dst)
	for i := range a.Rows {
		for j, v := range blas.Row(a, i) {
			dst[j] += v * v
		}
	}
}

// columnSums is scratch for k sums over columns, cleared.
func (f *frame) columnSums(k int) []float64 {
	f.sums = blas.Resize(f.sums, k)
	clear(f.sums)
	return f.sums
}

func square(x float64) float64 { return x * x }

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// notPositive says that v, which a positive definite system makes positive, is not: ErrNotFinite where it has
// overflowed, else ErrNotSPD.
func notPositive(v float64, format string, args ...any) error {
	kind := ErrNotSPD
	if !finite(v) {
		kind = ErrNotFinite
	}
	return fmt.Errorf("%w: %s", kind, fmt.Sprintf(format, args...))
}

// bounded refuses a system of which a bound of the norm, ‖K‖·‖L‖ + μ, overflows.
func bounded(norm float64) error {
	if !finite(norm) {
		return fmt.Errorf("%w: ‖K‖·‖L‖ + μ is %g", ErrNotFinite, norm)
	}
	return nil
}

// sum adds the elements of a; it is finite only when they are.
func sum(a blas.General) (s float64) {
	for i := range a.Rows {
		s += floats.Sum(blas.Row(a, i))
	}
	return s
}

// dense writes K to dst, and refuses elements that are not finite.
func dense(ctx context.Context, dst blas.General, K linop.Operator) error {
	if err := linop.Dense(ctx, dst, K); err != nil {
		return err
	}
	if s := sum(dst); !finite(s) {
		return fmt.Errorf("%w: the elements of K sum to %g", ErrNotFinite, s)
	}
	return nil
}

// rotate computes Ỹ, once in a solve.
func (f *frame) rotate() {
	if !f.rotated {
		f.toColumns(f.yt, f.Y, 1/f.a)
	}
	f.rotated = true
}

// toColumns computes dst = alpha·A·V for the leading columns of V, as many as dst has.
func (f *frame) toColumns(dst blas.General, A blas.General, alpha float64) {
	blas.Gemm(f.be, false, false, alpha, A, blas.View(f.sys.L.V, 0, 0, A.Cols, dst.Cols), 0, dst)
}

// restore computes C = (a/b)·C̃·Vᵀ + (Y − Y·V·Vᵀ)/μ: outside the range of L the
// solution is Y/μ. That part is projected twice, since what a single projection
// leaves of Ỹ by rounding would be divided by a possibly tiny μ. rt is overwritten.
func (f *frame) restore() {
	switch f.sys.L.Rank() {
	case f.Y.Cols:
		blas.Gemm(f.be, false, true, f.a/f.b, f.ct, f.sys.L.V, 0, f.C)
	case 0:
		blas.CopyScaled(f.C, 1/f.sys.Mu, f.Y)
	default:
		blas.Copy(f.C, f.Y)
		for range 2 {
			blas.Mul(f.be, f.rt, false, false, f.C, f.sys.L.V)
			blas.Gemm(f.be, false, true, -1, f.rt, f.sys.L.V, 1, f.C)
		}
		blas.Gemm(f.be, false, true, f.a/f.b, f.ct, f.sys.L.V, 1/f.sys.Mu, f.C)
	}
}

// correct adds (a/b)·C̃·Vᵀ to C.
func (f *frame) correct() {
	blas.Gemm(f.be, false, true, f.a/f.b, f.ct, f.sys.L.V, 1, f.C)
}

// strips forms the residual Y − kc·L − μC a strip of rows at a time and returns
// its norm. With keep it also writes the residual in the coordinates of C̃ to rt.
func (f *frame) strips(keep bool) float64 {
	l, n, r := f.Y.Rows, f.Y.Cols, f.sys.L.Rank()
	var norm float64
	for i := 0; i < l; i += frameRows {
		rows := min(frameRows, l-i)
		R := blas.View(f.strip, 0, 0, rows, n)
		for k := range rows {
			out, c := blas.Row(R, k), blas.Row(f.C, i+k)
			for j, y := range blas.Row(f.Y, i+k) {
				out[j] = y - f.sys.Mu*c[j]
			}
		}
		if r > 0 {
			t := blas.View(f.small, 0, 0, rows, r)
			f.sys.L.Rotate(f.be, t, blas.View(f.kc, i, 0, rows, n))
			blas.ScaleColumns(t, f.sys.L.S)
			blas.Gemm(f.be, false, true, -1, t, f.sys.L.V, 1, R)
			if keep {
				f.toColumns(blas.View(f.rt, i, 0, rows, r), R, 1/f.a)
			}
		}
		norm += square(blas.Frob(R) / f.a)
	}
	return math.Sqrt(norm)
}

// relative is a/b, with 0/0 = 0.
func relative(a, b float64) float64 {
	if a == 0 && b == 0 {
		return 0
	}
	return a / b
}

// measure multiplies C by K and fills res at C.
func (f *frame) measure() {
	f.sys.K.Apply(f.kc, f.C)
	f.res.Residual = relative(f.strips(false), f.normY)
	f.res.Columns += f.C.Cols
	f.res.KC = f.kc
	f.forget()
	if len(f.C.Data) <= lastElements && !f.res.Single {
		f.last = blas.Reshape(f.last, f.C.Rows, f.C.Cols)
		blas.Copy(f.last, f.C)
	}
}

// backward is the backward-error ratio of C in units of ε = 2⁻⁵²,
//
//	‖Y − K·C·L − μC‖_F/(ε·(‖K‖·‖L‖ + μ)·‖C‖_F),
//
// with normK an upper bound of ‖K‖₂.
func (f *frame) backward(normK float64) float64 {
	unit := 0x1p-52 * (normK*f.top() + f.mu) * (blas.Frob(f.C) * (f.b / f.a))
	return relative(f.res.Residual*f.normY, unit)
}

// forget is called when K has changed: kc is then no longer K times last.
func (f *frame) forget() { f.last = blas.Reshape(f.last, 0, 0) }

// known reports whether kc is K·C.
func (f *frame) known() bool {
	if f.last.Rows != f.C.Rows || f.last.Cols != f.C.Cols {
		return false
	}
	for i := range f.C.Rows {
		if !slices.Equal(blas.Row(f.C, i), blas.Row(f.last, i)) {
			return false
		}
	}
	return true
}

// top is ρ'₁, 0 when L = 0.
func (f *frame) top() float64 {
	if len(f.rho) == 0 {
		return 0
	}
	return f.rho[0]
}

// step shows the caller's Trace the state of the solve: residual is in the units of normY.
func (f *frame) step(residual float64) error {
	s := Step{Iter: f.res.Iter, Residual: relative(residual, f.normY), Columns: f.res.Columns}
	if f.opt.Trace == nil {
		return nil
	}
	return f.opt.Trace(s)
}
