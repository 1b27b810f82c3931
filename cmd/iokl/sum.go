package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// modelFlags say which model is learned and what is certified.
type modelFlags struct {
	model, certify string
}

func (s *modelFlags) flags(f *pflag.FlagSet) {
	f.StringVar(&s.model, "model", "", "product: kernel weights and one output kernel L, or sum: an L for each kernel, with norm lp:P\n(default: product, or chosen with λ where kernels are chosen too)")
	f.StringVar(&s.certify, "certify", "", "global: bound the objective from below over all weights and all L together, and say what an L for each kernel would gain")
}

func (s *modelFlags) set(opt *iokl.Options) error {
	if s.certify != "" && s.certify != "global" {
		return fmt.Errorf("--certify %q: it takes global", s.certify)
	}
	opt.Model, opt.Global = s.model, s.certify == "global"
	return nil
}

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
	fmt.Fprintf(w, "lower bound\t%.8g\t(nothing has a lower objective; at most %.3g %% could be gained)\n", c.LowerBound, 100*c.GlobalGap)
	if model.OutputKernels() == nil && c.Objective > 0 {
		fmt.Fprintf(w, "an L for each kernel\t%.8g\t(%.3g %% lower; --model sum fits it)\n", c.SumObjective, 100*max(0, 1-c.SumObjective/c.Objective))
	}
}

// writeCouplings lists, for each kernel with an output kernel of its own, the outputs that it
// makes vary most and the pairs that it couples most.
func writeCouplings(w io.Writer, model *iokl.Model) {
	Ls, names, outputs := model.OutputKernels(), model.KernelNames(), model.LearnedOutputs()
	if len(outputs) > maxCorrelation {
		return
	}
	idx := make([]int, 0, len(Ls))
	for j, L := range Ls {
		if L.Rank() > 0 {
			idx = append(idx, j)
		}
	}
	slices.SortStableFunc(idx, func(a, b int) int { return cmp.Compare(Ls[b].Trace(), Ls[a].Trace()) })
	const kernels, most = 10, 3
	for _, j := range idx[:min(len(idx), kernels)] {
		n := len(outputs)
		L := blas.NewGeneral(n, n)
		Ls[j].Dense(blas.Active(), L)
		at := func(p pair) float64 { return L.Data[p.i*n+p.j] }
		var own, pairs []pair
		for a := range n {
			own = append(own, pair{i: a, j: a})
			for b := range a {
				pairs = append(pairs, pair{i: b, j: a})
			}
		}
		for _, list := range [][]pair{own, pairs} {
			slices.SortStableFunc(list, func(p, q pair) int { return cmp.Compare(math.Abs(at(q)), math.Abs(at(p))) })
		}
		fmt.Fprintf(w, "\n%s, rank %d\n", kernelLabel(names[j], model.InputNames()), Ls[j].Rank())
		var parts []string
		for _, p := range own[:min(n, most)] {
			parts = append(parts, fmt.Sprintf("%s %.0f %%", outputs[p.i], 100*at(p)/Ls[j].Trace()))
		}
		fmt.Fprintf(w, "  moves\t%s\n", strings.Join(parts, ", "))
		R := iokl.Correlation(Ls[j])
		for _, p := range pairs[:min(len(pairs), most)] {
			fmt.Fprintf(w, "  %s, %s\t%+.3f\n", outputs[p.i], outputs[p.j], R.At(p.i, p.j))
		}
	}
}
