package iokl

import (
	"cmp"
	"strings"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/internal/learn/samples"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/loss"
	"github.com/iokl/iokl/regularizer"
	"github.com/iokl/iokl/schema"
	"github.com/iokl/iokl/stream"
	"github.com/iokl/iokl/sylvester"
)

var (
	// ErrInput says that data or options make no sense; the message has the place and the value.
	ErrInput = fault.ErrInput
	// ErrMemory says that the matrices needed exceed the memory limit.
	ErrMemory = memory.ErrTooLarge
	// ErrNotConverged says that an iteration ended before it met its tolerance. The ErrNotConverged of packages cg,
	// lanczos, frankwolfe, sylvester and bcd, and [ErrBudget], wrap it.
	ErrNotConverged = linop.ErrNotConverged
)

// Options of [Fit]. The zero value learns everything from the data. The names of the
// JSON form are stable: the C and Python interfaces take options in it.
type Options struct {
	// Kernels are SPECs as package kernel reads them. None means that cross-validation
	// chooses them with λ, and DefaultKernels where Lambda is given.
	Kernels []string       `json:"kernels,omitempty"`
	Groups  []kernel.Group `json:"groups,omitempty"` // named sets of columns that SPECs may refer to

	Lambda float64 `json:"lambda,omitempty"` // λ; 0 means that cross-validation chooses it
	Tau    float64 `json:"tau,omitempty"`    // τ, the bound on tr L; 0 means the number of outputs
	// Norm is the regularizer of η as regularizer.Parse reads it. "" means lp:1, or,
	// where cross-validation chooses λ, that it chooses among DefaultNorms too.
	Norm        Norm                    `json:"norm,omitempty"`
	Regularizer regularizer.Regularizer `json:"-"` // the caller's own, in place of Norm

	Learn Learned `json:"learn,omitempty"` // what is learned beside C
	// OutputAxis are points t_i that the outputs are (n×q), as epochs, hours or wavelengths; nil means none. L may be a
	// kernel between them then: see OutputKernel and [Model.At].
	OutputAxis mat.Matrix `json:"-"`
	AxisNames  []string   `json:"axis_names,omitempty"` // of the coordinates; nil means t1, t2, …
	// OutputKernel is the SPEC of a kernel k between points of OutputAxis, with widths relative to the distances
	// there, that makes L the matrix of k(t_i, t_j) times τ/trace. L is not learned then. "" means that
	// cross-validation chooses it, or that L is learned, with λ, and DefaultOutputKernel where Lambda is given.
	OutputKernel string    `json:"output_kernel,omitempty"`
	Model        ModelKind `json:"model,omitempty"` // how kernels and output kernels go together
	// Global bounds the objective of a product model from below over all weights and all
	// output kernels, both of which are learned, by solving the model "sum"; see [GlobalBound].
	Global bool `json:"global,omitempty"`
	// Standardize says what is brought to mean 0 and variance 1.
	Standardize Scaling `json:"standardize,omitempty"`
	// Missing says what becomes of missing input cells: [MissingMean], the default, or [MissingError].
	Missing Missing `json:"missing,omitempty"`
	// MissingTargets says what becomes of missing target cells: [MissingUnused], the default, or [MissingError].
	MissingTargets Missing `json:"missing_targets,omitempty"`

	Loss Loss `json:"loss,omitempty"` // what errors of targets cost
	// Weights are those of the rows (l×1) or cells (l×n) of Y, ≥ 0: the loss is (1/l)Σ w·φ, where l is the number of
	// rows that hold a target. 0 is a missing cell, 2 an observation made twice. nil means 1.
	Weights mat.Matrix `json:"-"`
	// Noise are standard deviations of the errors of measurement of Y in its units, > 0: of its cells (l×n), rows (l×1)
	// or outputs (1×n). They make weights (s/σ)², with s the standard deviation of the target where targets are
	// standardised and else 1, times one number for all cells that makes the mean weight 1. nil means none.
	Noise mat.Matrix `json:"-"`
	// LearnNoise learns the standard deviations of the noise as a function of the inputs, from errors on held-out
	// folds, and weighs targets by them. Widths of intervals follow them; see [Model.PredictNoise]. Each of
	// IntervalFolds takes three fits and two of the deviations. They are kept unless IntervalFolds is negative.
	LearnNoise bool `json:"learn_noise,omitempty"`

	Solver    string  `json:"solver,omitempty"`    // of package bcd: reduced (default), closed, paper, okl
	Sylvester string  `json:"sylvester,omitempty"` // of package sylvester; "" means auto
	Tol       float64 `json:"tol,omitempty"`       // relative gap to reach; 0 means 1e-4, see [Fit]
	MaxOuter  int     `json:"max_outer,omitempty"` // outer iterations; 0 means bcd's default

	Precision blas.Precision `json:"precision,omitempty"` // in which Gram matrices are stored
	// memory for them; 0 means what is available, negative no limit. It bounds what zero Options compare.
	MaxBytes int64        `json:"max_bytes,omitempty"`
	Backend  blas.Backend `json:"-"`              // nil means blas.Active()
	Seed     uint64       `json:"seed,omitempty"` // of every random choice

	InputNames  []string `json:"input_names,omitempty"`  // of the columns; nil means x1, x2, …
	OutputNames []string `json:"output_names,omitempty"` // nil means y1, y2, …
	// InputSchema is how the columns of a file became those of X; nil means columns of plain numbers. The model keeps
	// it, to read new files by.
	InputSchema schema.Columns `json:"input_schema,omitempty"`

	CV CVOptions `json:"cv,omitzero"` // how λ and the norm are chosen where they are not given
	// Budget is the time for a whole fit, or for a comparison of settings: the choice of settings, the fit, and models
	// for intervals or of the noise share it, and each ends with its best so far; see [ErrBudget]. 0 means no limit.
	// With it the result depends on the machine: exact kernels on many rows are taken where a fit of them is predicted
	// to take no longer than is left, and parts of the rows where nothing else ends in time. Passes over rows in
	// [FitStream] are reading, and take what they take.
	Budget Budget `json:"budget,omitempty"`

	// IntervalFolds is the number of folds without each of which the model is learned once
	// more, for intervals of [Model.PredictInterval] by CV+. All that is open in
	// the options is then chosen anew inside each fold; those of [FitStream] share the
	// setting chosen. 0 means none: the model keeps what was predicted for held-out rows
	// alone. Negative: it does not keep that either.
	IntervalFolds int `json:"interval_folds,omitzero"`

	// Checkpoint is a file that keeps where the final fit stands, replaced as a
	// whole every few seconds and when the fit ends; a fit of the same data and
	// settings goes on from there. "" means none. For streamed fits see [FitStream].
	Checkpoint string `json:"checkpoint,omitempty"`

	// Trace sees every outer iteration of the final fit; an error from it ends the
	// fit, which then returns the best model so far with that error.
	Trace func(bcd.Step) error `json:"-"`
	// Notify gets single lines about what is about to be done or was decided:
	// the memory needed, the λ chosen.
	Notify func(line string) `json:"-"`
	// Watch sees how the choice of settings goes on, many times a second.
	Watch func(Progress) `json:"-"`
}

// Budget is a [time.Duration], in JSON a text such as "60s".
type Budget time.Duration

// MarshalText writes the time as [time.Duration.String] does.
func (b Budget) MarshalText() ([]byte, error) { return []byte(time.Duration(b).String()), nil }

// UnmarshalText reads what [time.ParseDuration] reads, and takes no time at all for an error.
func (b *Budget) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	if err != nil || d <= 0 {
		return fault.Input("budget %q is no time such as 60s", text)
	}
	*b = Budget(d)
	return nil
}

// checked are options that check has passed, and what a fit knows beside them.
type checked struct {
	Options
	given    Options // before defaults were filled in
	axis     *columns.Axis
	ranks    stream.Ranks // that share the folds in which settings are compared
	losses   []loss.Loss  // that Loss names, ascending
	compared *comparison  // that settled what was open; nil where nothing was
	classes  []string     // that the targets stand for
	// oneSetting makes models without each fold that have the setting of all rows, 0 IntervalFolds of them meaning
	// those of a cross-validation.
	oneSetting bool
}

// check validates what needs no data, and fills in defaults. gram says that the
// caller gives Gram matrices, and classes are those that the targets stand for.
func (opt Options) check(gram bool, classes []string) (checked, error) {
	c := checked{Options: opt, given: opt, classes: classes}
	err := c.complete(gram)
	return c, err
}

// complete does what check says to the options that it holds.
func (opt *checked) complete(gram bool) (err error) {
	if opt.Standardize == "" && gram {
		opt.Standardize = ScaleNone
	}
	switch {
	case opt.Lambda != 0 && !fault.Positive(opt.Lambda):
		return fault.Input("λ = %g: it must be positive", opt.Lambda)
	case opt.Tau != 0 && !fault.Positive(opt.Tau):
		return fault.Input("τ = %g: it must be positive", opt.Tau)
	case !(opt.Tol >= 0):
		return fault.Input("tolerance %g is negative", opt.Tol)
	case opt.IntervalFolds == 1:
		return fault.Input("1 interval fold: at least 2 are needed")
	case opt.IntervalFolds > 0 && opt.CV.TimeOrdered:
		return fault.Input("interval folds are for rows in no order, not for a series in the order of time")
	case opt.Budget < 0:
		return fault.Input("a budget of %v", time.Duration(opt.Budget))
	case opt.MaxOuter < 0:
		return fault.Input("%d outer iterations", opt.MaxOuter)
	}
	what, kind := learn.Learned(opt.Learn), learn.Model(opt.Model)
	if err := cmp.Or(what.Check(), kind.Check()); err != nil {
		return err
	}
	opt.Learn = Learned(what)
	for _, c := range []struct {
		what  string
		value *string
		have  []string
	}{
		{"choice of what to standardize", (*string)(&opt.Standardize), []string{"x,y", "x", "y", "none", "y,x"}},
		{"treatment of missing cells", (*string)(&opt.Missing), []string{"mean", "error"}},
		{"treatment of missing targets", (*string)(&opt.MissingTargets), []string{"use", "error"}},
		{"solver", &opt.Solver, opt.solvers()},
		{"solver of the linear systems", &opt.Sylvester, append([]string{"auto"}, sylvester.Names()...)},
	} {
		if err := fault.Choice(c.what, c.value, c.have); err != nil {
			return err
		}
	}
	if err := opt.checkAxis(); err != nil {
		return err
	}
	if opt.losses, err = loss.Parse(string(opt.Loss)); err != nil {
		return fault.Mark(err)
	}
	if err := cmp.Or(opt.checkLoss(), opt.checkNoise(gram)); err != nil {
		return err
	}
	if opt.Global && opt.Learn == "" {
		opt.Learn = LearnBoth // what the bound is over
	}
	if opt.Learn == LearnLikelihood {
		switch {
		case opt.Model == ModelProduct:
			return fault.Input("likelihood learns an output kernel for each kernel: it goes with the model sum, " +
				"not with product")
		case opt.Lambda != 0 || opt.Tau != 0 || opt.Norm != "" || opt.Regularizer != nil:
			return fault.Input("likelihood learns the variances of kernels and residuals in the place of λ, τ " +
				"and the norm: leave these out")
		case opt.Global || opt.IntervalFolds > 0 || opt.Checkpoint != "":
			return fault.Input(
				"a fit by likelihood has no global certificate, no interval folds and no checkpoint")
		}
		opt.Model = ModelSum
	}
	if opt.Norm != "" {
		if _, err := regularizer.Parse(string(opt.Norm)); err != nil {
			return fault.Mark(err)
		}
	}
	if opt.Model == ModelSum {
		set := opt.setting()
		if err := set.CheckSum(); err != nil {
			return err
		}
	}
	for _, spec := range opt.Kernels {
		if _, err := kernel.Parse(spec); err != nil {
			return fault.Mark(err)
		}
	}
	return nil
}

// solvers are those that Solver may name, the default one first.
func (opt *Options) solvers() []string {
	if opt.Model == ModelSum {
		return []string{"reduced"}
	}
	return append([]string{"reduced"}, bcd.Solvers()...)
}

// The methods below are the parts of the options that each step of a fit takes.

func (opt *checked) env() learn.Env {
	e := learn.Env{Backend: opt.Backend, Seed: opt.Seed, MaxBytes: opt.MaxBytes, Notify: opt.Notify}
	if opt.Watch != nil {
		e.Watch = func(at learn.Progress) {
			p := idle
			p.Phase, p.Done, p.Left, p.Metric, p.Best = at.Phase, at.Done, at.Left, Metric(at.Metric), at.Best
			opt.Watch(p)
		}
	}
	return e
}

func (opt *checked) columns() columns.Options {
	return columns.Options{
		ScaleInputs:  strings.Contains(string(opt.Standardize), "x"),
		ScaleOutputs: strings.Contains(string(opt.Standardize), "y"),
		Strict:       opt.Missing == MissingError, StrictOutputs: opt.MissingTargets == MissingError,
		InputNames: opt.InputNames, OutputNames: opt.OutputNames,
		Schema: opt.InputSchema, Loss: opt.lead(), FindDelta: opt.Loss == LossHuber, Axis: opt.axis,
	}
}

func (opt *checked) samples() samples.Options {
	return samples.Options{
		Env: opt.env(), Columns: opt.columns(), Groups: opt.Groups, Precision: opt.Precision,
		Exact: opt.Learn == LearnLikelihood,
	}
}

func (opt *checked) setting() learn.Setting {
	s := learn.Setting{
		Kernels: opt.Kernels, Norm: string(opt.Norm), Regularizer: opt.Regularizer,
		Learn: learn.Learned(opt.Learn), Model: learn.Model(opt.Model), Tau: opt.Tau, Lambda: opt.Lambda,
		OutputKernel: opt.OutputKernel,
	}
	if len(opt.losses) > 1 {
		s.Losses = opt.losses
	}
	if opt.compared != nil {
		s.Means = opt.compared.found.Means
	}
	return s
}

func (opt *checked) method() learn.Method {
	return learn.Method{
		Env: opt.env(), Solver: opt.Solver, Sylvester: opt.Sylvester, Tol: opt.Tol, MaxOuter: opt.MaxOuter,
		Trace: opt.Trace, Checkpoint: opt.Checkpoint, Global: opt.Global, HoldOut: opt.IntervalFolds >= 0,
	}
}
