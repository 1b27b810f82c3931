// This file prints what a fit found, as JSON and in words.

package results

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"gonum.org/v1/gonum/floats"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/cmd/internal/status"
)

// Fit is what fit --json prints.
type Fit struct {
	iokl.Certificate
	Eta      []float64    `json:"eta"`
	Kernels  []string     `json:"kernels"`
	TraceL   float64      `json:"trace_l"`
	RankL    int          `json:"rank_l"`
	Seconds  float64      `json:"seconds"`
	Threads  int          `json:"threads"`
	Outputs  []string     `json:"outputs"`
	Warnings []string     `json:"warnings"`
	Model    string       `json:"model,omitempty"`
	LTrace   []float64    `json:"l_trace,omitempty"` // of the output kernel of each kernel, for --model sum
	Noise    bool         `json:"learned_noise,omitempty"`
	Chosen   *iokl.Chosen `json:"chosen"`
	// of the mean of the training targets on the folds, where there were any
	ConstantError float64 `json:"constant_error,omitempty"`
}

// NewFit is what a fit of so many seconds found, whose model is in the file out.
func NewFit(model *iokl.Model, seconds float64, out string) *Fit {
	return &Fit{
		Certificate: model.Certificate(), Eta: model.Eta(), Kernels: model.KernelNames(),
		TraceL: model.OutputKernel().Trace(), RankL: model.OutputKernel().Rank(), LTrace: traces(model.OutputKernels()),
		Noise: model.LearnedNoise(), Seconds: seconds,
		Threads: blas.Threads(), Outputs: model.OutputNames(), Warnings: OrEmpty(model.Warnings()),
		Model:  out,
		Chosen: model.Chosen(), ConstantError: model.Chosen().Constant,
	}
}

// OrEmpty makes nil an empty list, which JSON writes as [].
func OrEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// Write prints what the fit found.
func (r *Fit) Write(w io.Writer, model *iokl.Model) error {
	t := columns(w)
	fmt.Fprint(t, fill("fit", struct {
		*Fit
		Of    *iokl.Model
		Parts bool // of the gap are told
	}{Fit: r, Of: model}))
	if err := Flush(t); err != nil {
		return err
	}
	return writeWeights(w, model, 15)
}

// columns lays out what is written to w as columns of text.
func columns(w io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(w, 0, 0, 2, ' ', 0) }

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

// writeWeights says how many kernels have weight, and lists the largest.
func writeWeights(w io.Writer, model *iokl.Model, most int) error {
	eta := model.Eta()
	fmt.Fprintf(w, "\n%d of %d kernels have weight\n", Active(eta), len(eta))
	return status.Failure(kernelTable(model).WriteText(w, most))
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

// Flush ends a table on standard output.
func Flush(t *tabwriter.Writer) error {
	if err := t.Flush(); err != nil {
		return status.Failure(fmt.Errorf("standard output: %w", err))
	}
	return nil
}

// Active is the number of kernels of weight.
func Active(eta []float64) int {
	return floats.Count(func(v float64) bool { return v > 0 }, eta)
}
