package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/granger"
)

func TestStatusOf(t *testing.T) {
	_, noFile := iokl.Load("no such file")
	for _, c := range []struct {
		err  error
		want Status
	}{
		{nil, OK},
		{Input("x"), BadInput},
		{fmt.Errorf("wrapped: %w", granger.ErrShort), BadInput},
		{iokl.ErrMemory, NoMemory},
		{bcd.ErrNotConverged, NotConverged},
		{context.Canceled, Cancelled},
		{errors.Join(context.Canceled, bcd.ErrNotConverged), Cancelled},
		{iokl.ErrModel, BadModel},
		{noFile, FileError},
		{ErrHandle, NoSuchHandle},
		{errors.New("unheard of"), Failed},
		{Guard(func() error { panic("oops") }), Failed},
	} {
		if got := StatusOf(c.err); got != c.want {
			t.Errorf("%v has status %d, want %d", c.err, got, c.want)
		}
	}
}

func TestTable(t *testing.T) {
	var table Table
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				h := table.Put("text")
				if _, err := Get[int](&table, h); !errors.Is(err, ErrHandle) {
					t.Errorf("text as a number: %v", err)
				}
				if s, err := Take[string](&table, h); s != "text" || err != nil {
					t.Errorf("%q, %v", s, err)
				}
				if _, err := Get[string](&table, h); !errors.Is(err, ErrHandle) {
					t.Errorf("after Take: %v", err)
				}
			}
		})
	}
	wg.Wait()
	left := 0
	table.objects.Range(func(any, any) bool {
		left++
		return true
	})
	if left != 0 || table.last.Load() != 1600 {
		t.Errorf("%d objects are left of %d", left, table.last.Load())
	}
}

func TestOptions(t *testing.T) {
	opt, err := FitOptions(
		`{"lambda": 0.5, "max_outer": 3, "backend": "gonum", "precision": "float32", "cv": {"one_se": true}}`)
	if err != nil || opt.Lambda != 0.5 || opt.MaxOuter != 3 || opt.Backend.Name() != "gonum" ||
		opt.Precision != blas.Float32 || !opt.CV.OneSE {
		t.Errorf("%+v, %v", opt, err)
	}
	if opt, err := FitOptions(""); err != nil || !reflect.DeepEqual(opt, iokl.Options{}) {
		t.Errorf("no options are %+v, %v", opt, err)
	}
	for text, word := range map[string]string{
		`{"lamda": 1}`: "lamda", `{"lambda": "x"}`: "lambda", `{} 1`: "more",
		`{"backend": "abacus"}`: "abacus", `{"cv": {"fold": 2}}`: "fold",
	} {
		if _, err := FitOptions(text); !errors.Is(err, iokl.ErrInput) || !strings.Contains(err.Error(), word) {
			t.Errorf("%s: %v", text, err)
		}
	}
	d, g, err := GrangerOptions(`{"lag": 2, "per_node": true, "names": ["a", "b", "c"], "groups": ["p", "q", "p"]}`,
		blas.NewGeneral(4, 3))
	if err != nil || g.Lag != 2 || !g.PerNode || len(d.Nodes) != 2 || d.Nodes[0].Name != "p" ||
		!reflect.DeepEqual(d.Nodes[0].Series, []int{0, 2}) {
		t.Errorf("%+v, %+v, %v", d, g, err)
	}
	for _, text := range []string{`{"names": ["a"]}`, `{"groups": ["a"]}`, `{"laag": 1}`} {
		if _, _, err := GrangerOptions(text, blas.NewGeneral(4, 3)); StatusOf(err) != BadInput {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A cancelled comparison of settings still gives a model once a setting has been tried, and none
// when it is cancelled twice.
func TestCancel(t *testing.T) {
	X, Y := mat.NewDense(60, 2, nil), mat.NewDense(60, 1, nil)
	for i := range 60 {
		X.SetRow(i, []float64{math.Sin(float64(7 * i)), math.Cos(float64(3 * i))})
		Y.Set(i, 0, math.Sin(3*X.At(i, 0))+X.At(i, 1))
	}
	opt := iokl.Options{Kernels: []string{"gaussian:all:1,2"}, CV: iokl.CVOptions{
		Folds: 3, Lambdas: []float64{1e-2, 1e-3}, Repeats: 1,
	}}
	whole := Fit(iokl.Data{X: X, Y: Y}, opt)
	defer whole.Close()
	whole.Wait(-1)
	if m, err := Result[*iokl.Model](whole); m == nil || err != nil {
		t.Fatalf("%v, %v", m, err)
	}
	opt.CV.Repeats = 2000
	for _, times := range []int{1, 2} {
		j := Fit(iokl.Data{X: X, Y: Y}, opt)
		if _, err := Result[*iokl.Model](j); !errors.Is(err, ErrRunning) {
			t.Errorf("before the end: %v", err)
		}
		for range times {
			j.Cancel()
		}
		j.Wait(-1)
		if m, err := Result[*iokl.Model](j); StatusOf(err) != Cancelled || m != nil && times == 2 {
			t.Errorf("cancelled %d times: %v, %v", times, m, err)
		}
		j.Close()
	}
}

// Errors beyond float64 have no JSON, which is said of the data.
func TestResultsWithoutJSON(t *testing.T) {
	X, Y := mat.NewDense(12, 1, nil), mat.NewDense(12, 1, nil)
	for i := range 12 {
		X.Set(i, 0, float64(i))
		Y.Set(i, 0, 1e200*math.Sin(float64(i)))
	}
	j := CrossValidate(iokl.Data{X: X, Y: Y}, iokl.Options{Kernels: []string{"linear:all"}, CV: iokl.CVOptions{
		Folds: 2, Lambdas: []float64{1}, Metric: "mse",
	}})
	defer j.Close()
	j.Wait(-1)
	if text, err := j.JSON(); StatusOf(err) != BadInput || !strings.Contains(err.Error(), "rescale the data") {
		t.Errorf("%s, %v", text, err)
	}
}

// A fit without rows is refused, also where the number of folds follows from that of the rows.
func TestFitWithoutRows(t *testing.T) {
	for name, s := range map[string]iokl.Data{
		"no rows":     {X: &mat.Dense{}, Y: &mat.Dense{}},
		"no matrices": {Grams: []mat.Matrix{}, Y: mat.NewDense(2, 1, nil)},
	} {
		j := Fit(s, iokl.Options{})
		j.Wait(-1)
		if _, err := Result[*iokl.Model](j); StatusOf(err) != BadInput {
			t.Errorf("%s: %v", name, err)
		}
		j.Close()
	}
}

// FuzzOptions reads options. What is refused is bad input; what is read and written again stays as it is.
func FuzzOptions(f *testing.F) {
	for _, text := range []string{
		`{"lambda": 0.5, "kernels": ["gaussian:all:1,2"], "cv": {"folds": 3, "lambdas": [1e-3]}, "budget": "2s", "precision": "float32"}`,
		`{"norm": "lp:1.5", "solver": "closed", "seed": 18446744073709551615, "backend": "gonum"}`,
		`{"level": 0.9, "method": "jackknife+", "joint": true}`,
		`{"lag": 2, "per_node": true, "names": ["a", "b", "c"], "groups": ["p", "q", "p"], "replicate": [0, 0, 1, 1]}`,
	} {
		f.Add(text)
	}
	series := blas.NewGeneral(4, 3)
	f.Fuzz(func(t *testing.T, text string) {
		opt, err := FitOptions(text)
		if err == nil {
			opt.Backend = nil
			first, err := json.Marshal(opt)
			if err != nil {
				t.Fatal(err)
			}
			again, err := FitOptions(string(first))
			if err != nil {
				t.Fatalf("%s: %v", first, err)
			}
			if second, err := json.Marshal(again); err != nil || string(second) != string(first) {
				t.Fatalf("%s, read and written again: %s, %v", first, second, err)
			}
		}
		_, graph := IntervalOptions(text)
		_, _, interval := GrangerOptions(text, series)
		for _, err := range []error{err, graph, interval} {
			if err != nil && StatusOf(err) != BadInput {
				t.Fatalf("%v is no bad input", err)
			}
		}
	})
}

// Columns that tell the time order the rows of a graph and are no series; the groups of the others stay with them.
func TestGraphInTime(t *testing.T) {
	X := blas.NewGeneral(30, 3)
	for i := range X.Rows {
		copy(blas.Row(X, i), []float64{math.Sin(float64(i * i)), 60 * float64(30-i), float64(i % 7)})
	}
	d, _, err := GrangerOptions(`{"names": ["a", "time", "b"], "groups": ["p", "t", "q"]}`, X)
	if err != nil || !slices.Equal(d.Names, []string{"a", "b"}) || len(d.Nodes) != 2 || d.Nodes[1].Series[0] != 1 ||
		d.X.Data[1] != float64(29%7) || len(d.Notes) != 1 {
		t.Errorf("%+v, error %v", d, err)
	}
	for text, want := range map[string]string{
		`{"lag": 0}`:         "lag 0: at least 1 is needed",
		`{"lag": -2}`:        "lag -2: at least 1 is needed",
		`{"time": "s3"}`:     `rows 1 and 8 have the same one in "s3"`,
		`{"time": "x"}`:      `time "x" is no name of a series`,
		`{"replicate": [1]}`: "replicate of 1 rows: there are 30",
	} {
		if _, _, err := GrangerOptions(text, X); StatusOf(err) != BadInput || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
	if _, opt, err := GrangerOptions(`{}`, X); err != nil || opt.Lag != 1 {
		t.Errorf("lag %d, error %v", opt.Lag, err)
	}
}
