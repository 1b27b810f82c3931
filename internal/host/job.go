// Package host serves programs that are not written in Go. It takes options and returns
// results as JSON, turns errors into status codes, keeps objects by number, and runs jobs
// that can be watched, cancelled and awaited. Package capi has C functions on top of it.
package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/granger"
	"github.com/iokl/iokl/internal/base/screen"
)

// work is an [iokl.Job] of any result.
type work interface {
	Done() <-chan struct{}
	Stop()
	Cancel()
	Progress() iokl.Progress
}

// Job is work in the background, and its messages. Its methods may be called from several goroutines.
type Job struct {
	work
	mu    sync.Mutex
	lines []string
	asked bool // to cancel
}

// Wait waits until the work has ended, at most that long; 0 does not wait, a negative time has no limit.
// It tells whether the work has ended.
func (j *Job) Wait(limit time.Duration) bool {
	var after <-chan time.Time
	if limit >= 0 {
		after = time.After(limit)
	}
	select {
	case <-j.Done():
		return true
	case <-after:
	}
	select { // it may have ended in the same moment
	case <-j.Done():
		return true
	default:
		return false
	}
}

// Cancel asks for the best so far; the second time, for an end without a result.
func (j *Job) Cancel() {
	j.mu.Lock()
	again := j.asked
	j.asked = true
	j.mu.Unlock()
	if again {
		j.work.Cancel()
		return
	}
	j.Stop()
}

// Close ends the work and waits until nothing reads the caller's data any more.
func (j *Job) Close() {
	j.work.Cancel()
	<-j.Done()
}

// Lines is the number of lines that Line has not handed out.
func (j *Job) Lines() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.lines)
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

// Result is what the work of a Job has made, a T, and the error that it ended with; both may
// be there. It is ErrRunning before the end, and ErrHandle for work that makes no T.
func Result[T any](j *Job) (result T, err error) {
	if !j.Wait(0) {
		return result, ErrRunning
	}
	w, ok := j.work.(*iokl.Job[T])
	if !ok {
		return result, fmt.Errorf("%w: this work has another kind of result", ErrHandle)
	}
	return w.Result()
}

// Fit starts a fit, whose result is a *iokl.Model: what the command fit does.
func Fit(data iokl.Data, opt iokl.Options) *Job {
	j := new(Job)
	opt.Notify = j.notify
	j.work = iokl.Start(context.Background(), data, opt)
	return j
}

// CrossValidate starts a comparison of settings, whose result is a *iokl.CVResult.
func CrossValidate(data iokl.Data, opt iokl.Options) *Job {
	j := new(Job)
	opt.Notify = j.notify
	j.work = iokl.Compare(context.Background(), data, opt)
	return j
}

// Graph starts the search for a causal graph, whose result is a *granger.Result.
func Graph(X mat.Matrix, options string) *Job {
	j := new(Job)
	j.work = iokl.Run(context.Background(), func(ctx context.Context) (*granger.Result, error) {
		d, opt, err := GrangerOptions(options, blas.Raw(X))
		if err != nil {
			return nil, err
		}
		for _, note := range d.Notes {
			j.notify(note)
		}
		return granger.Infer(ctx, d, opt)
	})
	return j
}

// JSON is the result of a comparison or of a graph in words.
func (j *Job) JSON() ([]byte, error) {
	if r, err := Result[*granger.Result](j); !errors.Is(err, ErrHandle) {
		return marshal(r, err)
	}
	return marshal(Result[*iokl.CVResult](j))
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
