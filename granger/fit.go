// This file prepares the regressions of nodes and fits them: together, or one at a time as problems of package bcd.

package granger

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/par"
	"github.com/iokl/iokl/internal/base/phase"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/rff"
)

// Fit is the model of one node.
type Fit struct {
	Node        string          `json:"node"`
	Lambda      float64         `json:"lambda"`
	Eta         []float64       `json:"eta"`   // of each kernel, in the order of Result.Kernels
	Norms       []float64       `json:"norms"` // ‖f_j‖ = η_j·√c_j, the size of each kernel's part of the model
	L           *linop.Spectral `json:"-"`     // output kernel of a node of several series; nil for one
	Objective   float64         `json:"objective"`
	RelativeGap float64         `json:"relative_gap"` // certified bound of what more iterations could gain
	Iter        int             `json:"iterations"`
	// on the held-out time points, in standard deviations of the series; NaN without hold-out
	RMSE float64 `json:"rmse"`
	// the same of the unpenalized part alone: the mean, and the node's linear past where that is free
	RMSEOwn float64 `json:"rmse_own"`
	// part of the held-out squared error of the latter that the model takes away, 0 where it is less than 1.645 of its
	// standard errors; NaN without hold-out
	Explained float64 `json:"explained"`
}

// model is one node's fit to some samples.
type model struct {
	Fit
	Predict blas.General // predictions at the other samples, one column per series; ranks are told of it and of Fit
	// The penalized part of the model is Σ_j η_j K_j(·, X_idx)·coef, or features times
	// coef, in units of the standardized series; residual is what the whole model leaves
	// of the targets, without rows where that was not computed.
	coef, residual blas.General
}

// task is one node to fit: on the samples idx, predicting the samples other.
type task struct {
	node       int
	idx, other []int
	lambda     float64
	allow      []bool       // kernels that may be used; nil means all
	Y          blas.General // targets in place of the design's, on idx; no rows means the design's
}

// engine fits tasks. It owns the kernels, in the form that the method needs.
type engine struct {
	*design
	maps  rff.Maps    // when the kernels have explicit features
	stack *stack      // otherwise when every node is one series and the norm is lp:1
	terms []*blas.Sym // otherwise

	jointly bool      // the graph has a kernel on all nodes, too
	beliefs []*belief // from all samples; nil where the graph has no probabilities of edges in relaxations
}

func newEngine(ctx context.Context, g *design) (*engine, error) {
	if explicit, err := g.explicit(); explicit || err != nil {
		if err != nil {
			return nil, err
		}
		maps, err := g.newMaps(ctx)
		return &engine{design: g, maps: maps}, err
	}
	terms, err := g.grams(ctx)
	if err != nil {
		return nil, err
	}
	e := &engine{design: g}
	scalar := g.opt.Norm == "lp:1"
	for _, n := range g.node {
		scalar = scalar && n.hi-n.lo == 1
	}
	if scalar {
		e.stack = newStack(terms, g.opt.Backend)
	} else {
		e.terms = terms
	}
	return e, nil
}

// prepared is a task with its border, and its targets projected off it and scaled.
type prepared struct {
	task
	U, ext blas.General
	raw    blas.General // targets on idx
	Y      blas.General // projected, each column of variance 1
	scale  []float64
}

func (e *engine) prepare(t task) prepared {
	p := prepared{task: t, raw: t.Y}
	p.U, p.ext = e.border(t.node, t.idx, t.other)
	cols := e.node[t.node]
	if t.Y.Rows == 0 {
		p.raw = blas.TakeRows(blas.View(e.Y, 0, cols.lo, e.l, cols.hi-cols.lo), t.idx)
	}
	p.Y = blas.Clone(p.raw)
	projectOff(e.opt.Backend, p.Y, p.U)
	p.scale = make([]float64, p.Y.Cols)
	inverse := make([]float64, p.Y.Cols)
	for j := range p.Y.Cols {
		var ss, raw float64
		for i := range p.Y.Rows {
			ss += p.Y.Data[i*p.Y.Stride+j] * p.Y.Data[i*p.Y.Stride+j]
			raw += p.raw.Data[i*p.raw.Stride+j] * p.raw.Data[i*p.raw.Stride+j]
		}
		p.scale[j] = math.Sqrt(ss / float64(p.Y.Rows))
		if ss > 1e-24*raw { // what is left is not rounding error
			inverse[j] = 1 / p.scale[j]
		}
	}
	blas.ScaleColumns(p.Y, inverse)
	return p
}

// finish adds the unpenalized part to the scaled predictions F at the other
// samples; beta (columns of U × series), which it overwrites, is what the border adds to the scaled fit.
func (p *prepared) finish(be blas.Backend, m *model, F, beta blas.General) {
	m.Predict = F
	blas.ScaleColumns(F, p.scale)
	b := blas.Product(be, true, false, p.U, p.raw)
	if beta.Rows > 0 {
		blas.ScaleColumns(beta, p.scale)
		blas.AddScaled(b, 1, beta)
	}
	blas.Gemm(be, false, false, 1, p.ext, b, 1, F)
}

// fitHere fits the tasks, which share the samples idx and other, in this process.
func (e *engine) fitHere(ctx context.Context, tasks []task) ([]model, error) {
	models, work := make([]model, len(tasks)), make([]prepared, len(tasks))
	par.For(len(tasks), func(i int) {
		if ctx.Err() == nil {
			work[i] = e.prepare(tasks[i])
		}
	})
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("granger: %w", err)
	}
	for i, t := range tasks {
		models[i].Node, models[i].Lambda = e.data.Nodes[t.node].Name, t.lambda
	}
	switch {
	case e.maps != nil:
		return models, e.fitFeatures(ctx, models, work)
	case e.stack != nil:
		return models, e.fitStacked(ctx, models, work)
	}
	errs := make([]error, len(tasks))
	par.For(len(tasks), func(i int) { errs[i] = e.fitOne(ctx, &models[i], &work[i]) })
	if err := cmp.Or(errs...); err != nil {
		return nil, err
	}
	return models, nil
}

func (e *engine) fitOne(ctx context.Context, m *model, p *prepared) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("granger: %w", err)
	}
	var kept []int
	var terms []*blas.Sym
	for j, term := range e.terms {
		if p.allow == nil || p.allow[j] {
			kept, terms = append(kept, j), append(terms, term)
		}
	}
	be := e.opt.Backend
	sum := &reducedSum{inner: linop.NewGramSum(terms, be, blas.Float64), be: be, idx: p.idx, U: p.U}
	res, err := e.solve(ctx, bcd.NewSamples(sum, p.Y), p.lambda)
	if err != nil {
		return err
	}
	m.Objective, m.RelativeGap, m.Iter = res.Objective, res.RelativeGap, res.OuterIterations
	if p.Y.Cols > 1 {
		m.L = res.L
	}
	CL, forms := blas.Like(res.C), make([]float64, len(kept))
	res.L.MulRight(be, CL, res.C)
	sum.Forms(forms, res.C, CL, sequence(0, len(kept)))
	m.Eta, m.Norms = make([]float64, len(e.terms)), make([]float64, len(e.terms))
	for k, j := range kept { // ‖f_j‖ = η_j·√tr(CᵀK_jCL)
		m.Eta[j], m.Norms[j] = res.Eta[k], res.Eta[k]*math.Sqrt(math.Max(forms[k], 0))
	}
	sum.SetWeights(res.Eta)
	F := blas.NewGeneral(e.l, CL.Cols) // K_η·Sᵀ·C·L on all samples
	sum.inner.Apply(F, sum.spread(CL))
	out, train := blas.TakeRows(F, p.other), blas.TakeRows(F, p.idx)
	beta := blas.NewGeneral(p.U.Cols, p.Y.Cols)
	blas.Gemm(be, true, false, -1, p.U, train, 0, beta)
	p.finish(be, m, out, beta)
	p.leave(m, CL, res.C)
	return nil
}

// leave keeps the coefficients C·L, and the residual λl·C that (K_η + λl·I)C·L = Y leaves.
func (p *prepared) leave(m *model, CL, C blas.General) {
	m.coef, m.residual = blas.Clone(CL), blas.Clone(C)
	blas.Scal(p.lambda*float64(len(p.idx)), m.residual.Data)
	blas.ScaleColumns(m.coef, p.scale)
	blas.ScaleColumns(m.residual, p.scale)
}

// fitStacked fits all tasks together. Those with the same samples share everything.
func (e *engine) fitStacked(ctx context.Context, models []model, work []prepared) error {
	if len(work) == 0 {
		return nil
	}
	b := &job{s: e.stack, be: e.opt.Backend, idx: work[0].idx, tol: e.opt.Tol, maxIter: e.opt.MaxIter}
	for _, r := range b.idx {
		b.r = max(b.r, r+1)
	}
	for i := range work {
		p := &work[i]
		b.targets = append(b.targets, &target{y: p.Y.Data, border: p.U, lambda: p.lambda, allow: p.allow})
	}
	if err := b.run(ctx); err != nil {
		return err
	}
	var F [][]float64
	phase.Do(ctx, phase.Predict, func(context.Context) { F = e.predictStacked(b, work[0].other) })
	for i, f := range b.targets {
		m := &models[i]
		m.Eta, m.Objective, m.Iter = f.eta, f.value, f.iter
		for j, e := range f.eta {
			m.Norms = append(m.Norms, e*math.Sqrt(f.forms[j]))
		}
		if f.value > 0 {
			m.RelativeGap = f.gap / f.value
		}
		work[i].leave(m, blas.Vector(f.c), blas.Vector(f.c))
		work[i].finish(e.opt.Backend, m, blas.Vector(F[i]), blas.Vector(f.beta))
	}
	return nil
}

// predictStacked computes K_η(other, idx)·c of every target. The samples other
// follow those of idx without a gap.
func (e *engine) predictStacked(b *job, other []int) [][]float64 {
	F, c := make([][]float64, len(b.targets)), make([][]float64, len(b.targets))
	for a, f := range b.targets {
		F[a], c[a] = make([]float64, len(other)), b.scatter(f.c)
	}
	if len(other) > 0 {
		b.s.cross(F, weights(b.targets), c, b.r, b.r+len(other))
	}
	return F
}
