// This file prints what a fit found, as JSON and in words.

package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/blas"
)

// fitReport is what fit --json prints.
type fitReport struct {
	Objective        float64   `json:"objective"`
	GapEta           float64   `json:"gap_eta"`
	GapL             float64   `json:"gap_l"`
	RelativeGap      float64   `json:"relative_gap"`
	Converged        bool      `json:"converged"`
	Tol              float64   `json:"tol"`
	Eta              []float64 `json:"eta"`
	Kernels          []string  `json:"kernels"`
	TraceL           float64   `json:"trace_l"`
	RankL            int       `json:"rank_l"`
	Lambda           float64   `json:"lambda"`
	Tau              float64   `json:"tau"`
	Norm             string    `json:"norm"`
	Learn            string    `json:"learn"`
	OuterIterations  int       `json:"outer_iterations"`
	SylvesterSolves  int       `json:"sylvester_solves"`
	KernelMultiplies int       `json:"kernel_multiplies"`
	Seconds          float64   `json:"seconds"`
	Solver           string    `json:"solver"`
	Sylvester        string    `json:"sylvester"`
	Backend          string    `json:"backend"`
	Threads          int       `json:"threads"`
	Seed             uint64    `json:"seed"`
	Samples          int       `json:"samples"`
	ObservedCells    int       `json:"observed_cells"`
	Outputs          []string  `json:"outputs"`
	Warnings         []string  `json:"warnings"`
	Model            string    `json:"model,omitempty"`

	*iokl.GlobalBound
	LTrace        []float64    `json:"l_trace,omitempty"` // of the output kernel of each kernel, for --model sum
	Chosen        *iokl.Chosen `json:"chosen"`
	ConstantError float64      `json:"constant_error,omitempty"` // of the mean of the training targets on the folds, where there were any
}

func newFitReport(model *iokl.Model, seconds float64, out string) fitReport {
	c := model.Certificate()
	return fitReport{
		Objective: c.Objective, GapEta: c.GapEta, GapL: c.GapL, RelativeGap: c.RelativeGap, Converged: c.Converged, Tol: c.Tol,
		Eta: model.Eta(), Kernels: model.KernelNames(), TraceL: model.OutputKernel().Trace(), RankL: model.OutputKernel().Rank(),
		Lambda: c.Lambda, Tau: c.Tau, Norm: c.Norm, Learn: c.Learn,
		OuterIterations: c.OuterIterations, SylvesterSolves: c.SylvesterSolves, KernelMultiplies: c.KernelMultiplies,
		Seconds: seconds, Solver: c.Solver, Sylvester: c.Sylvester, Backend: c.Backend, Threads: blas.Threads(), Seed: c.Seed,
		Samples: c.Samples, ObservedCells: c.ObservedCells, Outputs: model.OutputNames(), Warnings: orEmpty(model.Warnings()), Model: out,
		GlobalBound: c.GlobalBound, LTrace: traces(model.OutputKernels()),
		Chosen: model.Chosen(), ConstantError: model.Chosen().Constant,
	}
}

// orEmpty makes nil an empty list, which JSON writes as [].
func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

func reportFit(w io.Writer, m *machine, model *iokl.Model, seconds float64, out string) error {
	if m.json {
		return writeJSON(w, newFitReport(model, seconds, out))
	}
	c := model.Certificate()
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "objective\t%.8g\n", c.Objective)
	fmt.Fprintf(t, "relative gap\t%.3g\t(%s)\n", c.RelativeGap, gapText(c))
	writeBound(t, model)
	fmt.Fprintf(t, "λ, τ, norm\t%.4g, %.4g, %s\n", c.Lambda, c.Tau, c.Norm)
	fmt.Fprintf(t, "L\trank %d of %d, trace %.4g\n", model.OutputKernel().Rank(), model.OutputKernel().Dim(), model.OutputKernel().Trace())
	fmt.Fprintf(t, "work\t%d outer iterations, %d solves, %.3g s\n", c.OuterIterations, c.SylvesterSolves, seconds)
	if out != "" {
		fmt.Fprintf(t, "model\t%s\n", out)
	}
	fmt.Fprintln(t)
	writeWeights(t, model, 15)
	return flush(t)
}

func gapText(c iokl.Certificate) string {
	if c.Converged {
		return fmt.Sprintf("certified: within the tolerance %.3g", c.Tol)
	}
	return fmt.Sprintf("not within the tolerance %.3g", c.Tol)
}

// writeWeights lists the largest kernel weights.
func writeWeights(w io.Writer, model *iokl.Model, most int) {
	names, eta := model.KernelNames(), model.Eta()
	idx := make([]int, 0, len(eta))
	var sum float64
	for j, e := range eta {
		if sum += e; e > 0 {
			idx = append(idx, j)
		}
	}
	slices.SortStableFunc(idx, func(a, b int) int {
		switch {
		case eta[a] > eta[b]:
			return -1
		case eta[a] < eta[b]:
			return 1
		}
		return 0
	})
	fmt.Fprintf(w, "kernels\t%d of %d have weight\n", len(idx), len(eta))
	for _, j := range idx[:min(most, len(idx))] {
		fmt.Fprintf(w, "  %s\t%.4g\t%.1f %%\n", kernelLabel(names[j], model.InputNames()), eta[j], 100*eta[j]/sum)
	}
	if len(idx) > most {
		fmt.Fprintf(w, "  and %d more\n", len(idx)-most)
	}
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

func flush(t *tabwriter.Writer) error {
	if err := t.Flush(); err != nil {
		return failure{fmt.Errorf("standard output: %w", err)}
	}
	return nil
}
