// Training sets of folds: kernels or features on samples, targets, and the models fitted to them.

package samples

import (
	"context"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/internal/learn/model"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/loss"
	"github.com/iokl/iokl/rff"
	"github.com/iokl/iokl/stream"
)

// training is the learning problem of some of the samples: in sample space over Gram
// matrices, or in feature space over sums.
type training struct {
	opt      *Options
	in       *columns.Inputs
	out      *columns.Outputs
	warnings []string
	names    []string // of the kernels
	held     float64
	weights  []float64
	Y        blas.General // targets as they are learned
	W        blas.General // their weights; without Data 1
	raw, w   blas.General // targets and weights of all outputs

	dict  kernel.Dictionary // resolved on Z, the inputs as the kernels see them
	Z     blas.General
	grams []*blas.Sym
	again *kernel.Sum // in place of grams the kernels as they are computed anew, where memory holds no more; else nil
	added blas.Packed // in place of grams their sum at the weights, which are not learned; else nil
	maps  rff.Maps
	sums  *stream.Sums
	F     blas.General // features of the samples, in place of sums where targets are missing
	known linop.Sum    // in place of grams, see Known; else nil

	from  learn.Parts // the samples of which the fold is left out
	split learn.Split
	test  blas.General // targets of the samples left out
	testW blas.General // their weights
}

// Training is t as the set that a fit takes.
func (t *training) Training() learn.Training {
	return learn.Training{Set: t, Samples: t, Drawn: t.drawn}
}

// accumulate makes the feature maps of the dictionary and their sums over the rows of Z and Y.
func (t *training) accumulate(ctx context.Context) (err error) {
	if t.maps, err = rff.NewMaps(ctx, t.dict, t.Z, t.opt.Seed, t.opt.Backend); err != nil {
		return fault.Mark(err)
	}
	if keepsRows(t.Y, t.w, t.opt.Columns.Loss) {
		t.F = blas.NewGeneral(t.Z.Rows, t.maps.Dim())
		return fault.From(t.maps.Transform(t.F, t.Z))
	}
	acc := stream.New(t.maps, t.Z.Cols, t.Y.Cols, stream.Options{Backend: t.opt.Backend})
	if err := acc.Run(ctx, stream.FromMatrices("the data", t.Z, t.Y, t.w.Data...)); err != nil {
		return fault.From(err)
	}
	sums, err := acc.Sums()
	if err != nil {
		return fault.From(err)
	}
	sums[0].Recenter(nil)
	t.sums = &sums[0]
	return nil
}

// keepsRows reports whether the rows of explicit features are needed to learn the targets Y with the weights W, and not
// only their sums: where cells are missing or have weights of their own, and for losses other than the squared one.
func keepsRows(Y, W blas.General, l loss.Loss) bool {
	return columns.Missing(Y) || W.Cols > 1 || l.Kind != loss.Squared
}

// drawn are random rows of a set of explicit features.
func (t *training) drawn() (rows []int, X, Y, W blas.General) {
	if t.maps == nil || t.w.Cols > 1 || t.opt.Columns.Loss.Kind != loss.Squared {
		return nil, X, Y, W
	}
	rows = rand.New(rand.NewPCG(t.opt.Seed, uint64(t.Z.Rows))).Perm(t.Z.Rows)[:min(t.Z.Rows, learn.DrawnRows)]
	slices.Sort(rows)
	return rows, blas.TakeRows(t.Z, rows), blas.TakeRows(t.raw, rows), rowsOf(t.w, rows)
}

// Space is the learning problem over coefficients C (l×n), or over weights of features.
func (t *training) Space() bcd.Space {
	K := t.known
	if K == nil {
		if terms, _ := t.Kernels(); terms != nil {
			K = terms
		}
	}
	if K != nil {
		// By squares, columns of inputs and targets have means of 0, by their weights.
		l := t.opt.Columns.Loss
		return bcd.NewLoss(K, t.Y, t.W, l, l.Kind != loss.Squared)
	}
	yy := floats.Sum(t.sums.YY)
	return bcd.NewFeatures(t.sums.Gamma, t.sums.H, yy, int(t.sums.Rows), t.maps.Blocks(), t.opt.Backend)
}

// setTargets makes the targets Y with the weights w those to learn.
func (t *training) setTargets(Y, w blas.General) (about []string, err error) {
	out, learned, about, err := columns.LearnOutputs(Y, w, &t.opt.Columns)
	if err == nil {
		t.take(out, learned, Y, w)
	}
	return about, err
}

// take is setTargets for targets Y that out has made of those of all outputs.
func (t *training) take(out *columns.Outputs, Y, raw, w blas.General) {
	t.out, t.Y, t.W, t.raw, t.w = out, Y, out.Weights(w), raw, w
}

// Outputs is the map of the targets.
func (t *training) Outputs() *columns.Outputs { return t.out }

// ByLoss is the training set, of which kernels are shared, for another loss.
func (t *training) ByLoss(l loss.Loss) (learn.Training, error) {
	u, opt := *t, *t.opt
	opt.Columns.Loss = l
	u.opt = &opt
	_, err := u.setTargets(t.raw, t.w)
	return u.Training(), err
}

// Kernels are those on the samples, and the targets; no kernels where sums stand for the samples, or see Known.
func (t *training) Kernels() (linop.Separate, blas.General) {
	switch {
	case t.known != nil:
		return nil, t.Y
	case t.F.Data != nil:
		return linop.NewFactorSum(t.factors(), t.opt.Backend), t.Y
	case t.added != nil:
		return linop.NewGram(t.added, t.opt.Backend), t.Y
	case t.again != nil:
		return t.again, t.Y
	case t.sums == nil:
		return linop.NewGramSum(t.grams, t.opt.Backend, t.opt.Precision), t.Y
	}
	return nil, t.Y
}

// factors are the features of each kernel.
func (t *training) factors() (list []blas.General) {
	at := 0
	for _, d := range t.maps.Blocks() {
		list = append(list, blas.View(t.F, 0, at, t.F.Rows, d))
		at += d
	}
	return list
}

// Weights are those of the Gram matrices.
func (t *training) Weights() []float64 {
	if t.added != nil {
		return []float64{1}
	}
	return t.weights
}

func (t *training) Held() float64 { return t.held }

// Source is what the model of a solution needs for changes of its rows: the targets as the solver sees them, or the
// sums of explicit features; for losses other than the squared one, which are learned anew, the targets as they are. It
// is empty with Gram matrices, and where rows of features differ in which targets are
// missing in more ways than sums of each are worth, or in the weights of their cells.
func (t *training) Source() (s model.Source) {
	switch {
	case t.opt.Columns.Loss.Kind != loss.Squared:
		if t.maps == nil && t.in != nil {
			s.Y, s.W = blas.Clone(columns.Take(t.raw, t.out.Live)), t.W
		}
	case t.maps == nil && t.in != nil:
		s.Y, s.W = blas.Clone(t.Y), t.W
	case t.sums != nil:
		s.Sums = []bcd.Pattern{{
			Observed: slices.Repeat([]bool{true}, t.Y.Cols), Rows: t.Y.Rows, Gamma: t.sums.Gamma, H: t.sums.H,
			YY: floats.Sum(t.sums.YY),
		}}
	case t.F.Data != nil && t.W.Cols <= 1: // weights of rows are those of products in sums
		if p := stream.Patterns(t.Y); len(p) <= stream.MaxPatterns && len(p)*t.maps.Dim() <= t.Y.Rows {
			F, Y := blas.Clone(t.F), blas.Clone(t.Y)
			model.Weigh(F, t.W)
			model.Weigh(Y, t.W)
			s.Sums = model.AddRows(nil, F, Y, 1, t.opt.Backend)
		}
	}
	return s
}

// Model predicts by the solution.
func (t *training) Model(res *bcd.Result) *model.Model {
	out := t.out.WithIntercepts(res.Constants)
	m := &model.Model{In: t.in, Out: out, Names: t.names, Eta: res.Eta, L: res.L, Warnings: t.warnings}
	m.Remember(t.dict, t.maps)
	be := t.opt.Backend
	if t.added != nil {
		m.Eta = t.weights
	}
	switch {
	case t.maps != nil:
		m.Basis = model.NewFeatures(t.maps, res, model.FeatureWeights(be, t.F, t.maps, res), be)
		return m
	case res.Ls != nil:
		m.Basis = model.NewSum(t.dict, res.Eta, res.Ls, t.Z, res.C, be)
		return m
	}
	CL := res.C
	res.L.MulRight(blas.Or(be), CL, CL)
	m.Basis = model.NewSamples(t.dict, m.Eta, t.Z, CL, be)
	return m
}

// Errors are those of the predictions for the samples left out.
func (t *training) Errors(ctx context.Context, res *bcd.Result) (learn.Errors, error) {
	f, err := t.from.HeldOut(ctx, t.Model(res), t.split)
	if err != nil {
		return learn.Errors{}, err
	}
	e := learn.Judge(f.F, t.test, t.testW, t.out)
	e.Held = &model.Fold{Rows: t.split.Test, Y: t.test, F: f.F, W: t.testW}
	return e, nil
}

// Known is the training set of the rows Z, Y, inputs as the kernels of m see them and targets as m learns them, with
// the weights W. Scales, kernels and their lengths are those of m; kernels that are centred are so on these rows. K is
// the sum of the kernels, which holds so many bytes, nil for their Gram matrices.
func Known(
	ctx context.Context, m *model.Model, Z, Y, W blas.General, K linop.Sum, held float64, opt Options,
) (learn.Training, error) {
	t := &training{
		opt: &opt, in: m.In, out: m.Out, names: m.Names, Z: Z, Y: Y, W: W, w: W, dict: slices.Clone(m.Dictionary()),
		warnings: m.Warnings, known: K, held: held,
	}
	if K != nil {
		return t.Training(), nil
	}
	p := opt.gramPlan(len(t.dict), Y.Rows, Z.Cols, Y.Cols)
	if err := opt.Announce(p); err != nil {
		return learn.Training{}, err
	}
	t.held = p.Held
	var err error
	t.grams, err = t.dict.Grams(ctx, Z, kernel.GramOptions{Precision: opt.Precision, Backend: opt.Backend})
	return t.Training(), fault.From(err)
}

// WeightedGram is K_η on the rows Z for n targets, and the bytes that it and solving with it hold.
func WeightedGram(
	ctx context.Context, dict kernel.Dictionary, eta []float64, Z blas.General, n int, opt Options,
) (K *linop.Gram, held float64, err error) {
	p := opt.sumPlan(len(dict), Z.Rows, Z.Cols, n)
	if err := opt.Announce(p); err != nil {
		return nil, 0, err
	}
	P, err := dict.WeightedGram(ctx, Z, eta, kernel.GramOptions{Precision: opt.Precision, Backend: opt.Backend})
	if err != nil {
		return nil, 0, fault.From(err)
	}
	return linop.NewGram(P, opt.Backend), p.Held, nil
}
