// This file prints what a fit found, as JSON and in words, and says what the output kernel of each kernel does.

package results

import (
	"cmp"
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

// NewFit is what a fit of so many seconds found, whose model is in the file out.
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
	return status.Failure(kernelTable(r.Of).WriteText(w, 15))
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

// coupling is what a kernel with an output kernel of its own does.
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

// couplingWords says of each kernel with an output kernel of its own which outputs that makes vary most, and which pair
// it couples most.
func couplingWords(model *iokl.Model) (words []string) {
	const most = 3
	names := model.LearnedOutputs()
	for _, c := range couplings(model) {
		own, top, pair := make([]float64, len(names)), 0.0, [2]int{}
		for i := range names {
			row := blas.Row(c.L, i)
			own[i] = row[i]
			for j := range i {
				if v := math.Abs(row[j]); v > top {
					top, pair = v, [2]int{j, i}
				}
			}
		}
		var moved []string
		idx := largestFirst(own)
		for _, i := range idx[:min(most, len(idx))] {
			moved = append(moved, fmt.Sprintf("%s %.0f %%", names[i], 100*own[i]/floats.Sum(own)))
		}
		text := fmt.Sprintf("%s has %.0f %% of the variation; it moves %s", c.kernel, 100*c.share,
			strings.Join(moved, ", "))
		if top > 0 {
			i, j := pair[0], pair[1]
			text += fmt.Sprintf(", and couples %s and %s most (%+.2f)", names[i], names[j],
				blas.Row(c.L, j)[i]/math.Sqrt(own[i]*own[j]))
		}
		words = append(words, text+".")
	}
	return words
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

// couplingSection says which kernel couples which outputs.
func couplingSection(model *iokl.Model) page.Section {
	s := section("couplings", "Which kernel couples which outputs", page.List(couplingWords(model)))
	if n := len(model.LearnedOutputs()); len(s.Blocks) > 0 && n > 1 && n <= maxMapped {
		var figures []picture.Figure
		for _, h := range couplingHeats(model) {
			figures = append(figures, h.Figure(""))
		}
		s.Add(page.Classed("soft", "The maps add up to that of L: on the diagonal stands the share of an output's "+
			"variation that is the kernel's."), page.SmallCharts(figures))
	}
	return s
}
