// This file is the command fit for data in memory.

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
	"github.com/spf13/pflag"
	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/memory"
	"github.com/iokl/iokl/internal/mpi"
	"github.com/iokl/iokl/sylvester"
)

// learnFlags say what is learned and how.
type learnFlags struct {
	kernels     []string
	lambda, tau float64
	norm        string
	learn       string
	standardize string
	solver      string
	sylvester   string
	tol         float64
	maxOuter    int
	float32     bool
	budget      time.Duration
	modelFlags
	cost          weightFlags
	foldsBy, hide string
}

func (l *learnFlags) flags(f *pflag.FlagSet) {
	f.StringArrayVar(&l.kernels, "kernel", nil,
		"kernel SPEC, as gaussian:all:median*0.5,1,2 or gaussian:each:2^-6..2^6 or linear:0-3; repeatable\n(iokl "+
			"help kernels: all of them); gaussian:relevant:median multiplies each column by how much the targets vary "+
			"with it,\ngaussian:directions:median takes the linear combinations of columns that they vary "+
			"along\n(default: a dictionary made from the data)")
	f.Float64Var(&l.lambda, "lambda", 0, "regularization λ (default: chosen by cross-validation)")
	f.Float64Var(&l.tau, "tau", 0, "bound τ on the trace of L (default: the number of outputs)")
	f.StringVar(&l.norm, "norm", "",
		"regularizer of eta: lp:P, block1, blockr:R, elastic:M, groups:A,B,…, wedge\n(default: lp:1, or chosen with "+
			"λ by cross-validation)")
	f.StringVar(&l.learn, "learn", "",
		"what is learned beside the function: eta,l, eta, l or none; or likelihood: variance components of a mixed "+
			"model, for --model sum\n(default: eta,l, or chosen with λ where kernels are chosen too)")
	l.modelFlags.flags(f)
	l.cost.flags(f)
	f.StringVar(&l.standardize, "standardize", "",
		"what is brought to mean 0, variance 1: x,y, x, y or none\n(default: x,y with --x, none with --gram)")
	f.StringVar(&l.solver, "solver", "reduced", "reduced, closed, paper or okl; of --model sum: reduced")
	f.StringVar(&l.sylvester, "sylvester", "auto", "solver of the linear systems: "+strings.Join(sylvester.Names(),
		", "))
	f.Float64Var(&l.tol, "tol", 1e-4, "relative gap to reach")
	f.IntVar(&l.maxOuter, "max-outer", 0, "outer iterations at most")
	f.DurationVar(&l.budget, "budget", 0,
		"time for choosing settings, as 60s; the best so far is fitted when it is spent (default: no limit)")
	f.StringVar(&l.foldsBy, "folds-by", "",
		"how rows are split into folds: shuffle, at random; blocks, of rows that follow each other; time, learning "+
			"from the past\nof each fold; or a column of --x: rows with the same value in it are in the same fold\n"+
			"(default: shuffle)")
	f.StringVar(&l.hide, "hide", "",
		"what a fold holds out: rows, or cells of the targets\n(default: rows, or cells where targets are missing in "+
			"as many rows as a fold holds)")
	f.BoolVar(&l.float32, "float32", false, "store kernel matrices in single precision: half the memory")
}

// options turns the flags into options of the library.
func (l *learnFlags) options(cmd *cobra.Command, m *machine, d *dataFlags) (iokl.Options, error) {
	changed := cmd.Flags().Changed
	for _, c := range []struct {
		flag  string
		value float64
	}{{"lambda", l.lambda}, {"tau", l.tau}, {"tol", l.tol}} {
		if changed(c.flag) && !(c.value > 0) {
			return iokl.Options{}, fmt.Errorf("--%s %g: it must be positive", c.flag, c.value)
		}
	}
	if changed("budget") && l.budget <= 0 {
		return iokl.Options{}, fmt.Errorf("--budget %v: it must be positive", l.budget)
	}
	if changed("max-outer") && l.maxOuter < 1 {
		return iokl.Options{}, fmt.Errorf("--max-outer %d: at least 1 is needed", l.maxOuter)
	}
	if _, err := m.apply(cmd); err != nil {
		return iokl.Options{}, err
	}
	opt := iokl.Options{
		Kernels: l.kernels, Lambda: l.lambda, Tau: l.tau, Norm: l.norm, Learn: iokl.Learned(l.learn),
		Standardize: l.standardize, Missing: d.missing, MissingTargets: d.missingTargets, Solver: l.solver,
		Sylvester: l.sylvester,
		Tol:       l.tol, MaxOuter: l.maxOuter, Seed: m.seed, Budget: iokl.Budget(l.budget),
	}
	if err := l.set(&opt); err != nil {
		return opt, err
	}
	if l.float32 {
		opt.Precision = blas.Float32
	}
	if len(d.grams) > 0 && len(l.kernels) > 0 {
		return opt, errors.New("--kernel makes kernels of --x: with --gram leave it out")
	}
	return opt, nil
}

// deal says how rows are split into folds.
func (l *learnFlags) deal(cv *iokl.CVOptions, d *data) error {
	if l.hide != "" && l.hide != "rows" && l.hide != "cells" {
		return fmt.Errorf("--hide %q: want rows or cells", l.hide)
	}
	if l.hide == "cells" && d.labels != nil {
		return errors.New("--hide cells: a class label is one cell: hide rows")
	}
	cv.Hide = l.hide
	if l.foldsBy == "" {
		return nil
	}
	if cv.Groups != nil || cv.TimeOrdered {
		return errors.New("--folds-by goes with neither --fold-groups nor --time-ordered")
	}
	switch l.foldsBy {
	case "shuffle", "blocks":
		cv.FoldsBy = l.foldsBy
		return nil
	case "time":
		cv.TimeOrdered = true
		return nil
	}
	if d.X == nil {
		return inputError("--folds-by %s: there are no columns without --x", l.foldsBy)
	}
	cols := d.X.Schema.At(l.foldsBy)
	if cols == nil {
		var err error
		if cols, err = selectColumns(l.foldsBy, "--folds-by", d.inputs, d.X.Data.Cols); err != nil {
			return err
		}
	}
	cv.Groups = make([]int, d.X.Data.Rows)
	number := map[string]int{}
	for i := range cv.Groups {
		var key strings.Builder
		for _, j := range cols {
			fmt.Fprintln(&key, blas.Row(d.X.Data, i)[j])
		}
		if _, known := number[key.String()]; !known {
			number[key.String()] = len(number)
		}
		cv.Groups[i] = number[key.String()]
	}
	return nil
}

// names adds what the files say about their columns.
func (d *data) names(opt *iokl.Options) {
	opt.InputNames, opt.OutputNames, opt.Groups = d.inputs, d.output, d.groups
	if d.X != nil {
		opt.InputSchema = d.X.Schema
	}
}

// fit runs the fit that the data call for.
func (d *data) fit(ctx context.Context, opt iokl.Options) (*iokl.Model, error) {
	switch {
	case d.labels != nil && d.X != nil:
		return iokl.FitClasses(ctx, blas.Dense(d.X.Data), d.labels, opt)
	case d.X != nil:
		return iokl.Fit(ctx, blas.Dense(d.X.Data), blas.Dense(d.Y.Data), opt)
	}
	Y, names := d.targetMatrix()
	if names != nil {
		opt.OutputNames = names
	}
	return iokl.FitGram(ctx, d.grams, Y, opt)
}

// targetMatrix is Y, one-hot for labels, whose classes then name the outputs.
func (d *data) targetMatrix() (mat.Matrix, []string) {
	if d.labels == nil {
		return blas.Dense(d.Y.Data), nil
	}
	return iokl.OneHot(d.labels)
}

func newFitCmd() *cobra.Command {
	var (
		m         machine
		d         dataFlags
		l         learnFlags
		s         streamFlags
		out, page string

		intervalFolds int
	)
	cmd := &cobra.Command{
		Use:   "fit",
		Short: "Fit a model to inputs X, or Gram matrices, and targets Y",
		Long: `Fit learns to predict some columns of a table, the targets Y, from other columns, the
inputs X. Targets are numbers, or with --classes one column of classes. Without --kernel
and --lambda, cross-validation chooses the kernels and λ, within --budget.
In technical terms fit learns the kernel weights eta, the output kernel L and the function
together, and says how far the objective is from its least value: the relative gap. A target
that the inputs do not predict better than its mean is predicted by its mean.

The last line on standard error says how far off predictions of held-out rows are, in the
unit of each target, beside what its mean would be.

An empty target cell is missing: fit learns from the other targets of its row, and
predict --fill completes the table.

Ctrl-C saves the best model so far to --out, and says its gap. While settings are still
compared, it fits the best one so far first.`,
		Example: `  iokl fit --x table.csv --y-columns price --out model.iokl --report page.html
  iokl fit --x x.csv --y y.csv --out model.iokl
  iokl fit --x x.csv --y y.csv --kernel gaussian:each:median --kernel linear:all --lambda 1e-3 --norm lp:1 --json
  iokl fit --x x.csv --y y.csv --folds-by blocks --out model.iokl
  iokl fit --x x.csv --y y.csv --budget 60s --out model.iokl
  iokl fit --x x.csv --y y.csv --report page.html
  iokl fit --x x.csv --y holes.csv --lambda 1e-3 --missing-targets use --json
  iokl fit --x x.csv --y y.csv --output-axis hours.csv --lambda 1e-3 --out day.iokl
  iokl fit --x digits.csv.gz --x-columns 0-63 --y-columns 64 --classes --out digits.iokl
  iokl fit --x x.csv --y y.csv --interval-folds 5 --out model.iokl
  iokl fit --x x.csv --y y.csv --lambda 1e-3 --certify global
  iokl fit --x x.csv --y y.csv --lambda 1e-3 --model sum --out model.iokl
  iokl fit --gram kernels.npz:Ks --y kernels.npz:Y --lambda 0.005 --tau 4 --norm lp:1.7 --tol 1e-8 --json`,
		Args: flagsOnly,
		RunE: func(cmd *cobra.Command, _ []string) error {
			opt, err := l.options(cmd, &m, &d)
			if err != nil {
				return err
			}
			if err := errors.Join(s.check(cmd, &d), checkFile(cmd, "out"), checkFile(cmd, "report")); err != nil {
				return err
			}
			opt.Checkpoint = s.checkpoint
			if cmd.Flags().Changed("interval-folds") {
				if opt.IntervalFolds = intervalFolds; intervalFolds == 0 {
					opt.IntervalFolds = -1
				}
				if intervalFolds < 0 || intervalFolds == 1 {
					return fmt.Errorf("--interval-folds %d: at least 2 are needed, or 0 for none", intervalFolds)
				}
			}
			if err := s.route(cmd, &m, &d, &opt); err != nil {
				return err
			}
			if err := l.cost.begin(&d, &s, &opt); err != nil {
				return err
			}
			if s.on {
				rows, err := reading(cmd, func() (iokl.Rows, error) { return d.streamed(&opt, s.weights) })
				if err != nil {
					return err
				}
				return onRanks(&m, func(m *machine, world *mpi.World) error {
					return fitStream(cmd, m, rows, opt, &s, out, page, world)
				})
			}
			data, err := d.load(cmd)
			if err != nil {
				return err
			}
			data.names(&opt)
			if err := l.cost.read(cmd, &d, &opt); err != nil {
				return err
			}
			if err := l.deal(&opt.CV, data); err != nil {
				return err
			}
			return runFit(cmd, &m, data, opt, out, page)
		},
	}
	d.flags(cmd.Flags())
	l.flags(cmd.Flags())
	s.flags(cmd.Flags(), "file that keeps the state of the fit (with --stream: the sums over the rows), from "+
		"which the same command\ngoes on after an interruption")
	m.flags(cmd.Flags())
	cmd.Flags().StringVar(&out, "out", "", "file to save the model to")
	cmd.Flags().IntVar(&intervalFolds, "interval-folds", 0,
		"folds: everything is learned again without each of them, for predict --interval and calibrated "+
			"probabilities; 0 for none\n(default, for small tables: those on which λ was chosen, and with --loss "+
			"logistic also where λ is given)")
	compactFlag(cmd.Flags())
	reportFlag(cmd.Flags(), &page)
	return cmd
}

// keep saves the model, compact where that is asked for, and writes the page about it, where these have names.
func keep(cmd *cobra.Command, model *iokl.Model, out, page string) error {
	if out != "" {
		file := model
		if compact, err := cmd.Flags().GetBool("compact"); err == nil && compact {
			file = model.Compact()
		}
		if err := file.Save(out); err != nil {
			return failure{err}
		}
	}
	if page == "" {
		return nil
	}
	s, err := modelSubject(cmp.Or(out, "the model"), model)
	if err != nil {
		return err
	}
	return writePage(page, []subject{s})
}

// runFit fits, saves, reports.
func runFit(cmd *cobra.Command, m *machine, d *data, opt iokl.Options, out, page string) error {
	defer memory.Reserve(d.bytes())()
	warn(cmd.ErrOrStderr(), d.giveaways())
	p := newProgress(cmd.ErrOrStderr(), m, opt.Tol)
	opt.Trace, opt.Notify, opt.Watch = p.step, p.line, p.choosing
	start := time.Now()
	fit := func() (*iokl.Model, error) { return d.fit(cmd.Context(), opt) }
	if opt.Open() {
		r, err := d.choose(cmd, opt, out)
		if err != nil {
			p.end()
			return err
		}
		fit = func() (*iokl.Model, error) { return fitBest(cmd, m, r, p) }
	}
	model, fitErr := fit()
	p.end()
	if model == nil {
		return noModel(cmd.Context(), fitErr, "")
	}
	seconds := time.Since(start).Seconds()
	again := func(folds int) (*iokl.Model, error) {
		opt.IntervalFolds, opt.Checkpoint, opt.Trace, opt.Notify, opt.Watch = folds, "", nil, nil, nil
		opt.Global = false
		return d.fit(cmd.Context(), opt)
	}
	return finish(cmd, m, model, d, again, seconds, fitErr, out, page)
}

// finish saves and reports the model that a fit to d, nil for streamed rows, ended with after so many seconds. again,
// which may be nil, fits with models without folds.
func finish(
	cmd *cobra.Command, m *machine, model *iokl.Model, d *data, again func(folds int) (*iokl.Model, error),
	seconds float64, fitErr error, out, page string,
) error {
	warn(cmd.ErrOrStderr(), model.Warnings())
	held, err := heldOut(cmd, model, again)
	if err != nil {
		return work(err)
	}
	if cmd.Context().Err() != nil {
		d = nil // who interrupts a fit does not wait for the effects of the inputs
	}
	if out != "" || page != "" {
		if err := noteOrigin(cmd, model, d, held); err != nil {
			return work(err)
		}
	}
	if err := keep(cmd, model, out, page); err != nil {
		return err
	}
	if err := reportFit(cmd.OutOrStdout(), m, model, seconds, out); err != nil {
		return err
	}
	sayHeldOut(cmd, m, model, held, seconds)
	return outcome(cmd, model, fitErr, out)
}

// choose compares the settings that opt leaves open, as iokl.Fit would. When
// that is interrupted, the best setting so far is to be fitted all the same.
func (d *data) choose(cmd *cobra.Command, opt iokl.Options, out string) (*iokl.CVResult, error) {
	opt.CV = opt.CV.ForFit(d.rows())
	r, err := d.crossValidate(cmd, opt)
	switch {
	case err == nil:
		return r, nil
	case cmd.Context().Err() == nil:
		return nil, work(err)
	case r == nil:
		return nil, failure{errors.New("interrupted before any setting was tried: nothing was saved")}
	case out == "":
		return nil, failure{errors.New("interrupted while settings were compared: no --out was given")}
	}
	return r, nil
}

// fitBest fits the best setting of a comparison, after an interruption of that briefly. A second Ctrl-C then
// ends the program at once.
func fitBest(cmd *cobra.Command, m *machine, r *iokl.CVResult, p *progress) (*iokl.Model, error) {
	ctx := cmd.Context()
	if ctx.Err() == nil {
		return r.Fit(ctx)
	}
	p.end()
	if !m.quiet {
		fmt.Fprintf(cmd.ErrOrStderr(),
			"iokl: interrupted: fitting the best setting of %d folds (Ctrl-C again gives up)\n", r.Folds)
	}
	return r.FitBriefly(context.WithoutCancel(ctx))
}

// noModel says why a fit under ctx returned no model, and whether the same command goes on from the checkpoint.
func noModel(ctx context.Context, err error, checkpoint string) error {
	if ctx.Err() != nil {
		return failure{fmt.Errorf("interrupted before the fit had a first model: %s", kept(checkpoint))}
	}
	return work(err)
}

// outcome says how a fit ended that returned a model: an iteration limit that
// the user set is what was asked for, everything else that kept it from its tolerance is a failure.
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
		return failure{fmt.Errorf("interrupted at relative gap %.3g: %s", c.RelativeGap, saved)}
	}
	if errors.Is(err, bcd.ErrNotConverged) && cmd.Flags().Changed("max-outer") {
		fmt.Fprintf(cmd.ErrOrStderr(), "iokl: stopped by --max-outer at relative gap %.3g\n", c.RelativeGap)
		return nil
	}
	return failure{fmt.Errorf("%w; %s", err, saved)}
}

func warn(w io.Writer, lines []string) {
	for _, line := range lines {
		fmt.Fprintln(w, "iokl: warning:", line)
	}
}
