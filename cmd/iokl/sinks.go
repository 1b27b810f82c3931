package main

import (
	"compress/gzip"
	"encoding/csv"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/cmd/internal/cli"
	"github.com/iokl/iokl/cmd/internal/results"
	"github.com/iokl/iokl/cmd/internal/status"
	"github.com/iokl/iokl/internal/files/atomicfile"
	"github.com/iokl/iokl/internal/files/table"
	"github.com/iokl/iokl/schema"
)

// sink receives predictions.
type sink func(a *prediction) error

// deliver calls each with the sink of the predictions, nil where they are not written.
func (p *predictFlags) deliver(cmd *cobra.Command, model *iokl.Model, each func(sink) error) error {
	if p.out == "" {
		if p.json || p.y != "" && !p.fill.on {
			return each(nil)
		}
		return each(csvSink(cli.Data(cmd.OutOrStdout()), model.OutputNames(), p.kept))
	}
	ext := strings.ToLower(filepath.Ext(p.out))
	return atomicfile.Write(p.out, func(w io.Writer) error {
		switch ext {
		case ".npy":
			rows := table.NpyRows{W: w, Cols: len(model.OutputNames())}
			err := each(func(a *prediction) error {
				t := a.columns(nil)
				rows.Cols = t.Data.Cols
				return status.Failure(rows.Write(t.Data))
			})
			if err != nil {
				return err
			}
			return status.Failure(rows.End())
		case ".gz":
			z := gzip.NewWriter(w)
			if err := each(csvSink(z, model.OutputNames(), p.kept)); err != nil {
				return err
			}
			return status.Failure(z.Close())
		}
		return each(csvSink(w, model.OutputNames(), p.kept))
	})
}

// checkTable refuses file names of formats that predictions are not written in.
func checkTable(path string) error {
	others := []string{".npz", ".parquet", ".pq", ".xlsx", ".xlsm", ".xls", ".ods", ".json", ".jsonl", ".ndjson"}
	ext := strings.ToLower(filepath.Ext(strings.TrimSuffix(path, ".gz")))
	if slices.Contains(others, ext) || ext == ".npy" && strings.HasSuffix(path, ".gz") {
		return status.Input("--out %s: predictions are written as .csv, .csv.gz or .npy", path)
	}
	return nil
}

// csvSink writes a header, and rows that begin with columns of the inputs and the class. NaN is an empty cell.
func csvSink(w io.Writer, names []string, ids *table.Texts) sink {
	first := true
	return func(a *prediction) error {
		c, t := csv.NewWriter(w), a.columns(names)
		var heads []string
		var texts [][]string
		if a.labels != nil {
			heads, texts = append(heads, "class"), append(texts, a.labels)
		}
		if a.sets != nil {
			heads, texts = append(heads, "set"), append(texts, a.sets)
		}
		if first && ids != nil {
			heads = slices.Concat(ids.Names, heads)
		}
		if first {
			_ = c.Write(append(heads, t.Names...))
			first = false
		}
		for i := range t.Data.Rows {
			var rec []string
			if ids != nil {
				var err error
				if rec, err = ids.Next(); err != nil {
					return err
				}
			}
			for _, text := range texts {
				rec = append(rec, text[i])
			}
			for _, v := range blas.Row(t.Data, i) {
				cell := ""
				if !math.IsNaN(v) {
					cell = strconv.FormatFloat(v, 'g', -1, 64)
				}
				rec = append(rec, cell)
			}
			_ = c.Write(rec)
		}
		c.Flush()
		return status.Failure(c.Error())
	}
}

// openKept opens the columns of --keep, or by default those of fit --keep where the file has them; nil for none.
func (p *predictFlags) openKept(model *iokl.Model, opt table.Options) (*table.Texts, error) {
	list := p.keep
	if list == "" {
		o, err := results.OriginOf(model)
		if err != nil || o.Keep == "" {
			return nil, nil // the notes are of another program
		}
		list = o.Keep
	}
	kept, err := p.identifiers(list, opt)
	if p.keep == "" {
		err = nil // the user did not ask for them
	}
	return kept, err
}

// identifiers opens the columns of a list.
func (p *predictFlags) identifiers(list string, opt table.Options) (*table.Texts, error) {
	switch {
	case p.x == "" || once(p.x):
		return nil, status.Input("--keep: identifiers come from a file of inputs, which is read once more")
	case strings.EqualFold(filepath.Ext(p.out), ".npy"), p.json && p.out == "":
		return nil, status.Input("--keep: identifiers are written to CSV")
	}
	opt.Types, opt.NA = true, nil // words that mean a missing number may be identifiers
	opt.Columns = func(names []string, cols int) ([]int, error) { return selectColumns(list, "--keep", names, cols) }
	return table.OpenText(p.x, opt)
}

// filling completes targets: observed cells stay, and missing cells become predictions.
type filling struct {
	on    bool
	known *table.Table
	row   int // the next one to complete
	count int // cells that were predicted
}

// readKnown reads the targets of the file, by the names of the model's outputs where it has all of these.
func (p *predictFlags) readKnown(model *iokl.Model, opt table.Options) (*table.Table, error) {
	opt.Columns = p.outputsOf(model)
	known, err := table.Read(p.y, opt)
	if n := len(model.OutputNames()); err == nil && known.Data.Cols != n {
		err = status.Input("%s has %d targets, the model %d", p.y, known.Data.Cols, n)
	}
	return known, err
}

// outputsOf chooses the targets of the model among the columns of --y: those asked for, or those of the same names
// where it has all of these, or all.
func (d *dataFlags) outputsOf(model *iokl.Model) func([]string, int) ([]int, error) {
	return func(names []string, cols int) ([]int, error) {
		all, err := d.targetColumns().index(names, cols)
		if err != nil || d.yColumns != "" || names == nil {
			return all, err
		}
		outputs := model.OutputNames()
		byName, renamed, err := match(schema.Numbers(outputs, len(outputs)), names, all)
		if err != nil || renamed != nil {
			return all, nil
		}
		return byName, nil
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
