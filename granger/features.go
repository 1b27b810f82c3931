package granger

import (
	"context"
	"fmt"
	"math"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/internal/base/par"
	"github.com/iokl/iokl/rff"
	"github.com/iokl/iokl/stream"
)

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
	sums, err := e.pass(ctx, work)
	if err != nil {
		return err
	}
	at := make([]int, len(work)+1) // first column of each task in H
	for i, p := range work {
		at[i+1] = at[i] + p.Y.Cols + p.U.Cols
	}
	part := func(i, from, cols int) blas.General { return blas.View(sums.H, 0, at[i]+from, sums.H.Rows, cols) }
	err = forEach(ctx, len(work), func(i int) error {
		p := &work[i]
		H, V := part(i, 0, p.Y.Cols), part(i, p.Y.Cols, p.U.Cols)
		return e.fitMoments(ctx, &models[i], p, sums.Gamma, H, V)
	})
	if err != nil {
		return err
	}
	F, err := e.featurePart(models, func(int) bool { return true })(ctx, blas.TakeRows(e.X, work[0].other))
	if err != nil {
		return err
	}
	for i := range work {
		p, coef := &work[i], models[i].coef
		V := part(i, p.Y.Cols, p.U.Cols)
		e.finish(&models[i], p, coef, blas.Product(e.opt.Backend, true, false, V, coef), F[i])
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

// fitMoments fits one task to its sums, and finds the coefficients (D×n) of the features.
func (e *engine) fitMoments(ctx context.Context, m *model, p *prepared, Gamma, H, V blas.General) error {
	be, blocks, kernels := e.opt.Backend, e.maps.Blocks(), e.kernels(p.task)
	var rows, widths []int // of the kernels that may be used
	for _, j := range kernels {
		rows, widths = append(rows, e.features(j)...), append(widths, blocks[j])
	}
	G, v := blas.NewGeneral(len(rows), len(rows)), blas.TakeRows(V, rows)
	for a, r := range rows {
		for b, q := range rows[:a+1] {
			G.Data[a*G.Stride+b] = Gamma.Data[r*Gamma.Stride+q]
		}
	}
	be.Dsyrk(blas.Lower, blas.NoTrans, G.Rows, v.Cols, -1, v.Data, v.Stride, 1, G.Data, G.Stride)
	for a := range G.Rows { // what lies in the span of the border is left with rounding errors
		G.Data[a*G.Stride+a] = math.Max(G.Data[a*G.Stride+a], 0)
	}
	space := bcd.NewFeatures(G, blas.TakeRows(H, rows), square(blas.Frob(p.Y)), len(p.idx), widths, be)
	W, WL, err := e.solve(ctx, m, p, kernels, space)
	if err != nil {
		return err
	}
	m.coef = blas.NewGeneral(H.Rows, H.Cols)
	first := 0
	for k, j := range kernels {
		eta, d := m.Eta[j], widths[k]
		if d > 0 { // ‖f_j‖² = η_j²·tr(CᵀK_jCL) with W_j = √η_j·Z_jᵀC
			f := eta * blas.Inner(blas.View(W, first, 0, d, W.Cols), blas.View(WL, first, 0, d, W.Cols))
			m.Norms[j] = math.Sqrt(math.Max(f, 0))
		}
		for i := first; i < first+d; i++ {
			blas.Axpy(math.Sqrt(eta), blas.Row(WL, i), blas.Row(m.coef, rows[i]))
		}
		first += d
	}
	return nil
}

// features lists the features of kernel j among those of all.
func (e *engine) features(j int) []int {
	blocks, first := e.maps.Blocks(), 0
	for _, d := range blocks[:j] {
		first += d
	}
	return sequence(first, first+blocks[j])
}

func square(x float64) float64 { return x * x }

// featurePart is kernelPart in feature space, with the kernels that uses reports: Z(X)·coef in blocks of rows.
func (e *engine) featurePart(
	models []model, uses func(j int) bool,
) func(ctx context.Context, X blas.General) ([]blas.General, error) {
	const block = 1024
	var maps rff.Maps
	var rows []int // of the coefficients
	for j, m := range e.maps {
		if uses(j) {
			maps, rows = append(maps, m), append(rows, e.features(j)...)
		}
	}
	coef := make([]blas.General, len(models))
	for i, m := range models {
		coef[i] = blas.TakeRows(m.coef, rows)
	}
	return func(ctx context.Context, X blas.General) ([]blas.General, error) {
		out := make([]blas.General, len(models))
		for i, c := range coef {
			out[i] = blas.NewGeneral(X.Rows, c.Cols)
		}
		Z := blas.NewGeneral(min(block, X.Rows), maps.Dim())
		for lo := 0; lo < X.Rows; lo += block {
			if err := ctx.Err(); err != nil {
				return nil, fmt.Errorf("granger: %w", err)
			}
			rows := min(block, X.Rows-lo)
			z := blas.View(Z, 0, 0, rows, Z.Cols)
			if err := maps.Transform(z, blas.View(X, lo, 0, rows, X.Cols)); err != nil {
				return nil, fmt.Errorf("granger: features: %w", err)
			}
			for i, c := range coef {
				blas.Mul(e.opt.Backend, blas.View(out[i], lo, 0, rows, c.Cols), false, false, z, c)
			}
		}
		return out, nil
	}
}
