package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/iokl/iokl/blas"
)

// Run runs the cases one after the other, the rest also after a failure; the error
// names those that failed. When ctx ends, the file holds what was measured until then.
// What an earlier run completed is taken from env.Earlier. env.Keep gets the file after
// every unit.
func Run(ctx context.Context, cases []Case, env *Env) (*File, error) {
	file := &File{Machine: Describe(env), Results: []Result{}}
	env.WarnForced()
	before := readNoise()
	var failed []string
	note := func() { file.Machine.Noise, file.Machine.Skipped = noiseSince(before), env.skipped }
	for _, u := range units(cases, env) {
		if ctx.Err() != nil {
			break
		}
		if file.reuse(env, u) {
			env.Log("%s: measured before", u.name())
			continue
		}
		err := file.measure(ctx, env, u)
		switch {
		case errors.Is(err, ErrSkipped):
			env.Skip("%s: %s", u.Name, strings.TrimPrefix(err.Error(), ErrSkipped.Error()+": "))
		case err != nil && ctx.Err() == nil:
			failed = append(failed, fmt.Sprintf("%s: %v", u.name(), err))
		}
		note()
		if env.Keep != nil {
			env.Keep(file)
		}
	}
	note()
	if env.Earlier != nil {
		file.Machine.Noise = file.Machine.Noise.Worse(env.Earlier.Machine.Noise)
	}
	if err := ctx.Err(); err != nil {
		return file, fmt.Errorf("interrupted; %d results were measured until then", len(file.Results))
	}
	file.shares(env)
	if len(failed) > 0 {
		return file, errors.New(strings.Join(failed, "; "))
	}
	return file, nil
}

// measure runs one unit and adds its results.
func (f *File) measure(ctx context.Context, env *Env, u unit) error {
	env.Log("%s: %s", u.name(), u.Does)
	start, noise := time.Now(), readNoise()
	ResetPeakRSS()
	results, err := u.Measure(ctx, env)
	stamp(u, results, env)
	f.Results = append(f.Results, results...)
	run := CaseRun{
		Case: u.Name, Part: u.part, Seconds: time.Since(start).Seconds(), Whole: err == nil &&
			ctx.Err() == nil, Noise: noiseSince(noise),
	}
	if !errors.Is(err, ErrSkipped) {
		f.Machine.Cases = append(f.Machine.Cases, run)
	}
	if err == nil {
		env.Log("%s: done in %.1f s", u.name(), run.Seconds)
	}
	return err
}

// stamp fills in what every result of a case has in common.
func stamp(u unit, results []Result, env *Env) {
	peak := PeakRSS()
	for i := range results {
		r := &results[i]
		r.Case, r.Part = u.Name, u.part
		params := map[string]any{"backend": env.Backend.Name(), "threads": env.Threads, "seed": env.Seed}
		maps.Copy(params, r.Params)
		r.Params = params
		if r.PeakRSS == 0 {
			r.PeakRSS = peak
		}
		r.Rerun = env.rerun(u.name())
	}
}

func (e *Env) rerun(name string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "mklbench run %s --backend %s --threads %d --seed %d", name, e.Backend.Name(), e.Threads, e.Seed)
	if e.Quick {
		b.WriteString(" --quick")
	}
	if e.Count > 0 {
		fmt.Fprintf(&b, " --count %d", e.Count)
	}
	if e.Budget > 0 {
		fmt.Fprintf(&b, " --budget %v", e.Budget)
	}
	return b.String()
}

// shares divides the rates of the results by the limits of the machine, which are measured where there are rates.
func (f *File) shares(env *Env) {
	if !slices.ContainsFunc(f.Results, func(r Result) bool { return r.GFlops > 0 }) {
		return
	}
	l := env.Limits()
	f.Machine.Limits = &l
	for i := range f.Results {
		r := &f.Results[i]
		threads := int(r.Number("threads"))
		r.OfPeak = share(r.GFlops, l.Peak(cmp.Or(r.Param("precision"), "float64"), threads))
		r.OfBandwidth = share(r.GBytes, l.Read(r.GBytes*r.Seconds*1e9, threads))
	}
}

// share is rate/limit, 0 when the limit is unknown.
func share(rate, limit float64) float64 {
	if limit > 0 {
		return rate / limit
	}
	return 0
}

// CaseRun says how one case, or one part of it, was run.
type CaseRun struct {
	Case    string  `json:"case"`
	Part    string  `json:"part,omitempty"`
	Seconds float64 `json:"seconds"`
	Whole   bool    `json:"whole"` // it was not interrupted and did not fail
	Noise   *Noise  `json:"noise,omitempty"`
}

// unit is what a run measures whole or not at all: a case, or one part of a case.
type unit struct {
	Case
	part string
}

func (u unit) name() string {
	if u.part == "" {
		return u.Name
	}
	return u.Name + ":" + u.part
}

// units are the cases, or their parts. A quick run keeps the parts of a case together, since they are short.
func units(cases []Case, env *Env) []unit {
	var out []unit
	for _, c := range cases {
		if c.Parts == nil || env.Quick {
			out = append(out, unit{Case: c})
			continue
		}
		for _, part := range c.Parts {
			c.Parts = []string{part}
			out = append(out, unit{c, part})
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
	e.Earlier = f
	return nil
}

// reuse adds the results of an earlier run of the unit, if there was a whole one.
func (f *File) reuse(env *Env, u unit) bool {
	if env.Earlier == nil {
		return false
	}
	old := env.Earlier.Machine
	i := slices.IndexFunc(old.Cases, func(r CaseRun) bool { return r.Whole && r.Case == u.Name && r.Part == u.part })
	if i < 0 {
		return false
	}
	f.Machine.Cases = append(f.Machine.Cases, old.Cases[i])
	for _, r := range env.Earlier.Results {
		if r.Case == u.Name && r.Part == u.part {
			f.Results = append(f.Results, r)
		}
	}
	return true
}

// Contender is one of several ways to do a piece of work, measured side by side.
type Contender struct {
	Name    string
	Params  map[string]any // its own, beside those of all
	Prepare func()         // runs before each repetition, unmeasured; nil does nothing
	Run     func() error   // is measured
	Spins   bool           // threads of a library wait busily after Run, which slows what runs next
}

const (
	// SpinTime exceeds the time for which threads of OpenBLAS wait busily after a call.
	SpinTime = 130 * time.Millisecond
	// warmTime exceeds the time for which, after a pause, the system may run both threads on one processor.
	warmTime = 50 * time.Millisecond
)

// Plan says how contenders are repeated.
type Plan struct {
	Count int  // repetitions of each; at least 1
	Warm  bool // repetitions of each beforehand are not counted
	// before each repetition the work is done once untimed, so that caches and threads are in the state it leaves
	Follow    bool
	MinSample time.Duration // the work of a repetition is repeated to fill this time; needs Warm
	Budget    time.Duration // of a contender, after which it is not repeated; 0 means no limit
	Least     int           // repetitions of each whatever the budget; 0 means 1
}

// Interleave measures the contenders in turn, round after round, so that what
// disturbs the machine disturbs all of them alike. It returns the seconds of each
// repetition of each; when ctx ends or a contender fails, what it has so far.
func Interleave(ctx context.Context, plan Plan, all []Contender) ([][]float64, error) {
	samples := make([][]float64, len(all))
	inner := make([]int, len(all))
	spent := make([]time.Duration, len(all))
	spins := false
	prepare := func(next Contender, least time.Duration) (time.Duration, error) {
		if spins && !next.Spins {
			least = SpinTime
		}
		spins = next.Spins
		if least == 0 {
			return 0, nil
		}
		return warm(next, least)
	}
	for i, v := range all {
		inner[i] = 1
		if !plan.Warm {
			continue
		}
		if err := ctx.Err(); err != nil {
			return samples, err
		}
		t, err := prepare(v, warmTime)
		if err != nil {
			return samples, err
		}
		spent[i] = t
		inner[i] = int(math.Ceil(min(1e6, max(1, float64(plan.MinSample)/float64(max(t, 1))))))
	}
	for range max(1, plan.Count) {
		for i, v := range all {
			if err := ctx.Err(); err != nil {
				return samples, err
			}
			if len(samples[i]) >= max(1, plan.Least) && plan.Budget > 0 && spent[i] > plan.Budget {
				continue
			}
			if _, err := prepare(v, 0); err != nil {
				return samples, err
			}
			if plan.Follow {
				before, err := once(v, 1)
				if err != nil {
					return samples, err
				}
				spent[i] += before
			}
			t, err := once(v, inner[i])
			if err != nil {
				return samples, err
			}
			spent[i] += t
			samples[i] = append(samples[i], t.Seconds()/float64(inner[i]))
		}
	}
	return samples, nil
}

// once times n runs of v.
func once(v Contender, n int) (time.Duration, error) {
	if v.Prepare != nil {
		v.Prepare()
	}
	start := time.Now()
	for range n {
		if err := v.Run(); err != nil {
			return time.Since(start), err
		}
	}
	return time.Since(start), nil
}

// warm runs v until the time has passed, since idle processors would slow what follows,
// and returns what the last run took.
func warm(v Contender, least time.Duration) (last time.Duration, err error) {
	for start := time.Now(); err == nil; {
		if last, err = once(v, 1); time.Since(start) >= least {
			break
		}
	}
	return last, err
}

// Race measures contenders in turn and adds a result for each, with params and its own parameters, after finish has
// seen the results. The parameter backend is the name of a contender that does not have one.
func (e *Env) Race(
	ctx context.Context, plan Plan, params map[string]any, all []Contender, finish func(results []Result),
) error {
	for i := range all {
		all[i].Spins = all[i].Spins || blas.Threads() > 1 && strings.HasPrefix(all[i].Name, "openblas")
	}
	samples, err := Interleave(ctx, plan, all)
	var results []Result
	for i, c := range all {
		if len(samples[i]) == 0 {
			continue
		}
		r := Result{Name: c.Name, Params: map[string]any{"backend": c.Name}}
		maps.Copy(r.Params, params)
		maps.Copy(r.Params, c.Params)
		r.Time(samples[i])
		results = append(results, r)
	}
	finish(results)
	e.Add(results...)
	return err
}
