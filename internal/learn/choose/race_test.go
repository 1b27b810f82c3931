package choose

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/par"
	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/internal/learn/learntest"
	"github.com/iokl/iokl/internal/learn/samples"
)

// TestRungs compares on growing parts of many samples, each of which holds the one before, with
// the groups of its samples.
func TestRungs(t *testing.T) {
	const l = 4*firstSamples + 100
	x, y := blas.NewGeneral(l, 1), blas.NewGeneral(l, 1)
	groups := make([]int, l)
	for i := range l {
		x.Data[i], y.Data[i], groups[i] = float64(i), float64(i), i%7
	}
	d, err := samples.NewRows(x, y, blas.General{}, samples.Options{})
	if err != nil {
		t.Fatal(err)
	}
	all := d.Data()
	spy := &sampled{Parts: all.Parts}
	all.Parts, all.Table = spy, nil
	s := &race{Job: Job{Options: Options{Metric: "mse", Folds: 3, Groups: groups}}, all: all}
	list, targets := s.rungs()
	if !slices.Equal(list, []int{l / 4, l / 2, l}) || targets != 1 {
		t.Fatalf("rungs %v, %d targets", list, targets)
	}
	for _, r := range list {
		if err := s.take(all, r); err != nil {
			t.Fatal(err)
		}
		if got, _ := s.data.Size(); got != r || len(s.constant) != 3 {
			t.Errorf("%d samples and %d folds, want %d and 3", got, len(s.constant), r)
		}
	}
	small, large := spy.rows[0], spy.rows[1]
	for _, i := range small {
		if _, found := slices.BinarySearch(large, i); !found {
			t.Fatalf("sample %d is not in the larger part", i)
		}
	}
}

// TestArmsDiffer adds the arm of one setting once, so that the point of a setting belongs to one path of λ.
func TestArmsDiffer(t *testing.T) {
	X, Y := learntest.Wave(30, 2)
	d, err := samples.NewRows(blas.Raw(X), blas.Raw(Y), blas.General{}, samples.Options{})
	if err != nil {
		t.Fatal(err)
	}
	all := d.Data()
	s := &race{Job: Job{Options: Options{Taus: []float64{0}}}, all: all, top: all, data: all, folds: 2}
	for _, what := range []learn.Learned{learn.Nothing, learn.Nothing, learn.Weights} {
		set := learn.Setting{Kernels: []string{"gaussian:all:median"}, Norm: "lp:1", Learn: what, Model: learn.Product}
		if err := s.add(t.Context(), set); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.arms) != 2 {
		t.Errorf("%d arms of two settings", len(s.arms))
	}
}

// TestWithMeans uses a setting for the targets that it predicts better than the constant beyond noise.
func TestWithMeans(t *testing.T) {
	s := metric("nmse")
	s.data, s.folds = rowsOf(t, 9, 4), 4
	s.constant = [][]float64{{1, 1, 1, math.NaN()}, {1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1, 1, 1}}
	//                        better everywhere, better by chance, worse, better where it counts
	each := [][]float64{{.5, .4, 2, math.NaN()}, {.6, 1.3, 2, .5}, {.5, .9, 2, .5}, {.4, 1.2, 2, .5}}
	errors, means := s.withMeans(each, []int{0, 1, 2, 3})
	if want := []int{1, 2}; !slices.Equal(means, want) {
		t.Errorf("the mean predicts %v, want %v", means, want)
	}
	for f, want := range []float64{2.5 / 3, 3.1 / 4, 3.0 / 4, 2.9 / 4} {
		if math.Abs(errors[f]-want) > 1e-15 {
			t.Errorf("fold %d: error %g, want %g", f, errors[f], want)
		}
	}
	s = metric("accuracy")
	s.data, s.folds, s.constant = rowsOf(t, 9, 1), 2, [][]float64{{.6}, {.5}}
	if _, means := s.withMeans([][]float64{{.9}, {.8}}, []int{0, 1}); means != nil {
		t.Error("a higher accuracy is not better")
	}
}

// TestKindsStay keeps an arm with learned lengths beside arms that are better by less than the noise, and alike.
func TestKindsStay(t *testing.T) {
	s := against(t, 1, 1, 1)
	for i, kernels := range [][]string{
		{"laplacian:all:median*1"},
		{"laplacian:all:median*2"},
		{"laplacian:all:median*1", linearKernel},
		{"laplacian:all:median*2", linearKernel},
		{"laplacian:all:median*4"},
		{"gaussian+linear:ard:median"},
		{"laplacian:all:median*0.5"},
		{linearKernel},
	} {
		e, noise := .5+.001*float64(i), .01*float64(i+1)
		errors := [][]float64{{e - noise}, {e}, {e + noise}}
		s.arms = append(s.arms, &arm{
			Setting: learn.Setting{Kernels: kernels}, closed: true, lambdas: []float64{1}, to: 1,
			errors: [][][]float64{errors},
		})
	}
	learns, other := s.arms[5], s.arms[7]
	eliminate(t, s)
	if len(s.arms) != 3 || !slices.Contains(s.arms, learns) || !slices.Contains(s.arms, other) {
		t.Errorf("%d arms stay, with learned lengths: %v, linear: %v", len(s.arms), slices.Contains(s.arms, learns),
			slices.Contains(s.arms, other))
	}
}

// A fold that hides the only cell of a target does not count.
func TestInformativeFolds(t *testing.T) {
	X, Y := learntest.Wave(9, 1)
	y := blas.Raw(Y)
	wide := blas.NewGeneral(9, 2)
	for i := range 9 {
		wide.Data[2*i], wide.Data[2*i+1] = y.Data[i], math.NaN()
	}
	wide.Data[0], wide.Data[1] = math.NaN(), 1
	d, err := samples.NewRows(blas.Raw(X), wide, blas.General{}, samples.Options{Columns: columns.Options{
		ScaleInputs:  true,
		ScaleOutputs: true,
	}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(t.Context(), d.Data(), Job{Options: Options{Folds: 9, Hide: learn.HideCells}})
	if err != nil || r.Folds != 8 || len(r.Points[r.Best].Folds) != 8 || !(r.Points[r.Best].Mean > 0) {
		t.Errorf("%v", err)
	}
	s := against(t, math.NaN(), math.NaN())
	if _, err := s.summarize([]int{0, 1}); !errors.Is(err, fault.ErrInput) {
		t.Errorf("no fold tells: %v", err)
	}
}

// learned is the choice among two dictionaries for Y.
func learned(t *testing.T, ctx context.Context, X, Y blas.General, budget time.Duration) (*Result, error) {
	t.Helper()
	d, err := samples.NewRows(X, Y, blas.General{}, samples.Options{
		Columns: columns.Options{ScaleInputs: true, ScaleOutputs: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	job := Job{Options: Options{Folds: 5}, Budget: budget}
	if budget > 0 {
		job.Until = time.Now().Add(budget)
	}
	return Run(ctx, d.Data(), job)
}

// TestNothing tells targets of noise from one that the inputs predict.
func TestNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	X, Y := learntest.Wave(100, 5)
	rng := rand.New(rand.NewPCG(8, 8))
	for i := range 100 {
		Y.Set(i, 1, rng.NormFloat64())
		Y.Set(i, 2, math.Exp(2*rng.NormFloat64()))
	}
	r, err := learned(t, t.Context(), blas.Raw(X), blas.Raw(Y), 0)
	if err != nil {
		t.Fatal(err)
	}
	if want := []int{1, 2}; !slices.Equal(r.Means, want) {
		t.Errorf("targets %v are left to the mean, want %v", r.Means, want)
	}
}

// TestBudget ends a choice early, with something to fit, and tells it from a cancelled one.
func TestBudget(t *testing.T) {
	X, Y := learntest.Wave(200, 5)
	for _, budget := range []time.Duration{1, 50 * time.Millisecond} {
		r, err := learned(t, t.Context(), blas.Raw(X), blas.Raw(Y), budget)
		if err != nil || len(r.Points) == 0 || !(r.Points[r.Best].Lambda > 0) || r.Points[r.Best].Kernels == nil {
			t.Errorf("budget %v: %+v, %v", budget, r, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := learned(t, ctx, blas.Raw(X), blas.Raw(Y), time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// slow is rows whose regression takes all the time that is left after so many dictionaries.
type slow struct {
	*samples.Rows
	left atomic.Int64
}

func (s *slow) Ridge(fold int) (learn.Ridge, error) {
	r, err := s.Rows.Ridge(fold)
	return &slowRidge{r, s}, err
}

// Sample is the data themselves: all rungs are slow.
func (s *slow) Sample([]int) (learn.Data, error) { return s.Data(), nil }

// Data are those of rows, of which the regression is slow.
func (s *slow) Data() learn.Data { return learn.Data{Learnable: s, Comparable: s, Parts: s, Table: s} }

// Affordable takes a second.
func (s *slow) Affordable(
	_ context.Context, specs []string, _ learn.Learned, _ int, _ time.Duration,
) ([]string, error) {
	time.Sleep(time.Second)
	return specs, nil
}

type slowRidge struct {
	learn.Ridge
	data *slow
}

func (r *slowRidge) Errors(
	ctx context.Context, specs []string, tau float64, lambdas []float64,
) ([]learn.Errors, error) {
	if r.data.left.Add(-1) < 0 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return r.Ridge.Errors(ctx, specs, tau, lambdas)
}

// TestBudgetKeeps ends the first rung in its middle: the best of what was compared is taken, not the first, and said as
// soon as the time is spent. The time of the test goes on only where all wait.
func TestBudgetKeeps(t *testing.T) { synctest.Test(t, budgetKeeps) }

func budgetKeeps(t *testing.T) {
	X, Y := learntest.Wave(600, 5)
	rows, err := samples.NewRows(blas.Raw(X), blas.Raw(Y), blas.General{}, samples.Options{Columns: columns.Options{
		ScaleInputs:  true,
		ScaleOutputs: true,
	}})
	if err != nil {
		t.Fatal(err)
	}
	par.SetThreads(1) // the first fold compares all of them
	defer par.SetThreads(0)
	d := &slow{Rows: rows}
	d.left.Store(12)
	start, said := time.Now(), time.Duration(0)
	var method learn.Method
	method.Notify = func(line string) {
		if strings.HasPrefix(line, "the time for choosing settings is spent") {
			said = time.Since(start)
		}
	}
	job := Job{Options: Options{Folds: 5}, Until: start.Add(2 * time.Second), Method: method}
	r, err := Run(t.Context(), d.Data(), job)
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); said != 2*time.Second || took != 3*time.Second {
		t.Errorf("said after %v of %v", said, took)
	}
	kinds := map[string]bool{}
	least := math.Inf(1)
	for _, p := range r.Points {
		kinds[Brief(p.Kernels)] = true
		least = math.Min(least, p.Mean)
	}
	if len(kinds) != 12 || r.Chosen().Mean != least || !(least < .6) {
		t.Errorf("%d dictionaries, least error %g, chosen %+v", len(kinds), least, r.Chosen())
	}
}

// TestHide hides rows where a few target cells are missing, and cells where many rows are observed in part.
func TestHide(t *testing.T) {
	for name, c := range map[string]struct {
		missing int
		opt     Options
		want    string
	}{
		"complete":         {0, Options{Folds: 5}, ""},
		"five cells":       {5, Options{Folds: 5}, learn.HideRows},
		"a third of cells": {100, Options{Folds: 5}, learn.HideCells},
		"as asked":         {5, Options{Folds: 5, Hide: learn.HideCells}, learn.HideCells},
		"groups":           {100, Options{Folds: 5, Groups: make([]int, 100)}, learn.HideRows},
		"accuracy":         {100, Options{Folds: 5, Metric: "accuracy"}, learn.HideRows},
	} {
		X, Y := learntest.Wave(100, 1)
		for i := range c.missing {
			Y.Set(i, i%3, math.NaN())
		}
		d, err := samples.NewRows(blas.Raw(X), blas.Raw(Y), blas.General{}, samples.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s := &race{Job: Job{Options: c.opt}, data: d.Data()}
		if err := s.check(); err != nil || s.Hide != c.want {
			t.Errorf("%s: hides %q, want %q: %v", name, s.Hide, c.want, err)
		}
	}
}

// TestWordsInAnyOrder takes l,eta for eta,l, here and in the options of a fit.
func TestWordsInAnyOrder(t *testing.T) {
	X, Y := learntest.Wave(60, 5)
	var points [][]Point
	for _, words := range []learn.Learned{"eta,l", "l,eta"} {
		d, err := samples.NewRows(blas.Raw(X), blas.Raw(Y), blas.General{}, samples.Options{Columns: columns.Options{
			ScaleInputs:  true,
			ScaleOutputs: true,
		}})
		if err != nil {
			t.Fatal(err)
		}
		r, err := Run(t.Context(), d.Data(), Job{Options: Options{Folds: 3}, Setting: learn.Setting{Learn: words}})
		if err != nil {
			t.Fatal(err)
		}
		points = append(points, r.Points)
		if p := r.Chosen(); p.Learn != learn.Both || len(p.Kernels) == 0 {
			t.Errorf("%s: %+v", words, p)
		}
	}
	if !reflect.DeepEqual(points[0], points[1]) {
		t.Error("the order of the words decides")
	}
}

// sampled keeps which samples were asked for.
type sampled struct {
	learn.Parts
	rows [][]int
}

func (s *sampled) Sample(rows []int) (learn.Data, error) {
	s.rows = append(s.rows, rows)
	return s.Parts.Sample(rows)
}
