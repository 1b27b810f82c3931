// Package choose finds the setting of a fit by one race on held-out samples.
//
// An arm is a dictionary of kernels, what is learned on it, a model, a norm and τ; λ is a path inside an arm.
// Arms are compared rung by rung: a rung is a number of samples and some folds. docs/race.md has the whole
// procedure.
//
// Data come through the interface learn.Data alone.
package choose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/defaults"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/loss"
	"github.com/iokl/iokl/regularizer"
	"github.com/iokl/iokl/stream"
)

// Options say what cross-validation tries and how. The zero value is useful.
type Options struct {
	Lambdas []float64 `json:"lambdas,omitempty"` // nil: a falling path of 23 values, or the promising part of it
	Taus    []float64 `json:"taus,omitempty"`    // nil: τ of the fit
	Norms   []string  `json:"norms,omitempty"`   // nil: that of the fit, or lp:1 and lp:2 where it has none
	// Kernels are dictionaries to compare; nil: that of the fit, or what the race finds where it has none.
	Kernels [][]string `json:"kernels,omitempty"`
	// Models are Product, Sum or both; nil: that of the fit.
	Models []learn.Model `json:"models,omitempty"`

	Folds int `json:"folds,omitempty"` // 0 means 10, and 5, or 3 for many samples, where a fit chooses λ itself
	// LeaveOneOut leaves out every row by itself, in closed form, in place of folds: at scales, weights, L and
	// μ = λl of all rows. Settings that learn neither weights nor L take one decomposition for all λ.
	LeaveOneOut bool `json:"leave_one_out,omitempty"`
	// Repeats of the whole, with other folds; 0 means 1, and more for few samples where a fit chooses λ itself.
	// Without Lambdas, what is beyond doubt worse after a repeat is left out of the next. By a loss other than the
	// squared one there is one.
	Repeats     int   `json:"repeats,omitempty"`
	Groups      []int `json:"groups,omitempty"`       // a number for each sample: no group is on both sides of a split
	TimeOrdered bool  `json:"time_ordered,omitempty"` // train on the past, test on what follows
	// Hide says what a fold leaves out: learn.HideRows, as predictions for new samples need, or
	// learn.HideCells, as filling in missing targets does. "" means cells where as many rows are observed in part
	// as a fold holds, unless Groups, TimeOrdered or the accuracy ask for rows, and else rows.
	Hide string `json:"hide,omitempty"`
	// FoldsBy deals rows to folds where Groups and TimeOrdered say nothing: Shuffle, the default, or Blocks.
	FoldsBy string `json:"folds_by,omitempty"`
	// OfFit takes as many folds and repeats, where these are not given, as a fit that chooses λ itself: see ForFit.
	OfFit bool `json:"-"`
	// Metric is an average over the outputs: nmse (the default), the squared error
	// divided by the variance of the training targets, 1 for a constant guess; mse; rmse; or accuracy.
	Metric string `json:"metric,omitempty"`
	// relative gap of the fits; 0 means 1e-2, or that of the fit when it is larger
	Tol   float64 `json:"tol,omitempty"`
	OneSE bool    `json:"one_se,omitempty"` // choose the largest λ within one standard error of the best
}

// Values of FoldsBy, for rows that are neither in groups nor ordered by time.
const (
	Shuffle = "shuffle" // each row falls in a fold at random
	Blocks  = "blocks"  // rows that follow each other are in one fold
)

// ForFit returns opt with the number of folds and of repeats that a fit takes for l
// samples where it chooses λ itself.
func (opt Options) ForFit(l int) Options {
	if opt.Folds == 0 {
		opt.Folds = fitFolds
		if l >= testSamples {
			opt.Folds = fewFolds
		}
		opt.Folds = min(opt.Folds, opt.folding().MostFolds(l))
	}
	if opt.Repeats == 0 && !opt.TimeOrdered && !opt.LeaveOneOut {
		opt.Repeats = max(1, min(mostRepeats, testSamples/max(l, 1)))
	}
	return opt
}

// folding is how rows are dealt.
func (opt *Options) folding() learn.Folding {
	return learn.Folding{
		Folds: opt.Folds, Repeats: opt.Repeats, Groups: opt.Groups, TimeOrdered: opt.TimeOrdered,
		Hide: opt.Hide,
	}
}

// Point is one setting and how it did on held-out samples.
type Point struct {
	Kernels []string      `json:"kernels"` // SPECs of the dictionary
	Norm    string        `json:"norm"`
	Learn   learn.Learned `json:"learn"`
	Model   learn.Model   `json:"model"`
	Tau     float64       `json:"tau"`
	Lambda  float64       `json:"lambda"`
	// SPEC of L between the points of the axis of the outputs; "" where there is none
	OutputKernel string    `json:"output_kernel,omitempty"`
	Mean         float64   `json:"mean"`   // of the metric over the folds
	StdErr       float64   `json:"stderr"` // of that mean; 0 for one fold
	Folds        []float64 `json:"folds"`
	Freedom      float64   `json:"degrees_of_freedom,omitempty"` // effective, of the fit to all rows, with LeaveOneOut
}

// Learns is what the setting learns, in words.
func (p *Point) Learns() string {
	switch {
	case p.OutputKernel != "":
		return string(p.Learn) + " with L of " + p.OutputKernel
	case p.Model == learn.Sum:
		return "l of each"
	}
	return string(p.Learn)
}

// Result lists the settings that every fold of the last rung has tried.
type Result struct {
	Metric string `json:"metric"`
	Folds  int    `json:"folds"`
	// Best is the index of the point chosen: the simplest of those that are not worse than the one of the lowest mean
	// logarithm of the error, or the highest accuracy, with the targets of Means predicted by their mean.
	Best   int     `json:"best"`
	Points []Point `json:"points"`
	// of the mean of the training targets, or of 0 where they are not standardised
	Constant float64 `json:"constant_error"`
	// the targets, from 0, that the best point predicts no better than that beyond doubt
	Means []int `json:"means,omitempty"`

	samples int  // that Points were compared on
	cut     bool // time was spent before all was compared
}

// Chosen is the best point.
func (r *Result) Chosen() Point { return r.Points[r.Best] }

// Cut says what the time for choosing settings was spent on, "" where it has sufficed.
func (r *Result) Cut() string {
	if !r.cut {
		return ""
	}
	const spent = "the time for choosing settings is spent: the best of those compared on %d rows is taken, %s %.4g, " +
		"kernels %s"
	p := r.Chosen()
	return fmt.Sprintf(spent, r.samples, r.Metric, p.Mean, Brief(p.Kernels))
}

// Brief joins SPECs, the first few of many: sets of random columns make dozens.
func Brief(specs []string) string {
	const most = 6
	if len(specs) <= most {
		return strings.Join(specs, " ")
	}
	return fmt.Sprintf("%s … and %d more", strings.Join(specs[:most-2], " "), len(specs)-(most-2))
}

// Job says what to choose.
type Job struct {
	Options
	Setting learn.Setting // what the user fixed
	// OutputKernels are SPECs of L to compare, between points of the axis of the outputs, beside L as Setting says.
	OutputKernels []string
	Method        learn.Method
	Until         time.Time // when the best so far is taken; zero means that nothing ends the comparison
	// Budget is the time that a budget leaves for a fit to all samples of what is chosen; 0: none, and its work is
	// bounded.
	Budget time.Duration
	Ranks  stream.Ranks // that share the folds; nil means this process alone
}

// check refuses options that make no sense and puts defaults in place.
func (s *race) check() error {
	l, _ := s.data.Size()
	asked := s.data.Loss()
	switch {
	case asked.Kind == loss.Squared:
	case s.Metric == "":
		s.Metric = learn.LossMetric
	case s.Metric == "nmse":
		return fault.Input("the metric nmse is of squared errors: with the loss %s take loss, mse, rmse or accuracy",
			asked)
	}
	if err := cmp.Or(fault.Choice("metric", &s.Metric, learn.Metrics), s.Setting.Learn.Check()); err != nil {
		return err
	}
	if err := s.checkFolds(l); err != nil {
		return err
	}
	for _, m := range append(slices.Clone(s.Models), s.Setting.Model) {
		if err := m.Check(); err != nil {
			return err
		}
	}
	if s.Setting.Model == learn.Sum && s.Setting.Learn == "" {
		s.Setting.Learn = learn.Both // a sum learns all its output kernels
	}
	if s.Taus == nil {
		s.Taus = []float64{s.Setting.Tau}
	}
	if s.Tol == 0 {
		s.Tol = max(defaults.CompareTol, s.Method.Tol)
	}
	for _, v := range s.Lambdas {
		if !fault.Positive(v) {
			return fault.Input("λ = %g: it must be positive", v)
		}
	}
	for _, v := range s.Taus {
		if v != 0 && !fault.Positive(v) {
			return fault.Input("τ = %g: it must be positive", v)
		}
	}
	for _, n := range s.Norms {
		if _, err := regularizer.Parse(n); err != nil {
			return fault.Mark(err)
		}
	}
	if s.Setting.Model == learn.Sum || slices.Contains(s.Models, learn.Sum) {
		for _, norm := range s.norms() {
			set := s.Setting
			set.Norm = norm
			if err := set.CheckSum(); err != nil {
				return err
			}
		}
	}
	s.Lambdas = slices.Clone(s.Lambdas)
	slices.Sort(s.Lambdas)
	slices.Reverse(s.Lambdas)
	return nil
}

// checkFolds closes how samples are dealt to folds.
func (s *race) checkFolds(l int) error {
	if err := cmp.Or(fault.Choice("way to deal rows to folds", &s.FoldsBy, []string{"", Shuffle, Blocks}),
		fault.Choice("way to hide targets", &s.Hide, []string{"", learn.HideRows, learn.HideCells})); err != nil {
		return err
	}
	switch {
	case s.Metric == "accuracy" && s.fills():
		return fault.Input("the accuracy is of whole rows: hide rows, not cells")
	case s.FoldsBy != "" && (s.Groups != nil || s.TimeOrdered):
		return fault.Input("folds by %s, and by groups or in the order of time: give one of them", s.FoldsBy)
	case !s.Until.IsZero() && s.Ranks != nil && s.Ranks.Size() > 1:
		return fault.Input("a budget of time is for one process: several would choose different settings")
	}
	if s.Folds == 0 {
		s.Folds = min(defaults.Folds, s.folding().MostFolds(l))
	}
	if s.TimeOrdered || s.LeaveOneOut || s.data.Loss().Kind != loss.Squared {
		s.Repeats = 1
	}
	if s.FoldsBy == Blocks {
		s.Groups = make([]int, l)
		for i := range s.Groups {
			s.Groups[i] = i * s.Folds / l
		}
	}
	_, n := s.data.Size()
	observed, partial := s.data.Cells()
	inMemory := s.data.Abilities().InMemory != nil
	switch {
	case s.Hide != "" || partial == 0:
	case inMemory && s.Groups == nil && !s.TimeOrdered && s.Metric != "accuracy" && partial*s.Folds >= l:
		s.Hide = learn.HideCells
		s.Method.Say("folds hide cells of the targets: %d of %d are observed, and some are missing in %d of %d rows",
			observed, l*n, partial, l)
	default:
		s.Hide = learn.HideRows
		s.Method.Say("folds hide whole rows: %d of %d target cells are observed", observed, l*n)
	}
	return nil
}

// fills reports whether folds hide cells.
func (s *race) fills() bool { return s.Hide == learn.HideCells }
