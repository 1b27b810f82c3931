package iokl

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/internal/learn/learntest"
	"github.com/iokl/iokl/stream"
)

// panicOf is what f panics with, nil for nothing.
func panicOf(f func()) (value any) {
	defer func() { value = recover() }()
	f()
	return nil
}

// ours reports whether a panic names this package, as those of callers' mistakes do.
func ours(value any) bool { return value == nil || strings.HasPrefix(fmt.Sprint(value), "iokl: ") }

// Every exported method of the zero Model, of nil and of the zero CVResult panics in words, as does every call with a
// nil context.
func TestZeroValuesPanicInWords(t *testing.T) {
	X, Y := learntest.Wave(40, 1)
	fitted, err := Fit(bg, X, Y, Options{Kernels: []string{"linear:all"}, Lambda: 1})
	if err != nil {
		t.Fatal(err)
	}
	var none context.Context
	call := func(receiver any, ctx context.Context) {
		v := reflect.ValueOf(receiver)
		for i := range v.NumMethod() {
			name, in := v.Type().Method(i).Name, []reflect.Value(nil)
			withContext := false
			for j := range v.Method(i).Type().NumIn() {
				typ := v.Method(i).Type().In(j)
				switch arg := reflect.Zero(typ); typ {
				case reflect.TypeFor[context.Context]():
					withContext = true
					if in = append(in, arg); ctx != nil {
						in[j] = reflect.ValueOf(ctx)
					}
				case reflect.TypeFor[mat.Matrix]():
					in = append(in, reflect.ValueOf(mat.Matrix(X)))
				default:
					in = append(in, arg)
				}
			}
			if ctx == nil && !withContext || name == "Open" {
				continue
			}
			switch value := panicOf(func() { v.Method(i).Call(in) }); {
			case value == nil:
				t.Errorf("%T.%s(context %v) does not panic", receiver, name, ctx)
			case !ours(value):
				t.Errorf("%T.%s(context %v) panics with %v", receiver, name, ctx, value)
			}
		}
	}
	call(new(Model), bg)
	call((*Model)(nil), bg)
	call(fitted, none)
	r := new(CVResult)
	for name, f := range map[string]func(){
		"fit of nothing": func() { _, _ = r.Fit(bg) },
		"fit":            func() { _, _ = Fit(none, X, Y, Options{}) },
		"fit with λ":     func() { _, _ = Fit(none, X, Y, Options{Lambda: 1}) },
		"classes":        func() { _, _ = FitClasses(none, X, make40("a", "b"), Options{}) },
		"Gram":           func() { _, _ = FitGram(none, []mat.Matrix{X}, Y, Options{}) },
		"stream":         func() { _, _ = FitStream(none, stream.Rows{}, Options{}) },
		"cv":             func() { _, _ = CrossValidate(none, X, Y, Options{}) },
		"job":            func() { Start(none, Data{X: X, Y: Y}, Options{}) },
		"job of cv":      func() { Compare(none, Data{Rows: &stream.Rows{}}, Options{}) },
	} {
		if value := panicOf(f); value == nil || !ours(value) {
			t.Errorf("%s: panics with %v", name, value)
		}
	}
}

func make40(labels ...string) (all []string) {
	for i := range 40 {
		all = append(all, labels[i%len(labels)])
	}
	return all
}

// Matrices that are nil, as values or as pointers, are empty ones: bad input, and no result beside the error.
func TestNilMatricesAreInput(t *testing.T) {
	X, Y := learntest.Wave(40, 1)
	models := map[string]*Model{}
	add := func(name string, m *Model, err error) {
		if err != nil {
			t.Fatal(name, err)
		}
		models[name] = m
	}
	opt := Options{Kernels: []string{"gaussian:all:median"}, Lambda: 0.1}
	m, err := Fit(bg, X, Y, opt)
	add("rows", m, err)
	m, err = FitClasses(bg, X, make40("a", "b"), opt)
	add("classes", m, err)
	var K mat.Dense
	K.Mul(X, X.T())
	m, err = FitGram(bg, []mat.Matrix{&K}, Y, Options{Lambda: 0.1})
	add("Gram", m, err)
	opt.Kernels = []string{"rff:gaussian:all:median:20"}
	m, err = Fit(bg, X, Y, opt)
	add("features", m, err)
	for _, lambda := range []float64{0, 1} {
		if _, err := FitStream(bg, stream.Rows{}, Options{Lambda: lambda}); !errors.Is(err, ErrInput) {
			t.Errorf("a stream that nothing opens, λ = %g: %v", lambda, err)
		}
	}
	narrow, empty := mat.NewDense(5, 2, nil), new(mat.Dense)
	for _, bad := range []mat.Matrix{nil, (*mat.Dense)(nil), (*mat.SymDense)(nil), empty, narrow} {
		for what, f := range map[string]func() (any, error){
			"Fit X":           func() (any, error) { return Fit(bg, bad, Y, opt) },
			"Fit Y":           func() (any, error) { return Fit(bg, X, bad, opt) },
			"FitClasses":      func() (any, error) { return FitClasses(bg, bad, make40("a", "b"), opt) },
			"FitGram":         func() (any, error) { return FitGram(bg, []mat.Matrix{bad}, Y, opt) },
			"FitGram Y":       func() (any, error) { return FitGram(bg, []mat.Matrix{&K}, bad, opt) },
			"CrossValidate X": func() (any, error) { return CrossValidate(bg, bad, Y, opt) },
			"CrossValidate Y": func() (any, error) { return CrossValidate(bg, X, bad, opt) },
			"weights": func() (any, error) {
				o := opt
				if o.Weights = bad; bad == nil {
					return (*Model)(nil), ErrInput
				}
				return Fit(bg, X, Y, o)
			},
		} {
			v, err := f()
			if !errors.Is(err, ErrInput) || !reflect.ValueOf(v).IsNil() {
				t.Errorf("%s of %T: %v, %v", what, bad, v, err)
			}
		}
		for name, m := range models {
			for what, f := range map[string]func() (any, error){
				"Predict":          func() (any, error) { return m.Predict(bad) },
				"PredictInterval":  func() (any, error) { return m.PredictInterval(bg, bad, IntervalOptions{}) },
				"PredictDeviation": func() (any, error) { return m.PredictDeviation(bg, bad) },
				"PredictNoise":     func() (any, error) { return m.PredictNoise(bg, bad) },
				"PredictProba":     func() (any, error) { return m.PredictProba(bad) },
				"PredictSets":      func() (any, error) { return m.PredictSets(bg, bad, 0) },
				"Classify":         func() (any, error) { return m.Classify(bad) },
				"Distances":        func() (any, error) { return m.Distances(bg, bad) },
				"Influence":        func() (any, error) { return m.Influence(bg, bad) },
				"At":               func() (any, error) { return m.At(bad) },
				"PredictGram":      func() (any, error) { return m.PredictGram([]mat.Matrix{bad}) },
				"Update X":         func() (any, error) { return m.Update(bg, bad, Y, UpdateOptions{}) },
				"Update Y":         func() (any, error) { return m.Update(bg, X, bad, UpdateOptions{}) },
				"ForgetRows":       func() (any, error) { return m.ForgetRows(bg, bad, Y, UpdateOptions{}) },
				"Score": func() (any, error) {
					_, err := m.Score(bad, Y)
					return (*Model)(nil), err
				},
				"Score Y": func() (any, error) {
					_, err := m.Score(X, bad)
					return (*Model)(nil), err
				},
			} {
				v, err := f()
				if !errors.Is(err, ErrInput) || !reflect.ValueOf(v).IsNil() {
					t.Errorf("%s model, %s of %T: %v, %v", name, what, bad, v, err)
				}
			}
		}
	}
}

// An empty destination grows as gonum's receivers do, one of another shape panics, and inputs are looked at before it.
func TestPredictTo(t *testing.T) {
	X, Y := learntest.Wave(40, 1)
	m, err := Fit(bg, X, Y, Options{Kernels: []string{"linear:all"}, Lambda: 0.1})
	if err != nil {
		t.Fatal(err)
	}
	want, err := m.Predict(X)
	if err != nil {
		t.Fatal(err)
	}
	for name, predict := range map[string]func(dst *mat.Dense, X mat.Matrix) error{
		"PredictTo":      m.PredictTo,
		"PredictContext": func(dst *mat.Dense, X mat.Matrix) error { return m.PredictContext(bg, dst, X) },
	} {
		var dst mat.Dense
		if err := predict(&dst, X); err != nil || !mat.Equal(&dst, want) {
			t.Errorf("%s to an empty matrix: %v", name, err)
		}
		dst.Reset()
		if err := predict(&dst, X.Slice(0, 7, 0, 4)); err != nil || !mat.Equal(&dst, want.Slice(0, 7, 0, 3)) {
			t.Errorf("%s to a matrix that was reset: %v", name, err)
		}
		wrong := mat.NewDense(40, 2, nil)
		for _, bad := range []mat.Matrix{nil, new(mat.Dense), mat.NewDense(40, 5, nil)} {
			for _, to := range []*mat.Dense{nil, new(mat.Dense), wrong} {
				if err := predict(to, bad); !errors.Is(err, ErrInput) || to != nil && to != wrong && !to.IsEmpty() {
					t.Errorf("%s of bad inputs: %v", name, err)
				}
			}
		}
		for _, to := range []*mat.Dense{nil, wrong} {
			if value := panicOf(func() { _ = predict(to, X) }); value == nil || !ours(value) {
				t.Errorf("%s to a destination of another shape panics with %v", name, value)
			}
		}
	}
}

// Only targets that are classes have an accuracy.
func TestAccuracyOfClasses(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name string
		F, Y *mat.Dense
		want float64
	}{
		{"one number", mat.NewDense(2, 1, []float64{1, 2}), mat.NewDense(2, 1, []float64{1, 3}), 0},
		{"numbers", mat.NewDense(2, 2, []float64{1, 2, 3, 4}), mat.NewDense(2, 2, []float64{1, 3, 3, 4}), 0},
		{"labels", mat.NewDense(2, 2, []float64{.3, .2, .6, .4}), mat.NewDense(2, 2, []float64{1, 0, 0, 1}), 0.5},
		{"no label", mat.NewDense(2, 2, []float64{.3, .2, .6, .4}), mat.NewDense(2, 2, []float64{1, 0, nan, nan}), 1},
		{"several", mat.NewDense(2, 2, []float64{1, 2, 3, 4}), mat.NewDense(2, 2, []float64{1, 1, 0, 1}), 0},
	} {
		if got := NewScores(c.F, c.Y, nil).Accuracy; got != c.want {
			t.Errorf("%s: accuracy %g, want %g", c.name, got, c.want)
		}
	}
}
