package iokl

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/stream"
)

// StreamCV is a cross-validation of streamed data, and the sums it was made from.
type StreamCV struct {
	CVResult
	p *pass
}

// Fit fits the best setting to all rows, without reading them again. Call it once.
func (r *StreamCV) Fit(ctx context.Context) (*Model, error) {
	r.p.opt.Options = r.settle(r.p.opt.Options)
	return r.p.fit(ctx, stream.Total(r.p.sums, nil))
}

// CrossValidateStream is [CrossValidate] for data that are streamed as for
// [FitStream], whose sums are kept apart for each fold: all values of λ, τ and the
// norm, and every fold, come from one pass. A row's fold depends on its number and
// the seed; with opt.CV.Groups all rows of a group are left out together. Scales of
// the inputs, widths and landmarks are those of all rows. The metric is nmse, mse
// or rmse. Ranks share the folds as they share the rows; when the work of one fails,
// end the job: the others wait for it.
func CrossValidateStream(ctx context.Context, data Rows, opt StreamOptions) (*StreamCV, error) {
	if opt.CV.Kernels != nil || opt.CV.Repeats > 1 || opt.CV.TimeOrdered {
		return nil, badInput("streamed data are cross-validated with one dictionary, in one set of folds, in no order of time")
	}
	opt.Lambda = 0 // which asks for folds
	p, err := newPass(ctx, data, opt)
	if err != nil {
		return nil, err
	}
	r, err := p.crossValidate(ctx)
	if err != nil {
		return nil, err
	}
	return &StreamCV{*r, p}, nil
}

// dealFolds deals groups of rows to the folds, the largest first.
func (p *pass) dealFolds() error {
	groups := p.opt.CV.Groups
	if groups == nil {
		return nil
	}
	if l := int64(len(groups)); p.opt.SurveyRows == 0 && l != p.survey.Rows {
		return badInput("%d group numbers for %d samples", l, p.survey.Rows)
	}
	splits, err := Folds(len(groups), p.so.Folds, 1, groups, false, p.opt.Seed)
	if err != nil {
		return err
	}
	foldOf := make([]int, len(groups))
	for f, s := range splits {
		for _, i := range s.Test {
			foldOf[i] = f
		}
	}
	p.so.Fold = func(_ string, row int64) int {
		if row >= int64(len(foldOf)) {
			return -1 // refused with the number of the row
		}
		return foldOf[row]
	}
	return nil
}

// crossValidate leaves out each fold in turn. The error on it is
// ‖Y − ZB‖² = ‖Y‖² − 2⟨H,B⟩ + ⟨B,ΓB⟩ from its sums.
func (p *pass) crossValidate(ctx context.Context) (*CVResult, error) {
	g, err := p.grid()
	if err != nil {
		return nil, err
	}
	branches, err := p.branches(g)
	if err != nil {
		return nil, err
	}
	rank, size := 0, 1
	if r := p.opt.Ranks; r != nil {
		rank, size = r.Rank(), r.Size()
	}
	for f := rank; f < len(p.sums); f += size {
		if err := p.fold(ctx, g, branches, f); err != nil {
			return nil, err
		}
		p.opt.notify("cross-validation: fold %d of %d", f+1, len(p.sums))
	}
	if err := p.gather(branches); err != nil {
		return nil, err
	}
	return g.summarize(branches)
}

// gather brings the errors on all folds to every rank.
func (p *pass) gather(branches []*branch) error {
	r := p.opt.Ranks
	if r == nil || r.Size() == 1 {
		return nil
	}
	for _, b := range branches {
		for _, errors := range b.errors {
			for f := range errors {
				if f%r.Size() != r.Rank() {
					errors[f] = 0 // another's, who may have NaN
				}
			}
			if err := r.Allreduce(errors); err != nil {
				return fmt.Errorf("exchanging the errors of the folds: %w", err)
			}
		}
	}
	return nil
}

// grid is what is tried, with defaults filled in.
func (p *pass) grid() (*grid, error) {
	opt := &p.opt.Options
	g := &grid{CVOptions: opt.CV, splits: make([]Split, len(p.sums))}
	if err := g.fill(opt, metrics[:3]); err != nil {
		return nil, err
	}
	g.Norms = g.norms(opt, nil)
	return g, g.check()
}

// branches lists the paths of λ, which start from the mean diagonal of K_η at equal weights.
func (p *pass) branches(g *grid) ([]*branch, error) {
	var size, rows float64
	for k := range p.sums {
		s := &p.sums[k]
		rows += float64(s.Rows)
		for i := range s.Gamma.Rows {
			size += s.Gamma.Data[i*s.Gamma.Stride+i]
		}
	}
	size /= max(rows, 1) * float64(len(p.maps))
	var all []*branch
	for _, norm := range g.Norms {
		total, err := startWeight(norm, &p.opt.Options, p.fixed, len(p.maps))
		if err != nil {
			return nil, err
		}
		for _, tau := range g.Taus {
			b := &branch{kernels: p.opt.Kernels, norm: norm, learn: cmp.Or(p.opt.Learn, "eta,l"), tau: tau, lambdas: g.Lambdas}
			if b.lambdas == nil {
				b.lambdas = lambdaPath(size * total * relative(tau, p.data.Outputs))
			}
			b.init(len(p.sums))
			all = append(all, b)
		}
	}
	return all, nil
}

// fold follows all paths with the rows of one fold left out.
func (p *pass) fold(ctx context.Context, g *grid, branches []*branch, f int) error {
	train := stream.Total(p.sums, func(k int) bool { return k == f })
	if train.Rows < 2 || p.sums[f].Rows == 0 {
		return badInput("fold %d trains on %d rows and tests on %d", f+1, train.Rows, p.sums[f].Rows)
	}
	t := newTargets(&train, p.opt.scaleY())
	if len(t.live) == 0 {
		return badInput("every target column is constant without fold %d", f+1)
	}
	space, _ := p.space(ctx, &train, t)
	for _, b := range branches {
		if err := p.follow(ctx, g, b, f, space, t); err != nil {
			return err
		}
	}
	return nil
}

// follow goes down one path of λ.
func (p *pass) follow(ctx context.Context, g *grid, b *branch, f int, space bcd.Space, t *targets) error {
	opt := p.opt.Options
	opt.Trace, opt.Tol, opt.Norm, opt.Tau = nil, g.Tol, b.norm, b.tau
	so := opt.solverOptions()
	best, above := math.Inf(1), 0
	for i, lambda := range b.lambdas {
		opt.Lambda = lambda
		res, err := bcd.Solve(ctx, opt.problem(space, p.fixed), so)
		if res == nil || ctx.Err() != nil {
			return asInput(err)
		}
		so.Start = &bcd.State{Eta: res.Eta, L: res.L, X: blas.Clone(res.C)}
		mse := p.heldOut(&p.sums[f], t, p.weights(res))
		b.errors[i][f] = p.metric(g.Metric, mse, t)
		e := p.metric("nmse", mse, t)
		best = math.Min(best, e)
		if above++; e <= rising*best {
			above = 0
		}
		if above == 2 && g.Lambdas == nil {
			return nil
		}
	}
	return nil
}

// weights are those of the features, S·W·L with S = diag(√η_j); they overwrite res.C.
func (p *pass) weights(res *bcd.Result) blas.General {
	B := timesOutput(p.opt.Backend, res.C, res.L)
	at := 0
	for j, m := range p.maps {
		for i := at; i < at+m.Dim(); i++ {
			blas.Scal(math.Sqrt(res.Eta[j]), blas.Row(B, i))
		}
		at += m.Dim()
	}
	return B
}

// heldOut is the mean squared error of each target on the rows of s, in the units
// of the sums; targets that were constant in training are predicted so.
func (p *pass) heldOut(s *stream.Sums, t *targets, B blas.General) []float64 {
	l := float64(s.Rows)
	all, mse := s.Standardized(t.mean, t.scale)
	H := columns(all, t.live)
	GB := blas.NewGeneral(B.Rows, B.Cols)
	blas.Or(p.opt.Backend).Dsymm(blas.Left, blas.Lower, B.Rows, B.Cols, 1, s.Gamma.Data, s.Gamma.Stride, B.Data, B.Stride, 0, GB.Data, GB.Stride)
	for i := range B.Rows {
		h, gb := blas.Row(H, i), blas.Row(GB, i)
		for k, v := range blas.Row(B, i) {
			mse[t.live[k]] += v * (gb[k] - 2*h[k])
		}
	}
	for j, c := range t.scale {
		mse[j] = max(mse[j], 0) * c * c / l
	}
	return mse
}

// metric is the mean over the targets of what the name says: of those that vary in
// training, the error by their variance there, else error or its root in the
// targets' own units.
func (p *pass) metric(name string, mse []float64, t *targets) float64 {
	var sum, count float64
	for j, v := range mse {
		if name == "nmse" {
			if t.constant[j] || !slices.Contains(t.live, j) {
				continue
			}
			v /= t.variance[j]
		} else if p.y != nil {
			v *= p.y.Scale[j] * p.y.Scale[j]
		}
		if name == "rmse" {
			v = math.Sqrt(v)
		}
		sum += v
		count++
	}
	return sum / count
}
