// This file predicts intervals from the residuals of models without each fold.

package model

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/floats"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/internal/par"
)

// Fold is a model that was learned without some of the samples, and what it predicts for them.
type Fold struct {
	*Model
	Rows []int        // samples left out
	Y, F blas.General // their targets, NaN where missing, and the predictions, in the units of the data
}

// The ways to intervals.
const (
	CVPlus        = "cv+"
	JackknifePlus = "jackknife+"
)

// Interval says which intervals are asked for.
type Interval struct {
	Level  float64 // share of new targets that they are to hold
	Method string  // CVPlus or JackknifePlus; "" is the first that the model can
	Local  bool    // widths follow the posterior deviation
	Joint  bool    // the level is that of all outputs together
}

// ends keeps what intervals derive from a model, once for all predictions.
type ends struct {
	mutex  sync.Mutex
	lists  map[Interval][]residuals // of CV+, by what they depend on
	closed *closed
}

// residuals are the sizes of the residuals of one output, ascending, by fold.
type residuals struct {
	folds [][]float64
	count int
}

// rank is that of the end of an interval among the residuals, from 1:
// ⌈level·(count + 1)⌉ (Barber, Candès, Ramdas, Tibshirani, doi:10.1214/20-AOS1965).
func rank(level float64, count int) (int, error) {
	r := int(math.Ceil(level*float64(count+1) - 1e-9))
	if r > count {
		return 0, fault.Input("%d residuals are too few for intervals of level %g: at least %g are needed", count, level, math.Ceil(level/(1-level)))
	}
	return max(r, 1), nil
}

// HasFolds reports whether the model can give intervals of CV+.
func (m *Model) HasFolds() bool { return len(m.Folds) > 0 }

// method is the way to the intervals asked for.
func (m *Model) method(q *Interval) error {
	if !(q.Level > 0 && q.Level < 1) {
		return fault.Input("intervals of level %g: it must lie between 0 and 1", q.Level)
	}
	if q.Method == "" && !m.HasFolds() && m.Y.Rows > 0 {
		q.Method = JackknifePlus
	}
	if err := fault.Choice("kind of interval", &q.Method, []string{CVPlus, JackknifePlus}); err != nil {
		return err
	}
	if q.Method == CVPlus && !m.HasFolds() {
		return fault.Input("the model keeps no models of folds: fit it with interval folds, or ask for %s", JackknifePlus)
	}
	return nil
}

// blockRows is how many new points intervals are computed for at a time.
const blockRows = 16 * SlabRows

// Intervals writes the predictions for the rows of x, and the ends of their intervals, to F, lo and
// hi (t×n), by blocks of rows.
func (m *Model) Intervals(ctx context.Context, F, lo, hi, x blas.General, q Interval) error {
	if err := m.method(&q); err != nil {
		return err
	}
	if m.In == nil {
		return fault.Input("the model was fitted on Gram matrices: it predicts from cross-Gram matrices")
	}
	for at := 0; at < x.Rows; at += blockRows {
		rows := min(blockRows, x.Rows-at)
		view := func(a blas.General) blas.General { return blas.View(a, at, 0, rows, a.Cols) }
		if err := m.Predict(ctx, view(F), view(x)); err != nil {
			return err
		}
		var err error
		if q.Method == CVPlus {
			err = m.crossIntervals(ctx, view(lo), view(hi), view(x), q)
		} else {
			err = m.jackknife(ctx, view(lo), view(hi), view(x), q)
		}
		if err != nil {
			return err
		}
		include(view(lo), view(hi), view(F))
	}
	return nil
}

// include widens intervals that do not hold the prediction, which loses no coverage.
func include(lo, hi, F blas.General) {
	for i := range F.Rows {
		a, b := blas.Row(lo, i), blas.Row(hi, i)
		for j, f := range blas.Row(F, i) {
			a[j], b[j] = min(a[j], f), max(b[j], f)
		}
	}
}

// crossIntervals are those of CV+.
func (m *Model) crossIntervals(ctx context.Context, lo, hi, x blas.General, q Interval) error {
	predictions, scales := make([]blas.General, len(m.Folds)), make([]blas.General, len(m.Folds))
	for k, f := range m.Folds {
		predictions[k] = blas.NewGeneral(x.Rows, lo.Cols)
		if err := f.Predict(ctx, predictions[k], x); err != nil {
			return err
		}
		if q.Local {
			scales[k] = blas.NewGeneral(x.Rows, lo.Cols)
			if err := f.widths(ctx, scales[k], x); err != nil {
				return err
			}
		}
	}
	return m.combine(ctx, lo, hi, predictions, scales, q)
}

// combine makes the intervals of CV+ of the predictions of the folds and of what their
// residuals are multiplied by.
func (m *Model) combine(ctx context.Context, lo, hi blas.General, predictions, scales []blas.General, q Interval) error {
	lists, err := m.sorted(ctx, q)
	if err != nil {
		return err
	}
	ranks := make([]int, len(lists))
	for j := range lists {
		if ranks[j], err = rank(q.Level, lists[j].count); err != nil {
			return err
		}
	}
	par.Ranges(lo.Rows, SlabRows, func(from, to int) {
		s := make(search, len(m.Folds))
		for j := range lists {
			s.aim(lists[j].folds, ranks[j])
			for i := from; i < to; i++ {
				for k, P := range predictions {
					s[k].shift, s[k].scale = P.Data[i*P.Stride+j], 1
					if q.Local {
						s[k].scale = scales[k].Data[i*scales[k].Stride+j]
					}
				}
				hi.Data[i*hi.Stride+j] = s.find(ranks[j])
				for k := range s {
					s[k].shift = -s[k].shift
				}
				lo.Data[i*lo.Stride+j] = -s.find(ranks[j])
			}
		}
	})
	return ctx.Err()
}

// sorted are the residuals of each output, as q compares them.
func (m *Model) sorted(ctx context.Context, q Interval) ([]residuals, error) {
	m.ends.mutex.Lock()
	defer m.ends.mutex.Unlock()
	key := Interval{Local: q.Local, Joint: q.Joint}
	if lists, ok := m.ends.lists[key]; ok {
		return lists, nil
	}
	sizes := make([]blas.General, len(m.Folds))
	for k, f := range m.Folds {
		sizes[k] = blas.Clone(f.Y)
		for i, v := range f.F.Data {
			sizes[k].Data[i] = math.Abs(sizes[k].Data[i] - v)
		}
		if q.Local {
			w := blas.NewGeneral(f.Y.Rows, f.Y.Cols)
			if err := f.widths(ctx, w, m.inputs(f.Rows)); err != nil {
				return nil, err
			}
			floats.Div(sizes[k].Data, w.Data)
		}
	}
	if q.Joint {
		join(sizes)
	}
	lists := make([]residuals, len(m.Out.Names))
	for j := range lists {
		for _, s := range sizes {
			var list []float64
			for i := range s.Rows {
				if v := s.Data[i*s.Stride+j]; !math.IsNaN(v) {
					list = append(list, v)
				}
			}
			slices.Sort(list)
			lists[j].folds = append(lists[j].folds, list)
			lists[j].count += len(list)
		}
	}
	if m.ends.lists == nil {
		m.ends.lists = map[Interval][]residuals{}
	}
	m.ends.lists[key] = lists
	return lists, nil
}

// join puts in place of the residuals of a sample the largest of them, in units of the root mean square
// of the residuals of each output.
func join(sizes []blas.General) {
	n := sizes[0].Cols
	unit, count := make([]float64, n), make([]float64, n)
	each := func(f func(i, j int, v *float64)) {
		for _, s := range sizes {
			for i := range s.Rows {
				row := blas.Row(s, i)
				for j := range row {
					if !math.IsNaN(row[j]) {
						f(i, j, &row[j])
					}
				}
			}
		}
	}
	each(func(_, j int, v *float64) { unit[j] = math.Hypot(unit[j], *v); count[j]++ })
	for j := range unit {
		unit[j] /= math.Sqrt(max(count[j], 1))
	}
	for _, s := range sizes {
		for i := range s.Rows {
			row, top := blas.Row(s, i), 0.0
			for j, v := range row {
				if unit[j] > 0 && v > top*unit[j] { // false for NaN
					top = v / unit[j]
				}
			}
			for j, v := range row {
				if !math.IsNaN(v) {
					row[j] = top * unit[j]
				}
			}
		}
	}
}

// inputs are training inputs as they were before they were scaled, to rounding.
func (m *Model) inputs(rows []int) blas.General {
	X := blas.NewGeneral(0, len(m.In.Names))
	if Z := trainingInputs(m.Basis); Z.Rows > 0 {
		X = columns.Rows(Z, rows)
		if m.In.Scaler != nil {
			m.In.Scaler.Invert(X)
		}
	}
	return X
}

// trainingInputs are those that a basis keeps, no rows for others.
func trainingInputs(b Basis) blas.General {
	switch b := b.(type) {
	case *Samples:
		return b.Z
	case *Sum:
		return b.Z
	}
	return blas.General{}
}

// search finds elements of given rank among the numbers shift_k + scale_k·v, v in list k.
type search []reach

// reach is how far a list is taken.
type reach struct {
	list         []float64 // ascending
	shift, scale float64
	first        int     // as many numbers as are in proportion to the rank
	value, rate  float64 // of the list there, and its numbers in a unit; rate is 0 where it does not rise
	taken        int
	last, next   float64 // the last number taken and the first that is not; ∓Inf where there is none
}

// at is number i of the list.
func (p *reach) at(i int) float64 { return p.shift + p.scale*p.list[i] }

// take takes as many numbers.
func (p *reach) take(count int) {
	p.taken = count
	p.last, p.next = math.Inf(-1), math.Inf(1)
	if count > 0 {
		p.last = p.at(count - 1)
	}
	if count < len(p.list) {
		p.next = p.at(count)
	}
}

// find returns the number of rank r, from 1. It starts from as many of each list as are in proportion, moves to a common
// end by the slope of the lists there, and then exchanges the largest numbers that are
// taken for smaller ones that are not: few, where the lists are smooth.
func (s search) find(r int) float64 {
	for have := s.start(); ; {
		from, to := &s[0], &s[0]
		for k := range s {
			if p := &s[k]; p.last > from.last {
				from = p
			}
			if p := &s[k]; p.next < to.next {
				to = p
			}
		}
		switch {
		case have < r:
			to.take(to.taken + 1)
			have++
		case have > r:
			from.take(from.taken - 1)
			have--
		case from.last > to.next:
			from.take(from.taken - 1)
			to.take(to.taken + 1)
		default:
			return from.last
		}
	}
}

// aim makes the search one in these lists, for the rank r.
func (s search) aim(lists [][]float64, r int) {
	total := 0
	for _, list := range lists {
		total += len(list)
	}
	for k, list := range lists {
		n := len(list)
		s[k] = reach{list: list, first: min(r*n/total, max(n-1, 0))}
		if n == 0 {
			continue
		}
		p := &s[k]
		p.value = list[p.first]
		lo, hi := max(p.first-n/32-1, 0), min(p.first+n/32+1, n-1)
		if rise := list[hi] - list[lo]; rise > 0 {
			p.rate = float64(hi-lo) / rise
		}
	}
}

// start takes about r numbers, and returns how many.
func (s search) start() (have int) {
	var end, weight float64 // Σ rate·v and Σ rate over the lists, v their numbers of the rank in proportion
	for k := range s {
		p := &s[k]
		end += p.rate * (p.shift + p.scale*p.value)
		weight += p.rate
	}
	if weight > 0 {
		end /= weight
	}
	for k := range s {
		p := &s[k]
		count := p.first
		if p.rate > 0 {
			move := (end - p.shift - p.scale*p.value) * p.rate
			count += int(max(float64(-count), min(move, float64(len(p.list)-count))))
		}
		p.take(count)
		have += count
	}
	return have
}

// PredictGramIntervals are Intervals from cross-Gram matrices, as for PredictGram.
func (m *Model) PredictGramIntervals(ctx context.Context, cross []blas.General, q Interval) (F, lo, hi blas.General, err error) {
	if err := m.method(&q); err != nil {
		return F, lo, hi, err
	}
	if q.Method != CVPlus || q.Local {
		return F, lo, hi, fault.Input("a model of Gram matrices has intervals by %s, of widths that are not local", CVPlus)
	}
	if len(cross) != len(m.Eta) {
		return F, lo, hi, fault.Input("%d cross-Gram matrices for %d kernels: intervals take all of them", len(cross), len(m.Eta))
	}
	if F, err = m.PredictGram(cross); err != nil {
		return F, lo, hi, err
	}
	lo, hi = blas.NewGeneral(F.Rows, F.Cols), blas.NewGeneral(F.Rows, F.Cols)
	predictions := make([]blas.General, len(m.Folds))
	for k, f := range m.Folds {
		if predictions[k], err = f.PredictGram(f.kept(m, cross)); err != nil {
			return F, lo, hi, err
		}
	}
	err = m.combine(ctx, lo, hi, predictions, nil, q)
	include(lo, hi, F)
	return F, lo, hi, cmp.Or(err, ctx.Err())
}

// kept are the columns of cross-Gram matrices that belong to the samples of the fold's model.
func (f *Fold) kept(m *Model, cross []blas.General) []blas.General {
	out := make([]bool, coefficients(m.Basis))
	for _, i := range f.Rows {
		out[i] = true
	}
	part := make([]blas.General, len(cross))
	for j, K := range cross {
		part[j] = blas.NewGeneral(K.Rows, K.Cols-len(f.Rows))
		for i := range K.Rows {
			to := blas.Row(part[j], i)[:0]
			for c, v := range blas.Row(K, i) {
				if !out[c] {
					to = append(to, v)
				}
			}
		}
	}
	return part
}
