// This file lists the training rows that the other rows do not predict.

package results

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"github.com/iokl/iokl"
)

// rowsReport is what info says about single training rows.
type rowsReport struct {
	IntervalFolds int     `json:"interval_folds,omitempty"`     // without each of which the model is kept
	Freedom       float64 `json:"degrees_of_freedom,omitempty"` // effective
	// rows far from what the others predict, the farthest first
	Surprising []surprise `json:"surprising,omitempty"`
}

// surprise is a training target far from what the other rows predict for it.
type surprise struct {
	Row        int     `json:"row"` // from 1
	Output     string  `json:"output"`
	Residual   float64 `json:"residual"`   // target less the prediction without the row
	Deviations float64 `json:"deviations"` // the residual in units of its standard deviation
	Leverage   float64 `json:"leverage"`   // derivative of the fitted value by the target
}

const (
	surprisingFrom = 3    // deviations
	mostSurprising = 10   // of them that are listed
	leaveOutRows   = 3000 // training rows up to which info leaves out each: some seconds
)

// LeaveOneOut fills in what refits without each row tell, where the model allows it.
func (r *rowsReport) LeaveOneOut(ctx context.Context, model *iokl.Model) error {
	r.IntervalFolds = model.IntervalFolds()
	if model.Certificate().Samples > leaveOutRows {
		return nil
	}
	left, err := model.LeaveOneOut(ctx)
	if err != nil {
		if errors.Is(err, iokl.ErrInput) {
			return nil // no closed form
		}
		return err
	}
	r.Freedom = left.Freedom
	names := model.OutputNames()
	l, n := left.Residuals.Dims()
	for i := range l {
		for j := range n {
			d := left.Deviations.At(i, j)
			if z := left.Residuals.At(i, j) / d; d > 0 && math.Abs(z) >= surprisingFrom {
				r.Surprising = append(r.Surprising, surprise{
					i + 1, names[j], left.Residuals.At(i, j), z,
					left.Leverages.At(i, j),
				})
			}
		}
	}
	slices.SortStableFunc(r.Surprising, func(a, b surprise) int {
		return cmp.Compare(math.Abs(b.Deviations), math.Abs(a.Deviations))
	})
	r.Surprising = r.Surprising[:min(len(r.Surprising), mostSurprising)]
	return nil
}
