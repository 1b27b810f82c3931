// This file measures points of a sum of separable kernels.

package bcd

import (
	"context"
	"fmt"
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

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

// fill fills in what pt tells of the kernels of idx, among which are those of weight.
func (f *sumModel) fill(ctx context.Context, pt *point, idx []int) error {
	t := f.t
	if err := ctx.Err(); err != nil {
		return err
	}
	F, KC, one := blas.Like(pt.X), blas.Like(pt.X), blas.Like(pt.X)
	C := f.s.coefficients(&t.work, pt.X)
	pt.Gs, pt.Hs = make([]blas.General, t.m), make([]blas.General, t.m)
	for _, j := range idx {
		f.K[j].Apply(KC, C)
		f.cost.columns += t.n
		pt.Gs[j] = blas.NewGeneral(t.n, t.n)
		blas.Mul(t.be, pt.Gs[j], true, false, C, KC)
		blas.Symmetrize(pt.Gs[j])
		pt.Hs[j] = blas.NewGeneral(t.n, t.n)
		blas.GramOf(t.be, pt.Hs[j], KC)
		if pt.Ls[j].Rank() > 0 {
			t.work.mulRight(one, KC, pt.Ls[j])
			blas.AddScaled(F, 1, one)
		}
	}
	f.s.measureFit(&pt.measures, t.mu, pt.X, F)
	pt.rounded = f.s.rounded()
	if f.s.convex() {
		pt.residual = f.s.openness(&pt.measures, t.mu)
	} else {
		blas.AddScaled(F, t.mu, pt.X)
		pt.residual = math.Sqrt(distance2(F, f.s.Y)) / math.Max(blas.Frob(f.s.Y), math.SmallestNonzeroFloat64)
	}
	pt.cert.objective = pt.fit/float64(t.l) + t.lambda*pt.form
	if math.IsNaN(pt.cert.objective) || math.IsInf(pt.cert.objective, 0) {
		return fmt.Errorf("%w: the objective is not finite", ErrInput)
	}
	for _, j := range idx {
		if v := blas.Trace(pt.Gs[j]); v < -psdSlack*f.s.trace(j)*pt.cc {
			return fmt.Errorf("%w: kernel %d has tr(CᵀK_jC) = %g", ErrNotPSD, j, v)
		}
	}
	return nil
}
