package iokl_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/par"
)

// paced is a backend that does so many operations a second, and nothing else takes time. It finishes what it has begun.
type paced struct {
	blas.Backend
	rate float64
}

func (b paced) spend(operations float64) {
	time.Sleep(time.Duration(operations / b.rate * float64(time.Second)))
}

func (b paced) Potrf(a blas.General) bool {
	b.spend(cube(a.Rows) / 3)
	return b.Backend.Potrf(a)
}

func (b paced) Potri(a blas.General) {
	b.spend(cube(a.Rows) * 2 / 3)
	b.Backend.Potri(a)
}

func (b paced) Syevd(a blas.General, w []float64) error {
	b.spend(9 * cube(a.Rows))
	return b.Backend.Syevd(a, w)
}

func (b paced) Sytrd(a blas.General, d, e, tau []float64) {
	b.spend(cube(a.Rows) * 4 / 3)
	b.Backend.Sytrd(a, d, e, tau)
}

func (b paced) NewPacked(n int, prec blas.Precision) blas.Packed {
	return pacedMatrix{b.Backend.NewPacked(n, prec), b, float64(n)}
}

type pacedMatrix struct {
	blas.Packed
	of paced
	n  float64
}

func (p pacedMatrix) Mul(dst, x blas.General) {
	p.of.spend(2 * p.n * p.n * float64(x.Cols))
	p.Packed.Mul(dst, x)
}

func cube(n int) float64 { return math.Pow(float64(n), 3) }

// TestTimeIsShared fits on a machine on which everything takes far longer than the budget, or than the context lasts:
// there is a model when the time is spent, which says what it is of. The time of the test goes on only where all wait.
func TestTimeIsShared(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	const limit = 20 * time.Second
	X, Y := noisy(600, 4, 2)
	holes := mat.DenseCopyOf(Y)
	for i := range 600 {
		if i%3 == 0 {
			holes.Set(i, i%2, math.NaN())
		}
	}
	labels := make([]string, 600)
	for i := range labels {
		labels[i] = fmt.Sprint(Y.At(i, 0) > 0)
	}
	gram := mat.NewDense(600, 600, nil)
	gram.Mul(X, X.T())
	grams := []mat.Matrix{gram, mat.NewDiagDense(600, ones(600))}
	rows := func(Y mat.Matrix) func(context.Context, iokl.Options) (*iokl.Model, error) {
		return func(ctx context.Context, opt iokl.Options) (*iokl.Model, error) { return iokl.Fit(ctx, X, Y, opt) }
	}
	for _, c := range []struct {
		name string
		rate float64
		opt  iokl.Options
		fit  func(context.Context, iokl.Options) (*iokl.Model, error)
	}{
		{"zero options", 1e8, iokl.Options{}, rows(Y)},
		{"slower", 1e7, iokl.Options{}, rows(Y)},
		{"settings given", 1e7, iokl.Options{Kernels: []string{"gaussian:each:1,2"}, Lambda: 1e-3}, rows(Y)},
		{"lengths", 1e7, iokl.Options{Kernels: []string{"gaussian:ard:median"}, Lambda: 1e-3}, rows(Y)},
		{"missing targets", 1e8, iokl.Options{}, rows(holes)},
		{"huber", 1e8, iokl.Options{Loss: "huber"}, rows(Y)},
		{"quantiles", 1e8, iokl.Options{Loss: "quantile:.1,.5,.9"}, rows(Y)},
		{"noise", 1e8, iokl.Options{LearnNoise: true}, rows(Y)},
		{"interval folds", 1e8, iokl.Options{IntervalFolds: 5}, rows(Y)},
		{"classes", 1e8, iokl.Options{}, func(ctx context.Context, opt iokl.Options) (*iokl.Model, error) {
			return iokl.FitClasses(ctx, X, labels, opt)
		}},
		{"Gram matrices", 1e8, iokl.Options{}, func(ctx context.Context, opt iokl.Options) (*iokl.Model, error) {
			return iokl.FitGram(ctx, grams, Y, opt)
		}},
		{"comparison, then fit", 1e8, iokl.Options{}, func(ctx context.Context, opt iokl.Options) (*iokl.Model, error) {
			opt.Budget /= 2
			r, err := iokl.CrossValidate(ctx, X, Y, opt)
			if r == nil {
				return nil, err
			}
			return r.Fit(ctx)
		}},
	} {
		for _, by := range []string{"budget", "deadline"} {
			t.Run(c.name+", "+by, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					par.SetThreads(1)
					defer par.SetThreads(0)
					opt, ctx := c.opt, t.Context()
					opt.Backend = paced{blas.NewNative(), c.rate}
					if by == "budget" {
						opt.Budget = iokl.Budget(limit)
					} else {
						var cancel context.CancelFunc
						ctx, cancel = context.WithTimeout(ctx, limit)
						defer cancel()
					}
					start := time.Now()
					m, err := c.fit(ctx, opt)
					took := time.Since(start)
					t.Logf("%v: %v", took, err)
					if m == nil || took > limit+limit/5 {
						t.Fatalf("a model %t after %v: %v", m != nil, took, err)
					}
					at := m.Certificate()
					part := slices.ContainsFunc(m.Warnings(), func(w string) bool {
						return strings.Contains(w, fmt.Sprintf("learned from %d of 600 samples", at.Samples))
					})
					if err := certified(m, nil); err != nil || at.Samples < 600 != part {
						t.Errorf("%v, of %d samples, warnings %q", err, at.Samples, m.Warnings())
					}
					if c.opt.Lambda > 0 && math.Abs(at.Lambda*float64(at.Samples)/(c.opt.Lambda*600)-1) > 1e-12 {
						t.Errorf("λ = %g of %d samples", at.Lambda, at.Samples)
					}
					switch {
					case err == nil && part:
						t.Error("a model of a part of the samples without an error")
					case err == nil:
					case by == "budget" && !(errors.Is(err, iokl.ErrBudget) && errors.Is(err, bcd.ErrNotConverged)),
						by == "deadline" && !errors.Is(err, context.DeadlineExceeded):
						t.Errorf("%v", err)
					}
				})
			})
		}
	}
}

// TestTimeSuffices gives what a fit without a budget gives where that is not needed.
func TestTimeSuffices(t *testing.T) {
	X, Y := noisy(300, 3, 2)
	opt := iokl.Options{Kernels: []string{"gaussian:all:1,2"}, CV: iokl.CVOptions{Folds: 3}}
	want, err := iokl.Fit(t.Context(), X, Y, opt)
	if err != nil {
		t.Fatal(err)
	}
	opt.Budget = iokl.Budget(time.Hour)
	got, err := iokl.Fit(t.Context(), X, Y, opt)
	if err != nil || len(got.Warnings()) > 0 {
		t.Fatalf("%v %q", err, got.Warnings())
	}
	a, b := want.Certificate(), got.Certificate()
	if a.Lambda != b.Lambda || a.Objective != b.Objective || b.Samples != 300 {
		t.Errorf("%+v, without a budget %+v", b, a)
	}
}

// TestCancelledChoice cancels a fit once a fold of the comparison of settings is complete: the best setting so far is
// learned from as many samples as a moment allows, which lasts as long as anything is done.
func TestCancelledChoice(t *testing.T) {
	X, Y := noisy(500, 4, 2)
	gram := mat.NewDense(500, 500, nil)
	gram.Mul(X, X.T())
	for name, f := range map[string]func(ctx context.Context, opt iokl.Options) (*iokl.Model, error){
		"rows": func(ctx context.Context, opt iokl.Options) (*iokl.Model, error) { return iokl.Fit(ctx, X, Y, opt) },
		"huber": func(ctx context.Context, opt iokl.Options) (*iokl.Model, error) {
			opt.Loss = "huber"
			return iokl.Fit(ctx, X, Y, opt)
		},
		"noise": func(ctx context.Context, opt iokl.Options) (*iokl.Model, error) {
			opt.LearnNoise = true
			return iokl.Fit(ctx, X, Y, opt)
		},
		"Gram matrices": func(ctx context.Context, opt iokl.Options) (*iokl.Model, error) {
			return iokl.FitGram(ctx, []mat.Matrix{gram}, Y, opt)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				par.SetThreads(1)
				defer par.SetThreads(0)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				m, err := f(ctx, iokl.Options{Notify: func(line string) {
					if strings.HasPrefix(line, "cross-validation: fold") {
						cancel()
					}
				}})
				if !errors.Is(err, context.Canceled) || m == nil {
					t.Fatalf("a model %t: %v", m != nil, err)
				}
				if c := m.Certificate(); certified(m, nil) != nil || !(c.RelativeGap < 1) || c.Samples > 500 {
					t.Errorf("%+v", c)
				}
			})
		})
	}
}
