package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/cmd/internal/cli"
	"github.com/iokl/iokl/cmd/internal/results"
	"github.com/iokl/iokl/cmd/internal/status"
	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/sylvester"
)

// learning holds the flags of the commands fit and cv.
type learning struct {
	cmd             *cobra.Command
	m               machine
	d               dataFlags
	s               streamFlags
	out, plot, page string       // files and a folder to write to; "" where that is not asked for
	opt             iokl.Options // from the flags, completed from the data
	certify         string
	float32         bool
	cost            weightFlags
	foldsBy, hide   string
}

// task is the data that a command learns from, and its progress.
type task struct {
	iokl.Data
	d      *data // in memory; nil where rows are streamed
	silent bool  // on ranks that neither print nor write
	p      *progress
	start  time.Time
}

func (c *learning) flags(cmd *cobra.Command) {
	c.cmd = cmd
	f := cmd.Flags()
	c.d.flags(f)
	o := &c.opt
	f.StringArrayVar(&o.Kernels, "kernel", nil, "")
	f.Float64Var(&o.Lambda, "lambda", 0, "")
	f.Float64Var(&o.Tau, "tau", 0, "")
	f.StringVar((*string)(&o.Norm), "norm", "", "")
	f.StringVar((*string)(&o.Learn), "learn", "", "")
	f.StringVar((*string)(&o.Model), "model", "", "")
	f.StringVar(&c.certify, "certify", "", "")
	f.StringVar(&c.cost.weights, "weights", "", "")
	f.StringVar(&c.cost.noise, "noise", "", "")
	f.StringVar(&c.cost.axis, "output-axis", "", "")
	f.StringVar((*string)(&o.Loss), "loss", "", "")
	f.StringVar((*string)(&o.Standardize), "standardize", "", "")
	f.StringVar(&o.Solver, "solver", "reduced", "")
	f.StringVar(&o.Sylvester, "sylvester", "auto", "solver of the linear systems: "+strings.Join(sylvester.Names(),
		", "))
	f.Float64Var(&o.Tol, "tol", 0, "")
	f.IntVar(&o.MaxOuter, "max-outer", 0, "")
	f.DurationVar((*time.Duration)(&o.Budget), "budget", 0, "")
	f.StringVar(&c.foldsBy, "folds-by", "", "")
	f.StringVar(&c.hide, "hide", "", "")
	f.StringVar(&o.Checkpoint, "checkpoint", "", "")
	f.BoolVar(&c.float32, "float32", false, "")
	c.s.flags(f)
	c.m.flags(f)
	f.StringVar(&c.out, "out", "", "")
	f.StringVar(&c.page, "report", "", "")
}

// run reads the data and calls work with them, on every rank where rows are streamed. folds are the flags of cv, nil
// for a fit.
func (c *learning) run(folds *foldFlags, work func(*task) error) error {
	if err := c.begin(); err != nil {
		return err
	}
	if c.s.on {
		return c.runRanks(folds, work)
	}
	d, err := c.load()
	if err == nil && folds != nil {
		c.opt.CV, err = folds.options(c.cmd, d.rows(), d.blank)
	}
	if err == nil {
		err = c.deal(&c.opt.CV, d)
	}
	if err != nil {
		return err
	}
	defer memory.Reserve(d.bytes())()
	return work(c.task(d.source(), d))
}

// task starts the display of progress.
func (c *learning) task(source iokl.Data, d *data) *task {
	p := newProgress(c.cmd.ErrOrStderr(), &c.m, c.opt.Tol)
	c.opt.Trace, c.opt.Notify, c.opt.Watch = p.step, p.line, p.choosing
	return &task{Data: source, d: d, p: p, start: time.Now()}
}

// begin completes the options from the flags, and refuses flags that exclude each other.
func (c *learning) begin() error {
	d, opt := &c.d, &c.opt
	if _, err := c.m.apply(); err != nil {
		return err
	}
	opt.Missing, opt.MissingTargets = iokl.Missing(d.missing), iokl.Missing(d.missingTargets)
	opt.Seed, opt.Global = c.m.seed, c.certify != ""
	if c.float32 {
		opt.Precision = blas.Float32
	}
	if len(d.grams) > 0 && len(opt.Kernels) > 0 {
		return errors.New("--kernel makes kernels of --x: with --gram leave it out")
	}
	if err := c.s.check(c.cmd, d); err != nil {
		return err
	}
	if err := cli.CheckOutputs(c.cmd, "", "out", "report", "checkpoint", "plot"); err != nil {
		return err
	}
	if err := c.s.route(c.cmd, &c.m, d, opt); err != nil {
		return err
	}
	return c.cost.begin(d, c.s.on, opt)
}

// load reads data into memory, and completes the options from them.
func (c *learning) load() (*data, error) {
	if err := c.cost.readWeights(c.cmd, &c.d, &c.opt); err != nil {
		return nil, err
	}
	d, err := c.d.load(c.cmd)
	if err != nil {
		return nil, err
	}
	if c.opt.Groups = d.groups; d.X != nil {
		c.opt.InputSchema, c.opt.InputNames = d.X.Schema, d.X.Names
	}
	if d.Y != nil && d.labels == nil {
		c.opt.OutputNames = d.Y.Names
	}
	return d, c.cost.read(c.cmd, &c.d, &c.opt)
}

// deal sets how rows are split into folds.
func (c *learning) deal(cv *iokl.CVOptions, d *data) error {
	if c.hide == "cells" && d.labels != nil {
		return errors.New("--hide cells: a class label is one cell: hide rows")
	}
	cv.Hide = iokl.Hidden(c.hide)
	if c.foldsBy == "" {
		return nil
	}
	if cv.Groups != nil || cv.TimeOrdered {
		return errors.New("--folds-by goes with neither --fold-groups nor --time-ordered")
	}
	switch c.foldsBy {
	case "shuffle", "blocks":
		cv.FoldsBy = iokl.Dealing(c.foldsBy)
		return nil
	case "time":
		cv.TimeOrdered = true
		return nil
	}
	if d.X == nil {
		return status.Input("--folds-by %s: there are no columns without --x", c.foldsBy)
	}
	cols := d.X.Schema.At(c.foldsBy)
	if cols == nil {
		var err error
		if cols, err = selectColumns(c.foldsBy, "--folds-by", d.X.Names, d.X.Data.Cols); err != nil {
			return err
		}
	}
	keys := make([]string, d.X.Data.Rows)
	for i := range keys {
		for _, j := range cols {
			keys[i] += fmt.Sprintln(blas.Row(d.X.Data, i)[j])
		}
	}
	cv.Groups = numbered(keys, d.blank)
	return nil
}

// source is the data in the form that the library takes.
func (d *data) source() iokl.Data {
	s := iokl.Data{Grams: d.grams, Labels: d.labels}
	if d.X != nil {
		s.X = blas.Dense(d.X.Data)
	}
	if d.Y != nil {
		s.Y = blas.Dense(d.Y.Data)
	}
	return s
}

func newFitCmd() *cobra.Command {
	c := new(learning)
	cmd := newCommand("fit", func(cmd *cobra.Command) error {
		folds := &c.opt.IntervalFolds
		switch {
		case *folds < 0 || *folds == 1:
			return fmt.Errorf("--interval-folds %d: at least 2 are needed, or 0 for none", *folds)
		case *folds == 0 && cmd.Flags().Changed("interval-folds"):
			*folds = -1
		}
		return c.run(nil, c.fit)
	})
	c.flags(cmd)
	cmd.Flags().IntVar(&c.opt.IntervalFolds, "interval-folds", 0, "")
	cmd.Flags().Bool("compact", false, "")
	return cmd
}

// noteOrigin stores in the model the command that made it, its held-out errors, and the effects of the inputs on d,
// which is nil for data that are not in memory.
func (c *learning) noteOrigin(ctx context.Context, model *iokl.Model, d *data, held *iokl.HeldOut) error {
	o := results.Origin{Command: commandLine(c.cmd), Keep: c.d.keep, Weights: c.cost.columns()}
	W := c.opt.Weights
	if d == nil || d.X == nil {
		return results.Note(ctx, model, o, nil, nil, nil, held)
	}
	X, Y := d.X.Data, d.source().Y
	if d.labels != nil {
		Y, _ = iokl.OneHot(d.labels)
	}
	if rows := d.seen(); len(rows) < X.Rows {
		X, Y = blas.TakeRows(X, rows), blas.Dense(blas.TakeRows(blas.Raw(Y), rows))
		W = blas.Dense(blas.TakeRows(blas.Raw(W), rows))
	}
	return results.Note(ctx, model, o, blas.Dense(X), Y, W, held)
}

// keep saves the model, compact where that is asked for, and writes the page about it, where these have names.
func keep(cmd *cobra.Command, model *iokl.Model, out, page string) error {
	if out != "" {
		file := model
		if compact, err := cmd.Flags().GetBool("compact"); err == nil && compact {
			file = model.Compact()
		}
		if err := file.Save(out); err != nil {
			return status.Failure(err)
		}
	}
	if page == "" {
		return nil
	}
	s, err := results.ModelSubject(cmp.Or(out, "the model"), model)
	if err != nil {
		return err
	}
	return results.WritePage(page, s)
}

// fit fits, saves, reports.
func (c *learning) fit(t *task) error {
	if t.d != nil {
		warn(c.cmd.ErrOrStderr(), t.d.giveaways())
	}
	model, fitErr := iokl.Start(c.cmd.Context(), t.Data, c.opt).Result()
	t.p.end()
	if model == nil {
		return c.noModel(fitErr)
	}
	seconds := time.Since(t.start).Seconds()
	if t.silent {
		return nil
	}
	held, err := c.save(t, model, c.page)
	if err != nil {
		return err
	}
	if err := c.m.print(c.cmd, results.NewFit(model, seconds, c.out)); err != nil {
		return err
	}
	warn(c.cmd.ErrOrStderr(), results.HeldOutWarnings(model, held))
	// The last line is about the error on rows that the model has not learned from.
	if !c.m.quiet && c.cmd.Context().Err() == nil {
		fmt.Fprintln(c.cmd.ErrOrStderr(), "iokl:", results.HeldOutLine(model, held, seconds))
	}
	return outcome(c.cmd, model, fitErr, c.out)
}

// save measures errors on held-out rows, notes them in the model, and writes it and the page about it, where these have
// names. A budget for data in memory ends the measurement, too.
func (c *learning) save(t *task, model *iokl.Model, page string) (*iokl.HeldOut, error) {
	ctx, budget := c.cmd.Context(), time.Duration(c.opt.Budget)
	if budget > 0 && t.d != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, t.start.Add(budget+budget/10))
		defer cancel()
	}
	warn(c.cmd.ErrOrStderr(), model.Warnings())
	held, err := results.HeldOut(ctx, model)
	if err != nil { // the model itself is not affected
		warn(c.cmd.ErrOrStderr(), []string{fmt.Sprintf("no error on held-out rows was measured: %v", err)})
	}
	if c.out != "" || page != "" {
		if err := c.noteOrigin(ctx, model, t.d, held); err != nil {
			return nil, work(err)
		}
	}
	return held, keep(c.cmd, model, c.out, page)
}

// unfinished is the error of work without a result: err, or, after an interruption, when that was and what is kept.
func unfinished(cmd *cobra.Command, err error, interrupted string) error {
	if cmd.Context().Err() != nil {
		return status.Failure(errors.New("interrupted" + interrupted))
	}
	return work(err)
}

// noModel is the error of a fit that returned no model. It says whether the command continues from a checkpoint.
func (c *learning) noModel(err error) error {
	return unfinished(c.cmd, err, " before the fit had a first model: "+kept(c.opt.Checkpoint))
}

// outcome is the error of a fit that returned a model. Reaching a budget or an iteration limit that the user set is
// success; every other reason for missing the tolerance is a failure.
func outcome(cmd *cobra.Command, model *iokl.Model, err error, out string) error {
	interrupted := cmd.Context().Err() != nil
	if err == nil && !interrupted {
		return nil
	}
	saved := "no --out was given"
	if out != "" {
		saved = "the best model so far is in " + out
	}
	c := model.Certificate()
	if interrupted {
		return status.Failure(fmt.Errorf("interrupted at relative gap %.3g: %s", c.RelativeGap, saved))
	}
	if errors.Is(err, iokl.ErrNotConverged) && cmd.Flags().Changed("max-outer") {
		fmt.Fprintf(cmd.ErrOrStderr(), "iokl: stopped by --max-outer at relative gap %.3g\n", c.RelativeGap)
		return nil
	}
	if errors.Is(err, iokl.ErrBudget) {
		fmt.Fprintf(cmd.ErrOrStderr(), "iokl: stopped by --budget: %v\n", err)
		return nil
	}
	return status.Failure(fmt.Errorf("%w; %s", err, saved))
}

func warn(w io.Writer, lines []string) {
	for _, line := range lines {
		fmt.Fprintln(w, "iokl: warning:", line)
	}
}
