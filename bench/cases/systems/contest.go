package systems

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
	// together is the largest l at which the solvers take turns; above, where memory
	// is scarce and a solve is long, each has its repetitions at once.
	together = 1000
	// From this l on, a decomposition that does not depend on L, λ and n is timed
	// once and added to what the rest of a solve takes.
	decomposedOnce = 1000
	// A solver that takes tooLong times what another did is stopped.
	tooLong = 1.4
	// Those that took up to nearFastest times as long as the fastest are measured
	// anew, in turns with "auto": so often, or what fits into so many seconds of each.
	nearFastest  = 1.5
	finalCount   = 11
	finalSeconds = 0.5
	// So many bytes may be in use before a solve is interrupted by the collector.
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

	final    bool // the fastest are measured once more
	spinning bool // threads of a library may still go on after what it was called for
}

// decomposed is a direct solver that keeps its decomposition of K.
type decomposed struct {
	solver  sylvester.Solver
	seconds float64 // that the decomposition took
}

// rival is one solver at one point.
type rival struct {
	bench.Result
	solver sylvester.Solver
	kept   *decomposed // nil when all of a solve is timed at once
	C      blas.General
	res    sylvester.Result
	err    error
	spent  float64 // seconds of the last solve
}

// compete times the named solvers at one point. Solvers are new at each
// repetition, so that their preparation counts. Where every solver runs to its
// end, a second solve, warm-started, after L has changed, is in the metrics.
func (c *contest) compete(ctx context.Context, names []string, s system) []bench.Result {
	env := c.env
	c.s, c.Y, c.best, c.final, c.spinning = s, data.Targets(env, c.K, s.n), math.Inf(1), false, c.spins("")
	c.sys = sylvester.System{K: c.K, L: data.OutputKernel(env, s.n, s.spectrum), Mu: s.lambda * float64(s.l)}
	c.opt = sylvester.Options{Tol: sylvesterTol, MaxIter: 3000}
	slices.SortStableFunc(names, func(a, b string) int { return rankOf(a) - rankOf(b) })
	size := len(names)
	if s.l > together {
		size = 1
	}
	var all []*rival
	for len(names) > 0 && ctx.Err() == nil {
		var group []*rival
		for _, name := range names[:min(size, len(names))] {
			r := &rival{Result: bench.Result{Name: name, Params: map[string]any{
				"l": s.l, "n": s.n, "spectrum": s.spectrum, "lambda": s.lambda, "tol": sylvesterTol,
			}}}
			if s.l >= decomposedOnce && !s.whole(env) && (name == "tridiagonal" || name == "eigen") {
				r.kept = c.decompose(ctx, name)
			}
			group = append(group, r)
		}
		names = names[len(group):]
		budget := sylvesterLimit(env) / 8
		if !s.whole(env) {
			budget = 0.2
		}
		c.round(ctx, group, bench.Plan{Count: env.Repeats(5), Budget: bench.Duration(budget)})
		all = append(all, group...)
	}
	if !env.Quick {
		c.final = true
		c.round(ctx, finalists(all), bench.Plan{Count: env.Repeats(finalCount), Budget: bench.Duration(finalSeconds)})
	}
	var out []bench.Result
	for _, r := range all {
		if r.Count > 0 || r.Error != "" {
			out = append(out, r.Result)
		}
	}
	return out
}

// round measures the rivals in turns. What an earlier round has found of them goes.
// As long as memory lasts, the collector works between repetitions alone: whether one
// of its cycles falls into a solve depends on what else there is.
func (c *contest) round(ctx context.Context, rivals []*rival, plan bench.Plan) {
	var variants []bench.Variant
	for _, r := range rivals {
		r.C = blas.NewGeneral(c.s.l, c.s.n)
		variants = append(variants, c.variant(ctx, r))
	}
	percent, limit := debug.SetGCPercent(-1), debug.SetMemoryLimit(garbageLimit)
	samples, _ := bench.Interleave(ctx, plan, variants)
	debug.SetGCPercent(percent)
	debug.SetMemoryLimit(limit)
	for i, r := range rivals {
		c.close(ctx, r, samples[i])
		r.C, r.res.KC = blas.General{}, blas.General{}
	}
}

// finalists are "auto" and those of the others that come near the fastest. The least
// of eight medians of a few times that swing by a fifth each would be too small to
// judge auto by. All of a solve is now timed at once, as that of auto is.
func finalists(all []*rival) []*rival {
	var auto *rival
	var others []*rival
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
	slices.SortStableFunc(others, func(a, b *rival) int { return cmp.Compare(a.Seconds, b.Seconds) })
	final := []*rival{auto}
	for _, r := range others {
		if r.Seconds <= nearFastest*others[0].Seconds {
			r.kept = nil
			final = append(final, r)
		}
	}
	return final
}

// spins reports whether threads of the backend's library go on after a solve by the named method.
func (c *contest) spins(method string) bool {
	return method != "nystrom" && method != "rotated" && blas.Beside(c.env.Backend) != c.env.Backend
}

// calm multiplies until threads of a library no longer disturb a solver that begins
// without them. After a mere rest of that time the system may run both threads of
// the first products on one processor, for ten milliseconds or so.
func (c *contest) calm(r *rival) {
	if !c.spinning || r.Name != "auto" && c.spins(r.Name) {
		return
	}
	KY := blas.NewGeneral(c.s.l, c.s.n)
	for start := time.Now(); time.Since(start) < bench.SpinTime; {
		c.K.Apply(KY, c.Y)
	}
}

// rankOf orders the solvers so that those come first whose time is known to be
// bounded, and the others can be stopped against it.
func rankOf(name string) int {
	return slices.Index([]string{"tridiagonal", "eigen", "auto", "cholesky", "nystrom", "rotated", "krylov", "cg"}, name)
}

// decompose has the named solver decompose K, in a solve for one output, and
// returns it with the time that a second such solve does not take: the median of
// a few, as long as they are short.
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
	if c.kept == nil {
		c.kept = map[string]*decomposed{}
	}
	c.kept[name] = d
	return d
}

// limit is how long the next solve of r may take.
func (c *contest) limit(r *rival) float64 {
	limit := sylvesterLimit(c.env)
	if !c.s.whole(c.env) && r.Name != "auto" && !c.final {
		limit = min(limit, tooLong*c.best+0.01)
	}
	return limit
}

// variant is a solve from nothing. After one that fails, the others do nothing.
func (c *contest) variant(ctx context.Context, r *rival) bench.Variant {
	runs := 0
	return bench.Variant{
		Prepare: func() {
			blas.Zero(r.C)
			r.solver = nil
			c.calm(r)
			runtime.GC() // what the solver before has left is not this one's to clear
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
			if r.kept != nil {
				r.solver = r.kept.solver
			} else {
				r.solver, r.err = sylvester.New(r.Name, sylvester.Config{Backend: c.env.Backend, Seed: c.env.Seed})
			}
			if r.err == nil {
				r.res, r.err = r.solver.Solve(limited, r.C, c.sys, c.Y, c.opt)
			}
			r.spent = time.Since(began).Seconds()
			if r.kept != nil {
				r.spent += r.kept.seconds
			}
			r.Stopped = r.err != nil && limited.Err() != nil && ctx.Err() == nil
			c.spinning = c.spins(r.res.Solver)
			if r.err == nil {
				c.best = min(c.best, r.spent)
			}
			return nil
		},
	}
}

// close makes the result of the samples.
func (c *contest) close(ctx context.Context, r *rival, samples []float64) {
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
		if !c.s.whole(c.env) {
			break
		}
		limited, cancel := context.WithTimeout(ctx, bench.Duration(sylvesterLimit(c.env)))
		defer cancel()
		if err := r.again(limited, c.sys, c.Y, c.opt); err != nil {
			r.Error = err.Error()
		}
	}
	r.solver = nil
}

// again times a second solve from the first solution, with an L whose
// eigenvalues have moved by some percent, as in the next step of a fit.
func (r *rival) again(ctx context.Context, sys sylvester.System, Y blas.General, opt sylvester.Options) error {
	next := sys.L.Clone()
	for j := range next.S {
		next.S[j] *= 1 + 0.05*math.Sin(float64(3*j))
	}
	slices.SortFunc(next.S, func(a, b float64) int { return cmp.Compare(b, a) })
	sys.L = next
	start := time.Now()
	res, err := r.solver.Solve(ctx, r.C, sys, Y, opt)
	if ctx.Err() != nil {
		return nil // no time left for it
	}
	r.Metric("second_seconds", time.Since(start).Seconds())
	r.Metric("second_residual", res.Residual)
	if errors.Is(err, sylvester.ErrNotConverged) {
		return fmt.Errorf("second solve: %w", err)
	}
	return err
}
