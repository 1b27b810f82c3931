package cases

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/data"
	"github.com/iokl/iokl/blas"
)

// measured is what run hands over.
func measured(env *bench.Env, run func(context.Context, *bench.Env) error) ([]bench.Result, error) {
	return (&bench.Case{Run: run}).Measure(context.Background(), env)
}

// part measures the part env.Part of a case as a run does.
func part(name string, env *bench.Env) ([]bench.Result, error) {
	c := *Find(name)
	c.Parts = []string{env.Part}
	results, err := c.Measure(context.Background(), env)
	for i := range results {
		results[i].Case = name
	}
	return results, err
}

func TestPeerParse(t *testing.T) {
	job := &peerJob{script: "x.py", params: map[string]any{"l": 3}}
	parse := func(text string) ([]bench.Result, error) {
		return measured(quickEnv(), func(_ context.Context, env *bench.Env) error {
			return job.parse(env, []byte(text))
		})
	}
	got, err := parse(
		`{"name": "scipy f", "version": "1", "seconds": [3, 1, 2], "metrics": {"residual": 1e-9, "test_mse": 0.5}}` +
			"\n")
	if err != nil || len(got) != 1 {
		t.Fatalf("%d results, %v", len(got), err)
	}
	r := got[0]
	if r.Seconds != 2 || r.Count != 3 || *r.Residual != 1e-9 || r.Metrics["test_mse"] != 0.5 ||
		r.Params["backend"] != "scipy" || r.Params["version"] != "1" || r.Params["l"] != 3 {
		t.Errorf("%+v", r)
	}
	if _, ok := job.params["backend"]; ok {
		t.Error("a result changed the parameters of all")
	}
	if _, err := parse("Traceback"); err == nil || !strings.Contains(err.Error(), "x.py") {
		t.Errorf("nonsense: %v", err)
	}
}

// TestPeersSolveTheSameSystem checks that data reach the other programs in the
// right order: their answers satisfy our equation.
func TestPeersSolveTheSameSystem(t *testing.T) {
	if testing.Short() {
		t.Skip("the long form runs the other programs")
	}
	env := quickEnv()
	env.Count = 1
	env.Log = t.Logf
	K, err := data.GaussianGram(context.Background(), env, 20)
	if err != nil {
		t.Fatal(err)
	}
	dense, L := blas.NewGeneral(20, 20), blas.NewGeneral(3, 3)
	K.Dense(dense)
	data.OutputKernel(env, 3, "full").Dense(env.Backend, L)
	python, octave := []string{"0.5", "1e-12"}, []string{"0.5", "20", "3"}
	for script, args := range map[string][]string{
		"sylvester.py": python, "sylvester_torch.py": python, "sylvester.m": octave,
	} {
		results, err := measured(env, func(ctx context.Context, env *bench.Env) error {
			return otherPrograms(ctx, env, peerJob{
				script: script, params: map[string]any{}, data: map[string]blas.General{
					"K": dense, "L": L, "Y": data.Targets(env, K, 3),
				},
				args: args,
			})
		})
		if err != nil {
			t.Errorf("%s: %v", script, err)
		}
		for _, r := range results {
			if !(*r.Residual < 1e-10) || r.Count != 1 {
				t.Errorf("%s: residual %g in %d repetitions", r.Name, *r.Residual, r.Count)
			}
		}
	}
	if len(env.Skipped()) > 0 {
		t.Skipf("some were not run: %s", strings.Join(env.Skipped(), "; "))
	}
}

// The quick run of uci scores airfoil as its own predictions do, and the density is that of a normal distribution.
func TestUCI(t *testing.T) {
	if testing.Short() {
		t.Skip("the long form chooses settings")
	}
	env := quickEnv()
	env.Count, env.Part, env.Log = 1, "airfoil", t.Logf
	results, err := part("uci", env)
	if errors.Is(err, bench.ErrSkipped) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	ours := results[0].Metrics
	for _, r := range results {
		t.Logf("%s: %.3g s, %v", r.Name, r.Seconds, r.Metrics)
		if e := r.Metrics["rmse"]; !(e > 0.1 && e < 0.7) { // the mean of the training targets has 1
			t.Errorf("%s: error %g", r.Name, e)
		}
	}
	// of all normal distributions of one deviation that with the deviation of the errors is the likeliest
	if best := 0.5 + math.Log(ours["rmse"]*math.Sqrt(2*math.Pi)); !(ours["neg_log_density"] < best+0.1) {
		t.Errorf("negative log density %g, %g with one deviation", ours["neg_log_density"], best)
	}
	p := Table(results)
	if len(p.Rows) != 1 || p.Rows[0].Cells[0] != "airfoil" || len(p.Rows[0].Cells) != len(p.Head) {
		t.Errorf("table %v", p.Rows)
	}
	F, Y := blas.General{Rows: 2, Cols: 1, Stride: 1, Data: []float64{1, 2}}, blas.NewGeneral(2, 1)
	D := blas.General{Rows: 2, Cols: 1, Stride: 1, Data: []float64{5, 4}}
	want := (1./50 + 4./32 + math.Log(5*4*2*math.Pi)) / 2
	if _, got := data.Score(F, D, Y, func(int, int) bool { return true }); !(math.Abs(got-want) < 1e-12) {
		t.Errorf("density %g, want %g", got, want)
	}
	env.Part = "protein"
	if _, err := part("uci", env); !errors.Is(err, bench.ErrSkipped) {
		t.Errorf("quick protein: %v", err)
	}
}

// The quick run of curves fills tails better than the last value does, and both programs tell how well they know them.
func TestCurves(t *testing.T) {
	if testing.Short() {
		t.Skip("the long form runs the other programs")
	}
	env := quickEnv()
	env.Count, env.Part, env.Log = 1, "made-0.5", t.Logf
	results, err := part("curves", env)
	if err != nil {
		t.Fatal(err)
	}
	last := results[0].Metrics["rmse"]
	for _, r := range results[1:] {
		t.Logf("%s: %.3g s, %v", r.Name, r.Seconds, r.Metrics)
		if e := r.Metrics["rmse"]; !(e > 0.05 && e < 0.9*last) {
			t.Errorf("%s: error %g, of the last value %g", r.Name, e, last)
		}
		// a deviation of 1 everywhere, that of the last values
		e := r.Metrics["rmse"]
		worst := (e*e + math.Log(2*math.Pi)) / 2
		if d, ok := r.Metrics["neg_log_density"]; !ok || !(d < worst) {
			t.Errorf("%s: negative log density %g, %g with a deviation of 1", r.Name, d, worst)
		}
	}
	if p := Table(results); len(p.Rows) != 1 || p.Rows[0].Cells[0] != "made" || len(p.Rows[0].Cells) != len(p.Head) {
		t.Errorf("table %v", p.Rows)
	}
	for _, env.Part = range []string{"adult-0.5", "made-0.9"} {
		if _, err := part("curves", env); !errors.Is(err, bench.ErrSkipped) {
			t.Errorf("quick %s: %v", env.Part, err)
		}
	}
}
