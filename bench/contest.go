package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/sylvester"
)

// sylvesterLimit is how long one solve may take before it is stopped.
func sylvesterLimit(env *Env) float64 { return pick(env, 0.25, 8) }

const (
	// together is the largest l at which the solvers take turns; above, where memory
	// is scarce and a solve is long, each has its repetitions at once.
	together = 1000
	// From this l on, a decomposition that does not depend on L, λ and n is timed
	// once and added to what the rest of a solve takes.
	decomposedOnce = 1000
	// A solver that takes tooLong times what another did is stopped.
	tooLong = 1.4
)

// contest measures the solvers at points of one K.
type contest struct {
	env  *Env
	K    linop.Operator
	kept map[string]*decomposed
	s    system
	sys  sylvester.System
	Y    blas.General
	opt  sylvester.Options
	best float64 // seconds of the fastest solve at this point until now
}

// decomposed is a direct solver that keeps its decomposition of K.
type decomposed struct {
	solver  sylvester.Solver
	seconds float64 // that the decomposition took
}

// rival is one solver at one point.
type rival struct {
	Result
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
func (c *contest) compete(ctx context.Context, names []string, s system) []Result {
	env := c.env
	c.s, c.Y, c.best = s, targets(env, c.K, s.n), math.Inf(1)
	c.sys = sylvester.System{K: c.K, L: outputKernel(env, s.n, s.spectrum), Mu: s.lambda * float64(s.l)}
	c.opt = sylvester.Options{Tol: sylvesterTol, MaxIter: 3000}
	slices.SortStableFunc(names, func(a, b string) int { return rankOf(a) - rankOf(b) })
	size := len(names)
	if s.l > together {
		size = 1
	}
	var out []Result
	for len(names) > 0 && ctx.Err() == nil {
		var variants []Variant
		var group []*rival
		for _, name := range names[:min(size, len(names))] {
			r := &rival{C: blas.NewGeneral(s.l, s.n), Result: Result{Name: name, Params: map[string]any{
				"l": s.l, "n": s.n, "spectrum": s.spectrum, "lambda": s.lambda, "tol": sylvesterTol,
			}}}
			if s.l >= decomposedOnce && !s.whole(env) && (name == "tridiagonal" || name == "eigen") {
				r.kept = c.decompose(ctx, name)
			}
			group = append(group, r)
			variants = append(variants, c.variant(ctx, r))
		}
		names = names[len(group):]
		budget := sylvesterLimit(env) / 8
		if !s.whole(env) {
			budget = 0.2
		}
		samples, _ := Interleave(ctx, Plan{Count: env.count(5), Budget: seconds(budget)}, variants)
		for i, r := range group {
			if c.close(ctx, r, samples[i]); r.Count > 0 || r.Error != "" {
				out = append(out, r.Result)
			}
		}
	}
	return out
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
	d.seconds = median(times)
	if c.kept == nil {
		c.kept = map[string]*decomposed{}
	}
	c.kept[name] = d
	return d
}

// limit is how long the next solve of r may take.
func (c *contest) limit(r *rival) float64 {
	limit := sylvesterLimit(c.env)
	if !c.s.whole(c.env) && r.Name != "auto" {
		limit = min(limit, tooLong*c.best+0.01)
	}
	return limit
}

// variant is a solve from nothing. After one that fails, the others do nothing.
func (c *contest) variant(ctx context.Context, r *rival) Variant {
	runs := 0
	return Variant{
		Prepare: func() {
			blas.Zero(r.C)
			r.solver = nil
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
			limited, cancel := context.WithTimeout(ctx, seconds(limit))
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
		r.time([]float64{r.spent})
	case r.err != nil:
		r.Error = r.err.Error()
	default:
		if r.kept != nil {
			for i := range samples {
				samples[i] += r.kept.seconds
			}
			r.metric("decomposition_seconds", r.kept.seconds)
		}
		r.time(samples)
		r.Residual = Num(r.res.Residual)
		r.metric("columns_multiplied", float64(r.res.Columns))
		if r.res.Solver != r.Name {
			r.Params["chosen"] = r.res.Solver
		}
		if !c.s.whole(c.env) {
			break
		}
		limited, cancel := context.WithTimeout(ctx, seconds(sylvesterLimit(c.env)))
		defer cancel()
		if err := r.again(limited, r.solver, r.C, c.sys, c.Y, c.opt); err != nil {
			r.Error = err.Error()
		}
	}
	r.solver = nil
}

// again times a second solve from the first solution, with an L whose
// eigenvalues have moved by some percent, as in the next step of a fit.
func (r *Result) again(ctx context.Context, solver sylvester.Solver, C blas.General, sys sylvester.System, Y blas.General, opt sylvester.Options) error {
	next := sys.L.Clone()
	for j := range next.S {
		next.S[j] *= 1 + 0.05*math.Sin(float64(3*j))
	}
	slices.SortFunc(next.S, func(a, b float64) int { return cmp.Compare(b, a) })
	sys.L = next
	start := time.Now()
	res, err := solver.Solve(ctx, C, sys, Y, opt)
	if ctx.Err() != nil {
		return nil // no time left for it
	}
	r.metric("second_seconds", time.Since(start).Seconds())
	r.metric("second_residual", res.Residual)
	if errors.Is(err, sylvester.ErrNotConverged) {
		return fmt.Errorf("second solve: %w", err)
	}
	return err
}
