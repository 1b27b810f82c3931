package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/granger"
	"github.com/iokl/iokl/internal/table"
)

// grangerFlags are the flags of the command granger.
type grangerFlags struct {
	machine
	series, groups   string
	replicate, clock string
	truth, out, plot string
	header           string
	threshold        float64
	opt              granger.Options
	lambdas          string
}

// grangerErrors are the errors of package granger about the data and options.
var grangerErrors = []error{
	granger.ErrGap, granger.ErrConstant, granger.ErrShort, granger.ErrUnknown,
	granger.ErrDuplicate, granger.ErrOption, granger.ErrMemory,
}

func newGrangerCmd() *cobra.Command {
	g := new(grangerFlags)
	cmd := &cobra.Command{
		Use:   "granger",
		Short: "Infer who drives whom from time series",
		Long: `Granger regresses every node's present on the past of all nodes, with a kernel for
each source, and a norm that keeps few of them. The weights are the graph: row =
target, column = source. --series has a row for each point in time; a column
called t or time that rises is left out. Rows of one value in the --replicate
column are a series of their own: no lag crosses them.

--out writes the graph by the ending of its name: .csv (matrix), .json, .dot or
.graphml. --truth, a CSV file of from,to edges or an N×N matrix of targets by
sources, scores it.`,
		Example: `  iokl granger --series series.csv --lag 3
  iokl granger --series series.csv --replicate replicate --lag 2 --truth edges.csv --json
  iokl granger --series genes.csv --groups pathways.csv --lag 2 --out graph.dot --plot pictures`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return g.run(cmd) },
	}
	f := cmd.Flags()
	f.StringVar(&g.series, "series", "", "time series, a column each, a row for each point in time")
	f.StringVar(&g.groups, "groups", "", "CSV file of series,node: series that make a node together")
	f.StringVar(&g.replicate, "replicate", "", "column that tells replicates apart")
	f.StringVar(&g.clock, "time", "", "column to leave out (default: a rising one called t or time)")
	f.IntVar(&g.opt.Lag, "lag", 1, "past values of each series to use")
	f.StringArrayVar(&g.opt.Kernels, "kernel", nil, "kernel SPEC with features groups, as gaussian:groups:median or linear:groups; repeatable")
	f.Float64Var(&g.opt.Lambda, "lambda", 0, "regularization λ (default 0.1)")
	f.StringVar(&g.lambdas, "lambdas", "", "values of λ for time-ordered cross-validation to choose from")
	f.StringVar(&g.opt.Norm, "norm", "lp:1", "regularizer of eta")
	f.Float64Var(&g.opt.Tol, "tol", 0, "relative gap at which a fit ends (default 0.005)")
	f.Float64Var(&g.threshold, "threshold", 0, "edges of at most this strength are none in what is shown, written and drawn")
	f.StringVar(&g.truth, "truth", "", "true edges to score the graph against")
	f.StringVar(&g.out, "out", "", "file to write the graph to: .csv, .json, .dot or .graphml")
	f.StringVar(&g.plot, "plot", "", "folder to draw the graph into")
	f.StringVar(&g.header, "header", "auto", "whether CSV files start with column names: auto, yes or no")
	g.flags(f)
	return cmd
}

// grangerReport is what granger --json prints. An entry of RMSE is null where
// nothing was held out.
type grangerReport struct {
	Nodes     []string    `json:"nodes"`
	Graph     [][]float64 `json:"graph"` // row = target, column = source
	RMSE      []*float64  `json:"rmse"`  // of each node on held-out time points
	RMSEOwn   []*float64  `json:"rmse_own"`
	AUROC     *float64    `json:"auroc,omitempty"`
	AUPR      *float64    `json:"aupr,omitempty"`
	AUROCAll  *float64    `json:"auroc_all,omitempty"`
	AUPRAll   *float64    `json:"aupr_all,omitempty"`
	Seconds   float64     `json:"seconds"`
	Samples   int         `json:"samples"`
	Lag       int         `json:"lag"`
	Threshold float64     `json:"threshold"`
	Backend   string      `json:"backend"`
	Threads   int         `json:"threads"`
	Seed      uint64      `json:"seed"`
	Out       string      `json:"out,omitempty"`
	Pictures  []string    `json:"pictures,omitempty"`
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
	if _, err := graphWriter(g.out); err != nil {
		return err
	}
	return errors.Join(checkOut(g.out), checkPlot(g.plot))
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
	d, err := g.load(cmd)
	if err != nil {
		return work(err)
	}
	start := time.Now()
	res, err := granger.Infer(cmd.Context(), d, g.opt)
	if err != nil {
		if cmd.Context().Err() != nil {
			return failure{errors.New("interrupted: nothing was written")}
		}
		return work(err)
	}
	report := newGrangerReport(res, time.Since(start).Seconds())
	report.Threshold, report.Seed, report.Out = g.threshold, g.seed, g.out
	if err := g.score(res, report); err != nil {
		return work(err)
	}
	return g.deliver(cmd, res, report)
}

// deliver writes, draws and prints.
func (g *grangerFlags) deliver(cmd *cobra.Command, res *granger.Result, report *grangerReport) (err error) {
	if err := writeGraph(g.out, res, report, g.threshold); err != nil {
		return failure{err}
	}
	if g.plot != "" {
		if report.Pictures, err = plotGraph(g.plot, res, g.threshold); err != nil {
			return failure{err}
		}
	}
	if g.json {
		return writeJSON(cmd.OutOrStdout(), report)
	}
	return explainGraph(cmd.OutOrStdout(), res, report, g.threshold)
}

func newGrangerReport(res *granger.Result, seconds float64) *grangerReport {
	r := &grangerReport{
		Nodes: res.Nodes, Seconds: seconds, Samples: res.Samples, Lag: res.Lag,
		Backend: blas.Active().Name(), Threads: blas.Threads(),
	}
	for i := range res.Nodes {
		r.Graph = append(r.Graph, blas.Row(res.Graph, i))
		r.RMSE = append(r.RMSE, number(res.Fits[i].RMSE))
		r.RMSEOwn = append(r.RMSEOwn, number(res.Fits[i].RMSEOwn))
	}
	return r
}

// number is v, nil where JSON has no word for it.
func number(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// load reads the series and says which columns are what.
func (g *grangerFlags) load(cmd *cobra.Command) (*granger.Data, error) {
	flags := dataFlags{header: g.header, missing: "mean"}
	opt, err := flags.options(cmd)
	if err != nil {
		return nil, err
	}
	opt.AllowNaN = true // gaps are reported with the name of the series
	t, err := readTable(g.series, "", "", opt, &stdin{r: cmd.InOrStdin()})
	if err != nil {
		return nil, err
	}
	if t.Names == nil {
		for j := range t.Data.Cols {
			t.Names = append(t.Names, fmt.Sprintf("x%d", j+1))
		}
	}
	d := new(granger.Data)
	out := map[int]bool{}
	if g.replicate != "" {
		j, err := oneColumn(g.replicate, "--replicate", t)
		if err != nil {
			return nil, err
		}
		if d.Replicate, err = replicates(t, j); err != nil {
			return nil, err
		}
		out[j] = true
	}
	j, err := g.clockColumn(t, d.Replicate)
	if err != nil {
		return nil, err
	}
	out[j] = true
	var idx []int
	for j := range t.Data.Cols {
		if !out[j] {
			idx = append(idx, j)
		}
	}
	if len(idx) == 0 {
		return nil, inputError("%s: no series are left beside the replicate and time columns", g.series)
	}
	t = pick(t, idx)
	d.Names, d.X = t.Names, t.Data
	return d, g.nodes(d)
}

func oneColumn(name, flag string, t *table.Table) (int, error) {
	idx, err := selectColumns(name, flag, t.Names, t.Data.Cols)
	if err != nil {
		return 0, err
	}
	if len(idx) != 1 {
		return 0, inputError("%s %s: one column is wanted", flag, name)
	}
	return idx[0], nil
}

// replicates numbers the values of a column.
func replicates(t *table.Table, j int) ([]int, error) {
	at := map[float64]int{}
	out := make([]int, t.Data.Rows)
	for i := range out {
		v := t.Data.Data[i*t.Data.Stride+j]
		if math.IsNaN(v) {
			return nil, inputError("row %d has no replicate", i+1)
		}
		if _, known := at[v]; !known {
			at[v] = len(at) + 1
		}
		out[i] = at[v]
	}
	return out, nil
}

// clockColumn is the time column, -1 where there is none.
func (g *grangerFlags) clockColumn(t *table.Table, replicate []int) (int, error) {
	if g.clock != "" {
		return oneColumn(g.clock, "--time", t)
	}
	for j, name := range t.Names {
		if n := strings.ToLower(name); (n == "t" || n == "time") && rises(t, j, replicate) {
			return j, nil
		}
	}
	return -1, nil
}

// rises reports whether the column grows from row to row inside every replicate.
func rises(t *table.Table, j int, replicate []int) bool {
	for i := 1; i < t.Data.Rows; i++ {
		if replicate != nil && replicate[i] != replicate[i-1] {
			continue
		}
		if !(t.Data.Data[i*t.Data.Stride+j] > t.Data.Data[(i-1)*t.Data.Stride+j]) {
			return false
		}
	}
	return true
}

// nodes reads the groups file.
func (g *grangerFlags) nodes(d *granger.Data) error {
	if g.groups == "" {
		return nil
	}
	_, records, err := table.ReadText(g.groups, table.Options{})
	if err != nil {
		return err
	}
	var pairs [][2]string
	for i, rec := range records {
		if len(rec) != 2 {
			return inputError("%s: row %d has %d cells, want series,node", g.groups, i+1, len(rec))
		}
		if i == 0 && !slices.Contains(d.Names, rec[0]) && len(records) > 1 && (rec[0] == "series" || rec[1] == "node") {
			continue // a header
		}
		pairs = append(pairs, [2]string{rec[0], rec[1]})
	}
	d.Nodes, err = granger.Group(d.Names, pairs)
	return err
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

// readTruth reads edges from,to[,sign], or an N×N matrix of targets by sources.
func readTruth(name string, nodes []string) (blas.General, error) {
	if t, err := table.Read(name, table.Options{}); err == nil && t.Data.Rows == len(nodes) && t.Data.Cols == len(nodes) {
		return t.Data, nil
	}
	_, records, err := table.ReadText(name, table.Options{})
	if err != nil {
		return blas.General{}, err
	}
	var edges []granger.Edge
	for i, rec := range records {
		if len(rec) < 2 {
			return blas.General{}, inputError("%s: row %d has %d cells, want from,to", name, i+1, len(rec))
		}
		if i == 0 && strings.EqualFold(rec[0], "from") && strings.EqualFold(rec[1], "to") {
			continue
		}
		edges = append(edges, granger.Edge{From: rec[0], To: rec[1]})
	}
	return granger.Truth(nodes, edges)
}

// edge is an off-diagonal entry of the graph.
type edge struct {
	from, to int
	strength float64
}

// edges lists the edges above the threshold, the strongest first.
func edges(res *granger.Result, threshold float64) []edge {
	var list []edge
	for i := range res.Nodes {
		for j, v := range blas.Row(res.Graph, i) {
			if i != j && v > threshold {
				list = append(list, edge{j, i, v})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b edge) int { return compare(b.strength, a.strength) })
	return list
}

// explainGraph says in words what was found.
func explainGraph(w io.Writer, res *granger.Result, report *grangerReport, threshold float64) error {
	list := edges(res, threshold)
	n := len(res.Nodes)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%d nodes, %d windows of lag %d: %d of %d possible edges above %g (%.2f s)\n\n", n, res.Samples, res.Lag, len(list), n*(n-1), threshold, report.Seconds)
	if len(list) > 0 {
		fmt.Fprintln(t, "strongest edges\tstrength")
	}
	for _, e := range list[:min(15, len(list))] {
		fmt.Fprintf(t, "  %s → %s\t%.4f\n", res.Nodes[e.from], res.Nodes[e.to], e.strength)
	}
	writeCentral(t, res, list)
	better, held := 0, 0
	for i := range res.Fits {
		if report.RMSE[i] != nil && report.RMSEOwn[i] != nil {
			held++
			if *report.RMSE[i] < *report.RMSEOwn[i] {
				better++
			}
		}
	}
	if held > 0 {
		fmt.Fprintf(t, "\non held-out time points %d of %d nodes are forecast better with the others' past than with their own alone\n", better, held)
	}
	if report.AUROC != nil {
		fmt.Fprintf(t, "\nagainst the truth: AUROC %.3f, AUPR %.3f off the diagonal", *report.AUROC, *report.AUPR)
		if report.AUROCAll != nil {
			fmt.Fprintf(t, "; %.3f, %.3f over all entries", *report.AUROCAll, *report.AUPRAll)
		}
		fmt.Fprintln(t)
	}
	for _, p := range append(report.Pictures, report.Out) {
		if p != "" {
			fmt.Fprintf(t, "wrote %s\n", p)
		}
	}
	return flush(t)
}

// writeCentral lists the nodes that drive most.
func writeCentral(w io.Writer, res *granger.Result, list []edge) {
	if len(list) == 0 {
		return
	}
	sum, count := make([]float64, len(res.Nodes)), make([]int, len(res.Nodes))
	idx := make([]int, len(res.Nodes))
	for i := range idx {
		idx[i] = i
	}
	for _, e := range list {
		sum[e.from] += e.strength
		count[e.from]++
	}
	slices.SortStableFunc(idx, func(a, b int) int { return compare(sum[b], sum[a]) })
	fmt.Fprintln(w, "\ncentral nodes\tdrive\tstrength in all")
	for _, i := range idx[:min(8, len(idx))] {
		if count[i] > 0 {
			fmt.Fprintf(w, "  %s\t%d\t%.4f\n", res.Nodes[i], count[i], sum[i])
		}
	}
}
