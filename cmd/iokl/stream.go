package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/cmd/internal/status"
	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/internal/base/mpi"
	"github.com/iokl/iokl/internal/base/screen"
	"github.com/iokl/iokl/internal/files/table"
	"github.com/iokl/iokl/schema"
	"github.com/iokl/iokl/stream"
)

// streamFlags are the flags of a fit that reads its data in blocks of rows.
type streamFlags struct {
	on             bool
	checkpointRows int64
	surveyRows     int64
}

func (s *streamFlags) flags(f *pflag.FlagSet) {
	f.BoolVar(&s.on, "stream", false, "")
	f.Int64Var(&s.checkpointRows, "checkpoint-rows", 0, "")
	f.Int64Var(&s.surveyRows, "survey-rows", 0, "")
}

// check refuses flags that exclude each other.
func (s *streamFlags) check(cmd *cobra.Command, d *dataFlags) error {
	switch {
	case !s.on:
		return nil
	case len(d.grams) > 0:
		return errors.New("--stream is for --x: Gram matrices are not read by rows")
	case cmd.Flags().Changed("folds-by"):
		return errors.New("--stream deals rows to folds by their numbers: --folds-by is for data in memory")
	case cmd.Flags().Changed("hide"):
		return errors.New("--stream hides whole rows: --hide is for data in memory")
	case d.classes:
		return errors.New("--classes needs all labels at once: with --stream give a 0/1 column for each class")
	case once(d.x) || once(d.y):
		return errors.New("--stream reads the data more than once: standard input and pipes will not do")
	case d.missing == "mean" && cmd.Flags().Changed("missing"):
		return errors.New("--stream does not fill missing cells")
	case s.checkpointRows < 0 || s.surveyRows < 0:
		return errors.New("--checkpoint-rows and --survey-rows are numbers of rows")
	}
	return nil
}

// route turns streaming on where the tables do not fit into memory and the options
// leave the kernels open; it refuses tables that cannot be streamed then.
func (s *streamFlags) route(cmd *cobra.Command, m *machine, d *dataFlags, opt *iokl.Options) error {
	if s.on || d.x == "" || once(d.x) || once(d.y) {
		return nil
	}
	const (
		copies = 3       // as read, as kernels and solvers see them, and those of a fold
		small  = 1 << 20 // bytes below which tables are never streamed
	)
	bytes := d.tableBytes()
	if bytes < small {
		return nil
	}
	what := fmt.Sprintf("the tables of %s and %s in memory", d.x, cmp.Or(d.y, d.x))
	need := memory.Peak(copies*bytes, memory.Limit())
	err := memory.Check(what, need,
		"use --stream, with kernels that have explicit features (rff:…, nystrom:…, linear, poly)")
	if err == nil || d.classes || opt.Kernels != nil || opt.Lambda != 0 {
		return err
	}
	s.on = true
	if err := s.check(cmd, d); err != nil {
		return err
	}
	if !m.quiet {
		fmt.Fprintf(cmd.ErrOrStderr(), "iokl: %s would take %s, and the limit is %s: rows are read in blocks\n", what,
			memory.Format(need), memory.Format(float64(memory.Limit())))
	}
	return nil
}

// tableBytes is the size in memory of the numbers in the files of inputs and targets, estimated from the file size
// where the number of rows is not known. Files that cannot be opened count 0: reading them reports the error.
func (d *dataFlags) tableBytes() (bytes float64) {
	opt := d.options()
	for _, name := range slices.Compact([]string{d.x, cmp.Or(d.y, d.x)}) {
		r, err := table.Open(name, opt)
		if err != nil {
			continue
		}
		if rows := r.Rows(); rows >= 0 {
			bytes += 8 * float64(rows) * float64(r.Cols())
		} else if info, err := os.Stat(name); err == nil {
			const perCell, packed = 5, 4 // characters of a number, and of a byte in a .gz
			chars := float64(info.Size())
			if strings.HasSuffix(name, ".gz") {
				chars *= packed
			}
			bytes += 8 * chars / perCell
		}
		_ = r.Close()
	}
	return bytes
}

// runRanks runs work on streamed rows in every process of a parallel job. The first process prints and writes. A
// process that fails ends all of them with its message.
func (c *learning) runRanks(folds *foldFlags, work func(*task) error) error {
	rows, err := reading(c.cmd, func() (stream.Rows, error) { return c.d.streamed(&c.opt, c.cost.weights) })
	if err == nil && folds != nil {
		c.opt.CV, err = folds.options(c.cmd, int(rows.Count), nil)
	}
	if err != nil {
		return err
	}
	return onRanks(&c.m, func(world *mpi.World) error {
		rows.SurveyRows, rows.CheckpointRows = c.s.surveyRows, c.s.checkpointRows
		if world.Size() > 1 {
			rows.Ranks = world
		}
		t := c.task(iokl.Data{Rows: &rows}, nil)
		t.silent = world.Rank() > 0
		rows.Progress = func(survey bool, at stream.Progress) error {
			t.p.rows(survey, at, rows.Count)
			return nil
		}
		return work(t)
	})
}

// onRanks runs f in every process of a parallel job, of which the first prints.
func onRanks(m *machine, f func(world *mpi.World) error) error {
	world, err := mpi.Start()
	if err != nil {
		return status.Failure(err)
	}
	if world.Rank() > 0 {
		m.quiet, m.verbose = true, false
	}
	if err := f(world); err != nil {
		if world.Size() > 1 {
			world.Abort(screen.Safe("iokl: "+err.Error()), status.Of(err))
		}
		return errors.Join(err, world.Close())
	}
	return status.Failure(world.Close())
}

// kept says whether the command can continue, from a checkpoint or those of ranks.
func kept(checkpoint string) string {
	_, err := os.Stat(checkpoint)
	ofRanks, _ := filepath.Glob(checkpoint + ".*-of-*")
	if checkpoint == "" || err != nil && ofRanks == nil {
		return "nothing was saved"
	}
	return "the same command goes on from " + checkpoint
}

// rows shows the progress of a pass.
func (p *progress) rows(survey bool, at stream.Progress, count int64) {
	what := "adding up"
	if survey {
		what = "surveying"
	}
	text := fmt.Sprintf("%s %s: %d rows", what, at.Source, at.Rows)
	if count > 0 {
		text += fmt.Sprintf(" of %d", count)
	}
	p.now(text, fmt.Sprintf("  %.0f s", time.Since(p.start).Seconds()), math.NaN(), stillAlive, stillAlive/10)
}

// part is a choice of columns of a file.
type part struct {
	name   string // of the file, "" where there are none
	cols   []int
	schema schema.Columns
	names  []string // nil where the file has none
}

// tables are the files that rows come from, which may be one file.
type tables struct {
	x, y, w part // inputs, targets and weights
	opt     table.Options
	strict  bool // no target may be missing
}

// streamed finds the columns of inputs, targets and weights in the files, and makes them data to stream.
func (d *dataFlags) streamed(opt *iokl.Options, weights string) (rows stream.Rows, err error) {
	if d.x == "" {
		return rows, errors.New("give the inputs by --x")
	}
	if err := d.targetFile(); err != nil {
		return rows, err
	}
	t := &tables{strict: d.missingTargets == "error", opt: d.options()}
	if t.x, rows.Count, err = find(d.x, d.inputColumns(), d.typed(t.opt)); err != nil {
		return rows, work(err)
	}
	if t.y, _, err = find(d.y, d.targetColumns(), t.opt); err != nil {
		return rows, work(err)
	}
	X := &table.Table{Names: t.x.schema.Names(), Data: blas.NewGeneral(0, t.x.schema.Cols()), Schema: t.x.schema}
	opt.InputSchema, opt.InputNames, opt.OutputNames = X.Schema, X.Names, t.y.names
	if opt.Groups, err = readGroups(d.groups, X); err != nil {
		return rows, work(err)
	}
	rows.Name = fmt.Sprintf("%s[%s] %s[%s]", d.x, d.xColumns, d.y, d.yColumns)
	if weights != "" {
		name, c := weights, columns{}
		if !isFile(weights) {
			name, c = d.x, columns{flag: "--weights", list: weights}
		}
		t.w, _, err = find(name, c, t.opt)
		if n := len(t.w.cols); err == nil && n != 1 {
			err = status.Input("--weights %s: it has %d columns: rows of --stream have one weight, and cells have none",
				weights, n)
		}
		rows.Name += " " + weights
	}
	rows.Inputs, rows.Outputs, rows.Open = X.Data.Cols, len(t.y.cols), t.open
	return rows, work(err)
}

// find returns the chosen columns of a file, and the number of its rows.
func find(name string, c columns, opt table.Options) (p part, rows int64, err error) {
	opt.Columns = func(names []string, cols int) (_ []int, err error) {
		p.cols, err = c.index(names, cols)
		return p.cols, err
	}
	r, err := table.Open(name, opt)
	if err != nil {
		return p, 0, err
	}
	p.name, p.names, rows = name, r.Names(), int64(r.Rows())
	if err := r.Close(); err != nil {
		return p, 0, err
	}
	p.schema, err = table.Learn(name, opt)
	return p, rows, err
}

// blockRows is the number of rows read at a time, and blockCells that of numbers at most.
const blockRows, blockCells = 1024, 1 << 22

// open starts to read the rows: each file once, whatever parts it has.
func (t *tables) open() (stream.Source, error) {
	s := &pairs{tables: t}
	rows := max(1, min(blockRows, blockCells/(t.x.schema.Cols()+t.y.schema.Cols()+1)))
	var views []func() blas.General
	for _, p := range []part{t.x, t.y, t.w} {
		k := slices.IndexFunc(s.files, func(f openFile) bool { return f.name == p.name })
		if k < 0 && p.name != "" {
			k, s.files = len(s.files), append(s.files, openFile{part: part{name: p.name}})
		}
		if k < 0 {
			views = append(views, func() blas.General { return blas.General{} })
			continue
		}
		f, at := &s.files[k].part, s.files[k].schema.Cols()
		f.cols, f.schema = append(f.cols, p.cols...), append(f.schema, p.schema...)
		views = append(views, func() blas.General {
			return blas.View(s.files[k].to, 0, at, rows, p.schema.Cols())
		})
	}
	for k := range s.files {
		f, opt := &s.files[k], t.opt
		opt.Columns, opt.Schema = func([]string, int) ([]int, error) { return f.cols, nil }, f.schema
		var err error
		if f.r, err = table.Open(f.name, opt); err != nil {
			return nil, errors.Join(err, s.Close())
		}
		f.to = blas.NewGeneral(rows, f.r.Cols())
	}
	s.X, s.Y, s.W = views[0](), views[1](), views[2]()
	return s, nil
}

// pairs reads the rows of several files side by side.
type pairs struct {
	*tables
	files   []openFile   // that of the inputs first
	X, Y, W blas.General // parts of what the files are read to; W is without Data where rows have no weights
	weights []float64
	row     int64
	err     error
}

// openFile is a file with all the parts that are in it.
type openFile struct {
	part
	r  table.Reader // nil before it is open
	to blas.General
}

func (s *pairs) Close() (err error) {
	for _, f := range s.files {
		if f.r != nil {
			err = errors.Join(err, f.r.Close())
		}
	}
	return err
}

// Next reads a block. Rows before a bad one come with the error that names it.
func (s *pairs) Next() (stream.Block, error) {
	if s.err != nil {
		return stream.Block{}, s.err
	}
	var n int
	n, s.err = s.files[0].r.Read(s.files[0].to)
	for _, o := range s.files[1:] {
		n = s.readBeside(o, n)
	}
	n = s.present(n)
	b := stream.Block{
		X: blas.View(s.X, 0, 0, n, s.X.Cols), Y: blas.View(s.Y, 0, 0, n, s.Y.Cols), Row: s.row,
		Source: s.x.name,
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
func (s *pairs) readBeside(o openFile, n int) int {
	if n == 0 && s.err != nil {
		if k, err := o.r.Read(blas.View(o.to, 0, 0, 1, o.to.Cols)); errors.Is(s.err, io.EOF) &&
			(k > 0 || !errors.Is(err, io.EOF)) {
			s.err = status.Input("%s has more than the %d rows of %s", o.name, s.row, s.x.name)
		}
		return 0
	}
	done := 0
	for done < n {
		k, err := o.r.Read(blas.View(o.to, done, 0, n-done, o.to.Cols))
		done += k
		if errors.Is(err, io.EOF) {
			err = status.Input("%s has %d rows, and %s has more", o.name, s.row+int64(done), s.x.name)
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
			cells, names := s.x.schema.PerSource(count, s.files[0].r.Names())
			s.err = status.Input("%s: row %d, %s is missing or no finite number: fit without --stream, which fills "+
				"missing inputs, or leave the row out", s.x.name, s.row+int64(i)+1,
				schema.Label(names, slices.Index(cells, 1)))
			return i
		}
		j := slices.IndexFunc(blas.Row(s.Y, i), func(v float64) bool {
			return math.IsInf(v, 0) || math.IsNaN(v) && s.strict
		})
		if j >= 0 {
			s.err = status.Input("%s: row %d, target %s is missing or no finite number", s.y.name,
				s.row+int64(i)+1, schema.Label(s.y.names, j))
			return i
		}
		if s.W.Data == nil {
			continue
		}
		if w := s.W.Data[i*s.W.Stride]; !(w >= 0) || math.IsInf(w, 1) {
			s.err = status.Input("%s: row %d: the weight is %g: it must be finite and not negative", s.w.name,
				s.row+int64(i)+1, w)
			return i
		}
	}
	return n
}
