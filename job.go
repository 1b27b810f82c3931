package iokl

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/stream"
)

// Progress is where a fit stands: in the choice of settings, and then in the iterations of the final fit.
type Progress struct {
	Phase  string        // what is done to choose settings; "" before and after
	Done   float64       // the share of the phase that is done
	Left   time.Duration // about how long the phase will take, at most what the budget leaves; negative: not known
	Metric Metric        // that settings are compared by
	Best   float64       // the best value of it on any fold in this phase; NaN: none yet

	Iteration   int     // outer iteration of the final fit; 0 before
	Objective   float64 // NaN before the final fit
	RelativeGap float64 // certified; NaN before the final fit
}

// idle is the progress of no choice and no fit.
var idle = Progress{Left: -1, Best: math.NaN(), Objective: math.NaN(), RelativeGap: math.NaN()}

// Job is work in a goroutine of its own: a fit that [Start] began, a comparison of settings that [Compare] began, or
// what [Run] was given. Its methods may be called from several goroutines.
type Job[T any] struct {
	stop      context.CancelCauseFunc
	cancelled atomic.Bool
	progress  atomic.Pointer[Progress]
	done      chan struct{}

	result   T // once done is closed
	err      error
	panicked any
}

// Start begins to learn from the data what [Fit] learns, and returns at once. The job reads the data until it has
// ended. It ends with its best model so far when ctx ends, as by Stop. opt.Trace, opt.Notify and opt.Watch are called
// from it.
func Start(ctx context.Context, data Data, opt Options) *Job[*Model] {
	return start(ctx, data, opt, fit)
}

// Compare begins to compare settings as [CrossValidate] does, and returns at once.
//
// Of rows that are streamed the sums are kept apart for each fold: all values of λ, τ and the norm, and every fold,
// come from one pass. A row's fold depends on its number and the seed; with opt.CV.Groups all rows of a group are left
// out together. Scales of the inputs, widths and landmarks are those of all rows. The metric is nmse, mse or rmse.
// Ranks share the folds as they share the rows; when the work of one fails, end the job: the others wait for it.
func Compare(ctx context.Context, data Data, opt Options) *Job[*CVResult] {
	return start(ctx, data, opt, compare)
}

func start[T any](
	ctx context.Context, data Data, opt Options, work func(context.Context, Data, Options) (T, error),
) *Job[T] {
	alive(ctx)
	j := new(Job[T])
	trace, watch := opt.Trace, opt.Watch
	opt.Trace = func(s bcd.Step) error {
		p := idle
		p.Iteration, p.Objective, p.RelativeGap = s.Iter, s.Objective, s.RelativeGap
		j.progress.Store(&p)
		if trace != nil {
			return trace(s)
		}
		return nil
	}
	opt.Watch = func(p Progress) {
		j.progress.Store(&p)
		if watch != nil {
			watch(p)
		}
	}
	return j.run(ctx, func(ctx context.Context) (T, error) { return work(ctx, data, opt) })
}

// Run begins any other work, which ends soon after its ctx does, and returns at once.
func Run[T any](ctx context.Context, work func(ctx context.Context) (T, error)) *Job[T] {
	return new(Job[T]).run(ctx, work)
}

func (j *Job[T]) run(ctx context.Context, work func(ctx context.Context) (T, error)) *Job[T] {
	ctx, j.stop = context.WithCancelCause(ctx)
	j.done = make(chan struct{})
	go func() {
		defer close(j.done)
		defer j.stop(nil)
		defer func() { j.panicked = recover() }()
		j.result, j.err = work(ctx)
	}()
	return j
}

// Done is closed when the work has ended.
func (j *Job[T]) Done() <-chan struct{} { return j.done }

// Result waits for the end of the work and returns what it has made, with the error that ended it early: both may be
// there, as for [Fit]. A panic of the work is one of Result.
func (j *Job[T]) Result() (result T, err error) {
	<-j.done
	switch {
	case j.panicked != nil:
		panic(j.panicked)
	case j.cancelled.Load():
		return result, cmp.Or(j.err, context.Canceled)
	}
	return j.result, j.err
}

// Stop ends the work with the best that it has so far.
func (j *Job[T]) Stop() { j.stop(nil) }

// errDropped is the cause that ends work of which no result is wanted.
var errDropped = fmt.Errorf("%w: no result is wanted", context.Canceled)

// Cancel ends the work without a result.
func (j *Job[T]) Cancel() {
	j.cancelled.Store(true)
	j.stop(errDropped)
}

// Progress is where the work stands.
func (j *Job[T]) Progress() Progress {
	if p := j.progress.Load(); p != nil {
		return *p
	}
	return idle
}

// Fit learns Y (l×n) from X (l×d), a row per sample; NaN is a missing cell. The mean of
// its column stands for one in X. One in Y is left out of the loss, so that the outputs
// observed in a row help those missing there; a row of missing targets is left out as a
// whole. Warnings of the model count them.
//
// A nil error means that the model's certified relative gap is at most opt.Tol. Where that is 0, a gap of up to ten
// times the default is no error either: the certificate's Converged is false then, and a warning of the model has the
// gap.
// A fit that ends before, because it was cancelled, was stopped by Trace, or ran
// out of iterations or of opt.Budget, returns the best model so far, with its gap, and the error:
// the context's, Trace's, or one that wraps [ErrNotConverged]. Where a context has a deadline, the time until then
// is shared out as opt.Budget is. Where one ends while settings are compared, the best of them so far is learned from
// as many rows as a fifth of a second allows; there is no model where none was compared. Warnings say what was left
// out, and how many of the rows were learned from. Data or
// options that make no sense are [ErrInput], matrices beyond opt.MaxBytes
// [ErrMemory], both without a model.
func Fit(ctx context.Context, X, Y mat.Matrix, opt Options) (*Model, error) {
	return fit(ctx, Data{X: X, Y: Y}, opt)
}

// FitClasses learns to tell classes apart: a target of 0 or 1 for each class,
// standardised. The model's Classify gives the class of the largest output. A sample
// without a label, "", is left out.
func FitClasses(ctx context.Context, X mat.Matrix, labels []string, opt Options) (*Model, error) {
	return fit(ctx, classes(X, labels), opt)
}

// FitGram learns Y (l×n) from m Gram matrices (l×l, symmetric, positive
// semidefinite to within rounding) of the caller's. Nothing is standardised
// unless opt.Standardize says so, and opt.Kernels is not used. The model
// predicts from cross-Gram matrices, by PredictGram.
func FitGram(ctx context.Context, grams []mat.Matrix, Y mat.Matrix, opt Options) (*Model, error) {
	return fit(ctx, ofGrams(grams, Y), opt)
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
// opt.Checkpoint keeps the sums when a pass ends early, every rows.CheckpointRows rows, and at its end; a pass goes on
// from where the file's ended. Beside it, ranks write files of their own.
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
func FitStream(ctx context.Context, rows stream.Rows, opt Options) (*Model, error) {
	return fit(ctx, Data{Rows: &rows}, opt)
}

// CrossValidate tries the settings of opt.CV on held-out samples. Inside each
// fold everything is learned from the training part alone: scales, widths,
// model. Along falling λ each fit starts from the one before; folds run in
// parallel, and the result does not depend on how many at once.
//
// Cancelled, it returns what the folds that are complete say, or where none is
// those that were begun, with the context's error; nil before there is anything.
//
// Without kernels, one race finds them: see docs/choosing.md. [Compare] does the same for data other than a table.
func CrossValidate(ctx context.Context, X, Y mat.Matrix, opt Options) (*CVResult, error) {
	return compare(ctx, Data{X: X, Y: Y}, opt)
}

// fit opens the data, chooses the setting where it is open, learns it, and keeps what the options ask for.
func fit(ctx context.Context, data Data, opt Options) (*Model, error) {
	d, c, err := data.open(ctx, opt, opt.Open())
	if err != nil {
		return nil, err
	}
	return c.fit(ctx, d)
}

// compare opens the data and compares the settings that the options leave open.
func compare(ctx context.Context, data Data, opt Options) (*CVResult, error) {
	d, c, err := data.open(ctx, opt, true)
	if err != nil {
		return nil, err
	}
	return c.crossValidate(ctx, d, false)
}
