package granger

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl/blas"
)

// Study is a data set with its kernels, which are built once for all methods. It serves one goroutine.
type Study struct {
	e      *engine
	lambda []float64 // of each node
	found  *Result   // the fits to all samples, without hold-out
	models []model   // behind it
}

// NewStudy checks data and options, builds the kernels, and chooses λ if Options.Lambdas has several values. Its errors
// are those of [Infer].
func NewStudy(ctx context.Context, d *Data, opt Options) (*Study, error) {
	e, err := start(ctx, d, opt)
	if err != nil {
		return nil, err
	}
	lambda, err := e.chooseLambda(ctx)
	if err != nil {
		return nil, err
	}
	return &Study{e: e, lambda: lambda}, nil
}

// start checks everything and builds the kernels.
func start(ctx context.Context, d *Data, opt Options) (*engine, error) {
	joint := opt.Kernels == nil && !opt.Nonlinear
	opt, err := opt.withDefaults()
	if err != nil {
		return nil, err
	}
	q, err := d.check(opt.Lag)
	if err != nil {
		return nil, err
	}
	if opt.Kernels == nil {
		opt.Kernels = KernelsFor(len(q.Nodes), q.X.Rows)
	}
	g, err := newDesign(q, opt)
	if err != nil {
		return nil, err
	}
	e, err := newEngine(ctx, g)
	if err != nil {
		return nil, err
	}
	several := func(n span) bool { return n.hi-n.lo > 1 }
	if e.jointly = joint && len(g.node) > 1 && !slices.ContainsFunc(g.node, several); e.jointly {
		e.relaxing, err = e.relaxes(ctx)
	}
	return e, err
}

// graph fits to all samples, once.
func (s *Study) graph(ctx context.Context) (*Result, error) {
	if s.found == nil {
		tasks := s.e.tasks(s.e.all(), nil, s.lambda)
		models, err := s.e.fit(ctx, tasks)
		if err != nil {
			return nil, err
		}
		if s.found, err = s.e.result(ctx, models, tasks, jointSamples); err != nil {
			return nil, err
		}
		s.models = models
	}
	return s.found, nil
}

// round fits the tasks of all nodes for a round of a resampling, in this process.
func (e *engine) round(ctx context.Context, tasks []task) (*Result, error) {
	models, err := e.fitHere(ctx, tasks)
	if err != nil {
		return nil, err
	}
	return e.result(ctx, models, tasks, jointResampled)
}

// Infer is the function [Infer] on the data of the study.
func (s *Study) Infer(ctx context.Context) (*Result, error) {
	found, err := s.graph(ctx)
	if err != nil {
		return nil, err
	}
	res := *found
	res.Fits = slices.Clone(found.Fits)
	return &res, s.e.holdOut(ctx, &res, s.lambda)
}

// Infer fits a model to every node and returns the graph. The kernels are built
// once; fits run in parallel. A fit that ends at MaxIter above Tol is no error: its RelativeGap says so.
//
// Errors wrap ErrGap, ErrConstant, ErrShort, ErrUnknown, ErrDuplicate, ErrOption,
// ErrMemory, ctx's, or those of the packages kernel and bcd.
func Infer(ctx context.Context, d *Data, opt Options) (*Result, error) {
	s, err := NewStudy(ctx, d, opt)
	if err != nil {
		return nil, err
	}
	return s.Infer(ctx)
}

// Result is the graph, and the fits that it is made of. Its matrices are N×N, row = target, column = source.
type Result struct {
	Nodes []string
	// Graph is what edges are ranked by: Probability where Relaxing, Strength otherwise.
	Graph blas.General
	// Strength_ij = Σ_s η^i_{j,s} + Joint_ij. Strength_ii has 1 added where own linear history is free.
	Strength blas.General
	// Probability_ij is that of the edge j → i in models of relaxations, 1 on the diagonal; no rows unless Relaxing.
	Probability blas.General
	// Joint is what the kernel on all nodes adds to the strengths, 0 without it: it goes with
	// the kernels of [KernelsFor] where every node is one series.
	Joint blas.General
	Norms blas.General // Σ_s ‖f^i_{j,s}‖, the size of source j's part of the model of i, comparable across rows
	// Sizes are Norms + Joint: what compares edges of different targets. A target that no source helps to predict has
	// strengths as large as others, which are shares, and small sizes.
	Sizes   blas.General
	Fits    []Fit
	Kernels []string // names of the kernels that Fit.Eta weighs
	Source  []int    // of each kernel: the node whose past it looks at
	Samples int      // lag windows, all replicates together
	Missing int      // windows that are left out, as they have a missing value
	Lag     int

	// Relaxing says that the replicates return to a common state and are observed with noise.
	Relaxing bool

	// What [Study.Stability] and [Study.Null] found, for the writers to put beside
	// the edges; nil where nobody has asked.
	Stability, Null *Counts
}

// result is the graph of models of the tasks, which are those of all nodes, with the
// kernel on all nodes fitted to at most so many samples.
func (e *engine) result(ctx context.Context, models []model, tasks []task, samples int) (*Result, error) {
	n := len(e.node)
	res := &Result{
		Strength: blas.NewGeneral(n, n), Norms: blas.NewGeneral(n, n), Joint: blas.NewGeneral(n, n),
		Kernels: e.dict.Names(), Source: e.from, Samples: e.l, Missing: e.missing, Lag: e.opt.Lag,
	}
	for i, m := range models {
		m.RMSE, m.RMSEOwn, m.Explained = math.NaN(), math.NaN(), math.NaN()
		res.Nodes = append(res.Nodes, m.Node)
		res.Fits = append(res.Fits, m.Fit)
		for j, source := range e.from {
			blas.Row(res.Strength, i)[source] += m.Eta[j]
			blas.Row(res.Norms, i)[source] += m.Norms[j]
		}
		if len(e.freeColumns(i, e.l)) > 0 {
			blas.Row(res.Strength, i)[i]++
		}
	}
	res.Sizes = blas.Clone(res.Norms)
	res.Graph = res.Strength
	if !e.jointly {
		return res, nil
	}
	var err error
	if res.Joint, err = e.joint(ctx, tasks, samples); err != nil {
		return nil, err
	}
	blas.AddScaled(res.Strength, 1, res.Joint)
	blas.AddScaled(res.Sizes, 1, res.Joint)
	if res.Relaxing = e.relaxing && tasks[0].Y.Rows == 0; res.Relaxing {
		err = e.relax(ctx, tasks[0].idx, res)
	}
	return res, err
}

// all is the list of all samples.
func (g *design) all() []int { return sequence(0, g.l) }

// sequence is lo, lo+1, …, hi-1.
func sequence(lo, hi int) []int {
	s := make([]int, hi-lo)
	for i := range s {
		s[i] = lo + i
	}
	return s
}

// tasks has one task for every node, with the λ of each.
func (g *design) tasks(idx, other []int, lambda []float64) []task {
	tasks := make([]task, len(g.node))
	for k := range tasks {
		tasks[k] = task{node: k, idx: idx, other: other, lambda: lambda[k]}
	}
	return tasks
}

// heldOut fits to the earlier part of every replicate, by all kernels or by the own ones of each node, and has the
// squared errors of each node at the samples of the rest; without tasks where nothing is held out.
func (e *engine) heldOut(ctx context.Context, lambda []float64, own bool) ([]task, [][]float64, error) {
	r := e.before(1 - e.opt.HoldOut)
	if e.opt.HoldOut < 0 || r < 2 || r == e.l {
		return nil, nil, nil
	}
	tasks := e.tasks(sequence(0, r), sequence(r, e.l), lambda)
	for k := range tasks {
		tasks[k].own = own
	}
	models, err := e.fit(ctx, tasks)
	squares := make([][]float64, len(models))
	for k, m := range models {
		squares[k] = e.squares(tasks[k], m.Predict)
	}
	return tasks, squares, err
}

// holdOut fills RMSE, RMSEOwn and Explained.
func (e *engine) holdOut(ctx context.Context, res *Result, lambda []float64) error {
	tasks, squares, err := e.heldOut(ctx, lambda, false)
	for k, all := range squares {
		own := e.squares(tasks[k], e.ownPrediction(tasks[k]))
		f, less := &res.Fits[k], beyondDoubt(own, all)
		f.RMSE, f.RMSEOwn, f.Explained = rootMean(all), rootMean(own), 0
		if less > 0 {
			f.Explained = 1 - stat.Mean(all, nil)/stat.Mean(own, nil)
		}
	}
	return err
}

// beyondDoubt is by how much losses lie below those before in the mean, less jointDoubt standard errors of it: the
// differences are nearly independent (Diebold and Mariano, doi:10.1080/07350015.1995.10524599).
func beyondDoubt(before, losses []float64) float64 {
	d := make([]float64, len(losses))
	floats.SubTo(d, before, losses)
	mean, deviation := stat.MeanStdDev(d, nil)
	return mean - jointDoubt*stat.StdErr(deviation, float64(len(d)))
}

func rootMean(squares []float64) float64 { return math.Sqrt(stat.Mean(squares, nil)) }

// ownPrediction is what the unpenalized part alone says at the other samples.
func (e *engine) ownPrediction(t task) blas.General {
	p := e.prepare(t)
	m := model{border: p.border, free: e.freeWeights(&p, blas.NewGeneral(p.U.Cols, p.Y.Cols))}
	out := blas.NewGeneral(len(t.other), p.Y.Cols)
	e.addFree(&m, out, blas.TakeRows(e.X, t.other))
	return out
}

// squares are the squared errors of predictions at the other samples of t, the means over the series of the node.
func (g *design) squares(t task, predict blas.General) []float64 {
	cols, all := g.node[t.node], make([]float64, len(t.other))
	for i, r := range t.other {
		d := floats.Distance(blas.Row(predict, i), blas.Row(g.Y, r)[cols.lo:cols.hi], 2)
		all[i] = square(d) / float64(cols.hi-cols.lo)
	}
	return all
}

// chooseLambda returns λ for every node: the only one given, or that of least
// error in time-ordered cross-validation.
func (e *engine) chooseLambda(ctx context.Context) ([]float64, error) {
	n := len(e.node)
	same := func(lambda float64) []float64 { return slices.Repeat([]float64{lambda}, n) }
	if len(e.opt.Lambdas) == 1 {
		return same(e.opt.Lambdas[0]), nil
	}
	folds := e.folds()
	if len(folds) == 0 {
		return nil, fmt.Errorf("%w: %d samples do not divide into parts to fit and parts to judge λ on", ErrShort, e.l)
	}
	errors, total := blas.NewGeneral(n, len(e.opt.Lambdas)), make([]float64, len(e.opt.Lambdas))
	for a, lambda := range e.opt.Lambdas {
		for _, f := range folds {
			tasks := e.tasks(sequence(0, f.lo), sequence(f.lo, f.hi), same(lambda))
			models, err := e.fit(ctx, tasks)
			if err != nil {
				return nil, err
			}
			for k, m := range models {
				sum := floats.Sum(e.squares(tasks[k], m.Predict))
				blas.Row(errors, k)[a] += sum
				total[a] += sum
			}
		}
	}
	if !e.opt.PerNode {
		return same(e.opt.Lambdas[floats.MinIdx(total)]), nil
	}
	best := make([]float64, n)
	for k := range n {
		best[k] = e.opt.Lambdas[floats.MinIdx(blas.Row(errors, k))]
	}
	return best, nil
}

// folds are the samples that each fold is judged on, after a fit to all before them:
// the first half of the time is always fitted to, the second is divided among the
// folds. Those with nothing to judge on, or next to nothing to fit to, are left out.
func (g *design) folds() []span {
	var all []span
	part := func(f int) int { return g.before(0.5 + 0.5*float64(f)/float64(g.opt.Folds)) }
	for f := range g.opt.Folds {
		if s := (span{part(f), part(f + 1)}); s.lo >= 2 && s.hi > s.lo {
			all = append(all, s)
		}
	}
	return all
}
