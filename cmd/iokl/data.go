package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/cmd/internal/status"
	_ "github.com/iokl/iokl/cmd/internal/xlsx" // workbooks are tables too
	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/internal/files/table"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/schema"
)

// dataFlags say where the data are.
type dataFlags struct {
	x, y               string
	xColumns, yColumns string
	grams              []string
	groups             string
	header             string
	missing            string
	missingTargets     string
	na                 []string // words for a missing cell
	// columns that are neither inputs nor targets; those of keep are written beside predictions
	drop, keep string
	categories string // how words in inputs are read; "" refuses them
	maxLevels  int
	schema     schema.Columns // of the inputs, where a model has one
	// the columns of a model, where there is one
	inputsOf, targetsOf func(names []string, cols int) ([]int, error)
	blank               []bool // rows whose cells are all missing, whatever they hold
	classes             bool
	orLabels            bool // targets that are not numbers are class labels
}

// tables are the flags of a table of inputs and one of targets.
func (d *dataFlags) tables(f *pflag.FlagSet) {
	f.StringVar(&d.x, "x", "", "")
	f.StringVar(&d.xColumns, "x-columns", "", "")
	f.StringVar(&d.y, "y", "", "")
	f.StringVar(&d.yColumns, "y-columns", "", "")
}

func (d *dataFlags) flags(f *pflag.FlagSet) {
	d.tables(f)
	f.StringVar(&d.drop, "drop", "", "")
	f.StringVar(&d.keep, "keep", "", "")
	f.StringArrayVar(&d.grams, "gram", nil, "")
	f.StringVar(&d.groups, "groups", "", "")
	f.BoolVar(&d.classes, "classes", false, "")
	f.StringVar(&d.categories, "categories", "auto", "")
	f.StringVar(&d.missingTargets, "missing-targets", "use", "")
	f.IntVar(&d.maxLevels, "max-levels", table.MaxLevels, "")
	d.reading(f)
}

// reading adds the flags about how files are read.
func (d *dataFlags) reading(f *pflag.FlagSet) {
	f.StringVar(&d.header, "header", "auto", "")
	f.StringArrayVar(&d.na, "na", nil, "")
	f.StringVar(&d.missing, "missing", "mean", "")
}

func (d *dataFlags) options() table.Options {
	headers := map[string]table.Header{"auto": table.HeaderAuto, "yes": table.HeaderYes, "no": table.HeaderNo}
	opt := table.Options{NA: d.na, Header: headers[d.header]}
	if d.blank != nil {
		opt.Blank = func(row int) bool { return row < len(d.blank) && d.blank[row] }
	}
	return opt
}

// typed are the options for a file of inputs, whose columns may hold words.
func (d *dataFlags) typed(opt table.Options) table.Options {
	if opt.Schema = d.schema; d.categories == "auto" {
		opt.Types, opt.MaxLevels = true, d.maxLevels
	}
	return opt
}

// data is what a fit learns from.
type data struct {
	X, Y   *table.Table // X is nil with Gram matrices, Y with labels of a file of text
	grams  []mat.Matrix
	labels []string
	groups []kernel.Group
	blank  []bool // as in dataFlags
}

// bytes is the memory that the data take.
func (d *data) bytes() float64 {
	cells := 0
	for _, t := range []*table.Table{d.X, d.Y} {
		if t != nil {
			cells += t.Data.Rows * t.Data.Cols
		}
	}
	for _, g := range d.grams {
		rows, cols := g.Dims()
		cells += rows * cols
	}
	return 8 * float64(cells)
}

// targetFile sets the file of the targets: by default that of the inputs.
func (d *dataFlags) targetFile() error {
	if d.y == "" && d.yColumns != "" {
		d.y = d.x
	}
	if d.y == "" {
		return errors.New("give the targets by --y, or --y-columns of the file of --x")
	}
	return nil
}

// load reads everything the flags ask for.
func (d *dataFlags) load(cmd *cobra.Command) (*data, error) {
	return reading(cmd, func() (*data, error) { return d.read(cmd) })
}

func (d *dataFlags) read(cmd *cobra.Command) (*data, error) {
	if (d.x == "") == (len(d.grams) == 0) {
		return nil, fmt.Errorf("give the inputs by --x, or Gram matrices by --gram")
	}
	if err := d.targetFile(); err != nil {
		return nil, err
	}
	if d.x == "-" && d.y == "-" && !d.oneFile() {
		return nil, errStdinTwice
	}
	opt := d.options()
	var err error
	in := &stdin{r: cmd.InOrStdin(), again: d.oneFile() || d.orLabels}
	out := &data{blank: d.blank}
	if d.x != "" {
		choose := d.inputColumns().index
		if d.inputsOf != nil {
			choose = d.inputsOf
		}
		if out.X, err = readTable(d.x, choose, d.typed(opt), in); err != nil {
			return nil, work(err)
		}
		warn(cmd.ErrOrStderr(), out.X.Unseen)
		if out.groups, err = readGroups(d.groups, out.X); err != nil {
			return nil, work(err)
		}
		defer memory.Reserve(out.bytes())() // while targets are read
	}
	for _, name := range d.grams {
		if err := out.readGrams(name, opt, in); err != nil {
			return nil, work(err)
		}
	}
	if err := d.targets(out, opt, in); err != nil {
		return nil, work(err)
	}
	if out.X != nil && out.Y != nil {
		out.Y.Extend(out.X.Data.Rows)
		out.X.Extend(out.Y.Data.Rows)
	}
	warn(cmd.ErrOrStderr(), classNumbers(out.labels))
	if out.Y != nil {
		for _, note := range out.Y.Schema.Notes() {
			warn(cmd.ErrOrStderr(), []string{"targets: " + note})
		}
	}
	if d.orLabels && out.labels == nil && out.Y.Data.Cols == 1 {
		out.labels = numberLabels(out.Y)
	}
	return out, nil
}

func (d *data) readGrams(name string, opt table.Options, in *stdin) (err error) {
	if opt.Stdin, err = in.take(name); err != nil {
		return err
	}
	stack, err := table.ReadStack(name, opt)
	for _, g := range stack {
		d.grams = append(d.grams, blas.Dense(g))
	}
	return err
}

// targets reads Y, or the labels.
func (d *dataFlags) targets(out *data, opt table.Options, in *stdin) (err error) {
	if d.classes {
		return d.classLabels(out, opt, in)
	}
	choose := d.targetColumns().index
	if d.targetsOf != nil {
		choose = d.targetsOf
	}
	out.Y, err = readTable(d.y, choose, opt, in)
	switch {
	case err == nil:
	case !errors.Is(err, table.ErrText):
		return err
	case d.orLabels:
		return d.classLabels(out, opt, in)
	default:
		return fmt.Errorf("%w; class labels need --classes", err)
	}
	if d.missingTargets == "error" {
		return observed(d.y, out.Y, d.blank, "--missing-targets error refuses missing targets")
	}
	return nil
}

// observed refuses a table with a missing cell in a row that is not blank, for the reason why.
func observed(file string, t *table.Table, blank []bool, why string) error {
	for i := range t.Data.Rows {
		if i < len(blank) && blank[i] {
			continue
		}
		for j, v := range blas.Row(t.Data, i) {
			if math.IsNaN(v) {
				return status.Input("%s: row %d, %s is empty, and %s", file, i+1, t.Schema.Label(j), why)
			}
		}
	}
	return nil
}

// classLabels reads class labels to learn from, and refuses those of one class.
func (d *dataFlags) classLabels(out *data, opt table.Options, in *stdin) (err error) {
	if out.labels, err = d.readLabels(opt, in); err != nil {
		return err
	}
	if out.X != nil {
		if out.labels = d.withoutHeader(out.labels, out.X.Data.Rows); len(out.labels) < out.X.Data.Rows {
			return status.Input("X has %d rows and %s %d labels: blank lines at its end count for none, so write a "+
				"missing label there as \"\"", out.X.Data.Rows, d.y, len(out.labels))
		}
	}
	var first string
	for i, label := range out.labels {
		if i < len(d.blank) && d.blank[i] {
			out.labels[i] = ""
			continue
		}
		if label == "" && d.missingTargets == "error" {
			return status.Input("%s: row %d has no class label", d.y, i+1)
		}
		first = cmp.Or(first, label)
	}
	several := slices.ContainsFunc(out.labels, func(label string) bool { return label != "" && label != first })
	if !several && d.targetsOf == nil {
		return status.Input("%s: every label is %q: there is nothing to tell apart", d.y, first)
	}
	return nil
}

// columns are the flags that choose columns of a file.
type columns struct {
	flag, list string
	but, drop  string // columns that are left out: targets in the same file, and those of --drop
	keep       string // and of --keep
}

// oneFile reports whether inputs and targets are columns of the same file.
func (d *dataFlags) oneFile() bool { return d.x != "" && d.x == d.y && d.yColumns != "" }

func (d *dataFlags) inputColumns() columns {
	c := columns{flag: "--x-columns", list: d.xColumns, drop: d.drop, keep: d.keep}
	if d.oneFile() {
		c.but = d.yColumns
	}
	return c
}

func (d *dataFlags) targetColumns() columns { return columns{flag: "--y-columns", list: d.yColumns} }

// index lists the chosen columns; where none are chosen, all but those that are left out.
func (c columns) index(names []string, cols int) (idx []int, err error) {
	var targets, out []int
	for _, left := range []struct {
		list, flag string
		to         *[]int
	}{{c.but, "--y-columns", &targets}, {c.drop, "--drop", &out}, {c.keep, "--keep", &out}} {
		if left.list == "" {
			continue
		}
		found, err := selectColumns(left.list, left.flag, names, cols)
		if err != nil {
			return nil, err
		}
		*left.to = append(*left.to, found...)
	}
	if c.list == "" {
		for j := range cols {
			if !slices.Contains(targets, j) && !slices.Contains(out, j) {
				idx = append(idx, j)
			}
		}
		return idx, nil
	}
	if idx, err = selectColumns(c.list, c.flag, names, cols); err != nil {
		return nil, err
	}
	idx = slices.DeleteFunc(idx, func(j int) bool { return slices.Contains(out, j) })
	for _, j := range idx {
		if slices.Contains(targets, j) {
			return nil, status.Input("%s: %s is a target too", c.flag, schema.Label(names, j))
		}
	}
	return idx, nil
}

// readTable reads the columns asked for.
func readTable(
	name string, choose func([]string, int) ([]int, error), opt table.Options, in *stdin,
) (*table.Table, error) {
	var err error
	if opt.Stdin, err = in.take(name); err != nil {
		return nil, err
	}
	opt.Columns = choose
	return table.Read(name, opt)
}

// records reads a file of text whose rows have so many cells; want names them in the error.
func records(name string, cells int, want string) ([][]string, error) {
	_, all, err := table.ReadText(name, table.Options{})
	for i, rec := range all {
		if err == nil && len(rec) != cells {
			err = status.Input("%s: row %d has %d cells, want %s", name, i+1, len(rec), want)
		}
	}
	return all, err
}

// readGroups reads named sets of columns from a file of column,group.
func readGroups(name string, X *table.Table) ([]kernel.Group, error) {
	if name == "" {
		return nil, nil
	}
	all, err := records(name, 2, "column,group")
	if err != nil {
		return nil, err
	}
	var groups []kernel.Group
	for i, rec := range all {
		idx := X.Schema.At(rec[0])
		var err error
		if idx == nil {
			idx, err = selectColumns(rec[0], name, X.Names, X.Data.Cols)
		}
		if err != nil {
			if i == 0 {
				continue // a header
			}
			return nil, err
		}
		k := slices.IndexFunc(groups, func(g kernel.Group) bool { return g.Name == rec[1] })
		if k < 0 {
			k, groups = len(groups), append(groups, kernel.Group{Name: rec[1]})
		}
		groups[k].Columns = append(groups[k].Columns, idx...)
	}
	return groups, nil
}

// readLabels reads one column of class labels, as text where the file has text.
func (d *dataFlags) readLabels(opt table.Options, in *stdin) ([]string, error) {
	var err error
	if opt.Stdin, err = in.take(d.y); err != nil {
		return nil, err
	}
	opt.Columns, opt.Types = d.labelColumn, d.oneFile()
	_, records, err := table.ReadText(d.y, opt)
	if errors.Is(err, table.ErrNotText) {
		opt.Types = false
		t, err := readTable(d.y, d.labelColumn, opt, in)
		if err != nil {
			return nil, err
		}
		return numberLabels(t), nil
	}
	labels := make([]string, len(records))
	for i, rec := range records {
		labels[i] = rec[0]
	}
	return labels, err
}

// labelColumn is the one column of labels.
func (d *dataFlags) labelColumn(names []string, cols int) ([]int, error) {
	idx, err := d.targetColumns().index(names, cols)
	switch {
	case err != nil || len(idx) == 1:
		return idx, err
	case d.yColumns != "":
		return nil, status.Input("--y-columns %s: class labels are one column", d.yColumns)
	}
	return nil, status.Input("%s has %d columns, and class labels are one: choose it by --y-columns", d.y, len(idx))
}

// withoutHeader drops the first label where there is one more than rows: it is the name of the column, which cannot be
// told from labels by its text.
func (d *dataFlags) withoutHeader(labels []string, rows int) []string {
	if d.header == "auto" && len(labels) == rows+1 {
		return labels[1:]
	}
	return labels
}

// numberLabels formats the numbers of a table of one column as class labels, a missing one as "".
func numberLabels(t *table.Table) []string {
	labels := make([]string, t.Data.Rows)
	for i, v := range t.Data.Data {
		if !math.IsNaN(v) {
			labels[i] = strconv.FormatFloat(v, 'g', -1, 64)
		}
	}
	return labels
}
