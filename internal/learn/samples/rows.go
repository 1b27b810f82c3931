// Samples given by rows of inputs, and sums of explicit features over them.

package samples

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/dictionary"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/internal/learn/model"
	"github.com/iokl/iokl/internal/learn/sums"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/loss"
	"github.com/iokl/iokl/stream"
)

// Rows is samples with inputs.
type Rows struct {
	observed
	x      blas.General
	pseudo blas.General // targets of what is learned by squares, see Winsorize; without Data the targets
	all    *coded       // all samples, once they were asked for

	mu       sync.Mutex
	parts    []*coded             // those of each fold to train on, once they were asked for
	followed []fold               // of the same samples, see Follow
	known    []dictionary.Lengths // that these samples, or parts of them, have taught before

	sums   *sums.Data // of all samples, until a training set is made of them
	sumsOf []string   // their kernels
}

// NewRows are the samples with inputs X (l×d) and targets Y (l×n) with the weights W, l×n or l×1, without Data 1.
func NewRows(X, Y, W blas.General, opt Options) (*Rows, error) {
	return newRows(X, Y, W, blas.General{}, opt)
}

// newRows is NewRows with pseudo-observations.
func newRows(X, Y, W, pseudo blas.General, opt Options) (*Rows, error) {
	if opt.Content == nil {
		opt.Content = learn.ContentOf(X, Y)
	}
	o, err := observe(X.Rows, Y, W, opt)
	if err == nil && X.Cols == 0 {
		err = fault.Input("X has no columns")
	}
	return &Rows{observed: o, x: X, pseudo: pseudo}, err
}

// Sample is the data of these samples alone.
func (r *Rows) Sample(idx []int) (learn.Data, error) { return r.Part(idx, nil) }

// Few is Sample with the lengths of columns that all samples, or else others before them, have taught.
func (r *Rows) Few(idx []int) (learn.Data, error) {
	few, err := r.part(idx, nil)
	if err != nil {
		return learn.Data{}, err
	}
	if r.all != nil && len(r.all.Lengths()) > 0 {
		few.opt.Lengths = r.all.Lengths()
	}
	few.known = []dictionary.Lengths{few.opt.Lengths}
	return few.Data(), nil
}

// Part is the data of these samples and targets alone; nil stands for all.
func (r *Rows) Part(idx, targets []int) (learn.Data, error) { return data(r.part(idx, targets)) }

func (r *Rows) part(idx, targets []int) (*Rows, error) {
	x, y, w, z := rowsOf(r.x, idx), rowsOf(r.y, idx), rowsOf(r.w, idx), rowsOf(r.pseudo, idx)
	opt := r.opt.part(idx)
	var known []dictionary.Lengths
	for _, f := range r.followed {
		if targets == nil && slices.Equal(idx, f.rows) {
			known, opt.Lengths = []dictionary.Lengths{f.lengths}, f.lengths
		}
	}
	if targets != nil && w.Cols > 1 {
		w = columns.Take(w, targets)
	}
	if opt.Columns.Axis = opt.Columns.Axis.Part(targets); targets != nil {
		if y = columns.Take(y, targets); z.Data != nil {
			z = columns.Take(z, targets)
		}
		opt.Columns.OutputNames = columns.Pick(opt.Columns.OutputNames, targets)
	}
	part, err := newRows(x, y, w, z, opt)
	part.known = known
	return part, err
}

// Data are the rows as data to learn from.
func (r *Rows) Data() learn.Data { return learn.Data{Learnable: r, Comparable: r, Parts: r, Table: r} }

// data is r.Data where there is no error.
func data(r *Rows, err error) (learn.Data, error) {
	if err != nil {
		return learn.Data{}, err
	}
	return r.Data(), nil
}

// Matrices are the inputs, targets and weights of the samples.
func (r *Rows) Matrices() (X, Y, W blas.General) { return r.x, r.y, r.w }

// Weighed is the same samples with other weights.
func (r *Rows) Weighed(W blas.General) (learn.Data, error) {
	return data(newRows(r.x, r.y, W, r.pseudo, r.opt))
}

// ByLoss is the data for another loss.
func (r *Rows) ByLoss(l loss.Loss) (learn.Data, error) {
	opt := r.opt
	if opt.Columns.Loss = l; l.Kind == loss.Squared && r.pseudo.Data != nil {
		return data(NewRows(r.x, r.pseudo, r.w, opt))
	}
	return data(newRows(r.x, r.y, r.w, r.pseudo, opt))
}

// HeldOut predicts the samples to test on by a model of the part to train on.
func (r *Rows) HeldOut(ctx context.Context, m *model.Model, s learn.Split) (model.Fold, error) {
	f := r.heldOut(m, s)
	return f, m.Predict(ctx, f.F, blas.TakeRows(r.x, s.Test))
}

// coded holds some of the samples as kernels and solvers see them.
type coded struct {
	in       *columns.Inputs
	out      *columns.Outputs
	warnings []string
	Z, Y     blas.General
	raw, w   blas.General // all targets, and their weights
	pseudo   blas.General // see [Rows]
	*dictionary.Resolver
}

// code learns the maps of inputs and targets from the samples X, Y with the weights W and the pseudo-observations, and
// applies them. The moments of the inputs are by the weights of rows. known are the lengths that the samples taught
// before.
func (r *Rows) code(
	X, Y, W, pseudo blas.General, start dictionary.Start, known []dictionary.Lengths,
) (c *coded, err error) {
	c = &coded{raw: Y, w: W, pseudo: pseudo}
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
	opt := dictionary.Options{
		Groups: r.opt.Groups, Seed: r.opt.Seed, Backend: r.opt.Backend, Start: start, Known: known,
	}
	c.Resolver = dictionary.NewResolver(c.Z, columns.Filled(c.squares(), c.out.Weights(c.w)), opt)
	return c, nil
}

// squares are the targets as relevance and lengths are learned from: pseudo-observations where there are such, and
// standardised where the loss leaves targets as they are.
func (c *coded) squares() blas.General {
	Z := c.Y
	switch {
	case c.pseudo.Data != nil:
		Z = columns.Take(c.pseudo, c.out.Live)
		for i, y := range c.Y.Data {
			if math.IsNaN(y) { // hidden
				Z.Data[i] = y
			}
		}
	case c.out.Loss == "logistic":
		Z = blas.Clone(c.Y)
	default:
		return Z
	}
	columns.MeasureWeighted(Z, c.out.Weights(c.w)).Apply(Z)
	return Z
}

// coded codes the samples of a fold to train on, once, and returns its split and its targets to test on.
func (r *Rows) coded(fold int) (c *coded, split learn.Split, test blas.General, err error) {
	if split, err = r.split(fold); err != nil {
		return nil, split, test, err
	}
	Y, test := r.targets(split)
	r.mu.Lock()
	defer r.mu.Unlock()
	if c = r.parts[fold]; c == nil {
		c, err = r.code(blas.TakeRows(r.x, split.Train), Y, rowsOf(r.w, split.Train),
			rowsOf(r.pseudo, split.Train), r.startOf(fold), nil)
		r.parts[fold] = c
	}
	return c, split, test, err
}

// startOf is what learning of lengths without the fold starts from: what the first fold has learned, for all others.
func (r *Rows) startOf(fold int) dictionary.Start {
	if fold == 0 {
		return r.opt.Lengths.Of
	}
	return func(ctx context.Context, s kernel.Spec) (p dictionary.Point, known bool) {
		if first, _, _, err := r.coded(0); err == nil {
			return first.Of(ctx, s)
		}
		return r.opt.Lengths.Of(ctx, s)
	}
}

// Teach learns what the SPEC says of columns from the samples of a fold to train on, once.
func (r *Rows) Teach(ctx context.Context, spec string, fold int) error {
	c, _, _, err := r.coded(fold)
	if err == nil {
		err = c.Learn(ctx, []string{spec})
	}
	return err
}

// Split deals the samples, or the cells of their targets, to folds.
func (r *Rows) Split(p learn.Folding) (int, error) {
	k, err := r.observed.Split(p)
	r.parts = make([]*coded, k)
	return k, err
}

// Follow makes learning of lengths of columns start from those that were learned on the first fold of the same or other
// samples. All samples take the mean of those of the folds, where it is likelier than each, and a Part of the rows of a
// fold of the same samples those that were learned on these. A λ that was chosen with these then serves: other minima
// of the criterion have other scales of μ.
func (r *Rows) Follow(other learn.Table) {
	q, ok := other.(*Rows)
	if !ok {
		return
	}
	known := q.opt.Lengths
	if len(q.parts) > 0 && q.parts[0] != nil && len(q.parts[0].Lengths()) > 0 {
		known = q.parts[0].Lengths()
	}
	if len(known) == 0 {
		return
	}
	r.opt.Lengths, r.all, r.followed, r.known = known, nil, nil, nil
	for k, c := range q.parts {
		split, err := q.split(k)
		if err != nil || c == nil {
			continue
		}
		r.known = append(r.known, c.Lengths())
		if q.y.Rows == r.y.Rows {
			r.followed = append(r.followed, fold{split.Train, c.Lengths()})
		}
	}
}

// fold is the rows that lengths were learned on.
type fold struct {
	rows    []int
	lengths dictionary.Lengths
}

// everything codes all samples, once.
func (r *Rows) everything() (_ *coded, err error) {
	if r.all == nil {
		r.all, err = r.code(r.x, r.y, r.w, r.pseudo, r.opt.Lengths.Of, r.known)
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
	return r.opt.plan(d, what, r.planned(all), r.x.Cols, r.y.Cols, keepsRows(r.y, r.w, r.Loss()))
}

// Train prepares to learn from the samples that are not in the fold.
func (r *Rows) Train(ctx context.Context, specs []string, what learn.Learned, fold int) (learn.Training, error) {
	var (
		c   *coded
		err error
		t   = &training{opt: &r.opt}
	)
	if fold == learn.All {
		c, err = r.everything()
	} else {
		c, t.split, t.test, err = r.coded(fold)
		t.from, t.testW = r, rowsOf(r.w, t.split.Test)
	}
	if err != nil {
		return learn.Training{}, err
	}
	t.in, t.warnings, t.Z = c.in, c.warnings, c.Z
	t.take(c.out, c.Y, c.raw, c.w)
	if t.dict, t.weights, err = c.Resolve(ctx, specs); err != nil {
		return learn.Training{}, err
	}
	t.names = t.dict.Names()
	if fold == learn.All {
		p, err := r.opt.plan(t.dict, what, t.Y.Rows, r.x.Cols, t.Y.Cols, keepsRows(t.Y, t.w, r.Loss()))
		if err == nil {
			err = r.opt.Announce(p)
		}
		if err != nil {
			return learn.Training{}, err
		}
		if sums := r.sums; sums != nil && slices.Equal(specs, r.sumsOf) {
			r.sums = nil
			return sums.Train(ctx, specs, what, learn.All)
		}
		t.held = p.Held
	}
	if features, err := dictionary.InFeatures(t.dict, t.Y.Rows, r.opt.Exact); err != nil {
		return learn.Training{}, err
	} else if features {
		return t.Training(), t.accumulate(ctx)
	}
	opt := kernel.GramOptions{Precision: r.opt.Precision, Backend: r.opt.Backend}
	switch {
	case what.Weights() && r.opt.recomputes(len(t.dict), t.Y.Rows, r.x.Cols, t.Y.Cols):
		t.again, err = t.dict.Sum(ctx, t.Z, opt)
		return t.Training(), fault.From(err)
	case what.Weights():
		t.grams, err = t.dict.Grams(ctx, t.Z, opt)
		return t.Training(), fault.From(err)
	}
	t.added, err = t.dict.WeightedGram(ctx, t.Z, t.weights, opt)
	return t.Training(), fault.From(err)
}

// Sums are the sums of the features of SPECs over the samples of which all targets are known, apart for each fold, or
// the data themselves where those are less than half, or where cells have weights or another loss. Scales, widths and
// landmarks are those of all samples. Where all targets are known, the next training set of all samples with these
// SPECs is that of the sums.
func (r *Rows) Sums(ctx context.Context, specs []string, f learn.Folding) (learn.Data, error) {
	c, err := r.everything()
	if err != nil {
		return learn.Data{}, err
	}
	var known []int
	for i := range r.y.Rows {
		if !slices.ContainsFunc(blas.Row(r.y, i), math.IsNaN) {
			known = append(known, i)
		}
	}
	if 2*len(known) < r.y.Rows || r.w.Cols > 1 || r.Loss().Kind != loss.Squared {
		return r.Data(), nil
	}
	all := &sums.Survey{In: c.in, Sample: c.Z, Warnings: c.warnings, Drawn: new(stream.Survey)}
	if all.Dict, all.Weights, err = c.Resolve(ctx, specs); err != nil {
		return learn.Data{}, err
	}
	if c.out.Scaler != nil {
		near := *c.out.Scaler
		near.Constant = make([]bool, len(near.Mean))
		all.Out = &near
	}
	var some []int // all
	if len(known) < r.y.Rows {
		some = known
	}
	X, Y, W := rowsOf(columns.Filled(r.x, r.w), some), rowsOf(r.y, some), rowsOf(r.w, some)
	all.Drawn.Rows, all.Drawn.Read = int64(len(known)), int64(len(known))
	places := rand.New(rand.NewPCG(r.opt.Seed, uint64(len(known)))).Perm(len(known))
	places = places[:min(len(places), learn.DrawnRows)]
	for _, i := range places {
		all.Drawn.At = append(all.Drawn.At, stream.Place{Count: int64(i)})
	}
	all.Drawn.Sample, all.Drawn.Targets = blas.TakeRows(X, places), blas.TakeRows(Y, places)
	if W.Data != nil {
		all.Drawn.Weights = blas.TakeRows(W, places).Data
	}
	opt := sums.Options{Env: r.opt.Env, Columns: r.opt.Columns, Survey: all, Folds: f.Folds}
	opt.FoldGroups = columns.Pick(f.Groups, known)
	if len(X.Data) > 0 && &X.Data[0] != &r.x.Data[0] { // a copy, where cells or rows are missing or have weight 0
		opt.MaxBytes = max(1, opt.Limit()-8*int64(len(X.Data)+len(Y.Data)))
	}
	rows := stream.Rows{
		Inputs: r.x.Cols, Outputs: r.y.Cols, Name: "the data", Count: int64(len(known)),
		Open: func() (stream.Source, error) { return stream.FromMatrices("the data", X, Y, W.Data...), nil },
	}
	d, err := sums.New(ctx, rows, opt)
	if err != nil {
		return learn.Data{}, err
	}
	if len(known) == r.y.Rows {
		r.sums, r.sumsOf = d, specs
	}
	return d.Data(), nil
}
