// Package bench times the solvers: it defines a case, describes the machine, repeats and times work, and compares two
// runs.
//
// Package cases has the list of cases. A [Case] adds values of type [Result] to its [Env] and prints nothing. The JSON
// file of a run has all that tables, pictures and pages show; package report writes these.
package bench

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/files/picture"
)

// Case is one benchmark, which is run by its name.
type Case struct {
	Name    string
	Does    string  // in one line what is measured
	Minutes float64 // about how long the whole takes on two processors with AVX-512; 0 means less than one
	Topic   string  // heading of Topics under which the page of evidence has the case; "" leaves it out

	Shown        []string // the parts that the page of evidence has; nil: all
	ShownMinutes float64  // about how long these take

	// Run measures the case, or the part env.Part, and adds results to env until it is done or ctx ends.
	Run    func(ctx context.Context, env *Env) error
	Parts  []string // each of which can be run alone: "mtr:edm,jura"
	Pieces []string // smaller parts, which are run only by name
	Quick  []string // the parts that a quick run measures; nil: all

	// Pictures draws the results of the case, besides the curves against time that every case has. f has the results
	// of all cases. nil draws none.
	Pictures func(group []Result, f *File) []picture.Figure
}

// Topics are the headings of the page of evidence, in their order.
var Topics = []string{
	"Linear systems with K⊗L + μI",
	"The paper: kernels, outputs and functions learned together",
	"One target, up to 41,157 rows",
	"Several targets",
	"Learning curves with missing ends",
	"Genomes and soils",
	"Who drives whom",
	"Intervals",
}

// Measure runs the parts of the case one after the other. It goes on behind parts that return ErrSkipped, and returns
// the last such error where nothing else fails.
func (c *Case) Measure(ctx context.Context, env *Env) (_ []Result, skipped error) {
	env.results = nil
	if c.Parts == nil {
		err := c.Run(ctx, env)
		return env.results, err
	}
	defer func() { env.Part = "" }()
	for _, env.Part = range c.Parts {
		if env.Quick && c.Quick != nil && !slices.Contains(c.Quick, env.Part) {
			skipped = fmt.Errorf("%w: --quick leaves out %s:%s, which takes long", ErrSkipped, c.Name, env.Part)
			continue
		}
		switch err := c.Run(ctx, env); {
		case errors.Is(err, ErrSkipped):
			skipped = err
		case err != nil:
			return env.results, err
		}
	}
	return env.results, skipped
}

// Env is what a case runs with. Use NewEnv for one with every field set.
type Env struct {
	Backend blas.Backend  // of the solvers; cases that compare backends run all in this build
	Threads int           // that compute at once
	Count   int           // repetitions of what is repeated; 0 means the case's own number
	Quick   bool          // smaller sizes and budgets: the whole ends within two minutes
	Budget  time.Duration // of choosing settings in each fit of the case curves; 0 means no limit
	Data    string        // directory of the data sets; "" means ../shared/data
	Seed    uint64        // of everything random
	Part    string        // of the case that runs, "" where it has none
	Log     func(format string, args ...any)

	Keep    func(*File) // sees what there is after each case or part; nil keeps nothing
	Earlier *File       // what was measured before, set by Continue

	measure func(threads int) Limits
	skipped []string
	results []Result // of the case that runs
}

// NewEnv returns the environment of the active backend.
func NewEnv() *Env {
	return &Env{
		Backend: blas.Active(), Threads: blas.Threads(), Seed: 1, Log: func(string, ...any) {}, measure: measureLimits,
	}
}

// Repeats is the number of repetitions, def unless the user asked for another.
func (e *Env) Repeats(def int) int {
	if e.Count > 0 {
		return e.Count
	}
	return def
}

// Pick returns quick in quick runs and full otherwise.
func Pick[T any](e *Env, quick, full T) T {
	if e.Quick {
		return quick
	}
	return full
}

// Rand returns the generator of one stream of this run's seed.
func (e *Env) Rand(stream uint64) *rand.Rand { return rand.New(rand.NewPCG(e.Seed, stream)) }

// Add hands over results of the case that runs.
func (e *Env) Add(results ...Result) { e.results = append(e.results, results...) }

// Time runs work once and adds a result of that name with the seconds that it took. The pointer is for more figures,
// and valid until the next result is added.
func (e *Env) Time(name string, params map[string]any, work func() error) (*Result, error) {
	start := time.Now()
	if err := work(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	r := Result{Name: name, Params: maps.Clone(params)}
	r.Time([]float64{time.Since(start).Seconds()})
	e.Add(r)
	return &e.results[len(e.results)-1], nil
}

// Skip notes a part of a case that cannot be measured here, and why.
func (e *Env) Skip(format string, args ...any) {
	note := fmt.Sprintf(format, args...)
	if !slices.Contains(e.skipped, note) {
		e.Log("  skipped: %s", note)
		e.skipped = append(e.skipped, note)
	}
}

// Skipped are the notes of Skip.
func (e *Env) Skipped() []string { return slices.Clone(e.skipped) }

// Limits measures what this machine can do.
func (e *Env) Limits() Limits {
	e.Log("measuring the machine's own limits")
	return e.measure(e.Threads)
}

// ErrSkipped says that a case could not run here, and why.
var ErrSkipped = errors.New("skipped")

// Find returns the case of that name, nil where the list has none.
func Find(list []Case, name string) *Case {
	i := slices.IndexFunc(list, func(c Case) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return &list[i]
}

// Select returns the cases of the list of those names, in their order; "all" stands for every
// case, "evidence" for those of all Topics, and "NAME:PART,PART" for some parts of one.
func Select(list []Case, names []string) ([]Case, error) {
	var out []Case
	for _, name := range names {
		switch name {
		case "all":
			return slices.Clone(list), nil
		case "evidence":
			return evidence(list), nil
		}
		c, err := selected(list, name)
		if err != nil {
			return nil, err
		}
		if strings.Contains(name, ":") || !slices.ContainsFunc(out, func(o Case) bool {
			return o.Name == name && slices.Equal(o.Parts, c.Parts)
		}) {
			out = append(out, c)
		}
	}
	return out, nil
}

// selected is the case NAME, or NAME:PART,PART with these parts.
func selected(list []Case, name string) (Case, error) {
	name, parts, some := strings.Cut(name, ":")
	found := Find(list, name)
	if found == nil {
		have := []string{"all", "evidence"}
		for _, c := range list {
			have = append(have, c.Name)
		}
		return Case{}, fmt.Errorf("unknown case %q (have %s)", name, strings.Join(have, ", "))
	}
	c := *found
	if !some {
		return c, nil
	}
	if c.Parts = strings.Split(parts, ","); found.Parts == nil {
		return c, fmt.Errorf("case %q has no parts", name)
	}
	for _, p := range c.Parts {
		if !slices.Contains(found.Parts, p) && !slices.Contains(found.Pieces, p) {
			return c, fmt.Errorf("case %s has no part %q (have %s)", name, p, strings.Join(found.Parts, ", "))
		}
	}
	return c, nil
}

// evidence is the cases that have a topic, with the parts that the page of evidence has.
func evidence(list []Case) (out []Case) {
	for _, c := range list {
		if c.Topic == "" {
			continue
		}
		if c.Shown != nil {
			c.Parts, c.Minutes = c.Shown, c.ShownMinutes
		}
		out = append(out, c)
	}
	return out
}

// SetThreads sets the number of threads of every backend; 0 means one for each processor. It sets GOMAXPROCS too, which
// gonum's products use.
func SetThreads(n int) {
	if n > 0 {
		runtime.GOMAXPROCS(n)
	}
	blas.SetThreads(n)
}

// Duration is a number of seconds as a duration.
func Duration(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }
