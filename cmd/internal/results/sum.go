// This file has the flags of the model, and prints bounds and the output kernel of each kernel.

package results

import (
	"fmt"
	"io"
	"math"
	"strings"

	"gonum.org/v1/gonum/floats"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/page"
	"github.com/iokl/iokl/internal/picture"
	"github.com/iokl/iokl/linop"
)

// traces are the traces of output kernels, nil for none.
func traces(L []*linop.Spectral) (out []float64) {
	for _, l := range L {
		out = append(out, l.Trace())
	}
	return out
}

// writeComponents lists the shares of kernels and residuals in the variance of each output, of a fit by likelihood.
func writeComponents(w io.Writer, model *iokl.Model) {
	c := model.Certificate().Components
	if c == nil {
		return
	}
	const most = 10
	outputs := model.LearnedOutputs()
	outputs = outputs[:min(most, len(outputs))]
	fmt.Fprintf(w, "\nshares of the variance of %s\n", strings.Join(outputs, ", "))
	names := append(model.KernelNames(), "residuals")
	for j, shares := range c.Shares {
		fmt.Fprintf(w, "  %s\t%.3f\n", kernelLabel(names[j], model.InputNames()), shares[:len(outputs)])
	}
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
