package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/cmd/internal/cli"
	"github.com/iokl/iokl/cmd/internal/interrupt"
	"github.com/iokl/iokl/cmd/internal/results"
	"github.com/iokl/iokl/cmd/internal/status"
	"github.com/iokl/iokl/internal/files/table"
	"github.com/iokl/iokl/schema"
)

type predictFlags struct {
	machine
	dataFlags
	sure       intervalFlags
	model, out string
	fill       filling
	filled     int    // missing cells of the inputs so far
	axis       string // points of it to predict
	weights    string // of the rows to predict
	keep       string
	kept       *table.Texts // nil where there are none
	far        far          // values of the inputs so far that are far from those learned from
}

func newPredictCmd() *cobra.Command {
	var p predictFlags
	cmd := newCommand("predict", p.run)
	f := cmd.Flags()
	f.StringVar(&p.model, "model", "", "")
	p.tables(f)
	f.StringVar(&p.drop, "drop", "", "")
	f.StringArrayVar(&p.grams, "gram", nil, "")
	f.StringVar(&p.out, "out", "", "")
	f.StringVar(&p.keep, "keep", "", "")
	f.StringVar(&p.axis, "output-axis", "", "")
	f.Float64Var(&p.sure.Level, "interval", 0, "")
	f.StringVar(&p.weights, "weights", "", "")
	f.StringVar((*string)(&p.sure.Method), "method", "", "")
	f.BoolVar(&p.sure.Local, "local", false, "")
	f.BoolVar(&p.sure.Joint, "joint", false, "")
	f.BoolVar(&p.sure.std, "std", false, "")
	f.BoolVar(&p.sure.proba, "proba", false, "")
	f.IntVar(&p.sure.why, "why", 0, "")
	f.BoolVar(&p.fill.on, "fill", false, "")
	p.reading(f)
	p.compute(f)
	return cmd
}

// predictReport is what predict --json prints; the predictions themselves only without --out.
type predictReport struct {
	Rows        int          `json:"rows"`
	Outputs     []string     `json:"outputs"`
	Seconds     float64      `json:"seconds"`
	Out         string       `json:"out,omitempty"`
	Filled      *int         `json:"filled,omitempty"` // target cells, with --fill
	Scores      *iokl.Scores `json:"scores,omitempty"`
	Predictions [][]float64  `json:"predictions,omitempty"`
	Classes     []string     `json:"classes,omitempty"`
	intervalReport
}

func (p *predictFlags) run(cmd *cobra.Command) error {
	if p.model == "" {
		return errors.New("give the model by --model")
	}
	if (p.x == "") == (len(p.grams) == 0) {
		return errors.New("give the inputs by --x, or cross-Gram matrices by --gram")
	}
	if err := p.sure.check(cmd, p.x == ""); err != nil {
		return err
	}
	if _, err := p.apply(); err != nil {
		return err
	}
	if err := cmp.Or(cli.CheckOutputs(cmd, "", "out"), checkTable(p.out)); err != nil {
		return err
	}
	model, err := reading(cmd, func() (*iokl.Model, error) { return iokl.Load(p.model) })
	if err != nil {
		return work(err)
	}
	if p.axis != "" {
		if model, err = p.elsewhere(cmd, model); err != nil {
			return work(err)
		}
	}
	if p.y == "" && p.yColumns != "" {
		p.y = p.x
	}
	if p.y == "-" || p.y == p.x && once(p.x) {
		return fmt.Errorf("--y %s: the targets come from a file, after the predictions", p.y)
	}
	opt := p.options()
	if model.InputNames() != nil != (p.x != "") {
		return status.Input("the model was fitted on %s", map[bool]string{
			true:  "inputs: give --x",
			false: "Gram matrices: give --gram",
		}[model.InputNames() != nil])
	}
	if p.fill.on {
		if p.y == "" {
			return errors.New("--fill completes targets: give them by --y")
		}
		if model.Classes() != nil {
			return errors.New("--fill completes targets that are numbers, and the model is one of classes")
		}
		p.fill.known, err = reading(cmd, func() (*table.Table, error) { return p.readKnown(model, opt) })
		if err != nil {
			return work(err)
		}
	}
	if err := p.readWeights(cmd, model); err != nil {
		return err
	}
	if p.kept, err = reading(cmd, func() (*table.Texts, error) { return p.openKept(model, opt) }); err != nil {
		return work(err)
	}
	if p.kept != nil {
		defer func() { _ = p.kept.Close() }()
	}
	src, err := reading(cmd, func() (*source, error) { return p.source(cmd, model, opt) })
	if err != nil {
		return work(err)
	}
	defer func() { _ = src.close() }()
	if p.sure.why > 0 {
		return work(p.sure.explain(cmd, &p.machine, model, src))
	}
	return p.predict(cmd, model, src, opt)
}

// source hands out predictions block by block; io.EOF ends them.
type source struct {
	next  func() (*prediction, error)
	close func() error
}

// predictRows is how many rows are read and predicted at a time.
const predictRows = 8192

func (p *predictFlags) source(cmd *cobra.Command, model *iokl.Model, opt table.Options) (*source, error) {
	in := &stdin{r: cmd.InOrStdin()}
	if p.x == "" {
		return p.gramSource(cmd, model, opt, in)
	}
	var err error
	if opt.Stdin, err = in.take(p.x); err != nil {
		return nil, err
	}
	opt.Schema = model.InputSchema()
	opt.Columns = p.columnsOf(cmd, model)
	r, err := table.Open(p.x, opt)
	if err != nil {
		return nil, err
	}
	block := blas.NewGeneral(predictRows, r.Cols())
	rows := 0
	p.far.low, p.far.high = model.InputLimits()
	done := func() error {
		warn(cmd.ErrOrStderr(), table.Unseen(r))
		return r.Close()
	}
	return &source{close: done, next: func() (*prediction, error) {
		k, err := r.Read(block)
		if errors.Is(err, io.EOF) && rows < p.sure.all.Rows {
			err = status.Input("--weights has %d rows, and --x %s has %d", p.sure.all.Rows, p.x, rows)
		}
		if err != nil {
			return nil, err
		}
		X := blas.View(block, 0, 0, k, r.Cols())
		if err := p.countMissing(X, rows, model); err != nil {
			return nil, err
		}
		rows += k
		p.far.note(X)
		return p.sure.answer(cmd.Context(), model, blas.Dense(X), rows-k)
	}}, nil
}

// countMissing adds the missing cells of X, whose first row is number first from 0,
// to those so far, or refuses them where that was asked for.
func (p *predictFlags) countMissing(X blas.General, first int, model *iokl.Model) error {
	s := schema.Columns(model.InputSchema())
	given := model.InputNames()
	count := make([]int, X.Cols)
	for i := range X.Rows {
		row := blas.Row(X, i)
		if !slices.ContainsFunc(row, math.IsNaN) {
			continue
		}
		clear(count)
		for j, v := range row {
			if math.IsNaN(v) {
				count[j] = 1
			}
		}
		cells, names := s.PerSource(count, given)
		for j, missing := range cells {
			if p.filled += missing; missing > 0 && p.missing == "error" {
				return status.Input("%s: row %d, %s is missing", p.x, first+i+1, schema.Label(names, j))
			}
		}
	}
	return nil
}

func (p *predictFlags) gramSource(
	cmd *cobra.Command, model *iokl.Model, opt table.Options, in *stdin,
) (*source, error) {
	d := new(data)
	for _, name := range p.grams {
		if err := d.readGrams(name, opt, in); err != nil {
			return nil, err
		}
	}
	a, err := p.sure.gram(cmd.Context(), model, d.grams)
	if err != nil {
		return nil, err
	}
	return &source{close: func() error { return nil }, next: func() (*prediction, error) {
		if a == nil {
			return nil, io.EOF
		}
		out := a
		a = nil
		return out, nil
	}}, nil
}

func (p *predictFlags) predict(cmd *cobra.Command, model *iokl.Model, src *source, opt table.Options) error {
	report := predictReport{Outputs: model.OutputNames(), Out: p.out}
	scored := p.y != "" && !p.fill.on
	keep := p.json && p.out == "" || scored
	var all []float64
	start := time.Now()
	each := func(write sink) error {
		for {
			a, err := interrupt.Do(cmd.Context(), src.next)
			if errors.Is(err, io.EOF) && p.fill.on {
				return p.fill.done(p.y)
			}
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil || cmd.Context().Err() != nil {
				return unfinished(cmd, err, ": nothing was written")
			}
			report.Rows += a.F.RawMatrix().Rows
			if p.fill.on {
				if err := p.fill.complete(a, p.y); err != nil {
					return err
				}
			}
			if keep {
				all = append(all, a.F.RawMatrix().Data...)
				report.Classes = append(report.Classes, a.labels...)
				report.keep(a)
			}
			if write == nil {
				continue
			}
			if err := write(a); err != nil {
				return err
			}
		}
	}
	if err := p.deliver(cmd, model, each); err != nil {
		return work(err)
	}
	report.Seconds = time.Since(start).Seconds()
	if p.sure.std {
		var err error
		if report.Noise, err = model.Noise(cmd.Context()); err != nil {
			return work(err)
		}
	}
	if p.filled > 0 {
		warn(cmd.ErrOrStderr(),
			[]string{fmt.Sprintf("filled %d missing cells of %s by the training mean of their column", p.filled, p.x)})
	}
	warn(cmd.ErrOrStderr(), p.far.warnings(p.x, model.InputNames()))
	if p.fill.on {
		report.Filled = &p.fill.count
		if !p.quiet {
			cells := p.fill.known.Data.Rows * p.fill.known.Data.Cols
			fmt.Fprintf(cmd.ErrOrStderr(), "iokl: predicted %d of %d target cells\n", p.fill.count, cells)
		}
	}
	if scored {
		if err := p.score(model, all, &report, opt); err != nil {
			return work(err)
		}
	}
	return p.report(cmd, all, &report)
}

// score compares with the true targets.
func (p *predictFlags) score(model *iokl.Model, all []float64, report *predictReport, opt table.Options) error {
	n := len(report.Outputs)
	F := mat.NewDense(report.Rows, n, all)
	var Y mat.Matrix
	if classes := model.Classes(); classes != nil {
		labels, err := p.readLabels(opt, &stdin{})
		if err != nil {
			return err
		}
		one, err := results.OneHot(p.withoutHeader(labels, report.Rows), classes, p.y)
		if err != nil {
			return err
		}
		Y = one
	} else {
		t, err := readTable(p.y, p.targetColumns().index, opt, &stdin{})
		if err != nil {
			return err
		}
		t.Extend(report.Rows)
		Y = blas.Dense(t.Data)
		for j := range t.Data.Cols {
			observed := func(v float64) bool { return !math.IsNaN(v) }
			if t.Data.Rows > 0 && !slices.ContainsFunc(mat.Col(nil, j, Y), observed) {
				return status.Input("%s: no cell of %s is observed", p.y, schema.Label(t.Names, j))
			}
		}
	}
	each := max(1, len(model.Quantiles()))
	if r, c := Y.Dims(); r != report.Rows || c != n/each {
		return status.Input("%s is %d×%d, the predictions are %d×%d", p.y, r, c, report.Rows, n/each)
	}
	s := model.ScorePredictions(F, results.PerOutput(Y, each))
	report.Scores = &s
	report.cover(Y, model.Classes())
	return nil
}

func (p *predictFlags) report(cmd *cobra.Command, all []float64, r *predictReport) error {
	w := cmd.OutOrStdout()
	if p.json {
		if n := len(r.Outputs); p.out == "" {
			for i := range r.Rows {
				r.Predictions = append(r.Predictions, all[i*n:(i+1)*n])
			}
		} else {
			r.Classes = nil
			r.trim()
		}
		return writeJSON(w, r)
	}
	if r.Scores == nil {
		return nil
	}
	return results.Report(w, "scores", r)
}

// Targets are the names of the targets, each of which may have several outputs.
func (r *predictReport) Targets() []string {
	return results.TargetNames(r.Outputs, len(r.Outputs)/len(r.Coverage))
}
