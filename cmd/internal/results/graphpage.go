package results

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math"
	"path/filepath"
	"slices"

	"gonum.org/v1/plot/plotter"

	"github.com/iokl/iokl/internal/files/page"
	"github.com/iokl/iokl/internal/files/picture"
)

// Page is the page of a causal graph: the network beside the table of edges, tools that filter both, and what is known
// of them.
func (r *Graph) Page(path string) Subject {
	f := r.withoutWeak().findings()
	h := fnv.New32a()
	h.Write([]byte(path))
	edges, at, texts := words.Table("edges.csv", f), f.places(), f.InWords()
	edges.ID, edges.Sort, edges.File = fmt.Sprintf("edges-%x", h.Sum32()), true, "edges.csv"
	w := &picture.Network{Title: fmt.Sprintf("%d arrows from cause to effect", len(f.Edges)), Nodes: f.Nodes}
	for k, e := range f.Edges {
		line := fmt.Sprintf("%s-%d", edges.ID, k)
		edges.Rows[k].Data, edges.Rows[k].Title = line, texts[k]
		w.Edges = append(w.Edges, picture.Edge{
			From: at[e.From], To: at[e.To], Strength: e.Norm, Dash: f.How(k) == "lowers", Line: line, Note: texts[k],
		})
	}
	return Subject{
		name: filepath.Base(path), kind: "Causal graph", verdict: f.verdict(), figures: words.Facts("graph figures", f),
		sections: words.Sections("graph page", f, map[string]page.Block{
			"tools": page.Tools(edges.ID, filters(f, edges)), "network": page.Network(w), "edges": edges.Block(),
			"curves": page.SmallCharts(f.Curves()), "ahead": page.SmallCharts(ahead(f)),
		}),
	}
}

// filters choose edges of the table; where some edge can be relied on, those that can.
func filters(f *findings, t *page.Table) []page.Tool {
	top := 0.0
	for _, e := range f.Edges {
		top = max(top, e.Norm)
	}
	top = ceiling(cmp.Or(top, 1))
	often, unlikely := 0.0, 1.0
	if f.Reliable() {
		often, unlikely = 100*oftenSelected, smallP
	}
	tools := []page.Tool{
		{Label: "name contains", Rule: "has"},
		{Label: "norm at least", Column: 2, Rule: "least", Max: top, Step: top / 100},
	}
	if f.StabilityRounds > 0 {
		tools = append(tools, page.Tool{
			Label: "selected in at least (%)", Column: slices.Index(t.Head, "selected"), Rule: "least",
			Max: 100, Step: 1, Value: often,
		})
	}
	if f.NullRounds > 0 {
		tools = append(tools, page.Tool{
			Label: "p at most", Column: slices.Index(t.Head, "p"), Rule: "most", Max: 1, Step: 0.005, Value: unlikely,
		})
	}
	if f.Lag > 1 {
		steps := page.Tool{Label: "after steps", Column: slices.Index(t.Head, "after steps")}
		for k := range f.Lag {
			steps.Options = append(steps.Options, fmt.Sprint(k+1))
		}
		tools = append(tools, steps)
	}
	return tools
}

// ceiling is v with two digits, rounded up.
func ceiling(v float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(v))-1)
	return math.Ceil(v/unit) * unit
}

// mostSmall is the number of small charts in a section.
const mostSmall = 12

// Curves show how the strongest edges act, and at which lags.
func (r *Graph) Curves() (figures []picture.Figure) {
	for _, q := range r.Responses[:min(mostSmall, len(r.Responses))] {
		if len(q.At) == 0 {
			continue
		}
		f := picture.Chart{
			Title: q.From + " → " + q.To, X: q.From + ", " + page.Counted(q.Delay, "step") + " before",
			Y: "standard deviations", Curves: []picture.Curve{{Line: true, XY: picture.XY(q.At, q.Effect)}},
		}.Figures("")
		f[0].Legend = nil
		figures = append(figures, f...)
	}
	return figures
}

// nodeRow is what a node gives and takes, and its errors, on the model and on its own past alone.
type nodeRow struct {
	Node           string
	Out, In        float64
	Drives, Driven int
	Errors         []*float64
}

// NodeRows are the nodes, those that drive others most first.
func (r *Graph) NodeRows() (rows []nodeRow) {
	at := r.places()
	for _, c := range r.Central {
		i, known := at[c.Node]
		if !known {
			continue
		}
		row := nodeRow{Node: c.Node, Out: c.Out, In: c.In, Errors: []*float64{r.RMSE[i], r.RMSEOwn[i]}}
		for _, e := range r.Edges {
			if e.From == c.Node {
				row.Drives++
			}
			if e.To == c.Node {
				row.Driven++
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// ahead are charts of the forecasts of the first series, with their intervals.
func ahead(f *findings) (figures []picture.Figure) {
	var charts []*picture.Chart
	for _, q := range f.Forecast {
		k := slices.IndexFunc(charts, func(c *picture.Chart) bool { return c.Title == q.Series })
		if k < 0 {
			k, charts = len(charts), append(charts, &picture.Chart{
				Title: q.Series, X: "steps after the last row", Y: q.Series,
				Curves: []picture.Curve{
					{Name: "forecast", Line: true},
					{Name: "from", Line: true},
					{Name: "to", Line: true},
				},
			})
		}
		for i, v := range []float64{q.Value, q.Lo, q.Hi} {
			curve := &charts[k].Curves[i]
			curve.XY = append(curve.XY, plotter.XY{X: float64(q.Step), Y: v})
		}
	}
	for _, c := range charts[:min(mostSmall, len(charts))] {
		c.DropShort()
		figures = append(figures, c.Figures("")...)
	}
	return figures
}
