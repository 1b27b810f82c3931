// This file refits a training set without each of its samples, in closed form.

package samples

import (
	"context"
	"math"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/sylvester"
)

// leaveOut is refits of a training set without each of its samples.
type leaveOut struct {
	*training
	eta []float64 // of dec
	dec *sylvester.Decomposition
	lo  *sylvester.LeaveOut
	L   *linop.Spectral // that lo uses
	raw blas.General    // targets in the units of the data
}

// LeaveOut prepares for refits without each sample.
func (t *training) LeaveOut() (learn.LeaveOut, error) {
	if !t.plain() {
		return nil, fault.Input("leaving out single rows in closed form is for the squared loss without weights: use " +
			"folds")
	}
	if columns.Missing(t.Y) {
		return nil, fault.Input(
			"leaving out single rows in closed form is for targets without missing cells: use folds")
	}
	s := &leaveOut{training: t, raw: blas.NewGeneral(t.Y.Rows, len(t.out.Names))}
	t.out.Restore(s.raw, t.Y)
	return s, nil
}

func (s *leaveOut) At(ctx context.Context, eta []float64, L *linop.Spectral, mu float64) (*learn.Refits, error) {
	if s.lo == nil || !slices.Equal(eta, s.eta) {
		dec, err := s.decompose(ctx, eta)
		if err != nil {
			return nil, err
		}
		s.eta, s.dec, s.lo, s.L = slices.Clone(eta), dec.Clip(), sylvester.NewLeaveOut(dec, s.opt.Backend), nil
	}
	if s.L != L {
		if err := s.lo.Use(L, s.Y); err != nil {
			return nil, err
		}
		s.L = L
	}
	if err := s.lo.At(blas.General{}, mu); err != nil {
		return nil, err
	}
	R := blas.NewGeneral(s.Y.Rows, s.Y.Cols)
	s.lo.Residuals(R)
	r := s.refits(R)
	r.Freedom = s.lo.DegreesOfFreedom()
	return r, nil
}

// refits are those of residuals R (l×live).
func (s *leaveOut) refits(R blas.General) *learn.Refits {
	F := blas.Clone(s.Y)
	blas.AddScaled(F, -1, R)
	r := &learn.Refits{F: blas.Like(s.raw), Y: s.raw}
	s.out.Restore(r.F, F)
	r.Errors = learn.Judge(r.F, r.Y, blas.General{}, s.out)
	return r
}

func (s *leaveOut) Constant() *learn.Refits {
	R := blas.Clone(s.Y)
	if l := float64(R.Rows); s.out.Scaler != nil {
		blas.Scal(l/(l-1), R.Data) // y_i less the mean of the others, of targets of mean 0
	}
	return s.refits(R)
}

// decompose is K_η, or Z_η·Z_ηᵀ of the features.
func (s *leaveOut) decompose(ctx context.Context, eta []float64) (*sylvester.Decomposition, error) {
	be := blas.Or(s.opt.Backend)
	if K, _ := s.Kernels(); K != nil {
		K.SetWeights(eta)
		return sylvester.Decompose(ctx, K, be)
	}
	l, D := s.Z.Rows, s.maps.Dim()
	F := blas.NewGeneral(l, D)
	if err := s.maps.Transform(F, s.Z); err != nil {
		return nil, fault.From(err)
	}
	roots := make([]float64, 0, D)
	for j, d := range s.maps.Blocks() {
		roots = append(roots, slices.Repeat([]float64{math.Sqrt(eta[j])}, d)...)
	}
	blas.ScaleColumns(F, roots)
	if D >= l {
		K := blas.NewGeneral(l, l)
		blas.Mul(be, K, false, true, F, F)
		return sylvester.Decompose(ctx, linop.NewDense(K, be), be)
	}
	G := blas.NewGeneral(D, D)
	blas.Mul(be, G, true, false, F, F)
	dec, err := sylvester.Decompose(ctx, linop.NewDense(G, be), be)
	if err != nil {
		return nil, err
	}
	// Of G = U·diag(γ)·Uᵀ, the columns of F·U/√γ are eigenvectors of F·Fᵀ. Those of γ
	// within rounding of 0 are left out.
	const rankTol = 1e-12
	q := 0
	for q < D && !(dec.Sigma[q] > rankTol*dec.Sigma[D-1]) {
		q++
	}
	T := blas.NewGeneral(l, D-q)
	if D > q {
		blas.Mul(be, T, false, false, F, blas.View(dec.T, 0, q, D, D-q))
	}
	scale := make([]float64, D-q)
	for a, g := range dec.Sigma[q:] {
		scale[a] = 1 / math.Sqrt(g)
	}
	blas.ScaleColumns(T, scale)
	return &sylvester.Decomposition{T: T, Sigma: dec.Sigma[q:]}, nil
}
