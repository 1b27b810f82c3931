// This file fits one learning problem in several ways, and records objective, gap and accuracy over time.

package learning

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"gonum.org/v1/gonum/floats"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/phase"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/regularizer"
)

// task is a learning problem with, for classification, its test set.
type task struct {
	X, Y   blas.General
	names  []string // of the kernels
	grams  []*blas.Sym
	lambda float64
	norm   regularizer.Regularizer
	tau    float64 // 0 means n, the number of outputs

	// The test set; without one, labels is nil.
	cross  []blas.General // t×l, one for each kernel
	mean   []float64      // of the training outputs, added to predictions
	labels []int          // the true class of each test sample
}

// build makes the Gram matrices of the dictionary on the rows of X, and the
// cross-Gram matrices with Xtest unless it is empty.
func (t *task) build(ctx context.Context, env *bench.Env, d kernel.Dictionary, Xtest blas.General) error {
	var err error
	t.names = d.Names()
	if t.grams, err = d.Grams(ctx, t.X, kernel.GramOptions{Backend: env.Backend}); err != nil {
		return err
	}
	if Xtest.Rows == 0 {
		return nil
	}
	t.cross = make([]blas.General, len(d))
	for j := range d {
		t.cross[j] = blas.NewGeneral(Xtest.Rows, t.X.Rows)
		if err := d[j].Cross(t.cross[j], Xtest, t.X); err != nil {
			return err
		}
	}
	return nil
}

// approach is one way to solve a task.
type approach struct {
	name   string
	opt    bcd.Options
	model  bcd.Model
	eta    []float64      // start, or the fixed weights
	prec   blas.Precision // K_η is kept in
	budget time.Duration  // 0 means none
}

// fitRepeats is how often a fit is repeated unless that takes seconds.
const fitRepeats = 5

// errBudget stops a fit that has used its time.
var errBudget = errors.New("bench: time budget used")

// outcome is a result with what its case needs of it beyond the file.
type outcome struct {
	bench.Result
	traces [][]bench.Point // of every repetition; Trace is one of them
	eta    []float64       // kernel weights found
}

// lines are the results of the outcomes.
func lines(all []outcome) []bench.Result {
	var out []bench.Result
	for _, o := range all {
		out = append(out, o.Result)
	}
	return out
}

// fitting is an approach with the repetitions it has had.
type fitting struct {
	task     *task
	approach approach
	result   outcome
	samples  []float64
	spent    float64
	ended    bool // by an error or the budget
	err      error
}

func (t *task) start(a approach) *fitting {
	return &fitting{task: t, approach: a, result: outcome{Result: bench.Result{Name: a.name, Params: t.params(a)}}}
}

// more tells whether there is to be another repetition.
func (f *fitting) more(env *bench.Env) bool {
	enough := env.Count == 0 && f.spent > bench.Pick(env, 0.5, 5)
	return !f.ended && !enough && len(f.samples) < env.Repeats(fitRepeats)
}

func (f *fitting) repeat(ctx context.Context, env *bench.Env) {
	r := &f.result
	rec := &recorder{task: f.task, budget: f.approach.budget, be: env.Backend}
	res, err := f.task.solve(ctx, env, f.approach, rec)
	if res == nil {
		f.ended, f.err = true, fmt.Errorf("%s: %w", f.approach.name, err)
		return
	}
	f.samples = append(f.samples, rec.ended)
	f.spent += rec.ended
	r.traces = append(r.traces, rec.points)
	r.describe(f.task, env, res)
	r.Stopped = errors.Is(err, errBudget)
	f.ended = r.Stopped
	switch {
	case ctx.Err() != nil:
		r.Stopped, f.ended, f.err = true, true, ctx.Err()
	case err != nil && !r.Stopped && !errors.Is(err, bcd.ErrNotConverged):
		f.ended, f.err = true, fmt.Errorf("%s: %w", f.approach.name, err)
	case err != nil && !r.Stopped:
		r.Error = err.Error()
	}
}

// end is the outcome of all repetitions.
func (f *fitting) end() (outcome, error) {
	if len(f.samples) > 0 {
		f.result.Time(f.samples)
		f.result.medianTrace()
	}
	return f.result, f.err
}

// inTurn runs one repetition of every fit per round until none is to be repeated.
func inTurn(ctx context.Context, env *bench.Env, all []*fitting, repeat func(f *fitting)) {
	for left := true; left; {
		left = false
		for _, f := range all {
			if ctx.Err() == nil && f.more(env) {
				repeat(f)
				left = left || f.more(env)
			}
		}
	}
}

// fitAll solves the task in every way, their repetitions alternating, so that a
// disturbance of the machine slows all of them. The others go on where one fails. Times
// exclude the recording of traces and the Gram matrices; they include packing their sum.
func fitAll(ctx context.Context, env *bench.Env, t *task, approaches []approach) ([]outcome, error) {
	var all []*fitting
	for _, a := range approaches {
		all = append(all, t.start(a))
	}
	inTurn(ctx, env, all, func(f *fitting) { f.repeat(ctx, env) })
	var results []outcome
	for _, f := range all {
		r, err := f.end()
		if err != nil && ctx.Err() == nil {
			r.Error = err.Error()
		}
		if r.Count > 0 || r.Error != "" {
			results = append(results, r)
			env.Log("  %s: %.2f s", r.Name, r.Seconds)
		}
	}
	return results, ctx.Err()
}

// solve runs the fit once under rec's watch.
func (t *task) solve(ctx context.Context, env *bench.Env, a approach, rec *recorder) (*bcd.Result, error) {
	opt := a.opt
	opt.Backend, opt.Seed, opt.Trace = env.Backend, env.Seed, rec.step
	rec.start = time.Now()
	K := linop.NewGramSum(t.grams, env.Backend, a.prec)
	p := &bcd.Problem{
		Space: bcd.NewSamples(K, t.Y), Lambda: t.lambda, Tau: t.bound(), Norm: t.norm, Eta: a.eta, Model: a.model,
	}
	res, err := bcd.Solve(ctx, p, opt)
	rec.ended = rec.clock()
	return res, err
}

func (t *task) bound() float64 { return cmp.Or(t.tau, float64(t.Y.Cols)) }

func (t *task) params(a approach) map[string]any {
	return map[string]any{
		"l": t.Y.Rows, "n": t.Y.Cols, "m": len(t.grams), "lambda": t.lambda, "tau": t.bound(), "norm": t.norm.String(),
		"solver": cmp.Or(a.opt.Solver, "reduced"), "sylvester": cmp.Or(a.opt.Sylvester, "auto"), "tol": a.opt.Tol,
		"precision": a.prec.String(),
	}
}

// describe records the solution.
func (r *outcome) describe(t *task, env *bench.Env, res *bcd.Result) {
	r.Objective, r.RelativeGap = bench.Num(res.Objective), bench.Num(res.RelativeGap)
	r.Metric("outer_iterations", float64(res.OuterIterations))
	r.Metric("c_solves", float64(res.SylvesterSolves))
	r.Metric("columns_multiplied", float64(res.KernelMultiplies))
	r.Metric("rank_l", float64(res.L.Rank()))
	active := 0
	for _, v := range res.Eta {
		if v > 0 {
			active++
		}
	}
	r.Metric("active_kernels", float64(active))
	if t.labels != nil {
		r.Accuracy = bench.Num(t.accuracy(env.Backend, res.Eta, res.C, res.L, res.Ls))
	}
	r.eta = res.Eta
}

// accuracy is the share of test samples whose largest predicted output is that
// of their class: predictions K_η(X*,X)·C·L, or with the kernels' own L_j, plus the training means.
func (t *task) accuracy(
	be blas.Backend, eta []float64, C blas.General, L *linop.Spectral, own []*linop.Spectral,
) float64 {
	var P blas.General
	phase.Apart(phase.Predict, func() { P = t.predict(be, eta, C, L, own) })
	right := 0
	for i, label := range t.labels {
		if floats.MaxIdx(blas.Row(P, i)) == label {
			right++
		}
	}
	return float64(right) / float64(len(t.labels))
}

func (t *task) predict(
	be blas.Backend, eta []float64, C blas.General, L *linop.Spectral, own []*linop.Spectral,
) blas.General {
	rows, l := t.cross[0].Rows, t.cross[0].Cols
	K, CL, P := blas.NewGeneral(rows, l), blas.NewGeneral(l, C.Cols), blas.NewGeneral(rows, C.Cols)
	if own == nil {
		for j, v := range eta {
			if v > 0 {
				blas.AddScaled(K, v, t.cross[j])
			}
		}
		L.MulRight(be, CL, C)
		blas.Mul(be, P, false, false, K, CL)
	}
	for j, L := range own {
		L.MulRight(be, CL, C)
		blas.Gemm(be, false, false, 1, t.cross[j], CL, 1, P)
	}
	for i := range P.Rows {
		blas.Axpy(1, t.mean, blas.Row(P, i))
	}
	return P
}

// recorder records the trace of a fit; its clock excludes its own work.
type recorder struct {
	task   *task
	be     blas.Backend
	budget time.Duration
	start  time.Time
	paused time.Duration
	ended  float64 // seconds of the whole fit
	points []bench.Point
}

func (c *recorder) clock() float64 { return (time.Since(c.start) - c.paused).Seconds() }

func (c *recorder) step(s bcd.Step) error {
	if s.SylvesterSolves == 0 {
		return nil // C = 0, before anything was solved
	}
	now := c.clock()
	begin := time.Now()
	p := bench.Point{Seconds: now, Objective: bench.Num(s.Objective), RelativeGap: bench.Num(s.RelativeGap)}
	if c.task.labels != nil {
		at := s.State()
		p.Accuracy = bench.Num(c.task.accuracy(c.be, at.Eta, at.X, at.L, at.Ls))
	}
	c.points = append(c.points, p)
	c.paused += time.Since(begin)
	if c.budget > 0 && now > c.budget.Seconds() {
		return errBudget
	}
	return nil
}

// medianTrace shows the repetition whose time is nearest to the median.
func (r *outcome) medianTrace() { r.Trace = r.traces[floats.NearestIdx(r.Samples, r.Seconds)] }
