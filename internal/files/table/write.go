package table

import (
	"errors"
	"io"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/files/atomicfile"
	"github.com/iokl/iokl/internal/files/npy"
)

// WriteNpy writes the matrix to the file, whole or not at all.
func WriteNpy(path string, a blas.General) error {
	return atomicfile.Write(path, func(w io.Writer) error {
		if err := npy.WriteHeader(w, a.Rows, a.Cols); err != nil {
			return err
		}
		return writeRows(w, a)
	})
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
