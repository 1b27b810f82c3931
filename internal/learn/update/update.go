// Package update changes the rows that a model was learned from: rows arrive, and rows leave.
//
// Kernels, their lengths, the scales of columns, η, L and μ = λl do not change: μ is the variance of the noise in units
// of the kernels, which does not depend on the number of rows, and λ = μ/l falls as rows arrive. The coefficients are
// computed anew, to a relative residual of 1e-10, and the certificate of the new problem bounds what other weights and
// another L could gain (mathematics.md §16).
package update

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/internal/learn/model"
	"github.com/iokl/iokl/internal/learn/samples"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/rff"
	"github.com/iokl/iokl/stream"
	"github.com/iokl/iokl/sylvester"
)

// Change is what becomes of the rows of a model. First rows leave, then others arrive, then the oldest leave.
type Change struct {
	X, Y   blas.General // rows that arrive, in the units of the data, NaN where missing; no rows for none
	W      blas.General // weights of the targets of rows that arrive or are in OutX, by cells or rows; without Data 1
	Forget []int        // rows that leave, numbered from 0 by age, the oldest first
	// rows that leave a model of explicit features, which keeps sums in the place of rows; no rows for none
	OutX, OutY blas.General
	Window     int // rows that stay at most; 0 for all
}

// Revised is the model after the change. s is the setting that m was learned with, of which λ is not read. With relearn
// weights and L are learned further where the gap is above the tolerance of the method. The error is as for
// [learn.Fit]; a gap above the tolerance is none unless relearn was asked for.
//
// live is that of m, or nil, and next that of the model returned: nil where weights and L have been learned further, or
// where more rows have changed than a border holds.
//
// Models without each fold are left out: they are of the rows before.
func Revised(
	ctx context.Context, m *model.Model, live *Live, ch Change, s learn.Setting, method learn.Method, relearn bool,
) (out *learn.Outcome, next *Live, err error) {
	if err := usable(m, &ch); err != nil {
		return nil, nil, err
	}
	arriving, notes, err := code(m, ch.X, ch.Y, ch.W, "arrive")
	if err != nil {
		return nil, nil, err
	}
	if m.HasFolds() {
		notes = append(notes, "the models without each fold are of the rows before the update, and left out: "+
			"intervals by cv+ need a fit")
		method.Say("%s", notes[len(notes)-1])
	}
	if _, ok := m.Basis.(*model.Features); ok {
		leaving, _, err := code(m, ch.OutX, ch.OutY, ch.W, "leave")
		if err != nil {
			return nil, nil, err
		}
		out, err = summed(ctx, m, arriving, leaving, &ch, notes, s, method, relearn)
		return out, nil, err
	}
	kept, err := ch.kept(m.Y.Rows, arriving.Y.Rows)
	if err != nil {
		return nil, nil, err
	}
	gather := func(a, b blas.General) blas.General { return blas.TakeRows(columns.Under(a, b), kept) }
	Z, Y := gather(m.Inputs(), arriving.Z), gather(m.Y, arriving.Y)
	if live != nil && !columns.Missing(arriving.Y) && arriving.W.Data == nil {
		out, next, err = bordered(ctx, m, live, arriving, kept, Z, Y, notes, s, method)
		if err != nil || out != nil && (out.Result.Converged || !relearn) {
			return out, next, err
		}
	}
	opt := samples.Options{Env: method.Env}
	var sum linop.Sum
	held := 0.0
	if dict, eta := weighted(m); !relearn && oneOutputKernel(m) && len(dict) > 0 {
		K := &formed{top: slices.Max(eta)}
		if K.all, err = newKernels(ctx, m, Z, method.Backend); err != nil {
			return nil, nil, err
		}
		if K.Gram, held, err = samples.WeightedGram(ctx, dict, eta, Z, Y.Cols, opt); err != nil {
			return nil, nil, err
		}
		sum = K
	}
	t, err := samples.Known(ctx, m, Z, Y, gatherWeights(m, arriving, kept), sum, held, opt)
	if err != nil {
		return nil, nil, err
	}
	out, err = finish(ctx, t, m, notes, s, method, relearn)
	return out, nil, err
}

// bordered is Run by the border of live; no outcome where that has no room, or is spoilt by rounding. A border that has
// become too large is replaced by a decomposition of the rows that there are before the change.
func bordered(
	ctx context.Context, m *model.Model, live *Live, arriving coded, kept []int, Z, Y blas.General, notes []string,
	s learn.Setting, method learn.Method,
) (*learn.Outcome, *Live, error) {
	next, err := live.change(m, arriving, kept)
	if leave := m.Y.Rows + arriving.Y.Rows - len(kept); err == nil && next == nil &&
		2*(arriving.Y.Rows+leave) <= live.room() {
		if live, err = Prepare(ctx, m, method.Backend); err == nil {
			next, err = live.change(m, arriving, kept)
		}
	}
	if err != nil || next == nil {
		return nil, nil, err
	}
	sum, err := newKernels(ctx, m, Z, method.Backend)
	if err != nil {
		return nil, nil, err
	}
	t, err := samples.Known(ctx, m, Z, Y, blas.General{}, sum, 0, samples.Options{Env: method.Env})
	if err != nil {
		return nil, nil, err
	}
	method.CStep = totalled{next.system, sum}
	out, err := finish(ctx, t, m, notes, s, method, false)
	if errors.Is(err, sylvester.ErrNotSPD) || errors.Is(err, sylvester.ErrNotConverged) {
		return nil, nil, nil // rounding has spoilt the border
	}
	return out, next, err
}

// usable refuses models that do not keep what changes need, and changes that do not fit the model.
func usable(m *model.Model, ch *Change) error {
	_, features := m.Basis.(*model.Features)
	switch {
	case m.In == nil:
		return fault.Input("a model of Gram matrices is not updated: it keeps no inputs to compute kernels of")
	case !(m.Mu > 0), features && (len(m.Sums) == 0 || m.FeatureMaps() == nil),
		!features && (m.Y.Rows == 0 || m.Dictionary() == nil):
		return fault.Input("the model does not keep what updates need: %s. Fit it anew", m.Lacks())
	case features && (len(ch.Forget) > 0 || ch.Window > 0) && !allHeld(m):
		return fault.Input("a model of explicit features keeps sums in the place of its rows, and up to %d of them: "+
			"give the rows that leave, not their numbers or a window", learn.DrawnRows)
	case !features && ch.OutX.Rows+ch.OutY.Rows > 0:
		return fault.Input("give the numbers of the rows that leave")
	case ch.Window < 0:
		return fault.Input("a window of %d rows", ch.Window)
	}
	return nil
}

// allHeld reports whether a model of explicit features keeps all its rows.
func allHeld(m *model.Model) bool {
	l := 0
	for _, p := range m.Sums {
		l += p.Rows
	}
	return m.Held != nil && m.Held.X.Rows == l
}

// coded are rows as kernels and solvers see them, and the weights of their targets.
type coded struct{ Z, Y, W blas.General }

// code scales rows as those of the model are, and says what is unusual about them. Rows of which no target is observed
// are left out.
func code(m *model.Model, X, Y, W blas.General, verb string) (c coded, notes []string, err error) {
	d, n := len(m.In.Names), len(m.Out.Names)
	if X.Rows != Y.Rows {
		return c, nil, fault.Input("X has %d rows and Y has %d", X.Rows, Y.Rows)
	}
	if X.Rows == 0 {
		return coded{Z: blas.NewGeneral(0, d), Y: blas.NewGeneral(0, len(m.Out.Live))}, nil, nil
	}
	if Y.Cols != n {
		return c, nil, fault.Input("Y has %d columns, the model was fitted on %d", Y.Cols, n)
	}
	given := W
	var without []int
	if W.Data != nil {
		if given, err = columns.CheckCellWeights(W, Y.Rows, n); err != nil {
			return c, nil, err
		}
		Y, W, without = columns.Seen(Y, given)
	}
	if err := m.In.CheckWidth(X); err != nil {
		return c, nil, err
	}
	check := columns.Options{InputNames: m.In.Names, OutputNames: m.Out.Names, Strict: m.In.Strict}
	if err := columns.CheckCells(X, Y, given, &check); err != nil {
		return c, nil, err
	}
	if rows := columns.Observed(columns.Take(Y, m.Out.Live)); len(rows) < Y.Rows {
		if l := Y.Rows - len(without); len(rows) < l {
			notes = append(notes, fmt.Sprintf("left out %d of %d rows that %s, of which no target is observed",
				l-len(rows), l, verb))
		}
		X, Y = blas.TakeRows(X, rows), blas.TakeRows(Y, rows)
		if W.Data != nil {
			W = blas.TakeRows(W, rows)
		}
	}
	if m.Out.Scaler != nil {
		notes = append(notes, moved("target", m.Out.Names, Y, m.Out.Scaler)...)
	}
	if m.In.Scaler != nil {
		notes = append(notes, moved("input", m.In.Names, X, m.In.Scaler)...)
	}
	var missing []int
	if c.Z, missing, err = m.In.Apply(X); err != nil {
		return c, nil, err
	}
	if w := m.In.MissingWarning(missing); w != "" {
		notes = append(notes, w)
	}
	Y = blas.Clone(Y)
	if m.Out.Scaler != nil {
		m.Out.Scaler.Apply(Y)
	}
	c.Y, c.W = columns.Take(Y, m.Out.Live), m.Out.Weights(W)
	return c, notes, nil
}

// driftErrors is how many standard errors the mean of a column may differ from that of the first fit unsaid: beyond 5
// one column of 1.7 million does by chance.
const driftErrors = 5

// moved says which columns of A have another mean, or another deviation, than s beyond noise.
func moved(what string, names []string, A blas.General, s *columns.Scaler) (notes []string) {
	now := columns.Measure(A)
	for j, name := range names {
		count := A.Rows - now.Missing[j]
		root := math.Sqrt(float64(count))
		switch {
		case count == 0:
		case s.Constant[j]:
			if math.Abs(now.Mean[j]-s.Mean[j]) > 0x1p-40*math.Abs(s.Mean[j]) || !now.Constant[j] {
				notes = append(notes, fmt.Sprintf("%s %s, constant so far, varies: its values are not learned from",
					what, name))
			}
		case math.Abs(now.Mean[j]-s.Mean[j])*root > driftErrors*s.Scale[j]:
			notes = append(notes, fmt.Sprintf("the mean of %s %s is %.4g in the rows that arrive, %.4g ± %.2g in the "+
				"first fit, by which it is scaled", what, name, now.Mean[j], s.Mean[j], s.Scale[j]))
		case count > driftRows && (now.Scale[j] > 2*s.Scale[j] || 2*now.Scale[j] < s.Scale[j]):
			notes = append(notes, fmt.Sprintf("the deviation of %s %s is %.3g in the rows that arrive, %.3g in the "+
				"first fit, by which it is scaled", what, name, now.Scale[j], s.Scale[j]))
		}
	}
	return notes
}

// driftRows is the number of rows from which on a deviation of half or twice the size is beyond noise.
const driftRows = 30

// Rows are the rows of m after the change, in the units of the data, a column of Y for each output, and the weights,
// without Data 1.
func (ch *Change) Rows(m *model.Model) (X, Y, W blas.General, err error) {
	arriving := coded{
		Z: blas.NewGeneral(0, len(m.In.Names)), Y: blas.NewGeneral(0, len(m.Out.Names)), W: ch.W,
	}
	if ch.X.Rows > 0 || ch.Y.Rows > 0 {
		q := max(len(m.Out.Quantiles), 1)
		if ch.X.Rows != ch.Y.Rows {
			return X, Y, W, fault.Input("X has %d rows and Y has %d", ch.X.Rows, ch.Y.Rows)
		}
		if ch.Y.Cols != len(m.Out.Names)/q {
			return X, Y, W, fault.Input("Y has %d columns, the model was fitted on %d", ch.Y.Cols, len(m.Out.Names)/q)
		}
		if err := m.In.CheckWidth(ch.X); err != nil {
			return X, Y, W, err
		}
		arriving.Z, arriving.Y = ch.X, m.Out.Targets(ch.Y)
	}
	kept, err := ch.kept(m.Y.Rows, arriving.Y.Rows)
	if err != nil {
		return X, Y, W, err
	}
	known := blas.NewGeneral(m.Y.Rows, len(m.Out.Names))
	if m.Out.Loss == "" {
		m.Out.Restore(known, m.Y)
	} else {
		if m.Out.Scaler != nil {
			m.Out.Restore(known, blas.NewGeneral(m.Y.Rows, len(m.Out.Live))) // the constant ones
		}
		for k, j := range m.Out.Live {
			blas.Copy(blas.View(known, 0, j, m.Y.Rows, 1), blas.View(m.Y, 0, k, m.Y.Rows, 1))
		}
	}
	old := blas.Clone(m.Inputs())
	if m.In.Scaler != nil {
		m.In.Scaler.Invert(old)
	}
	X = blas.TakeRows(columns.Under(old, arriving.Z), kept)
	return X, blas.TakeRows(columns.Under(known, arriving.Y), kept), gatherWeights(m, arriving, kept), nil
}

// kept lists the rows that the model is of after the change, of l rows and of others that arrive, numbered from l.
func (ch *Change) kept(l, arriving int) (rows []int, err error) {
	for _, i := range ch.Forget {
		if i < 0 || i >= l {
			return nil, fault.Input("row %d is to leave, and the model has rows 0 to %d", i, l-1)
		}
	}
	rows = columns.Others(slices.Sorted(slices.Values(ch.Forget)), l+arriving)
	if ch.Window > 0 {
		rows = rows[max(0, len(rows)-ch.Window):]
	}
	if len(rows) < 2 {
		return nil, fault.Input("%d rows stay: that is not enough to learn from", len(rows))
	}
	return rows, nil
}

// gatherWeights are those of rows of m, and of others that arrive, numbered from those of m on; without Data where all
// are 1.
func gatherWeights(m *model.Model, arriving coded, rows []int) (W blas.General) {
	if m.W.Data == nil && arriving.W.Data == nil {
		return W
	}
	W = blas.NewGeneral(len(rows), max(m.W.Cols, arriving.W.Cols))
	for k, i := range rows {
		of := m.W
		if i >= m.Y.Rows {
			i, of = i-m.Y.Rows, arriving.W
		}
		for j := range W.Cols {
			W.Data[k*W.Stride+j] = columns.WeightAt(of, i, j)
		}
	}
	return W
}

// finish solves the training set at the weights and output kernels of m.
func finish(
	ctx context.Context, t learn.Training, m *model.Model, notes []string, s learn.Setting, method learn.Method,
	relearn bool,
) (*learn.Outcome, error) {
	s.Lambda = m.Mu / float64(t.Space().Samples())
	out, err := learn.Revise(ctx, t, m, s, method, relearn)
	if out != nil {
		repeated := func(w string) bool { return slices.Contains(notes, w) }
		out.Origin, out.Warnings = m.Origin, slices.Concat(notes, slices.DeleteFunc(slices.Clone(m.Warnings), repeated))
	}
	return out, err
}

// summed is the model of explicit features after a change of its sums, and of the rows that it holds out.
func summed(
	ctx context.Context, m *model.Model, arriving, leaving coded, ch *Change, notes []string, s learn.Setting,
	method learn.Method, relearn bool,
) (*learn.Outcome, error) {
	held, err := newHeld(m, arriving, leaving)
	if err != nil {
		return nil, err
	}
	if out, err := held.forget(ch); err != nil {
		return nil, err
	} else if out.Y.Rows > 0 {
		leaving.Z, leaving.Y = columns.Under(leaving.Z, out.Z), columns.Under(leaving.Y, out.Y)
		if leaving.W = out.W; len(ch.OutX.Data) > 0 {
			return nil, fault.Input("rows leave by their numbers or as they are, not both")
		}
	}
	t := &features{m: m, maps: m.FeatureMaps(), be: method.Backend, sums: m.Sums}
	for _, part := range []struct {
		coded
		sign int
	}{{arriving, 1}, {leaving, -1}} {
		if part.W.Cols > 1 {
			return nil, fault.Input("a model of explicit features takes weights of rows, and none of single cells")
		}
		model.Weigh(part.Y, part.W)
		for at := 0; at < part.Z.Rows; at += blockRows {
			rows := min(blockRows, part.Z.Rows-at)
			F := blas.NewGeneral(rows, t.maps.Dim())
			if err := cmp.Or(ctx.Err(), t.maps.Transform(F, blas.View(part.Z, at, 0, rows, part.Z.Cols))); err != nil {
				return nil, fault.From(err)
			}
			if part.W.Data != nil {
				model.Weigh(F, blas.View(part.W, at, 0, rows, 1))
			}
			t.sums = model.AddRows(t.sums, F, blas.View(part.Y, at, 0, rows, part.Y.Cols), part.sign, method.Backend)
		}
	}
	if err := t.check(); err != nil {
		return nil, err
	}
	out, err := finish(ctx, learn.Training{Set: t}, m, notes, s, method, relearn)
	if out != nil && ctx.Err() == nil {
		if e := held.of(ctx, out.Model); err == nil {
			err = e
		}
	}
	return out, err
}

// blockRows is how many rows are made features at a time.
const blockRows = 1024

// features is the training set of sums of explicit features.
type features struct {
	m    *model.Model
	maps rff.Maps
	be   blas.Backend
	sums []bcd.Pattern

	space bcd.Space
	F     blas.General // see bcd.NewPatterns
}

// check refuses sums that no rows have, and makes the space of the others.
func (t *features) check() (err error) {
	l := 0
	for _, p := range t.sums {
		if l += p.Rows; p.Rows < 0 {
			return fault.Input("more rows leave than there are with these targets observed")
		}
	}
	t.sums = slices.DeleteFunc(slices.Clone(t.sums), func(p bcd.Pattern) bool { return p.Rows == 0 })
	switch {
	case l < 2:
		return fault.Input("%d rows stay: that is not enough to learn from", l)
	case len(t.sums) > stream.MaxPatterns:
		return fault.Input("rows differ in which targets are missing in more than %d ways, too many for sums of each",
			stream.MaxPatterns)
	}
	if one := t.sums[0]; len(t.sums) == 1 && !slices.Contains(one.Observed, false) {
		t.space = bcd.NewFeatures(one.Gamma, one.H, one.YY, l, t.maps.Blocks(), t.be)
		return nil
	}
	if err := memory.Check("the sums of each pattern of missing targets",
		32*float64(len(t.sums)*t.maps.Dim())*float64(t.maps.Dim()), "fewer features"); err != nil {
		return fault.Mark(err)
	}
	t.space, t.F, err = bcd.NewPatterns(t.sums, t.maps.Blocks(), t.be)
	return fault.From(err)
}

func (t *features) Space() bcd.Space { return t.space }

func (t *features) Weights() []float64   { return nil }
func (t *features) Source() model.Source { return model.Source{Sums: t.sums} }

// Outputs is the map of the targets.
func (t *features) Outputs() *columns.Outputs { return t.m.Out }

func (t *features) Errors(context.Context, *bcd.Result) (learn.Errors, error) {
	return learn.Errors{}, fault.Input("sums of rows that were learned from tell no errors of others")
}

func (t *features) Model(res *bcd.Result) *model.Model {
	m := &model.Model{
		In: t.m.In, Out: t.m.Out, Names: t.m.Names, Eta: res.Eta, L: res.L, Warnings: t.m.Warnings,
		Basis: model.NewFeatures(t.maps, res, model.FeatureWeights(t.be, t.F, t.maps, res), t.be),
	}
	m.Remember(nil, t.maps)
	return m
}
