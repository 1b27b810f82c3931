// This file has the flags of streamed data, reads the rows of two files side by side, and fits to them.

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
	"github.com/iokl/iokl/internal/memory"
	"github.com/iokl/iokl/internal/mpi"
	"github.com/iokl/iokl/internal/schema"
	"github.com/iokl/iokl/internal/table"
	"github.com/iokl/iokl/stream"
)

// streamFlags are those of a fit that reads its data in blocks of rows.
type streamFlags struct {
	on             bool
	checkpoint     string
	checkpointRows int64
	surveyRows     int64
}

func (s *streamFlags) flags(f *pflag.FlagSet, checkpoint string) {
	f.BoolVar(&s.on, "stream", false, "read the data in blocks of rows, for data larger than memory; kernels need explicit features (rff:…, nystrom:…, linear, poly)")
	f.StringVar(&s.checkpoint, "checkpoint", "", checkpoint)
	f.Int64Var(&s.checkpointRows, "checkpoint-rows", 0, "with --stream: rows between two writes of it (default: 100 for each feature)")
	f.Int64Var(&s.surveyRows, "survey-rows", 0, "with --stream: leading rows that scales and widths are taken from (default: all, read once more)")
}

// check refuses flags that do not go together.
func (s *streamFlags) check(cmd *cobra.Command, d *dataFlags) error {
	if !s.on {
		for _, name := range []string{"checkpoint-rows", "survey-rows"} {
			if cmd.Flags().Changed(name) {
				return fmt.Errorf("--%s is for --stream", name)
			}
		}
		return nil
	}
	switch {
	case len(d.grams) > 0:
		return errors.New("--stream is for --x: Gram matrices are not read by rows")
	case cmd.Flags().Changed("folds-by"):
		return errors.New("--stream deals rows to folds by their numbers: --folds-by is for data in memory")
	case d.classes:
		return errors.New("--classes needs all labels at once: with --stream give a 0/1 column for each class")
	case d.x == "-" || d.y == "-":
		return errors.New("--stream reads the data more than once: standard input will not do")
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
	if s.on || d.x == "" || d.x == "-" || d.y == "-" {
		return nil
	}
	const (
		copies = 3       // as read, as kernels and solvers see them, and those of a fold
		small  = 1 << 20 // tables that are not worth streaming
	)
	bytes := d.tableBytes()
	if bytes < small {
		return nil
	}
	what := fmt.Sprintf("the tables of %s and %s in memory", d.x, cmp.Or(d.y, d.x))
	need := memory.Peak(copies*bytes, memory.Limit())
	err := memory.Check(what, need, "use --stream, with kernels that have explicit features (rff:…, nystrom:…, linear, poly)")
	if err == nil || d.classes || opt.Kernels != nil || opt.Lambda != 0 {
		return err
	}
	s.on = true
	if err := s.check(cmd, d); err != nil {
		return err
	}
	if !m.quiet {
		fmt.Fprintf(cmd.ErrOrStderr(), "iokl: %s would take %s, and the limit is %s: rows are read in blocks\n", what, memory.Format(need), memory.Format(float64(memory.Limit())))
	}
	return nil
}

// tableBytes is the size of the numbers in the files of inputs and targets; it is estimated where a
// file does not tell how many there are. Files that cannot be opened count nothing: reading them says why.
func (d *dataFlags) tableBytes() (bytes float64) {
	opt, err := d.options()
	if err != nil {
		return 0
	}
	for _, name := range slices.Compact([]string{d.x, cmp.Or(d.y, d.x)}) {
		r, err := table.Open(name, opt)
		if err != nil {
			continue
		}
		if rows := r.Rows(); rows >= 0 {
			bytes += 8 * float64(rows) * float64(r.Cols())
		} else if info, err := os.Stat(name); err == nil {
			const perCell, packed = 5, 4 // characters of a number, and those of one byte in a .gz
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

// tables is the pair of files, or the one file, that rows come from.
type tables struct {
	x, y   string
	xs, ys []int          // columns
	schema schema.Columns // of those of x
	opt    table.Options
	strict bool // no target may be missing
}

// streamed finds the columns in the files and makes them data to stream.
func (d *dataFlags) streamed(cmd *cobra.Command, opt *iokl.Options) (iokl.Rows, error) {
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
		cols, s = slices.Concat(t.xs, t.ys), slices.Concat(s, schema.Numbers(nil, len(t.ys)))
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
	if s.yr, err = table.Open(t.y, t.reading(t.ys, nil)); err != nil {
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
	b := stream.Block{X: blas.View(s.X, 0, 0, n, s.X.Cols), Y: blas.View(s.Y, 0, 0, n, s.Y.Cols), Row: s.row, Source: s.x}
	s.row += int64(n)
	return b, s.err
}

// readTargets reads the targets of n rows and returns how many are whole.
func (s *pairs) readTargets(n int) int {
	if n == 0 && s.err != nil {
		if k, err := s.yr.Read(blas.View(s.Y, 0, 0, 1, s.Y.Cols)); errors.Is(s.err, io.EOF) && (k > 0 || !errors.Is(err, io.EOF)) {
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
		for _, part := range []struct {
			file, what string
			row        []float64
		}{{s.x, "input", blas.Row(s.X, i)}, {s.y, "target", blas.Row(s.Y, i)}} {
			for j, v := range part.row {
				if math.IsInf(v, 0) || math.IsNaN(v) && (part.what == "input" || s.strict) {
					s.err = inputError("%s: row %d, %s %d is missing or no finite number: fit without --stream, which fills missing inputs, or leave the row out", part.file, s.row+int64(i)+1, part.what, j+1)
					return i
				}
			}
		}
	}
	return n
}

// onRanks runs f in every process of a parallel job. The first of them prints and
// writes; one that fails ends all, with its message.
func onRanks(m *machine, f func(m *machine, world *mpi.World) error) error {
	world, err := mpi.Start()
	if err != nil {
		return failure{err}
	}
	if world.Rank() > 0 {
		quiet := *m
		quiet.quiet, quiet.verbose = true, false
		m = &quiet
	}
	if err := f(m, world); err != nil {
		if world.Size() > 1 {
			status := exitFailed
			if isInput(err) {
				status = exitUsage
			}
			world.Abort("iokl: "+err.Error(), status)
		}
		return errors.Join(err, world.Close())
	}
	if err := world.Close(); err != nil {
		return failure{err}
	}
	return nil
}

// options of the library for one of the ranks.
func (s *streamFlags) options(opt iokl.Options, data iokl.Rows, p *progress, world *mpi.World) iokl.StreamOptions {
	opt.Trace, opt.Notify, opt.Watch, opt.Checkpoint = p.step, p.line, p.choosing, s.checkpoint
	so := iokl.StreamOptions{
		Options: opt, SurveyRows: s.surveyRows, CheckpointRows: s.checkpointRows,
		Progress: func(survey bool, at stream.Progress) error { p.rows(survey, at, data.Count); return nil },
	}
	if world.Size() > 1 {
		so.Ranks = world
	}
	return so
}

// fitStream fits to streamed data, whose rows the ranks share.
func fitStream(cmd *cobra.Command, m *machine, data iokl.Rows, opt iokl.Options, s *streamFlags, out, page string, world *mpi.World) error {
	p := newProgress(cmd.ErrOrStderr(), m, opt.Tol)
	start := time.Now()
	model, fitErr := iokl.FitStream(cmd.Context(), data, s.options(opt, data, p, world))
	p.end()
	if model == nil {
		if cmd.Context().Err() != nil {
			return failure{fmt.Errorf("interrupted before the fit had a first model: %s", kept(s.checkpoint))}
		}
		return work(fitErr)
	}
	if world.Rank() > 0 {
		return nil
	}
	seconds := time.Since(start).Seconds()
	warn(cmd.ErrOrStderr(), m, model.Warnings())
	if err := noteOrigin(cmd, model, nil); err != nil {
		return work(err)
	}
	if err := keep(model, out, page); err != nil {
		return err
	}
	if err := reportFit(cmd.OutOrStdout(), m, model, seconds, out); err != nil {
		return err
	}
	return outcome(cmd, model, fitErr, out)
}

// cvStream cross-validates on streamed data, whose rows and folds the ranks share,
// and fits the best setting to the same sums.
func cvStream(cmd *cobra.Command, m *machine, data iokl.Rows, opt iokl.Options, s *streamFlags, to destinations, world *mpi.World) error {
	p := newProgress(cmd.ErrOrStderr(), m, opt.Tol)
	start := time.Now()
	r, err := iokl.CrossValidateStream(cmd.Context(), data, s.options(opt, data, p, world))
	p.end()
	if err != nil {
		if cmd.Context().Err() != nil {
			return failure{fmt.Errorf("interrupted: %s", kept(s.checkpoint))}
		}
		return work(err)
	}
	if world.Rank() > 0 {
		return nil
	}
	refit := func() (bool, error) {
		model, err := r.Fit(cmd.Context())
		return keepModel(cmd, m, model, err, to.out, p, nil)
	}
	return reportCV(cmd, m, &r.CVResult, time.Since(start).Seconds(), to, refit)
}

// kept says what can be gone on from, if there is a checkpoint already, or those of ranks.
func kept(checkpoint string) string {
	_, err := os.Stat(checkpoint)
	ofRanks, _ := filepath.Glob(checkpoint + ".*-of-*")
	if checkpoint == "" || err != nil && ofRanks == nil {
		return "nothing was saved"
	}
	return "the same command goes on from " + checkpoint
}

// rows shows where a pass is.
func (p *progress) rows(survey bool, at stream.Progress, count int64) {
	if !p.bar && !p.lines || time.Since(p.last) < 200*time.Millisecond {
		return
	}
	what := "adding up"
	if survey {
		what = "surveying"
	}
	text := fmt.Sprintf("%s %s: %d rows", what, at.Source, at.Rows)
	if count > 0 {
		text += fmt.Sprintf(" of %d", count)
	}
	if seconds := time.Since(p.start).Seconds(); seconds > 0 {
		text += fmt.Sprintf("  %.0f s", seconds)
	}
	if p.bar {
		p.draw(text)
		return
	}
	fmt.Fprintln(p.w, text)
	p.last = time.Now().Add(2 * time.Second)
}
