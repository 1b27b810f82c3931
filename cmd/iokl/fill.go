// This file completes tables of targets: predictions take the place of empty cells.

package main

import (
	"fmt"
	"math"

	"github.com/spf13/pflag"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/cmd/internal/status"
	"github.com/iokl/iokl/internal/table"
)

// filling completes targets: what is observed stays, and predictions take the place of
// missing cells.
type filling struct {
	on    bool
	known *table.Table
	row   int // the next one to complete
	count int // cells that predictions were put into
}

func (f *filling) flags(fs *pflag.FlagSet) {
	fs.BoolVar(&f.on, "fill", false, "")
}

// readKnown reads the targets of the file, by the names of the model's outputs where it has all of these.
func (p *predictFlags) readKnown(model *iokl.Model, opt table.Options) error {
	f, outputs := &p.fill, model.OutputNames()
	opt.Columns = p.outputsOf(model)
	var err error
	if f.known, err = table.Read(p.y, opt); err != nil {
		return err
	}
	if f.known.Data.Cols != len(outputs) {
		return status.Input("%s has %d targets, the model %d", p.y, f.known.Data.Cols, len(outputs))
	}
	return nil
}

// outputsOf chooses the targets of the model among the columns of --y: those asked for, or those of the same names
// where it has all of these, or all.
func (d *dataFlags) outputsOf(model *iokl.Model) func([]string, int) ([]int, error) {
	return func(names []string, cols int) ([]int, error) {
		if byName := inOrder(model.OutputNames(), names); byName != nil && d.yColumns == "" {
			return byName, nil
		}
		return d.targetColumns().index(names, cols)
	}
}

// complete puts the observed targets of the next rows into the predictions for them, with deviation 0.
func (f *filling) complete(a *prediction, file string) error {
	data := a.F.RawMatrix()
	f.known.Extend(f.row + data.Rows)
	if f.row+data.Rows > f.known.Data.Rows {
		return status.Input("%s has %d rows of targets, and there are more of inputs", file, f.known.Data.Rows)
	}
	for i := range data.Rows {
		row := blas.Row(data, i)
		for j, v := range blas.Row(f.known.Data, f.row+i) {
			if math.IsNaN(v) {
				f.count++
				continue
			}
			row[j] = v
			for _, b := range a.beside {
				if b.suffix == stdSuffix {
					b.v.Set(i, j, 0)
				}
			}
		}
	}
	f.row += data.Rows
	return nil
}

// done refuses targets without inputs.
func (f *filling) done(file string) error {
	if f.row < f.known.Data.Rows {
		return status.Input("%s has %d rows of targets, and there are %d of inputs", file, f.known.Data.Rows, f.row)
	}
	return nil
}

func (f *filling) String() string {
	return fmt.Sprintf("predicted %d of %d target cells", f.count, f.known.Data.Rows*f.known.Data.Cols)
}
