// This file has the sections of a page about a causal graph.

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

// Page is the page of a causal graph.
func (r *Graph) Page(path string) Subject {
	s, r := Subject{name: filepath.Base(path), kind: "Causal graph"}, r.withoutWeak()
	s.verdict, s.figures = r.verdict(), facts("graph figures", r)
	h := fnv.New32a()
	h.Write([]byte(path))
	id := fmt.Sprintf("edges-%x", h.Sum32())
	nodes := section("nodes", "Node by node", page.Classed("soft", "Errors are root mean squares on held-out time "+
		"points, in standard deviations of each series."), nodeTable(r).HTML())
	doubted := section("doubts", "What to be careful about", page.List(r.doubtTexts()))
	s.add(explorer(r, id), inWords(r), responses(r), nodes, simultaneous(r), doubted, ahead(r))
	s.add(rerun(r.Command, facts("graph settings", r)))
	return s
}

// edgeTable has a row for each edge, and tells what is known of it.
func edgeTable(r *Graph, id string) *page.Table {
	t := &page.Table{ID: id, Sort: true, File: "edges.csv", Head: []string{"cause → effect", "strength", "norm"}}
	if r.Relaxing {
		t.Head = append(t.Head, "probability")
	}
	if r.StabilityRounds > 0 {
		t.Head = append(t.Head, selectedHead)
	}
	if r.NullRounds > 0 {
		t.Head = append(t.Head, chanceHead)
	}
	t.Head = append(t.Head, stepsHead, "how")
	for k, e := range r.Edges {
		cells := []page.Cell{
			{Text: e.From + " → " + e.To, Sort: e.From + " → " + e.To},
			{Text: fmt.Sprintf("%.4f", e.Strength), Sort: page.Key(e.Strength)},
			{Text: fmt.Sprintf("%.4f", e.Norm), Sort: page.Key(e.Norm)},
		}
		if r.Relaxing {
			cells = append(cells, optional(e.Probability, 1, "%.3f"))
		}
		if r.StabilityRounds > 0 {
			cells = append(cells, optional(e.Frequency, 100, "%.0f %%"))
		}
		if r.NullRounds > 0 {
			cells = append(cells, optional(e.PValue, 1, "%.3g"))
		}
		cells = append(cells, page.Cell{Text: r.steps(k), Sort: r.steps(k)}, page.Cell{Text: r.how(k), Sort: r.how(k)})
		t.Rows = append(t.Rows, page.Row{Cells: cells, Data: fmt.Sprintf("%s-%d", id, k), Title: r.edgeText(k)})
	}
	return t
}

// Headings of columns that edges are filtered by.
const selectedHead, chanceHead, stepsHead = "selected", "p", "after steps"

// filters choose edges of the table; where some edge can be relied on, those that can.
func filters(r *Graph, t *page.Table, reliable bool) []page.Tool {
	top := 0.0
	for _, e := range r.Edges {
		top = max(top, e.Norm)
	}
	top = ceiling(cmp.Or(top, 1))
	tools := []page.Tool{
		{Label: "name contains", Rule: "has"},
		{Label: "norm at least", Column: 2, Rule: "least", Max: top, Step: top / 100},
	}
	for column, head := range t.Head {
		tool := page.Tool{Column: column}
		switch {
		case head == selectedHead:
			tool.Label, tool.Rule, tool.Max, tool.Step = "selected in at least (%)", "least", 100, 1
			if reliable {
				tool.Value = 100 * oftenSelected
			}
		case head == chanceHead:
			tool.Label, tool.Rule, tool.Max, tool.Step, tool.Value = "p at most", "most", 1, 0.005, 1
			if reliable {
				tool.Value = smallP
			}
		case head == stepsHead && r.Lag > 1:
			tool.Label = "after steps"
			for k := range r.Lag {
				tool.Options = append(tool.Options, fmt.Sprint(k+1))
			}
		default:
			continue
		}
		tools = append(tools, tool)
	}
	return tools
}

// explorer is the network beside the table of edges, and what filters both.
func explorer(r *Graph, id string) page.Section {
	s := section("edges", "Who drives whom")
	if len(r.Edges) == 0 {
		return s
	}
	at, t := r.places(), edgeTable(r, id)
	w := picture.Network{Title: fmt.Sprintf("%d arrows from cause to effect", len(r.Edges)), Nodes: r.Nodes}
	for k, e := range r.Edges {
		w.Edges = append(w.Edges, picture.Edge{
			From: at[e.From], To: at[e.To], Strength: e.Evidence(),
			Dash: r.how(k) == "lowers", Line: t.Rows[k].Data, Note: t.Rows[k].Title,
		})
	}
	reliable := slices.ContainsFunc(r.Edges, passes)
	s.Add(page.Classed("soft", say("arrows", reliable)))
	s.Add(page.Tools(id, filters(r, t, reliable)), w.HTML(), t.HTML())
	return s
}

// optional is a cell that may have no number.
func optional(v *float64, factor float64, format string) page.Cell {
	if v == nil {
		return page.Cell{Text: "–", Sort: "–"}
	}
	return page.Cell{Text: fmt.Sprintf(format, factor**v), Sort: page.Key(factor * *v)}
}

// ceiling is v with two digits, rounded up.
func ceiling(v float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(v))-1)
	return math.Ceil(v/unit) * unit
}

// inWords has a sentence for each of the strongest edges.
func inWords(r *Graph) page.Section {
	s := section("words", "The strongest influences in words")
	const most = 20
	var texts []string
	for k := range r.Edges[:min(most, len(r.Edges))] {
		texts = append(texts, r.edgeText(k))
	}
	s.Add(page.List(texts))
	if more := len(r.Edges) - most; more > 0 {
		s.Add(page.Classed("soft", fmt.Sprintf("%d more are in the table above.", more)))
	}
	return s
}

// responses show how the strongest edges act, and at which lags.
func responses(r *Graph) page.Section {
	s := section("responses", "How causes act")
	const most = 12
	var figures []picture.Figure
	for k := range r.Responses[:min(most, len(r.Responses))] {
		q := &r.Responses[k]
		if len(q.At) == 0 {
			continue
		}
		c := picture.Chart{
			Title: q.From + " → " + q.To, X: q.From + ", " + Counted(q.Delay, "step") + " before",
			Y: "standard deviations", Curves: []picture.Curve{{Name: "effect", Line: true}},
		}
		for i, x := range q.At {
			c.Curves[0].XY = append(c.Curves[0].XY, plotter.XY{X: x, Y: q.Effect[i]})
		}
		f := c.Figures("")
		f[0].Legend = nil
		figures = append(figures, f...)
	}
	if figures != nil {
		s.Add(page.Classed("soft", "What the model adds to the effect, in its standard deviations, at each value of "+
			"the cause, the other values of the cause at their mean."), page.SmallCharts(figures))
	}
	if r.Lag > 1 && len(r.Responses) > 0 {
		t := table("lags.csv", r)
		t.Caption = "How much the effect changes when the values so many steps back are shuffled in time, in " +
			"standard deviations of the effect:"
		s.Add(t.HTML())
	}
	return s
}

// nodeTable has what each node gives and takes, and its forecasts.
func nodeTable(r *Graph) *page.Table {
	t := &page.Table{Sort: true, File: "nodes.csv", Head: []string{
		"node", "drives", "strength in all", "driven by",
		"strength in all", "held-out error", "with its own past alone",
	}}
	at, drives, driven := r.places(), map[string]int{}, map[string]int{}
	for _, e := range r.Edges {
		drives[e.From]++
		driven[e.To]++
	}
	for _, c := range r.Central {
		i, known := at[c.Node]
		if !known {
			continue
		}
		row := page.Texts(c.Node, fmt.Sprint(drives[c.Node]), fmt.Sprintf("%.3f", c.Out), fmt.Sprint(driven[c.Node]),
			fmt.Sprintf("%.3f", c.In))
		row.Cells = append(row.Cells, optional(r.RMSE[i], 1, "%.3f"), optional(r.RMSEOwn[i], 1, "%.3f"))
		t.Rows = append(t.Rows, row)
	}
	return t
}

// simultaneous lists what moves together within a step.
func simultaneous(r *Graph) page.Section {
	s := section("simultaneous", "Moving together within one step")
	if len(r.Simultaneous) > 0 {
		s.Add(page.Text("These pairs move together faster than the series are sampled, or something that was not "+
			"observed drives both. The data do not tell which: no arrow is drawn for it."),
			table("simultaneous.csv", r).HTML())
	}
	return s
}

// ahead has the forecasts: a chart of each of the first series with its interval, and a table of all.
func ahead(r *Graph) page.Section {
	s := section("forecasts", "Forecasts")
	if len(r.Forecast) == 0 {
		return s
	}
	const most = 12
	var charts []*picture.Chart
	for _, f := range r.Forecast {
		k := slices.IndexFunc(charts, func(c *picture.Chart) bool { return c.Title == f.Series })
		if k < 0 {
			k, charts = len(charts), append(charts, &picture.Chart{
				Title: f.Series, X: "steps after the last row", Y: f.Series,
				Curves: []picture.Curve{
					{Name: "forecast", Line: true},
					{Name: "from", Line: true},
					{Name: "to", Line: true},
				},
			})
		}
		for i, v := range []float64{f.Value, f.Lo, f.Hi} {
			curve := &charts[k].Curves[i]
			curve.XY = append(curve.XY, plotter.XY{X: float64(f.Step), Y: v})
		}
	}
	var figures []picture.Figure
	for _, c := range charts[:min(most, len(charts))] {
		if len(c.Curves[0].XY) > 1 {
			figures = append(figures, c.Figures("")...)
		}
	}
	s.Add(page.Text(say("forecasts", r.findings())), page.SmallCharts(figures), table("forecasts.csv", r).HTML())
	return s
}
