// This file offers everything that is asked of one data set, with its kernels built once.

package granger

import (
	"context"

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
		models, err := s.e.fit(ctx, s.e.tasks(s.e.all(), nil, s.lambda))
		if err != nil {
			return nil, err
		}
		found := s.e.result(models)
		if s.e.jointly {
			if found.Joint, err = s.e.joint(ctx); err != nil {
				return nil, err
			}
			blas.AddScaled(found.Graph, 1, found.Joint)
		}
		s.found, s.models = found, models
	}
	return s.found, nil
}

// norms are those of the graph. Of several ranks each fits all nodes for it, as it does
// in the rounds they are compared with: where nothing was shifted both agree in every bit.
func (s *Study) norms(ctx context.Context) (blas.General, error) {
	if _, size := s.e.rank(); size == 1 {
		found, err := s.graph(ctx)
		if err != nil {
			return blas.General{}, err
		}
		return found.Norms, nil
	}
	models, err := s.e.fitHere(ctx, s.e.tasks(s.e.all(), nil, s.lambda))
	if err != nil {
		return blas.General{}, err
	}
	return s.e.result(models).Norms, nil
}

// Infer is the function [Infer] on the data of the study.
func (s *Study) Infer(ctx context.Context) (*Result, error) {
	found, err := s.graph(ctx)
	if err != nil {
		return nil, err
	}
	res := *found
	res.Fits = append([]Fit(nil), found.Fits...)
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
