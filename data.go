package iokl

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/blas"
)

// inputs is what turns rows of raw inputs into rows the kernels see.
type inputs struct {
	Names  []string  `json:"names"`
	Fill   []float64 `json:"fill"`             // put in place of missing cells
	Scaler *Scaler   `json:"scaler,omitempty"` // nil: inputs as they are
	Strict bool      `json:"strict,omitempty"` // missing cells are an error
}

// outputs is what turns learned outputs into targets.
type outputs struct {
	Names   []string `json:"names"`
	Scaler  *Scaler  `json:"scaler,omitempty"` // nil: targets as they are
	Live    []int    `json:"live"`             // the targets that are learned, the others being constant
	Classes []string `json:"classes,omitempty"`
}

// newInputs learns the map from the training inputs.
func newInputs(X blas.General, opt *Options) (*inputs, []string, error) {
	names, err := columnNames(opt.InputNames, X.Cols, "x", "input")
	if err != nil {
		return nil, nil, err
	}
	s := newScaler(X)
	in := &inputs{Names: names, Fill: s.Mean, Strict: opt.Missing == "error"}
	var warnings []string
	if opt.scaleX() {
		in.Scaler = s
		if c := chosen(names, s.Constant); len(c) == X.Cols {
			return nil, nil, badInput("every input column is constant")
		} else if len(c) > 0 {
			warnings = append(warnings, fmt.Sprintf("dropped %s, constant in the training data", columnList("input column", c)))
		}
	}
	return in, warnings, nil
}

// apply copies X, fills its missing cells and scales it. first is the number,
// from 0, of X's first row in messages. missing counts the cells filled.
func (in *inputs) apply(X blas.General, first int) (Z blas.General, missing []int, err error) {
	if err := in.checkWidth(X); err != nil {
		return Z, nil, err
	}
	Z = blas.Clone(X)
	missing, err = in.scale(Z, first)
	return Z, missing, err
}

func (in *inputs) checkWidth(X blas.General) error {
	if X.Cols != len(in.Names) {
		return badInput("the data have %d columns, the model was fitted on %d", X.Cols, len(in.Names))
	}
	return nil
}

// scale is apply in place.
func (in *inputs) scale(X blas.General, first int) (missing []int, err error) {
	for i := range X.Rows {
		for j, v := range blas.Row(X, i) {
			if math.IsInf(v, 0) || in.Strict && math.IsNaN(v) {
				return nil, badInput("row %d, column %d (%s) of the inputs is %s", first+i+1, j+1, in.Names[j], cellText(v))
			}
		}
	}
	missing = fill(X, in.Fill)
	if in.Scaler != nil {
		in.Scaler.apply(X)
	}
	return missing, nil
}

func cellText(v float64) string {
	if math.IsNaN(v) {
		return "missing (NaN)"
	}
	return fmt.Sprint(v)
}

// newOutputs learns the map from the training targets, which must be finite,
// and returns the scaled targets that are to be learned, Y itself when all are, as they are.
func newOutputs(Y blas.General, opt *Options) (*outputs, blas.General, []string, error) {
	names, err := columnNames(opt.OutputNames, Y.Cols, "y", "output")
	if err != nil {
		return nil, Y, nil, err
	}
	for i := range Y.Rows {
		for j, v := range blas.Row(Y, i) {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, Y, nil, badInput("row %d, column %d (%s) of the targets is %s", i+1, j+1, names[j], cellText(v))
			}
		}
	}
	s := newScaler(Y)
	constant := chosen(names, s.Constant)
	if len(constant) == Y.Cols {
		return nil, Y, nil, badInput("every target column is constant: there is nothing to learn")
	}
	out := &outputs{Names: names}
	Z := Y
	var warnings []string
	if opt.scaleY() {
		Z = blas.Clone(Y)
		out.Scaler = s
		s.apply(Z)
		if len(constant) > 0 {
			warnings = append(warnings, fmt.Sprintf("%s constant in the training data and predicted as such", columnList("target column", constant)))
		}
	}
	for j := range Y.Cols {
		if !opt.scaleY() || !s.Constant[j] {
			out.Live = append(out.Live, j)
		}
	}
	return out, columns(Z, out.Live), warnings, nil
}

// restore writes the targets that the learned outputs F (t×live) stand for.
func (out *outputs) restore(dst, F blas.General) {
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
		out.Scaler.invert(dst)
	}
}

// liveNames are the names of the outputs that are learned.
func (out *outputs) liveNames() []string {
	names := make([]string, len(out.Live))
	for k, j := range out.Live {
		names[k] = out.Names[j]
	}
	return names
}

// columns copies the given columns of a; all of them is a itself.
func columns(a blas.General, idx []int) blas.General {
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

// rows copies the given rows of a.
func rows(a blas.General, idx []int) blas.General {
	b := blas.NewGeneral(len(idx), a.Cols)
	for k, i := range idx {
		copy(blas.Row(b, k), blas.Row(a, i))
	}
	return b
}

// columnNames checks the names given, or makes x1, x2, …
func columnNames(given []string, n int, letter, what string) ([]string, error) {
	if given == nil {
		names := make([]string, n)
		for j := range names {
			names[j] = fmt.Sprintf("%s%d", letter, j+1)
		}
		return names, nil
	}
	if len(given) != n {
		return nil, badInput("%d names for %d %s columns", len(given), n, what)
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

// columnList is "input column a" or "12 input columns a, b, c, …".
func columnList(what string, names []string) string {
	if len(names) == 1 {
		return what + " " + names[0]
	}
	text := strings.Join(names[:min(len(names), 5)], ", ")
	if len(names) > 5 {
		text += ", …"
	}
	return fmt.Sprintf("%d %ss %s", len(names), what, text)
}

// missingWarning says how missing cells were filled; "" when there were none.
func missingWarning(names []string, count []int) string {
	total := 0
	var with []string
	for j, c := range count {
		if total += c; c > 0 {
			with = append(with, names[j])
		}
	}
	if total == 0 {
		return ""
	}
	return fmt.Sprintf("filled %d missing cells by the mean of their column, in %s", total, columnList("input column", with))
}

// raw is m as a row-major matrix; it may share m's memory.
func raw(m mat.Matrix) blas.General {
	r, c := m.Dims()
	if r == 0 || c == 0 {
		return blas.General{}
	}
	return blas.Raw(m)
}
