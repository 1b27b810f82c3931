// Package host is what a program that is not written in Go asks of this module: options and
// answers as JSON, errors as status codes, objects by number, and work that is started,
// watched, cancelled and awaited. Package capi puts C functions on it, and the command takes from it what a [Source] is
// fitted by.
package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/granger"
	"github.com/iokl/iokl/internal/base/screen"
)

// Progress is where the work stands.
type Progress struct {
	iokl.Progress     // of the choice of settings; no Phase before and after
	Lines         int // that Line has not handed out
	Iteration     int // outer iteration of the final fit; 0 before
	Objective     float64
	RelativeGap   float64 // certified; NaN before the final fit
}

// Job is work in a goroutine of its own. Its methods may be called from several goroutines.
type Job struct {
	soft, hard context.CancelFunc // ask for the best so far, for an end at once
	done       chan struct{}

	mu       sync.Mutex
	progress Progress
	lines    []string
	asked    bool // to cancel

	result any // of the work, once done is closed
	err    error
}

// none is the progress of no choice.
var none = iokl.Progress{Left: -1, Best: math.NaN()}

// start runs work. soft ends what can be ended with a result; hard ends all.
func start(work func(soft, hard context.Context, j *Job) (any, error)) *Job {
	hard, endHard := context.WithCancel(context.Background())
	soft, endSoft := context.WithCancel(hard)
	j := &Job{soft: endSoft, hard: endHard, done: make(chan struct{}), progress: Progress{
		Progress: none, RelativeGap: math.NaN(), Objective: math.NaN(),
	}}
	go func() {
		defer close(j.done)
		defer endHard()
		j.err = Guard(func() (err error) {
			j.result, err = work(soft, hard, j)
			return err
		})
	}()
	return j
}

// Wait waits until the work has ended, at most that long; 0 does not wait, a negative time has no limit.
// It tells whether the work has ended.
func (j *Job) Wait(limit time.Duration) bool {
	var after <-chan time.Time
	if limit >= 0 {
		after = time.After(limit)
	}
	select {
	case <-j.done:
		return true
	case <-after:
	}
	select { // it may have ended in the same moment
	case <-j.done:
		return true
	default:
		return false
	}
}

// Cancel asks for the best so far; the second time, for an end at once.
func (j *Job) Cancel() {
	j.mu.Lock()
	again := j.asked
	j.asked = true
	j.mu.Unlock()
	if again {
		j.hard()
		return
	}
	j.soft()
}

// Close ends the work and waits until nothing reads the caller's data any more.
func (j *Job) Close() {
	j.hard()
	<-j.done
}

// Progress is where the work stands.
func (j *Job) Progress() Progress {
	j.mu.Lock()
	defer j.mu.Unlock()
	p := j.progress
	p.Lines = len(j.lines)
	return p
}

// Line shows the next line that the work has said to show, if there is one, and drops it
// when show returns nil and drop is set.
func (j *Job) Line(show func(line string) error, drop bool) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.lines) == 0 {
		return nil
	}
	err := show(j.lines[0])
	if err == nil && drop {
		j.lines = j.lines[1:]
	}
	return err
}

func (j *Job) notify(line string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, screen.Safe(line))
}

func (j *Job) watch(p iokl.Progress) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.progress.Progress = p
}

func (j *Job) step(s bcd.Step) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.progress.Progress = none
	j.progress.Iteration, j.progress.Objective, j.progress.RelativeGap = s.Iter, s.Objective, s.RelativeGap
	return nil
}

// Result is what the work of a Job has made, a T, and the error that it ended with; both may
// be there. It is ErrRunning before the end, and ErrHandle for work that makes no T.
func Result[T any](j *Job) (result T, err error) {
	if !j.Wait(0) {
		return result, ErrRunning
	}
	result, ok := j.result.(T)
	if !ok && j.err == nil {
		return result, fmt.Errorf("%w: this work has another kind of result", ErrHandle)
	}
	return result, j.err
}

// Source is what a model is learned from: X or Grams, and Y or Labels.
type Source struct {
	X, Y   mat.Matrix
	Grams  []mat.Matrix
	Labels []string
}

// check refuses what does not go together.
func (s *Source) check() error {
	if s.Grams != nil && len(s.Grams) == 0 {
		return Input("no Gram matrices")
	}
	rows, _ := s.first().Dims()
	if s.Labels != nil && len(s.Labels) != rows {
		return Input("%d rows of inputs and %d labels", rows, len(s.Labels))
	}
	return nil
}

func (s *Source) first() mat.Matrix {
	if s.Grams != nil {
		return s.Grams[0]
	}
	return s.X
}

// Targets is Y, and the options with the names that labels give to its columns.
func (s *Source) Targets(opt iokl.Options) (mat.Matrix, iokl.Options) {
	if s.Labels == nil {
		return s.Y, opt
	}
	Y, classes := iokl.OneHot(s.Labels)
	if opt.OutputNames == nil {
		opt.OutputNames = classes
	}
	return Y, opt
}

// CrossValidate compares settings as the function CrossValidate does, in the caller's goroutine.
func (s *Source) CrossValidate(ctx context.Context, opt iokl.Options) (*iokl.CVResult, error) {
	switch {
	case s.Grams != nil:
		Y, opt := s.Targets(opt)
		return iokl.CrossValidateGram(ctx, s.Grams, Y, opt)
	case s.Labels != nil:
		return iokl.CrossValidateClasses(ctx, s.X, s.Labels, opt)
	}
	return iokl.CrossValidate(ctx, s.X, s.Y, opt)
}

// Fit fits as the function Fit does, in the caller's goroutine.
func (s *Source) Fit(ctx context.Context, opt iokl.Options) (*iokl.Model, error) {
	switch {
	case s.Grams != nil:
		Y, opt := s.Targets(opt)
		return iokl.FitGram(ctx, s.Grams, Y, opt)
	case s.Labels != nil:
		return iokl.FitClasses(ctx, s.X, s.Labels, opt)
	}
	return iokl.Fit(ctx, s.X, s.Y, opt)
}

// Fit starts a fit, whose result is a *iokl.Model: what the command fit does.
func Fit(s Source, opt iokl.Options) *Job {
	return start(func(soft, hard context.Context, j *Job) (any, error) {
		if err := s.check(); err != nil {
			return nil, err
		}
		opt.Trace, opt.Notify, opt.Watch = j.step, j.notify, j.watch
		m, err := s.Fit(soft, opt)
		if hard.Err() != nil {
			return nil, err
		}
		return m, err
	})
}

// CrossValidate starts a comparison of settings, whose result is a *iokl.CVResult.
func CrossValidate(s Source, opt iokl.Options) *Job {
	return start(func(soft, _ context.Context, j *Job) (any, error) {
		if err := s.check(); err != nil {
			return nil, err
		}
		opt.Notify, opt.Watch = j.notify, j.watch
		return s.CrossValidate(soft, opt)
	})
}

// Graph starts the search for a causal graph, whose result is a *granger.Result.
func Graph(X mat.Matrix, options string) *Job {
	return start(func(soft, _ context.Context, j *Job) (any, error) {
		d, opt, err := GrangerOptions(options, blas.Raw(X))
		if err != nil {
			return nil, err
		}
		for _, note := range d.Notes {
			j.notify(note)
		}
		return granger.Infer(soft, d, opt)
	})
}

// JSON is the result of a comparison or of a graph in words.
func (j *Job) JSON() ([]byte, error) {
	r, err := Result[json.Marshaler](j)
	if c, e := Result[*iokl.CVResult](j); c != nil {
		return marshal(c, e)
	}
	return marshal(r, err)
}

// marshal is v as JSON where the work has ended without error.
func marshal(v any, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	b, err := json.Marshal(v)
	if large := (*json.UnsupportedValueError)(nil); errors.As(err, &large) {
		err = Input("the result holds %s: rescale the data", large.Str)
	}
	return b, err
}
