// This file fits models to rows in memory, to class labels and to Gram matrices.

package iokl

import (
	"context"
	"fmt"
	"slices"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/choose"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/internal/learn/samples"
	"github.com/iokl/iokl/internal/phase"
	"github.com/iokl/iokl/loss"
	"github.com/iokl/iokl/stream"
)

// Fit learns Y (l×n) from X (l×d), a row per sample; NaN is a missing cell. The mean of
// its column stands for one in X. One in Y is left out of the loss, so that the outputs
// observed in a row help those missing there; a row of missing targets is left out as a
// whole. Warnings of the model count them.
//
// A nil error means that the model's certified relative gap is at most opt.Tol.
// A fit that ends before, because it was cancelled, was stopped by Trace, or ran
// out of iterations, returns the best model so far, with its gap, and the error:
// the context's, Trace's, or one that wraps [bcd.ErrNotConverged]. Data or
// options that make no sense are [ErrInput], matrices beyond opt.MaxBytes
// [ErrMemory], both without a model.
func Fit(ctx context.Context, X, Y mat.Matrix, opt Options) (*Model, error) {
	d, opt, err := rowsOf(X, Y, opt)
	if err != nil {
		return nil, err
	}
	return opt.fit(ctx, d)
}

// FitClasses learns to tell classes apart: a target of 0 or 1 for each class,
// standardised. The model's Classify gives the class of the largest output. A sample
// without a label, "", is left out.
func FitClasses(ctx context.Context, X mat.Matrix, labels []string, opt Options) (*Model, error) {
	d, opt, err := classesOf(X, labels, opt)
	if err != nil {
		return nil, err
	}
	return opt.fit(ctx, d)
}

// classesOf makes data of a table and class labels.
func classesOf(X mat.Matrix, labels []string, opt Options) (learn.Data, Options, error) {
	Y, classes := OneHot(labels)
	if len(classes) < 2 {
		return nil, opt, fault.Input("%d samples of one class: there is nothing to tell apart", len(labels))
	}
	if opt.OutputNames == nil {
		opt.OutputNames = classes
	}
	opt.classes = classes
	return rowsOf(X, Y, opt)
}

// FitGram learns Y (l×n) from m Gram matrices (l×l, symmetric, positive
// semidefinite to within rounding) of the caller's. Nothing is standardised
// unless opt.Standardize says so, and opt.Kernels is not used. The model
// predicts from cross-Gram matrices, by PredictGram.
func FitGram(ctx context.Context, grams []mat.Matrix, Y mat.Matrix, opt Options) (*Model, error) {
	d, opt, err := gramsOf(ctx, grams, Y, opt)
	if err != nil {
		return nil, err
	}
	return opt.fit(ctx, d)
}

// OneHot turns class labels into targets: Y_ik is 1 when sample i is of class k
// and else 0. The classes are sorted, as numbers when all of them are numbers.
func OneHot(labels []string) (Y *mat.Dense, classes []string) { return columns.OneHot(labels) }

// rowsOf checks the options and makes data of a table.
func rowsOf(X, Y mat.Matrix, opt Options) (learn.Data, Options, error) {
	opt, err := opt.check(false)
	if err != nil {
		return nil, opt, err
	}
	x, y := raw(X), raw(Y)
	if err := opt.place(y.Cols); err != nil {
		return nil, opt, err
	}
	so := opt.samples()
	w, err := opt.weights(y)
	if err != nil {
		return nil, opt, err
	}
	if rows := columns.Observed(y); len(rows) < y.Rows && x.Rows == y.Rows && !so.Columns.StrictOutputs {
		if len(rows) < 2 {
			return nil, opt, fault.Input("targets are observed in %d of %d rows: that is not enough to learn from",
				len(rows), y.Rows)
		}
		if len(opt.CV.Groups) == y.Rows {
			opt.CV.Groups = learn.Pick(opt.CV.Groups, rows)
		}
		so.Columns.Notes = append(so.Columns.Notes,
			fmt.Sprintf("left out %d of %d rows, of which no target is observed", y.Rows-len(rows), y.Rows))
		if opt.CV.Folds <= y.Rows {
			opt.CV.Folds = min(opt.CV.Folds, len(rows))
		}
		x, y = blas.TakeRows(x, rows), blas.TakeRows(y, rows)
		if w.Data != nil {
			w = blas.TakeRows(w, rows)
		}
	}
	if opt.Lambda == 0 {
		var about [2]string
		if so.Columns.ScaleInputs {
			x, about[0] = columns.PullIn(x, opt.InputNames, "x", "input")
		}
		if so.Columns.ScaleOutputs && so.Columns.Loss.Kind == loss.Squared {
			y, about[1] = columns.PullIn(y, opt.OutputNames, "y", "target")
		}
		so.Columns.Notes = slices.DeleteFunc(append(so.Columns.Notes, about[:]...), func(note string) bool {
			return note == ""
		})
	}
	opt.robustUnits(y, w)
	so.Columns.Loss = opt.columns().Loss
	d, err := samples.NewRows(x, y, w, so)
	return d, opt, err
}

// gramsOf checks the options and makes data of Gram matrices.
func gramsOf(ctx context.Context, grams []mat.Matrix, Y mat.Matrix, opt Options) (learn.Data, Options, error) {
	opt, err := opt.check(true)
	if err != nil {
		return nil, opt, err
	}
	opt.Kernels, opt.CV.Kernels = nil, nil
	y := raw(Y)
	if err := opt.place(y.Cols); err != nil {
		return nil, opt, err
	}
	w, err := opt.weights(y)
	if err != nil {
		return nil, opt, err
	}
	opt.robustUnits(y, w)
	d, err := samples.NewGrams(ctx, raws(grams), y, w, opt.samples())
	return d, opt, err
}

// fit closes what the options leave open and learns from the data.
func (opt Options) fit(ctx context.Context, d learn.Data) (*Model, error) {
	if opt.Open() {
		l, _ := d.Size()
		opt.CV = opt.CV.ForFit(l)
		r, err := opt.crossValidate(ctx, d, nil)
		if err != nil {
			return nil, err
		}
		return r.Fit(ctx)
	}
	return opt.solve(ctx, d)
}

// solve learns from the data with nothing left open.
func (opt *Options) solve(ctx context.Context, d learn.Data) (*Model, error) {
	if opt.LearnNoise {
		return opt.solveNoisy(ctx, d)
	}
	cells, _ := d.Cells() // a fit may use up the data
	folds, err := opt.withoutFolds(ctx, d)
	if err != nil {
		return nil, err
	}
	var end *learn.Outcome
	phase.In(ctx, phase.Final, func(ctx context.Context) {
		end, err = learn.Fit(ctx, d, opt.setting(), opt.method())
	})
	if end == nil {
		return nil, err
	}
	m := &Model{learned: end.Model, cert: record{certify(end, cells, opt), opt.chosen(end)}}
	m.learned.Out.Classes = opt.classes
	if opt.compared != nil {
		if w := opt.compared.found.warning(end.Silent, len(end.Out.Live)); w != "" {
			end.Warnings = append(end.Warnings, w)
		}
	}
	if m.learned.Folds = folds; folds == nil && err == nil {
		m.learned.Folds, err = opt.outOfFold(ctx, d, m.learned)
	}
	if c := d.Offers().InMemory; c != nil && m.learned.LogOdds() && m.learned.HasFolds() {
		m.learned.Calibrate(c.Weight)
	}
	return m, err
}

// Open reports whether a fit chooses λ, and what else is not given, by cross-validation.
func (opt *Options) Open() bool { return opt.Lambda == 0 && opt.Learn != learn.Likelihood }

// crossValidate compares the settings that the options leave open. ranks share the folds.
func (opt *Options) crossValidate(ctx context.Context, d learn.Data, ranks stream.Ranks) (*CVResult, error) {
	if opt.Learn == learn.Likelihood {
		return nil, fault.Input("cross-validation compares values of λ, which a fit by likelihood does not have: fit " +
			"it without each part of the rows, and predict these")
	}
	r, err := choose.Run(ctx, d, choose.Job{
		Options: opt.CV, Setting: opt.setting(), Method: opt.method(), OutputKernels: opt.outputKernels(),
		Budget: time.Duration(opt.Budget), Ranks: ranks,
	})
	if r == nil {
		return nil, err
	}
	return &CVResult{*r, d, *opt}, err
}

// raw is m as a row-major matrix; it may share m's memory.
func raw(m mat.Matrix) blas.General {
	r, c := m.Dims()
	if r == 0 || c == 0 {
		return blas.General{}
	}
	return blas.Raw(m)
}

func raws(ms []mat.Matrix) []blas.General {
	list := make([]blas.General, len(ms))
	for j, m := range ms {
		list[j] = raw(m)
	}
	return list
}
