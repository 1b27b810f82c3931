// This file prints what granger found, as JSON and in words.

package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/granger"
)

// grangerReport is what granger --json prints. An entry of RMSE is null where
// nothing was held out.
type grangerReport struct {
	Nodes     []string          `json:"nodes"`
	Graph     [][]float64       `json:"graph"` // row = target, column = source
	RMSE      []*float64        `json:"rmse"`  // of each node on held-out time points
	RMSEOwn   []*float64        `json:"rmse_own"`
	Edges     []granger.Link    `json:"edges,omitempty"`   // above the threshold, the strongest first
	Central   []granger.Central `json:"central,omitempty"` // those that drive others most first
	AUROC     *float64          `json:"auroc,omitempty"`
	AUPR      *float64          `json:"aupr,omitempty"`
	AUROCAll  *float64          `json:"auroc_all,omitempty"`
	AUPRAll   *float64          `json:"aupr_all,omitempty"`
	Seconds   float64           `json:"seconds"`
	Samples   int               `json:"samples"`
	Lag       int               `json:"lag"`
	Threshold float64           `json:"threshold"`
	Backend   string            `json:"backend"`
	Threads   int               `json:"threads"`
	Seed      uint64            `json:"seed"`
	Out       string            `json:"out,omitempty"`
	Pictures  []string          `json:"pictures,omitempty"`

	Frequency       [][]float64    `json:"frequency,omitempty"` // of each edge among the selected of the resamples
	StabilityRounds int            `json:"stability_rounds,omitempty"`
	PValues         [][]float64    `json:"p_values,omitempty"`
	NullRounds      int            `json:"null_rounds,omitempty"`
	Improvement     []granger.Gain `json:"improvement,omitempty"`

	Forecast []granger.Forecast `json:"forecast,omitempty"`
	Level    float64            `json:"forecast_interval,omitempty"`

	Responses    []granger.Response     `json:"responses,omitempty"` // of the strongest edges, in their order
	Simultaneous []granger.Simultaneous `json:"simultaneous,omitempty"`
	Doubts       []granger.Doubt        `json:"doubts,omitempty"`
	Missing      int                    `json:"missing_windows,omitempty"`
	Relaxing     bool                   `json:"relaxing,omitempty"`
	Lambda       []float64              `json:"lambda"` // of each node
	Kernels      []string               `json:"kernels"`
	Command      string                 `json:"command"`
}

func newGrangerReport(res *granger.Result, seconds float64) *grangerReport {
	r := &grangerReport{
		Nodes: res.Nodes, Graph: rowsOf(res.Graph), Seconds: seconds, Samples: res.Samples, Missing: res.Missing,
		Lag: res.Lag, Relaxing: res.Relaxing,
		Backend: blas.Active().Name(), Threads: blas.Threads(),
	}
	for _, f := range res.Fits {
		r.RMSE = append(r.RMSE, number(f.RMSE))
		r.RMSEOwn = append(r.RMSEOwn, number(f.RMSEOwn))
		r.Lambda = append(r.Lambda, f.Lambda)
	}
	return r
}

// confidence takes over what was found about it.
func (r *grangerReport) confidence(res *granger.Result) {
	if c := res.Stability; c != nil {
		r.Frequency, r.StabilityRounds = rowsOf(c.Frequency()), c.Rounds
	}
	if c := res.Null; c != nil {
		r.PValues, r.NullRounds = rowsOf(c.PValues()), c.Rounds
	}
}

func rowsOf(a blas.General) [][]float64 {
	rows := make([][]float64, a.Rows)
	for i := range rows {
		rows[i] = blas.Row(a, i)
	}
	return rows
}

// number is v, nil where JSON has no word for it.
func number(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// explainGraph says in words what was found.
func explainGraph(w io.Writer, res *granger.Result, report *grangerReport) error {
	n := len(res.Nodes)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%d nodes, %d windows of lag %d: %d of %d possible edges above %g (%.2f s)\n\n", n, res.Samples,
		res.Lag, len(report.Edges), n*(n-1), report.Threshold, report.Seconds)
	writeEdges(t, report)
	writeCentral(t, report)
	writeForecasts(t, report)
	writeSureness(t, report)
	writeSimultaneous(t, report)
	for _, text := range report.doubtTexts() {
		fmt.Fprintf(t, "\n%s\n", text)
	}
	writeAhead(t, report)
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

// writeEdges lists the strongest edges with what is known of each.
func writeEdges(w io.Writer, report *grangerReport) {
	if len(report.Edges) == 0 {
		return
	}
	head := "strongest edges\tstrength"
	if report.StabilityRounds > 0 {
		head += "\tselected"
	}
	if report.NullRounds > 0 {
		head += "\tp"
	}
	if report.Lag > 1 && report.Responses != nil {
		head += "\tafter"
	}
	fmt.Fprintln(w, head)
	for k, e := range report.Edges[:min(15, len(report.Edges))] {
		fmt.Fprintf(w, "  %s → %s\t%.4f", e.From, e.To, e.Strength)
		if e.Frequency != nil {
			fmt.Fprintf(w, "\t%.0f %%", 100**e.Frequency)
		}
		if e.PValue != nil {
			fmt.Fprintf(w, "\t%.3g", *e.PValue)
		}
		if report.Lag > 1 && k < len(report.Responses) {
			fmt.Fprintf(w, "\t%s", counted(report.Responses[k].Delay, "step"))
		}
		fmt.Fprintln(w)
	}
}

// writeCentral lists the nodes that drive most.
func writeCentral(w io.Writer, report *grangerReport) {
	if len(report.Edges) == 0 {
		return
	}
	fmt.Fprintln(w, "\ncentral nodes\tdrive\tstrength in all\tdriven by\tstrength in all")
	for _, c := range report.Central[:min(8, len(report.Central))] {
		if c.Drives > 0 {
			fmt.Fprintf(w, "  %s\t%d\t%.4f\t%d\t%.4f\n", c.Node, c.Drives, c.Out, c.Driven, c.In)
		}
	}
}

// writeForecasts says whether the others' past helps on held-out time points.
func writeForecasts(w io.Writer, report *grangerReport) {
	if report.Improvement != nil {
		var helped []string
		for _, g := range report.Improvement {
			if g.RMSE < g.Own {
				helped = append(helped, fmt.Sprintf("%s (error −%.1f %%)", g.Node, 100*(1-g.RMSE/g.Own)))
			}
		}
		fmt.Fprintf(w, "\non held-out time points the others' past improves the forecasts of %d of %d nodes%s\n",
			len(helped), len(report.Improvement), listed(helped, 8))
		return
	}
	if better, held := forecastCounts(report); held > 0 {
		fmt.Fprintf(w, "\non held-out time points %d of %d nodes are forecast better with the others' past than with "+
			"their own alone\n", better, held)
	}
}

func listed(names []string, most int) string {
	switch {
	case len(names) == 0:
		return ""
	case len(names) > most:
		return ": " + strings.Join(names[:most], ", ") + ", …"
	}
	return ": " + strings.Join(names, ", ")
}

// writeSureness sums up how sure the edges are.
func writeSureness(w io.Writer, report *grangerReport) {
	n := len(report.Nodes)
	pairs := n * (n - 1)
	if report.StabilityRounds > 0 {
		often, sometimes := 0, 0
		offDiagonal(report.Frequency, func(v float64) {
			if v >= 0.9 {
				often++
			} else if v >= 0.5 {
				sometimes++
			}
		})
		fmt.Fprintf(w, "\nin %d resamples of the data %d of %d possible edges are selected in at least 90 %%: "+
			"believe those; %d more in at least half\n", report.StabilityRounds, often, pairs, sometimes)
	}
	if report.NullRounds > 0 {
		const level = 0.05
		count := 0
		offDiagonal(report.PValues, func(v float64) {
			if v <= level {
				count++
			}
		})
		fmt.Fprintf(w, "\nagainst %d shifts in time %d of %d possible edges have p ≤ %g, where chance alone would "+
			"give about %.1f", report.NullRounds, count, pairs, level, level*float64(pairs))
		if report.NullRounds < 19 {
			fmt.Fprintf(w, " (with fewer than 19 shifts no p is so small)")
		}
		fmt.Fprintln(w)
	}
}

// writeSimultaneous lists the pairs that move together within a step.
func writeSimultaneous(w io.Writer, report *grangerReport) {
	if len(report.Simultaneous) == 0 {
		return
	}
	var pairs []string
	for _, s := range report.Simultaneous {
		pairs = append(pairs, fmt.Sprintf("%s and %s (%+.2f)", s.A, s.B, s.Correlation))
	}
	fmt.Fprintf(w, "\nmove together within one time step, cause unknown%s\n", listed(pairs, 8))
}

// doubtTexts are sentences about what the series violate.
func (r *grangerReport) doubtTexts() []string {
	var texts []string
	for _, d := range []struct{ what, text string }{
		{granger.Memory, "What the models leave of %s is correlated in time: the past beyond the lag matters, or " +
			"values are measured with noise. Their edges may be indirect; try a larger --lag."},
		{granger.Spread, "The spread of what the models leave of %s changes in time: strengths are those of the " +
			"times of large spread."},
		{granger.Wander, "%s may wander or have a trend, which makes p-values too small: compare with the graph of " +
			"the changes from row to row."},
	} {
		var names []string
		for _, q := range r.Doubts {
			if q.What == d.what {
				names = append(names, q.Series)
			}
		}
		if names != nil {
			texts = append(texts, fmt.Sprintf(d.text, enumerated(names, 6)))
		}
	}
	if r.Simultaneous != nil {
		texts = append(texts, "Nodes that move together within one step may have a driver that was not observed, and "+
			"edges between them may be its doing.")
	}
	if r.Relaxing {
		texts = append(texts, "The replicates return to a common state and are observed with noise: three quarters "+
			"of a strength are the probability of the edge in models of that return.")
	}
	if r.Missing > 0 {
		texts = append(texts, fmt.Sprintf("%s of %d left out, as a value in them is missing.",
			counted(r.Missing, "window"), r.Missing+r.Samples))
	}
	return texts
}

// writeAhead lists the forecasts.
func writeAhead(w io.Writer, report *grangerReport) {
	if len(report.Forecast) == 0 {
		return
	}
	fmt.Fprintf(w, "\nforecasts\tstep\tvalue\t%.3g %% interval\terror held out\tof the last value\n", 100*report.Level)
	for _, f := range report.Forecast {
		fmt.Fprintf(w, "  %s\t%d\t%.4g\t%.4g to %.4g\t%.3g\t%.3g\n", f.Series, f.Step, f.Value, f.Lo, f.Hi, f.RMSE,
			f.Last)
	}
}

func offDiagonal(rows [][]float64, f func(v float64)) {
	for i, row := range rows {
		for j, v := range row {
			if i != j {
				f(v)
			}
		}
	}
}
