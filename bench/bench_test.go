package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
)

func quickEnv() *Env {
	env := NewEnv()
	env.Quick = true
	return env
}

func TestSelect(t *testing.T) {
	all, err := Select([]string{"all"})
	if err != nil || len(all) != len(cases) {
		t.Errorf("all: %d cases, %v", len(all), err)
	}
	part, err := Select([]string{"mtr:jura,edm"})
	if err != nil || len(part) != 1 || !slices.Equal(part[0].(*sliced).parts, []string{"jura", "edm"}) {
		t.Errorf("parts of a case: %v, %v", part, err)
	}
	for _, bad := range []string{"mtr:nothing", "digits:some"} {
		if _, err := Select([]string{bad}); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
	two, err := Select([]string{"macro", "digits", "macro"})
	if err != nil || len(two) != 2 || two[0].Name() != "macro" || two[1].Name() != "digits" {
		t.Errorf("two cases: %v, %v", two, err)
	}
	if _, err := Select([]string{"digits", "nonsense"}); err == nil || !strings.Contains(err.Error(), `"nonsense"`) {
		t.Errorf("unknown case: %v", err)
	}
	var names []string
	for _, c := range Cases() {
		names = append(names, c.Name())
		if c.Description() == "" {
			t.Errorf("%s has no description", c.Name())
		}
	}
	slices.Sort(names)
	if u := slices.Compact(slices.Clone(names)); len(u) != len(names) {
		t.Errorf("names repeat: %v", names)
	}
}

func TestInterleave(t *testing.T) {
	for follow, want := range map[bool]string{false: "ababab", true: "abaabbaabb"} {
		var order []string
		work := func(name string) Variant {
			return Variant{Run: func() error { order = append(order, name); return nil }}
		}
		plan := Plan{Count: 2, Warm: true, Follow: follow}
		samples, err := Interleave(context.Background(), plan, []Variant{work("a"), work("b")})
		if err != nil || len(samples[0]) != 2 || len(samples[1]) != 2 {
			t.Errorf("samples %v, %v", samples, err)
		}
		if got := strings.Join(order, ""); got != want {
			t.Errorf("follow %v: order %q, want %q", follow, got, want)
		}
	}
}

func TestInterleaveStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	runs := 0
	samples, err := Interleave(ctx, Plan{Count: 9}, []Variant{{Run: func() error {
		if runs++; runs == 3 {
			cancel()
		}
		return nil
	}}})
	if !errors.Is(err, context.Canceled) || len(samples[0]) != 3 {
		t.Errorf("cancelled: %d samples, %v", len(samples[0]), err)
	}
	bad := errors.New("bad")
	if _, err := Interleave(context.Background(), Plan{Count: 9}, []Variant{{Run: func() error { return bad }}}); !errors.Is(err, bad) {
		t.Errorf("failure: %v", err)
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		x    []float64
		want float64
	}{{[]float64{3}, 3}, {[]float64{4, 1, 2}, 2}, {[]float64{4, 1, 2, 3}, 2.5}} {
		if got := median(c.x); got != c.want {
			t.Errorf("median(%v) = %g", c.x, got)
		}
	}
	if !math.IsNaN(median(nil)) {
		t.Error("the median of nothing is a number")
	}
}

func TestJSON(t *testing.T) {
	r := Result{Case: "c", Name: "n", Params: map[string]any{"l": 3}, Objective: Num(math.NaN()), Residual: Num(0)}
	r.time([]float64{2, 1, 4})
	r.metric("infinite", math.Inf(1))
	f := File{Machine: Describe(quickEnv()), Results: []Result{r}}
	var buf bytes.Buffer
	if err := f.WriteJSON(&buf); err != nil {
		t.Fatal(err)
	}
	var raw struct {
		Machine map[string]any
		Results []map[string]any
	}
	if err := json.Unmarshal(buf.Bytes(), &raw); err != nil {
		t.Fatal(err)
	}
	got := raw.Results[0]
	for key, want := range map[string]any{"seconds": 2.0, "min": 1.0, "max": 4.0, "count": 3.0, "residual": 0.0} {
		if got[key] != want {
			t.Errorf("%s = %v, want %v", key, got[key], want)
		}
	}
	for _, key := range []string{"objective", "accuracy", "metrics", "trace"} {
		if _, ok := got[key]; ok {
			t.Errorf("%s is there and does not apply", key)
		}
	}
	name := filepath.Join(t.TempDir(), "r.json")
	if err := os.WriteFile(name, buf.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	back, err := ReadFile(name)
	if err != nil || back.Results[0].Seconds != 2 || back.Machine.Go != f.Machine.Go {
		t.Errorf("read back: %+v, %v", back, err)
	}
}

func TestReadFileRefuses(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"empty": "", "text": "hello", "none": `{"machine":{},"results":[]}`} {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadFile(p); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBenchFormat(t *testing.T) {
	r := Result{Case: "gemm", Name: "a b/c", Params: map[string]any{"k": 2}}
	r.time([]float64{0.5, 1})
	r.GFlops = 3
	f := File{Machine: Describe(quickEnv()), Results: []Result{r}}
	var buf bytes.Buffer
	if err := f.WriteBench(&buf); err != nil {
		t.Fatal(err)
	}
	want := "BenchmarkGemm/name=a_b:c/k=2\t1\t500000000 ns/op\t3 GFLOP/s\n"
	if !strings.Contains(buf.String(), want) {
		t.Errorf("no line %q in\n%s", want, buf.String())
	}
}

func TestRunKeepsWhatWasMeasured(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	one := &simple{"one", "first", func(context.Context, *Env) ([]Result, error) { return []Result{{Name: "r"}}, nil }}
	stopped := &simple{"two", "stopped", func(ctx context.Context, _ *Env) ([]Result, error) {
		cancel()
		return []Result{{Name: "partial"}}, ctx.Err()
	}}
	file, err := Run(ctx, []Case{one, stopped, one}, quickEnv())
	if err == nil || len(file.Results) != 2 || file.Results[1].Name != "partial" {
		t.Errorf("%v, %d results", err, len(file.Results))
	}
	failing := &simple{"bad", "fails", func(context.Context, *Env) ([]Result, error) { return nil, errors.New("broken") }}
	skipped := &simple{"absent", "skips", func(context.Context, *Env) ([]Result, error) { return nil, ErrSkipped }}
	file, err = Run(context.Background(), []Case{failing, skipped, one}, quickEnv())
	if err == nil || !strings.Contains(err.Error(), "bad: broken") || strings.Contains(err.Error(), "absent") || len(file.Results) != 1 {
		t.Errorf("%v, %d results", err, len(file.Results))
	}
	if len(file.Machine.Skipped) != 1 {
		t.Errorf("skipped: %v", file.Machine.Skipped)
	}
	if r := file.Results[0]; r.Case != "one" || r.Params["backend"] == nil || !strings.HasPrefix(r.Rerun, "mklbench run one ") {
		t.Errorf("not stamped: %+v", r)
	}
}

func TestLoadDigits(t *testing.T) {
	images, labels, err := loadDigits()
	if err != nil || images.Rows != 1797 || images.Cols != 64 || len(labels) != 1797 {
		t.Fatalf("%d×%d, %d labels, %v", images.Rows, images.Cols, len(labels), err)
	}
	X, groups := digitViews(images)
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

func TestMacroBeatsTheMean(t *testing.T) {
	results, err := runMacro(context.Background(), quickEnv())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		switch v := r.Metrics["rrmse"]; {
		case r.Name == "training mean" && math.Abs(v-1) > 0.05:
			t.Errorf("the training mean scores %g against itself", v)
		case r.Name != "training mean" && !(v < 1):
			t.Errorf("%s: %g is no better than the training mean", r.Name, v)
		}
	}
}

func TestLagged(t *testing.T) {
	series := blas.General{Rows: 4, Cols: 2, Stride: 2, Data: []float64{0, 10, 1, 11, 2, 12, 3, 13}}
	X, Y := lagged(series, 2)
	if want := []float64{1, 11, 0, 10, 2, 12, 1, 11}; !slices.Equal(X.Data, want) {
		t.Errorf("X = %v, want %v", X.Data, want)
	}
	if want := []float64{2, 12, 3, 13}; !slices.Equal(Y.Data, want) {
		t.Errorf("Y = %v, want %v", Y.Data, want)
	}
}

// TestFit checks what a fit reports against the objective from its definition.
func TestFit(t *testing.T) {
	env := quickEnv()
	tk, err := sparseTask(context.Background(), env, 40)
	if err != nil {
		t.Fatal(err)
	}
	tk.grams = tk.grams[:3]
	env.Count = 2
	all, err := fitAll(context.Background(), env, tk, []approach{{name: "x", opt: bcd.Options{Tol: 1e-6, Sylvester: "eigen"}}})
	if err != nil || len(all) != 1 {
		t.Fatalf("%d results, %v", len(all), err)
	}
	r := all[0]
	if r.Count != 2 || len(r.Trace) == 0 || !(*r.RelativeGap <= 1e-6) || r.Error != "" || r.Stopped {
		t.Errorf("%+v", r)
	}
	last := r.Trace[len(r.Trace)-1]
	if *last.Objective != *r.Objective || last.Seconds > r.Max {
		t.Errorf("trace ends at %g after %g s, the fit at %g after %g s", *last.Objective, last.Seconds, *r.Objective, r.Max)
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
	tk, err := sparseTask(context.Background(), env, 100)
	if err != nil {
		t.Fatal(err)
	}
	all, err := fitAll(context.Background(), env, tk, []approach{{name: "x", opt: bcd.Options{Tol: 1e-14, Sylvester: "eigen"}, budget: 1}})
	if err != nil || len(all) != 1 || !all[0].Stopped || all[0].Count != 1 {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestTimeToTarget(t *testing.T) {
	line := func(solver string, objectives ...float64) Result {
		r := Result{Name: solver, Params: map[string]any{"solver": solver}, Objective: Num(objectives[len(objectives)-1])}
		for i, v := range objectives {
			r.Trace = append(r.Trace, Point{Seconds: float64(i + 1), Objective: Num(v)})
		}
		r.traces = [][]Point{r.Trace}
		return r
	}
	results := []Result{line("reduced", 3, 1.0005, 1), line("paper", 3, 2.9), line("okl", 0.5)}
	timeToTarget(results, 1e-3)
	if s := results[0].SecondsTo; s == nil || *s != 2 {
		t.Errorf("reduced: %v", s)
	}
	if results[1].SecondsTo != nil || results[2].SecondsTo != nil {
		t.Error("a line that never came near has a time")
	}
}

func TestDraw(t *testing.T) {
	r := Result{Case: "digits", Name: "a", Trace: []Point{
		{Seconds: 0.01, Objective: Num(2), RelativeGap: Num(0.5), Accuracy: Num(0.8)},
		{Seconds: 0.1, Objective: Num(1), RelativeGap: Num(0), Accuracy: Num(0.9)},
		{Seconds: 0.2, Objective: Num(1), RelativeGap: Num(0.1), Accuracy: Num(0.9)},
	}}
	dir := t.TempDir()
	names, err := Draw(&File{Results: []Result{r}}, dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(names) == 0 || !slices.Contains(names, filepath.Join(dir, "digits-objective.svg")) {
		t.Errorf("drew %v", names)
	}
	for _, name := range names {
		if info, err := os.Stat(name); err != nil || info.Size() < 500 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestInTurn checks the order of repetitions, one of which stops at its budget.
func TestInTurn(t *testing.T) {
	env := quickEnv()
	env.Count = 3
	var order []string
	all := []*fitting{{approach: approach{name: "a"}}, {approach: approach{name: "b"}}, {approach: approach{name: "c"}}}
	inTurn(context.Background(), env, all, func(f *fitting) {
		f.samples = append(f.samples, 1)
		f.ended = f.approach.name == "b"
		order = append(order, f.approach.name)
	})
	if got := strings.Join(order, ""); got != "abcacac" {
		t.Errorf("order %q", got)
	}
}
