package results

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/cmd/internal/status"
	"github.com/iokl/iokl/granger"
	"github.com/iokl/iokl/internal/files/atomicfile"
	"github.com/iokl/iokl/internal/files/picture"
)

// Graph is what granger --json prints. An entry of RMSE is null where
// nothing was held out.
type Graph struct {
	Nodes     []string          `json:"nodes"`
	Graph     [][]float64       `json:"graph"` // row = target, column = source: strengths, or probabilities if Relaxing
	RMSE      []*float64        `json:"rmse"`  // of each node on held-out time points
	RMSEOwn   []*float64        `json:"rmse_own"`
	Explained []*float64        `json:"explained,omitempty"` // see granger.Fit
	Edges     []granger.Link    `json:"edges,omitempty"`     // see granger.Result.Links
	Central   []granger.Central `json:"central,omitempty"`   // those that drive others most first
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

// NewGraph is what was found in so many seconds.
func NewGraph(res *granger.Result, seconds float64) *Graph {
	r := &Graph{
		Nodes: res.Nodes, Graph: rowsOf(res.Graph), Seconds: seconds, Samples: res.Samples, Missing: res.Missing,
		Lag: res.Lag, Relaxing: res.Relaxing,
		Backend: blas.Active().Name(), Threads: blas.Threads(),
	}
	for _, f := range res.Fits {
		r.RMSE = append(r.RMSE, Number(f.RMSE))
		r.RMSEOwn = append(r.RMSEOwn, Number(f.RMSEOwn))
		r.Explained = append(r.Explained, Number(f.Explained))
		r.Lambda = append(r.Lambda, f.Lambda)
	}
	return r
}

// Confidence takes over what was found about it.
func (r *Graph) Confidence(res *granger.Result) {
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

// Number is v, nil where JSON has no word for it.
func Number(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// Write prints what a page about the graph has in words and tables, less of each.
func (r *Graph) Write(w io.Writer) error {
	f := r.withoutWeak().findings()
	for _, text := range append(f.verdict(), f.Careful()...) {
		fmt.Fprintln(w, text)
	}
	if len(f.Forecast) > 0 {
		fmt.Fprintln(w, say("forecasts", f))
	}
	for _, t := range []struct {
		name string
		most int
	}{{"edges.csv", 15}, {"nodes.csv", 8}, {"simultaneous.csv", 8}, {"forecasts.csv", len(f.Forecast)}} {
		rows := words.Table(t.name, f)
		if len(rows.Rows) == 0 {
			continue
		}
		fmt.Fprintln(w)
		if err := rows.WriteText(w, t.most); err != nil {
			return status.Failure(err)
		}
	}
	return Report(w, "graph end", f.Graph)
}

// Careful are sentences about what the series violate.
func (f *findings) Careful() (texts []string) {
	for _, what := range []string{granger.Memory, granger.Spread, granger.Wander} {
		var names []string
		for _, q := range f.Doubts {
			if q.What == what {
				names = append(names, q.Series)
			}
		}
		if names != nil {
			texts = append(texts, say(what, names))
		}
	}
	for _, name := range []string{"simultaneous", "relaxing", "missing"} {
		if text := say(name, f); text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}

// graphFormats are those of the graph alone, by the endings of names; .json is the whole report.
var graphFormats = map[string]func(res *granger.Result, w io.Writer, threshold float64) error{
	".csv": (*granger.Result).WriteCSV, ".graphml": (*granger.Result).WriteGraphML,
	".dot": (*granger.Result).WriteDOT, ".gv": (*granger.Result).WriteDOT,
}

// CheckGraph refuses names of files that mean a format graphs are not written in; "" is no file.
func CheckGraph(path string) error {
	ext := strings.ToLower(filepath.Ext(path))
	if path == "" || ext == ".json" || graphFormats[ext] != nil {
		return nil
	}
	return fmt.Errorf("--out %s: graphs are written as .csv, .json, .dot or .graphml", path)
}

// WriteGraph writes the graph in the format of the name of the file; nothing for no name.
func WriteGraph(path string, res *granger.Result, report *Graph, threshold float64) error {
	if path == "" {
		return nil
	}
	return atomicfile.Write(path, func(w io.Writer) error {
		if write := graphFormats[strings.ToLower(filepath.Ext(path))]; write != nil {
			return write(res, w, threshold)
		}
		enc := json.NewEncoder(w)
		enc.SetIndent("", " ")
		return enc.Encode(report)
	})
}

// GraphFigures are the graph as a heat map of targets by sources, and as a network.
func GraphFigures(res *granger.Result, threshold float64) []picture.Figure {
	n := len(res.Nodes)
	h := picture.Heat{X: "source", Y: "target", Matrix: blas.NewGeneral(n, n), Names: res.Nodes}
	for _, l := range res.Links(0) { // own history is left out
		h.Matrix.Data[l.Target*n+l.Source], h.Max = l.Evidence(), max(h.Max, l.Evidence())
	}
	h.Max = cmp.Or(h.Max, 1)
	what := "norm"
	if res.Relaxing {
		what = "probability"
	}
	h.Title = fmt.Sprintf("%s of source → target, 0 (black) to %.3g", what, h.Max)
	net := picture.Network{Title: "who drives whom: width by " + what, Nodes: res.Nodes}
	for _, l := range res.Links(threshold) {
		net.Edges = append(net.Edges, picture.Edge{From: l.Source, To: l.Target, Strength: l.Evidence()})
	}
	return []picture.Figure{h.Figure("graph"), net.Figure("network")}
}
