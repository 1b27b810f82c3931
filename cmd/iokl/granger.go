// This file is the command granger.

package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/iokl/iokl/granger"
	"github.com/iokl/iokl/internal/mpi"
)

// grangerFlags are the flags of the command granger.
type grangerFlags struct {
	machine
	confidence
	series, groups   string
	replicate, clock string
	truth, out, plot string
	page             string
	header           string
	columns, drop    string
	na               []string
	threshold        float64
	opt              granger.Options
	lambdas          string
	forecast         int
	level            float64    // of the forecasts' intervals
	world            *mpi.World // the ranks, which share the nodes
}

// grangerErrors are the errors of package granger about the data and options.
var grangerErrors = []error{
	granger.ErrGap, granger.ErrConstant, granger.ErrShort, granger.ErrUnknown,
	granger.ErrDuplicate, granger.ErrOption, granger.ErrForeign,
}

func newGrangerCmd() *cobra.Command {
	g := new(grangerFlags)
	cmd := &cobra.Command{
		Use:   "granger",
		Short: "Infer who drives whom from time series",
		Long: `Granger regresses every node's present on the past of all nodes, with a kernel for
each source, and a norm that keeps few of them. The weights are the graph: row =
target, column = source. --series is a table with a row for each point in time, read as
fit reads tables. A column of dates, or a rising one that has no name or is called t,
time, index or as identifiers are (id, …_id, …Id), holds the times and is no series.
Rows of one value in the --replicate column are a series of their own: no lag
crosses them. Lags count rows: times that are not in order or not evenly spaced
are warned of.

How sure is it? --stability refits to resamples of the data and counts how often
each edge is among the strongest of its target; --null shifts every target in time
against the others and counts how often an edge gets as large by chance;
--improvement forecasts held-out time points with and without the other nodes.
With --checkpoint the first two go on from where they were stopped.

--forecast N forecasts every series N steps after the last row. Each step
is computed from the forecasts of the steps before it. The intervals are as wide as the
errors of models of the first four fifths of the time on the last fifth: as many steps
ahead, they hold the share --interval of them.

Series of more than 2000 rows are fitted with random features, at a cost that beyond
one pass does not grow with the number of rows; --kernel rff:gaussian:groups:median:100
asks for 100 of them for each kernel.

--out writes the graph by the ending of its name: .csv (matrix), .json, .dot or
.graphml. --truth, a CSV file of from,to edges or an N×N matrix of targets by
sources, scores it.`,
		Example: `  iokl granger --series series.csv --lag 3
  iokl granger --series series.csv --replicate replicate --lag 2 --truth edges.csv --json
  iokl granger --series series.csv --lag 3 --stability 100 --null 199 --improvement --checkpoint state.json
  iokl granger --series series.csv --lag 3 --stability 100 --null 99 --report graph.html
  iokl granger --series series.csv --lag 3 --forecast 8
  iokl granger --series genes.csv --groups pathways.csv --lag 2 --out graph.dot --plot pictures`,
		Args: flagsOnly,
		RunE: func(cmd *cobra.Command, _ []string) error { return g.run(cmd) },
	}
	f := cmd.Flags()
	f.StringVar(&g.series, "series", "", "time series, a column each, a row for each point in time")
	f.StringVar(&g.groups, "groups", "", "CSV file of series,node: series that make a node together")
	f.StringVar(&g.replicate, "replicate", "", "column that tells replicates apart")
	f.StringVar(&g.clock, "time", "",
		"column of times, which is no series (default: dates, or a rising column called as times or row numbers are)")
	f.StringVar(&g.columns, "columns", "",
		"columns of --series to use: names, patterns as temp*, numbers from 0, ranges as 0-63 (default: all)")
	f.StringVar(&g.drop, "drop", "", "columns to leave out, as in --columns")
	f.StringArrayVar(&g.na, "na", nil, "word that means a missing cell, as an empty cell does; repeatable")
	f.IntVar(&g.opt.Lag, "lag", 1, "past values of each series to use")
	f.StringArrayVar(&g.opt.Kernels, "kernel", nil,
		"kernel SPEC with features groups, as gaussian:groups:median or linear:groups; repeatable\n(iokl help "+
			"kernels: all of them)")
	f.Float64Var(&g.opt.Lambda, "lambda", 0, "regularization λ (default 0.1)")
	f.StringVar(&g.lambdas, "lambdas", "", "values of λ for time-ordered cross-validation to choose from")
	f.BoolVar(&g.opt.PerNode, "per-node", false, "with --lambdas: choose λ for each node, not one for all")
	f.BoolVar(&g.opt.Nonlinear, "nonlinear", false,
		"leave the linear past of all nodes unpenalized: the graph shows what is nonlinear only")
	f.StringVar(&g.opt.Norm, "norm", "lp:1", "regularizer of eta")
	f.Float64Var(&g.opt.Tol, "tol", 0, "relative gap at which a fit ends (default 0.005)")
	f.Float64Var(&g.threshold, "threshold", 0,
		"edges of at most this strength are none in what is shown, written and drawn")
	f.StringVar(&g.truth, "truth", "", "true edges to score the graph against")
	f.StringVar(&g.out, "out", "", "file to write the graph to: .csv, .json, .dot or .graphml")
	f.StringVar(&g.plot, "plot", "", "folder to draw the graph into")
	f.StringVar(&g.header, "header", "auto", "whether CSV files start with column names: auto, yes or no")
	reportFlag(f, &g.page)
	f.IntVar(&g.forecast, "forecast", 0, "steps after the last row to forecast, with intervals")
	f.Float64Var(&g.level, "interval", 0.9, "with --forecast: how often the intervals are to hold what happens")
	g.confidence.flags(f)
	g.machine.flags(f)
	return cmd
}

func (g *grangerFlags) check(cmd *cobra.Command) error {
	if g.series == "" {
		return errors.New("give the time series by --series")
	}
	for _, c := range []struct {
		flag  string
		value float64
	}{{"lambda", g.opt.Lambda}, {"tol", g.opt.Tol}} {
		if cmd.Flags().Changed(c.flag) && !(c.value > 0) {
			return fmt.Errorf("--%s %g: it must be positive", c.flag, c.value)
		}
	}
	if g.opt.Lag < 1 {
		return fmt.Errorf("--lag %d: at least 1 is needed", g.opt.Lag)
	}
	if !(g.threshold >= 0) {
		return fmt.Errorf("--threshold %g: it may not be negative", g.threshold)
	}
	if g.forecast < 0 || cmd.Flags().Changed("forecast") && g.forecast == 0 {
		return fmt.Errorf("--forecast %d: at least 1 step is needed", g.forecast)
	}
	if !(g.level > 0 && g.level < 1) {
		return fmt.Errorf("--interval %g: it must lie between 0 and 1", g.level)
	}
	if cmd.Flags().Changed("interval") && g.forecast == 0 {
		return errors.New("--interval is for --forecast")
	}
	if _, err := graphWriter(g.out); err != nil {
		return err
	}
	return errors.Join(g.confidence.check(cmd), checkFile(cmd, "out"), checkPlot(g.plot), checkFile(cmd, "report"))
}

func (g *grangerFlags) run(cmd *cobra.Command) error {
	if err := g.check(cmd); err != nil {
		return err
	}
	limit, err := g.apply(cmd)
	if err != nil {
		return err
	}
	g.opt.MaxBytes, g.opt.Seed = limit, g.seed
	if g.lambdas != "" {
		if g.opt.Lambdas, err = parseFloats("lambdas", g.lambdas); err != nil {
			return err
		}
	}
	return onRanks(&g.machine, func(m *machine, world *mpi.World) error {
		g.machine, g.world = *m, world
		if world.Size() > 1 {
			g.opt.Ranks = world
		}
		return g.infer(cmd)
	})
}

func (g *grangerFlags) infer(cmd *cobra.Command) error {
	d, err := reading(cmd, func() (*granger.Data, error) { return g.load(cmd) })
	if err != nil {
		return work(err)
	}
	start := time.Now()
	study, err := granger.NewStudy(cmd.Context(), d, g.opt)
	if err != nil {
		return stopped(cmd, err)
	}
	res, err := study.Infer(cmd.Context())
	if err != nil {
		return stopped(cmd, err)
	}
	report := newGrangerReport(res, time.Since(start).Seconds())
	report.Threshold, report.Seed, report.Out = g.threshold, g.seed, g.out
	report.Kernels, report.Command = g.opt.Kernels, commandLine(cmd)
	if report.Kernels == nil {
		report.Kernels = granger.KernelsFor(len(d.Names), d.X.Rows)
	}
	if err := g.score(res, report); err != nil {
		return work(err)
	}
	if err := g.assess(cmd, study, res, report); err != nil {
		return g.salvage(cmd, res, report, err)
	}
	if g.forecast > 0 {
		if report.Forecast, err = study.Forecast(cmd.Context(), g.forecast, g.level); err != nil {
			return g.salvage(cmd, res, report, err)
		}
		report.Level = g.level
	}
	if err := g.explain(cmd, study, res, report); err != nil {
		return g.salvage(cmd, res, report, err)
	}
	return g.deliver(cmd, res, report)
}

// explained is how many of the strongest edges are explained.
const explained = 100

// violationLevel is the p-value, times the number of pairs or series, up to which nodes are
// said to move together, and series to violate what p-values of edges assume.
const violationLevel = 0.05

// explain fills in the edges and how they act. Of several ranks none says how.
func (g *grangerFlags) explain(
	cmd *cobra.Command, study *granger.Study, res *granger.Result, report *grangerReport,
) (err error) {
	report.Edges, report.Central = res.Links(g.threshold), res.Central(g.threshold)
	if g.world.Size() > 1 {
		return nil
	}
	if report.Responses, err = study.Responses(cmd.Context(),
		report.Edges[:min(explained, len(report.Edges))]); err != nil {
		return err
	}
	if report.Simultaneous, err = study.Simultaneous(cmd.Context(), violationLevel); err != nil {
		return err
	}
	report.Doubts, err = study.Doubts(cmd.Context(), violationLevel)
	return err
}

// stopped is the error of work that was given up before there was a graph.
func stopped(cmd *cobra.Command, err error) error {
	if cmd.Context().Err() != nil {
		return failure{errors.New("interrupted: nothing was written")}
	}
	return work(err)
}

// salvage writes the graph when the work on its confidence was interrupted.
func (g *grangerFlags) salvage(cmd *cobra.Command, res *granger.Result, report *grangerReport, err error) error {
	if cmd.Context().Err() == nil {
		return work(err)
	}
	if g.out != "" && g.world.Rank() == 0 {
		if err := writeGraph(g.out, res, report, g.threshold); err != nil {
			return failure{err}
		}
		return failure{fmt.Errorf("interrupted: %s; the graph alone is in %s", kept(g.checkpoint), g.out)}
	}
	return failure{fmt.Errorf("interrupted: %s", kept(g.checkpoint))}
}

// deliver writes, draws and prints, on the first rank.
func (g *grangerFlags) deliver(cmd *cobra.Command, res *granger.Result, report *grangerReport) (err error) {
	if g.world.Rank() > 0 {
		return nil
	}
	if err := writeGraph(g.out, res, report, g.threshold); err != nil {
		return failure{err}
	}
	if g.plot != "" {
		if report.Pictures, err = plotGraph(g.plot, res, g.threshold); err != nil {
			return failure{err}
		}
	}
	if g.page != "" {
		if err := writePage(g.page, []subject{graphSubject("the series of "+filepath.Base(g.series),
			report)}); err != nil {
			return err
		}
	}
	if g.json {
		return writeJSON(cmd.OutOrStdout(), report)
	}
	return explainGraph(cmd.OutOrStdout(), report)
}

// score compares with the true edges.
func (g *grangerFlags) score(res *granger.Result, report *grangerReport) error {
	if g.truth == "" {
		return nil
	}
	truth, err := readTruth(g.truth, res.Nodes)
	if err != nil {
		return err
	}
	s := granger.Score(res.Graph, truth)
	report.AUROC, report.AUPR = number(s.AUROC), number(s.AUPR)
	report.AUROCAll, report.AUPRAll = number(s.AUROCAll), number(s.AUPRAll)
	return nil
}
