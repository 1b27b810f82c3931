// This file fits sums of separable kernels in explicit features.

package bcd

import (
	"context"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/memory"
)

// factorRows is a problem of explicit features on rows R, at most D of them, in place of the
// samples: RᵀR = Γ and RᵀT = H for their targets T, see [NewPatterns]. The coefficients C of the
// rows have ZᵀC' = RᵀC for the C' of the samples, of which the part outside of the range of Z is
// that of Y over μ.
type factorRows struct {
	f     *features
	space Space
	R     blas.General
	s     []float64 // RRᵀ = diag(s)
}

// factorRows makes these rows, once.
func (f *features) factorRows(be blas.Backend) (*factorRows, error) {
	if f.rows != nil {
		return f.rows, nil
	}
	D := f.Dim()
	if err := memory.Check("bcd: a sum of separable kernels of that many features", 56*float64(D)*float64(D),
		"use fewer features"); err != nil {
		return nil, err
	}
	part := Pattern{
		Observed: slices.Repeat([]bool{true}, f.H.Cols), Rows: f.l, Gamma: blas.NewGeneral(D, D), H: f.H,
		YY: f.yy,
	}
	f.gamma.Dense(part.Gamma)
	w := &factorRows{f: f}
	var err error
	if w.space, w.R, err = NewPatterns([]Pattern{part}, f.blocks, be); err != nil {
		return nil, err
	}
	w.s = make([]float64, w.R.Rows)
	for i := range w.s {
		w.s[i] = square(blas.Nrm2(blas.Row(w.R, i)))
	}
	f.rows = w
	return w, nil
}

// solve is [solveSum] of p over the rows.
func (w *factorRows) solve(ctx context.Context, p *Problem, opt Options) (*Result, error) {
	q := *p
	q.Space = w.space
	if opt.Start != nil {
		start := *opt.Start
		start.X = w.coefficients(opt.Start, opt.Backend)
		opt.Start = &start
	}
	if trace := opt.Trace; trace != nil {
		opt.Trace = func(s Step) error {
			state := s.state
			s.state = func() *State {
				of := state()
				of.X = w.features(of.X, opt.Backend)
				return of
			}
			return trace(s)
		}
	}
	res, err := solveSum(ctx, &q, opt)
	if res != nil {
		res.C = w.features(res.C, opt.Backend)
	}
	return res, err
}

// features is ZᵀC.
func (w *factorRows) features(C blas.General, be blas.Backend) blas.General {
	V := blas.NewGeneral(w.R.Cols, C.Cols)
	blas.Mul(blas.Or(be), V, true, false, w.R, C)
	return V
}

// coefficients are the C of ZᵀC, the X of a sum, or of the W of a product model.
func (w *factorRows) coefficients(s *State, be blas.Backend) blas.General {
	V := s.X
	if s.Ls == nil {
		V = blas.Clone(V)
		w.f.rebase(V, s.Eta, slices.Repeat([]float64{1}, len(s.Eta)))
	}
	C := blas.NewGeneral(w.R.Rows, V.Cols)
	blas.Mul(blas.Or(be), C, false, false, w.R, V)
	for i, s := range w.s {
		if s > 0 {
			blas.Scal(1/s, blas.Row(C, i))
		}
	}
	return C
}
