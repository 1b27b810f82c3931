package sylvester

import (
	"context"
	"fmt"
	"math"

	"github.com/iokl/iokl/blas"
)

const (
	defaultTol = 1e-8
	// margin is the part of the tolerance that the recurrences aim at, so that
	// the true residual, a little larger, passes at the first check.
	margin = 0.95
	// stalled is the least factor a correction round must gain on the true residual.
	stalled = 0.5
)

// iterate runs cg from C̃ and its residual rt until the true residual of C meets
// the tolerance, in rounds.
func (f *frame) iterate(ctx context.Context, cg *shifted, C blas.General, opt Options, res *Result) error {
	tol, limit := opt.Tol, opt.MaxIter
	if tol == 0 {
		tol = defaultTol
	}
	if limit == 0 {
		limit = 10 * f.Y.Rows
	}
	aim := margin * tol * f.normY
	cg.be, cg.K, cg.mu, cg.normY, cg.trace = f.be, f.sys.K, f.sys.Mu, f.normY, opt.Trace
	for previous := math.Inf(1); ; previous = res.Residual {
		cg.start(f.ct, f.rt, f.sys.L.S, aim*aim)
		err := cg.watch(res)
		if err == nil {
			err = cg.run(ctx, f.ct, aim*aim, limit-res.Iter, res)
		}
		f.restore(C)
		f.finish(res, C)
		switch {
		case err != nil:
			return err
		case res.Residual <= tol:
			return nil
		case res.Iter >= limit || !(res.Residual <= stalled*previous):
			return fmt.Errorf("%w: relative residual %.3g after %d multiplications, tolerance %.3g", ErrNotConverged, res.Residual, res.Iter, tol)
		}
	}
}

// open checks the arguments, rotates Y and takes the starting point: C̃ = C·V,
// each column scaled by ⟨Ax,b⟩/‖Ax‖² so that its residual is least, and that
// residual in rt. A start of zeros costs no multiplication.
func (f *frame) open(C blas.General, sys System, Y blas.General, res *Result) error {
	if err := f.begin(C, sys, Y); err != nil {
		return err
	}
	f.rotate()
	blas.Copy(f.rt, f.yt)
	start := blas.Frob(C)
	if !finite(start) {
		return fmt.Errorf("%w: the starting point has norm %g", ErrNotFinite, start)
	}
	if start == 0 || sys.L.Rank() == 0 {
		blas.Zero(f.ct)
		return nil
	}
	sys.L.Rotate(f.be, f.ct, C)
	f.ax = blas.Reshape(f.ax, f.ct.Rows, f.ct.Cols)
	sys.K.Apply(f.ax, f.ct)
	res.Columns += f.ct.Cols
	res.Iter++
	f.scaleStart()
	return nil
}

// scaleStart turns ax = K·C̃ into (ρ_j·K + μ)c̃_j, scales every column of the
// start to its best multiple and writes the residuals.
func (f *frame) scaleStart() {
	r := f.ct.Cols
	f.fit(r)
	ab, aa := f.sums[:r], f.sums[r:2*r]
	clear(f.sums)
	for i := range f.ct.Rows {
		a, x, b := blas.Row(f.ax, i), blas.Row(f.ct, i), blas.Row(f.yt, i)
		for j, rho := range f.sys.L.S {
			a[j] = rho*a[j] + f.sys.Mu*x[j]
			ab[j] += a[j] * b[j]
			aa[j] += a[j] * a[j]
		}
	}
	for j := range ab {
		if aa[j] > 0 {
			ab[j] /= aa[j]
		}
	}
	for i := range f.ct.Rows {
		a, x, b := blas.Row(f.ax, i), blas.Row(f.ct, i), blas.Row(f.rt, i)
		for j, scale := range ab {
			x[j] *= scale
			b[j] -= scale * a[j]
		}
	}
}

// fit sizes the sums over columns.
func (f *frame) fit(r int) {
	if cap(f.sums) < 2*r {
		f.sums = make([]float64, 2*r)
	}
	f.sums = f.sums[:2*r]
}
