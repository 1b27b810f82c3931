// This file offers everything that is asked of one data set, with its kernels built once.

package granger

import (
	"context"
	"slices"

	"github.com/iokl/iokl/blas"
)

// Study is a data set with its kernels, which are built once for everything that
// is asked of it: the graph, and how sure it is. It serves one goroutine.
type Study struct {
	e      *engine
	lambda []float64 // of each node
	found  *Result   // the fits to all samples, without hold-out
	models []model   // behind it
}

// NewStudy checks data and options, builds the kernels, and chooses λ where Options.Lambdas
// leaves a choice. Its errors are those of [Infer].
func NewStudy(ctx context.Context, d *Data, opt Options) (*Study, error) {
	e, err := start(ctx, d, opt)
	if err != nil {
		return nil, err
	}
	lambda, err := e.chooseLambda(ctx)
	if err != nil {
		return nil, err
	}
	return &Study{e: e, lambda: lambda}, nil
}

// graph fits to all samples, once.
func (s *Study) graph(ctx context.Context) (*Result, error) {
	if s.found == nil {
		tasks := s.e.tasks(s.e.all(), nil, s.lambda)
		models, err := s.e.fit(ctx, tasks)
		if err != nil {
			return nil, err
		}
		if s.found, err = s.e.complete(ctx, models, tasks, jointSamples); err != nil {
			return nil, err
		}
		s.models = models
	}
	return s.found, nil
}

// complete is the graph of models of the tasks, which are those of all nodes, with the
// kernel on all nodes fitted to at most so many samples.
func (e *engine) complete(ctx context.Context, models []model, tasks []task, samples int) (*Result, error) {
	res := e.result(models)
	if !e.jointly {
		return res, nil
	}
	var err error
	if res.Joint, err = e.joint(ctx, tasks, samples); err != nil {
		return nil, err
	}
	blas.AddScaled(res.Graph, 1, res.Joint)
	if res.Relaxing = e.beliefs != nil; res.Relaxing && tasks[0].Y.Rows == 0 {
		err = e.relax(ctx, res.Graph, tasks[0].idx)
	}
	return res, err
}

// round fits the tasks of all nodes for a round of a resampling, in this process.
func (e *engine) round(ctx context.Context, tasks []task) (*Result, error) {
	models, err := e.fitHere(ctx, tasks)
	if err != nil {
		return nil, err
	}
	return e.complete(ctx, models, tasks, jointResampled)
}

// sizes are Norms + Joint: what [Study.Null] compares. Weights alone do not serve, as
// those of a target have the same sum whatever it is driven by.
func (r *Result) sizes() blas.General {
	sum := blas.Clone(r.Norms)
	blas.AddScaled(sum, 1, r.Joint)
	return sum
}

// Infer is the function [Infer] on the data of the study.
func (s *Study) Infer(ctx context.Context) (*Result, error) {
	found, err := s.graph(ctx)
	if err != nil {
		return nil, err
	}
	res := *found
	res.Fits = slices.Clone(found.Fits)
	return &res, s.e.holdOut(ctx, &res, s.lambda)
}

// Infer fits a model to every node and returns the graph. The kernels are built
// once; fits run in parallel. A fit that ends at MaxIter above Tol is no error: its RelativeGap says so.
//
// Errors wrap ErrGap, ErrConstant, ErrShort, ErrUnknown, ErrDuplicate, ErrOption,
// ErrMemory, ctx's, or those of the packages kernel and bcd.
func Infer(ctx context.Context, d *Data, opt Options) (*Result, error) {
	s, err := NewStudy(ctx, d, opt)
	if err != nil {
		return nil, err
	}
	return s.Infer(ctx)
}
