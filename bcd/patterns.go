// This file is the problem in feature space where few rows stand for the samples: those of patterns of missing targets,
// and those of sums of separable kernels.

package bcd

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/linop"
)

// Pattern is what a pass over the data leaves of the rows in which the same targets are observed.
type Pattern struct {
	Observed []bool       // of the n targets
	Rows     int          // in which they are, and no others
	Gamma    blas.General // ZᵀZ over these rows, D×D, lower triangle read
	H        blas.General // ZᵀY over them, D×n; the columns of missing targets are not read
	YY       float64      // sum of the squares of their observed targets
}

// NewPatterns is the problem of [NewFeatures] where cells of Y are missing. Rows of one
// pattern p enter the loss through Γ_p and H_p alone, so at most D other rows R_p with targets
// T_p may stand for them. With Γ_p = U·diag(s)·Uᵀ these are
//
//	R_p = diag(√s)Uᵀ,  T_p = diag(1/√s)UᵀH_p:   R_pᵀR_p = Γ_p,  R_pᵀT_p = H_p,
//	‖P_Ω(Z_pB − Y_p)‖² = ‖P_Ω(R_pB − T_p)‖² + ‖P_Ω·Y_p‖² − ‖P_Ω·T_p‖²   for every B,
//
// and the problem is that of [NewSamples] over the rows of all patterns, with the number of
// samples and the constant of those that they stand for. R holds them (N×D): the weights of the
// features are W = R_ηᵀC. Eigenvalues up to the rounding of Γ_p are left out. Cost:
// 9D³ flops and 2D² floats for each pattern.
func NewPatterns(parts []Pattern, blocks []int, be blas.Backend) (s Space, R blas.General, err error) {
	be = blas.Or(be)
	D, n := parts[0].H.Rows, parts[0].H.Cols
	R = blas.NewGeneral(0, D)
	all := samples{unit: 1, Y: blas.NewGeneral(0, n)}
	for p, part := range parts {
		if err := part.check(n, blocks); err != nil {
			return nil, R, fmt.Errorf("%w: pattern %d of missing targets: %w", ErrInput, p, err)
		}
		r, t, err := part.stand(be)
		if err != nil {
			return nil, R, err
		}
		R.Data, R.Rows = append(R.Data, r.Data...), R.Rows+r.Rows
		all.Y.Data, all.Y.Rows = append(all.Y.Data, t.Data...), all.Y.Rows+t.Rows
		all.rows += part.Rows
		all.yy += part.YY
	}
	if all.cells = linop.ObservedCells(all.Y); all.cells.Complete() {
		all.cells = nil
	} else {
		all.cells.Project(all.Y, all.Y)
	}
	all.dropped = math.Max(all.yy-square(blas.Frob(all.Y)), 0)
	var factors []blas.General
	at := 0
	for _, d := range blocks {
		factors = append(factors, blas.View(R, 0, at, R.Rows, d))
		at += d
	}
	all.K = linop.NewFactorSum(factors, be)
	return &all, R, nil
}

func (p *Pattern) check(n int, blocks []int) error {
	D := 0
	for _, d := range blocks {
		D += d
	}
	if p.Gamma.Rows != D || p.Gamma.Cols != D || p.H.Rows != D || p.H.Cols != n || len(p.Observed) != n || D < 1 ||
		n < 1 {
		return fmt.Errorf("the blocks hold %d columns: Γ is %d×%d, and H is %d×%d of %d targets", D, p.Gamma.Rows,
			p.Gamma.Cols, p.H.Rows, p.H.Cols, len(p.Observed))
	}
	if !(p.YY >= 0) || math.IsInf(p.YY, 0) || p.Rows < 0 {
		return fmt.Errorf("‖Y‖² is %g, of %d rows", p.YY, p.Rows)
	}
	for i := range D {
		for _, v := range blas.Row(p.Gamma, i)[:i+1] {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("row %d of Γ has %g", i, v)
			}
		}
	}
	return nil
}

// stand returns the rows that stand for those of the pattern, and their targets, NaN where missing.
func (p *Pattern) stand(be blas.Backend) (R, T blas.General, err error) {
	D, n := p.H.Rows, p.H.Cols
	U, s := blas.Clone(p.Gamma), make([]float64, D)
	if err := be.Syevd(U, s); err != nil {
		return R, T, err
	}
	least := math.Max(linop.RankDrop*0x1p-52*float64(D)*s[D-1], math.SmallestNonzeroFloat64)
	r := 0
	for r < D && s[D-1-r] >= least {
		r++
	}
	r = max(r, 1) // a row of zeros for features that all are 0
	R, T = blas.NewGeneral(r, D), blas.NewGeneral(r, n)
	U = blas.View(U, 0, D-r, D, r)
	blas.Mul(be, T, true, false, U, p.H)
	for i := range r {
		root := math.Sqrt(s[D-r+i])
		for k, out := 0, blas.Row(R, i); k < D; k++ {
			out[k] = root * blas.Row(U, k)[i]
		}
		for j, t := 0, blas.Row(T, i); j < n; j++ {
			switch {
			case !p.Observed[j]:
				t[j] = math.NaN()
			case root > 0:
				t[j] /= root
			}
		}
	}
	return R, T, nil
}

// factorRows is a problem of explicit features on rows R, at most D of them, in place of the
// samples: RᵀR = Γ and RᵀT = H for their targets T, see [NewPatterns]. The coefficients C of the
// rows have ZᵀC' = RᵀC for the C' of the samples, of which the part outside of the range of Z is
// that of Y over μ.
type factorRows struct {
	f     *features
	space Space
	R     blas.General // of orthogonal rows
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
	_ = linop.Dense(context.Background(), part.Gamma, f.gamma) // only a context can fail it
	w := &factorRows{f: f}
	var err error
	if w.space, w.R, err = NewPatterns([]Pattern{part}, f.blocks, be); err != nil {
		return nil, err
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
	return blas.Product(blas.Or(be), true, false, w.R, C)
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
	for i := range C.Rows {
		if s := square(blas.Nrm2(blas.Row(w.R, i))); s > 0 {
			blas.Scal(1/s, blas.Row(C, i))
		}
	}
	return C
}
