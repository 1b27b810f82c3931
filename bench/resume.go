// This file divides a run into units, and takes those that an earlier run completed.

package bench

import (
	"context"
	"fmt"
	"math"
	"slices"
)

// CaseRun says how one case, or one part of it, was run.
type CaseRun struct {
	Case    string  `json:"case"`
	Part    string  `json:"part,omitempty"`
	Seconds float64 `json:"seconds"`
	Whole   bool    `json:"whole"` // it was not interrupted and did not fail
	Noise   *Noise  `json:"noise,omitempty"`
}

// unit is what a run completes or measures anew: a case, or a part of one that has parts.
type unit struct {
	kind, part, what string
	sums             bool // made of other results, so never reused
	run              func(ctx context.Context, env *Env, before []Result) ([]Result, error)
}

func (s unit) name() string {
	if s.part == "" {
		return s.kind
	}
	return s.kind + ":" + s.part
}

// units are those of the cases. The parts of a quick run are too short to be kept apart.
func units(cases []Case, env *Env) []unit {
	var out []unit
	for _, c := range cases {
		if c.Parts == nil || env.Quick {
			out = append(out, unit{kind: c.Name, what: c.Does, run: func(ctx context.Context, env *Env,
				_ []Result,
			) ([]Result, error) {
				return c.Measure(ctx, env)
			}})
			continue
		}
		for _, part := range c.Parts {
			out = append(out, unit{kind: c.Name, part: part, what: c.Does, run: func(ctx context.Context, env *Env,
				_ []Result,
			) ([]Result, error) {
				return c.part(ctx, env, part)
			}})
		}
		if c.Sum != nil {
			out = append(out, unit{kind: c.Name, what: "all parts", sums: true, run: func(_ context.Context, _ *Env,
				before []Result,
			) ([]Result, error) {
				return c.Sum((&File{Results: before}).Of(c.Name)), nil
			}})
		}
	}
	return out
}

// Continue makes the next run take from f what it measured whole. It refuses a
// file whose figures would not be comparable with those to come.
func (e *Env) Continue(f *File) error {
	then, now := f.Machine, Describe(e)
	for _, d := range append(differences(then, now),
		[3]string{"seed", fmt.Sprint(then.Seed), fmt.Sprint(now.Seed)},
		[3]string{"repetitions", fmt.Sprint(then.Count), fmt.Sprint(now.Count)},
		[3]string{"commit", then.Commit, now.Commit},
	) {
		if d[1] != d[2] {
			return fmt.Errorf("it cannot be continued: %s was %q and is %q", d[0], d[1], d[2])
		}
	}
	e.Earlier, e.limits = f, f.Machine.Limits
	return nil
}

// reuse adds the results of an earlier run of the unit, if there was a whole one.
func (f *File) reuse(env *Env, s unit) bool {
	if env.Earlier == nil || s.sums {
		return false
	}
	old := env.Earlier.Machine
	i := slices.IndexFunc(old.Cases, func(r CaseRun) bool { return r.Whole && r.Case == s.kind && r.Part == s.part })
	if i < 0 {
		return false
	}
	f.Machine.Cases = append(f.Machine.Cases, old.Cases[i])
	for _, r := range env.Earlier.Results {
		if r.Case == s.kind && r.Part == s.part {
			r.peak, r.bandwidth = old.Limits.limitsOf(r)
			f.Results = append(f.Results, r)
		}
	}
	return true
}

// limitsOf are the limits that the shares of a result refer to, 0 where it has none.
func (l *Limits) limitsOf(r Result) (peak, bandwidth float64) {
	if l == nil {
		return 0, 0
	}
	near := func(limit, rate, share float64) bool { return share > 0 && math.Abs(limit*share/rate-1) < 1e-9 }
	for _, p := range l.FMA {
		if near(p.GFlops, r.GFlops, r.OfPeak) {
			peak = p.GFlops
		}
	}
	for _, b := range l.Bandwidth {
		if near(b.GBytes, r.GBytes, r.OfBandwidth) {
			bandwidth = b.GBytes
		}
	}
	return peak, bandwidth
}
