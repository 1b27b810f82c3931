package iokl

import (
	"context"
	"fmt"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/blas"
)

// CVOptions say what cross-validation tries and how. The zero value is useful.
type CVOptions struct {
	Lambdas []float64  // nil: a falling path of 17 values, or the promising part of it
	Taus    []float64  // nil: Options.Tau
	Norms   []string   // nil: Options.Norm, or some of DefaultNorms when that is empty
	Kernels [][]string // dictionaries to compare; nil: Options.Kernels, or what screening finds when that is empty

	Folds int // 0 means 10, and 5, or 3 for many samples, where Fit chooses λ itself
	// Repeats of the whole, with other folds; 0 means 1, and where Fit chooses λ
	// more for few samples. Without Lambdas, what is beyond doubt worse after a
	// repeat is left out of the next.
	Repeats     int
	Groups      []int   // a number for each sample: no group is on both sides of a split
	TimeOrdered bool    // train on the past, test on what follows
	Metric      string  // nmse (default), mse, rmse or accuracy
	Tol         float64 // relative gap of the fits; 0 means 1e-2, or Options.Tol when that is larger
	OneSE       bool    // choose the largest λ within one standard error of the best
}

// ForFit returns c with the number of folds and of repeats that [Fit] takes for l
// samples where it chooses λ itself: fewer than CrossValidate's, but more than
// once over for few samples, where one division into folds says little.
func (c CVOptions) ForFit(l int) CVOptions {
	if c.Folds == 0 {
		c.Folds = min(chooseFolds, l)
		if l >= manySamples {
			c.Folds = 3
		}
	}
	if c.Repeats == 0 && !c.TimeOrdered {
		c.Repeats = max(1, min(maxRepeats, chooseSamples/l))
	}
	return c
}

// What ForFit takes.
const (
	chooseFolds   = 5
	manySamples   = 500 // from here on 3 folds do
	chooseSamples = 400 // test about this many samples in all
	maxRepeats    = 4
)

// Metrics of cross-validation, averages over outputs: nmse is the squared error
// divided by the variance of the training targets, 1 for a constant guess.
var metrics = []string{"nmse", "mse", "rmse", "accuracy"}

// CVPoint is one setting and how it did on held-out samples.
type CVPoint struct {
	Kernels []string  `json:"kernels"` // SPECs of the dictionary
	Norm    string    `json:"norm"`
	Learn   string    `json:"learn"`
	Tau     float64   `json:"tau"`
	Lambda  float64   `json:"lambda"`
	Mean    float64   `json:"mean"`   // of the metric over the folds
	StdErr  float64   `json:"stderr"` // of that mean; 0 for one fold
	Folds   []float64 `json:"folds"`
}

// CVResult lists the settings that every fold has tried.
type CVResult struct {
	Metric string    `json:"metric"`
	Folds  int       `json:"folds"`
	Best   int       `json:"best"` // index of the point chosen: of the lowest mean logarithm of the error, or the highest accuracy
	Points []CVPoint `json:"points"`
}

// Chosen is the best point.
func (r *CVResult) Chosen() CVPoint { return r.Points[r.Best] }

// Settle returns opt with the kernels, norm, τ and λ of the best point.
func (r *CVResult) Settle(opt Options) Options { return r.settle(opt) }

func (r *CVResult) settle(opt Options) Options {
	p := r.Chosen()
	opt.Lambda, opt.Tau, opt.Kernels, opt.Learn = p.Lambda, p.Tau, p.Kernels, p.Learn
	if opt.Regularizer == nil {
		opt.Norm = p.Norm
	}
	opt.notify("chose λ = %.3g, norm %s, learning %s%s by cross-validation: %s %.4g ± %.2g", p.Lambda, p.Norm, p.Learn, among(p.Kernels), r.Metric, p.Mean, p.StdErr)
	return opt
}

// among says which kernels a point is about.
func among(specs []string) string {
	if len(specs) == 0 {
		return ""
	}
	return ", kernels " + Brief(specs)
}

// Brief joins SPECs, the first few of many: sets of random columns make dozens.
func Brief(specs []string) string {
	const most = 6
	if len(specs) <= most {
		return strings.Join(specs, " ")
	}
	return fmt.Sprintf("%s … and %d more", strings.Join(specs[:most-2], " "), len(specs)-(most-2))
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
	opt, err := opt.check(false)
	if err != nil {
		return nil, err
	}
	x, y := raw(X), raw(Y)
	if err := checkRows(x.Rows, y); err != nil {
		return nil, err
	}
	return crossValidate(ctx, &study{X: x, Y: y}, opt)
}

// CrossValidateGram is CrossValidate on Gram matrices of the caller's.
func CrossValidateGram(ctx context.Context, grams []mat.Matrix, Y mat.Matrix, opt Options) (*CVResult, error) {
	opt, err := opt.check(true)
	if err != nil {
		return nil, err
	}
	y := raw(Y)
	if err := checkRows(y.Rows, y); err != nil {
		return nil, err
	}
	syms, err := opt.fromGrams(ctx, grams, y.Rows)
	if err != nil {
		return nil, err
	}
	return crossValidate(ctx, &study{Y: y, grams: syms}, opt)
}

// study is the data of a cross-validation: inputs, or Gram matrices.
type study struct {
	X, Y  blas.General
	grams []*blas.Sym
}
