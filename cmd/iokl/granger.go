package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/iokl/iokl/cmd/internal/cli"
	"github.com/iokl/iokl/cmd/internal/results"
	"github.com/iokl/iokl/cmd/internal/status"
	"github.com/iokl/iokl/granger"
	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/internal/base/mpi"
	"github.com/iokl/iokl/internal/files/atomicfile"
	"github.com/iokl/iokl/internal/files/picture"
	"github.com/iokl/iokl/internal/files/table"
)

// grangerFlags are the flags of the command granger.
type grangerFlags struct {
	machine
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
	// of the confidence of edges
	stability, null int // rounds
	top, block      int
	improvement     bool
	checkpoint      string
}

// grangerErrors are the errors of package granger about the data and options.
var grangerErrors = []error{
	granger.ErrGap, granger.ErrConstant, granger.ErrShort, granger.ErrUnknown,
	granger.ErrDuplicate, granger.ErrOption, granger.ErrForeign, granger.ErrTime,
}

func newGrangerCmd() *cobra.Command {
	g := new(grangerFlags)
	cmd := newCommand("granger", g.run)
	f := cmd.Flags()
	f.StringVar(&g.series, "series", "", "")
	f.StringVar(&g.groups, "groups", "", "")
	f.StringVar(&g.replicate, "replicate", "", "")
	f.StringVar(&g.clock, "time", "", "")
	f.StringVar(&g.columns, "columns", "", "")
	f.StringVar(&g.drop, "drop", "", "")
	f.StringArrayVar(&g.na, "na", nil, "")
	f.IntVar(&g.opt.Lag, "lag", 1, "")
	f.StringArrayVar(&g.opt.Kernels, "kernel", nil, "")
	f.Float64Var(&g.opt.Lambda, "lambda", 0, "")
	f.StringVar(&g.lambdas, "lambdas", "", "")
	f.BoolVar(&g.opt.PerNode, "per-node", false, "")
	f.BoolVar(&g.opt.Nonlinear, "nonlinear", false, "")
	f.StringVar(&g.opt.Norm, "norm", "lp:1", "")
	f.Float64Var(&g.opt.Tol, "tol", 0, "")
	f.Float64Var(&g.threshold, "threshold", 0, "")
	f.StringVar(&g.truth, "truth", "", "")
	f.StringVar(&g.out, "out", "", "")
	f.StringVar(&g.plot, "plot", "", "")
	f.StringVar(&g.header, "header", "auto", "")
	f.StringVar(&g.page, "report", "", "")
	f.IntVar(&g.forecast, "forecast", 0, "")
	f.Float64Var(&g.level, "interval", 0.9, "")
	f.IntVar(&g.stability, "stability", 0, "")
	f.IntVar(&g.top, "top", 0, "")
	f.IntVar(&g.block, "block", 0, "")
	f.IntVar(&g.null, "null", 0, "")
	f.BoolVar(&g.improvement, "improvement", false, "")
	f.StringVar(&g.checkpoint, "checkpoint", "", "")
	g.machine.flags(f)
	return cmd
}

func (g *grangerFlags) run(cmd *cobra.Command) error {
	if g.series == "" {
		return errors.New("give the time series by --series")
	}
	if err := results.CheckGraph(g.out); err != nil {
		return err
	}
	if err := cli.CheckOutputs(cmd, "", "checkpoint", "out", "report", "plot"); err != nil {
		return err
	}
	limit, err := g.apply()
	if err != nil {
		return err
	}
	g.opt.MaxBytes, g.opt.Seed = limit, g.seed
	if g.opt.Lambdas, err = parseFloats("lambdas", g.lambdas); err != nil {
		return err
	}
	return onRanks(&g.machine, func(world *mpi.World) error {
		g.world = world
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
		return unfinished(cmd, err, ": nothing was written")
	}
	res, err := study.Infer(cmd.Context())
	if err != nil {
		return unfinished(cmd, err, ": nothing was written")
	}
	report := results.NewGraph(res, time.Since(start).Seconds())
	report.Threshold, report.Seed, report.Out = g.threshold, g.seed, g.out
	report.Kernels, report.Command = g.opt.Kernels, commandLine(cmd)
	if report.Kernels == nil {
		report.Kernels = granger.KernelsFor(len(d.Names), d.X.Rows)
	}
	if err := g.score(res, report); err != nil {
		return work(err)
	}
	if err = g.assess(cmd, study, res, report); err == nil {
		err = g.explain(cmd, study, res, report)
	}
	if err != nil {
		return g.salvage(cmd, res, report, err)
	}
	return g.deliver(cmd, res, report)
}

// explained is how many of the strongest edges are explained.
const explained = 100

// violationLevel is the p-value, times the number of pairs or series, up to which nodes are
// said to move together, and series to violate what p-values of edges assume.
const violationLevel = 0.05

// explain fills in the forecasts, the edges and, on a single rank, how causes act.
func (g *grangerFlags) explain(
	cmd *cobra.Command, study *granger.Study, res *granger.Result, report *results.Graph,
) (err error) {
	if g.forecast > 0 {
		if report.Forecast, err = study.Forecast(cmd.Context(), g.forecast, g.level); err != nil {
			return err
		}
		report.Level = g.level
	}
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

// salvage writes the graph where the work on its confidence was interrupted.
func (g *grangerFlags) salvage(cmd *cobra.Command, res *granger.Result, report *results.Graph, err error) error {
	if cmd.Context().Err() == nil {
		return work(err)
	}
	saved := kept(g.checkpoint)
	if g.out != "" && g.world.Rank() == 0 {
		if err := results.WriteGraph(g.out, res, report, g.threshold); err != nil {
			return status.Failure(err)
		}
		saved += "; the graph alone is in " + g.out
	}
	return status.Failure(fmt.Errorf("interrupted: %s", saved))
}

// deliver writes, draws and prints, on the first rank.
func (g *grangerFlags) deliver(cmd *cobra.Command, res *granger.Result, report *results.Graph) (err error) {
	if g.world.Rank() > 0 {
		return nil
	}
	if err := results.WriteGraph(g.out, res, report, g.threshold); err != nil {
		return status.Failure(err)
	}
	if g.plot != "" {
		if report.Pictures, err = picture.SaveAll(g.plot, results.GraphFigures(res, g.threshold)); err != nil {
			return status.Failure(err)
		}
	}
	if g.page != "" {
		if err := results.WritePage(g.page, report.Page("the series of "+filepath.Base(g.series))); err != nil {
			return err
		}
	}
	return g.print(cmd, report)
}

// score compares with the true edges.
func (g *grangerFlags) score(res *granger.Result, report *results.Graph) error {
	if g.truth == "" {
		return nil
	}
	truth, err := readTruth(g.truth, res.Nodes)
	if err != nil {
		return err
	}
	s := granger.Score(res.Graph, truth)
	report.AUROC, report.AUPR = results.Number(s.AUROC), results.Number(s.AUPR)
	report.AUROCAll, report.AUPRAll = results.Number(s.AUROCAll), results.Number(s.AUPRAll)
	return nil
}

// rounds is the content of a checkpoint.
type rounds struct {
	Stability granger.Counts `json:"stability"`
	Null      granger.Counts `json:"null"`
}

// checkpointEvery is the least time between two writes of the file; what is left
// is written when the rounds end, for whatever reason.
const checkpointEvery = 2 * time.Second

// keeper writes the rounds to the checkpoint.
type keeper struct {
	rounds
	path  string
	last  time.Time
	dirty bool
	other bool // a rank other than the first, which does not write
}

// open reads the checkpoint, when there is one.
func (k *keeper) open() error {
	if k.path == "" {
		return nil
	}
	f, err := os.Open(k.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	b, err := memory.ReadAll(f, k.path)
	if err == nil {
		if err = memory.Unmarshal(b, &k.rounds); err != nil {
			return fmt.Errorf("--checkpoint %s: %w: it is not what an earlier run left (%v)", k.path, table.ErrData,
				err)
		}
	}
	return err
}

func (k *keeper) flush() error {
	if k.path == "" || !k.dirty || k.other {
		return nil
	}
	k.dirty, k.last = false, time.Now()
	return atomicfile.Write(k.path, func(w io.Writer) error { return json.NewEncoder(w).Encode(k.rounds) })
}

// keep is a Trace that stores the counts for the checkpoint.
func (k *keeper) keep(p *progress, what string, of int, to *granger.Counts) func(granger.Counts) error {
	return func(c granger.Counts) error {
		*to, k.dirty = c, true
		p.line(fmt.Sprintf("%s: %d of %d rounds", what, c.Rounds, of))
		if time.Since(k.last) < checkpointEvery {
			return nil
		}
		return k.flush()
	}
}

// assess fills in the confidence of the edges.
func (g *grangerFlags) assess(
	cmd *cobra.Command, study *granger.Study, res *granger.Result, report *results.Graph,
) (err error) {
	k := &keeper{path: g.checkpoint, other: g.world.Rank() > 0}
	if k.path != "" && !k.other {
		unlock, err := atomicfile.TryLock(k.path)
		if err != nil {
			return err
		}
		defer unlock()
	}
	if err := k.open(); err != nil {
		return err
	}
	p := newProgress(cmd.ErrOrStderr(), &g.machine, 0)
	defer p.end()
	defer func() { err = errors.Join(err, k.flush()) }()
	repeat := func(
		what string, count int, to *granger.Counts, set **granger.Counts,
		run func(granger.Rounds) (granger.Counts, error),
	) error {
		done := *to
		switch {
		case count == 0:
			return nil
		case done.Rounds > count:
			return fmt.Errorf("--checkpoint %s: %w: it has %d rounds of %s, more than %d", k.path, table.ErrData,
				done.Rounds, what, count)
		case done.Rounds > 0:
			p.line(fmt.Sprintf("%s: going on after %d rounds", what, done.Rounds))
		}
		counts, err := run(granger.Rounds{To: count, Block: g.block, Done: done, Trace: k.keep(p, what, count, to)})
		if errors.Is(err, granger.ErrForeign) {
			return fmt.Errorf("--checkpoint %s: %w", k.path, err)
		}
		if err == nil {
			*set = &counts
		}
		return err
	}
	ctx := cmd.Context()
	stability := func(r granger.Rounds) (granger.Counts, error) { return study.Stability(ctx, g.top, r) }
	null := func(r granger.Rounds) (granger.Counts, error) { return study.Null(ctx, r) }
	if err = repeat("stability", g.stability, &k.Stability, &res.Stability, stability); err != nil {
		return err
	}
	if err = repeat("null", g.null, &k.Null, &res.Null, null); err != nil {
		return err
	}
	if g.improvement {
		if report.Improvement, err = study.Improvement(ctx); err != nil {
			return err
		}
	}
	report.Confidence(res)
	return nil
}
