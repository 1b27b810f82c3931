package cases

import (
	"cmp"
	"context"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/data"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/sylvester"
)

// sylvesterLimit is how long one solve may take before it is stopped.
func sylvesterLimit(env *bench.Env) float64 { return bench.Pick(env, 0.25, 8) }

const (
	// alternateUpTo is the largest l at which the repetitions of the solvers alternate. Above
	// it memory is scarce and a solve is long: each solver runs all its repetitions in turn.
	alternateUpTo = 1000
	// From l = decomposedOnce on, the decomposition of K, which depends on neither L nor
	// λ nor n, is timed once and its time is added to that of the rest of each solve.
	decomposedOnce = 1000
	// A solve is stopped after tooLong times the time of the fastest so far.
	tooLong = 1.4
	// Solvers within nearFastest times the fastest time are measured once more, their
	// repetitions alternating with those of "auto": finalCount times, or finalSeconds each, but finalLeast times at
	// least, so that the median leaves out a solve that takes memory for the first time.
	nearFastest  = 1.5
	finalCount   = 11
	finalSeconds = 0.5
	finalLeast   = 3
	// garbageLimit is the number of bytes in use at which a collection interrupts a solve.
	garbageLimit = 3 << 30
)

// contest measures the solvers at points of one K.
type contest struct {
	env  *bench.Env
	K    linop.Operator
	kept map[string]*decomposed
	s    system
	sys  sylvester.System
	Y    blas.General
	opt  sylvester.Options
	best float64 // seconds of the fastest solve at this point until now

	final bool // in the last round, of the fastest and "auto"
}

// decomposed is a direct solver that keeps its decomposition of K.
type decomposed struct {
	solver  sylvester.Solver
	seconds float64 // that the decomposition took
}

// entrant is one solver at one point.
type entrant struct {
	bench.Result
	kept  *decomposed // nil when all of a solve is timed at once
	C     blas.General
	res   sylvester.Result
	err   error
	spent float64 // seconds of the last solve
}

// measure times the named solvers at one point. Each repetition makes a new solver,
// so that its preparation counts.
func (c *contest) measure(ctx context.Context, names []string, s system) []bench.Result {
	env := c.env
	c.s, c.Y, c.best, c.final = s, data.Targets(env, c.K, s.n), math.Inf(1), false
	c.sys = sylvester.System{K: c.K, L: data.OutputKernel(env, s.n, s.spectrum), Mu: s.lambda * float64(s.l)}
	c.opt = sylvester.Options{Tol: sylvesterTol, MaxIter: 3000}
	slices.SortStableFunc(names, func(a, b string) int { return slices.Index(ranked, a) - slices.Index(ranked, b) })
	size := len(names)
	if s.l > alternateUpTo {
		size = 1
	}
	var all []*entrant
	for len(names) > 0 && ctx.Err() == nil {
		var group []*entrant
		for _, name := range names[:min(size, len(names))] {
			r := &entrant{Result: bench.Result{Name: name, Params: map[string]any{
				"l": s.l, "n": s.n, "spectrum": s.spectrum, "lambda": s.lambda, "tol": sylvesterTol,
			}}}
			if s.l >= decomposedOnce && !s.complete(env) && (name == "tridiagonal" || name == "eigen") {
				r.kept = c.decompose(ctx, name)
			}
			group = append(group, r)
		}
		names = names[len(group):]
		budget := sylvesterLimit(env) / 8
		if !s.complete(env) {
			budget = 0.2
		}
		c.round(ctx, group, bench.Plan{Count: env.Repeats(5), Budget: bench.Duration(budget)})
		all = append(all, group...)
	}
	if !env.Quick {
		c.final = true
		c.round(ctx, finalists(all), bench.Plan{
			Count: env.Repeats(finalCount), Budget: bench.Duration(finalSeconds), Least: finalLeast,
		})
	}
	var out []bench.Result
	for _, r := range all {
		if r.Count > 0 || r.Error != "" {
			out = append(out, r.Result)
		}
	}
	return out
}

// round measures the entrants, their repetitions alternating, and replaces what an
// earlier round found. Garbage is collected between repetitions only, as long as memory
// suffices: otherwise the state of the heap decides in whose time a collection falls.
func (c *contest) round(ctx context.Context, entrants []*entrant, plan bench.Plan) {
	var all []bench.Contender
	for _, r := range entrants {
		r.C = blas.NewGeneral(c.s.l, c.s.n)
		all = append(all, c.contender(ctx, r))
	}
	percent, limit := debug.SetGCPercent(-1), debug.SetMemoryLimit(garbageLimit)
	samples, _ := bench.Interleave(ctx, plan, all)
	debug.SetGCPercent(percent)
	debug.SetMemoryLimit(limit)
	for i, r := range entrants {
		c.close(ctx, r, samples[i])
		r.C, r.res.KC = blas.General{}, blas.General{}
	}
}

// finalists are "auto" and the solvers near the fastest. The smallest of eight medians
// of few times, each uncertain by a fifth, is biased downwards, and "auto" would be
// judged by it. The last round times each solve as a whole, as it does that of "auto".
func finalists(all []*entrant) []*entrant {
	var auto *entrant
	var others []*entrant
	for _, r := range all {
		switch {
		case r.Error != "" || r.Stopped || r.Count == 0:
		case r.Name == "auto":
			auto = r
		default:
			others = append(others, r)
		}
	}
	if auto == nil || len(others) == 0 {
		return nil
	}
	slices.SortStableFunc(others, func(a, b *entrant) int { return cmp.Compare(a.Seconds, b.Seconds) })
	final := []*entrant{auto}
	for _, r := range others {
		if r.Seconds <= nearFastest*others[0].Seconds {
			r.kept = nil
			final = append(final, r)
		}
	}
	return final
}

// ranked are the solvers, first those of bounded time, against which the others are stopped.
var ranked = []string{"tridiagonal", "eigen", "auto", "cholesky", "nystrom", "rotated", "cg"}

// decompose lets the named solver decompose K in a solve for one output. The time of
// the decomposition is that of the first solve less that of a second one, the median
// of up to five where they are short.
func (c *contest) decompose(ctx context.Context, name string) *decomposed {
	if d := c.kept[name]; d != nil {
		return d
	}
	l := c.K.Dim()
	y, x := blas.NewGeneral(l, 1), blas.NewGeneral(l, 1)
	for i := range l {
		y.Data[i] = c.Y.Data[i*c.Y.Stride]
	}
	sys := sylvester.System{K: c.K, L: linop.ScaledIdentity(1, 1), Mu: c.sys.Mu}
	var d *decomposed
	var times []float64
	for began := time.Now(); len(times) == 0 || len(times) < 5 && time.Since(began).Seconds() < 0.3; {
		solver, err := sylvester.New(name, sylvester.Config{Backend: c.env.Backend, Seed: c.env.Seed})
		if err != nil {
			return nil
		}
		runtime.GC()
		start := time.Now()
		if _, err := solver.Solve(ctx, x, sys, y, sylvester.Options{}); err != nil {
			return nil // the solve at the point itself will say so
		}
		middle := time.Now()
		if _, err := solver.Solve(ctx, x, sys, y, sylvester.Options{}); err != nil {
			return nil
		}
		times = append(times, (middle.Sub(start) - time.Since(middle)).Seconds())
		d = &decomposed{solver: solver}
	}
	d.seconds = bench.Median(times)
	c.kept[name] = d
	return d
}

// limit is how long the next solve of r may take.
func (c *contest) limit(r *entrant) float64 {
	limit := sylvesterLimit(c.env)
	if !c.s.complete(c.env) && r.Name != "auto" && !c.final {
		limit = min(limit, tooLong*c.best+0.01)
	}
	return limit
}

// contender is a solve from zero. After a failure, the other repetitions do nothing.
func (c *contest) contender(ctx context.Context, r *entrant) bench.Contender {
	runs := 0
	native := slices.Contains([]string{"auto", "nystrom", "rotated"}, r.Name) // which solve by native kernels, or may
	return bench.Contender{
		Spins: !native && blas.Beside(c.env.Backend) != c.env.Backend,
		Prepare: func() {
			blas.Zero(r.C)
			runtime.GC() // the garbage of the solver before
		},
		Run: func() error {
			if r.err != nil {
				return nil
			}
			limit := sylvesterLimit(c.env)
			if runs++; runs == 1 {
				limit = c.limit(r)
			}
			limited, cancel := context.WithTimeout(ctx, bench.Duration(limit))
			defer cancel()
			began := time.Now()
			var solver sylvester.Solver
			if r.kept != nil {
				solver = r.kept.solver
			} else {
				solver, r.err = sylvester.New(r.Name, sylvester.Config{Backend: c.env.Backend, Seed: c.env.Seed})
			}
			if r.err == nil {
				r.res, r.err = solver.Solve(limited, r.C, c.sys, c.Y, c.opt)
			}
			r.spent = time.Since(began).Seconds()
			if r.kept != nil {
				r.spent += r.kept.seconds
			}
			r.Stopped = r.err != nil && limited.Err() != nil && ctx.Err() == nil
			if r.err == nil {
				c.best = min(c.best, r.spent)
			}
			return nil
		},
	}
}

// close makes the result of the samples.
func (c *contest) close(ctx context.Context, r *entrant, samples []float64) {
	switch {
	case ctx.Err() != nil:
	case r.Stopped:
		r.Time([]float64{r.spent})
	case r.err != nil:
		r.Error = r.err.Error()
	default:
		if r.kept != nil {
			for i := range samples {
				samples[i] += r.kept.seconds
			}
			r.Metric("decomposition_seconds", r.kept.seconds)
		}
		r.Time(samples)
		r.Residual = bench.Num(r.res.Residual)
		r.Metric("columns_multiplied", float64(r.res.Columns))
		if r.res.Solver != r.Name {
			r.Params["chosen"] = r.res.Solver
		}
	}
}
