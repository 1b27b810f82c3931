package results

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/cmd/internal/status"
	"github.com/iokl/iokl/internal/files/page"
	"github.com/iokl/iokl/internal/files/picture"
	"github.com/iokl/iokl/linop"
)

// learned is what fit --json and info --json both print.
type learned struct {
	iokl.Certificate
	Eta      []float64 `json:"eta"`
	Kernels  []string  `json:"kernels"`
	TraceL   float64   `json:"trace_l"`
	RankL    int       `json:"rank_l"`
	LTrace   []float64 `json:"l_trace,omitempty"` // of the output kernel of each kernel, for --model sum
	Outputs  []string  `json:"outputs"`
	Warnings []string  `json:"warnings"`
	Model    string    `json:"model,omitempty"` // the file

	Of    *iokl.Model `json:"-"`
	Parts bool        `json:"-"` // of the gap are told
}

func newLearned(model *iokl.Model, file string) learned {
	L := model.OutputKernel()
	return learned{
		Certificate: model.Certificate(), Eta: model.Eta(), Kernels: model.KernelNames(), TraceL: L.Trace(),
		RankL: L.Rank(), LTrace: traces(model.OutputKernels()), Outputs: model.OutputNames(),
		Warnings: append([]string{}, model.Warnings()...), Model: file, Of: model,
	}
}

// Fit is what fit --json prints.
type Fit struct {
	learned
	Seconds float64      `json:"seconds"`
	Threads int          `json:"threads"`
	Noise   bool         `json:"learned_noise,omitempty"`
	Chosen  *iokl.Chosen `json:"chosen"`
	// of the mean of the training targets on the folds, where there were any
	ConstantError float64 `json:"constant_error,omitempty"`
}

// NewFit is the report of a fit of so many seconds whose model is in the file out.
func NewFit(model *iokl.Model, seconds float64, out string) *Fit {
	return &Fit{
		learned: newLearned(model, out), Seconds: seconds, Threads: blas.Threads(), Noise: model.LearnedNoise(),
		Chosen: model.Chosen(), ConstantError: model.Chosen().Constant,
	}
}

// Write prints what the fit found.
func (r *Fit) Write(w io.Writer) error {
	if err := Columns(w, "fit", r, 0); err != nil {
		return err
	}
	return status.Failure(words.Table("kernels.csv", r).WriteText(w, 15))
}

// named is a number with the name of what it is of, and its share of the sum.
type named struct {
	Name         string
	Value, Share float64
}

// ByWeight are the kernels of weight, the largest first.
func (l *learned) ByWeight() (all []named) {
	for _, j := range largestFirst(l.Eta) {
		all = append(all, named{kernelLabel(l.Kernels[j], l.Of.InputNames()), l.Eta[j], l.Eta[j] / floats.Sum(l.Eta)})
	}
	return all
}

// largestFirst lists the positive elements of v, the largest first.
func largestFirst(v []float64) (idx []int) {
	for j, e := range v {
		if e > 0 {
			idx = append(idx, j)
		}
	}
	slices.SortStableFunc(idx, func(a, b int) int { return cmp.Compare(v[b], v[a]) })
	return idx
}

// kernelLabel adds the column's name to a kernel of one column, as gaussian:3:median (price).
func kernelLabel(name string, inputs []string) string {
	fields := strings.Split(name, ":")
	if fields[0] == "rff" || fields[0] == "nystrom" {
		fields = fields[1:]
	}
	at := 1
	if fields[0] == "poly" {
		at = 2
	}
	if at < len(fields) {
		if j, err := strconv.Atoi(fields[at]); err == nil && j >= 0 && j < len(inputs) {
			return name + " (" + inputs[j] + ")"
		}
	}
	return name
}

// Active is the number of kernels of weight.
func Active(eta []float64) int {
	return floats.Count(func(v float64) bool { return v > 0 }, eta)
}

// traces are the traces of output kernels, nil for none.
func traces(L []*linop.Spectral) (out []float64) {
	for _, l := range L {
		out = append(out, l.Trace())
	}
	return out
}

// coupling is the output kernel of one kernel.
type coupling struct {
	kernel string
	share  float64      // of Σ tr L_j
	L      blas.General // L_j
}

// couplings are those of the kernels of largest tr L_j; none for one L, or more outputs than are compared in pairs.
func couplings(model *iokl.Model) (out []coupling) {
	const most = 10
	Ls, names, n := model.OutputKernels(), model.KernelNames(), len(model.LearnedOutputs())
	if n > maxCorrelation {
		return nil
	}
	idx := largestFirst(traces(Ls))
	for _, j := range idx[:min(len(idx), most)] {
		c := coupling{
			kernel: kernelLabel(names[j], model.InputNames()), share: Ls[j].Trace() / model.OutputKernel().Trace(),
			L: blas.NewGeneral(n, n),
		}
		Ls[j].Dense(blas.Active(), c.L)
		out = append(out, c)
	}
	return out
}

// CouplingWords say of each kernel with an output kernel of its own which outputs that makes vary most, and which pair
// it couples most.
func (l *learned) CouplingWords() (texts []string) {
	const most = 3
	names := l.Of.LearnedOutputs()
	for _, c := range couplings(l.Of) {
		own, top := make([]float64, len(names)), pair{}
		for i := range names {
			own[i] = blas.Row(c.L, i)[i]
			for j := range i {
				if v := blas.Row(c.L, i)[j]; math.Abs(v) > math.Abs(top.R) {
					top = pair{names[j], names[i], v / math.Sqrt(own[i]*own[j])}
				}
			}
		}
		var moved []string
		idx := largestFirst(own)
		for _, i := range idx[:min(most, len(idx))] {
			moved = append(moved, fmt.Sprintf("%s %.0f %%", names[i], 100*own[i]/floats.Sum(own)))
		}
		texts = append(texts, say("coupling", struct {
			pair
			Kernel string
			Share  float64
			Moved  []string
		}{top, c.kernel, c.share, moved}))
	}
	return texts
}

// couplingHeats show the L_j, divided by the deviations √(ΣL_j)_aa of both outputs, so that they
// add up to the correlation in ΣL_j, in whose order the outputs stand.
func couplingHeats(model *iokl.Model) []*picture.Heat {
	total := correlationHeat(model)
	n := total.Matrix.Rows
	order, deviations := picture.Clustered(model.OutputCorrelation()), blas.NewGeneral(n, n)
	model.OutputKernel().Dense(blas.Active(), deviations)
	var heats []*picture.Heat
	for _, c := range couplings(model) {
		h := *total
		h.Title = fmt.Sprintf("%s: %.0f %% of the variation", c.kernel, 100*c.share)
		h.Matrix = blas.NewGeneral(n, n)
		for a, i := range order {
			for b, j := range order {
				if d := deviations.Data[i*n+i] * deviations.Data[j*n+j]; d > 0 {
					h.Matrix.Data[a*n+b] = c.L.Data[i*n+j] / math.Sqrt(d)
				}
			}
		}
		heats = append(heats, &h)
	}
	return heats
}

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
	if len(r.Learned) <= maxCorrelation {
		r.Correlation = rowsOf(blas.Raw(model.OutputCorrelation()))
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

// couples reports whether L was learned or is a kernel between outputs, and therefore describes them.
func couples(model *iokl.Model) bool {
	c := model.Certificate()
	return c.Components != nil || c.Learn.OutputKernel() || model.AxisKernel() != ""
}

// coupled is the least correlation in L of outputs that are said to go together.
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
