package granger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/par"
	"github.com/iokl/iokl/internal/learn/dictionary"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/regularizer"
	"github.com/iokl/iokl/rff"
)

// Fit is the model of one node.
type Fit struct {
	Node        string          `json:"node"`
	Lambda      float64         `json:"lambda"`
	Eta         []float64       `json:"eta"`   // of each kernel, in the order of Result.Kernels
	Norms       []float64       `json:"norms"` // ‖f_j‖ = η_j·√tr(CᵀK_jCL), the size of each kernel's part of the model
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

// model is the fit of one node to some samples, in standard deviations of its series.
type model struct {
	Fit
	Predict blas.General // at the other samples, a column per series; MPI ranks receive it and Fit

	// The kernels' part is Σ_j η_j K_j(·, X_idx)·coef, or the features times coef; the unpenalized part is
	// border.inputs times free.
	border     border
	coef, free blas.General
	residual   blas.General // what the model leaves of the targets; without rows in feature space
}

// task is one node to fit: on the samples idx, predicting the samples other.
type task struct {
	node       int
	idx, other []int
	lambda     float64
	own        bool         // only the kernels of the node itself
	Y          blas.General // targets on idx; no rows means those of the design
}

// engine fits tasks. It owns the kernels.
type engine struct {
	*design
	maps    rff.Maps       // where the kernels have explicit features
	factors []blas.General // otherwise, where kernels are of low rank: Z_j with K_j = Z_j·Z_jᵀ in single precision
	terms   []*blas.Sym    // otherwise: their Gram matrices

	jointly  bool // the graph has a kernel on all nodes, too
	relaxing bool // the graph is of probabilities of edges in relaxations
}

func newEngine(ctx context.Context, g *design) (*engine, error) {
	e := &engine{design: g}
	explicit, err := dictionary.InFeatures(g.dict, g.l, false)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrOption, err)
	case explicit:
		e.maps, err = g.newMaps(ctx)
	default:
		if e.factors, err = g.lowRank(ctx); err == nil && e.factors == nil {
			e.terms, err = g.grams(ctx)
		}
	}
	return e, err
}

// prepared is a task with its border, and its targets projected off it and scaled.
type prepared struct {
	task
	border border
	U      blas.General // the border's values on idx
	raw    blas.General // targets on idx
	Y      blas.General // projected, each column of variance 1, or 0 where nothing is left
	scale  []float64
}

func (e *engine) prepare(t task) prepared {
	p := prepared{task: t, raw: t.Y}
	p.border, p.U = e.border(t.node, t.idx)
	cols := e.node[t.node]
	if t.Y.Rows == 0 {
		p.raw = blas.TakeRows(blas.View(e.Y, 0, cols.lo, e.l, cols.hi-cols.lo), t.idx)
	}
	p.Y = blas.Clone(p.raw)
	projectOff(e.opt.Backend, p.Y, p.U)
	p.scale = make([]float64, p.Y.Cols)
	inverse := make([]float64, p.Y.Cols)
	for j := range p.Y.Cols {
		left := rms(mat.Col(nil, j, blas.Dense(p.Y)))
		if p.scale[j] = left; left > 1e-12*rms(mat.Col(nil, j, blas.Dense(p.raw))) { // not rounding
			inverse[j] = 1 / left
		}
	}
	blas.ScaleColumns(p.Y, inverse)
	return p
}

// finish takes the coefficients of the scaled fit and its kernels' part at the samples of the task and at the
// others, the former as UᵀF alone, and fits the border to what they leave. It overwrites them.
func (e *engine) finish(m *model, p *prepared, coef, UF, F blas.General) {
	for _, a := range []blas.General{coef, UF, F} {
		blas.ScaleColumns(a, p.scale)
	}
	m.border, m.coef, m.Predict = p.border, coef, F
	m.free = e.freeWeights(p, UF)
	e.addFree(m, F, blas.TakeRows(e.X, p.other))
}

// freeWeights are the weights of the border's inputs that fit the targets less F, of which UᵀF is given.
func (e *engine) freeWeights(p *prepared, UF blas.General) blas.General {
	b := blas.Product(e.opt.Backend, true, false, p.U, p.raw)
	blas.AddScaled(b, -1, UF)
	return blas.Product(e.opt.Backend, false, false, p.border.T, b)
}

// addFree adds the unpenalized part of the model at the rows of X to F.
func (e *engine) addFree(m *model, F, X blas.General) {
	blas.Gemm(e.opt.Backend, false, false, 1, m.border.inputs(X), m.free, 1, F)
}

// fitHere fits the tasks, which share the samples idx and other, in this process.
func (e *engine) fitHere(ctx context.Context, tasks []task) ([]model, error) {
	models, work := make([]model, len(tasks)), make([]prepared, len(tasks))
	err := forEach(ctx, len(tasks), func(i int) error {
		work[i] = e.prepare(tasks[i])
		models[i].Node, models[i].Lambda = e.data.Nodes[tasks[i].node].Name, tasks[i].lambda
		if e.maps != nil {
			return nil
		}
		return e.fitGrams(ctx, &models[i], &work[i])
	})
	if err == nil && e.maps != nil && len(tasks) > 0 {
		err = e.fitFeatures(ctx, models, work)
	}
	if err != nil {
		return nil, err
	}
	return models, nil
}

// forEach calls f for 0 to n−1 in parallel, each unless ctx has ended, and returns the error of the least index.
func forEach(ctx context.Context, n int, f func(i int) error) error {
	errs := make([]error, n)
	par.For(n, func(i int) {
		if err := ctx.Err(); err != nil {
			errs[i] = fmt.Errorf("granger: %w", err)
			return
		}
		errs[i] = f(i)
	})
	return cmp.Or(errs...)
}

// fitGrams fits one task in sample space.
func (e *engine) fitGrams(ctx context.Context, m *model, p *prepared) error {
	kernels, be := e.kernels(p.task), e.opt.Backend
	sum := &reducedSum{inner: e.sum(kernels), be: be, idx: p.idx, U: p.U}
	C, CL, err := e.solve(ctx, m, p, kernels, bcd.NewSamples(sum, p.Y))
	if err != nil {
		return err
	}
	forms, eta := make([]float64, len(kernels)), make([]float64, len(kernels))
	sum.Forms(forms, C, CL, sequence(0, len(kernels)))
	for k, j := range kernels {
		eta[k] = m.Eta[j]
		m.Norms[j] = eta[k] * math.Sqrt(math.Max(forms[k], 0))
	}
	sum.SetWeights(eta)
	F := blas.NewGeneral(e.l, CL.Cols) // K_η·Sᵀ·C·L on all samples
	sum.inner.Apply(F, sum.spread(CL))
	m.residual = C // (K_η + λl·I)·C·L = Y leaves λl·C
	blas.Scal(p.lambda*float64(len(p.idx)), C.Data)
	blas.ScaleColumns(C, p.scale)
	UF := blas.Product(be, true, false, p.U, blas.TakeRows(F, p.idx))
	e.finish(m, p, CL, UF, blas.TakeRows(F, p.other))
	return nil
}

// sum is the sum of those kernels on all samples.
func (e *engine) sum(kernels []int) kernelSum {
	if e.factors != nil {
		return linop.NewFactorSum(chosen(e.factors, kernels), e.opt.Backend)
	}
	return linop.NewGramSum(chosen(e.terms, kernels), e.opt.Backend, blas.Float64)
}

// chosen is the elements of the list at those places.
func chosen[T any](list []T, at []int) []T {
	out := make([]T, len(at))
	for k, i := range at {
		out[k] = list[i]
	}
	return out
}

// kernels lists the kernels that a task may use.
func (g *design) kernels(t task) []int {
	var list []int
	for j, source := range g.from {
		if !t.own || source == t.node {
			list = append(list, j)
		}
	}
	return list
}

// solve fits one task by package bcd, in the space of those kernels, and fills in all of Fit but the norms. It
// returns the coefficients without and with L.
func (e *engine) solve(
	ctx context.Context, m *model, p *prepared, kernels []int, space bcd.Space,
) (C, CL blas.General, err error) {
	m.Eta, m.Norms = make([]float64, len(e.dict)), make([]float64, len(e.dict))
	n := space.Outputs()
	if blas.Frob(p.Y) == 0 { // nothing is left to explain
		C = blas.NewGeneral(space.Unknowns(), n)
		return C, blas.Clone(C), nil
	}
	norm, err := regularizer.Parse(e.opt.Norm)
	if err != nil {
		return C, CL, fmt.Errorf("%w: %w", ErrOption, err)
	}
	solver := "reduced"
	if n == 1 {
		solver = "closed"
	}
	res, err := bcd.Solve(ctx, &bcd.Problem{
		Space: space, Lambda: p.lambda, Tau: float64(n), Norm: norm, Model: bcd.ProductOf(true, n > 1 && !e.opt.FixL),
	}, bcd.Options{Solver: solver, Tol: e.opt.Tol, MaxOuter: e.opt.MaxIter, Backend: e.opt.Backend, Seed: e.opt.Seed})
	switch {
	case errors.Is(err, bcd.ErrLambdaTooSmall):
		return C, CL, fmt.Errorf("%w: λ = %g is too small for kernels in single precision: K_η + λl·I is not "+
			"positive definite", ErrOption, p.lambda)
	case err != nil && (res == nil || !errors.Is(err, bcd.ErrNotConverged)):
		return C, CL, fmt.Errorf("granger: %w", err)
	}
	m.Objective, m.RelativeGap, m.Iter = res.Objective, res.RelativeGap, res.OuterIterations
	if n > 1 {
		m.L = res.L
	}
	for k, j := range kernels {
		m.Eta[j] = res.Eta[k]
	}
	CL = blas.Like(res.C)
	res.L.MulRight(e.opt.Backend, CL, res.C)
	return res.C, CL, nil
}

// kernelPart returns the function that evaluates what the kernels of a source, or of all for −1, make of the models,
// which were fitted to the samples idx: at the rows of X, a matrix for each model.
func (e *engine) kernelPart(
	models []model, idx []int, source int,
) (func(ctx context.Context, X blas.General) ([]blas.General, error), error) {
	uses := func(j int) bool { return source < 0 || e.from[j] == source }
	if e.maps != nil {
		return e.featurePart(models, uses), nil
	}
	crossings, X := make([]*kernel.Crossing, len(models)), blas.TakeRows(e.X, idx)
	for i, m := range models {
		eta := make([]float64, len(m.Eta))
		for j, v := range m.Eta {
			if uses(j) {
				eta[j] = v
			}
		}
		var err error
		if crossings[i], err = e.dict.Crossing(eta, X, e.opt.Backend); err != nil {
			return nil, fmt.Errorf("granger: %w", err)
		}
	}
	return func(ctx context.Context, X blas.General) ([]blas.General, error) {
		out := make([]blas.General, len(models))
		return out, forEach(ctx, len(out), func(i int) error {
			out[i] = blas.NewGeneral(X.Rows, models[i].coef.Cols)
			return crossings[i].Mul(out[i], X, models[i].coef)
		})
	}, nil
}
