//go:build cgo

package main

/*
#define IOKL_TYPES_ONLY
#include "iokl.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"math"
	"time"
	"unsafe"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/granger"
	"github.com/iokl/iokl/internal/host"
)

// source is X and Y.
func source(X, Y *C.iokl_matrix) (s iokl.Data, err error) {
	s.X, err = matrix(X, "X")
	var errY error
	s.Y, errY = matrix(Y, "Y")
	return s, errors.Join(err, errY)
}

//export iokl_fit
func iokl_fit(X, Y *C.iokl_matrix, options *C.char, at *C.iokl_handle, e *C.iokl_error) C.iokl_status {
	return learn(options, at, e, host.Fit, func() (iokl.Data, error) { return source(X, Y) })
}

//export iokl_cross_validate
func iokl_cross_validate(X, Y *C.iokl_matrix, options *C.char, at *C.iokl_handle, e *C.iokl_error) C.iokl_status {
	return learn(options, at, e, host.CrossValidate, func() (iokl.Data, error) { return source(X, Y) })
}

// learn reads the data and the options, and hands out the job that begin starts on them.
func learn(
	options *C.char, at *C.iokl_handle, e *C.iokl_error, begin func(iokl.Data, iokl.Options) *host.Job,
	data func() (iokl.Data, error),
) C.iokl_status {
	return call(e, func() error {
		s, err := data()
		if err != nil {
			return err
		}
		if err := given(at, "job"); err != nil {
			return err
		}
		opt, err := host.FitOptions(text(options))
		if err == nil {
			put(at, begin(s, opt))
		}
		return err
	})
}

//export iokl_fit_classes
func iokl_fit_classes(
	X *C.iokl_matrix, codes *C.int64_t, rows C.int64_t, classes **C.char, n C.int64_t, options *C.char,
	at *C.iokl_handle, e *C.iokl_error,
) C.iokl_status {
	return learn(options, at, e, host.Fit, func() (s iokl.Data, err error) {
		if s.X, err = matrix(X, "X"); err == nil {
			s.Labels, err = labels(codes, rows, classes, n)
		}
		return s, err
	})
}

// labels names the class of every row.
func labels(codes *C.int64_t, rows C.int64_t, classes **C.char, n C.int64_t) ([]string, error) {
	if codes == nil || classes == nil || rows < 1 || n < 1 || max(rows, n) > math.MaxInt32 {
		return nil, host.Input("%d labels of %d classes", rows, n)
	}
	names := make([]string, n)
	for k, name := range unsafe.Slice(classes, n) {
		if name == nil {
			return nil, host.Input("the name of class %d is NULL", k)
		}
		names[k] = C.GoString(name)
	}
	list := make([]string, rows)
	for i, code := range unsafe.Slice(codes, rows) {
		if code < 0 || code >= n {
			return nil, host.Input("row %d is of class %d: there are %d", i, code, n)
		}
		list[i] = names[code]
	}
	return list, nil
}

//export iokl_fit_gram
func iokl_fit_gram(
	grams *C.iokl_matrix, m C.int64_t, Y *C.iokl_matrix, options *C.char, at *C.iokl_handle, e *C.iokl_error,
) C.iokl_status {
	return learn(options, at, e, host.Fit, func() (s iokl.Data, err error) {
		if s.Grams, err = matrices(grams, m, "grams"); err == nil {
			s.Y, err = matrix(Y, "Y")
		}
		return s, err
	})
}

//export iokl_granger
func iokl_granger(series *C.iokl_matrix, options *C.char, at *C.iokl_handle, e *C.iokl_error) C.iokl_status {
	return call(e, func() error {
		X, err := matrix(series, "series")
		if err != nil {
			return err
		}
		if r, c := X.Dims(); r == 0 || c == 0 {
			return host.Input("the series are %d×%d", r, c)
		}
		if err := given(at, "job"); err != nil {
			return err
		}
		put(at, host.Graph(X, text(options)))
		return nil
	})
}

//export iokl_job_wait
func iokl_job_wait(h C.iokl_handle, milliseconds C.int32_t, e *C.iokl_error) C.iokl_status {
	return with(h, e, func(j *host.Job) error {
		if !j.Wait(time.Duration(milliseconds) * time.Millisecond) {
			return host.ErrRunning
		}
		return nil
	})
}

//export iokl_job_progress
func iokl_job_progress(h C.iokl_handle, p *C.iokl_progress, e *C.iokl_error) C.iokl_status {
	return with(h, e, func(j *host.Job) error {
		if err := sized(unsafe.Pointer(p), C.sizeof_iokl_progress, "progress"); err != nil {
			return err
		}
		at := j.Progress()
		p.iteration, p.lines = C.int64_t(at.Iteration), C.int64_t(j.Lines())
		chars(p.phase[:], at.Phase)
		p.done, p.seconds_left, p.best = C.double(at.Done), C.double(at.Left.Seconds()), C.double(at.Best)
		p.objective, p.relative_gap = C.double(at.Objective), C.double(at.RelativeGap)
		return nil
	})
}

//export iokl_job_line
func iokl_job_line(
	h C.iokl_handle, buffer *C.char, capacity C.size_t, needed *C.size_t, e *C.iokl_error,
) C.iokl_status {
	return with(h, e, func(j *host.Job) error {
		if err := given(needed, "needed"); err != nil {
			return err
		}
		*needed = 0
		return j.Line(func(line string) error {
			return copyOut(unsafe.Pointer(buffer), capacity, needed, []byte(line), true)
		}, buffer != nil)
	})
}

//export iokl_job_cancel
func iokl_job_cancel(h C.iokl_handle, e *C.iokl_error) C.iokl_status {
	return with(h, e, func(j *host.Job) error {
		j.Cancel()
		return nil
	})
}

//export iokl_job_model
func iokl_job_model(h C.iokl_handle, at *C.iokl_handle, e *C.iokl_error) C.iokl_status {
	return made(at, "model", e, func() (*iokl.Model, error) {
		j, err := host.Get[*host.Job](&objects, uint64(h))
		if err != nil {
			return nil, err
		}
		return host.Result[*iokl.Model](j)
	})
}

//export iokl_job_json
func iokl_job_json(
	h C.iokl_handle, buffer *C.char, capacity C.size_t, needed *C.size_t, e *C.iokl_error,
) C.iokl_status {
	return jsonOf[*host.Job](h, buffer, capacity, needed, e)
}

//export iokl_job_graph
func iokl_job_graph(h C.iokl_handle, graph *C.iokl_matrix, e *C.iokl_error) C.iokl_status {
	return with(h, e, func(j *host.Job) error {
		r, err := host.Result[*granger.Result](j)
		if err != nil {
			return err
		}
		return fill(graph, "graph", r.Graph.Rows, r.Graph.Cols, func(dst *mat.Dense) error {
			blas.Copy(dst.RawMatrix(), r.Graph)
			return nil
		})
	})
}

//export iokl_job_free
func iokl_job_free(h C.iokl_handle, e *C.iokl_error) C.iokl_status {
	return call(e, func() error {
		j, err := host.Take[*host.Job](&objects, uint64(h))
		if err != nil {
			return fmt.Errorf("iokl_job_free: %w", err)
		}
		j.Close()
		return nil
	})
}
