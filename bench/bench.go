// Package bench measures the solvers: cases, the data they run on, the machine
// they run on, and the ways to show the outcome (JSON, tables, pictures, a page).
//
// A [Case] returns [Result] values and prints nothing. Everything that a table,
// a picture or the report shows is in the JSON file of a run.
package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"

	"github.com/iokl/iokl/blas"
)

// Case is one measurement that a person can ask for by name.
type Case interface {
	Name() string
	// Description says in one line what is measured.
	Description() string
	// Run measures. When ctx ends it returns what it has so far beside ctx.Err().
	Run(ctx context.Context, env *Env) ([]Result, error)
}

// Env is what a case runs with. Use NewEnv for one with every field set.
type Env struct {
	Backend blas.Backend // of the solvers; cases that compare backends run all in this build
	Threads int          // that compute at once
	Count   int          // repetitions of what is repeated; 0 means the case's own number
	Quick   bool         // smaller sizes and budgets: the whole ends within two minutes
	Data    string       // directory of the data sets; "" means ../shared/data
	Seed    uint64       // of everything random
	Log     func(format string, args ...any)

	Keep    func(*File) // sees what there is after each case or part; nil keeps nothing
	Earlier *File       // what was measured before, set by Continue

	limits  *Limits
	measure func(threads int) Limits
	skipped []string
}

// NewEnv returns the environment of the active backend.
func NewEnv() *Env {
	return &Env{Backend: blas.Active(), Threads: blas.Threads(), Seed: 1, Log: func(string, ...any) {}, measure: MeasureLimits}
}

// count is the number of repetitions, def unless the user asked for another.
func (e *Env) count(def int) int {
	if e.Count > 0 {
		return e.Count
	}
	return def
}

// pick returns quick in quick runs and full otherwise.
func pick[T any](e *Env, quick, full T) T {
	if e.Quick {
		return quick
	}
	return full
}

// rng returns the generator of one stream of this run's seed.
func (e *Env) rng(stream uint64) *rand.Rand { return rand.New(rand.NewPCG(e.Seed, stream)) }

// Skip notes a part of a case that cannot be measured here, and why.
func (e *Env) Skip(format string, args ...any) {
	note := fmt.Sprintf(format, args...)
	if !slices.Contains(e.skipped, note) {
		e.Log("  skipped: %s", note)
		e.skipped = append(e.skipped, note)
	}
}

// Limits measures this machine's limits once per run.
func (e *Env) Limits() Limits {
	if e.limits == nil {
		e.Log("measuring the machine's own limits")
		l := e.measure(e.Threads)
		e.limits = &l
	}
	return *e.limits
}

// ErrSkipped says that a case could not run here, and why.
var ErrSkipped = errors.New("skipped")

// simple is a case made of a function.
type simple struct {
	name, description string
	run               func(ctx context.Context, env *Env) ([]Result, error)
}

func (c *simple) Name() string        { return c.name }
func (c *simple) Description() string { return c.description }

func (c *simple) Run(ctx context.Context, env *Env) ([]Result, error) { return c.run(ctx, env) }

// sliced is a case made of parts, each of which can be run alone: "mtr:edm,jura".
type sliced struct {
	name, description string
	parts             []string
	pieces            []string // parts of parts, run only by name
	run               func(ctx context.Context, env *Env, part string) ([]Result, error)
	sum               func(all []Result) []Result // lines made of those of all parts; nil for none
}

func (c *sliced) Name() string        { return c.name }
func (c *sliced) Description() string { return c.description }

func (c *sliced) Run(ctx context.Context, env *Env) ([]Result, error) {
	var all []Result
	for _, part := range c.parts {
		r, err := c.run(ctx, env, part)
		all = append(all, r...)
		if err != nil {
			return all, err
		}
	}
	if c.sum != nil {
		all = append(all, c.sum(all)...)
	}
	return all, nil
}

// slice is the case of some parts only, in the order asked for.
func (c *sliced) slice(list string) (Case, error) {
	part := *c
	part.parts = strings.Split(list, ",")
	for _, p := range part.parts {
		if !slices.Contains(c.parts, p) && !slices.Contains(c.pieces, p) {
			return nil, fmt.Errorf("case %s has no part %q (have %s)", c.name, p, strings.Join(c.parts, ", "))
		}
	}
	return &part, nil
}

// Cases lists every case, in the order in which "all" runs them.
func Cases() []Case { return slices.Clone(cases) }

// Select returns the cases of those names, in their order; "all" stands for every
// case, and "NAME:PART,PART" for some parts of one.
func Select(names []string) ([]Case, error) {
	var out []Case
	for _, name := range names {
		if name == "all" {
			return Cases(), nil
		}
		name, list, some := strings.Cut(name, ":")
		i := slices.IndexFunc(cases, func(c Case) bool { return c.Name() == name })
		if i >= 0 && some {
			whole, ok := cases[i].(*sliced)
			if !ok {
				return nil, fmt.Errorf("case %q has no parts", name)
			}
			part, err := whole.slice(list)
			if err != nil {
				return nil, err
			}
			out = append(out, part)
			continue
		}
		if i < 0 {
			return nil, fmt.Errorf("unknown case %q (have all, %s)", name, strings.Join(caseNames(), ", "))
		}
		if !slices.Contains(out, cases[i]) {
			out = append(out, cases[i])
		}
	}
	return out, nil
}

func caseNames() []string {
	var names []string
	for _, c := range cases {
		names = append(names, c.Name())
	}
	return names
}

// SetThreads makes n threads compute at once, in every backend; 0 means one for
// each processor. gonum's products know only GOMAXPROCS, which is therefore set too.
func SetThreads(n int) {
	if n > 0 {
		runtime.GOMAXPROCS(n)
	}
	blas.SetThreads(n)
}
