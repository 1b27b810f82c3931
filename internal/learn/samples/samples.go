// Package samples implements learn.Data for samples in memory: rows of inputs, or Gram
// matrices that the caller gives.
package samples

import (
	"context"
	"math"
	"slices"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/dictionary"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/internal/learn/model"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/loss"
	"github.com/iokl/iokl/rff"
	"github.com/iokl/iokl/stream"
)

// Options say how samples become kernels and targets.
type Options struct {
	learn.Env
	Columns   columns.Options
	Groups    []kernel.Group     // that SPECs may refer to
	Precision blas.Precision     // in which Gram matrices are stored
	Exact     bool               // linear kernels have Gram matrices, however few columns they have
	Lengths   dictionary.Lengths // that learning lengths of columns starts from; nil: none
}

// quiet is opt for a part of the samples, about which nothing is said.
func (opt Options) quiet() Options {
	opt.Notify = nil
	return opt
}

// observed holds the targets of the samples and the folds to which they are dealt.
type observed struct {
	opt    Options
	y      blas.General
	w      blas.General // weights of the cells of y, or with one column of the rows; without Data 1
	cells  int          // of y that are observed with a positive weight
	splits []learn.Split
}

// observe refuses data that no fit can start from; l is the number of rows of the inputs.
func observe(l int, Y, W blas.General, opt Options) (o observed, err error) {
	if W.Data != nil {
		if W, err = columns.CheckCellWeights(W, Y.Rows, Y.Cols); err != nil {
			return o, err
		}
	}
	o = observed{opt: opt, y: Y, w: W}
	o.cells = o.weighed().Count()
	switch {
	case Y.Cols == 0 || l == 0:
		return o, fault.Input("the data are empty")
	case l != Y.Rows:
		return o, fault.Input("X has %d rows and Y has %d", l, Y.Rows)
	case l < 2:
		return o, fault.Input("one row of data is not enough to learn from")
	}
	return o, columns.CheckOutputs(Y, W, &opt.Columns)
}

// weighed marks the cells of y that are observed with a positive weight.
func (o *observed) weighed() *linop.Cells {
	return linop.NewCells(o.y.Rows, o.y.Cols, func(i, j int) bool {
		return !math.IsNaN(o.y.Data[i*o.y.Stride+j]) && columns.WeightAt(o.w, i, j) > 0
	})
}

// Loss is the loss that targets are learned by.
func (o *observed) Loss() loss.Loss { return o.opt.Columns.Loss }

// Plain reports whether targets are learned by squares without weights.
func (o *observed) Plain() bool { return o.w.Data == nil && o.Loss().Kind == loss.Squared }

// weightsOf are the weights of some of the rows.
func weightsOf(W blas.General, rows []int) blas.General {
	if W.Data == nil || rows == nil {
		return W
	}
	return columns.Rows(W, rows)
}

// Size is the number of samples and of targets.
func (o *observed) Size() (l, n int) { return o.y.Rows, o.y.Cols }

// Cells is the number of target cells that are observed, and of the samples in which some are and some are missing.
func (o *observed) Cells() (count, partial int) {
	cells := o.weighed()
	for i := range o.y.Rows {
		if row := cells.Row(i); slices.Contains(row, 1) && slices.Contains(row, 0) {
			partial++
		}
	}
	return o.cells, partial
}

// missing reports whether a target cell is missing.
func (o *observed) missing() bool { return o.cells < o.y.Rows*o.y.Cols }

// Split deals the samples, or the cells of their targets, to folds.
func (o *observed) Split(p learn.Folding) (int, error) {
	var err error
	if p.Hide == learn.HideCells {
		o.splits, err = p.DealCells(o.weighed())
	} else {
		o.splits, err = p.Deal(o.y.Rows)
	}
	return len(o.splits), err
}

// targets are those of a split to train on, a row for each of Train, and those to test
// on, a row for each of Test; NaN where they are missing or not the split's.
func (o *observed) targets(s learn.Split) (train, test blas.General) {
	train, test = columns.Rows(o.y, s.Train), columns.Rows(o.y, s.Test)
	if s.Hidden == nil {
		return train, test
	}
	for i := range test.Data {
		test.Data[i] = math.NaN()
	}
	n := o.y.Cols
	for _, c := range s.Hidden {
		i, j := c/n, c%n
		a, _ := slices.BinarySearch(s.Train, i)
		b, _ := slices.BinarySearch(s.Test, i)
		test.Data[b*n+j], train.Data[a*n+j] = train.Data[a*n+j], math.NaN()
	}
	return train, test
}

// split is the samples of a fold and those to train on.
func (o *observed) split(fold int) (learn.Split, error) {
	s := o.splits[fold]
	if len(s.Train) < 2 || len(s.Test) == 0 {
		return s, fault.Input("it trains on %d samples and tests on %d: that is too few to choose settings by, so "+
			"give λ (--lambda), or more rows", len(s.Train), len(s.Test))
	}
	return s, nil
}

// Constant is the errors on a fold without kernels.
func (o *observed) Constant(fold int) (learn.Errors, error) {
	s, err := o.split(fold)
	if err != nil {
		return learn.Errors{}, err
	}
	Y, test := o.targets(s)
	out, _, _, err := columns.LearnOutputs(Y, weightsOf(o.w, s.Train), &o.opt.Columns)
	if err != nil {
		return learn.Errors{}, err
	}
	F := blas.NewGeneral(test.Rows, test.Cols)
	out.Restore(F, blas.NewGeneral(test.Rows, len(out.Live)))
	return learn.Judge(F, test, weightsOf(o.w, s.Test), out), nil
}

// planned is the number of samples that a plan is for.
func (o *observed) planned(all bool) int {
	if all {
		return o.y.Rows
	}
	l := 0
	for _, split := range o.splits {
		l = max(l, len(split.Train))
	}
	return l
}

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
	added blas.Packed // in place of grams their sum at the weights, which are not learned; else nil
	maps  rff.Maps
	sums  *stream.Sums
	F     blas.General // features of the samples, in place of sums where targets are missing
	known linop.Sum    // in place of grams, see Known; else nil

	test    blas.General // targets of the samples left out
	testW   blas.General // their weights
	predict func(ctx context.Context, dst blas.General, m *model.Model) error
}

// accumulate makes the feature maps of the dictionary and their sums over the rows of Z and Y.
func (t *training) accumulate(ctx context.Context) (err error) {
	if t.maps, err = rff.NewMaps(ctx, t.dict, t.Z, t.opt.Seed); err != nil {
		return fault.Mark(err)
	}
	if columns.Missing(t.Y) || !t.plain() {
		t.F = blas.NewGeneral(t.Z.Rows, t.maps.Dim())
		return fault.From(t.maps.Transform(t.F, t.Z))
	}
	acc := stream.New(t.maps, t.Z.Cols, t.Y.Cols, stream.Options{Backend: t.opt.Backend})
	if err := acc.Run(ctx, stream.FromMatrices("the data", t.Z, t.Y)); err != nil {
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

// Space is the learning problem over coefficients C (l×n), or over weights of features.
func (t *training) Space() bcd.Space {
	if t.known != nil {
		return bcd.NewWeighted(t.known, t.Y, t.W)
	}
	if K, Y := t.Kernels(); K != nil {
		return bcd.NewLoss(K, Y, t.W, t.opt.Columns.Loss, t.out.Offsets())
	}
	var yy float64
	for _, v := range t.sums.YY {
		yy += v
	}
	return bcd.NewFeatures(t.sums.Gamma, t.sums.H, yy, int(t.sums.Rows), t.maps.Blocks(), t.opt.Backend)
}

// plain reports whether targets are learned by squares without weights.
func (t *training) plain() bool { return t.w.Data == nil && t.opt.Columns.Loss.Kind == loss.Squared }

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
	return &u, err
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
// sums of explicit features. It is empty with Gram matrices, and where rows of features differ in which targets are
// missing in more ways than sums of each are worth, or in the weights of their cells.
func (t *training) Source() (s model.Source) {
	switch {
	case t.opt.Columns.Loss.Kind != loss.Squared: // changes of rows are for squares
	case t.maps == nil && t.in != nil:
		s.Y, s.W = blas.Clone(t.Y), t.W
	case t.sums != nil:
		var yy float64
		for _, v := range t.sums.YY {
			yy += v
		}
		s.Sums = []bcd.Pattern{{
			Observed: slices.Repeat([]bool{true}, t.Y.Cols), Rows: t.Y.Rows, Gamma: t.sums.Gamma, H: t.sums.H, YY: yy,
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
	m := &model.Model{In: t.in, Out: t.out, Names: t.names, Eta: res.Eta, L: res.L, Warnings: t.warnings}
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
	if t.in == nil {
		m.Basis = &model.Grams{CL: CL, Be: be}
	} else {
		m.Basis = model.NewSamples(t.dict, m.Eta, t.Z, CL, be)
	}
	return m
}

// Errors are those of the predictions for the samples left out.
func (t *training) Errors(ctx context.Context, res *bcd.Result) (learn.Errors, error) {
	F := blas.NewGeneral(t.test.Rows, t.test.Cols)
	if err := t.predict(ctx, F, t.Model(res)); err != nil {
		return learn.Errors{}, err
	}
	return learn.Judge(F, t.test, t.testW, t.out), nil
}

// Rows is samples with inputs.
type Rows struct {
	observed
	x   blas.General
	all *coded // all samples, once they were asked for

	parts []*coded // those of each fold to train on, once they were asked for

	sums   learn.Data // of all samples, until a training set is made of them
	sumsOf []string   // their kernels
}

// NewRows are the samples with inputs X (l×d) and targets Y (l×n) with the weights W, l×n or l×1, without Data 1.
func NewRows(X, Y, W blas.General, opt Options) (*Rows, error) {
	o, err := observe(X.Rows, Y, W, opt)
	if err == nil && X.Cols == 0 {
		err = fault.Input("X has no columns")
	}
	return &Rows{observed: o, x: X}, err
}

// Sample is the data of these samples alone.
func (r *Rows) Sample(idx []int) (learn.Data, error) { return r.Part(idx, nil) }

// Part is the data of these samples and targets alone; nil stands for all.
func (r *Rows) Part(idx, targets []int) (learn.Data, error) {
	x, y, w, opt := r.x, r.y, weightsOf(r.w, idx), r.opt.quiet()
	if idx != nil {
		x, y = columns.Rows(x, idx), columns.Rows(y, idx)
	}
	if targets != nil && w.Cols > 1 {
		w = columns.Take(w, targets)
	}
	if targets != nil {
		y = columns.Take(y, targets)
		if all := opt.Columns.OutputNames; all != nil {
			opt.Columns.OutputNames = make([]string, len(targets))
			for k, j := range targets {
				opt.Columns.OutputNames[k] = all[j]
			}
		}
	}
	return NewRows(x, y, w, opt)
}

// Table is the inputs, targets and weights of the samples.
func (r *Rows) Table() (X, Y, W blas.General) { return r.x, r.y, r.w }

// Weighed is the same samples with other weights.
func (r *Rows) Weighed(W blas.General) (*Rows, error) { return NewRows(r.x, r.y, W, r.opt) }

// ByLoss is the data for another loss.
func (r *Rows) ByLoss(l loss.Loss) (learn.Data, error) {
	opt := r.opt
	opt.Columns.Loss = l
	return NewRows(r.x, r.y, r.w, opt)
}

// Columns lists the inputs that vary.
func (r *Rows) Columns() (vary []int) {
	for j, constant := range columns.Measure(r.x).Constant {
		if !constant {
			vary = append(vary, j)
		}
	}
	return vary
}

// HeldOut predicts the samples to test on by a model of the part to train on.
func (r *Rows) HeldOut(ctx context.Context, m *model.Model, s learn.Split) (Y, F blas.General, err error) {
	F = blas.NewGeneral(len(s.Test), r.y.Cols)
	return columns.Rows(r.y, s.Test), F, m.Predict(ctx, F, columns.Rows(r.x, s.Test))
}

// coded holds some of the samples as kernels and solvers see them.
type coded struct {
	in       *columns.Inputs
	out      *columns.Outputs
	warnings []string
	Z, Y     blas.General
	raw, w   blas.General // all targets, and their weights
	*dictionary.Resolver
}

// code learns the maps of inputs and targets from the samples X, Y with the weights W, and applies them. The moments of
// the inputs are by the weights of rows.
func (r *Rows) code(X, Y, W blas.General) (c *coded, err error) {
	c = &coded{raw: Y, w: W}
	var about []string
	if c.out, c.Y, about, err = columns.LearnOutputs(Y, W, &r.opt.Columns); err != nil {
		return nil, err
	}
	rows := W
	if W.Cols != 1 {
		rows = blas.General{}
	}
	if c.in, c.warnings, err = columns.NewInputs(columns.MeasureWeighted(X, rows), &r.opt.Columns); err != nil {
		return nil, err
	}
	c.warnings = append(c.warnings, about...)
	var missing []int
	if c.Z, missing, err = c.in.Apply(X); err != nil {
		return nil, err
	}
	if w := c.in.MissingWarning(missing); w != "" {
		c.warnings = append(c.warnings, w)
	}
	opt := dictionary.Options{Groups: r.opt.Groups, Seed: r.opt.Seed, Backend: r.opt.Backend, Start: r.opt.Lengths}
	c.Resolver = dictionary.NewResolver(c.Z, columns.Filled(c.squares()), opt)
	return c, nil
}

// squares are the targets as relevance and lengths are learned from: standardised where the loss leaves them as they
// are.
func (c *coded) squares() blas.General {
	if c.out.Loss != "logistic" {
		return c.Y
	}
	Z := blas.Clone(c.Y)
	columns.MeasureWeighted(Z, c.out.Weights(c.w)).Apply(Z)
	return Z
}

// coded codes the samples of a fold to train on, once, and returns its targets to test on.
func (r *Rows) coded(fold int) (c *coded, test, testW blas.General, err error) {
	split, err := r.split(fold)
	if err != nil {
		return nil, test, testW, err
	}
	Y, test := r.targets(split)
	if c = r.parts[fold]; c == nil {
		c, err = r.code(columns.Rows(r.x, split.Train), Y, weightsOf(r.w, split.Train))
		r.parts[fold] = c
	}
	return c, test, weightsOf(r.w, split.Test), err
}

// Split deals the samples, or the cells of their targets, to folds.
func (r *Rows) Split(p learn.Folding) (int, error) {
	k, err := r.observed.Split(p)
	r.parts = make([]*coded, k)
	return k, err
}

// Follow makes learning of lengths of columns start from those that were learned on the first fold of the same or other
// samples. A λ that was chosen with these then serves: other minima of the criterion have other scales of μ.
func (r *Rows) Follow(other learn.Data) {
	if q, ok := other.(*Rows); ok {
		known := q.Lengths(0)
		if len(known) == 0 {
			known = q.opt.Lengths
		}
		if len(known) > 0 {
			r.opt.Lengths, r.all = known, nil
		}
	}
}

// Lengths are the lengths of columns that were learned from the samples that are not in the fold.
func (r *Rows) Lengths(fold int) dictionary.Lengths {
	c := r.all
	if fold != learn.All {
		c = nil
		if fold < len(r.parts) {
			c = r.parts[fold]
		}
	}
	if c == nil {
		return nil
	}
	return c.Lengths()
}

// everything codes all samples, once.
func (r *Rows) everything() (_ *coded, err error) {
	if r.all == nil {
		r.all, err = r.code(r.x, r.y, r.w)
	}
	return r.all, err
}

// Start is where learning on the kernels of the SPECs starts from.
func (r *Rows) Start(ctx context.Context, specs []string) (weights, diagonals []float64, err error) {
	c, err := r.everything()
	if err != nil {
		return nil, nil, err
	}
	d, weights, err := c.Outline(ctx, specs)
	if err != nil {
		return nil, nil, err
	}
	diagonals, err = c.Diagonals(d)
	return weights, diagonals, err
}

// Plan is the memory that a fit of the SPECs takes.
func (r *Rows) Plan(ctx context.Context, specs []string, what learn.Learned, all bool) (learn.Plan, error) {
	c, err := r.everything()
	if err != nil {
		return learn.Plan{}, err
	}
	d, _, err := c.Outline(ctx, specs)
	if err != nil {
		return learn.Plan{}, err
	}
	return r.opt.plan(d, what, r.planned(all), r.x.Cols, r.y.Cols, r.missing() || !r.Plain())
}

// Train prepares to learn from the samples that are not in the fold.
func (r *Rows) Train(ctx context.Context, specs []string, what learn.Learned, fold int) (learn.Training, error) {
	var c *coded
	t := &training{opt: &r.opt}
	if fold == learn.All {
		var err error
		if c, err = r.everything(); err != nil {
			return nil, err
		}
	} else {
		var err error
		if c, t.test, t.testW, err = r.coded(fold); err != nil {
			return nil, err
		}
		t.predict = func(ctx context.Context, dst blas.General, m *model.Model) error {
			return m.Predict(ctx, dst, columns.Rows(r.x, r.splits[fold].Test))
		}
	}
	t.in, t.warnings, t.Z = c.in, c.warnings, c.Z
	t.take(c.out, c.Y, c.raw, c.w)
	var err error
	if t.dict, t.weights, err = c.Resolve(ctx, specs); err != nil {
		return nil, err
	}
	t.names = t.dict.Names()
	if fold == learn.All {
		p, err := r.opt.plan(t.dict, what, t.Y.Rows, r.x.Cols, t.Y.Cols,
			columns.Missing(t.Y) || !t.plain())
		if err != nil {
			return nil, err
		}
		if err := r.opt.Announce(p); err != nil {
			return nil, err
		}
		if sums := r.sums; sums != nil && slices.Equal(specs, r.sumsOf) {
			r.sums = nil
			return sums.Train(ctx, specs, what, learn.All)
		}
		t.held = p.Held
	}
	if features, err := dictionary.InFeatures(t.dict, t.Y.Rows, r.opt.Exact); features || err != nil {
		if err != nil {
			return nil, err
		}
		return t, t.accumulate(ctx)
	}
	opt := kernel.GramOptions{Precision: r.opt.Precision, Backend: r.opt.Backend}
	if what.Weights() {
		t.grams, err = t.dict.Grams(ctx, t.Z, opt)
		return t, fault.From(err)
	}
	t.added, err = t.dict.WeightedGram(ctx, t.Z, t.weights, opt)
	return t, fault.From(err)
}
