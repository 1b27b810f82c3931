package iokl

import (
	"cmp"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/loss"
)

// checkLoss refuses what goes with no loss but the squared one, or with no weights, and puts quantiles in order.
func (opt *checked) checkLoss() error {
	l := opt.losses[0]
	opt.losses = slices.Clone(opt.losses)
	slices.SortFunc(opt.losses, func(a, b loss.Loss) int { return cmp.Compare(a.Parameter, b.Parameter) })
	repeated := len(slices.Compact(slices.Clone(opt.losses))) < len(opt.losses)
	squared, weighted := l.Kind == loss.Squared, opt.Weights != nil || opt.Noise != nil
	switch {
	case repeated:
		return fault.Input("the loss %q names a quantile twice", opt.Loss)
	case opt.Learn == LearnLikelihood && !(squared && !weighted):
		return fault.Input("a fit by likelihood takes neither weights nor another loss")
	case !squared && (opt.Solver == "paper" || opt.Solver == "okl"):
		return fault.Input("the solver %s is for the squared loss, not for %s", opt.Solver, opt.Loss)
	case !(squared && !weighted) && opt.CV.LeaveOneOut:
		return fault.Input("leaving out single rows in closed form is for the squared loss without weights: use folds")
	case len(opt.losses) > 1 && (opt.Model == ModelSum || slices.Contains(opt.CV.Models, ModelSum)):
		return fault.Input("several quantiles share one output kernel: the model sum takes one quantile")
	}
	return nil
}

// checkNoise refuses what learning the noise does not go with.
func (opt *checked) checkNoise(gram bool) error {
	switch {
	case !opt.LearnNoise:
	case gram:
		return fault.Input("the noise is learned as a function of inputs, which Gram matrices do not tell")
	case opt.Noise != nil:
		return fault.Input("the noise is either given or learned")
	case opt.losses[0].Kind != loss.Squared && opt.losses[0].Kind != loss.Huber:
		return fault.Input("the noise is learned of errors by the losses squared and huber, not %s", opt.Loss)
	case opt.Learn == LearnLikelihood:
		return fault.Input("a fit by likelihood has one variance for each target: the noise is learned without it")
	case opt.classes != nil:
		return fault.Input("classes have no noise to learn")
	case opt.CV.TimeOrdered:
		return fault.Input("the noise is learned on folds of rows in no order, not on a series in the order of time")
	}
	return nil
}

// lead is the loss by which weights and L are learned.
func (opt *checked) lead() loss.Loss {
	if opt.losses == nil {
		return loss.Loss{}
	}
	return opt.losses[learn.Lead(opt.losses)]
}

// targets are those of a fit with their weights, without Data where all are 1.
type targets struct {
	y, w    blas.General
	without []int // rows of weight 0, of which y holds no cell
}

// targets checks the options and the cells of the table x, y: x has no rows for Gram matrices. Whatever is checked or
// measured, a cell of weight 0 is a missing one, rows of weight 0 are not there, and weights that are all 1 are none.
func (opt Options) targets(x, y blas.General, gram bool, classes []string) (t targets, c checked, err error) {
	t.y = y
	var given blas.General
	if opt.Weights != nil {
		if given = raw(opt.Weights); given.Data == nil {
			return t, c, fault.Input("the weights are empty")
		}
		if given, err = columns.CheckCellWeights(given, y.Rows, y.Cols); err != nil {
			return t, c, err
		}
		opt.Weights = nil
		if t.y, t.w, t.without = columns.Seen(y, given); t.w.Data != nil {
			opt.Weights = blas.Dense(t.w)
		}
	}
	if c, err = opt.check(gram, classes); err != nil {
		return t, c, err
	}
	if err := c.place(y.Cols); err != nil {
		return t, c, err
	}
	co := c.columns()
	if err := columns.CheckCells(x, y, given, &co); err != nil || opt.Noise == nil {
		return t, c, err
	}
	v, err := columns.Precision(raw(opt.Noise), t.y, t.w, c.columns().ScaleOutputs)
	if err == nil {
		columns.Multiply(v, t.w)
	}
	t.w = v
	return t, c, err
}

// take makes t the targets of these rows alone, and cv the options of folds of these.
func (t *targets) take(rows []int, cv *CVOptions) {
	l := t.y.Rows
	if len(cv.Groups) == l {
		cv.Groups = columns.Pick(cv.Groups, rows)
	}
	if cv.Folds <= l {
		cv.Folds = min(cv.Folds, len(rows))
	}
	if t.y = blas.TakeRows(t.y, rows); t.w.Data != nil {
		t.w = blas.TakeRows(t.w, rows)
	}
	t.without = nil
}

// seenLabels are labels with none in rows of weight 0, whose classes are then not there.
func seenLabels(labels []string, weights mat.Matrix) []string {
	if weights == nil {
		return labels
	}
	labels = slices.Clone(labels)
	l, cols := weights.Dims()
	for i := range min(l, len(labels)) {
		any := false
		for j := range cols {
			any = any || weights.At(i, j) != 0
		}
		if !any {
			labels[i] = ""
		}
	}
	return labels
}

// checkStream is check for streams, which refuses what is for data in memory.
func (opt Options) checkStream() (checked, error) {
	c, err := opt.check(false, nil)
	switch {
	case err != nil:
	case opt.OutputAxis != nil:
		err = fault.Input("an axis of the outputs is for data in memory, not for streams")
	case opt.Weights != nil:
		err = fault.Input("rows of a stream have the weights of their blocks: weights of all rows or of cells are " +
			"for data in memory")
	case opt.Noise != nil || opt.LearnNoise || len(c.losses) > 0 && c.losses[0].Kind != loss.Squared:
		err = fault.Input("noise and losses other than the squared one are for data in memory, not for streams")
	}
	return c, err
}
