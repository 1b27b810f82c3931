package iokl_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/granger"
	"github.com/iokl/iokl/internal/base/deadline"
	"github.com/iokl/iokl/stream"
)

// counting is a context that is cancelled when it is looked at for the at-th time,
// and counts how often it is looked at after that.
type counting struct {
	context.Context
	cancel context.CancelFunc
	left   atomic.Int64 // looks until it is cancelled
}

func newCounting(t *testing.T, at int64) *counting {
	c := new(counting)
	c.Context, c.cancel = context.WithCancel(t.Context())
	t.Cleanup(c.cancel)
	c.left.Store(at)
	return c
}

func (c *counting) Err() error {
	if c.left.Add(-1) == 0 {
		c.cancel()
	}
	return c.Context.Err()
}

// after is the number of looks after the one that cancelled.
func (c *counting) after() int64 { return max(0, -c.left.Load()) }

// mostLooks is for the pieces of work that are under way, and for the tiles, blocks and
// operations of a decomposition that are passed over, each of which looks once more.
// Zero options look some 100,000 times until they are done.
const mostLooks = 2000

// Cancelled at any look at the context, everything that takes one ends with few more looks.
func TestCancelledAnywhere(t *testing.T) {
	l := 90
	if testing.Short() {
		l = 45
	}
	X, Y := noisy(l, 5, 3)
	Z, _ := noisy(40, 5, 3)
	gram := mat.NewDense(l, l, nil)
	gram.Mul(X, X.T())
	grams := []mat.Matrix{gram, mat.NewDiagDense(l, ones(l))}
	labels := make([]string, l)
	for i := range labels {
		labels[i] = fmt.Sprint(Y.At(i, 0) > 0)
	}
	rows := stream.Rows{Inputs: 5, Outputs: 3, Name: "noise", Open: func() (stream.Source, error) {
		return stream.FromMatrices("noise", X.RawMatrix(), Y.RawMatrix()), nil
	}}
	model, err := iokl.Fit(t.Context(), X, Y, iokl.Options{Kernels: []string{"gaussian:each:median"}, Lambda: .01})
	if err != nil {
		t.Fatal(err)
	}
	made := granger.Lorenz96(4, 80, 10, .1, .1, 1)
	series := &made.Data
	fit := func(opt iokl.Options) func(ctx context.Context) error {
		return func(ctx context.Context) error {
			m, err := iokl.Fit(ctx, X, Y, opt)
			return certified(m, err)
		}
	}
	for name, f := range map[string]func(ctx context.Context) error{
		"zero options": fit(iokl.Options{}),
		"relevance": fit(iokl.Options{
			Kernels: []string{"gaussian:relevant:median", "gaussian:directions:median"},
			Lambda:  .01,
		}),
		"lengths": fit(iokl.Options{Kernels: []string{"gaussian:ard:median", "matern32:ard:median"}, Lambda: .01}),
		"kernels computed anew": fit(iokl.Options{
			Kernels: []string{"gaussian:each:2^-6..2^6"}, Lambda: .01, MaxBytes: int64(l * l * 5 * 13 * 2),
		}),
		"features": fit(iokl.Options{Kernels: []string{"rff:gaussian:all:median:64"}}),
		"landmarks": fit(iokl.Options{Kernels: []string{
			"nystrom:gaussian:all:median:30:uniform",
			"nystrom:gaussian:all:median:20:kmeans",
		}, Lambda: .01}),
		"paper": fit(iokl.Options{
			Kernels: []string{"gaussian:each:median"}, Lambda: 1e-4, Solver: "paper",
			Tol: 1e-8,
		}),
		"classes": func(ctx context.Context) error {
			m, err := iokl.FitClasses(ctx, X, labels, iokl.Options{Kernels: []string{"gaussian:all:median"}})
			return certified(m, err)
		},
		"Gram matrices": func(ctx context.Context) error {
			m, err := iokl.FitGram(ctx, grams, Y, iokl.Options{})
			return certified(m, err)
		},
		"stream": func(ctx context.Context) error {
			m, err := iokl.FitStream(ctx, rows,
				iokl.Options{Kernels: []string{"rff:gaussian:all:median:40"}})
			return certified(m, err)
		},
		"stream without Γ": func(ctx context.Context) error {
			m, err := iokl.FitStream(ctx, rows,
				iokl.Options{
					Kernels: []string{"rff:gaussian:all:median:40"}, Lambda: .01,
					MaxBytes: 1,
				})
			return certified(m, err)
		},
		"cross-validation": func(ctx context.Context) error {
			r, err := iokl.CrossValidate(ctx, X, Y, iokl.Options{
				Kernels: []string{"gaussian:all:median"},
				CV:      iokl.CVOptions{Folds: 4},
			})
			if r != nil && !(r.Chosen().Mean > 0) {
				return fmt.Errorf("chosen: %+v", r.Chosen())
			}
			return err
		},
		"predictions": func(ctx context.Context) error {
			dst := mat.NewDense(40, 3, nil)
			return model.PredictContext(ctx, dst, Z)
		},
		"granger": func(ctx context.Context) error {
			s, err := granger.NewStudy(ctx, series, granger.Options{Lag: 2})
			if err != nil {
				return err
			}
			_, err = s.Stability(ctx, 0, granger.Rounds{To: 4})
			return err
		},
		"granger, vectors": func(ctx context.Context) error {
			_, err := granger.Infer(ctx, series, granger.Options{Lag: 2, Norm: "lp:2"})
			return err
		},
		"granger, features": func(ctx context.Context) error {
			_, err := granger.Infer(ctx, series,
				granger.Options{Lag: 2, Kernels: []string{"rff:gaussian:groups:median:20"}})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			cancelled, most := 0, int64(0)
			for at := int64(1); ; at += at {
				ctx := newCounting(t, at)
				var err error
				deadline.Run(t, time.Minute, func() { err = f(ctx) })
				if ctx.Context.Err() == nil {
					if err != nil {
						t.Errorf("not cancelled: %v", err)
					}
					break
				}
				if !errors.Is(err, context.Canceled) && ctx.after() > 0 {
					t.Fatalf("cancelled at look %d: %v", at, err)
				}
				cancelled++
				most = max(most, ctx.after())
				if ctx.after() > mostLooks {
					t.Errorf("cancelled at look %d, looked at %d times after that, want at most %d", at, ctx.after(),
						mostLooks)
				}
			}
			if cancelled == 0 {
				t.Error("it never looks at its context")
			}
			t.Logf("cancelled %d times, at most %d looks after that", cancelled, most)
		})
	}
}

// A fit with interval folds ends when it is cancelled at any look, between two folds and after the last one too.
func TestCancelledInFolds(t *testing.T) {
	X, Y := noisy(12, 2, 2)
	for at := int64(1); ; at++ {
		ctx := newCounting(t, at)
		m, err := iokl.Fit(ctx, X, Y, iokl.Options{Kernels: []string{"linear:all"}, Lambda: .1, IntervalFolds: 3})
		if ctx.Context.Err() == nil {
			if err != nil || m.IntervalFolds() != 3 {
				t.Errorf("not cancelled: %v", err)
			}
			t.Logf("%d looks", at)
			return
		}
		if err := certified(m, err); !errors.Is(err, context.Canceled) && ctx.after() > 0 || m != nil &&
			m.IntervalFolds() == 3 && err != nil {
			t.Fatalf("cancelled at look %d: %v", at, err)
		}
	}
}

// certified is err, or what is wrong with a model that comes with it.
func certified(m *iokl.Model, err error) error {
	if m == nil {
		return err
	}
	if c := m.Certificate(); math.IsNaN(c.Objective) || !(c.RelativeGap >= 0) {
		return fmt.Errorf("certificate %+v", c)
	}
	return err
}

// noisy is l samples of d inputs and n targets, which depend on two inputs each.
func noisy(l, d, n int) (X, Y *mat.Dense) {
	rng := rand.New(rand.NewPCG(7, uint64(l)))
	x, y := blas.NewGeneral(l, d), blas.NewGeneral(l, n)
	for i := range l {
		row := blas.Row(x, i)
		for j := range row {
			row[j] = rng.NormFloat64()
		}
		for k := range n {
			blas.Row(y, i)[k] = math.Sin(row[k%d]) + row[(k+1)%d]*row[k%d] + .2*rng.NormFloat64()
		}
	}
	return blas.Dense(x), blas.Dense(y)
}

func ones(n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = 1
	}
	return v
}
