// This file compares settings by cross-validation, and takes over the best one.

package iokl

import (
	"context"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/choose"
	"github.com/iokl/iokl/internal/learn/defaults"
)

// CVOptions say what cross-validation tries and how. The zero value is useful.
type CVOptions = choose.Options

// CVPoint is one setting and how it did on held-out samples.
type CVPoint = choose.Point

// CVResult lists the settings that every fold has tried. Where settings were compared on
// part of the samples first, it is about the last and largest part.
type CVResult struct {
	choose.Result
	data learn.Data
	opt  checked
}

// Fit fits the best setting to all samples that were compared, with what the comparison has made of them:
// lengths of columns, and sums of explicit features. It uses them up: call it once. The zero CVResult panics. A budget
// is for each of the two, and a ctx that has ended leaves a fifth of a second, as for [Fit].
func (r *CVResult) Fit(ctx context.Context) (*Model, error) {
	alive(ctx)
	opt := r.bestOptions()
	in, cancel := opt.within(ctx)
	defer cancel()
	return opt.timely(ctx, in, r.data)
}

// bestOptions is the options with the kernels, norm, τ and λ of the best point.
func (r *CVResult) bestOptions() checked {
	if r == nil || r.data == nil {
		panic("iokl: a CVResult that no cross-validation returned")
	}
	p, opt := r.Chosen(), r.opt
	opt.compared = &comparison{asked: r.opt, found: Chosen{
		Metric: r.Metric, Folds: r.Folds, Error: p.Mean, StdErr: p.StdErr, Constant: r.Constant,
		Means: r.Means,
	}, cut: r.Cut()}
	opt.Lambda, opt.Tau, opt.Kernels, opt.Learn, opt.Model = p.Lambda, p.Tau, p.Kernels, p.Learn, p.Model
	opt.OutputKernel = p.OutputKernel
	if opt.Regularizer == nil {
		opt.Norm = p.Norm
	}
	kernels := ""
	if len(p.Kernels) > 0 {
		kernels = ", kernels " + choose.Brief(p.Kernels)
	}
	env := opt.env()
	env.Say("chose λ = %.3g, norm %s, learning %s%s by cross-validation: %s %.4g ± %.2g, of the mean of the targets "+
		"%.4g", p.Lambda, p.Norm, p.Learns(), kernels, r.Metric, p.Mean, p.StdErr, r.Constant)
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
// Without kernels, one race finds them: see docs/choosing.md.
func CrossValidate(ctx context.Context, X, Y mat.Matrix, opt Options) (*CVResult, error) {
	d, c, err := rowsOf(X, Y, opt, nil)
	if err != nil {
		return nil, err
	}
	return c.crossValidate(ctx, d, nil)
}

// CrossValidateClasses is CrossValidate of the settings of [FitClasses].
func CrossValidateClasses(ctx context.Context, X mat.Matrix, labels []string, opt Options) (*CVResult, error) {
	d, c, err := classesOf(X, labels, opt)
	if err != nil {
		return nil, err
	}
	return c.crossValidate(ctx, d, nil)
}

// CrossValidateGram is CrossValidate on Gram matrices of the caller's.
func CrossValidateGram(ctx context.Context, grams []mat.Matrix, Y mat.Matrix, opt Options) (*CVResult, error) {
	d, c, err := gramsOf(ctx, grams, Y, opt)
	if err != nil {
		return nil, err
	}
	return c.crossValidate(ctx, d, nil)
}

// DefaultNorms are the regularizers that cross-validation chooses from when
// kernels are given and no norm: one that keeps few kernels and one that keeps all.
func DefaultNorms() []string { return defaults.Norms() }

// DefaultKernels is the dictionary of a fit that names neither kernels nor a way
// to choose them, for inputs as they are standardised, and one of those that
// cross-validation compares: Gaussians on all columns at several widths, a linear
// kernel, and Gaussians on each column where there are not too many.
func DefaultKernels(X mat.Matrix) []string {
	_, cols := dims(X)
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
