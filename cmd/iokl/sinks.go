// This file writes predictions as CSV and .npy.

package main

import (
	"compress/gzip"
	"encoding/csv"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/cmd/internal/status"
	"github.com/iokl/iokl/internal/atomicfile"
	"github.com/iokl/iokl/internal/table"
)

// sink receives predictions.
type sink func(a *prediction) error

// deliver runs each with a writer to where the predictions go.
func (p *predictFlags) deliver(cmd *cobra.Command, model *iokl.Model, each func(sink) error) error {
	if p.out == "" {
		if p.json || p.y != "" && !p.fill.on {
			return each(nil)
		}
		return each(csvSink(cmd.OutOrStdout(), model, p.kept))
	}
	if strings.EqualFold(filepath.Ext(p.out), ".npy") {
		return atomicfile.Write(p.out, func(w io.Writer) error {
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
		})
	}
	return atomicfile.Write(p.out, func(w io.Writer) error {
		if !strings.EqualFold(filepath.Ext(p.out), ".gz") {
			return each(csvSink(w, model, p.kept))
		}
		z := gzip.NewWriter(w)
		if err := each(csvSink(z, model, p.kept)); err != nil {
			return err
		}
		return status.Failure(z.Close())
	})
}

// checkTable refuses names of files that mean a format predictions are not written in.
func checkTable(path string) error {
	switch ext := strings.ToLower(filepath.Ext(strings.TrimSuffix(path, ".gz"))); {
	case slices.Contains([]string{
		".npz", ".parquet", ".pq", ".xlsx", ".xlsm", ".xls", ".ods", ".json", ".jsonl",
		".ndjson",
	}, ext),
		ext == ".npy" && strings.HasSuffix(path, ".gz"):
		return status.Input("--out %s: predictions are written as .csv, .csv.gz or .npy", path)
	}
	return nil
}

// csvSink writes a header and rows.
func csvSink(w io.Writer, model *iokl.Model, ids *table.Texts) sink {
	names := model.OutputNames()
	if model.Classes() != nil || ids != nil {
		return recordSink(w, names, ids)
	}
	return func(a *prediction) error {
		t := a.columns(names)
		names = nil
		return status.Failure(table.WriteCSV(w, t))
	}
}

// recordSink writes rows that begin with columns of the inputs and the class.
func recordSink(w io.Writer, names []string, ids *table.Texts) sink {
	first := true
	return func(a *prediction) error {
		c := csv.NewWriter(w)
		if first {
			var head []string
			if ids != nil {
				head = slices.Clone(ids.Names)
			}
			if a.labels != nil {
				head = append(head, "class")
			}
			if a.sets != nil {
				head = append(head, "set")
			}
			_ = c.Write(append(head, a.names(names)...))
			first = false
		}
		t := a.columns(names)
		for i := range t.Data.Rows {
			var rec []string
			if ids != nil {
				var err error
				if rec, err = ids.Next(); err != nil {
					return err
				}
			}
			if a.labels != nil {
				rec = append(rec, a.labels[i])
			}
			if a.sets != nil {
				rec = append(rec, a.sets[i])
			}
			for _, v := range blas.Row(t.Data, i) {
				rec = append(rec, fmt.Sprint(v))
			}
			_ = c.Write(rec)
		}
		c.Flush()
		return status.Failure(c.Error())
	}
}
