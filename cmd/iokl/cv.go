package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/cmd/internal/results"
	"github.com/iokl/iokl/cmd/internal/status"
	"github.com/iokl/iokl/internal/files/picture"
	"github.com/iokl/iokl/internal/files/table"
)

// foldFlags say what cross-validation tries and how.
type foldFlags struct {
	opt           iokl.CVOptions
	lambdas, taus string
	norms, models []string
	foldGroups    string
}

func (c *foldFlags) flags(f *pflag.FlagSet) {
	o := &c.opt
	f.StringVar(&c.lambdas, "lambdas", "", "")
	f.StringVar(&c.taus, "taus", "", "")
	f.StringArrayVar(&c.norms, "norms", nil, "")
	f.StringSliceVar(&c.models, "models", nil, "")
	o.Folds = 10
	f.Var(&foldCount{&o.Folds, &o.LeaveOneOut}, "folds", "")
	f.IntVar(&o.Repeats, "repeats", 1, "")
	f.StringVar((*string)(&o.Metric), "metric", "mse", "")
	f.BoolVar(&o.TimeOrdered, "time-ordered", false, "")
	f.StringVar(&c.foldGroups, "fold-groups", "", "")
	f.BoolVar(&o.OneSE, "one-se", false, "")
}

// foldCount is a number of folds, or loo.
type foldCount struct {
	n   *int
	loo *bool
}

func (c *foldCount) Type() string { return "int|loo" }

func (c *foldCount) String() string {
	switch {
	case c.n == nil:
		return ""
	case *c.loo:
		return "loo"
	}
	return strconv.Itoa(*c.n)
}

func (c *foldCount) Set(text string) (err error) {
	if *c.loo = text == "loo"; *c.loo {
		return nil
	}
	if *c.n, err = strconv.Atoi(text); err != nil {
		err = fmt.Errorf("%s is neither a number nor loo", text)
	}
	return err
}

// options of the library, for so many rows; fewer than 0 when that is not known. Those that are blank are of no group.
func (c *foldFlags) options(cmd *cobra.Command, rows int, blank []bool) (iokl.CVOptions, error) {
	opt := c.opt
	for _, n := range c.norms {
		opt.Norms = append(opt.Norms, iokl.Norm(n))
	}
	for _, m := range c.models {
		opt.Models = append(opt.Models, iokl.ModelKind(m))
	}
	if (opt.LeaveOneOut || !cmd.Flags().Changed("folds")) && rows >= 0 {
		opt.Folds = 0 // as many as the library takes for these rows
	}
	var err error
	if opt.Lambdas, err = parseFloats("lambdas", c.lambdas); err != nil {
		return opt, err
	}
	if opt.Taus, err = parseFloats("taus", c.taus); err != nil {
		return opt, err
	}
	if slices.Contains(opt.Taus, 0) {
		return opt, errors.New("--taus 0: it must be positive")
	}
	if c.foldGroups != "" {
		opt.Groups, err = readFoldGroups(c.foldGroups, rows, blank)
	}
	return opt, err
}

func readFoldGroups(name string, rows int, blank []bool) ([]int, error) {
	_, records, err := table.ReadText(name, table.Options{})
	if err != nil {
		return nil, work(err)
	}
	if rows >= 0 && len(records) == rows+1 {
		records = records[1:] // a header that looks like a label
	}
	if rows >= 0 && len(records) != rows {
		return nil, status.Input("%s has %d rows, the data have %d", name, len(records), rows)
	}
	labels := make([]string, len(records))
	for i, rec := range records {
		if len(rec) != 1 {
			return nil, status.Input("%s: row %d has %d cells, want one label", name, i+1, len(rec))
		}
		labels[i] = rec[0]
	}
	return numbered(labels, blank), nil
}

func newCVCmd() *cobra.Command {
	l := new(learning)
	var c foldFlags
	cmd := newCommand("cv", func(cmd *cobra.Command) error {
		if cmd.Flags().Changed("lambda") {
			c.lambdas = cmp.Or(c.lambdas, fmt.Sprint(l.opt.Lambda))
		}
		if loss := l.opt.Loss; !cmd.Flags().Changed("metric") && loss != "" && loss != iokl.LossSquared {
			c.opt.Metric = iokl.MetricLoss
		}
		l.d.orLabels = c.opt.Metric == iokl.MetricAccuracy
		return l.run(&c, l.crossValidate)
	})
	l.flags(cmd)
	c.flags(cmd.Flags())
	cmd.Flags().StringVar(&l.plot, "plot", "", "")
	return cmd
}

// rows is the number of rows that were read.
func (d *data) rows() int {
	switch {
	case d.labels != nil:
		return len(d.labels)
	case d.Y != nil:
		return d.Y.Data.Rows
	}
	return 0
}

// seen lists the rows that a fit sees: those that are not blank.
func (d *data) seen() (rows []int) {
	for i := range d.rows() {
		if i >= len(d.blank) || !d.blank[i] {
			rows = append(rows, i)
		}
	}
	return rows
}

// crossValidate compares settings, reports, and fits and saves the best where a file is asked for. Interrupted, it is
// about the settings of data in memory that were compared by then.
func (c *learning) crossValidate(t *task) error {
	ctx, opt := c.cmd.Context(), c.opt
	if c.out != "" && t.d != nil {
		opt.Budget /= 2 // the fit has as much
	}
	r, err := iokl.Compare(ctx, t.Data, opt).Result()
	t.p.end()
	interrupted := ctx.Err() != nil
	switch {
	case r == nil:
		return unfinished(c.cmd, err, " before any setting was tried: "+kept(c.opt.Checkpoint))
	case err != nil && !(interrupted && t.d != nil):
		return unfinished(c.cmd, err, ": "+kept(c.opt.Checkpoint))
	case t.silent:
		return nil
	}
	err = c.report(r, time.Since(t.start).Seconds(), func() (bool, error) { return c.refit(t, r) })
	if err == nil && interrupted && c.out == "" {
		err = status.Failure(fmt.Errorf("interrupted: these are the errors on %d folds", r.Folds))
	}
	return err
}

// report draws and prints what cross-validation found, after fitting the best setting to all data where a file was
// asked for.
func (c *learning) report(r *iokl.CVResult, seconds float64, refit func() (saved bool, err error)) (err error) {
	report := results.CV{
		Metric: r.Metric, Folds: r.Folds, Best: r.Chosen(), Points: r.Points, Constant: r.Constant, Means: r.Means,
		Seconds: seconds,
		Backend: blas.Active().Name(), Threads: blas.Threads(), Seed: c.m.seed, Command: commandLine(c.cmd),
	}
	if c.plot != "" {
		if report.Pictures, err = picture.SaveAll(c.plot, results.CVFigures(r)); err != nil {
			return status.Failure(err)
		}
	}
	var fitErr error
	if c.out != "" {
		var saved bool
		if saved, fitErr = refit(); saved {
			report.Model = c.out
		}
	}
	if c.page != "" {
		if err := results.WritePage(c.page, report.Page(c.page)); err != nil {
			return err
		}
	}
	return errors.Join(fitErr, c.m.print(c.cmd, &report))
}

// refit fits the best setting to all data, saves the model, and says whether it did.
func (c *learning) refit(t *task, r *iokl.CVResult) (saved bool, err error) {
	model, fitErr := r.Fit(c.cmd.Context())
	t.p.end()
	if model == nil {
		return false, c.noModel(fitErr)
	}
	if _, err := c.save(t, model, ""); err != nil {
		return false, err
	}
	return true, outcome(c.cmd, model, fitErr, c.out)
}
