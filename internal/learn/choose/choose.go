// Package choose finds the setting of a fit by one race on held-out samples.
//
// An arm is a dictionary of kernels, what is learned on it, a model, a norm and τ; λ is a path inside an arm.
// Arms are compared rung by rung: a rung is a number of samples and some folds. docs/race.md has the whole
// procedure.
//
// It sees data through learn.Data alone.
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
	"github.com/iokl/iokl/internal/learn/model"
	"github.com/iokl/iokl/loss"
	"github.com/iokl/iokl/regularizer"
	"github.com/iokl/iokl/stream"
)

// Options say what cross-validation tries and how, as CVOptions of the root package does.
type Options struct {
	Lambdas, Taus []float64
	Norms         []string
	Kernels       [][]string
	Models        []learn.Model
	Folds         int
	LeaveOneOut   bool
	Repeats       int
	Groups        []int
	TimeOrdered   bool
	Hide          string // learn.HideRows, learn.HideCells, or "" to decide by the cells that are missing
	FoldsBy       string
	Metric        string // of learn.Metrics
	Tol           float64
	OneSE         bool
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
	Kernels      []string
	Norm         string
	Learn        learn.Learned
	Model        learn.Model
	Tau, Lambda  float64
	OutputKernel string // SPEC of L between the points of the axis of the outputs; "" where there is none
	Mean, StdErr float64
	Folds        []float64
	Freedom      float64

	arm   *arm // the setting is at value at of its path
	at    int
	mixed []float64 // Folds, with targets that are predicted by their mean
	means []int     // these targets
}

// Result lists the settings that every fold of the last rung has tried.
type Result struct {
	Metric string
	Folds  int
	// Best is the index of the point chosen: the simplest of those that are not worse than the one of the lowest mean
	// logarithm of the error, or the highest accuracy, with the targets of Means predicted by their mean.
	Best     int
	Points   []Point
	Constant float64
	Means    []int
	Held     []model.Fold // what the best point predicts on folds of all samples; nil where that is not kept

	samples int  // that Points were compared on
	whole   bool // it is a setting of all samples, after that
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
	case s.LeaveOneOut:
		return fault.Input("leaving out single rows in closed form is for the squared loss: use folds")
	case s.Metric == "":
		s.Metric = learn.LossMetric
	case s.Metric == "nmse":
		return fault.Input("the metric nmse is of squared errors: with the loss %s take loss, mse, rmse or accuracy",
			asked)
	}
	if s.Setting.Losses = learn.Ends(s.Setting.Losses); s.Metric != learn.LossMetric {
		s.Setting.Losses = nil
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
	case s.LeaveOneOut && (s.Groups != nil || s.TimeOrdered || s.FoldsBy == Blocks):
		return fault.Input("leaving out single rows is for rows in no order and no groups: use folds")
	case s.LeaveOneOut && (s.Setting.Model == learn.Sum || slices.Contains(s.Models, learn.Sum)):
		return fault.Input("leaving out single rows in closed form is for one output kernel, not for one of each " +
			"kernel's own: use folds")
	case s.FoldsBy != "" && (s.Groups != nil || s.TimeOrdered):
		return fault.Input("folds by %s, and by groups or in the order of time: give one of them", s.FoldsBy)
	case !s.Until.IsZero() && s.Ranks != nil && s.Ranks.Size() > 1:
		return fault.Input("a budget of time is for one process: several would choose different settings")
	}
	if s.Folds == 0 {
		s.Folds = min(defaults.Folds, s.folding().MostFolds(l))
	}
	if s.TimeOrdered || s.LeaveOneOut || s.data.Loss().Kind != loss.Squared && !s.kernelsOpen() {
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
	inMemory := s.data.Parts != nil
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
