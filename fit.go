package iokl

import (
	"context"
	"errors"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/rff"
	"github.com/iokl/iokl/stream"
)

// Fit learns Y (l×n) from X (l×d), a row per sample; NaN in X is a missing cell.
//
// A nil error means that the model's certified relative gap is at most opt.Tol.
// A fit that ends before, because it was cancelled, was stopped by Trace, or ran
// out of iterations, returns the best model so far, with its gap, and the error:
// the context's, Trace's, or one that wraps [bcd.ErrNotConverged]. Data or
// options that make no sense are [ErrInput], matrices beyond opt.MaxBytes
// [ErrMemory], both without a model.
func Fit(ctx context.Context, X, Y mat.Matrix, opt Options) (*Model, error) {
	return fit(ctx, raw(X), raw(Y), opt)
}

// FitClasses learns to tell classes apart: a target of 0 or 1 for each class,
// standardised. The model's Classify gives the class of the largest output.
func FitClasses(ctx context.Context, X mat.Matrix, labels []string, opt Options) (*Model, error) {
	Y, classes := OneHot(labels)
	if len(classes) < 2 {
		return nil, badInput("%d samples of one class: there is nothing to tell apart", len(labels))
	}
	if opt.OutputNames == nil {
		opt.OutputNames = classes
	}
	m, err := fit(ctx, raw(X), raw(Y), opt)
	if m != nil {
		m.out.Classes = classes
	}
	return m, err
}

// FitGram learns Y (l×n) from m Gram matrices (l×l, symmetric, positive
// semidefinite to within rounding) of the caller's. Nothing is standardised
// unless opt.Standardize says so, and opt.Kernels is not used. The model
// predicts from cross-Gram matrices, by PredictGram.
func FitGram(ctx context.Context, grams []mat.Matrix, Y mat.Matrix, opt Options) (*Model, error) {
	opt, err := opt.check(true)
	if err != nil {
		return nil, err
	}
	y := raw(Y)
	if err := checkRows(y.Rows, y); err != nil {
		return nil, err
	}
	if err := opt.announce(opt.gramPlan(len(grams), y.Rows, y.Cols)); err != nil {
		return nil, err
	}
	syms, err := opt.fromGrams(ctx, grams, y.Rows)
	if err != nil {
		return nil, err
	}
	out, Z, warnings, err := newOutputs(y, &opt)
	if err != nil {
		return nil, err
	}
	if opt.Lambda == 0 {
		if opt, err = chooseSettings(ctx, &study{Y: y, grams: syms}, opt); err != nil {
			return nil, err
		}
	}
	d := make(kernel.Dictionary, len(grams))
	for j := range d {
		d[j] = kernel.Kernel{Name: gramName(j), Kind: kernel.Precomputed}
	}
	m := &Model{out: out, warnings: warnings, names: d.Names()}
	return opt.solve(ctx, m, training{dict: d, grams: syms, Y: Z})
}

// training is what a fit works on.
type training struct {
	dict    kernel.Dictionary
	weights []float64    // of the kernels where they are not learned; nil: as the norm starts
	grams   []*blas.Sym  // in sample space
	maps    rff.Maps     // in feature space
	sums    *stream.Sums // in feature space
	Z       blas.General // inputs as the kernels see them
	Y       blas.General // targets as they are learned
}

func fit(ctx context.Context, X, Y blas.General, opt Options) (*Model, error) {
	opt, err := opt.check(false)
	if err != nil {
		return nil, err
	}
	if err := checkRows(X.Rows, Y); err != nil {
		return nil, err
	}
	if X.Cols == 0 {
		return nil, badInput("X has no columns")
	}
	if opt.Lambda == 0 {
		if opt, err = chooseSettings(ctx, &study{X: X, Y: Y}, opt); err != nil {
			return nil, err
		}
	}
	m := new(Model)
	t, err := opt.prepare(ctx, m, X, Y)
	if err != nil {
		return nil, err
	}
	return opt.solve(ctx, m, t)
}

// checkRows refuses data that no fit can start from.
func checkRows(l int, Y blas.General) error {
	switch {
	case Y.Cols == 0 || l == 0:
		return badInput("the data are empty")
	case l != Y.Rows:
		return badInput("X has %d rows and Y has %d", l, Y.Rows)
	case l < 2:
		return badInput("one row of data is not enough to learn from")
	}
	return nil
}

// prepare fills in the data maps of m, and makes the dictionary and its Gram matrices.
func (opt *Options) prepare(ctx context.Context, m *Model, X, Y blas.General) (t training, err error) {
	var more []string
	if m.in, m.warnings, err = newInputs(X, opt); err != nil {
		return t, err
	}
	if m.out, t.Y, more, err = newOutputs(Y, opt); err != nil {
		return t, err
	}
	m.warnings = append(m.warnings, more...)
	var missing []int
	if t.Z, missing, err = m.in.apply(X, 0); err != nil {
		return t, err
	}
	if w := missingWarning(m.in.Names, missing); w != "" {
		m.warnings = append(m.warnings, w)
	}
	if t.dict, t.weights, err = dictionary(ctx, t.Z, t.Y, opt, new(kernel.Medians)); err != nil {
		return t, err
	}
	m.names = t.dict.Names()
	p, err := opt.planFor(t.dict, X.Rows, t.Y.Cols)
	if err != nil {
		return t, err
	}
	if err := opt.announce(p); err != nil {
		return t, err
	}
	if features, _ := inFeatures(t.dict, X.Rows); features {
		return t, t.accumulate(ctx, opt)
	}
	t.grams, err = opt.grams(ctx, t.dict, t.Z)
	return t, err
}

// solve runs the solver and puts what it found into m, which it returns
// whenever there is a point to predict from.
func (opt *Options) solve(ctx context.Context, m *Model, t training) (*Model, error) {
	p := opt.problem(opt.space(&t), t.weights)
	so := opt.solverOptions()
	end, err := opt.checkpointing(p, &so)
	if err != nil {
		return nil, err
	}
	res, err := bcd.Solve(ctx, p, so)
	err = errors.Join(err, end())
	if res == nil {
		return nil, asInput(err)
	}
	m.certify(res, p, opt)
	m.basis = newBasis(&t, res, opt.Backend)
	return m, err
}

// kept lists the kernels of positive weight.
func kept(eta []float64) []int {
	var idx []int
	for j, e := range eta {
		if e > 0 {
			idx = append(idx, j)
		}
	}
	return idx
}

// timesOutput overwrites C by C·L and returns it.
func timesOutput(be blas.Backend, C blas.General, L *linop.Spectral) blas.General {
	L.MulRight(blas.Or(be), C, C)
	return C
}
