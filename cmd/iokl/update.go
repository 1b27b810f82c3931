package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/cmd/internal/cli"
	"github.com/iokl/iokl/cmd/internal/status"
	"github.com/iokl/iokl/internal/files/atomicfile"
	"github.com/iokl/iokl/internal/files/page"
)

type updateFlags struct {
	machine
	dataFlags
	model, out, forget string
	cost               weightFlags
	opt                iokl.UpdateOptions
}

func newUpdateCmd() *cobra.Command {
	var u updateFlags
	cmd := newCommand("update", u.run)
	f := cmd.Flags()
	f.StringVar(&u.model, "model", "", "")
	u.tables(f)
	f.StringVar(&u.drop, "drop", "", "")
	f.StringVar(&u.cost.weights, "weights", "", "")
	f.StringVar(&u.forget, "forget", "", "")
	f.IntVar(&u.opt.Window, "window", 0, "")
	f.BoolVar(&u.opt.Relearn, "relearn", false, "")
	f.Float64Var(&u.opt.Tol, "tol", 0, "")
	f.IntVar(&u.opt.MaxOuter, "max-outer", 0, "")
	f.StringVar(&u.out, "out", "", "")
	f.Bool("compact", false, "")
	u.reading(f)
	f.StringVar(&u.memory, "memory", "", "")
	u.compute(f)
	return cmd
}

// updateReport is what update --json prints.
type updateReport struct {
	iokl.Certificate          // of the model after the update
	Rows             int      `json:"rows"` // that the model is of
	Added            int      `json:"added"`
	Seconds          float64  `json:"seconds"`
	Warnings         []string `json:"warnings"`
	Model            string   `json:"model"`
}

func (u *updateFlags) run(cmd *cobra.Command) error {
	switch given := u.x != ""; {
	case u.model == "":
		return errors.New("give the model by --model")
	case u.out == "":
		return errors.New("give the file of the updated model by --out")
	case !given && (u.y != "" || u.yColumns != "" || u.cost.weights != ""):
		return errors.New("give the inputs of the rows that arrive by --x")
	case !given && u.forget == "" && u.opt.Window == 0 && !u.opt.Relearn:
		return errors.New("give rows that arrive by --x and --y, or rows that leave by --forget or --window")
	case u.opt.Window < 0 || u.opt.Window == 0 && cmd.Flags().Changed("window"):
		return fmt.Errorf("--window %d: at least 2 rows stay", u.opt.Window)
	}
	var err error
	if u.opt.MaxBytes, err = u.apply(); err != nil {
		return err
	}
	if err := cli.CheckOutputs(cmd, "model", "out"); err != nil {
		return err
	}
	unlock, err := u.turn(cmd)
	if err != nil {
		return err
	}
	defer unlock()
	model, err := reading(cmd, func() (*iokl.Model, error) { return iokl.Load(u.model) })
	if err != nil {
		return work(err)
	}
	if u.forget != "" {
		rows := model.Certificate().Samples
		if u.opt.Forget, err = selectColumns(u.forget, "--forget", nil, rows); err != nil {
			return status.Input("--forget %s: rows are numbered from 0 to %d", u.forget, rows-1)
		}
	}
	d, err := u.arriving(cmd, model)
	if err != nil {
		return err
	}
	return u.update(cmd, model, d)
}

// turn locks the model for an update in place: it waits until no other command updates it.
func (u *updateFlags) turn(cmd *cobra.Command) (unlock func(), err error) {
	if atomicfile.Target(u.out) != atomicfile.Target(u.model) {
		return func() {}, nil
	}
	if unlock, err = atomicfile.TryLock(u.model); errors.Is(err, atomicfile.ErrLocked) {
		if !u.quiet {
			fmt.Fprintf(cmd.ErrOrStderr(), "iokl: waiting for another update of %s\n", u.model)
		}
		unlock, err = atomicfile.Lock(cmd.Context(), u.model)
	}
	if err != nil {
		return nil, unfinished(cmd, err, ": nothing was saved")
	}
	return unlock, nil
}

// arriving reads the rows to add.
func (u *updateFlags) arriving(cmd *cobra.Command, model *iokl.Model) (*data, error) {
	if u.x == "" {
		return new(data), nil
	}
	if model.InputNames() == nil {
		return nil, status.Input("a model of Gram matrices is not updated: it keeps no inputs to compute kernels of")
	}
	u.classes = model.Classes() != nil
	u.schema, u.inputsOf, u.targetsOf = model.InputSchema(), u.columnsOf(cmd, model), u.outputsOf(model)
	var opt iokl.Options
	if err := u.cost.begin(&u.dataFlags, false, &opt); err != nil {
		return nil, err
	}
	if err := u.cost.readWeights(cmd, &u.dataFlags, &opt); err != nil {
		return nil, err
	}
	d, err := u.load(cmd)
	if err == nil && u.missing == "error" {
		err = observed(u.x, d.X, d.blank, "--missing error refuses missing inputs")
	}
	u.opt.Weights = opt.Weights
	return d, err
}

// update updates the model, saves it and reports.
func (u *updateFlags) update(cmd *cobra.Command, model *iokl.Model, d *data) error {
	p := newProgress(cmd.ErrOrStderr(), &u.machine, cmp.Or(u.opt.Tol, model.Certificate().Tol))
	u.opt.Trace, u.opt.Notify = p.step, p.line
	start := time.Now()
	updated, fitErr := d.update(cmd, model, u.opt)
	p.end()
	if updated == nil {
		return unfinished(cmd, fitErr, ": nothing was saved")
	}
	seconds := time.Since(start).Seconds()
	warn(cmd.ErrOrStderr(), updated.Warnings())
	if err := keep(cmd, updated, u.out, ""); err != nil {
		return err
	}
	r := &updateReport{
		Certificate: updated.Certificate(), Rows: updated.Certificate().Samples, Added: len(d.seen()), Seconds: seconds,
		Warnings: append([]string{}, updated.Warnings()...), Model: u.out,
	}
	if u.json {
		if err := writeJSON(cmd.OutOrStdout(), r); err != nil {
			return err
		}
	} else if !u.quiet {
		r.write(cmd.ErrOrStderr(), u.opt.Relearn)
	}
	return outcome(cmd, updated, fitErr, u.out)
}

// write is the report in one line.
func (r *updateReport) write(w io.Writer, relearned bool) {
	fmt.Fprintf(w, "iokl: %s, relative gap %.2g; %.3g s\n", page.Counted(r.Rows, "row"), r.RelativeGap, r.Seconds)
	if !r.Converged && !relearned {
		fmt.Fprintf(w, "iokl: the gap is above the tolerance %.2g: --relearn learns weights and L further\n", r.Tol)
	}
}

// update adds the rows of d to the model.
func (d *data) update(cmd *cobra.Command, model *iokl.Model, opt iokl.UpdateOptions) (*iokl.Model, error) {
	ctx := cmd.Context()
	switch {
	case d.X == nil:
		return model.Forget(ctx, nil, opt)
	case d.labels != nil:
		return model.UpdateClasses(ctx, blas.Dense(d.X.Data), d.labels, opt)
	}
	return model.Update(ctx, blas.Dense(d.X.Data), blas.Dense(d.Y.Data), opt)
}
