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

// Pattern holds the sums over the rows in which the same targets are observed.
type Pattern struct {
	Observed []bool       // of the n targets
	Rows     int          // in which they are, and no others
	Gamma    blas.General // ZᵀZ over these rows, D×D, lower triangle read
	H        blas.General // ZᵀY over them, D×n; the columns of missing targets are not read
	YY       float64      // sum of the squares of their observed targets
}

// NewPatterns is the problem of [NewFeatures] where cells of Y are missing. Rows of one pattern p enter the loss
// through Γ_p and H_p alone, so that at most D other rows R_p with targets T_p can replace them. With Γ_p =
// U·diag(s)·Uᵀ these are
//
//	R_p = diag(√s)Uᵀ,  T_p = diag(1/√s)UᵀH_p:   R_pᵀR_p = Γ_p,  R_pᵀT_p = H_p,
//	‖P_Ω(Z_pB − Y_p)‖² = ‖P_Ω(R_pB − T_p)‖² + ‖P_Ω·Y_p‖² − ‖P_Ω·T_p‖²   for every B.
//
// The problem becomes that of [NewSamples] over the rows of all patterns, with the number of samples and the constant
// term of the original rows. R (N×D) holds the rows: the weights of the features are W = R_ηᵀC. Eigenvalues up to the
// rounding of Γ_p are left out. Cost: 9D³ flops and 2D² floats for each pattern.
func NewPatterns(parts []Pattern, blocks []int, be blas.Backend) (s Space, R blas.General, err error) {
	be = blas.Or(be)
	D, n := parts[0].H.Rows, parts[0].H.Cols
	R = blas.NewGeneral(0, D)
	all := &samples{data: data{unit: 1, B: blas.NewGeneral(0, n)}}
	for p, part := range parts {
		if err := part.check(n, blocks); err != nil {
			return nil, R, fmt.Errorf("%w: pattern %d of missing targets: %w", ErrInput, p, err)
		}
		r, t, err := part.stand(be)
		if err != nil {
			return nil, R, err
		}
		R.Data, R.Rows = append(R.Data, r.Data...), R.Rows+r.Rows
		all.B.Data, all.B.Rows = append(all.B.Data, t.Data...), all.B.Rows+t.Rows
		all.l += part.Rows
		all.yy += part.YY
	}
	all.cells = linop.ObservedCells(all.B)
	all.keepCells()
	all.dropped = math.Max(all.yy-square(blas.Frob(all.B)), 0)
	var factors []blas.General
	at := 0
	for _, d := range blocks {
		factors = append(factors, blas.View(R, 0, at, R.Rows, d))
		at += d
	}
	all.K = linop.NewFactorSum(factors, be)
	all.tell()
	return all, R, nil
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
	D := p.H.Rows
	E, err := linop.NewSpectral(be, p.Gamma, linop.RankDrop*0x1p-52*float64(D))
	if err != nil {
		return R, T, err
	}
	if E.Rank() == 0 { // a row of zeros for features that all are 0
		E = &linop.Spectral{V: blas.NewGeneral(D, 1), S: []float64{0}}
	}
	R, T = blas.Transposed(E.Factor()), blas.Product(be, true, false, E.V, p.H)
	for i, s := range E.S {
		t := blas.Row(T, i)
		if s > 0 {
			blas.Scal(1/math.Sqrt(s), t)
		}
		for j, on := range p.Observed {
			if !on {
				t[j] = math.NaN()
			}
		}
	}
	return R, T, nil
}

// onRows is the problem on rows R, at most D of them, in place of the samples, made once: RᵀR = Γ and RᵀT = H for their
// targets T, see [NewPatterns]. The coefficients C of the rows have ZᵀC' = RᵀC for the C' of the samples, of which the
// part outside of the range of Z is that of Y over μ.
func (f *features) onRows(be blas.Backend) (*samples, error) {
	if f.sums != nil {
		return f.sums, nil
	}
	D := f.Dim()
	if err := memory.Check("bcd: a sum of separable kernels of that many features", 56*float64(D)*float64(D),
		"use fewer features"); err != nil {
		return nil, err
	}
	part := Pattern{
		Observed: slices.Repeat([]bool{true}, f.B.Cols), Rows: f.l, Gamma: blas.NewGeneral(D, D), H: f.B,
		YY: f.yy,
	}
	_ = linop.Dense(context.Background(), part.Gamma, f.gamma) // only a context can fail it
	s, R, err := NewPatterns([]Pattern{part}, f.blocks, be)
	if err != nil {
		return nil, err
	}
	f.sums = s.(*samples)
	f.sums.rows = R
	return f.sums, f.sums.bad
}

// atUnitWeights is the state s with ZᵀC at unit weights, which a sum has, in place of the W of a product model.
func (f *features) atUnitWeights(s *State) *State {
	if s == nil || s.Ls != nil {
		return s
	}
	of := *s
	of.X = blas.Clone(s.X)
	f.rebase(of.X, s.Eta, slices.Repeat([]float64{1}, len(s.Eta)))
	return &of
}
