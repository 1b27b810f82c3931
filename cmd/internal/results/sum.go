// This file has the flags of the model, and prints bounds and the output kernel of each kernel.

package results

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

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

// writeBound says what is known of the objective over everything.
func writeBound(w io.Writer, model *iokl.Model) {
	c := model.Certificate()
	if c.GlobalBound == nil {
		return
	}
	fmt.Fprintf(w, "lower bound\t%.8g\t(nothing has a lower objective; at most %.3g %% could be gained)\n",
		c.LowerBound, 100*c.GlobalGap)
	if model.OutputKernels() == nil && c.Objective > 0 {
		fmt.Fprintf(w, "an L for each kernel\t%.8g\t(%.3g %% lower; --model sum fits it)\n", c.SumObjective,
			100*max(0, 1-c.SumObjective/c.Objective))
	}
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
	rank   int
	share  float64      // of Σ tr L_j
	L      blas.General // L_j
	own    []pair       // the outputs it makes vary most, with their shares of tr L_j
	pairs  []pair       // those it couples most, with their correlations in L_j
}

// couplings are those of the kernels of largest tr L_j; none for one L, or more outputs than are compared in pairs.
func couplings(model *iokl.Model) []coupling {
	const kernels, most = 10, 3
	Ls, names, n := model.OutputKernels(), model.KernelNames(), len(model.LearnedOutputs())
	if n > maxCorrelation {
		return nil
	}
	idx := make([]int, 0, len(Ls))
	for j, L := range Ls {
		if L.Rank() > 0 {
			idx = append(idx, j)
		}
	}
	slices.SortStableFunc(idx, func(a, b int) int { return cmp.Compare(Ls[b].Trace(), Ls[a].Trace()) })
	var out []coupling
	for _, j := range idx[:min(len(idx), kernels)] {
		c := coupling{
			kernel: kernelLabel(names[j], model.InputNames()), rank: Ls[j].Rank(),
			share: Ls[j].Trace() / model.OutputKernel().Trace(), L: blas.NewGeneral(n, n),
		}
		Ls[j].Dense(blas.Active(), c.L)
		at := func(p pair) float64 { return c.L.Data[p.i*n+p.j] }
		R := iokl.Correlation(Ls[j])
		for a := range n {
			c.own = append(c.own, pair{a, a, c.L.Data[a*n+a] / Ls[j].Trace()})
			for b := range a {
				c.pairs = append(c.pairs, pair{b, a, R.At(a, b)})
			}
		}
		for _, list := range []*[]pair{&c.own, &c.pairs} {
			slices.SortStableFunc(*list, func(p, q pair) int { return cmp.Compare(math.Abs(at(q)), math.Abs(at(p))) })
			*list = (*list)[:min(len(*list), most)]
		}
		out = append(out, c)
	}
	return out
}

// moves is the outputs that the kernel makes vary most.
func (c *coupling) moves(outputs []string) string {
	var parts []string
	for _, p := range c.own {
		parts = append(parts, fmt.Sprintf("%s %.0f %%", outputs[p.i], 100*p.r))
	}
	return strings.Join(parts, ", ")
}

// writeCouplings lists, for each kernel with an output kernel of its own, the outputs that it
// makes vary most and the pairs that it couples most.
func writeCouplings(w io.Writer, model *iokl.Model) {
	outputs := model.LearnedOutputs()
	for _, c := range couplings(model) {
		fmt.Fprintf(w, "\n%s, rank %d\n", c.kernel, c.rank)
		fmt.Fprintf(w, "  moves\t%s\n", c.moves(outputs))
		for _, p := range c.pairs {
			fmt.Fprintf(w, "  %s, %s\t%+.3f\n", outputs[p.i], outputs[p.j], p.r)
		}
	}
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
func couplingSection(model *iokl.Model, _ *Origin) page.Section {
	s := page.Section{ID: "couplings", Title: "Which kernel couples which outputs"}
	names := model.LearnedOutputs()
	var words []string
	for _, c := range couplings(model) {
		text := fmt.Sprintf("%s has %.0f %% of the variation; it moves %s", c.kernel, 100*c.share, c.moves(names))
		if len(c.pairs) > 0 {
			p := c.pairs[0]
			text += fmt.Sprintf(", and couples %s and %s most (%+.2f)", names[p.i], names[p.j], p.r)
		}
		words = append(words, text+".")
	}
	if words == nil {
		return s
	}
	s.Add(page.List(words))
	if n := len(names); n > 1 && n <= maxMapped {
		var figures []picture.Figure
		for _, h := range couplingHeats(model) {
			figures = append(figures, h.Figure(""))
		}
		s.Add(page.Classed("soft", "The maps add up to that of L: on the diagonal stands the share of an output's "+
			"variation that is the kernel's."), page.SmallCharts(figures))
	}
	return s
}
