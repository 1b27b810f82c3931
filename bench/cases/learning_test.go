package cases

import (
	"context"
	"math"
	"testing"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/data"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/regularizer"
)

// smoothTask has targets that depend on the first three of ten inputs, and a Gaussian kernel for each input at each
// of three widths.
func smoothTask(ctx context.Context, env *bench.Env, l int) (*task, error) {
	rng := env.Rand(13)
	t := &task{X: data.Normal(rng, l, 10), Y: blas.NewGeneral(l, 5), lambda: 1e-3, norm: regularizer.Lp{P: 1}}
	mix := data.Normal(rng, 3, t.Y.Cols)
	for i := range l {
		x, y := blas.Row(t.X, i), blas.Row(t.Y, i)
		for k, s := range []float64{math.Sin(2 * x[0]), x[1] * x[1] / 2, math.Exp(-x[2]) / 2} {
			blas.Axpy(s, blas.Row(mix, k), y)
		}
	}
	data.Standardise(t.Y, blas.General{})
	return t, t.build(ctx, env, []string{"gaussian:each:0.5,1,2"}, nil, blas.General{})
}

func TestLoadDigits(t *testing.T) {
	images, labels, err := data.Digits()
	if err != nil || images.Rows != 1797 || images.Cols != 64 || len(labels) != 1797 {
		t.Fatalf("%d×%d, %d labels, %v", images.Rows, images.Cols, len(labels), err)
	}
	X, groups := viewsOf(images)
	width := 0
	for _, g := range groups {
		width += len(g.Columns)
	}
	if width != X.Cols {
		t.Errorf("views of %d columns in a matrix of %d", width, X.Cols)
	}
	// Row and column profiles, and pooled pixels, all add up to the whole image.
	for i := range 20 {
		var whole float64
		for _, v := range blas.Row(images, i) {
			whole += v
		}
		for _, g := range groups {
			if g.Name != "pooled" && g.Name != "rows" && g.Name != "columns" {
				continue
			}
			var s float64
			for _, j := range g.Columns {
				s += blas.Row(X, i)[j]
			}
			if s != whole {
				t.Errorf("image %d: %s adds up to %g, the pixels to %g", i, g.Name, s, whole)
			}
		}
	}
}

// TestFit checks what a fit reports against the objective from its definition.
func TestFit(t *testing.T) {
	env := quickEnv()
	tk, err := smoothTask(context.Background(), env, 40)
	if err != nil {
		t.Fatal(err)
	}
	tk.grams = tk.grams[:3]
	env.Count = 2
	all, err := fitAll(context.Background(), env, tk,
		[]approach{{name: "x", opt: bcd.Options{Tol: 1e-6, Sylvester: "eigen"}}}, func([]outcome) {})
	if err != nil || len(all) != 1 {
		t.Fatalf("%d results, %v", len(all), err)
	}
	r := all[0]
	if r.Count != 2 || len(r.Trace) == 0 || !(*r.RelativeGap <= 1e-6) || r.Error != "" || r.Stopped {
		t.Errorf("%+v", r)
	}
	last := r.Trace[len(r.Trace)-1]
	if *last.Objective != *r.Objective || last.Seconds > r.Max {
		t.Errorf("trace ends at %g after %g s, the fit at %g after %g s", *last.Objective, last.Seconds, *r.Objective,
			r.Max)
	}
	zero := 0.0
	for _, y := range tk.Y.Data {
		zero += y * y / float64(tk.Y.Rows)
	}
	if !(*r.Objective < zero) {
		t.Errorf("objective %g, and %g at C = 0", *r.Objective, zero)
	}
}

func TestFitStopsAtItsBudget(t *testing.T) {
	env := quickEnv()
	tk, err := smoothTask(context.Background(), env, 100)
	if err != nil {
		t.Fatal(err)
	}
	env.Count = 3
	all, err := fitAll(context.Background(), env, tk, []approach{
		{name: "x", opt: bcd.Options{Tol: 1e-14, Sylvester: "eigen"}, budget: 1},
		{name: "y", opt: bcd.Options{Tol: 1e-2}},
		{name: "z", opt: bcd.Options{Solver: "none"}},
	}, func([]outcome) {})
	if err != nil || len(all) != 3 || !all[0].Stopped || all[0].Count != 1 {
		t.Fatalf("%+v, %v", all, err)
	}
	if all[1].Count != 3 || all[1].Error != "" || all[2].Count != 0 || all[2].Error == "" {
		t.Errorf("the others: %+v, %+v", all[1], all[2])
	}
}

func TestTimeToTarget(t *testing.T) {
	line := func(solver string, objectives ...float64) outcome {
		r := outcome{Result: bench.Result{
			Name: solver, Params: map[string]any{"solver": solver}, Objective: bench.Num(objectives[len(objectives)-1]),
		}}
		for i, v := range objectives {
			r.Trace = append(r.Trace, bench.Point{Seconds: float64(i + 1), Objective: bench.Num(v)})
		}
		r.traces = [][]bench.Point{r.Trace}
		return r
	}
	results := []outcome{line("reduced", 3, 1.0005, 1), line("paper", 3, 2.9), line("okl", 0.5)}
	timeToTarget(results)
	if s := results[0].SecondsTo; s == nil || *s != 2 {
		t.Errorf("reduced: %v", s)
	}
	if results[1].SecondsTo != nil || results[2].SecondsTo != nil {
		t.Error("a line that never came near has a time")
	}
}
