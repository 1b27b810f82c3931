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
	"github.com/iokl/iokl/cmd/internal/status"
	"github.com/iokl/iokl/internal/schema"
	"github.com/iokl/iokl/internal/table"
	"github.com/iokl/iokl/stream"
)

// tables is the files, or the one file, that rows come from.
type tables struct {
	x, y, w    string         // w, of the weights, is "" where rows have none
	xs, ys, ws []int          // columns
	schema     schema.Columns // of those of x
	target     schema.Columns // of those of y
	weight     schema.Columns // of that of w
	opt        table.Options
	strict     bool // no target may be missing
}

// streamed finds the columns in the files, and those of weights, and makes them data to stream.
func (d *dataFlags) streamed(opt *iokl.Options, weights string) (iokl.Rows, error) {
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
	t := &tables{x: d.x, y: d.y, strict: d.missingTargets == "error", opt: d.options()}
	typed := d.typed(t.opt)
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
	name := fmt.Sprintf("%s[%s] %s[%s]", d.x, d.xColumns, d.y, d.yColumns)
	if weights != "" {
		if err := t.weigh(weights); err != nil {
			return rows, work(err)
		}
		name += " " + weights
	}
	rows = iokl.Rows{
		Inputs: t.schema.Cols(), Outputs: len(t.ys), Count: count, Open: t.open,
		Name: name,
	}
	return rows, nil
}

// weigh finds the weights of rows: the one column of a file, or a column of x.
func (t *tables) weigh(weights string) error {
	t.w = weights
	var c columns
	if !isFile(weights) {
		t.w, c = t.x, columns{flag: "--weights", list: weights}
	}
	_, _, err := headOf(t.w, c, t.opt, &t.ws)
	if err == nil && len(t.ws) != 1 {
		err = status.Input("--weights %s: it has %d columns: rows of --stream have one weight, and cells have none",
			weights, len(t.ws))
	}
	if err != nil {
		return err
	}
	opt := t.opt
	opt.Columns = only(t.ws)
	t.weight, err = table.Learn(t.w, opt)
	return err
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
		cols, s = slices.Concat(cols, t.ys), slices.Concat(s, t.target)
	}
	if t.x == t.w {
		cols, s = slices.Concat(cols, t.ws), slices.Concat(s, t.weight)
	}
	x, err := table.Open(t.x, t.reading(cols, s))
	if err != nil {
		return nil, err
	}
	return t.pair(x)
}

// pair puts the rows of targets and weights beside those of x. Where these are in the file of x, its rows hold the
// inputs, then the targets and then the weight.
func (t *tables) pair(x table.Reader) (stream.Source, error) {
	d := t.schema.Cols()
	xb := blas.NewGeneral(blockRows, x.Cols())
	s := &pairs{tables: t, xr: x, xb: xb, X: blas.View(xb, 0, 0, blockRows, d)}
	var err error
	if s.Y, err = s.columns(t.y, t.ys, t.target, d); err == nil && t.w != "" {
		s.W, err = s.columns(t.w, t.ws, t.weight, x.Cols()-1)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// columns is where columns of a file are read to: a part of what is read of x, from the column at on, where the file is
// x, and else memory of its own.
func (s *pairs) columns(name string, cols []int, of schema.Columns, at int) (blas.General, error) {
	if name == s.x {
		return blas.View(s.xb, 0, at, blockRows, len(cols)), nil
	}
	r, err := table.Open(name, s.reading(cols, of))
	if err != nil {
		return blas.General{}, err
	}
	b := otherFile{name, r, blas.NewGeneral(blockRows, len(cols))}
	s.others = append(s.others, b)
	return b.to, nil
}

// pairs is the rows of the files side by side.
type pairs struct {
	*tables
	xr      table.Reader
	xb      blas.General // what xr reads
	others  []otherFile  // files of targets and of weights
	X, Y, W blas.General // parts of xb, or what the others are read to; W is without Data where rows have no weights
	weights []float64
	row     int64
	err     error
}

// otherFile is a file whose rows belong to those of x.
type otherFile struct {
	name string
	r    table.Reader
	to   blas.General
}

func (s *pairs) Close() error {
	err := s.xr.Close()
	for _, o := range s.others {
		err = errors.Join(err, o.r.Close())
	}
	return err
}

// Next reads a block. Rows before a bad one come with the error that names it.
func (s *pairs) Next() (stream.Block, error) {
	if s.err != nil {
		return stream.Block{}, s.err
	}
	var n int
	n, s.err = s.xr.Read(s.xb)
	for _, o := range s.others {
		n = s.readBeside(o, n)
	}
	n = s.present(n)
	b := stream.Block{
		X: blas.View(s.X, 0, 0, n, s.X.Cols), Y: blas.View(s.Y, 0, 0, n, s.Y.Cols), Row: s.row,
		Source: s.x,
	}
	if s.W.Data != nil {
		s.weights = s.weights[:0]
		for i := range n {
			s.weights = append(s.weights, s.W.Data[i*s.W.Stride])
		}
		b.Weights = s.weights
	}
	s.row += int64(n)
	return b, s.err
}

// readBeside reads n rows of another file and returns how many are whole.
func (s *pairs) readBeside(o otherFile, n int) int {
	if n == 0 && s.err != nil {
		if k, err := o.r.Read(blas.View(o.to, 0, 0, 1, o.to.Cols)); errors.Is(s.err, io.EOF) &&
			(k > 0 || !errors.Is(err, io.EOF)) {
			s.err = status.Input("%s has more than the %d rows of %s", o.name, s.row, s.x)
		}
		return 0
	}
	done := 0
	for done < n {
		k, err := o.r.Read(blas.View(o.to, done, 0, n-done, o.to.Cols))
		done += k
		if errors.Is(err, io.EOF) {
			err = status.Input("%s has %d rows, and %s has more", o.name, s.row+int64(done), s.x)
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
			s.err = status.Input("%s: row %d, %s is missing or no finite number: fit without --stream, which fills "+
				"missing inputs, or leave the row out", s.x, s.row+int64(i)+1,
				schema.Label(names, slices.Index(cells, 1)))
			return i
		}
		j := slices.IndexFunc(blas.Row(s.Y, i), func(v float64) bool {
			return math.IsInf(v, 0) || math.IsNaN(v) && s.strict
		})
		if j >= 0 {
			names := s.xr.Names()
			if s.y != s.x {
				names = s.others[0].r.Names()
			} else if names != nil {
				names = names[s.X.Cols:]
			}
			s.err = status.Input("%s: row %d, target %s is missing or no finite number", s.y, s.row+int64(i)+1,
				schema.Label(names, j))
			return i
		}
		if s.W.Data == nil {
			continue
		}
		if w := s.W.Data[i*s.W.Stride]; !(w >= 0) || math.IsInf(w, 1) {
			s.err = status.Input("%s: row %d: the weight is %g: it must be finite and not negative", s.w,
				s.row+int64(i)+1, w)
			return i
		}
	}
	return n
}
