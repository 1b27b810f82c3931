package cases

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/blas"
)

// Held-out rows are a third, outliers one target in twenty, and the script's errors of our predictions are those
// counted here.
func TestLosses(t *testing.T) {
	env := quickEnv()
	env.Part, env.Threads, env.Log = "digits", 1, t.Logf
	s, tasks, err := lossSplit(env)
	if err != nil || !slices.Equal(tasks, []string{"classes"}) || s.Xt.Rows != 1797/3 || s.X.Rows != quickRows {
		t.Fatal(tasks, err, s.Xt.Rows)
	}
	changed := 0
	clean := blas.NewGeneral(2000, 1)
	for _, v := range withOutliers(env, clean).Data {
		if math.Abs(v) == 10 {
			changed++
		}
	}
	if changed < 70 || changed > 130 {
		t.Errorf("%d of 2000 targets are off", changed)
	}
	F := blas.NewGeneral(s.Yt.Rows, 10)
	var logLoss, brier, wrong float64
	for i := range F.Rows {
		for k := range 10 {
			F.Data[i*10+k] = 0.05
		}
		F.Data[i*10+i%10] = 0.55
		is := slices.Index(blas.Row(s.Yt, i), 1)
		logLoss -= math.Log(F.Data[i*10+is]) / float64(F.Rows)
		for k, y := range blas.Row(s.Yt, i) {
			brier += (F.Data[i*10+k] - y) * (F.Data[i*10+k] - y) / float64(F.Rows)
		}
		if is != i%10 {
			wrong += 1 / float64(F.Rows)
		}
	}
	results, err := measured(env, func(ctx context.Context, env *bench.Env) error {
		return otherPrograms(ctx, env, peerJob{
			script: "losses.py", count: 1, params: map[string]any{}, args: []string{"classes", "2"},
			data: map[string]blas.General{"X": s.X, "Y": s.Y, "Xt": s.Xt, "Yt": s.Yt, "F": F},
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	if results == nil {
		t.Skip("scikit-learn is not here")
	}
	for key, want := range map[string]float64{"log_loss": logLoss, "brier": brier, "wrong": wrong} {
		if got := results[0].Metrics[key]; !(math.Abs(got-want) <= 1e-9) {
			t.Errorf("%s is %g, want %g", key, got, want)
		}
	}
	if len(results) != 3 || results[0].Seconds != 2 || !(results[2].Metrics["wrong"] < 0.2) {
		t.Errorf("%+v", results)
	}
}
