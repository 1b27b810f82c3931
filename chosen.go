package iokl

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/model"
)

// Chosen is the setting of a fit, and how it did where cross-validation chose it.
type Chosen struct {
	Kernels []string  `json:"kernels"` // SPECs of the dictionary; of Gram matrices none
	Lambda  float64   `json:"lambda"`
	Norm    Norm      `json:"norm"`
	Learn   Learned   `json:"learn"`
	Model   ModelKind `json:"model"`
	Space   string    `json:"space"` // exact or features
	// SPEC of L between the points of the axis of the outputs; "" where it is none
	OutputKernel string `json:"output_kernel,omitempty"`

	Metric   Metric  `json:"metric,omitempty"` // of the errors; "" where nothing was compared
	Folds    int     `json:"folds,omitempty"`
	Error    float64 `json:"error,omitempty"`          // mean over the folds
	StdErr   float64 `json:"stderr,omitempty"`         // of that mean
	Constant float64 `json:"constant_error,omitempty"` // of the mean of the training targets, on the same folds
	// Means are the targets, numbered from 0, that the setting predicts no better than their
	// mean does, within a standard error of the difference. The model predicts their mean.
	Means []int `json:"means,omitempty"`
}

// comparison is what cross-validation found for options that were open.
type comparison struct {
	asked   checked // as they were
	found   Chosen
	held    []model.Fold // what the setting predicts on the folds of all samples; nil where that is not kept
	samples int
	cut     string // what the time for choosing was spent on, "" where it has sufficed
}

// warning says which targets, of n, were learned in vain.
func (c *Chosen) warning(silent []string, n int) string {
	switch {
	case len(silent) == 0:
		return ""
	case len(silent) == n:
		return fmt.Sprintf("nothing here can be predicted from these inputs: on %d folds the best setting has %s "+
			"%.4g ± %.2g, the mean of the targets %.4g; the model predicts the mean",
			c.Folds, c.Metric, c.Error, c.StdErr, c.Constant)
	}
	return fmt.Sprintf("%d of %d targets are predicted by their mean, as these inputs do not predict them better: %s",
		len(silent), n, columns.Few(silent))
}

// chosen is the setting that a fit took.
func (opt *checked) chosen(end *learn.Outcome) *Chosen {
	var c Chosen
	if opt.compared != nil {
		c = opt.compared.found
	}
	set := opt.setting()
	c.Kernels, c.Lambda, c.Norm, c.Learn = slices.Clone(opt.Kernels), opt.Lambda, Norm(set.Reg().String()),
		cmp.Or(opt.Learn, LearnBoth)
	c.Model, c.Space, c.OutputKernel = ModelProduct, "exact", set.OutputKernel
	if end.Problem.Model == bcd.Sum {
		c.Model = ModelSum
	}
	if _, ok := end.Basis.(*model.Features); ok {
		c.Space = "features"
	}
	return &c
}
