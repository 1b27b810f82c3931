package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/cmd/internal/results"
	"github.com/iokl/iokl/cmd/internal/status"
	"github.com/iokl/iokl/internal/files/table"
)

// weightFlags are the flags of weights, noise, and points of the outputs on an axis.
type weightFlags struct{ weights, noise, axis string }

// learnsNoise reports whether the noise is to be learned.
func (w *weightFlags) learnsNoise() bool { return w.noise == "learn" }

// isFile reports whether the value of a flag names a file, or an array of one, and not a column.
func isFile(name string) bool {
	path := name
	if at := strings.LastIndex(name, ".npz:"); at >= 0 {
		path = name[:at+len(".npz")]
	}
	if _, err := os.Stat(path); err == nil {
		return true
	}
	return strings.ContainsAny(path, "/\\") || path != name ||
		strings.Contains(path, ".csv") || strings.HasSuffix(path, ".npy") || strings.HasSuffix(path, ".parquet")
}

// begin leaves columns of weights out of the inputs.
func (w *weightFlags) begin(d *dataFlags, stream bool, opt *iokl.Options) error {
	for _, c := range []struct{ flag, value string }{{"--weights", w.weights}, {"--noise", w.noise}} {
		switch {
		case c.value == "":
			continue
		case c.value == "-":
			return status.Input("%s -: weights come from a file or a column of --x", c.flag)
		case w.learnsNoise() && c.flag == "--noise":
			if d.classes {
				return errors.New("--noise learn: classes have no noise to learn")
			}
			opt.LearnNoise = true
		case isFile(c.value):
		case len(d.grams) > 0:
			return status.Input("%s %s: no such file, and there are no columns without --x", c.flag, c.value)
		case once(d.x):
			return status.Input("%s %s: a column of --x %s, which can be read once alone: give a file", c.flag, c.value,
				d.x)
		default:
			if d.drop != "" {
				d.drop += ","
			}
			d.drop += c.value
		}
	}
	if w.axis != "" && (stream || d.classes) {
		return errors.New("--output-axis is for targets in memory that are numbers, not for --stream or --classes")
	}
	if stream && (w.noise != "" || opt.Loss != "" && opt.Loss != "squared") {
		return errors.New("--noise and --loss are for data in memory, not for --stream, which takes --weights of rows")
	}
	return nil
}

// indices is a list of columns by their numbers.
var indices = regexp.MustCompile(`^[\d\s,-]+$`)

// columns are the names of the columns of --x that hold the weights; "" where they come from a file, or have none.
func (w *weightFlags) columns() string {
	if w.weights == "" || isFile(w.weights) || indices.MatchString(w.weights) {
		return ""
	}
	return w.weights
}

// readWeights reads the weights of the rows to predict, which say how wide intervals are: those of --weights, or of the
// columns that the weights of the training rows came from, where --x has them.
func (p *predictFlags) readWeights(cmd *cobra.Command, model *iokl.Model) error {
	given := weightFlags{weights: p.weights}
	switch {
	case p.weights != "" && (p.sure.Level == 0 || model.Classes() != nil):
		return status.Input("--weights says how wide intervals of targets are: give --interval, of a model of numbers")
	case p.sure.Level == 0 || model.Classes() != nil:
		return nil
	case p.weights == "":
		o, err := results.OriginOf(model)
		if err != nil || o.Weights == "" || p.x == "" {
			return err
		}
		if once(p.x) {
			warn(cmd.ErrOrStderr(), []string{fmt.Sprintf("--x %s can be read once alone: intervals are of the width "+
				"of weight 1; --weights FILE gives others", p.x)})
			return nil
		}
		opt := p.options()
		opt.Columns = func(names []string, cols int) ([]int, error) {
			if _, err := selectColumns(o.Weights, "--weights", names, cols); err == nil {
				given.weights = o.Weights
			}
			return []int{0}, nil
		}
		r, err := table.Open(p.x, opt)
		if err != nil || r.Close() != nil || given.weights == "" {
			return err
		}
	}
	var opt iokl.Options
	if err := given.begin(&p.dataFlags, false, &opt); err != nil {
		return err
	}
	t, err := p.besides(cmd, "--weights", given.weights)
	if err == nil {
		p.sure.all = t.Data
	}
	return err
}

// besides reads what a flag says beside the data: a file, or columns of --x.
func (d *dataFlags) besides(cmd *cobra.Command, flag, value string) (*table.Table, error) {
	t, err := reading(cmd, func() (*table.Table, error) {
		opt := d.options()
		if flag == "--output-axis" || isFile(value) {
			return table.Read(value, opt)
		}
		opt.Columns = func(names []string, cols int) ([]int, error) {
			return selectColumns(value, flag, names, cols)
		}
		return table.Read(d.x, opt)
	})
	if err != nil {
		return nil, work(err)
	}
	if t.Data.Rows == 0 || t.Data.Cols == 0 {
		return nil, status.Input("%s %s: it is empty", flag, value)
	}
	return t, nil
}

// readWeights reads the weights before the data, since rows of weight 0 are read as blank.
func (w *weightFlags) readWeights(cmd *cobra.Command, d *dataFlags, opt *iokl.Options) error {
	if w.weights == "" {
		return nil
	}
	t, err := d.besides(cmd, "--weights", w.weights)
	if err != nil {
		return err
	}
	opt.Weights = blas.Dense(t.Data)
	blank := make([]bool, t.Data.Rows)
	for i := range blank {
		blank[i] = !slices.ContainsFunc(blas.Row(t.Data, i), func(v float64) bool { return v != 0 })
	}
	if slices.Contains(blank, false) { // otherwise the fit refuses the weights
		d.blank = blank
	}
	return nil
}

// read reads noise and the axis of the outputs.
func (w *weightFlags) read(cmd *cobra.Command, d *dataFlags, opt *iokl.Options) (err error) {
	if w.axis != "" {
		if opt.OutputAxis, opt.AxisNames, err = readAxis(cmd, d, w.axis, opt.OutputNames); err != nil {
			return err
		}
	}
	if w.noise == "" || w.learnsNoise() {
		return nil
	}
	t, err := d.besides(cmd, "--noise", w.noise)
	if err == nil {
		opt.Noise = blas.Dense(t.Data)
	}
	return err
}

// readAxis reads points, a row each, and the names of their coordinates, nil where the file has none. The name header
// stands for the names of the outputs, which must be numbers.
func readAxis(cmd *cobra.Command, d *dataFlags, name string, outputs []string) (mat.Matrix, []string, error) {
	if name == "header" {
		points := mat.NewDense(max(len(outputs), 1), 1, nil)
		for j, text := range outputs {
			v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
			if err != nil {
				return nil, nil, status.Input("--output-axis header: the target %q is no number", text)
			}
			points.Set(j, 0, v)
		}
		if outputs == nil {
			return nil, nil, status.Input("--output-axis header: the targets have no names (--header yes says that " +
				"their file has a header)")
		}
		return points, nil, nil
	}
	t, err := d.besides(cmd, "--output-axis", name)
	if err != nil {
		return nil, nil, err
	}
	return blas.Dense(t.Data), t.Names, nil
}

// elsewhere is the model with outputs at the points of --output-axis.
func (p *predictFlags) elsewhere(cmd *cobra.Command, model *iokl.Model) (*iokl.Model, error) {
	if p.fill.on || p.sure.Level > 0 || p.sure.std || p.sure.proba || p.sure.why > 0 {
		return nil, status.Input("--output-axis predicts at other points alone: leave out --fill, --interval, --std, " +
			"--proba and --why")
	}
	points, _, err := readAxis(cmd, &p.dataFlags, p.axis, nil)
	if err != nil {
		return nil, err
	}
	return model.At(points)
}
