package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

func quickEnv() *Env {
	env := NewEnv()
	env.Quick = true
	return env
}

func TestInterleave(t *testing.T) {
	for follow, want := range map[bool]string{false: "^a+b+abab$", true: "^a+b+aabbaabb$"} {
		var order []string
		work := func(name string) Contender {
			return Contender{Run: func() error { order = append(order, name); return nil }}
		}
		plan := Plan{Count: 2, Warm: true, Follow: follow}
		samples, err := Interleave(context.Background(), plan, []Contender{work("a"), work("b")})
		if err != nil || len(samples[0]) != 2 || len(samples[1]) != 2 {
			t.Errorf("samples %v, %v", samples, err)
		}
		if got := strings.Join(order, ""); !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("follow %v: order …%q, want %q", follow, got[max(0, len(got)-20):], want)
		}
	}
}

func TestInterleaveStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	runs := 0
	samples, err := Interleave(ctx, Plan{Count: 9}, []Contender{{Run: func() error {
		if runs++; runs == 3 {
			cancel()
		}
		return nil
	}}})
	if !errors.Is(err, context.Canceled) || len(samples[0]) != 3 {
		t.Errorf("cancelled: %d samples, %v", len(samples[0]), err)
	}
	for least, want := range []int{1, 1, 2, 3} {
		plan := Plan{Count: 9, Budget: 1, Least: least}
		if samples, _ := Interleave(context.Background(), plan, []Contender{{Run: func() error {
			time.Sleep(time.Microsecond)
			return nil
		}}}); len(samples[0]) != want {
			t.Errorf("beyond its budget, least %d: %d samples", least, len(samples[0]))
		}
	}
	bad := errors.New("bad")
	if _, err := Interleave(context.Background(), Plan{Count: 9}, []Contender{{Run: func() error {
		return bad
	}}}); !errors.Is(err, bad) {
		t.Errorf("failure: %v", err)
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		x    []float64
		want float64
	}{{[]float64{3}, 3}, {[]float64{4, 1, 2}, 2}, {[]float64{4, 1, 2, 3}, 2.5}} {
		if got := Median(c.x); got != c.want {
			t.Errorf("Median(%v) = %g", c.x, got)
		}
	}
	if !math.IsNaN(Median(nil)) {
		t.Error("the median of nothing is a number")
	}
}

func TestJSON(t *testing.T) {
	r := Result{Case: "c", Name: "n", Params: map[string]any{"l": 3}, Objective: Num(math.NaN()), Residual: Num(0)}
	r.Time([]float64{2, 1, 4})
	r.Metric("infinite", math.Inf(1))
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

// Parts that are skipped do not end the others.
func TestMeasureGoesOnPastSkippedParts(t *testing.T) {
	c := Case{Name: "parts", Parts: []string{"long", "short", "longer"}, Run: func(_ context.Context, env *Env) error {
		if env.Part != "short" {
			return ErrSkipped
		}
		env.Add(Result{Name: env.Part})
		return nil
	}}
	results, err := c.Measure(context.Background(), quickEnv())
	if !errors.Is(err, ErrSkipped) || len(results) != 1 || results[0].Name != "short" {
		t.Errorf("%v, results %v", err, results)
	}
}

func TestRunKeepsWhatWasMeasured(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	one := Case{Name: "one", Does: "first", Run: func(_ context.Context, env *Env) error {
		env.Add(Result{Name: "r"})
		return nil
	}}
	stopped := Case{Name: "two", Does: "stopped", Run: func(ctx context.Context, env *Env) error {
		cancel()
		env.Add(Result{Name: "partial"})
		return ctx.Err()
	}}
	file, err := Run(ctx, []Case{one, stopped, one}, quickEnv())
	if err == nil || len(file.Results) != 2 || file.Results[1].Name != "partial" {
		t.Errorf("%v, %d results", err, len(file.Results))
	}
	failing := Case{Name: "bad", Does: "fails", Run: func(context.Context, *Env) error {
		return errors.New("broken")
	}}
	skipped := Case{Name: "absent", Does: "skips", Run: func(context.Context, *Env) error {
		return ErrSkipped
	}}
	file, err = Run(context.Background(), []Case{failing, skipped, one}, quickEnv())
	if err == nil || !strings.Contains(err.Error(), "bad: broken") || strings.Contains(err.Error(), "absent") ||
		len(file.Results) != 1 {
		t.Errorf("%v, %d results", err, len(file.Results))
	}
	if len(file.Machine.Skipped) != 1 {
		t.Errorf("skipped: %v", file.Machine.Skipped)
	}
	if r := file.Results[0]; r.Case != "one" || r.Params["backend"] == nil ||
		!strings.HasPrefix(r.Rerun, "mklbench run one ") {
		t.Errorf("not stamped: %+v", r)
	}
}
