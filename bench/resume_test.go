package bench

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

// TestContinue stops a run in the middle and checks that the next one measures
// what is missing, and nothing twice.
func TestContinue(t *testing.T) {
	var ran []string
	ctx, cancel := context.WithCancel(context.Background())
	line := func(env *Env, name string) {
		ran = append(ran, name)
		r := Result{Name: name}
		r.Time([]float64{1})
		r.Rate(0.5e9, 0)
		env.Add(r)
	}
	whole := Case{Name: "whole", Does: "ends", Run: func(_ context.Context, env *Env) error {
		line(env, "w")
		return nil
	}}
	broken := errors.New("broken")
	failing := Case{Name: "failing", Does: "fails the first time", Run: func(_ context.Context, env *Env) error {
		line(env, "f")
		return broken
	}}
	parts := Case{
		Name: "parts", Parts: []string{"a", "b", "c"},
		Run: func(ctx context.Context, env *Env) error {
			line(env, env.Part)
			if env.Part == "b" {
				cancel()
			}
			return ctx.Err()
		},
	}
	all := []Case{whole, failing, parts}
	newEnv := func() *Env {
		env := quickEnv()
		env.Quick = false
		env.measure = func(threads int) Limits {
			return Limits{FMA: []Peak{{"float64", threads, 2}}}
		}
		return env
	}
	env, kept := newEnv(), 0
	env.Keep = func(f *File) { kept = len(f.Results) }
	first, err := Run(ctx, all, env)
	if err == nil || !slices.Equal(ran, []string{"w", "f", "a", "b"}) || kept != 4 || first.Machine.Limits != nil {
		t.Fatalf("ran %v, kept %d, %v", ran, kept, err)
	}

	ran, broken, cancel, env = nil, nil, func() {}, newEnv()
	if err := env.Continue(first); err != nil {
		t.Fatal(err)
	}
	second, err := Run(context.Background(), all, env)
	if err != nil || !slices.Equal(ran, []string{"f", "b", "c"}) {
		t.Errorf("ran %v, %v", ran, err)
	}
	var got []string
	for _, r := range second.Results {
		got = append(got, r.Name)
	}
	if !slices.Equal(got, []string{"w", "f", "a", "b", "c"}) {
		t.Errorf("results %v", got)
	}
	for _, k := range []int{0, 4} {
		if share := second.Results[k].OfPeak; share != 0.25 {
			t.Errorf("%s has a share of %g of the peak", second.Results[k].Name, share)
		}
	}
	if r := second.Results[2]; !strings.HasPrefix(r.Rerun, "mklbench run parts:a ") {
		t.Errorf("measured again by %q", r.Rerun)
	}
	for _, c := range second.Machine.Cases {
		if !c.Whole || c.Noise == nil {
			t.Errorf("%+v", c)
		}
	}

	for _, c := range []struct {
		says   string
		change func(*Env)
	}{
		{"threads", func(e *Env) { e.Threads++ }},
		{"seed", func(e *Env) { e.Seed++ }},
		{"repetitions", func(e *Env) { e.Count = 9 }},
		{"quick", func(e *Env) { e.Quick = true }},
	} {
		env := newEnv()
		c.change(env)
		if err := env.Continue(first); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.says, err)
		}
	}
}

func TestWorseNoise(t *testing.T) {
	a, b := &Noise{Steal: 0.1, Drift: 0.9, Other: 0.2}, &Noise{Steal: 0.3, Drift: 1.05}
	if w := a.Worse(b); w.Steal != 0.3 || w.Other != 0.2 || math.Abs(w.Drift-0.9) > 0 {
		t.Errorf("%+v", w)
	}
	if a.Worse(nil) != a || (*Noise)(nil).Worse(b) != b {
		t.Error("no noise is worse than some")
	}
}
