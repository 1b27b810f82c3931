// This file reads rows of inputs and targets in blocks, from two files side by side or from one.

package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/schema"
	"github.com/iokl/iokl/internal/table"
	"github.com/iokl/iokl/stream"
)

// tables is the pair of files, or the one file, that rows come from.
type tables struct {
	x, y   string
	xs, ys []int          // columns
	schema schema.Columns // of those of x
	target schema.Columns // of those of y
	opt    table.Options
	strict bool // no target may be missing
}

// streamed finds the columns in the files and makes them data to stream.
func (d *dataFlags) streamed(opt *iokl.Options) (iokl.Rows, error) {
	var rows iokl.Rows
	if d.x == "" {
		return rows, errors.New("give the inputs by --x")
	}
	if d.y == "" && d.yColumns != "" {
		d.y = d.x
	}
	if d.y == "" {
		return rows, errors.New("give the targets by --y, or --y-columns of the file of --x")
	}
	t := &tables{x: d.x, y: d.y, strict: d.missingTargets == "error"}
	var err error
	if t.opt, err = d.options(); err != nil {
		return rows, err
	}
	typed, err := d.typed(t.opt)
	if err != nil {
		return rows, err
	}
	in, count, err := headOf(d.x, d.inputColumns(), typed, &t.xs)
	if err != nil {
		return rows, work(err)
	}
	t.schema = schema.Numbers(in.Names, len(t.xs))
	if typed.Types {
		typed.Columns = only(t.xs)
		if t.schema, err = table.Learn(d.x, typed); err != nil {
			return rows, work(err)
		}
	}
	in = &table.Table{Names: t.schema.Names(), Data: blas.NewGeneral(0, t.schema.Cols()), Schema: t.schema}
	opt.InputSchema = t.schema
	out, _, err := headOf(d.y, d.targetColumns(), t.opt, &t.ys)
	if err != nil {
		return rows, work(err)
	}
	learn := t.opt
	learn.Columns = only(t.ys)
	if t.target, err = table.Learn(d.y, learn); err != nil {
		return rows, work(err)
	}
	opt.InputNames, opt.OutputNames = in.Names, out.Names
	if opt.Groups, err = readGroups(d.groups, in); err != nil {
		return rows, work(err)
	}
	rows = iokl.Rows{
		Inputs: t.schema.Cols(), Outputs: len(t.ys), Count: count, Open: t.open,
		Name: fmt.Sprintf("%s[%s] %s[%s]", d.x, d.xColumns, d.y, d.yColumns),
	}
	return rows, nil
}

// headOf opens a file for the columns chosen and its number of rows.
func headOf(name string, c columns, opt table.Options, idx *[]int) (*table.Table, int64, error) {
	opt.Columns = func(names []string, cols int) (_ []int, err error) {
		*idx, err = c.index(names, cols)
		return *idx, err
	}
	r, err := table.Open(name, opt)
	if err != nil {
		return nil, 0, err
	}
	defer r.Close()
	return &table.Table{Names: r.Names(), Data: blas.NewGeneral(0, r.Cols())}, int64(r.Rows()), nil
}

// only chooses the columns idx.
func only(idx []int) func([]string, int) ([]int, error) {
	return func([]string, int) ([]int, error) { return idx, nil }
}

// reading are the options to read only the columns idx, those of a schema.
func (t *tables) reading(idx []int, s schema.Columns) table.Options {
	opt := t.opt
	opt.Columns, opt.Schema = only(idx), s
	return opt
}

// blockRows is the number of rows read at a time.
const blockRows = 1024

// open starts to read the rows.
func (t *tables) open() (stream.Source, error) {
	cols, s := t.xs, t.schema
	if t.x == t.y {
		cols, s = slices.Concat(t.xs, t.ys), slices.Concat(s, t.target)
	}
	x, err := table.Open(t.x, t.reading(cols, s))
	if err != nil {
		return nil, err
	}
	return t.pair(x)
}

// pair puts the rows of the targets beside those of x. Where both are in one file,
// its rows hold the inputs and then the targets.
func (t *tables) pair(x table.Reader) (stream.Source, error) {
	d := t.schema.Cols()
	xb := blas.NewGeneral(blockRows, x.Cols())
	s := &pairs{tables: t, xr: x, xb: xb, X: blas.View(xb, 0, 0, blockRows, d)}
	if t.x == t.y {
		s.Y = blas.View(xb, 0, d, blockRows, len(t.ys))
		return s, nil
	}
	var err error
	if s.yr, err = table.Open(t.y, t.reading(t.ys, t.target)); err != nil {
		_ = x.Close()
		return nil, err
	}
	s.Y = blas.NewGeneral(blockRows, len(t.ys))
	return s, nil
}

// pairs is the rows of both files side by side.
type pairs struct {
	*tables
	xr, yr table.Reader // yr is nil where both are in one file
	xb     blas.General // what xr reads
	X, Y   blas.General // X, and without yr Y, are parts of xb
	row    int64
	err    error
}

func (s *pairs) Close() error {
	if s.yr == nil {
		return s.xr.Close()
	}
	return errors.Join(s.xr.Close(), s.yr.Close())
}

// Next reads a block. Rows before a bad one come with the error that names it.
func (s *pairs) Next() (stream.Block, error) {
	if s.err != nil {
		return stream.Block{}, s.err
	}
	var n int
	n, s.err = s.xr.Read(s.xb)
	if s.yr != nil {
		n = s.readTargets(n)
	}
	n = s.present(n)
	b := stream.Block{
		X: blas.View(s.X, 0, 0, n, s.X.Cols), Y: blas.View(s.Y, 0, 0, n, s.Y.Cols), Row: s.row,
		Source: s.x,
	}
	s.row += int64(n)
	return b, s.err
}

// readTargets reads the targets of n rows and returns how many are whole.
func (s *pairs) readTargets(n int) int {
	if n == 0 && s.err != nil {
		if k, err := s.yr.Read(blas.View(s.Y, 0, 0, 1, s.Y.Cols)); errors.Is(s.err, io.EOF) &&
			(k > 0 || !errors.Is(err, io.EOF)) {
			s.err = inputError("%s has more than the %d rows of %s", s.y, s.row, s.x)
		}
		return 0
	}
	done := 0
	for done < n {
		k, err := s.yr.Read(blas.View(s.Y, done, 0, n-done, s.Y.Cols))
		done += k
		if errors.Is(err, io.EOF) {
			err = inputError("%s has %d rows, and %s has more", s.y, s.row+int64(done), s.x)
		}
		if err != nil {
			s.err = err
			return done
		}
	}
	return n
}

// present cuts the block before the first row with a cell that must not be missing.
func (s *pairs) present(n int) int {
	for i := range n {
		bad := func(v float64) bool { return math.IsInf(v, 0) || math.IsNaN(v) }
		if j := slices.IndexFunc(blas.Row(s.X, i), bad); j >= 0 {
			count := make([]int, s.X.Cols)
			count[j] = 1
			cells, names := s.schema.PerSource(count, s.xr.Names())
			s.err = inputError("%s: row %d, %s is missing or no finite number: fit without --stream, which fills "+
				"missing inputs, or leave the row out", s.x, s.row+int64(i)+1,
				schema.Label(names, slices.Index(cells, 1)))
			return i
		}
		j := slices.IndexFunc(blas.Row(s.Y, i), func(v float64) bool {
			return math.IsInf(v, 0) || math.IsNaN(v) && s.strict
		})
		if j >= 0 {
			names := s.xr.Names()
			if s.yr != nil {
				names = s.yr.Names()
			} else if names != nil {
				names = names[s.X.Cols:]
			}
			s.err = inputError("%s: row %d, target %s is missing or no finite number", s.y, s.row+int64(i)+1,
				schema.Label(names, j))
			return i
		}
	}
	return n
}
