package model

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/internal/base/par"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/rff"
	"github.com/iokl/iokl/sylvester"
)

// featured is the posterior of explicit features φ with the sums Γ = ΦᵀΦ, both scaled by √η. In the direction b of
// eigenvalue ρ_b of L,
//
//	s_b(z) = φ_zᵀ(Γ + (μ/ρ_b)I)⁻¹φ_z,
//
// by one reduction of Γ to tridiagonal form for all directions. Where targets are missing, Γ is that of the rows in
// which an output is observed, and each output is given its own targets alone, which leaves the deviations that they
// leave without what the other outputs say.
type featured struct {
	be   blas.Backend
	maps rff.Maps
	root []float64 // √η of each feature
	V    blas.General
	mu   float64
	rho  []float64
	of   []*sylvester.Tridiagonal // of each direction
	X    blas.General             // inputs of held-out rows
	E    blas.General             // their residuals without the row, in the coordinates of V
	w    []float64                // and their weights
}

func (m *Model) featured(ctx context.Context, b *Features) (*featured, error) {
	switch {
	case b.L != nil:
		return nil, fault.Input("deviations of explicit features are for one output kernel, and this model has one " +
			"for each kernel")
	case !(m.Mu > 0) || len(m.Sums) == 0:
		return nil, m.noClosed()
	}
	f := &featured{be: blas.Or(b.be), maps: b.maps, V: m.L.V, rho: m.L.S, mu: m.Mu}
	for k, j := range Kept(m.Eta) {
		for range b.maps[k].Dim() {
			f.root = append(f.root, math.Sqrt(m.Eta[j]))
		}
	}
	var idle []int // features of weight
	at := 0
	for j, one := range m.FeatureMaps() {
		for i := range one.Dim() {
			if m.Eta[j] > 0 {
				idle = append(idle, at+i)
			}
		}
		at += one.Dim()
	}
	n, apart := m.L.Dim(), len(m.Sums) > 1
	if apart { // each output by itself
		f.V, f.rho = blas.NewGeneral(n, n), make([]float64, n)
		L := m.L.Elements()
		for j := range n {
			f.V.Data[j*f.V.Stride+j], f.rho[j] = 1, L(j, j)
		}
	}
	D := float64(len(idle))
	count := 1.
	if apart {
		count = float64(n)
	}
	if err := memory.Check("the sums of features for deviations", 8*(count+2)*D*D, "fewer features"); err != nil {
		return nil, err
	}
	for b := range f.rho {
		if b > 0 && !apart {
			f.of = append(f.of, f.of[0])
			continue
		}
		G := blas.NewGeneral(len(idle), len(idle))
		for _, p := range m.Sums {
			if apart && !p.Observed[b] {
				continue
			}
			full := blas.Clone(p.Gamma)
			blas.MirrorLower(full)
			blas.AddScaled(G, 1, columns.Take(blas.TakeRows(full, idle), idle))
		}
		blas.ScaleRows(G, f.root, G)
		blas.ScaleColumns(G, f.root)
		t := new(sylvester.Tridiagonal)
		if t.Reduce(ctx, f.be, G); ctx.Err() != nil {
			return nil, ctx.Err()
		}
		f.of = append(f.of, t)
	}
	if h := m.Held; h != nil && h.X.Data != nil {
		return f, f.hold(m, h)
	}
	return f, nil
}

// hold prepares for refits without each of the held-out rows.
func (f *featured) hold(m *Model, h *HeldOut) error {
	f.X, f.w = h.X, columns.RowWeights(m.Out.Targets(h.Y), m.Out.Weights(h.W))
	R := m.learnedResiduals(h)
	for i, v := range R.Data {
		if math.IsNaN(v) {
			R.Data[i] = 0
		}
	}
	f.E = blas.Product(f.be, false, false, R, f.V)
	return nil
}

// HoldOut makes a model of explicit features keep what it predicts for training rows without each: rows of the numbers
// given, of inputs X as the kernels see them, targets Y in the units of the data, NaN where missing, and weights W of
// the rows, without Data 1.
func (m *Model) HoldOut(ctx context.Context, rows []int, X, Y, W blas.General) error {
	b, ok := m.Basis.(*Features)
	if !ok || b.L != nil || !(m.Mu > 0) || len(m.Sums) == 0 || len(rows) == 0 {
		return nil
	}
	h := &HeldOut{Rows: rows, X: X, Y: Y, W: W, F: blas.NewGeneral(Y.Rows, Y.Cols)}
	evaluate, err := b.evaluator()
	if err != nil {
		return err
	}
	for at := 0; at < X.Rows; at += SlabRows {
		some := min(SlabRows, X.Rows-at)
		F := blas.NewGeneral(some, len(m.Out.Live))
		if err := cmp.Or(ctx.Err(), evaluate(F, blas.View(X, at, 0, some, X.Cols))); err != nil {
			return err
		}
		m.Out.Restore(blas.View(h.F, at, 0, some, Y.Cols), F)
	}
	f, err := m.featured(ctx, b)
	if err != nil {
		return err
	}
	if err := f.hold(m, h); err != nil {
		return err
	}
	S, err := f.variances(ctx, X)
	if err != nil {
		return err
	}
	for i := range S.Rows { // residuals without the row are e_b/(1 − w·s_b)
		e := blas.Row(f.E, i)
		for b, s := range blas.Row(S, i) {
			e[b] *= f.w[i] * s / max(1-f.w[i]*s, 0x1p-52)
		}
	}
	moved := blas.Product(f.be, false, true, f.E, f.V)
	for i := range h.F.Rows {
		for k, j := range m.Out.Live {
			h.F.Data[i*h.F.Stride+j] -= m.unit(j) * moved.Data[i*moved.Stride+k]
		}
	}
	m.Held = h
	return nil
}

// features writes the features of the rows of Z, scaled, to the columns of a matrix.
func (f *featured) features(Z blas.General) (blas.General, error) {
	F := blas.NewGeneral(Z.Rows, len(f.root))
	if err := f.maps.Transform(F, Z); err != nil {
		return F, fault.From(err)
	}
	blas.ScaleColumns(F, f.root)
	return blas.Transposed(F), nil
}

// variances are the s_b at the rows of Z (t×r).
func (f *featured) variances(ctx context.Context, Z blas.General) (S blas.General, err error) {
	S = blas.NewGeneral(Z.Rows, len(f.rho))
	for at := 0; at < Z.Rows; at += SlabRows {
		rows := min(SlabRows, Z.Rows-at)
		P, err := f.features(blas.View(Z, at, 0, rows, Z.Cols))
		if err := cmp.Or(ctx.Err(), err); err != nil {
			return S, err
		}
		var turned blas.General
		for b, rho := range f.rho {
			if rho == 0 {
				continue
			}
			if b == 0 || f.of[b] != f.of[b-1] {
				turned = blas.Clone(P)
				f.of[b].ToQ(turned)
				turned = blas.Transposed(turned)
			}
			par.For(rows, func(i int) {
				S.Data[(at+i)*S.Stride+b], _ = f.of[b].Quadratic(blas.Row(turned, i), f.mu/rho)
			})
		}
	}
	return S, nil
}

// outputs writes to dst (t×live) the deviations of variances S (t×r) in the directions.
func (f *featured) outputs(dst, S blas.General) {
	for i := range dst.Rows {
		s := blas.Row(S, i)
		for k := range dst.Cols {
			var sum float64
			for b, v := range blas.Row(f.V, k) {
				sum += v * v * s[b]
			}
			dst.Data[i*dst.Stride+k] = math.Sqrt(sum)
		}
	}
}

func (f *featured) deviation(ctx context.Context, dst, Z blas.General) error {
	S, err := f.variances(ctx, Z)
	f.outputs(dst, S)
	return err
}

// without takes the row out of Γ: s_b/(1 − w·s_b).
func (f *featured) without(ctx context.Context, dst blas.General, _ []int, X blas.General) error {
	S, err := f.variances(ctx, X)
	for i := range S.Rows {
		row := blas.Row(S, i)
		for b, s := range row {
			row[b] = s / max(1-f.w[i]*s, 0x1p-52)
		}
	}
	f.outputs(dst, S)
	return err
}

// residuals are those that the model keeps.
func (f *featured) residuals() (R blas.General) { return R }

func (f *featured) leverages() blas.General {
	H := blas.NewGeneral(f.X.Rows, f.V.Rows)
	S, err := f.variances(context.Background(), f.X)
	if err != nil {
		return H
	}
	f.outputs(H, S)
	for i := range H.Rows {
		row := blas.Row(H, i)
		for k, d := range row {
			row[k] = f.w[i] * d * d
		}
	}
	return H
}

func (f *featured) rowsAtOnce() int { return SlabRows / 8 }

// changes are φ_zᵀ(Γ + (μ/ρ_b)I)⁻¹φ_i·w_i·e_b, e_b being the residual of row i without the row.
func (f *featured) changes(ctx context.Context, Z blas.General, each func(at int, moved blas.General)) error {
	if f.X.Data == nil {
		return fault.Input("the model keeps no inputs of training rows")
	}
	P, err := f.features(Z)
	if err != nil {
		return err
	}
	moved := make([]blas.General, Z.Rows)
	for t := range moved {
		moved[t] = blas.NewGeneral(f.X.Rows, f.V.Rows)
	}
	pivots, ones := blas.NewGeneral(P.Rows, P.Cols), slices.Repeat([]float64{1}, P.Cols)
	solved := make([]blas.General, len(f.rho))
	for b, rho := range f.rho {
		if rho == 0 {
			continue
		}
		solved[b] = blas.Clone(P)
		f.of[b].ToQ(solved[b])
		if err := f.of[b].Solve(solved[b], pivots, ones, f.mu/rho); err != nil {
			return fault.From(err)
		}
		f.of[b].FromQ(solved[b])
	}
	for at := 0; at < f.X.Rows; at += SlabRows {
		rows := min(SlabRows, f.X.Rows-at)
		F, err := f.features(blas.View(f.X, at, 0, rows, f.X.Cols))
		if err := cmp.Or(ctx.Err(), err); err != nil {
			return err
		}
		for b := range f.rho {
			if solved[b].Data == nil {
				continue
			}
			S := blas.Product(f.be, true, false, F, solved[b]) // rows×t
			for i := range rows {
				e := f.w[at+i] * f.E.Data[(at+i)*f.E.Stride+b]
				for t, s := range blas.Row(S, i) {
					row := blas.Row(moved[t], at+i)
					for k := range row {
						row[k] += f.V.Data[k*f.V.Stride+b] * s * e
					}
				}
			}
		}
	}
	for t, of := range moved {
		each(t, of)
	}
	return nil
}
