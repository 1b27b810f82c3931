// This file writes tables.

package table

import (
	"bufio"
	"encoding/csv"
	"io"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/atomicfile"
	"github.com/iokl/iokl/internal/npy"
)

// Write writes the table to the file, whole or not at all: as .npy when it is
// called so, else as CSV.
func Write(path string, t *Table) error {
	return atomicfile.Write(path, func(w io.Writer) error {
		if strings.EqualFold(filepath.Ext(path), ".npy") {
			return writeNpy(w, t.Data)
		}
		return WriteCSV(w, t)
	})
}

// WriteCSV writes a header, when the columns have names, and the rows, numbers in
// the shortest form that reads back as the same float64 and NaN as an empty cell.
func WriteCSV(w io.Writer, t *Table) error {
	b := bufio.NewWriterSize(w, 1<<16)
	if t.Names != nil {
		if err := writeHeader(b, t.Names); err != nil {
			return err
		}
	}
	var line []byte
	for i := range t.Data.Rows {
		line = line[:0]
		for j, v := range blas.Row(t.Data, i) {
			if j > 0 {
				line = append(line, ',')
			}
			if !math.IsNaN(v) {
				line = strconv.AppendFloat(line, v, 'g', -1, 64)
			}
		}
		if _, err := b.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return b.Flush()
}

func writeHeader(w io.Writer, names []string) error {
	c := csv.NewWriter(w)
	if err := c.Write(names); err != nil {
		return err
	}
	c.Flush()
	return c.Error()
}

// writeNpy writes the matrix as a .npy array of float64.
func writeNpy(w io.Writer, a blas.General) error {
	if err := npy.WriteHeader(w, a.Rows, a.Cols); err != nil {
		return err
	}
	for i := range a.Rows {
		if err := npy.WriteElements(w, blas.Row(a, i)); err != nil {
			return err
		}
	}
	return nil
}
