// This file compares settings by cross-validation, and takes over the best one.

package iokl

import (
	"context"
	"errors"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/choose"
	"github.com/iokl/iokl/internal/learn/defaults"
)

// CVOptions say what cross-validation tries and how. The zero value is useful.
type CVOptions struct {
	Lambdas []float64  `json:"lambdas,omitempty"` // nil: a falling path of 17 values, or the promising part of it
	Taus    []float64  `json:"taus,omitempty"`    // nil: Options.Tau
	Norms   []string   `json:"norms,omitempty"`   // nil: Options.Norm, or some of DefaultNorms when that is empty
	Kernels [][]string `json:"kernels,omitempty"` // dictionaries to compare; nil: Options.Kernels, or what screening finds when that is empty
	// Models are "product", "sum" or both; nil: Options.Model, or, where kernels and all else are open too, the
	// product and, around the best of it, the sum.
	Models []string `json:"models,omitempty"`

	Folds int `json:"folds,omitempty"` // 0 means 10, and 5, or 3 for many samples, where Fit chooses λ itself
	// LeaveOneOut leaves out every row by itself, in closed form, in place of folds: at scales, weights, L and
	// μ = λl of all rows. Settings that learn neither weights nor L take one decomposition for all λ.
	LeaveOneOut bool `json:"leave_one_out,omitempty"`
	// Repeats of the whole, with other folds; 0 means 1, and where Fit chooses λ
	// more for few samples. Without Lambdas, what is beyond doubt worse after a
	// repeat is left out of the next.
	Repeats     int   `json:"repeats,omitempty"`
	Groups      []int `json:"groups,omitempty"`       // a number for each sample: no group is on both sides of a split
	TimeOrdered bool  `json:"time_ordered,omitempty"` // train on the past, test on what follows
	// Hide says what a fold leaves out: rows, as predictions for new samples need, or
	// cells of the targets, as filling in missing ones does. "" means cells where rows are observed in part,
	// unless Groups, TimeOrdered or the accuracy ask for rows, and else rows.
	Hide string `json:"hide,omitempty"`
	// FoldsBy deals rows to folds where Groups and TimeOrdered say nothing: shuffle, or blocks of rows
	// that follow each other. "" means shuffle; where kernels are open too, it means blocks where the error
	// on blocks exceeds that on shuffled rows beyond doubt, as for rows in the order of time.
	FoldsBy string `json:"folds_by,omitempty"`
	// Metric is an average over the outputs: nmse (the default), the squared error
	// divided by the variance of the training targets, 1 for a constant guess; mse; rmse; or accuracy.
	Metric string  `json:"metric,omitempty"`
	Tol    float64 `json:"tol,omitempty"`    // relative gap of the fits; 0 means 1e-2, or Options.Tol when that is larger
	OneSE  bool    `json:"one_se,omitempty"` // choose the largest λ within one standard error of the best
}

// ForFit returns c with the number of folds and of repeats that [Fit] takes for l
// samples where it chooses λ itself: fewer than CrossValidate's, but more than
// once over for few samples, where one division into folds says little.
func (c CVOptions) ForFit(l int) CVOptions {
	if c.Folds == 0 {
		c.Folds = defaults.FitFolds
		if l >= defaults.ManySamples {
			c.Folds = defaults.FewFolds
		}
		c.Folds = min(c.Folds, learn.Folding{Groups: c.Groups, TimeOrdered: c.TimeOrdered}.MostFolds(l))
	}
	if c.Repeats == 0 && !c.TimeOrdered && !c.LeaveOneOut {
		c.Repeats = max(1, min(defaults.MaxRepeats, defaults.TestSamples/max(l, 1)))
	}
	return c
}

// CVPoint is one setting and how it did on held-out samples.
type CVPoint struct {
	Kernels []string  `json:"kernels"` // SPECs of the dictionary
	Norm    string    `json:"norm"`
	Learn   string    `json:"learn"`
	Model   string    `json:"model"` // product or sum
	Tau     float64   `json:"tau"`
	Lambda  float64   `json:"lambda"`
	Mean    float64   `json:"mean"`   // of the metric over the folds
	StdErr  float64   `json:"stderr"` // of that mean; 0 for one fold
	Folds   []float64 `json:"folds"`
	Freedom float64   `json:"degrees_of_freedom,omitempty"` // effective, of the fit to all rows, with LeaveOneOut
}

// CVResult lists the settings that every fold has tried. Where settings were compared on
// part of the samples first, it is about the last and largest part.
type CVResult struct {
	Metric string `json:"metric"`
	Folds  int    `json:"folds"`
	// Best is the index of the point chosen: of the lowest mean logarithm of the error, or the highest accuracy,
	// with the targets of Means predicted by their mean.
	Best     int       `json:"best"`
	Points   []CVPoint `json:"points"`
	Constant float64   `json:"constant_error"`  // of the mean of the training targets, or of 0 where they are not standardised
	Means    []int     `json:"means,omitempty"` // the targets, from 0, that the best point predicts no better than that, within a standard error
	Note     string    `json:"note,omitempty"`  // why rows were dealt to folds in blocks, where that was found right

	groups []int // the blocks
}

// Chosen is the best point.
func (r *CVResult) Chosen() CVPoint { return r.Points[r.Best] }

// Settle returns opt with the kernels, norm, τ and λ of the best point.
func (r *CVResult) Settle(opt Options) Options {
	p, asked := r.Chosen(), opt
	opt.asked = &asked
	opt.Lambda, opt.Tau, opt.Kernels, opt.Learn, opt.Model = p.Lambda, p.Tau, p.Kernels, p.Learn, p.Model
	if r.groups != nil {
		opt.CV.Groups, opt.CV.FoldsBy = r.groups, ""
	}
	opt.Chosen = &Chosen{Note: r.Note, Metric: r.Metric, Folds: r.Folds, Error: p.Mean, StdErr: p.StdErr, Constant: r.Constant, Means: r.Means}
	if opt.Regularizer == nil {
		opt.Norm = p.Norm
	}
	kernels := ""
	if len(p.Kernels) > 0 {
		kernels = ", kernels " + choose.Brief(p.Kernels)
	}
	if p.Model == "sum" {
		kernels = ", an L for each kernel" + kernels
	}
	env := opt.env()
	env.Say("chose λ = %.3g, norm %s, learning %s%s by cross-validation: %s %.4g ± %.2g, of the mean of the targets %.4g", p.Lambda, p.Norm, p.Learn, kernels, r.Metric, p.Mean, p.StdErr, r.Constant)
	return opt
}

// briefTol is the relative gap of the fits that cross-validation compares, briefTime how
// long a fit after an interruption goes on after its first iteration.
const (
	briefTol  = 1e-2
	briefTime = time.Second
)

// ErrBrief ends the fit of SettleBriefly when its time is over.
var ErrBrief = errors.New("interrupted")

// SettleBriefly is Settle for a comparison that was interrupted. The fit then ends at a
// relative gap of 1e-2, or a second after its first iteration with [ErrBrief], and keeps
// no models for intervals.
func (r *CVResult) SettleBriefly(opt Options) Options {
	opt = r.Settle(opt)
	opt.Tol, opt.IntervalFolds = max(opt.Tol, briefTol), -1
	over, trace := time.Now().Add(briefTime), opt.Trace
	opt.Trace = func(s bcd.Step) error {
		switch {
		case time.Now().After(over):
			return ErrBrief
		case trace != nil:
			return trace(s)
		}
		return nil
	}
	return opt
}

// CrossValidate tries the settings of opt.CV on held-out samples. Inside each
// fold everything is learned from the training part alone: scales, widths,
// model. Along falling λ each fit starts from the one before; folds run in
// parallel, and the result does not depend on how many at once.
//
// Cancelled, it returns what the folds that are complete say, or where none is
// those that were begun, with the context's error; nil before there is anything.
//
// Without kernels, some fifty dictionaries of different smoothness, some of them on
// relevant columns or directions, are screened
// first, with fixed weights and L = (τ/n)·I, on at most 1000 samples; what is
// compared then is learning on the union of the three best, on that with kernels
// of random sets of columns, and on DefaultKernels.
func CrossValidate(ctx context.Context, X, Y mat.Matrix, opt Options) (*CVResult, error) {
	d, opt, err := rowsOf(X, Y, opt)
	if err != nil {
		return nil, err
	}
	return opt.crossValidate(ctx, d, nil)
}

// CrossValidateGram is CrossValidate on Gram matrices of the caller's.
func CrossValidateGram(ctx context.Context, grams []mat.Matrix, Y mat.Matrix, opt Options) (*CVResult, error) {
	d, opt, err := gramsOf(ctx, grams, Y, opt)
	if err != nil {
		return nil, err
	}
	return opt.crossValidate(ctx, d, nil)
}

// DefaultNorms are the regularizers that cross-validation chooses from when
// kernels are given and no norm: one that keeps few kernels and one that keeps all.
func DefaultNorms() []string { return defaults.Norms() }

// DefaultKernels is the dictionary of a fit that names neither kernels nor a way
// to choose them, for inputs as they are standardised, and one of those that
// cross-validation compares: Gaussians on all columns at several widths, a linear
// kernel, and Gaussians on each column where there are not too many.
func DefaultKernels(X mat.Matrix) []string {
	_, cols := X.Dims()
	return defaults.Kernels(cols)
}

// Split is one fold: indices of the rows to Train on and of those to Test on, ascending.
type Split = learn.Split

// Folds splits l samples into k folds, repeats times over. Samples are shuffled
// by the seed; with groups (one number for each sample) all samples of a group
// are tested together. timeOrdered, without groups, takes the samples as a series, cuts it
// into k+1 blocks and tests each but the first after training on all before it.
func Folds(l, k, repeats int, groups []int, timeOrdered bool, seed uint64) ([]Split, error) {
	return learn.Folding{Folds: k, Repeats: repeats, Groups: groups, TimeOrdered: timeOrdered, Seed: seed}.Deal(l)
}
