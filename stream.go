// This file fits models to rows that are read in blocks, from sums over them.

package iokl

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/choose"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/defaults"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/internal/learn/samples"
	"github.com/iokl/iokl/internal/learn/sums"
	"github.com/iokl/iokl/stream"
)

// Rows is data of any length that are read in blocks of rows.
type Rows = sums.Rows

// Ranks are the processes of a parallel job, each of which calls [FitStream] with
// the same data and options.
type Ranks = stream.Ranks

// StreamOptions of [FitStream].
type StreamOptions struct {
	Options
	// SurveyRows is the number of leading rows that scales, median distances and
	// landmarks are taken from; 0 means all rows, read once more for it.
	SurveyRows int64
	// CheckpointRows is the number of rows between two writes of the file
	// Checkpoint, which keeps the sums when a pass ends early, and at its end; a
	// pass goes on from where the file's ended. Beside it, ranks write files of
	// their own. 0 means 100 for each feature.
	CheckpointRows int64
	// Ranks share the rows of a parallel job; nil means this process alone.
	Ranks Ranks
	// Progress sees every block of rows, and whether it is read for the survey; an error from it ends the fit.
	Progress func(survey bool, p stream.Progress) error `json:"-"`
}

// DefaultStreamKernels is the dictionary of a streamed fit that names no kernels where
// they are not chosen: with a given λ, a checkpoint, or ranks.
func DefaultStreamKernels() []string {
	return []string{"rff:gaussian:all:median*0.25,0.5,1,2:500", "linear:all"}
}

// FitStream is [Fit] for data larger than memory, with kernels that have explicit
// features: rff:…, nystrom:…, linear, poly, cosine. One pass over the rows adds up
//
//	Γ = ZᵀZ (D×D),  H = ZᵀY (D×n),  ‖Y‖²,
//
// after which nothing depends on the number of rows. Where λ is not given it is
// chosen from sums kept apart for each of opt.CV.Folds folds (5 unless said) of
// the same pass. Where D² numbers do not fit into the memory limit, every
// multiply by Γ reads the rows again; λ must then be given.
//
// Without kernels too, they are chosen as by Fit on at most 1500 rows, which takes one
// more reading of all, and made features, as many as pay and fit into memory.
//
// With opt.IntervalFolds the sums are kept apart for so many folds, without each of which
// the setting is fitted once more. Residuals are those of the surveyed rows, of which there are at most 4096.
//
// Rows have the weights of their blocks, [stream.Block].Weights, with which they are learned from and held out as by
// Options.Weights in Fit. Weights of cells, noise and other losses are for data in memory.
//
// Inputs are scaled, and widths and landmarks chosen, by a survey of the rows
// beforehand; targets are centred and scaled by the sums themselves. With as many
// rows as the survey samples (4096), or fewer, kernels are those of Fit. NaN is a missing
// target where rows differ in which targets are missing in at most [stream.MaxPatterns] ways, whose
// sums are kept apart: D² numbers for each. Missing inputs are an error. Results and errors are as
// for Fit; an error in a row, which
// wraps [stream.ErrRow] or is the source's own, leaves the sums of the rows before
// it in the checkpoint.
func FitStream(ctx context.Context, data Rows, opt StreamOptions) (*Model, error) {
	alive(ctx)
	if opt.Open() {
		r, err := CrossValidateStream(ctx, data, opt)
		if r == nil || err != nil && ctx.Err() == nil {
			return nil, err
		}
		return r.Fit(ctx)
	}
	d, c, err := sumsOf(ctx, data, opt, max(opt.IntervalFolds, 0))
	if err != nil {
		return nil, err
	}
	in, cancel := c.within(ctx)
	defer cancel()
	return c.timely(ctx, in, d)
}

// CrossValidateStream is [CrossValidate] for data that are streamed as for
// [FitStream], whose sums are kept apart for each fold: all values of λ, τ and the
// norm, and every fold, come from one pass. A row's fold depends on its number and
// the seed; with opt.CV.Groups all rows of a group are left out together. Scales of
// the inputs, widths and landmarks are those of all rows. The metric is nmse, mse
// or rmse. Ranks share the folds as they share the rows; when the work of one fails,
// end the job: the others wait for it.
func CrossValidateStream(ctx context.Context, data Rows, opt StreamOptions) (*CVResult, error) {
	alive(ctx)
	if opt.CV.Kernels != nil || opt.CV.Repeats > 1 || opt.CV.TimeOrdered {
		return nil, fault.Input("streamed data are cross-validated with one dictionary, in one set of folds, in no " +
			"order of time")
	}
	if err := fault.Choice("metric", &opt.CV.Metric, learn.SumMetrics); err != nil {
		return nil, err
	}
	k := cmp.Or(opt.CV.Folds, max(opt.IntervalFolds, 0), defaults.StreamFolds)
	switch {
	case k < 2:
		return nil, fault.Input("%d folds: at least 2 are needed", k)
	case opt.IntervalFolds > 0 && opt.IntervalFolds != k:
		return nil, fault.Input("%d interval folds beside %d of the cross-validation: a stream keeps the sums of one "+
			"set of folds", opt.IntervalFolds, k)
	}
	opt.Budget /= 3 // for the choice on some of the rows, that on the sums, and the fit: reading takes what it takes
	if opt.Kernels == nil && opt.Ranks == nil && opt.Checkpoint == "" {
		var err error
		if opt, err = chooseFeatures(ctx, data, opt, k); err != nil {
			return nil, err
		}
	}
	d, c, err := sumsOf(ctx, data, opt, k)
	if err != nil {
		return nil, err
	}
	return c.crossValidate(ctx, d, opt.Ranks)
}

// chooseFeatures chooses the kernels, and all but λ, on some of the rows, and returns the
// options for all of them with features of these kernels and values of λ to try.
func chooseFeatures(ctx context.Context, data Rows, opt StreamOptions, folds int) (StreamOptions, error) {
	own, err := opt.checkStream()
	if err != nil {
		return opt, err
	}
	s, l, err := sums.Draw(ctx, data, choose.MostSamples, opt.sums(&own))
	if err != nil {
		return opt, err
	}
	known := columns.Observed(s.Targets)
	var w blas.General
	if s.Weights != nil {
		known = slices.DeleteFunc(known, func(i int) bool { return s.Weights[i] == 0 })
		w = blas.TakeRows(blas.Vector(s.Weights), known)
	}
	part, err := samples.NewRows(blas.TakeRows(s.Sample, known), blas.TakeRows(s.Targets, known), w, own.samples())
	if err != nil {
		return opt, err
	}
	own.CV.Groups = nil // of all rows
	own.CV = own.CV.ForFit(s.Sample.Rows)
	env := own.env()
	env.Say("choosing kernels on %d of %d samples", s.Sample.Rows, l)
	r, err := own.crossValidate(ctx, part, nil)
	if err != nil {
		return opt, err
	}
	p := r.Chosen()
	if opt.Kernels, err = part.Features(ctx, p.Kernels, int(l), folds*len(stream.Patterns(s.Targets)),
		time.Duration(opt.Budget)); err != nil {
		return opt, err
	}
	if opt.Groups, err = part.Groups(ctx, p.Kernels); err != nil {
		return opt, err
	}
	opt.Learn, opt.Tau, opt.CV.Norms = p.Learn, p.Tau, nil
	if opt.Regularizer == nil {
		opt.Norm = p.Norm
	}
	if opt.CV.Lambdas == nil {
		opt.CV.Lambdas = choose.LambdasAround(p.Lambda, float64(l)/float64(s.Sample.Rows))
	}
	return opt, nil
}

// sums are the options of the sums over the rows; c are the options in opt, checked.
func (opt *StreamOptions) sums(c *checked) sums.Options {
	return sums.Options{
		Env: c.env(), Columns: c.columns(), Groups: c.Groups, Kernels: c.Kernels,
		FoldGroups: c.CV.Groups, SurveyRows: opt.SurveyRows,
		Checkpoint: c.Checkpoint, CheckpointRows: opt.CheckpointRows, Ranks: opt.Ranks, Progress: opt.Progress,
	}
}

// sumsOf checks the options and reads the data into sums, apart for so many folds.
// The checkpoint is that of the sums.
func sumsOf(ctx context.Context, data Rows, opt StreamOptions, folds int) (*sums.Data, checked, error) {
	c, err := opt.checkStream()
	if err != nil {
		return nil, c, err
	}
	if len(c.Kernels) == 0 {
		c.Kernels = DefaultStreamKernels()
	}
	so := opt.sums(&c)
	so.Folds = folds
	d, err := sums.New(ctx, data, so)
	c.Checkpoint = ""
	return d, c, err
}
