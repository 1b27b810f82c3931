// Several quantiles with weights and an output kernel in common.

package learn

import (
	"cmp"
	"context"
	"slices"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/internal/base/par"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/loss"
	"github.com/iokl/iokl/sylvester"
)

// Lead is the index of the loss by which weights and L are learned: of quantiles that nearest ½.
func Lead(losses []loss.Loss) (at int) {
	for i, l := range losses {
		if d := l.Parameter - 0.5; d*d < (losses[at].Parameter-0.5)*(losses[at].Parameter-0.5) {
			at = i
		}
	}
	return at
}

// Ends are the lowest and the highest of several quantiles beside the lead: the three tell how λ serves all.
func Ends(losses []loss.Loss) (list []loss.Loss) {
	for _, at := range []int{0, len(losses) - 1} {
		if len(losses) > 1 && at != Lead(losses) {
			list = append(list, losses[at])
		}
	}
	return list
}

// quantiles learns the functions of the other losses at the weights and L of res, and makes res one of n·q outputs:
// those of a target are neighbours, and L becomes L⊗I. The relative gap
// becomes the largest of all. It returns the map of all outputs.
func (m *Method) quantiles(
	ctx context.Context, t Training, p *bcd.Problem, so bcd.Options, losses []loss.Loss, res *bcd.Result,
) (*columns.Outputs, error) {
	if res.Ls != nil {
		return nil, fault.Input("several quantiles are for one output kernel")
	}
	at := Lead(losses)
	all, outs := make([]blas.General, len(losses)), make([]*columns.Outputs, len(losses))
	all[at], outs[at] = res.C, t.Outputs().WithIntercepts(res.Constants)
	fits, failed := make([]*bcd.Result, len(losses)), make([]error, len(losses))
	steps := []int{-1, 1}
	var own []*bcd.LossStep // of each side
	for range steps {
		own = append(own, so.LossStep.Beside(sylvester.Config{Backend: so.Backend, Seed: so.Seed}))
	}
	*so.LossStep = bcd.LossStep{} // its factor and scratch are not needed any more
	side := func(i int) {
		so, step := so, steps[i]
		so.LossStep = own[i]
		for k := at + step; k >= 0 && k < len(losses); k += step {
			u, err := byLoss(t, losses[k])
			if err != nil {
				failed[k] = err
				return
			}
			fits[k], failed[k] = solveAt(ctx, res.Eta, res.L, foretold(all, losses, at, k, step), p, so, u)
			if fits[k] == nil || ctx.Err() != nil {
				return
			}
			all[k], outs[k] = fits[k].C, u.Outputs().WithIntercepts(fits[k].Constants)
		}
	}
	K, _ := kernels(t)
	_, stored := K.(*linop.GramSum)
	l, n := float64(res.C.Rows), float64(res.C.Cols)
	if stored && memory.Check("", 8*l*(l+levelScratch*n), "") == nil {
		par.For(len(steps), side)
	} else {
		side(0)
		side(1)
	}
	var open error // of fits that ended early
	for k, one := range fits {
		switch {
		case k == at:
		case one == nil || ctx.Err() != nil:
			return nil, fault.From(cmp.Or(cmp.Or(failed...), ctx.Err()))
		default:
			res.SylvesterSolves += one.SylvesterSolves
			res.KernelMultiplies += one.KernelMultiplies
			res.RelativeGap = max(res.RelativeGap, one.RelativeGap)
			res.Converged = res.Converged && one.Converged
			open = cmp.Or(open, failed[k])
		}
	}
	res.C, res.L, res.Constants = interleave(all), beside(res.L, len(losses)), nil
	return columns.Join(outs), fault.From(open)
}

// solveAt finds the coefficients of a training set at given weights and L, starting from C; p has the rest.
func solveAt(
	ctx context.Context, eta []float64, L *linop.Spectral, C blas.General, p *bcd.Problem, so bcd.Options, t Training,
) (*bcd.Result, error) {
	q := *p
	q.Space, q.Eta, q.L, q.Model = t.Space(), eta, L, bcd.Neither
	so.Start, so.Trace = &bcd.State{Eta: eta, L: L, X: C}, nil
	return bcd.Solve(ctx, &q, so)
}

// levelScratch is the number of l×n matrices that a C step by a quantile works with: fourteen of semismooth.Newton, at
// most thirteen of the solver of systems of cells, and the start.
const levelScratch = 28

// foretold is where level k starts. Levels are learned from the one of number at outwards, in steps of 1 or −1, and
// their coefficients are piecewise linear in the level: it is on the line through those of the two levels learned
// before, or at those of the first.
func foretold(all []blas.General, losses []loss.Loss, at, k, step int) blas.General {
	last, before := k-step, k-2*step
	X := blas.Clone(all[last])
	if last != at {
		level := func(i int) float64 { return losses[i].Parameter }
		share := (level(k) - level(last)) / (level(last) - level(before))
		blas.Scal(1+share, X.Data)
		blas.AddScaled(X, -share, all[before])
	}
	return X
}

// interleave puts the columns of equal number of all matrices next to each other.
func interleave(all []blas.General) blas.General {
	q := len(all)
	C := blas.NewGeneral(all[0].Rows, all[0].Cols*q)
	for k, a := range all {
		for i := range a.Rows {
			row := blas.Row(C, i)
			for j, v := range blas.Row(a, i) {
				row[j*q+k] = v
			}
		}
	}
	return C
}

// beside is L⊗I of order q.
func beside(L *linop.Spectral, q int) *linop.Spectral {
	V := blas.NewGeneral(L.V.Rows*q, L.V.Cols*q)
	for i := range L.V.Rows {
		for j, v := range blas.Row(L.V, i) {
			for k := range q {
				V.Data[(i*q+k)*V.Stride+j*q+k] = v
			}
		}
	}
	var S []float64
	for _, s := range L.S {
		S = append(S, slices.Repeat([]float64{s}, q)...)
	}
	return &linop.Spectral{V: V, S: S}
}
