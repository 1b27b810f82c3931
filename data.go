package iokl

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/choose"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/defaults"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/internal/learn/samples"
	"github.com/iokl/iokl/internal/learn/sums"
	"github.com/iokl/iokl/loss"
	"github.com/iokl/iokl/stream"
)

// Data is what a model is learned from: X or Grams beside Y or Labels, or Rows alone.
type Data struct {
	X      mat.Matrix   // inputs (l×d), a row per sample; see [Fit]
	Grams  []mat.Matrix // m Gram matrices (l×l) in the place of X; see [FitGram]
	Y      mat.Matrix   // targets (l×n)
	Labels []string     // l classes in the place of Y; see [FitClasses]
	Rows   *stream.Rows // rows that are read in blocks; see [FitStream]
}

// classes is a table with class labels. Its list of labels is not nil, which says that there are no targets.
func classes(X mat.Matrix, labels []string) Data {
	return Data{X: X, Labels: append([]string{}, labels...)}
}

// ofGrams is Gram matrices with targets. Their list is not nil, which says that there is no table.
func ofGrams(grams []mat.Matrix, Y mat.Matrix) Data {
	return Data{Grams: append([]mat.Matrix{}, grams...), Y: Y}
}

// open checks the options, and makes data to learn from. compare deals rows that are streamed to the folds in which
// settings are compared; other data are dealt by the comparison.
func (data Data) open(ctx context.Context, opt Options, compare bool) (learn.Data, checked, error) {
	alive(ctx)
	if data.Rows != nil {
		return opt.openRows(ctx, *data.Rows, compare)
	}
	var names []string
	if data.Labels != nil {
		rows, _ := dims(data.X)
		if len(data.Grams) > 0 {
			rows, _ = dims(data.Grams[0])
		}
		if len(data.Labels) != rows {
			return learn.Data{}, checked{}, fault.Input("%d rows of inputs and %d labels", rows, len(data.Labels))
		}
		data.Y, names = OneHot(seenLabels(data.Labels, opt.Weights))
		if len(names) < 2 {
			return learn.Data{}, checked{}, fault.Input("%d samples of one class: there is nothing to tell apart", rows)
		}
		if opt.OutputNames == nil {
			opt.OutputNames = names
		}
	}
	if data.Grams != nil {
		return opt.openGrams(ctx, data.Grams, data.Y)
	}
	return opt.openTable(data.X, data.Y, names)
}

// OneHot turns class labels into targets: Y_ik is 1 when sample i is of class k
// and else 0. The classes are sorted, as numbers when all of them are numbers.
func OneHot(labels []string) (Y *mat.Dense, classes []string) { return columns.OneHot(labels) }

// openTable makes data of a table, whose targets stand for classes unless these are nil.
func (opt Options) openTable(X, Y mat.Matrix, classes []string) (learn.Data, checked, error) {
	x := raw(X)
	t, c, err := opt.targets(x, raw(Y), false, classes)
	if err != nil {
		return learn.Data{}, c, err
	}
	so := c.samples()
	if rows := columns.Observed(t.y); len(rows) < t.y.Rows && x.Rows == t.y.Rows {
		l := t.y.Rows - len(t.without)
		if len(rows) < 2 {
			return learn.Data{}, c, fault.Input("targets are observed in %d of %d rows: that is not enough to learn "+
				"from", len(rows), l)
		}
		if len(rows) < l {
			so.Columns.Notes = append(so.Columns.Notes,
				fmt.Sprintf("left out %d of %d rows, of which no target is observed", l-len(rows), l))
		}
		x = blas.TakeRows(x, rows)
		t.take(rows, &c.CV)
	}
	y, w := t.y, t.w
	if c.Lambda == 0 {
		var inputs, targets []string
		if so.Columns.ScaleInputs {
			x, inputs = columns.PullIn(x, c.InputNames, "x", "input")
		}
		if so.Columns.ScaleOutputs && so.Columns.Loss.Kind == loss.Squared {
			y, targets = columns.PullIn(y, c.OutputNames, "y", "target")
		}
		so.Columns.Notes = slices.Concat(so.Columns.Notes, inputs, targets)
	}
	d, err := samples.NewRows(x, y, w, so)
	return d.Data(), c, err
}

// openGrams makes data of Gram matrices.
func (opt Options) openGrams(ctx context.Context, grams []mat.Matrix, Y mat.Matrix) (learn.Data, checked, error) {
	t, c, err := opt.targets(blas.General{}, raw(Y), true, nil)
	if err != nil {
		return learn.Data{}, c, err
	}
	c.Kernels, c.CV.Kernels = nil, nil
	Ks := raws(grams)
	if len(t.without) > 0 {
		rows := columns.Others(t.without, t.y.Rows)
		for j, K := range Ks {
			if K.Rows == t.y.Rows && K.Cols == t.y.Rows { // others are refused
				Ks[j] = columns.Take(blas.TakeRows(K, rows), rows)
			}
		}
		t.take(rows, &c.CV)
	}
	d, err := samples.NewGrams(ctx, Ks, t.y, t.w, c.samples())
	return d.Data(), c, err
}

// openRows reads rows into sums, apart for the folds in which settings are compared. The checkpoint is that of the
// sums.
func (opt Options) openRows(ctx context.Context, rows stream.Rows, compare bool) (learn.Data, checked, error) {
	folds := max(opt.IntervalFolds, 0)
	if compare {
		var err error
		if folds, err = opt.streamFolds(); err != nil {
			return learn.Data{}, checked{}, err
		}
		// For the choice on some of the rows, that on the sums, and the fit: reading takes what it takes.
		opt.Budget /= 3
		if opt.Kernels == nil && rows.Ranks == nil && opt.Checkpoint == "" {
			if err := opt.chooseFeatures(ctx, rows, folds); err != nil {
				return learn.Data{}, checked{}, err
			}
		}
	}
	c, err := opt.checkStream()
	if err != nil {
		return learn.Data{}, c, err
	}
	if len(c.Kernels) == 0 {
		c.Kernels = DefaultStreamKernels()
	}
	d, err := sums.New(ctx, rows, sums.Options{
		Env: c.env(), Columns: c.columns(), Groups: c.Groups, Kernels: c.Kernels, Folds: folds,
		FoldGroups: c.CV.Groups, Checkpoint: c.Checkpoint,
	})
	c.Checkpoint, c.ranks = "", rows.Ranks
	return d.Data(), c, err
}

// streamFolds is the number of folds in which a stream compares settings.
func (opt *Options) streamFolds() (int, error) {
	if opt.CV.Kernels != nil || opt.CV.Repeats > 1 || opt.CV.TimeOrdered {
		return 0, fault.Input("streamed data are cross-validated with one dictionary, in one set of folds, in no " +
			"order of time")
	}
	if err := fault.Choice("metric", (*string)(&opt.CV.Metric), learn.SumMetrics); err != nil {
		return 0, err
	}
	k := cmp.Or(opt.CV.Folds, max(opt.IntervalFolds, 0), defaults.StreamFolds)
	switch {
	case k < 2:
		return 0, fault.Input("%d folds: at least 2 are needed", k)
	case opt.IntervalFolds > 0 && opt.IntervalFolds != k:
		return 0, fault.Input("%d interval folds beside %d of the cross-validation: a stream keeps the sums of one "+
			"set of folds", opt.IntervalFolds, k)
	}
	return k, nil
}

// DefaultStreamKernels is the dictionary of a streamed fit that names no kernels where
// they are not chosen: with a given λ, a checkpoint, or ranks.
func DefaultStreamKernels() []string {
	return []string{"rff:gaussian:all:median*0.25,0.5,1,2:500", "linear:all"}
}

// chooseFeatures chooses the kernels, and all but λ, on some of the rows. It makes the options those for all of them,
// with features of these kernels and values of λ to try.
func (opt *Options) chooseFeatures(ctx context.Context, rows stream.Rows, folds int) error {
	own, err := opt.checkStream()
	if err != nil {
		return err
	}
	s, l, err := sums.Draw(ctx, &rows, choose.MostSamples, own.Seed)
	if err != nil {
		return err
	}
	known := columns.Observed(s.Targets)
	var w blas.General
	if s.Weights != nil {
		known = slices.DeleteFunc(known, func(i int) bool { return s.Weights[i] == 0 })
		w = blas.TakeRows(blas.Vector(s.Weights), known)
	}
	part, err := samples.NewRows(blas.TakeRows(s.Sample, known), blas.TakeRows(s.Targets, known), w, own.samples())
	if err != nil {
		return err
	}
	own.CV.Groups = nil // of all rows
	own.CV = own.CV.ForFit(s.Sample.Rows)
	env := own.env()
	env.Say("choosing kernels on %d of %d samples", s.Sample.Rows, l)
	r, err := own.crossValidate(ctx, part.Data(), false)
	if err != nil {
		return err
	}
	p := r.Chosen()
	if opt.Kernels, err = part.Features(ctx, p.Kernels, int(l), folds*len(stream.Patterns(s.Targets)),
		time.Duration(opt.Budget)); err != nil {
		return err
	}
	if opt.Groups, err = part.Groups(ctx, p.Kernels); err != nil {
		return err
	}
	opt.Learn, opt.Tau, opt.CV.Norms = p.Learn, p.Tau, nil
	if opt.Regularizer == nil {
		opt.Norm = p.Norm
	}
	if opt.CV.Lambdas == nil {
		opt.CV.Lambdas = choose.LambdasAround(p.Lambda, float64(l)/float64(s.Sample.Rows))
	}
	return nil
}
