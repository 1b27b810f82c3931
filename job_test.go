package iokl

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/cg"
	"github.com/iokl/iokl/frankwolfe"
	"github.com/iokl/iokl/internal/learn/learntest"
	"github.com/iokl/iokl/lanczos"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/sylvester"
)

// A job is the fit that the functions make of the same data, and says how far it is.
func TestJobIsFit(t *testing.T) {
	X, Y := learntest.Wave(60, 3)
	labels := make([]string, 60)
	for i := range labels {
		labels[i] = fmt.Sprint(i*i%7 > 2)
	}
	K := mat.NewDense(60, 60, nil)
	K.Mul(X, X.T())
	opt := Options{Kernels: []string{"gaussian:all:median"}, CV: CVOptions{Folds: 3, Lambdas: []float64{1e-1, 1e-3}}}
	for name, c := range map[string]struct {
		data Data
		fit  func() (*Model, error)
	}{
		"table":   {Data{X: X, Y: Y}, func() (*Model, error) { return Fit(bg, X, Y, opt) }},
		"classes": {Data{X: X, Labels: labels}, func() (*Model, error) { return FitClasses(bg, X, labels, opt) }},
		"Gram matrices": {Data{Grams: []mat.Matrix{K}, Y: Y}, func() (*Model, error) {
			return FitGram(bg, []mat.Matrix{K}, Y, opt)
		}},
	} {
		watched, traced := 0, 0
		o := opt
		o.Watch = func(p Progress) { watched++ }
		o.Trace = func(bcd.Step) error { traced++; return nil }
		j := Start(bg, c.data, o)
		m, err := j.Result()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want, err := c.fit()
		if err != nil || m.String() != want.String() {
			t.Errorf("%s: %v, want %v, %v", name, m, want, err)
		}
		if p := j.Progress(); !(p.RelativeGap <= m.Certificate().Tol) || p.Phase != "" || watched == 0 || traced == 0 {
			t.Errorf("%s: progress %+v, %d calls of Watch and %d of Trace", name, p, watched, traced)
		}
	}
}

// Stop and the end of the context leave a model once a setting was compared, Cancel none; a panic is that of Result.
func TestJobEnds(t *testing.T) {
	X, Y := learntest.Wave(80, 4)
	opt := Options{Kernels: []string{"gaussian:all:1,2"}, CV: CVOptions{Folds: 3, Repeats: 2000}}
	for name, end := range map[string]func(j *Job[*Model], ended context.CancelFunc){
		"stop":    func(j *Job[*Model], _ context.CancelFunc) { j.Stop() },
		"context": func(_ *Job[*Model], ended context.CancelFunc) { ended() },
		"cancel":  func(j *Job[*Model], _ context.CancelFunc) { j.Cancel() },
	} {
		ctx, ended := context.WithCancel(bg)
		j := Start(ctx, Data{X: X, Y: Y}, opt)
		for math.IsNaN(j.Progress().Best) {
			time.Sleep(time.Millisecond)
		}
		end(j, ended)
		if m, err := j.Result(); !errors.Is(err, context.Canceled) || (m == nil) != (name == "cancel") {
			t.Errorf("%s: %v, %v", name, m, err)
		}
		ended()
	}
	j := Run(bg, func(context.Context) (int, error) { panic("oops") })
	<-j.Done()
	if p := panicOf(func() { _, _ = j.Result() }); p != "oops" {
		t.Errorf("panic of %v", p)
	}
}

// Data that do not go together are refused.
func TestDataRefuses(t *testing.T) {
	X, Y := learntest.Wave(10, 5)
	for name, d := range map[string]Data{
		"nothing": {}, "no targets": {X: X}, "no inputs": {Y: Y}, "few labels": {X: X, Labels: []string{"a", "b"}},
		"one class": {X: X, Labels: make([]string, 10)}, "no matrices": {Grams: []mat.Matrix{}, Y: Y},
	} {
		if m, err := Start(bg, d, Options{Lambda: 1}).Result(); m != nil || !errors.Is(err, ErrInput) {
			t.Errorf("%s: %v, %v", name, m, err)
		}
	}
}

// Iterations that end before their tolerance have one error in all packages.
func TestErrNotConverged(t *testing.T) {
	A := linop.NewDense(blas.General{Rows: 3, Cols: 3, Stride: 3, Data: []float64{3, 1, 0, 1, 2, 1, 0, 1, 4}}, nil)
	_, byCG := cg.Solve(bg, make([]float64, 3), A, []float64{1, 2, 3}, cg.Options{Tol: 1e-12, MaxIter: 1})
	X, Y := learntest.Wave(40, 6)
	_, byFit := Fit(bg, X, Y, Options{Lambda: 1e-6, Tol: 1e-12, MaxOuter: 1})
	for name, err := range map[string]error{
		"cg": byCG, "fit": byFit, "lanczos": lanczos.ErrNotConverged, "frankwolfe": frankwolfe.ErrNotConverged,
		"sylvester": sylvester.ErrNotConverged, "bcd": bcd.ErrNotConverged, "budget": ErrBudget,
	} {
		if !errors.Is(err, ErrNotConverged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if errors.Is(byCG, bcd.ErrNotConverged) {
		t.Errorf("%v is one of bcd", byCG)
	}
}
