package iokl

import (
	"cmp"
	"context"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/defaults"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/internal/learn/update"
	"github.com/iokl/iokl/regularizer"
)

// UpdateOptions say what happens in an update beside rows that arrive. The zero value only adds these.
type UpdateOptions struct {
	// Forget are rows that leave, numbered from 0 by age: a fit numbers its rows in order, without those of which no
	// target is observed, and rows that arrive follow.
	Forget []int `json:"forget,omitempty"`
	// Window is the number of rows that stay at most: the oldest leave. 0 means all.
	Window int `json:"window,omitempty"`
	// Weights are those of the rows (t×1) or cells (t×n) of Y, as in Options; nil means 1. In [Model.ForgetRows] they
	// are those of the rows that leave.
	Weights mat.Matrix `json:"-"`
	// Relearn goes on learning weights and output kernels, from where they stand, where the relative gap is above Tol.
	Relearn bool `json:"relearn,omitempty"`

	Tol      float64 `json:"tol,omitempty"`       // relative gap to reach; 0 means that of the fit
	MaxOuter int     `json:"max_outer,omitempty"` // outer iterations; 0 means bcd's default
	// memory for Gram matrices; 0 means what is available, negative no limit
	MaxBytes int64                `json:"max_bytes,omitempty"`
	Backend  blas.Backend         `json:"-"` // nil means blas.Active()
	Trace    func(bcd.Step) error `json:"-"` // sees every outer iteration of Relearn, as in [Options]
	Notify   func(line string)    `json:"-"` // gets single lines about what is about to be done
}

// Update is the model with the rows of X (t×d) and Y (t×n) added: exactly that of a fit to all rows with the kernels,
// their lengths, the scales of columns, η, L and μ = λl of m, so that its λ is μ/l for the new number l of rows. NaN is
// a missing cell, as in [Fit]. The certificate says how much other weights and another L could gain on the new rows.
//
// A nil error says that the coefficients were found; Certificate().Converged says whether the relative gap is at most
// opt.Tol, of which only Relearn makes an error, as [Fit] does. Changes that make no sense are [ErrInput], without a
// model. m stays as it is, and serves predictions meanwhile; the models share what does not change.
//
// Held-out predictions are those of refits without each row afterwards, at the weights, L and μ of the update. Models
// without each fold, of [Options].IntervalFolds, are left out, which Warnings say.
//
// Models of losses other than the squared one, and by likelihood, are fitted anew to all rows with their setting and μ.
//
// A model of explicit features keeps sums in the place of rows, beside 4000 of them at most, and its size does not grow
// further. Of other models each update computes the Gram matrices of all rows.
func (m *Model) Update(ctx context.Context, X, Y mat.Matrix, opt UpdateOptions) (*Model, error) {
	return m.change(ctx, update.Change{X: raw(X), Y: raw(Y)}, opt)
}

// UpdateClasses is Update of a model of classes with the labels of the rows of X. A sample without a label, "", is left
// out; a label that is none of Classes is [ErrInput].
func (m *Model) UpdateClasses(ctx context.Context, X mat.Matrix, labels []string, opt UpdateOptions) (*Model, error) {
	alive(ctx)
	if m.fitted().Out.Classes == nil {
		return nil, fault.Input("the model was not fitted on classes")
	}
	Y, err := columns.OneHotOf(labels, m.fitted().Out.Classes)
	if err != nil {
		return nil, err
	}
	return m.Update(ctx, X, Y, opt)
}

// Forget is the model without these rows, as [Model.Update] numbers them, beside those of opt.Forget.
func (m *Model) Forget(ctx context.Context, rows []int, opt UpdateOptions) (*Model, error) {
	opt.Forget = slices.Concat(opt.Forget, rows)
	return m.change(ctx, update.Change{}, opt)
}

// ForgetRows is the model without the rows X, Y for a model of explicit features, which does not keep its rows. They
// must be among those that it has learned from: it cannot tell.
func (m *Model) ForgetRows(ctx context.Context, X, Y mat.Matrix, opt UpdateOptions) (*Model, error) {
	return m.change(ctx, update.Change{OutX: raw(X), OutY: raw(Y)}, opt)
}

// change is the model after a change of its rows.
func (m *Model) change(ctx context.Context, ch update.Change, opt UpdateOptions) (*Model, error) {
	alive(ctx)
	if m.learnsAnew() {
		return m.anew(ctx, ch, opt)
	}
	set, fit, err := m.setting(&opt)
	if err != nil {
		return nil, err
	}
	ch.Forget, ch.Window = opt.Forget, opt.Window
	if opt.Weights != nil {
		ch.W = raw(opt.Weights)
	}
	end, live, err := update.Revised(ctx, m.fitted(), m.live.Load(), ch, set, fit.method(), opt.Relearn)
	if end == nil {
		return nil, err
	}
	end.UseMeans(set.Means)
	fit.Lambda = end.Problem.Lambda
	changed := m.derived(end.Model, record{certify(end, fit), m.cert.Chosen, m.cert.Asked})
	changed.live.Store(live)
	return changed, err
}

// learnsAnew reports whether an update is a new fit: of losses other than the squared one, and by likelihood, of which
// the targets are kept.
func (m *Model) learnsAnew() bool {
	l := m.fitted()
	return (l.Out.Loss != "" || l.Noise != nil) && l.In != nil && l.Y.Rows > 0 && m.cert.Asked != nil &&
		m.cert.Chosen != nil
}

// anew is the fit of the setting of m, with its μ = λl, to the rows after the change.
func (m *Model) anew(ctx context.Context, ch update.Change, opt UpdateOptions) (*Model, error) {
	l := m.fitted()
	if ch.OutX.Rows+ch.OutY.Rows > 0 {
		return nil, fault.Input("give the numbers of the rows that leave")
	}
	if opt.Weights != nil {
		ch.W = raw(opt.Weights)
	}
	ch.Forget, ch.Window = opt.Forget, opt.Window
	X, Y, W, err := ch.Rows(l)
	if err != nil {
		return nil, err
	}
	o, c := *m.cert.Asked, m.cert.Chosen
	o.Kernels, o.Norm, o.Learn, o.Model, o.OutputKernel = c.Kernels, c.Norm, c.Learn, c.Model, c.OutputKernel
	o.Tau, o.Seed, o.InputNames, o.OutputNames = m.cert.Tau, m.cert.Seed, l.In.Names, nil
	o.InputSchema, o.Budget, o.MaxOuter, o.MaxBytes = l.In.Schema, 0, opt.MaxOuter, opt.MaxBytes
	o.Backend, o.Trace, o.Notify, o.Tol = opt.Backend, opt.Trace, opt.Notify, cmp.Or(opt.Tol, o.Tol)
	if o.Learn == LearnLikelihood {
		o.Norm, o.Tau, o.OutputKernel = "", 0, ""
	} else {
		o.Loss, o.Lambda = Loss(l.Out.Loss), c.Lambda*float64(m.cert.Samples)/float64(X.Rows)
	}
	if W.Data != nil {
		o.Weights = blas.Dense(W)
	}
	q := max(len(l.Out.Quantiles), 1)
	targets := make([]int, len(l.Out.Names)/q)
	for j := range targets {
		targets[j] = j * q
	}
	if q == 1 {
		o.OutputNames = l.Out.Names
	}
	Y = columns.Take(Y, targets)
	var now *Model
	if l.Out.Classes != nil {
		var labels []string
		for i := range Y.Rows {
			labels = append(labels, l.Out.Classes[floats.MaxIdx(blas.Row(Y, i))])
		}
		now, err = FitClasses(ctx, blas.Dense(X), labels, o)
	} else {
		now, err = Fit(ctx, blas.Dense(X), blas.Dense(Y), o)
	}
	if now == nil {
		return nil, err
	}
	now.fitted().Origin = l.Origin
	return m.derived(now.learned, record{now.cert.Certificate, c, m.cert.Asked}), err
}

// Prepare makes updates of m by a few rows fast, and those of the models that these return: O(l²) operations in the
// place of Gram matrices and a linear system. It decomposes K_η, about 10·l³ operations and 5·l² numbers of memory, of
// which l² stay with m and are shared by the models made of it; files do not hold them. After a share of the rows has
// changed an update decomposes anew, and a change of more rows at once, or one that learns weights further, ends it. It
// is for models of one output kernel, of kernels on rows, and of targets without weights or missing cells; others give
// [ErrInput].
func (m *Model) Prepare(ctx context.Context) error {
	alive(ctx)
	live, err := update.Prepare(ctx, m.fitted(), m.fitted().Backend())
	if err == nil {
		m.live.Store(live)
	}
	return err
}

// setting is what the model was learned with, and the options that say it.
func (m *Model) setting(opt *UpdateOptions) (learn.Setting, *checked, error) {
	c := m.Certificate()
	if !(opt.Tol >= 0) {
		return learn.Setting{}, nil, fault.Input("tolerance %g is negative", opt.Tol)
	}
	norm, err := regularizer.Parse(string(c.Norm))
	if err != nil {
		return learn.Setting{}, nil, fault.Input("the model was fitted with the regularizer %s of a program's own, "+
			"which it does not hold", c.Norm)
	}
	fit := &checked{Options: Options{
		Norm: c.Norm, Regularizer: norm, Learn: c.Learn, Tau: c.Tau, Solver: c.Solver,
		Seed: c.Seed, Tol: opt.Tol, MaxOuter: opt.MaxOuter, MaxBytes: opt.MaxBytes, Backend: opt.Backend,
		Trace: opt.Trace, Notify: opt.Notify,
	}}
	if fit.Tol == 0 && c.Tol != defaults.Tol { // which no one may have asked for
		fit.Tol = c.Tol
	}
	if m.OutputKernels() != nil {
		fit.Model = ModelSum
	}
	fit.OutputKernel = m.AxisKernel()
	set := fit.setting()
	if m.cert.Chosen != nil {
		set.Means = m.cert.Chosen.Means
	}
	return set, fit, nil
}

// Compact is the model without what updates, and closed forms for single rows, need. It shares the rest with m.
func (m *Model) Compact() *Model { return m.derived(m.fitted().Compact(), m.cert) }

// UpdateBytes is what Compact saves in a file: the training targets and their weights, or the sums of explicit
// features; 0 for a model that cannot be updated. The training inputs, which predictions need, are not counted.
func (m *Model) UpdateBytes() int64 { return m.fitted().Source.Bytes() }
