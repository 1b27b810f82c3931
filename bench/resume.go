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

// stretch is what a run keeps together: a case, or a part of one that has parts.
type stretch struct {
	kind, part, what string
	sums             bool // made of the results before it, so never kept
	run              func(ctx context.Context, env *Env, before []Result) ([]Result, error)
}

func (s stretch) name() string {
	if s.part == "" {
		return s.kind
	}
	return s.kind + ":" + s.part
}

// stretches are those of the cases. The parts of a quick run are too short to be kept apart.
func stretches(cases []Case, env *Env) []stretch {
	var out []stretch
	for _, c := range cases {
		if c.Parts == nil || env.Quick {
			out = append(out, stretch{kind: c.Name, what: c.Does, run: func(ctx context.Context, env *Env, _ []Result) ([]Result, error) {
				return c.Measure(ctx, env)
			}})
			continue
		}
		for _, part := range c.Parts {
			out = append(out, stretch{kind: c.Name, part: part, what: c.Does, run: func(ctx context.Context, env *Env, _ []Result) ([]Result, error) {
				return c.part(ctx, env, part)
			}})
		}
		if c.Sum != nil {
			out = append(out, stretch{kind: c.Name, what: "all parts", sums: true, run: func(_ context.Context, _ *Env, before []Result) ([]Result, error) {
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

// take adds the results of an earlier run of the stretch, if there was a whole one.
func (f *File) take(env *Env, s stretch) bool {
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
			r.peak, r.bandwidth = old.Limits.behind(r)
			f.Results = append(f.Results, r)
		}
	}
	return true
}

// behind are the limits that the shares of a result refer to, 0 where it has none.
func (l *Limits) behind(r Result) (peak, bandwidth float64) {
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
