package sylvester

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/iokl/iokl/blas"
)

const (
	// margin is the part of the tolerance that the recurrences aim at, so that
	// the true residual, a little larger, passes at the first check.
	margin = 0.95
	// mixedShare is the part of the squared residual that recurrences with K in
	// single precision aim at.
	mixedShare = 0.8
	// stalled is the least factor a correction round must gain on the true residual.
	stalled = 0.5
)

// open takes the starting point of the hard columns: C·V, each column scaled by
// ⟨Ax,b⟩/‖Ax‖² so that its residual is least, and writes the residuals to rt. A
// start of zeros costs no multiplication, nor does the solution of the last call.
func (f *frame) open(C blas.General, res *Result) error {
	start := blas.Frob(C)
	if !finite(start) {
		return fmt.Errorf("%w: the starting point has norm %g", ErrNotFinite, start)
	}
	l, h := f.ct.Rows, f.hard
	blas.Copy(f.rt, f.yt)
	if start == 0 || h == 0 {
		blas.Zero(blas.View(f.ct, 0, 0, l, h))
		return nil
	}
	f.x0, f.ax = blas.Reshape(f.x0, l, h), blas.Reshape(f.ax, l, h)
	blas.Mul(f.be, f.x0, false, false, C, blas.View(f.sys.L.V, 0, 0, C.Cols, h))
	if f.known(C) {
		blas.Mul(f.be, f.ax, false, false, f.kc, blas.View(f.sys.L.V, 0, 0, C.Cols, h))
	} else {
		f.fast.Apply(f.ax, f.x0)
		res.Columns += h
		res.Iter++
	}
	f.scaleStart()
	return nil
}

// scaleStart turns ax = K·x0 into (ρ_j·K + μ)x0_j, and writes every column of
// the start in its best multiple to C̃ and the residuals to rt.
func (f *frame) scaleStart() {
	h := f.hard
	sums := f.columnSums(2 * h)
	ab, aa := sums[:h], sums[h:]
	for i := range f.x0.Rows {
		a, x, b := blas.Row(f.ax, i), blas.Row(f.x0, i), blas.Row(f.yt, i)
		for j, rho := range f.sys.L.S[:h] {
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
	for i := range f.x0.Rows {
		a, x, out, b := blas.Row(f.ax, i), blas.Row(f.x0, i), blas.Row(f.ct, i), blas.Row(f.rt, i)
		for j, scale := range ab {
			out[j] = scale * x[j]
			b[j] -= scale * a[j]
		}
	}
}

// iterate runs cg on the hard columns, from C̃ and its residual rt, until the true
// residual of C meets the tolerance. When it does not where the recurrences said
// it would, another round starts from the true residual of all columns, with K in
// double precision unless Config.Single asks for the other.
func (f *frame) iterate(ctx context.Context, cg *shifted, C blas.General, opt Options, res *Result) error {
	aim := square(margin * opt.Tol * f.normY)
	budget := aim
	if f.mixed {
		budget *= mixedShare
	}
	if f.hard < f.ct.Cols {
		budget *= 0.75 // the rest is for the columns that were settled
	}
	cg.be, cg.K, cg.mu, cg.normY, cg.trace = f.be, f.fast, f.sys.Mu, f.normY, opt.Trace
	l := f.ct.Rows
	for previous := math.Inf(1); ; previous = res.Residual {
		X := blas.View(f.ct, 0, 0, l, f.hard)
		cg.start(X, blas.View(f.rt, 0, 0, l, f.hard), f.sys.L.S, budget)
		err := cg.watch(res)
		if err == nil {
			err = cg.run(ctx, X, budget, opt.MaxIter-res.Iter, res)
		}
		if errors.Is(err, errSlow) {
			return err // another method starts anew
		}
		f.restore(C)
		f.finish(res, C)
		switch {
		case err != nil:
			return err
		case res.Residual <= opt.Tol:
			return nil
		case res.Iter >= opt.MaxIter || !(res.Residual <= stalled*previous):
			return notConverged(res, opt.Tol)
		}
		if f.mixed {
			f.unmix()
			cg.K = f.fast
		}
		f.strips(C, true)
		f.hard, budget = f.ct.Cols, aim
	}
}

func notConverged(res *Result, tol float64) error {
	return fmt.Errorf("%w: relative residual %.3g after %d multiplications, tolerance %.3g", ErrNotConverged, res.Residual, res.Iter, tol)
}
