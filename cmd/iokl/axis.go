// This file reads points of an axis that outputs are.

package main

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/cmd/internal/status"
)

// readAxis reads points, a row each, and the names of their coordinates, nil where the file has none. The word header
// stands for the names of the outputs, which are numbers then.
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

// elsewhere is the model of outputs at the points of --output-axis.
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
