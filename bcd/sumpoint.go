// This file is what a point of the fit of a sum is, and how it is solved for and measured.

package bcd

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/phase"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/sylvester"
)

// sumPoint is output kernels, coefficients, and what was computed there.
type sumPoint struct {
	L        []*linop.Spectral
	C        blas.General
	G        []blas.General // CᵀK_jC, both triangles; no Data where it was not measured
	H        []blas.General // (K_jC)ᵀK_jC, likewise
	top      []float64      // their largest eigenvalues, once certified
	fit      float64        // ‖P_Ω(F − Y)‖²_F, F = ΣK_jCL_j
	form     float64        // ‖f‖² = ⟨C,F⟩
	yc, cc   float64        // ⟨Y,C⟩ and ‖C‖²_F
	residual float64        // of the C step, relative to P_Ω·Y
	complete bool           // all kernels were measured

	objective, gap float64 // gap bounds objective − min h
}

// sampleTerm is K_j in the units of the space.
type sampleTerm struct {
	s *samples
	j int
}

func (k sampleTerm) Dim() int { return k.s.K.Dim() }
func (k sampleTerm) Apply(dst, x blas.General) {
	k.s.K.(linop.Separate).ApplyTerm(dst, x, k.j)
	if k.s.unit != 1 {
		blas.Scal(1/k.s.unit, dst.Data)
	}
}

func (k sampleTerm) Dense(dst blas.General) {
	k.s.K.(linop.Separate).DenseTerm(dst, k.j)
	if k.s.unit != 1 {
		blas.Scal(1/k.s.unit, dst.Data)
	}
}

// solve performs the C step at pt to the relative residual tol, or as near as it gets.
func (f *sumFit) solve(ctx context.Context, pt *sumPoint, tol float64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	terms := make([]linop.Term, len(pt.L))
	for j, L := range pt.L {
		terms[j] = linop.Term{K: f.K[j], L: L}
	}
	var res sylvester.Result
	var err error
	phase.Do(ctx, phase.CSolve, func(ctx context.Context) {
		res, err = f.solver.Solve(ctx, pt.C, terms, f.t.mu, f.s.Y, sylvester.Options{Tol: tol})
	})
	f.cost.solves++
	f.cost.columns += res.Columns
	f.cost.solver = res.Solver
	switch {
	case errors.Is(err, sylvester.ErrNotConverged):
		return nil
	case errors.Is(err, sylvester.ErrNotSPD):
		return fmt.Errorf("%w: %w", ErrNotPSD, err)
	}
	return err
}

// measure fills in what pt tells of the kernels of idx, among which are those of weight.
func (f *sumFit) measure(ctx context.Context, pt *sumPoint, idx []int) error {
	t := f.t
	if err := ctx.Err(); err != nil {
		return err
	}
	phase.Do(ctx, phase.Certificate, func(context.Context) {
		F, KC, one := cloneLike(pt.C), cloneLike(pt.C), cloneLike(pt.C)
		pt.G, pt.H = make([]blas.General, t.m), make([]blas.General, t.m)
		for _, j := range idx {
			f.K[j].Apply(KC, pt.C)
			f.cost.columns += t.n
			pt.G[j] = blas.NewGeneral(t.n, t.n)
			blas.Mul(t.be, pt.G[j], true, false, pt.C, KC)
			blas.Symmetrize(pt.G[j])
			pt.H[j] = blas.NewGeneral(t.n, t.n)
			blas.GramOf(t.be, pt.H[j], KC)
			if pt.L[j].Rank() > 0 {
				t.work.mulRight(one, KC, pt.L[j])
				blas.AddScaled(F, 1, one)
			}
		}
		pt.form = blas.Inner(pt.C, F)
		if f.s.cells != nil {
			f.s.cells.Project(F, F)
		}
		blas.Copy(one, F)
		blas.AddScaled(one, t.mu, pt.C)
		pt.residual = math.Sqrt(distance2(one, f.s.Y)) / math.Max(blas.Frob(f.s.Y), math.SmallestNonzeroFloat64)
		rest := f.s.dropped / t.mu
		pt.fit = distance2(F, f.s.Y) + f.s.dropped
		pt.yc, pt.cc = blas.Inner(f.s.Y, pt.C)+rest, square(blas.Frob(pt.C))+rest/t.mu
	})
	pt.complete = len(idx) == t.m
	pt.objective = pt.fit/float64(t.l) + t.lambda*pt.form
	if math.IsNaN(pt.objective) || math.IsInf(pt.objective, 0) {
		return fmt.Errorf("%w: the objective is not finite", ErrInput)
	}
	for _, j := range idx {
		if v := trace(pt.G[j]); v < -psdSlack*f.s.trace(j)*pt.cc {
			return fmt.Errorf("%w: kernel %d has tr(CᵀK_jC) = %g", ErrNotPSD, j, v)
		}
	}
	return nil
}

// relative is gap/objective, 0 when both are.
func (pt *sumPoint) relative() float64 {
	return certificate{objective: pt.objective, gapL: pt.gap}.relative()
}

// inexactness is the part of the gap that is due to the error of C.
func (f *sumFit) inexactness(pt *sumPoint) float64 {
	return math.Max(0, pt.objective-f.t.lambda*(2*pt.yc-f.t.mu*pt.cc-pt.form))
}

// noise is how much of the objective at pt its inexact C, and rounding, may account for.
func (f *sumFit) noise(pt *sumPoint) float64 {
	return 0.5*f.inexactness(pt) + 0x1p-46*math.Abs(pt.objective) + f.s.rounding(pt.fit)/float64(f.t.l)
}

// tol is the relative residual of a C step from pt; see [fit.tolFor].
func (f *sumFit) tol(pt *sumPoint, goal float64) float64 {
	if f.opt.InnerTol > 0 {
		return f.opt.InnerTol
	}
	return math.Max(innerTightest, math.Min(innerLoosest, f.share*math.Max(pt.relative(), goal)))
}

// weights are tr L_j/τ.
func (f *sumFit) weights(pt *sumPoint) []float64 {
	eta := make([]float64, len(pt.L))
	for j, L := range pt.L {
		eta[j] = L.Trace() / f.t.tau
	}
	return eta
}

// solution is copies of C, Σ_j L_j and the L_j of pt for all outputs, in the caller's units.
func (f *sumFit) solution(pt *sumPoint) (X blas.General, mean *linop.Spectral, Ls []*linop.Spectral) {
	all := blas.NewGeneral(f.t.n, f.t.n)
	one := cloneLike(all)
	for _, L := range pt.L {
		L.Dense(f.t.be, one)
		blas.AddScaled(all, 1, one)
		_, L = f.units.restore(blas.General{}, f.basis.restoreL(f.t.be, L))
		Ls = append(Ls, L)
	}
	mean, err := linop.NewSpectral(f.t.be, all, eigenDrop)
	if err != nil {
		mean = linop.ScaledIdentity(f.t.n, math.NaN())
	}
	X = blas.Clone(pt.C)
	if f.basis.P.Data != nil {
		X = blas.NewGeneral(pt.C.Rows, f.basis.P.Rows)
		blas.Mul(f.t.be, X, false, true, pt.C, f.basis.P)
	}
	X, mean = f.units.restore(X, f.basis.restoreL(f.t.be, mean))
	return X, mean, Ls
}
