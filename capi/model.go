//go:build cgo

package main

/*
#define IOKL_TYPES_ONLY
#include "iokl.h"
*/
import "C"

import (
	"bytes"
	"context"
	"errors"
	"math"
	"unsafe"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/host"
	"github.com/iokl/iokl/linop"
)

//export iokl_model_load
func iokl_model_load(path *C.char, at *C.iokl_handle, e *C.iokl_error) C.iokl_status {
	return made(at, "model", e, func() (*iokl.Model, error) {
		if err := given(path, "path"); err != nil {
			return nil, err
		}
		return iokl.Load(text(path))
	})
}

//export iokl_model_save
func iokl_model_save(h C.iokl_handle, path *C.char, e *C.iokl_error) C.iokl_status {
	return with(h, e, func(m *host.Model) error {
		if err := given(path, "path"); err != nil {
			return err
		}
		return m.Save(text(path))
	})
}

//export iokl_model_decode
func iokl_model_decode(from unsafe.Pointer, size C.size_t, at *C.iokl_handle, e *C.iokl_error) C.iokl_status {
	return made(at, "model", e, func() (*iokl.Model, error) {
		if from == nil || uint64(size) > math.MaxInt64/2 {
			return nil, host.Input("%d bytes at %v", uint64(size), from)
		}
		return iokl.Decode(bytes.NewReader(unsafe.Slice((*byte)(from), int(size))), int64(size))
	})
}

//export iokl_model_encode
func iokl_model_encode(
	h C.iokl_handle, to unsafe.Pointer, capacity C.size_t, needed *C.size_t, e *C.iokl_error,
) C.iokl_status {
	return with(h, e, func(m *host.Model) error {
		b, err := m.Bytes()
		if err != nil {
			return err
		}
		err = copyOut(to, capacity, needed, b, false)
		if err == nil && to != nil {
			m.Drop()
		}
		return err
	})
}

//export iokl_model_update
func iokl_model_update(
	h C.iokl_handle, X, Y *C.iokl_matrix, options *C.char, at *C.iokl_handle, e *C.iokl_error,
) C.iokl_status {
	return made(at, "updated", e, func() (*iokl.Model, error) {
		m, err := host.Get[*host.Model](&objects, uint64(h))
		if err != nil {
			return nil, err
		}
		opt, err := host.UpdateOptions(text(options))
		if err != nil {
			return nil, err
		}
		s := iokl.Data{X: strided{}, Y: strided{}}
		if X != nil || Y != nil {
			if s, err = source(X, Y); err != nil {
				return nil, err
			}
		}
		return m.Update(context.Background(), s.X, s.Y, opt)
	})
}

//export iokl_model_at
func iokl_model_at(h C.iokl_handle, points *C.iokl_matrix, at *C.iokl_handle, e *C.iokl_error) C.iokl_status {
	return made(at, "at", e, func() (*iokl.Model, error) {
		m, err := host.Get[*host.Model](&objects, uint64(h))
		if err != nil {
			return nil, err
		}
		p, err := matrix(points, "points")
		if err != nil {
			return nil, err
		}
		return m.At(p)
	})
}

//export iokl_model_prepare
func iokl_model_prepare(h C.iokl_handle, e *C.iokl_error) C.iokl_status {
	return with(h, e, func(m *host.Model) error { return m.Prepare(context.Background()) })
}

//export iokl_model_free
func iokl_model_free(h C.iokl_handle, e *C.iokl_error) C.iokl_status {
	return call(e, func() error {
		_, err := host.Take[*host.Model](&objects, uint64(h))
		return err
	})
}

//export iokl_model_json
func iokl_model_json(
	h C.iokl_handle, buffer *C.char, capacity C.size_t, needed *C.size_t, e *C.iokl_error,
) C.iokl_status {
	return jsonOf[*host.Model](h, buffer, capacity, needed, e)
}

//export iokl_model_size
func iokl_model_size(h C.iokl_handle, s *C.iokl_model_sizes, e *C.iokl_error) C.iokl_status {
	return with(h, e, func(m *host.Model) error {
		if err := sized(unsafe.Pointer(s), C.sizeof_iokl_model_sizes, "sizes"); err != nil {
			return err
		}
		s.inputs, s.outputs = C.int64_t(len(m.InputNames())), C.int64_t(len(m.OutputNames()))
		s.kernels, s.learned = C.int64_t(len(m.Eta())), C.int64_t(m.OutputKernel().Dim())
		s.samples = C.int64_t(m.Certificate().Samples)
		return nil
	})
}

//export iokl_model_certificate
func iokl_model_certificate(h C.iokl_handle, c *C.iokl_certificate, e *C.iokl_error) C.iokl_status {
	return with(h, e, func(m *host.Model) error {
		if err := sized(unsafe.Pointer(c), C.sizeof_iokl_certificate, "certificate"); err != nil {
			return err
		}
		from := m.Certificate()
		*c = C.iokl_certificate{
			size: c.size, objective: C.double(from.Objective), gap_eta: C.double(from.GapEta),
			gap_l: C.double(from.GapL), relative_gap: C.double(from.RelativeGap), lower_bound: C.double(math.NaN()),
			global_gap: C.double(math.NaN()), observed_cells: C.int64_t(from.ObservedCells), tol: C.double(from.Tol),
			lambda: C.double(from.Lambda), tau: C.double(from.Tau), outer_iterations: C.int64_t(from.OuterIterations),
			sylvester_solves: C.int64_t(from.SylvesterSolves), kernel_multiplies: C.int64_t(from.KernelMultiplies),
		}
		if g := from.GlobalBound; g != nil {
			c.lower_bound, c.global_gap = C.double(g.LowerBound), C.double(g.GlobalGap)
		}
		if from.Converged {
			c.converged = 1
		}
		return nil
	})
}

//export iokl_model_weights
func iokl_model_weights(h C.iokl_handle, eta *C.double, kernels C.int64_t, e *C.iokl_error) C.iokl_status {
	return with(h, e, func(m *host.Model) error {
		w := m.Eta()
		if eta == nil || int(kernels) != len(w) {
			return host.Input("room for %d weights of %d kernels", kernels, len(w))
		}
		copy(unsafe.Slice((*float64)(eta), len(w)), w)
		return nil
	})
}

//export iokl_model_output_kernel
func iokl_model_output_kernel(h C.iokl_handle, L *C.iokl_matrix, e *C.iokl_error) C.iokl_status {
	return with(h, e, func(m *host.Model) error {
		return giveKernel(L, m.OutputKernel())
	})
}

//export iokl_model_output_kernel_of
func iokl_model_output_kernel_of(h C.iokl_handle, kernel C.int64_t, L *C.iokl_matrix, e *C.iokl_error) C.iokl_status {
	return with(h, e, func(m *host.Model) error {
		all := m.OutputKernels()
		switch {
		case all == nil:
			return host.Input("the model has one output kernel for all kernels: it is no sum")
		case kernel < 0 || int(kernel) >= len(all):
			return host.Input("kernel %d of %d", kernel, len(all))
		}
		return giveKernel(L, all[kernel])
	})
}

// giveKernel writes an output kernel to the caller's memory.
func giveKernel(m *C.iokl_matrix, L *linop.Spectral) error {
	return fill(m, "L", L.Dim(), L.Dim(), func(dst *mat.Dense) error {
		L.Dense(blas.Active(), dst.RawMatrix())
		return nil
	})
}

// place is where a result goes.
type place struct {
	m    *C.iokl_matrix
	name string
}

// give copies results to their places.
func give(to []place, from ...*mat.Dense) error {
	var all error
	for k, F := range from {
		rows, cols := F.Dims()
		all = errors.Join(all, fill(to[k].m, to[k].name, rows, cols, func(dst *mat.Dense) error {
			dst.Copy(F)
			return nil
		}))
	}
	return all
}

// predict copies the results of the function of on the matrices to the caller's memory.
func predict(
	h C.iokl_handle, e *C.iokl_error, from func() ([]mat.Matrix, error),
	of func(m *host.Model, from []mat.Matrix) ([]*mat.Dense, error), to ...place,
) C.iokl_status {
	return with(h, e, func(m *host.Model) error {
		list, err := from()
		if err != nil {
			return err
		}
		F, err := of(m, list)
		if err != nil {
			return err
		}
		return give(to, F...)
	})
}

// inputs are the rows of X, grams the cross-Gram matrices KX, to predict from.
func inputs(X *C.iokl_matrix) func() ([]mat.Matrix, error) {
	return func() ([]mat.Matrix, error) {
		x, err := matrix(X, "X")
		if err != nil {
			return nil, err
		}
		if rows, cols := x.Dims(); rows == 0 || cols == 0 {
			return nil, host.Input("X is %d×%d: there is nothing to predict from", rows, cols)
		}
		return []mat.Matrix{x}, nil
	}
}

func grams(KX *C.iokl_matrix, kernels C.int64_t) func() ([]mat.Matrix, error) {
	return func() ([]mat.Matrix, error) { return matrices(KX, kernels, "KX") }
}

// one is the single result of a method.
func one(F *mat.Dense, err error) ([]*mat.Dense, error) { return []*mat.Dense{F}, err }

// bounds are predictions and the ends of their intervals.
func bounds(r *iokl.Intervals, err error) ([]*mat.Dense, error) {
	if err != nil {
		return nil, err
	}
	return []*mat.Dense{r.Predictions, r.Low, r.High}, nil
}

//export iokl_predict
func iokl_predict(h C.iokl_handle, X, F *C.iokl_matrix, e *C.iokl_error) C.iokl_status {
	return predict(h, e, inputs(X), func(m *host.Model, x []mat.Matrix) ([]*mat.Dense, error) {
		return one(m.Predict(x[0]))
	}, place{F, "F"})
}

//export iokl_predict_probabilities
func iokl_predict_probabilities(h C.iokl_handle, X, P *C.iokl_matrix, e *C.iokl_error) C.iokl_status {
	return predict(h, e, inputs(X), func(m *host.Model, x []mat.Matrix) ([]*mat.Dense, error) {
		return one(m.PredictProba(x[0]))
	}, place{P, "P"})
}

//export iokl_predict_interval
func iokl_predict_interval(
	h C.iokl_handle, X *C.iokl_matrix, options *C.char, F, low, high *C.iokl_matrix, e *C.iokl_error,
) C.iokl_status {
	return predict(h, e, inputs(X), func(m *host.Model, x []mat.Matrix) ([]*mat.Dense, error) {
		opt, err := host.IntervalOptions(text(options))
		if err != nil {
			return nil, err
		}
		return bounds(m.PredictInterval(context.Background(), x[0], opt))
	}, place{F, "F"}, place{low, "low"}, place{high, "high"})
}

//export iokl_predict_deviation
func iokl_predict_deviation(h C.iokl_handle, X, S *C.iokl_matrix, e *C.iokl_error) C.iokl_status {
	return predict(h, e, inputs(X), func(m *host.Model, x []mat.Matrix) ([]*mat.Dense, error) {
		return one(m.PredictDeviation(context.Background(), x[0]))
	}, place{S, "S"})
}

//export iokl_predict_noise
func iokl_predict_noise(h C.iokl_handle, X, S *C.iokl_matrix, e *C.iokl_error) C.iokl_status {
	return predict(h, e, inputs(X), func(m *host.Model, x []mat.Matrix) ([]*mat.Dense, error) {
		return one(m.PredictNoise(context.Background(), x[0]))
	}, place{S, "S"})
}

//export iokl_predict_sets
func iokl_predict_sets(
	h C.iokl_handle, X *C.iokl_matrix, level C.double, P, sets *C.iokl_matrix, e *C.iokl_error,
) C.iokl_status {
	return predict(h, e, inputs(X), func(m *host.Model, x []mat.Matrix) ([]*mat.Dense, error) {
		r, err := m.PredictSets(context.Background(), x[0], float64(level))
		if err != nil {
			return nil, err
		}
		return []*mat.Dense{r.Probabilities, m.Indicators(r.Sets)}, nil
	}, place{P, "P"}, place{sets, "sets"})
}

//export iokl_predict_interval_gram
func iokl_predict_interval_gram(
	h C.iokl_handle, KX *C.iokl_matrix, kernels C.int64_t, options *C.char, F, low, high *C.iokl_matrix,
	e *C.iokl_error,
) C.iokl_status {
	return predict(h, e, grams(KX, kernels), func(m *host.Model, KX []mat.Matrix) ([]*mat.Dense, error) {
		opt, err := host.IntervalOptions(text(options))
		if err != nil {
			return nil, err
		}
		return bounds(m.PredictIntervalGram(context.Background(), KX, opt))
	}, place{F, "F"}, place{low, "low"}, place{high, "high"})
}

//export iokl_predict_gram
func iokl_predict_gram(
	h C.iokl_handle, KX *C.iokl_matrix, m C.int64_t, F *C.iokl_matrix, e *C.iokl_error,
) C.iokl_status {
	return predict(h, e, grams(KX, m), func(m *host.Model, KX []mat.Matrix) ([]*mat.Dense, error) {
		return one(m.PredictGram(KX))
	}, place{F, "F"})
}

//export iokl_predict_probabilities_gram
func iokl_predict_probabilities_gram(
	h C.iokl_handle, KX *C.iokl_matrix, m C.int64_t, P *C.iokl_matrix, e *C.iokl_error,
) C.iokl_status {
	return predict(h, e, grams(KX, m), func(m *host.Model, KX []mat.Matrix) ([]*mat.Dense, error) {
		return one(m.PredictProbaGram(KX))
	}, place{P, "P"})
}
