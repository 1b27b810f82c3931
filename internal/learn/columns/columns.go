// Package columns turns tables into the standardised arrays that kernels and solvers
// see, and predictions back into the units of the table: names, missing cells,
// scales, constant columns, class labels.
package columns

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/loss"
	"github.com/iokl/iokl/schema"
)

// Options say what becomes of the columns.
type Options struct {
	ScaleInputs, ScaleOutputs bool // to mean 0 and variance 1
	// missing inputs are an error; else the mean of their column stands for them
	Strict                  bool
	StrictOutputs           bool           // missing targets are an error; else the others are learned from
	Notes                   []string       // warnings about what became of the data before
	InputNames, OutputNames []string       // nil means x1, x2, … and y1, y2, …
	Schema                  schema.Columns // of the file that the inputs come from; nil: columns of numbers
	Loss                    loss.Loss      // that targets are learned by
	FindDelta               bool           // its δ is found from the residuals; else it is given
	Axis                    *Axis          // that the targets are points of; nil for none
}

// Inputs turns rows of raw inputs into rows the kernels see.
type Inputs struct {
	Names []string `json:"names"`
	// of the files that the inputs come from; the first versions of model files lack that of plain numbers
	Schema schema.Columns `json:"schema,omitempty"`
	Fill   []float64      `json:"fill"`             // put in place of missing cells
	Scaler *Scaler        `json:"scaler,omitempty"` // nil: inputs as they are
	Strict bool           `json:"strict,omitempty"` // missing cells are an error
	// Inputs beyond Low and High are taken as these, where inputs are scaled and in memory, which bounds how far a
	// prediction extrapolates. The limits are the range in training, widened by its width on both sides.
	Low  []float64 `json:"low,omitempty"`
	High []float64 `json:"high,omitempty"`
}

// Outputs turns learned outputs into targets.
type Outputs struct {
	Names   []string `json:"names"`
	Scaler  *Scaler  `json:"scaler,omitempty"` // nil: targets as they are
	Live    []int    `json:"live"`             // the targets that are learned, the others being constant
	Classes []string `json:"classes,omitempty"`
	Loss    string   `json:"loss,omitempty"` // that they were learned by, of several quantiles the list; "" is squared
	// Quantiles are the τ of the losses; nil for other losses. Of several, those of a target are neighbours.
	Quantiles []float64 `json:"quantiles,omitempty"`
	// Calibration is that of probabilities by the logistic loss; nil where none was learned.
	Calibration *Platt `json:"calibration,omitempty"`
	Axis        *Axis  `json:"axis,omitempty"` // that the targets are points of; nil for none

	alone     []float64 // what is predicted without kernels where that is not the mean of Scaler; nil where it is
	deviation []float64 // of each target in the training data; nil in a model that was read from a file
	loss      loss.Loss
	base      []float64 // mean loss of the constant 0 of the learned targets; nil for the squared loss
}

// NewInputs makes the map of inputs with the moments s.
func NewInputs(s *Scaler, opt *Options) (in *Inputs, warnings []string, err error) {
	names, err := named(opt.InputNames, len(s.Mean), "x", "input")
	if err != nil {
		return nil, nil, err
	}
	in = &Inputs{Names: names, Fill: s.Mean, Strict: opt.Strict}
	if in.Schema = opt.Schema; in.Schema.Plain() && in.Schema.Sources() == nil {
		in.Schema = schema.Numbers(names, len(names))
	}
	if !in.Schema.Valid(len(names)) {
		return nil, nil, fault.Input(
			"the schema makes %d columns of numbers, and X has %d",
			in.Schema.Cols(),
			len(names),
		)
	}
	warnings = in.Schema.Notes()
	if !opt.ScaleInputs {
		return in, warnings, nil
	}
	in.Scaler = s
	in.Low, in.High = s.limits()
	if err := s.checkRange("input", names); err != nil {
		return nil, nil, err
	}
	switch c := chosen(names, s.Constant); len(c) {
	case 0:
	case len(names):
		if s.empty() {
			return nil, nil, fault.Input("the input columns are empty")
		}
		return nil, nil, fault.Input("every input column is constant")
	default:
		warnings = append(warnings, fmt.Sprintf("dropped %s, constant in the training data", list("input column", c)))
	}
	return in, warnings, nil
}

// Apply copies X, fills its missing cells and scales it. missing counts the cells
// filled in each column.
func (in *Inputs) Apply(X blas.General) (Z blas.General, missing []int, err error) {
	if err := in.CheckWidth(X); err != nil {
		return Z, nil, err
	}
	Z, missing = blas.Clone(X), make([]int, X.Cols)
	return Z, missing, in.Scale(Z, 0, missing)
}

// CheckWidth refuses rows of another number of columns.
func (in *Inputs) CheckWidth(X blas.General) error {
	if in == nil {
		return fault.Input("the model was fitted on Gram matrices: it predicts from cross-Gram matrices")
	}
	if X.Cols != len(in.Names) {
		return fault.Input("the data have %d columns, the model was fitted on %d", X.Cols, len(in.Names))
	}
	return nil
}

// Scale is Apply in place; it adds to missing unless that is nil. first is the number, from 0, of X's first row in
// messages.
func (in *Inputs) Scale(X blas.General, first int, missing []int) error {
	for i := range X.Rows {
		row := blas.Row(X, i)
		for j, v := range row {
			switch {
			case math.IsInf(v, 0) || in.Strict && math.IsNaN(v):
				return fault.Input("row %d, column %d (%s) of the inputs is %s", first+i+1, j+1, in.Names[j], cell(v))
			case math.IsNaN(v):
				row[j] = in.Fill[j]
				if missing != nil {
					missing[j]++
				}
			}
		}
		for j, low := range in.Low {
			row[j] = max(low, min(row[j], in.High[j]))
		}
	}
	if in.Scaler != nil {
		in.Scaler.Apply(X)
	}
	return nil
}

// MissingWarning says how many missing cells of each column that is used were filled; "" when there were none.
func (in *Inputs) MissingWarning(count []int) string {
	total := 0
	count = slices.Clone(count)
	for j := range count {
		if in.Scaler != nil && in.Scaler.Constant[j] {
			count[j] = 0
		}
	}
	var with []string
	count, names := in.Schema.PerSource(count, in.Names)
	for j, c := range count {
		if total += c; c > 0 {
			with = append(with, names[j])
		}
	}
	if total == 0 {
		return ""
	}
	return fmt.Sprintf("filled %d missing cells by the mean of their column, in %s", total, list("input column", with))
}

func cell(v float64) string {
	if math.IsNaN(v) {
		return "missing (NaN)"
	}
	return fmt.Sprint(v)
}

// NewOutputs makes the map of targets with the moments s.
func NewOutputs(s *Scaler, opt *Options) (out *Outputs, warnings []string, err error) {
	names, err := named(opt.OutputNames, len(s.Mean), "y", "output")
	if err != nil {
		return nil, nil, err
	}
	if err := s.checkRange("target", names); err != nil {
		return nil, nil, err
	}
	constant := chosen(names, s.Constant)
	if len(constant) == len(names) {
		return nil, nil, fault.Input("every target column is constant: there is nothing to learn")
	}
	// what is computed in units of the targets reaches the ends of float64 beyond these
	const small, large = 1e-290, 1e290
	out = &Outputs{Names: names, Axis: opt.Axis, deviation: s.Scale}
	for j := range names {
		if 0 < s.Scale[j] && s.Scale[j] < small || math.Max(s.Scale[j], math.Abs(s.Mean[j])) > large {
			return nil, nil, fault.Input("target column %s has mean %.3g and deviation %.3g, whose squares overflow "+
				"or vanish in double precision: rescale it", names[j], s.Mean[j], s.Scale[j])
		}
		if !opt.ScaleOutputs || !s.Constant[j] {
			out.Live = append(out.Live, j)
		}
	}
	if opt.ScaleOutputs {
		out.Scaler = s
		if len(constant) > 0 {
			warnings = append(warnings, fmt.Sprintf("%s constant in the training data and predicted as such",
				list("target column", constant)))
		}
	}
	return out, warnings, nil
}

// WithIntercepts is out with these added to the learned outputs; out itself where they are nil.
func (out *Outputs) WithIntercepts(b []float64) *Outputs {
	if b == nil {
		return out
	}
	with, n := *out, len(out.Names)
	if with.Scaler == nil {
		ones := slices.Repeat([]float64{1}, n)
		with.Scaler = &Scaler{Mean: make([]float64, n), Scale: ones, Constant: make([]bool, n)}
	}
	if with.alone == nil {
		with.alone = with.Scaler.Mean
	}
	shift := make([]float64, n)
	for k, j := range out.Live {
		shift[j] = with.Scaler.Scale[j] * b[k]
		if out.loss.Kind == loss.Logistic { // targets are learned as they are
			shift[j] -= with.Scaler.Mean[j]
		}
	}
	with.Shift(shift)
	return &with
}

// Alone is out for the target j of which only the constant is predicted that is the best without kernels.
func (out *Outputs) Alone(j int) *Outputs {
	if out.alone == nil {
		return out
	}
	with := *out
	shift := make([]float64, len(out.Names))
	shift[j] = out.alone[j] - out.Scaler.Mean[j]
	with.Shift(shift)
	return &with
}

// Shift adds b to the targets that outputs stand for, which are standardised.
func (out *Outputs) Shift(b []float64) {
	s := *out.Scaler
	s.Mean = slices.Clone(s.Mean)
	blas.Axpy(1, b, s.Mean)
	out.Scaler = &s
}

// CheckCells refuses inputs X and targets Y that are infinite, missing where the options refuse that, or no targets of
// the loss, in cells and rows that the weights W do not leave out. X without rows stands for Gram matrices.
func CheckCells(X, Y, W blas.General, opt *Options) error {
	if Y.Rows == 0 {
		return nil // which is refused elsewhere
	}
	outputs, err := named(opt.OutputNames, Y.Cols, "y", "output")
	if err != nil {
		return err
	}
	var inputs []string
	if X.Rows > 0 {
		if inputs, err = named(opt.InputNames, X.Cols, "x", "input"); err != nil {
			return err
		}
	}
	for i := range Y.Rows {
		seen := false
		for j, v := range blas.Row(Y, i) {
			if WeightAt(W, i, j) == 0 {
				continue
			}
			seen = true
			if math.IsInf(v, 0) || opt.StrictOutputs && math.IsNaN(v) {
				return fault.Input("row %d, column %d (%s) of the targets is %s", i+1, j+1, outputs[j], cell(v))
			}
			if err := opt.Loss.CheckTarget(v); err != nil && !math.IsNaN(v) {
				return fault.Input("row %d, column %d (%s) of the targets: %w", i+1, j+1, outputs[j], err)
			}
		}
		if !seen || i >= X.Rows {
			continue
		}
		for j, v := range blas.Row(X, i) {
			if math.IsInf(v, 0) || opt.Strict && math.IsNaN(v) {
				return fault.Input("row %d, column %d (%s) of the inputs is %s", i+1, j+1, inputs[j], cell(v))
			}
		}
	}
	return nil
}

// CheckOutputs refuses targets that are all constant, and those that [NewOutputs] refuses.
func CheckOutputs(Y, W blas.General, opt *Options) error {
	_, _, err := NewOutputs(MeasureWeighted(Y, W), opt)
	return err
}

// LearnOutputs is NewOutputs by the moments of the observed cells of Y with the weights W, which CheckOutputs has
// passed, with the targets to learn: Y itself when all are learned as they are. NaN is a missing cell.
func LearnOutputs(Y, W blas.General, opt *Options) (out *Outputs, Z blas.General, warnings []string, err error) {
	s := MeasureWeighted(Y, W)
	s.adapt(Y, W, opt.Loss)
	if out, warnings, err = NewOutputs(s, opt); err != nil {
		return nil, Y, nil, err
	}
	warnings = slices.Concat(MissingTargets(out.Names, s.Missing, Y.Rows), warnings, opt.Notes)
	Z = Y
	if out.Scaler != nil && opt.Loss.Kind != loss.Logistic {
		Z = blas.Clone(Y)
		out.Scaler.Apply(Z)
	}
	out.setLoss(Y, W, opt.Loss)
	return out, Take(Z, out.Live), warnings, nil
}

// MissingTargets says how many of the l targets of each column are missing; nothing when none are.
func MissingTargets(names []string, missing []int, l int) (lines []string) {
	total := 0
	var with, without []string
	for j, count := range missing {
		if total += count; count > 0 {
			with = append(with, names[j])
		}
		if count == l {
			without = append(without, names[j])
		}
	}
	if total > 0 {
		lines = append(lines, fmt.Sprintf("%d of %d target cells are missing, in %s: learned from the others", total,
			l*len(names), list("target column", with)))
	}
	if without != nil {
		lines = append(lines, fmt.Sprintf("%s without any observed cell: 0 is predicted",
			list("target column", without)))
	}
	return lines
}

// Observed lists the rows of Y that have an observed cell.
func Observed(Y blas.General) []int {
	var rows []int
	for i := range Y.Rows {
		if slices.ContainsFunc(blas.Row(Y, i), func(v float64) bool { return !math.IsNaN(v) }) {
			rows = append(rows, i)
		}
	}
	return rows
}

// Missing reports whether a cell of Y is missing.
func Missing(Y blas.General) bool { return slices.ContainsFunc(Y.Data, math.IsNaN) }

// Filled is Y with the mean of their column, by the weights W, in the cells that are missing or of weight 0; Y itself
// when there are none.
func Filled(Y, W blas.General) blas.General {
	if !Missing(Y) && !slices.Contains(W.Data, 0) {
		return Y
	}
	Z, mean := blas.Clone(Y), MeasureWeighted(Y, W).Mean
	for i := range Z.Rows {
		for j, v := range blas.Row(Z, i) {
			if math.IsNaN(v) || WeightAt(W, i, j) == 0 {
				Z.Data[i*Z.Stride+j] = mean[j]
			}
		}
	}
	return Z
}

// Restore writes the targets that the learned outputs F (t×live) stand for.
func (out *Outputs) Restore(dst, F blas.General) {
	if len(out.Live) == len(out.Names) {
		blas.Copy(dst, F)
	} else {
		blas.Zero(dst)
		for i := range F.Rows {
			from, to := blas.Row(F, i), blas.Row(dst, i)
			for k, j := range out.Live {
				to[j] = from[k]
			}
		}
	}
	if out.Scaler != nil {
		out.Scaler.Invert(dst)
	}
	out.uncross(dst)
}

// Under is a with the rows of b below its own.
func Under(a, b blas.General) blas.General {
	data := make([]float64, 0, (a.Rows+b.Rows)*b.Cols)
	for _, part := range []blas.General{a, b} {
		for i := range part.Rows {
			data = append(data, blas.Row(part, i)...)
		}
	}
	return blas.General{Rows: a.Rows + b.Rows, Cols: b.Cols, Stride: max(b.Cols, 1), Data: data}
}

// Others are the numbers below n that are not among the ascending ones.
func Others(some []int, n int) (others []int) {
	for i := range n {
		if _, in := slices.BinarySearch(some, i); !in {
			others = append(others, i)
		}
	}
	return others
}

// Take copies the given columns of a; all of them is a itself.
func Take(a blas.General, idx []int) blas.General {
	if len(idx) == a.Cols {
		return a
	}
	b := blas.NewGeneral(a.Rows, len(idx))
	for i := range a.Rows {
		from, to := blas.Row(a, i), blas.Row(b, i)
		for k, j := range idx {
			to[k] = from[j]
		}
	}
	return b
}

// named checks the names given, or makes x1, x2, …
func named(given []string, n int, letter, what string) ([]string, error) {
	if given == nil {
		names := make([]string, n)
		for j := range names {
			names[j] = fmt.Sprintf("%s%d", letter, j+1)
		}
		return names, nil
	}
	if len(given) != n {
		return nil, fault.Input("%d names for %d %s columns", len(given), n, what)
	}
	return slices.Clone(given), nil
}

func chosen(names []string, flags []bool) []string {
	var out []string
	for j, f := range flags {
		if f {
			out = append(out, names[j])
		}
	}
	return out
}

// list is "input column a" or "12 input columns a, b, c, …".
func list(what string, names []string) string {
	if len(names) == 1 {
		return what + " " + names[0]
	}
	return fmt.Sprintf("%d %ss %s", len(names), what, Few(names))
}

// Few is the first names.
func Few(names []string) string {
	text := strings.Join(names[:min(len(names), 5)], ", ")
	if len(names) > 5 {
		text += ", …"
	}
	return text
}
