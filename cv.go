package iokl

import (
	"context"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/choose"
	"github.com/iokl/iokl/internal/learn/defaults"
	"github.com/iokl/iokl/internal/learn/model"
)

// CVOptions say what cross-validation tries and how. The zero value is useful.
type CVOptions struct {
	Lambdas []float64 `json:"lambdas,omitempty"` // nil: a falling path of 23 values, or the promising part of it
	Taus    []float64 `json:"taus,omitempty"`    // nil: τ of the fit
	Norms   []Norm    `json:"norms,omitempty"`   // nil: that of the fit, or lp:1 and lp:2 where it has none
	// Kernels are dictionaries to compare; nil: that of the fit, or what the race finds where it has none.
	Kernels [][]string  `json:"kernels,omitempty"`
	Models  []ModelKind `json:"models,omitempty"` // nil: that of the fit

	Folds int `json:"folds,omitempty"` // 0 means 10, and 5, or 3 for many samples, where a fit chooses λ itself
	// LeaveOneOut leaves out every row by itself, in closed form, in place of folds: at scales, weights, L and
	// μ = λl of all rows. Settings that learn neither weights nor L take one decomposition for all λ.
	LeaveOneOut bool `json:"leave_one_out,omitempty"`
	// Repeats of the whole, with other folds; 0 means 1, and more for few samples where a fit chooses λ itself.
	// Without Lambdas, what is beyond doubt worse after a repeat is left out of the next. By a loss other than the
	// squared one there is one.
	Repeats     int     `json:"repeats,omitempty"`
	Groups      []int   `json:"groups,omitempty"`       // a number for each sample: no group is on both sides of a split
	TimeOrdered bool    `json:"time_ordered,omitempty"` // train on the past, test on what follows
	Hide        Hidden  `json:"hide,omitempty"`         // what a fold leaves out
	FoldsBy     Dealing `json:"folds_by,omitempty"`     // how rows fall into folds, without Groups and TimeOrdered
	Metric      Metric  `json:"metric,omitempty"`
	// relative gap of the fits; 0 means 1e-2, or that of the fit when it is larger
	Tol   float64 `json:"tol,omitempty"`
	OneSE bool    `json:"one_se,omitempty"` // choose the largest λ within one standard error of the best
}

// choose are the options as package choose takes them.
func (cv *CVOptions) choose() choose.Options {
	return choose.Options{
		Lambdas: cv.Lambdas, Taus: cv.Taus, Norms: as[string](cv.Norms), Kernels: cv.Kernels,
		Models: as[learn.Model](cv.Models), Folds: cv.Folds, LeaveOneOut: cv.LeaveOneOut, Repeats: cv.Repeats,
		Groups: cv.Groups, TimeOrdered: cv.TimeOrdered, Hide: string(cv.Hide), FoldsBy: string(cv.FoldsBy),
		Metric: string(cv.Metric), Tol: cv.Tol, OneSE: cv.OneSE,
	}
}

// ForFit returns cv with the number of folds and of repeats that a fit takes for l
// samples where it chooses λ itself.
func (cv CVOptions) ForFit(l int) CVOptions {
	o := cv.choose().ForFit(l)
	cv.Folds, cv.Repeats = o.Folds, o.Repeats
	return cv
}

// CVPoint is one setting and how it did on held-out samples.
type CVPoint struct {
	Kernels []string  `json:"kernels"` // SPECs of the dictionary
	Norm    Norm      `json:"norm"`
	Learn   Learned   `json:"learn"`
	Model   ModelKind `json:"model"`
	Tau     float64   `json:"tau"`
	Lambda  float64   `json:"lambda"`
	// SPEC of L between the points of the axis of the outputs; "" where there is none
	OutputKernel string    `json:"output_kernel,omitempty"`
	Mean         float64   `json:"mean"`   // of the metric over the folds
	StdErr       float64   `json:"stderr"` // of that mean; 0 for one fold
	Folds        []float64 `json:"folds"`
	Freedom      float64   `json:"degrees_of_freedom,omitempty"` // effective, of the fit to all rows, with LeaveOneOut
}

// Learns is what the setting learns, in words.
func (p *CVPoint) Learns() string {
	switch {
	case p.OutputKernel != "":
		return string(p.Learn) + " with L of " + p.OutputKernel
	case p.Model == ModelSum:
		return "l of each"
	}
	return string(p.Learn)
}

// CVResult lists the settings that every fold has tried. Where settings were compared on
// part of the samples first, it is about the last and largest part.
type CVResult struct {
	Metric Metric `json:"metric"`
	Folds  int    `json:"folds"`
	// Best is the index of the point chosen: the simplest of those that are not worse than the one of the lowest mean
	// logarithm of the error, or the highest accuracy, with the targets of Means predicted by their mean.
	Best   int       `json:"best"`
	Points []CVPoint `json:"points"`
	// of the mean of the training targets, or of 0 where they are not standardised
	Constant float64 `json:"constant_error"`
	// the targets, from 0, that the best point predicts no better than that beyond doubt
	Means []int `json:"means,omitempty"`

	cut  string // what the time for choosing was spent on, "" where it has sufficed
	data learn.Data
	opt  checked
	held []model.Fold
}

// result is what package choose found on the data.
func (opt checked) result(r *choose.Result, d learn.Data) *CVResult {
	c := &CVResult{
		Metric: Metric(r.Metric), Folds: r.Folds, Best: r.Best, Constant: r.Constant, Means: r.Means, cut: r.Cut(),
		data: d, opt: opt, held: r.Held,
	}
	for _, p := range r.Points {
		c.Points = append(c.Points, CVPoint{
			p.Kernels, Norm(p.Norm), Learned(p.Learn), ModelKind(p.Model), p.Tau, p.Lambda, p.OutputKernel, p.Mean,
			p.StdErr, p.Folds, p.Freedom,
		})
	}
	return c
}

// Chosen is the best point.
func (r *CVResult) Chosen() CVPoint { return r.Points[r.Best] }

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
	if r == nil || r.data.Learnable == nil {
		panic("iokl: a CVResult that no cross-validation returned")
	}
	p, opt := r.Chosen(), r.opt
	opt.compared = &comparison{asked: r.opt, found: Chosen{
		Metric: r.Metric, Folds: r.Folds, Error: p.Mean, StdErr: p.StdErr, Constant: r.Constant,
		Means: r.Means,
	}, cut: r.cut, held: r.held, samples: size(r.data)}
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

// DefaultNorms are the regularizers that cross-validation chooses from when
// kernels are given and no norm: one that keeps few kernels and one that keeps all.
func DefaultNorms() []Norm { return as[Norm](defaults.Norms()) }

// DefaultKernels is the dictionary of a fit that names neither kernels nor a way
// to choose them, for inputs as they are standardised, and one of those that
// cross-validation compares: Gaussians on all columns at several widths, a linear
// kernel, and Gaussians on each column where there are not too many.
func DefaultKernels(X mat.Matrix) []string {
	_, cols := dims(X)
	return defaults.Kernels(cols)
}

// Split is one fold: indices of the rows to Train on and of those to Test on, ascending.
type Split struct{ Train, Test []int }

// Folds splits l samples into k folds, repeats times over. Samples are shuffled
// by the seed; with groups (one number for each sample) all samples of a group
// are tested together. timeOrdered, without groups, takes the samples as a series, cuts it
// into k+1 blocks and tests each but the first after training on all before it.
func Folds(l, k, repeats int, groups []int, timeOrdered bool, seed uint64) ([]Split, error) {
	folding := learn.Folding{Folds: k, Repeats: repeats, Groups: groups, TimeOrdered: timeOrdered, Seed: seed}
	dealt, err := folding.Deal(l)
	var splits []Split
	for _, s := range dealt {
		splits = append(splits, Split{s.Train, s.Test})
	}
	return splits, err
}
