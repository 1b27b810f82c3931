// This file fits all nodes in feature space, from one pass over the samples.

package granger

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/internal/base/par"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/rff"
	"github.com/iokl/iokl/stream"
)

// explicit reports whether fits are made in feature space: when kernels ask for
// explicit features, or all are linear on much fewer columns than there are samples.
func (g *design) explicit() (bool, error) {
	asked, linear, width := false, true, 0
	for _, k := range g.dict {
		asked = asked || k.Approx != nil
		linear = linear && k.Kind == kernel.Linear && !k.Unit
		width += len(k.Columns)
	}
	if !asked {
		return linear && 4*width <= g.l, nil
	}
	for _, k := range g.dict {
		if k.Approx == nil && !k.Kind.HasFeatures() {
			return false, fmt.Errorf("%w: kernel %s is exact and others have explicit features: write it with rff: "+
				"or nystrom: too", ErrOption, k.Name)
		}
	}
	return true, nil
}

// newMaps makes the feature maps of the dictionary. Every fit holds a few D×D matrices.
func (g *design) newMaps(ctx context.Context) (rff.Maps, error) {
	maps, err := rff.NewMaps(ctx, g.dict, g.X, g.opt.Seed, g.opt.Backend)
	if err != nil {
		return nil, fmt.Errorf("granger: features: %w", err)
	}
	D, at := int64(maps.Dim()), int64(min(par.Threads(), len(g.node)))
	what := fmt.Sprintf("granger: %d features of all kernels", D)
	if err := memory.Within(g.opt.MaxBytes, what, float64(8*D*D*(1+4*at)),
		"use fewer features or kernels"); err != nil {
		return nil, err
	}
	return maps, nil
}

// fitFeatures fits the tasks from one pass over the samples, which leaves Γ = ZᵀZ,
// H = ZᵀY and V = ZᵀU of every task. A task's features projected off its border
// have Γ − VVᵀ and, as its targets are projected, the same H.
func (e *engine) fitFeatures(ctx context.Context, models []model, work []prepared) error {
	if len(work) == 0 {
		return nil
	}
	sums, err := e.pass(ctx, work)
	if err != nil {
		return err
	}
	D := e.maps.Dim()
	coef := make([]blas.General, len(work))
	errs := make([]error, len(work))
	at := make([]int, len(work)+1) // first column of each task in H
	for i, p := range work {
		at[i+1] = at[i] + p.Y.Cols + p.U.Cols
	}
	par.For(len(work), func(i int) {
		p := &work[i]
		H := blas.View(sums.H, 0, at[i], D, p.Y.Cols)
		V := blas.View(sums.H, 0, at[i]+p.Y.Cols, D, p.U.Cols)
		coef[i], errs[i] = e.fitMoments(ctx, &models[i], p, sums.Gamma, H, V)
	})
	if err := cmp.Or(errs...); err != nil {
		return err
	}
	F, err := e.predictFeatures(ctx, coef, blas.TakeRows(e.X, work[0].other))
	if err != nil {
		return err
	}
	for i := range work {
		p := &work[i]
		beta := blas.NewGeneral(p.U.Cols, p.Y.Cols)
		V := blas.View(sums.H, 0, at[i]+p.Y.Cols, D, p.U.Cols)
		blas.Gemm(e.opt.Backend, true, false, -1, V, coef[i], 0, beta)
		p.finish(e.opt.Backend, &models[i], F[i], beta)
		models[i].coef = coef[i]
		blas.ScaleColumns(coef[i], p.scale)
	}
	return nil
}

// pass sums over the samples of the tasks, the targets and the border of each side by side.
func (e *engine) pass(ctx context.Context, work []prepared) (*stream.Sums, error) {
	idx, width := work[0].idx, 0
	for _, p := range work {
		width += p.Y.Cols + p.U.Cols
	}
	X, T := blas.TakeRows(e.X, idx), blas.NewGeneral(len(idx), width)
	c := 0
	for _, p := range work {
		for _, a := range []blas.General{p.Y, p.U} {
			blas.Copy(blas.View(T, 0, c, T.Rows, a.Cols), a)
			c += a.Cols
		}
	}
	acc := stream.New(e.maps, X.Cols, T.Cols, stream.Options{Backend: e.opt.Backend})
	if err := acc.Run(ctx, stream.FromMatrices("the samples", X, T)); err != nil {
		return nil, fmt.Errorf("granger: %w", err)
	}
	sums, err := acc.Sums()
	if err != nil {
		return nil, fmt.Errorf("granger: %w", err)
	}
	sums[0].Recenter(nil)
	return &sums[0], nil
}

// fitMoments fits one task to its sums and returns the coefficients (D×n) of the features.
func (e *engine) fitMoments(
	ctx context.Context, m *model, p *prepared, Gamma, H, V blas.General,
) (blas.General, error) {
	D, n := H.Rows, H.Cols
	blocks, kept := e.maps.Blocks(), make([]int, 0, len(e.dict))
	m.Eta, m.Norms = make([]float64, len(blocks)), make([]float64, len(blocks))
	coef := blas.NewGeneral(D, n)
	if err := ctx.Err(); err != nil {
		return coef, fmt.Errorf("granger: %w", err)
	}
	yy := square(blas.Frob(p.Y))
	if yy == 0 {
		return coef, nil // nothing is left to explain
	}
	own := blas.Clone(Gamma)
	e.opt.Backend.Dsyrk(blas.Lower, blas.NoTrans, D, V.Cols, -1, V.Data, V.Stride, 1, own.Data, own.Stride)
	var rows, widths []int // of the kernels that may be used
	first := 0
	for j, d := range blocks {
		if p.allow == nil || p.allow[j] {
			kept, widths = append(kept, j), append(widths, d)
			rows = append(rows, sequence(first, first+d)...)
		}
		first += d
	}
	G, h := blas.NewGeneral(len(rows), len(rows)), blas.TakeRows(H, rows)
	for a, r := range rows {
		for b, q := range rows[:a+1] {
			G.Data[a*G.Stride+b] = own.Data[r*own.Stride+q]
		}
		// What lies in the span of the border is left with rounding errors.
		G.Data[a*G.Stride+a] = math.Max(G.Data[a*G.Stride+a], 0)
	}
	res, err := e.solve(ctx, bcd.NewFeatures(G, h, yy, len(p.idx), widths, e.opt.Backend), p.lambda)
	if err != nil {
		return coef, err
	}
	m.Objective, m.RelativeGap, m.Iter = res.Objective, res.RelativeGap, res.OuterIterations
	if n > 1 {
		m.L = res.L
	}
	WL := blas.NewGeneral(res.C.Rows, n)
	res.L.MulRight(e.opt.Backend, WL, res.C)
	first = 0
	for k, j := range kept {
		eta, d := res.Eta[k], widths[k]
		m.Eta[j] = eta
		if d > 0 {
			// ‖f_j‖² = η_j²·tr(CᵀK_jCL) with W_j = √η_j·Z_jᵀC.
			f := eta * blas.Inner(blas.View(res.C, first, 0, d, n), blas.View(WL, first, 0, d, n))
			m.Norms[j] = math.Sqrt(math.Max(f, 0))
		}
		for i := first; i < first+d; i++ {
			blas.Axpy(math.Sqrt(eta), blas.Row(WL, i), blas.Row(coef, rows[i]))
		}
		first += d
	}
	return coef, nil
}

func square(x float64) float64 { return x * x }

// predictFeatures computes Z(X)·coef of every task, in blocks of rows.
func (e *engine) predictFeatures(ctx context.Context, coef []blas.General, X blas.General) ([]blas.General, error) {
	const block = 1024
	F := make([]blas.General, len(coef))
	for i, c := range coef {
		F[i] = blas.NewGeneral(X.Rows, c.Cols)
	}
	Z := blas.NewGeneral(min(block, X.Rows), e.maps.Dim())
	for lo := 0; lo < X.Rows; lo += block {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("granger: %w", err)
		}
		rows := min(block, X.Rows-lo)
		z := blas.View(Z, 0, 0, rows, Z.Cols)
		if err := e.maps.Transform(z, blas.View(X, lo, 0, rows, X.Cols)); err != nil {
			return nil, fmt.Errorf("granger: features: %w", err)
		}
		for i, c := range coef {
			blas.Mul(e.opt.Backend, blas.View(F[i], lo, 0, rows, c.Cols), false, false, z, c)
		}
	}
	return F, nil
}
