// Package sums makes learn.Data of data that are read in blocks of rows. One pass
// adds up products of the features of the kernels, separately for each fold.
package sums

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/internal/files/atomicfile"
	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/defaults"
	"github.com/iokl/iokl/internal/learn/dictionary"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/internal/learn/model"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/loss"
	"github.com/iokl/iokl/rff"
	"github.com/iokl/iokl/stream"
)

// open starts to hand out the rows anew.
func open(rows *stream.Rows) (stream.Source, error) {
	if rows.Open == nil {
		return nil, fault.Input("the rows have no Open to read them by")
	}
	return rows.Open()
}

// Options of data.
type Options struct {
	learn.Env
	Columns    columns.Options
	Groups     []kernel.Group // that SPECs may refer to
	Kernels    []string       // SPECs, all with explicit features
	Folds      int            // to keep apart; 0 means none
	FoldGroups []int          // a number for each row: rows of a number are in one fold

	Survey     *Survey // nil: the rows are read for it
	Checkpoint string  // file that keeps the sums; "" means none
}

// Survey is what is known of the rows before they are read.
type Survey struct {
	In *columns.Inputs
	// by which targets are brought near mean 0, scale 1 before they are summed; nil leaves them as they are
	Out      *columns.Scaler
	Dict     kernel.Dictionary
	Weights  []float64      // of the kernels where they are not learned
	Sample   blas.General   // inputs as the kernels see them, which landmarks are taken from
	Drawn    *stream.Survey // has random rows, where the rows were not surveyed here
	Warnings []string
}

// Data holds the sums of one pass over the rows.
type Data struct {
	rows   stream.Rows
	opt    Options
	survey *stream.Survey
	Survey
	maps rff.Maps
	so   stream.Options
	sums []stream.Sums // of the patterns of missing targets in the folds, as package stream has them
}

// New surveys the rows, makes the feature maps and reads the rows into sums.
func New(ctx context.Context, rows stream.Rows, opt Options) (*Data, error) {
	d := &Data{rows: rows, opt: opt}
	if rows.Inputs < 1 || rows.Outputs < 1 {
		return nil, fault.Input("the data are empty")
	}
	if opt.Checkpoint != "" {
		unlock, err := atomicfile.TryLock(d.checkpoint())
		if err != nil {
			return nil, err
		}
		defer unlock()
	}
	saved, err := d.resume()
	if err != nil {
		return nil, err
	}
	if saved != nil {
		defer saved.Close()
	}
	if err := d.prepare(ctx); err != nil {
		return nil, err
	}
	return d, d.accumulate(ctx, saved)
}

// prepare surveys the data, unless a checkpoint has told of them, and makes the feature maps.
func (d *Data) prepare(ctx context.Context) (err error) {
	if s := d.opt.Survey; s != nil {
		d.survey, d.Survey = s.Drawn, *s
		return d.plan(ctx)
	}
	if d.survey == nil {
		var bad error
		if d.survey, bad, err = survey(ctx, &d.rows, defaults.SurveySamples, d.opt.Seed); err != nil {
			return err
		}
		// A row that cannot be read will end the pass too; with a checkpoint, its rows
		// before that one are worth taking once they say enough about the data.
		if bad != nil && (d.opt.Checkpoint == "" || d.survey.Rows < defaults.SurveySamples) {
			return bad
		}
	}
	switch {
	case d.survey.Rows == 0 && d.survey.Read > 0:
		return fault.Input("all weights are 0 in the %d rows surveyed: there is nothing to learn from", d.survey.Read)
	case d.survey.Rows < 2:
		return fault.Input("%d rows of data are not enough to learn from", d.survey.Rows)
	}
	inputs, err := scaler(d.survey.X, "inputs")
	if err != nil {
		return err
	}
	if d.In, d.Warnings, err = columns.NewInputs(inputs, &d.opt.Columns); err != nil {
		return err
	}
	if d.opt.Columns.ScaleOutputs {
		if d.Out, err = scaler(d.survey.Y, "targets"); err != nil {
			return err
		}
		clear(d.Out.Constant) // what is constant in the survey may vary after it
	}
	d.Sample, _ = applied(d.In.Scaler, d.survey.Sample, blas.General{})
	T, _ := applied(d.Out, d.survey.Targets, blas.General{})
	w := blas.Vector(d.survey.Weights)
	r := dictionary.NewResolver(d.Sample, columns.Filled(T, w), dictionary.Options{
		Groups: d.opt.Groups, Seed: d.opt.Seed, Backend: d.opt.Backend,
	})
	if d.Dict, d.Weights, err = r.Resolve(ctx, d.opt.Kernels); err != nil {
		return err
	}
	if k := dictionary.NeedsSamples(d.Dict); k != nil {
		return fault.Input("kernel %s needs all samples at once: for data that are streamed write it with rff: or "+
			"nystrom:", k.Name)
	}
	return d.plan(ctx)
}

// scaler is that of columns with these moments; what names them in errors.
func scaler(m stream.Moments, what string) (*columns.Scaler, error) {
	s := &columns.Scaler{Mean: m.Mean, Scale: make([]float64, len(m.Mean)), Constant: make([]bool, len(m.Mean))}
	for j, d := range m.Deviation {
		if math.IsInf(d, 0) || math.IsNaN(d) {
			return nil, fault.Input("column %d of the %s is too large to sum its squares: rescale it", j+1, what)
		}
		s.Scale[j], s.Constant[j] = d, d == 0
		if s.Constant[j] {
			s.Scale[j] = 1
		}
	}
	return s, nil
}

// plan makes the feature maps from the sample, and decides on folds and on whether Γ is stored.
func (d *Data) plan(ctx context.Context) (err error) {
	if d.maps, err = rff.NewMaps(ctx, d.Dict, d.Sample, d.opt.Seed, d.opt.Backend); err != nil {
		return fault.Mark(err)
	}
	d.Sample = blas.General{} // its memory is not kept
	D, n := d.maps.Dim(), d.rows.Outputs
	if D == 0 {
		return fault.Input("the kernels have no features")
	}
	if err := d.checkMissing(); err != nil {
		return err
	}
	d.so = stream.Options{Seed: d.opt.Seed, Backend: d.opt.Backend, CheckpointRows: cmp.Or(d.rows.CheckpointRows,
		defaults.RowsPerFeature*int64(D)), Folds: d.opt.Folds, Patterns: d.survey.Patterns}
	if err := d.dealGroups(); err != nil {
		return err
	}
	rows := d.rows.Count
	if rows < 1 && d.rows.SurveyRows == 0 {
		rows = d.survey.Rows
	}
	if rows < 1 {
		rows = -1
	}
	var note string
	limit := int64(max(float64(d.opt.Limit())-FeatureBytes(D, n)-d.patternBytes(D, n), 0))
	need := stream.Bytes(D, d.rows.Inputs, n, d.so)
	d.so, note = stream.Plan(D, d.rows.Inputs, n, rows, limit, d.so)
	if P := len(d.so.Patterns); note != "" && (d.opt.Folds > 0 || P > 0) {
		return fault.Mark(&memory.Error{
			What: fmt.Sprintf("the sums of %d features, apart for each of %d folds and %d patterns of missing targets",
				D, max(d.opt.Folds, 1), P),
			Bytes: need, Limit: limit, Instead: "give λ and no interval folds, or use fewer features or folds",
		})
	}
	if note != "" {
		d.opt.Say("%s", note)
	}
	return nil
}

// checkMissing refuses missing targets where they are not wanted, or are missing in so many ways
// that sums of each take the place of the rows for nothing.
func (d *Data) checkMissing() error {
	P := len(d.survey.Patterns)
	switch {
	case P == 0:
		return nil
	case d.opt.Columns.StrictOutputs:
		return fault.Input("targets are missing in the rows")
	case P > stream.MaxPatterns:
		return fault.Input("rows differ in which targets are missing in more than %d ways, too many for sums of "+
			"each: fit without --stream, which takes the rows of features into memory, or stream fewer targets at a "+
			"time", stream.MaxPatterns)
	}
	return nil
}

// patternBytes is the memory of the rows that stand for those of each pattern, and of the sums that they are made of.
func (d *Data) patternBytes(D, n int) float64 {
	P := float64(len(d.survey.Patterns))
	return 8 * P * float64(D) * float64(4*D+12*n)
}

// FeatureBytes is the memory of one fit with D features: Γ as accumulated and
// as packed, and D×n blocks.
func FeatureBytes(D, n int) float64 {
	return 8 * (2*float64(D)*float64(D) + 12*float64(D)*float64(n) + 1024*float64(D))
}

// dealGroups deals groups of rows to the folds, the largest first.
func (d *Data) dealGroups() error {
	groups := d.opt.FoldGroups
	if groups == nil || d.opt.Folds == 0 {
		return nil
	}
	if l := int64(len(groups)); d.rows.SurveyRows == 0 && l != d.survey.Read {
		return fault.Input("%d group numbers for %d samples", l, d.survey.Read)
	}
	splits, err := learn.Folding{Folds: d.opt.Folds, Groups: groups, Seed: d.opt.Seed}.Deal(len(groups))
	if err != nil {
		return err
	}
	foldOf := make([]int, len(groups))
	for f, s := range splits {
		for _, i := range s.Test {
			foldOf[i] = f
		}
	}
	d.so.Fold = func(_ string, row int64) int {
		if row >= int64(len(foldOf)) {
			return -1 // refused with the number of the row
		}
		return foldOf[row]
	}
	return nil
}

// rowError makes an ErrInput of an error in a row.
func rowError(err error) error {
	if errors.Is(err, stream.ErrRow) {
		return fault.Mark(err)
	}
	return fault.From(err)
}

// Loss is the squared one, of which sums tell the minimum.
func (d *Data) Loss() loss.Loss { return loss.Loss{} }

// Plain reports that targets are learned by squares.
func (d *Data) Plain() bool { return true }

// Data are the sums as data to learn from, whose folds are dealt by the first pass.
func (d *Data) Data() learn.Data { return learn.Data{Learnable: d, Comparable: d, Folded: d} }

// Size is the number of samples with an observed target, and of targets.
func (d *Data) Size() (l, n int) {
	l, _ = rows(d.sums)
	return l, d.rows.Outputs
}

// patterns is the number of sums for each fold.
func (d *Data) patterns() int { return max(len(d.so.Patterns), 1) }

// Cells is the number of target cells that are observed, and of the samples in which some are and some are missing.
func (d *Data) Cells() (cells, partial int) {
	for k := range d.sums {
		has := observed(&d.sums[k])
		cells += int(d.sums[k].Rows) * has
		if 0 < has && has < d.rows.Outputs {
			partial += int(d.sums[k].Rows)
		}
	}
	return cells, partial
}

// observed is the number of targets that rows of the sums have.
func observed(s *stream.Sums) (count int) {
	for j := range s.Center {
		if s.Has(j) {
			count++
		}
	}
	return count
}

// total adds up the sums of each pattern over the folds that skip does not report, for all patterns with an
// observed target.
func (d *Data) total(sums []stream.Sums, skip func(fold int) bool) (parts []stream.Sums) {
	P := d.patterns()
	for p := range P {
		if observed(&sums[p]) > 0 {
			parts = append(parts, stream.Total(sums, func(k int) bool { return k%P != p || skip != nil && skip(k/P) }))
		}
	}
	return parts
}

// fold is the sums of each pattern in a fold.
func (d *Data) fold(sums []stream.Sums, fold int) []stream.Sums {
	P := d.patterns()
	return sums[fold*P : (fold+1)*P]
}

// Split returns the number of folds to which the rows were dealt as they came.
func (d *Data) Split(p learn.Folding) (int, error) {
	if p.Hide == learn.HideCells {
		return 0, fault.Input("folds of data that are streamed hide rows, not cells")
	}
	return len(d.sums) / d.patterns(), nil
}

// Plan is nothing beyond what the sums take.
func (d *Data) Plan(context.Context, []string, learn.Learned, bool) (learn.Plan, error) {
	return learn.Plan{}, nil
}

// Start is where learning starts from.
func (d *Data) Start(context.Context, []string) (weights, diagonals []float64, err error) {
	l, _ := d.Size()
	diagonals = make([]float64, len(d.maps))
	at := 0
	for j, m := range d.maps {
		for k := range d.sums {
			G := d.sums[k].Gamma
			for i := at; i < min(at+m.Dim(), G.Rows); i++ {
				diagonals[j] += G.Data[i*G.Stride+i] / float64(max(l, 1))
			}
		}
		at += m.Dim()
	}
	return d.Weights, diagonals, nil
}

// Train makes a training set of the rows that are not in the fold. With all rows it
// releases the sums of the folds, and can be called once.
func (d *Data) Train(ctx context.Context, _ []string, _ learn.Learned, fold int) (learn.Training, error) {
	t := &training{data: d}
	switch {
	case fold != learn.All:
		t.test = d.fold(d.sums, fold)
		t.parts = d.total(d.sums, func(k int) bool { return k == fold })
		l, weight := rows(t.parts)
		test, testWeight := rows(t.test)
		if l < 2 || test == 0 || weight == 0 || testWeight == 0 {
			return learn.Training{}, fault.Input("it trains on %d rows and tests on %d: that is too few to choose "+
				"settings by, so give λ (--lambda), or more rows", l, test)
		}
	case len(d.sums) == d.patterns(): // nothing to add up
		t.parts, d.sums = slices.DeleteFunc(d.sums, func(s stream.Sums) bool { return observed(&s) == 0 }), nil
	default:
		t.parts, d.sums = d.total(d.sums, nil), nil
	}
	l, _ := rows(t.parts)
	if l < 2 {
		return learn.Training{}, fault.Input("%d rows of data are not enough to learn from", l)
	}
	if err := t.outputs(); err != nil {
		return learn.Training{}, err
	}
	blocks := d.maps.Blocks()
	if d.so.Patterns != nil {
		var err error
		t.space, t.F, err = bcd.NewPatterns(t.patterns(), blocks, d.opt.Backend)
		return learn.Training{Set: t, Drawn: t.drawn}, fault.From(err)
	}
	p := t.patterns()[0]
	if !d.so.NoGamma {
		t.space = bcd.NewFeatures(p.Gamma, p.H, p.YY, l, blocks, d.opt.Backend)
		return learn.Training{Set: t, Drawn: t.drawn}, nil
	}
	gram := stream.NewGram(d.maps, func() (stream.Source, error) { return d.open(ctx.Err) }, d.so, d.rows.Ranks)
	t.space = bcd.NewFeaturesOperator(gram, p.H, p.YY, l, blocks)
	return learn.Training{Set: t, Drawn: t.drawn, Unread: func() error { return rowError(gram.Err()) }}, nil
}

// HeldOut is the surveyed rows of the fold, their targets, and what m predicts for them.
func (d *Data) HeldOut(ctx context.Context, m *model.Model, fold int) (f model.Fold, err error) {
	s := d.survey
	if len(s.At) != s.Sample.Rows {
		return f, fault.Input("the checkpoint is of an older version, which kept no targets of the rows " +
			"surveyed: without it there can be interval folds")
	}
	var of []int // the sample
	for i, at := range s.At {
		if d.so.FoldOf(at.Source, at.Row) == fold {
			of, f.Rows = append(of, i), append(f.Rows, int(at.Count))
		}
	}
	if of == nil {
		return f, fault.Input("none of the %d rows surveyed is in it", s.Sample.Rows)
	}
	slices.SortFunc(of, func(a, b int) int { return cmp.Compare(s.At[a].Count, s.At[b].Count) })
	slices.Sort(f.Rows)
	f.Model, f.Y, f.F = m, blas.TakeRows(s.Targets, of), blas.NewGeneral(len(of), s.Targets.Cols)
	if s.Weights != nil {
		f.W = blas.TakeRows(blas.Vector(s.Weights), of)
	}
	return f, m.Predict(ctx, f.F, blas.TakeRows(s.Sample, of))
}

// Constant is the errors on the fold without features.
func (d *Data) Constant(fold int) (learn.Errors, error) {
	targets := slices.Clone(d.sums)
	for k := range targets {
		targets[k].Gamma = blas.General{}
	}
	t := &training{data: d, test: d.fold(targets, fold), parts: d.total(targets, func(k int) bool { return k == fold })}
	if err := t.outputs(); err != nil {
		return learn.Errors{}, err
	}
	return t.errors(blas.General{}), nil
}
