package sylvester

import (
	"fmt"
	"math"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// frame is what the solvers share: the checks at entry, the change to the
// eigenvector coordinates of L, where the columns decouple into
//
//	(ρ_j·K + μI)·c̃_j = ỹ_j,   Ỹ = Y·V,   L = V·diag(ρ)·Vᵀ,
//
// the way back, and the true residual at exit. Scratch: K·C (l×n), three l×r
// blocks and two blocks of frameRows rows.
type frame struct {
	be     blas.Backend // for the call under way
	own    blas.Backend // what be was made with
	sys    System
	single bool           // multiply by K in single precision, the true residual aside
	fast   linop.Operator // K or its rendition in single precision
	mixed  bool           // fast is the latter until that proves too rough
	Y      blas.General
	normY  float64

	kc      blas.General // K·C, what Result.KC shows
	last    blas.General // the C of kc, when that is known and not too large to keep
	yt, ct  blas.General // Ỹ and C̃
	rotated bool         // yt is that of the call under way
	rt      blas.General // residual in rotated coordinates, also scratch
	hard    int          // the leading columns that need iterations
	x0, ax  blas.General // their start and K times it
	sums    []float64    // a number or two per column
	strip   blas.General // frameRows rows of an l×n matrix
	small   blas.General // frameRows rows of an l×r matrix
}

// frameRows is the number of rows the residual is formed at a time, so that no
// l×n matrix is kept for it.
const frameRows = 256

// beginIn is begin for a method that does little else than multiply by K, which
// settles the backend, and may do with K in single precision when single is set
// and K has such a rendition; it reports whether it does.
func (f *frame) beginIn(single bool, C blas.General, sys System, Y blas.General) (bool, error) {
	m, ok := sys.K.(linop.Mixed)
	if single = single && ok; single {
		sys.K = m.Single()
	}
	err := f.begin(C, sys, Y)
	f.be = blas.Beside(f.own)
	return single, err
}

// lastElements is the largest C of which a copy is kept, so that a next solve
// that starts from it need not multiply it by K.
const lastElements = 1 << 22

// begin checks the arguments and takes hold of them for one call.
func (f *frame) begin(C blas.General, sys System, Y blas.General) error {
	l, n := Y.Rows, Y.Cols
	if sys.K.Dim() != l || sys.L.Dim() != n || C.Rows != l || C.Cols != n {
		panic("sylvester: shape mismatch")
	}
	r := sys.L.Rank()
	if f.own == nil {
		f.own = f.be
	}
	f.be = f.own
	f.sys, f.Y, f.normY = sys, Y, blas.Frob(Y)
	f.unmix()
	if m, ok := sys.K.(linop.Mixed); ok && f.single {
		f.fast = m.Single()
	}
	if f.kc.Rows != l || f.kc.Cols != n {
		f.forget()
	}
	f.kc = blas.Reshape(f.kc, l, n)
	f.yt = blas.Reshape(f.yt, l, r)
	f.ct = blas.Reshape(f.ct, l, r)
	f.rt = blas.Reshape(f.rt, l, r)
	f.strip = blas.Reshape(f.strip, min(l, frameRows), n)
	f.small = blas.Reshape(f.small, min(l, frameRows), r)
	if !(sys.Mu > 0) || !finite(sys.Mu) {
		return fmt.Errorf("%w: μ = %g", ErrNotSPD, sys.Mu)
	}
	if v := f.normY + sum(sys.L.V); !finite(v) {
		return fmt.Errorf("%w: ‖Y‖ and the eigenvectors of L sum to %g", ErrNotFinite, v)
	}
	for j, s := range sys.L.S {
		switch {
		case !finite(s):
			return fmt.Errorf("%w: eigenvalue %d of L is %g", ErrNotFinite, j, s)
		case s < 0:
			return fmt.Errorf("%w: eigenvalue %d of L is %g", ErrNotSPD, j, s)
		}
	}
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
	f.sums = resize(f.sums, k)
	clear(f.sums)
	return f.sums
}

// resize returns a slice of length n with unspecified contents, in s's memory when that is large enough.
func resize(s []float64, n int) []float64 { return slices.Grow(s[:0], n)[:n] }

func square(x float64) float64 { return x * x }

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// sum adds the elements of a; it is finite only when they are.
func sum(a blas.General) float64 {
	var s float64
	for i := range a.Rows {
		for _, v := range blas.Row(a, i) {
			s += v
		}
	}
	return s
}

// rotate computes Ỹ = Y·V, once when look has done so for this call.
func (f *frame) rotate() {
	if !f.rotated {
		f.sys.L.Rotate(f.be, f.yt, f.Y)
	}
	f.rotated = false
}

// restore computes C = C̃·Vᵀ + (Y − Y·V·Vᵀ)/μ: outside the range of L the
// solution is Y/μ. That part is projected twice, since what a single projection
// leaves of Ỹ by rounding would be divided by a possibly tiny μ.
func (f *frame) restore(C blas.General) {
	l, n, r := f.Y.Rows, f.Y.Cols, f.sys.L.Rank()
	switch {
	case r == n:
		blas.Mul(f.be, C, false, true, f.ct, f.sys.L.V)
		return
	case r == 0:
		copyScaled(C, 1/f.sys.Mu, f.Y)
		return
	}
	for i := 0; i < l; i += frameRows {
		rows := min(frameRows, l-i)
		out := blas.View(C, i, 0, rows, n)
		t := blas.View(f.small, 0, 0, rows, r)
		blas.Copy(out, blas.View(f.Y, i, 0, rows, n))
		for range 2 {
			blas.Mul(f.be, t, false, false, out, f.sys.L.V)
			blas.Gemm(f.be, false, true, -1, t, f.sys.L.V, 1, out)
		}
		blas.Gemm(f.be, false, true, 1, blas.View(f.ct, i, 0, rows, r), f.sys.L.V, 1/f.sys.Mu, out)
	}
}

func copyScaled(dst blas.General, alpha float64, src blas.General) {
	for i := range src.Rows {
		out := blas.Row(dst, i)
		for j, v := range blas.Row(src, i) {
			out[j] = alpha * v
		}
	}
}

// residual multiplies C by K and returns ‖Y − K·C·L − μC‖_F/‖Y‖_F, 0 when Y = 0
// and C solves it.
func (f *frame) residual(C blas.General) float64 {
	f.sys.K.Apply(f.kc, C)
	return relative(f.strips(C, false), f.normY)
}

// strips forms the residual Y − kc·L − μC a strip of rows at a time and returns
// its norm. With keep it also writes the residual in the coordinates of L, times
// V, to rt.
func (f *frame) strips(C blas.General, keep bool) float64 {
	l, n, r := f.Y.Rows, f.Y.Cols, f.sys.L.Rank()
	var sq float64
	for i := 0; i < l; i += frameRows {
		rows := min(frameRows, l-i)
		R := blas.View(f.strip, 0, 0, rows, n)
		for k := range rows {
			out, c := blas.Row(R, k), blas.Row(C, i+k)
			for j, y := range blas.Row(f.Y, i+k) {
				out[j] = y - f.sys.Mu*c[j]
			}
		}
		if r > 0 {
			t := blas.View(f.small, 0, 0, rows, r)
			f.sys.L.Rotate(f.be, t, blas.View(f.kc, i, 0, rows, n))
			scaleColumns(t, f.sys.L.S)
			blas.Gemm(f.be, false, true, -1, t, f.sys.L.V, 1, R)
			if keep {
				f.sys.L.Rotate(f.be, blas.View(f.rt, i, 0, rows, r), R)
			}
		}
		nrm := blas.Frob(R)
		sq += nrm * nrm
	}
	return math.Sqrt(sq)
}

// relative is a/b, with 0/0 = 0.
func relative(a, b float64) float64 {
	if a == 0 && b == 0 {
		return 0
	}
	return a / b
}

// scaleColumns multiplies column j of a by s[j].
func scaleColumns(a blas.General, s []float64) {
	for i := range a.Rows {
		row := blas.Row(a, i)
		for j := range row {
			row[j] *= s[j]
		}
	}
}

// finish fills res at the returned C.
func (f *frame) finish(res *Result, C blas.General) {
	res.Residual = f.residual(C)
	res.Columns += C.Cols
	res.KC = f.kc
	f.forget()
	if len(C.Data) <= lastElements && !res.Single {
		f.last = blas.Reshape(f.last, C.Rows, C.Cols)
		blas.Copy(f.last, C)
	}
}

// forget says that kc no longer belongs to what last holds: K has changed.
func (f *frame) forget() { f.last = blas.Reshape(f.last, 0, 0) }

// known reports whether kc is K·C.
func (f *frame) known(C blas.General) bool {
	if f.last.Rows != C.Rows || f.last.Cols != C.Cols {
		return false
	}
	for i := range C.Rows {
		if !slices.Equal(blas.Row(C, i), blas.Row(f.last, i)) {
			return false
		}
	}
	return true
}

// exactly runs an exact solver, which counts its steps in res.Iter, and holds C to
// its promise; normK is an upper bound of ‖K‖₂ once it has run.
func (f *frame) exactly(name string, C blas.General, opt Options, normK *float64, solve func(res *Result) error) (Result, error) {
	res := Result{Solver: name, Residual: math.NaN()}
	err := solve(&res)
	if err == nil {
		err = f.finishExact(&res, C, *normK)
	}
	return res, trace(opt, Step{Iter: res.Iter, Residual: res.Residual, Columns: res.Columns}, err)
}

// backwardLimit bounds the backward-error ratio of an exact solver.
const backwardLimit = 100

// finishExact is finish for an exact solver, whose promise is a residual at
// rounding level:
//
//	‖Y − K·C·L − μC‖_F ≤ 100·ε·(‖K‖·‖L‖ + μ)·‖C‖_F,   ε = 2⁻⁵²,
//
// with normK an upper bound of ‖K‖₂.
func (f *frame) finishExact(res *Result, C blas.General, normK float64) error {
	f.finish(res, C)
	abs := res.Residual * f.normY
	unit := 0x1p-52 * (normK*f.top() + f.sys.Mu) * blas.Frob(C)
	if !(abs <= backwardLimit*unit) {
		return fmt.Errorf("%w: backward error %.3g units in the last place", ErrNotConverged, relative(abs, unit))
	}
	return nil
}

// top is the largest eigenvalue of L, 0 when L = 0.
func (f *frame) top() float64 {
	if f.sys.L.Rank() == 0 {
		return 0
	}
	return f.sys.L.S[0]
}

// trace reports a step when err is nil and returns what stops the solve.
func trace(opt Options, s Step, err error) error {
	if err != nil || opt.Trace == nil {
		return err
	}
	return opt.Trace(s)
}
