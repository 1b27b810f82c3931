package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
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
