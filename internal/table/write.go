// This file writes tables.

package table

import (
	"bufio"
	"encoding/csv"
	"errors"
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
			if err := npy.WriteHeader(w, t.Data.Rows, t.Data.Cols); err != nil {
				return err
			}
			return writeRows(w, t.Data)
		}
		return WriteCSV(w, t)
	})
}

// WriteCSV writes a header, when the columns have names, and the rows, numbers in
// the shortest form that reads back as the same float64 and NaN as an empty cell.
func WriteCSV(w io.Writer, t *Table) error {
	b := bufio.NewWriterSize(w, 1<<16)
	if t.Names != nil {
		if err := csv.NewWriter(b).WriteAll([][]string{t.Names}); err != nil {
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

// NpyRows writes a .npy array of float64 to W block by block. Its number of rows is known at the end, and W an
// [io.WriterAt] where it is to be put in.
type NpyRows struct {
	W    io.Writer
	Cols int
	rows int
}

// Write adds the rows of a.
func (n *NpyRows) Write(a blas.General) error {
	if n.rows == 0 {
		if err := npy.WriteHeader(n.W, 0, n.Cols); err != nil {
			return err
		}
	}
	n.rows += a.Rows
	return writeRows(n.W, a)
}

// End puts in the number of rows.
func (n *NpyRows) End() error {
	at, ok := n.W.(io.WriterAt)
	if !ok {
		return errors.New("the number of rows comes first in .npy: give a regular file, or write .csv")
	}
	return npy.WriteHeader(io.NewOffsetWriter(at, 0), n.rows, n.Cols) // 128 bytes for every matrix
}

func writeRows(w io.Writer, a blas.General) error {
	for i := range a.Rows {
		if err := npy.WriteElements(w, blas.Row(a, i)); err != nil {
			return err
		}
	}
	return nil
}
