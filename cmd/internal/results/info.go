package results

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/cmd/internal/status"
	"github.com/iokl/iokl/internal/files/page"
)

// Info is what info --json prints.
type Info struct {
	learned
	Inputs      []string    `json:"inputs"`
	Classes     []string    `json:"classes,omitempty"`
	Correlation [][]float64 `json:"correlation,omitempty"` // between the outputs that were learned
	Learned     []string    `json:"learned_outputs"`
	AxisNames   []string    `json:"axis,omitempty"`          // coordinates of the axis of the outputs
	AxisKernel  string      `json:"output_kernel,omitempty"` // that L is on it
	Relevance   []float64   `json:"relevance,omitempty"`     // of each input, 1 for the largest, where kernels learned it
	UpdateBytes int64       `json:"update_bytes"`            // of the model file that serves updates alone
	Pictures    []string    `json:"pictures,omitempty"`
	rowsReport
}

// maxCorrelation is the number of outputs up to which the correlation matrix is shown.
const maxCorrelation = 500

// NewInfo is what there is to say about the model of a file.
func NewInfo(model *iokl.Model, path string) *Info {
	r := &Info{
		learned: newLearned(model, path), Inputs: append([]string{}, model.InputNames()...),
		Classes: model.Classes(), Learned: model.LearnedOutputs(), UpdateBytes: model.UpdateBytes(),
	}
	r.Parts = true
	r.Relevance, r.AxisKernel = model.Relevance(), model.AxisKernel()
	_, r.AxisNames = model.OutputAxis()
	if n := len(r.Learned); n <= maxCorrelation {
		R := model.OutputCorrelation()
		for i := range n {
			r.Correlation = append(r.Correlation, mat.Row(nil, i, R))
		}
	}
	return r
}

// Cells is the number of cells of the targets.
func (r *Info) Cells() int { return r.Samples * len(r.Outputs) }

// Write prints what a model learned.
func (r *Info) Write(w io.Writer) error {
	if err := Columns(w, "info", r, 0); err != nil {
		return err
	}
	if err := words.Table("kernels.csv", r).WriteText(w, 25); err != nil {
		return status.Failure(err)
	}
	for _, part := range []struct {
		title, table string
		texts        []string
	}{
		{"inputs by relevance (how much kernels vary with each)", "relevance.csv", nil},
		{"outputs", "outputs.csv", r.OutputWords()},
		{"kernels with an output kernel of their own", "", r.CouplingWords()},
	} {
		t := new(page.Table)
		if part.table != "" {
			t = words.Table(part.table, r)
		}
		if part.texts != nil || t.Rows != nil {
			fmt.Fprintf(w, "\n%s\n", strings.Join(append([]string{part.title}, part.texts...), "\n"))
		}
		if err := t.WriteText(w, 10); err != nil {
			return status.Failure(err)
		}
	}
	return Columns(w, "rows", r, 0)
}

// Divided are the outputs whose variance is divided among the terms of a fit by likelihood.
func (r *Info) Divided() []string {
	const most = 10
	return r.Learned[:min(most, len(r.Learned))]
}

// Terms are the kernels and the residuals.
func (r *Info) Terms() (names []string) {
	for _, name := range r.Kernels {
		names = append(names, kernelLabel(name, r.Inputs))
	}
	return append(names, "residuals")
}

// couples reports whether L was learned or is a kernel between outputs, and so says something about these.
func couples(model *iokl.Model) bool {
	c := model.Certificate()
	return c.Components != nil || c.Learn.OutputKernel() || model.AxisKernel() != ""
}

// coupled is the correlation in L from which on outputs are said to be learned together.
const coupled = 0.5

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
	leaveOutRows   = 3000 // training rows up to which a fit leaves out each: some seconds
	// those up to which info does, of which it makes matrices of 40 MB: it is to take little more than the model
	infoRows = 1000
)

// LeaveOneOut fills in what refits without each row tell, where the model allows it.
func (r *rowsReport) LeaveOneOut(ctx context.Context, model *iokl.Model) error {
	r.IntervalFolds = model.IntervalFolds()
	if model.Certificate().Samples > infoRows {
		return nil
	}
	left, err := model.LeaveOneOut(ctx)
	if errors.Is(err, iokl.ErrInput) {
		return nil // no closed form
	}
	if err != nil {
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
