// Package samples makes learn.Data of samples in memory: of rows of inputs, and of Gram matrices that
// the caller gives.
package samples

import (
	"math"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/dictionary"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/internal/learn/model"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/loss"
)

// Options say how samples become kernels and targets.
type Options struct {
	learn.Env
	Columns   columns.Options
	Groups    []kernel.Group     // that SPECs may refer to
	Precision blas.Precision     // in which Gram matrices are stored
	Exact     bool               // linear kernels have Gram matrices, however few columns they have
	Lengths   dictionary.Lengths // that learning lengths of columns starts from; nil: none
	Content   []learn.Content    // that samples are dealt to folds by; nil: that of the inputs and targets given
}

// part is opt for some of the samples, about which nothing is said.
func (opt Options) part(idx []int) Options {
	opt.Notify, opt.Columns.FindDelta = nil, false
	if idx != nil {
		opt.Content = columns.Pick(opt.Content, idx)
	}
	return opt
}

// observed holds the targets of the samples and the folds to which they are dealt.
type observed struct {
	opt    Options
	y      blas.General
	w      blas.General // weights of the cells of y, or with one column of the rows; without Data 1
	cells  int          // of y that are observed with a positive weight
	splits []learn.Split
}

// observe refuses data that no fit can start from; l is the number of rows of the inputs.
func observe(l int, Y, W blas.General, opt Options) (o observed, err error) {
	if W.Data != nil {
		if W, err = columns.CheckCellWeights(W, Y.Rows, Y.Cols); err != nil {
			return o, err
		}
	}
	o = observed{opt: opt, y: Y, w: W}
	o.cells = o.weighed().Count()
	switch {
	case Y.Cols == 0 || l == 0:
		return o, fault.Input("the data are empty")
	case l != Y.Rows:
		return o, fault.Input("X has %d rows and Y has %d", l, Y.Rows)
	case l < 2:
		return o, fault.Input("one row of data is not enough to learn from")
	}
	return o, columns.CheckOutputs(Y, W, &opt.Columns)
}

// weighed marks the cells of y that are observed with a positive weight.
func (o *observed) weighed() *linop.Cells {
	return linop.NewCells(o.y.Rows, o.y.Cols, func(i, j int) bool {
		return !math.IsNaN(o.y.Data[i*o.y.Stride+j]) && columns.WeightAt(o.w, i, j) > 0
	})
}

// Loss is the loss that targets are learned by.
func (o *observed) Loss() loss.Loss { return o.opt.Columns.Loss }

// heldOut is the samples to test on without their predictions by m, for which there is room.
func (o *observed) heldOut(m *model.Model, s learn.Split) model.Fold {
	f := model.Fold{Model: m, Rows: s.Test, Y: m.Out.Targets(blas.TakeRows(o.y, s.Test)), W: rowsOf(o.w, s.Test)}
	if f.W.Cols > 1 {
		f.W = m.Out.Targets(f.W)
	}
	f.F = blas.NewGeneral(f.Y.Rows, f.Y.Cols)
	return f
}

// Plain reports whether targets are learned by squares without weights.
func (o *observed) Plain() bool { return o.w.Data == nil && o.Loss().Kind == loss.Squared }

// rowsOf are some of the rows of A, all where rows is nil, and A where it has no Data.
func rowsOf(A blas.General, rows []int) blas.General {
	if A.Data == nil || rows == nil {
		return A
	}
	return blas.TakeRows(A, rows)
}

// Size is the number of samples and of targets.
func (o *observed) Size() (l, n int) { return o.y.Rows, o.y.Cols }

// Cells is the number of target cells that are observed, and of the samples in which some are and some are missing.
func (o *observed) Cells() (count, partial int) {
	cells := o.weighed()
	for i := range o.y.Rows {
		if row := cells.Row(i); slices.Contains(row, 1) && slices.Contains(row, 0) {
			partial++
		}
	}
	return o.cells, partial
}

// Content is that by which Split deals the samples.
func (o *observed) Content() []learn.Content { return o.opt.Content }

// Split deals the samples, or the cells of their targets, to folds.
func (o *observed) Split(p learn.Folding) (int, error) {
	var err error
	if p.Hide == learn.HideCells {
		o.splits, err = p.DealCells(o.weighed())
	} else {
		p.Content = o.opt.Content
		o.splits, err = p.Deal(o.y.Rows)
	}
	return len(o.splits), err
}

// targets are those of a split to train on, a row for each of Train, and those to test
// on, a row for each of Test; NaN where they are missing or not the split's.
func (o *observed) targets(s learn.Split) (train, test blas.General) {
	train, test = blas.TakeRows(o.y, s.Train), blas.TakeRows(o.y, s.Test)
	if s.Hidden == nil {
		return train, test
	}
	blas.Fill(test, math.NaN())
	n := o.y.Cols
	for _, c := range s.Hidden {
		i, j := c/n, c%n
		a, _ := slices.BinarySearch(s.Train, i)
		b, _ := slices.BinarySearch(s.Test, i)
		test.Data[b*n+j], train.Data[a*n+j] = train.Data[a*n+j], math.NaN()
	}
	return train, test
}

// split is the samples of a fold and those to train on.
func (o *observed) split(fold int) (learn.Split, error) {
	s := o.splits[fold]
	if len(s.Train) < 2 || len(s.Test) == 0 {
		return s, fault.Input("it trains on %d samples and tests on %d: that is too few to choose settings by, so "+
			"give λ (--lambda), or more rows", len(s.Train), len(s.Test))
	}
	return s, nil
}

// Constant is the errors on a fold without kernels.
func (o *observed) Constant(fold int) (learn.Errors, error) {
	s, err := o.split(fold)
	if err != nil {
		return learn.Errors{}, err
	}
	Y, test := o.targets(s)
	out, _, _, err := columns.LearnOutputs(Y, rowsOf(o.w, s.Train), &o.opt.Columns)
	if err != nil {
		return learn.Errors{}, err
	}
	F := blas.NewGeneral(test.Rows, test.Cols)
	out.Restore(F, blas.NewGeneral(test.Rows, len(out.Live)))
	return learn.Judge(F, test, rowsOf(o.w, s.Test), out), nil
}

// planned is the number of samples that a plan is for.
func (o *observed) planned(all bool) int {
	if all {
		return o.y.Rows
	}
	l := 0
	for _, split := range o.splits {
		l = max(l, len(split.Train))
	}
	return l
}
