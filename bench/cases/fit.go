package cases

import (
	"cmp"
	"context"
	"errors"
	"time"

	"gonum.org/v1/gonum/floats"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/data"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/phase"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/regularizer"
)

// task is a learning problem with, for classification, its test set.
type task struct {
	X, Y   blas.General
	grams  []*blas.Sym
	lambda float64
	norm   regularizer.Regularizer

	// The test set; without one, labels is nil.
	cross  []blas.General // t×l, one for each kernel
	mean   []float64      // of the training outputs, added to predictions
	labels []int          // the true class of each test sample
}

// split makes the task of learning the classes of the rows learn of X, tested on the rows test.
func (t *task) split(
	ctx context.Context, env *bench.Env, X blas.General, labels, learn, test []int, specs []string,
	groups []kernel.Group,
) error {
	t.X, t.labels = blas.TakeRows(X, learn), data.Take(labels, test)
	t.center(data.OneHot(data.Take(labels, learn)))
	return t.build(ctx, env, specs, groups, blas.TakeRows(X, test))
}

// center makes the targets those of Y less their means.
func (t *task) center(Y blas.General) {
	t.Y, t.mean = Y, make([]float64, Y.Cols)
	for i := range Y.Rows {
		blas.Axpy(1/float64(Y.Rows), blas.Row(Y, i), t.mean)
	}
	for i := range Y.Rows {
		blas.Axpy(-1, t.mean, blas.Row(Y, i))
	}
}

// nextGroup is a group of the next columns, of which width are taken.
func nextGroup(name string, width *int, columns int) kernel.Group {
	g := kernel.Group{Name: name}
	for range columns {
		g.Columns = append(g.Columns, *width)
		*width++
	}
	return g
}

// build makes the Gram matrices of the kernels on the rows of X, and the
// cross-Gram matrices with Xtest unless it is empty.
func (t *task) build(
	ctx context.Context, env *bench.Env, specs []string, groups []kernel.Group, Xtest blas.General,
) error {
	d, err := kernel.Build(specs, t.X, groups, env.Seed)
	if err != nil {
		return err
	}
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
	eta    []float64     // start, or the fixed weights
	budget time.Duration // 0 means none
}

// errBudget stops a fit that has used its time.
var errBudget = errors.New("bench: time budget used")

// outcome is a result with the traces of every repetition; Trace is one of them.
type outcome struct {
	bench.Result
	traces [][]bench.Point
	ended  bool // by an error or the budget
}

// repeat fits once more.
func (r *outcome) repeat(ctx context.Context, env *bench.Env, t *task, a approach) {
	rec := &recorder{task: t, budget: a.budget, be: env.Backend}
	res, err := t.solve(ctx, env, a, rec)
	r.Stopped = ctx.Err() != nil || errors.Is(err, errBudget)
	if err != nil && !r.Stopped {
		r.Error = err.Error()
	}
	r.ended = r.Stopped || r.Error != "" && !errors.Is(err, bcd.ErrNotConverged)
	if res != nil {
		r.Samples, r.traces = append(r.Samples, rec.ended), append(r.traces, rec.points)
		r.describe(t, env, res)
	}
}

// fitAll solves the task in every way, their repetitions alternating, so that a
// disturbance of the machine slows all of them. The others go on where one fails. Times
// exclude the recording of traces and the Gram matrices; they include packing their sum. The results are added once
// finish has seen them.
func fitAll(
	ctx context.Context, env *bench.Env, t *task, approaches []approach, finish func(all []outcome),
) (results []outcome, err error) {
	all, contenders := make([]outcome, len(approaches)), make([]bench.Contender, len(approaches))
	for i, a := range approaches {
		all[i].Result = bench.Result{Name: a.name, Params: t.params(a)}
		contenders[i].Run = func() error {
			if !all[i].ended {
				all[i].repeat(ctx, env, t, a)
			}
			return nil
		}
	}
	plan := bench.Plan{Count: env.Repeats(5)}
	if env.Count == 0 { // a fit that takes seconds is not repeated
		plan.Budget = bench.Duration(bench.Pick(env, 0.5, 5))
	}
	_, err = bench.Interleave(ctx, plan, contenders)
	for _, r := range all {
		if r.Samples != nil {
			r.Time(r.Samples)
			r.Trace = r.traces[floats.NearestIdx(r.Samples, r.Seconds)] // of the time nearest to the median
		}
		if r.Count > 0 || r.Error != "" {
			results = append(results, r)
			env.Log("  %s: %.2f s", r.Name, r.Seconds)
		}
	}
	finish(results)
	for _, r := range results {
		env.Add(r.Result)
	}
	return results, err
}

// solve runs the fit once under rec's watch.
func (t *task) solve(ctx context.Context, env *bench.Env, a approach, rec *recorder) (*bcd.Result, error) {
	opt := a.opt
	opt.Backend, opt.Seed, opt.Trace = env.Backend, env.Seed, rec.step
	rec.start = time.Now()
	K := linop.NewGramSum(t.grams, env.Backend, blas.Float64)
	p := &bcd.Problem{
		Space: bcd.NewSamples(K, t.Y), Lambda: t.lambda, Tau: float64(t.Y.Cols), Norm: t.norm, Eta: a.eta,
		Model: a.model,
	}
	res, err := bcd.Solve(ctx, p, opt)
	rec.ended = rec.clock()
	return res, err
}

func (t *task) params(a approach) map[string]any {
	return map[string]any{
		"l": t.Y.Rows, "n": t.Y.Cols, "m": len(t.grams), "lambda": t.lambda, "tau": float64(t.Y.Cols),
		"norm":   t.norm.String(),
		"solver": cmp.Or(a.opt.Solver, "reduced"), "sylvester": cmp.Or(a.opt.Sylvester, "auto"), "tol": a.opt.Tol,
		"precision": blas.Float64.String(),
	}
}

// describe records the solution.
func (r *outcome) describe(t *task, env *bench.Env, res *bcd.Result) {
	r.Objective, r.RelativeGap = bench.Num(res.Objective), bench.Num(res.RelativeGap)
	r.Metric("outer_iterations", float64(res.OuterIterations))
	r.Metric("c_solves", float64(res.SylvesterSolves))
	r.Metric("columns_multiplied", float64(res.KernelMultiplies))
	r.Metric("rank_l", float64(res.L.Rank()))
	r.Metric("active_kernels", float64(floats.Count(func(v float64) bool { return v > 0 }, res.Eta)))
	if t.labels != nil {
		r.Accuracy = bench.Num(t.accuracy(env.Backend, res.Eta, res.C, res.L))
	}
}

// accuracy is the share of test samples whose largest predicted output, K_η(X*,X)·C·L plus the training means, is that
// of their class.
func (t *task) accuracy(be blas.Backend, eta []float64, C blas.General, L *linop.Spectral) float64 {
	var P blas.General
	phase.Apart(phase.Predict, func() { P = t.predict(be, eta, C, L) })
	right := 0
	for i, label := range t.labels {
		blas.Axpy(1, t.mean, blas.Row(P, i))
		if floats.MaxIdx(blas.Row(P, i)) == label {
			right++
		}
	}
	return float64(right) / float64(len(t.labels))
}

func (t *task) predict(be blas.Backend, eta []float64, C blas.General, L *linop.Spectral) blas.General {
	rows, l := t.cross[0].Rows, t.cross[0].Cols
	K, CL, P := blas.NewGeneral(rows, l), blas.NewGeneral(l, C.Cols), blas.NewGeneral(rows, C.Cols)
	for j, v := range eta {
		if v > 0 {
			blas.AddScaled(K, v, t.cross[j])
		}
	}
	L.MulRight(be, CL, C)
	blas.Mul(be, P, false, false, K, CL)
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
		p.Accuracy = bench.Num(c.task.accuracy(c.be, at.Eta, at.X, at.L))
	}
	c.points = append(c.points, p)
	c.paused += time.Since(begin)
	if c.budget > 0 && now > c.budget.Seconds() {
		return errBudget
	}
	return nil
}
