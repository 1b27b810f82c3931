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
)

// foldFlags are the settings to compare, and how.
type foldFlags struct {
	opt           iokl.CVOptions
	folds         string
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
	f.StringVar(&c.folds, "folds", strconv.Itoa(o.Folds), "")
	f.IntVar(&o.Repeats, "repeats", 1, "")
	f.StringVar((*string)(&o.Metric), "metric", "mse", "")
	f.BoolVar(&o.TimeOrdered, "time-ordered", false, "")
	f.StringVar(&c.foldGroups, "fold-groups", "", "")
	f.BoolVar(&o.OneSE, "one-se", false, "")
}

// count reads the number of folds, or loo.
func (c *foldFlags) count() (err error) {
	if c.opt.LeaveOneOut = c.folds == "loo"; c.opt.LeaveOneOut {
		return nil
	}
	if c.opt.Folds, err = strconv.Atoi(c.folds); err != nil {
		err = fmt.Errorf("--folds %s is neither a number nor loo", c.folds)
	}
	return err
}

// options are the options of the library for so many rows, fewer than 0 where that is not known. Blank rows have no
// group.
func (c *foldFlags) options(cmd *cobra.Command, rows int, blank []bool) (iokl.CVOptions, error) {
	opt := c.opt
	for _, n := range c.norms {
		opt.Norms = append(opt.Norms, iokl.Norm(n))
	}
	for _, m := range c.models {
		opt.Models = append(opt.Models, iokl.ModelKind(m))
	}
	if (opt.LeaveOneOut || !cmd.Flags().Changed("folds")) && rows >= 0 {
		opt.Folds = 0 // the default of the library for these rows
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
	all, err := records(name, 1, "one label")
	if err != nil {
		return nil, work(err)
	}
	if rows >= 0 && len(all) == rows+1 {
		all = all[1:] // a header that looks like a label
	}
	if rows >= 0 && len(all) != rows {
		return nil, status.Input("%s has %d rows, the data have %d", name, len(all), rows)
	}
	return numbered(slices.Concat(all...), blank), nil
}

func newCVCmd() *cobra.Command {
	l := new(learning)
	c := foldFlags{opt: iokl.CVOptions{Folds: 10}}
	cmd := newCommand("cv", func(cmd *cobra.Command) error {
		if err := c.count(); err != nil {
			return err
		}
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

// seen lists the rows that are not blank, which a fit learns from.
func (d *data) seen() (rows []int) {
	for i := range d.rows() {
		if i >= len(d.blank) || !d.blank[i] {
			rows = append(rows, i)
		}
	}
	return rows
}

// crossValidate compares settings, reports, and, with --out, fits the best setting and saves the model. After an
// interruption it reports the folds done so far, for data in memory.
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
