package results

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"path/filepath"
	"slices"

	"gonum.org/v1/plot/plotter"

	"github.com/iokl/iokl/granger"
	"github.com/iokl/iokl/internal/files/page"
	"github.com/iokl/iokl/internal/files/picture"
)

// check refuses a report that granger did not print.
func (r *Graph) check() error {
	n := len(r.Nodes)
	for _, m := range [][][]float64{r.Graph, r.Frequency, r.PValues} {
		if m == nil {
			continue
		}
		if len(m) != n || slices.ContainsFunc(m, func(row []float64) bool { return len(row) != n }) {
			return errors.New("its matrices do not fit its nodes")
		}
	}
	at := r.places()
	for _, e := range r.Edges {
		_, from := at[e.From]
		if _, to := at[e.To]; !from || !to || !(e.Strength > 0 || e.Probability != nil) {
			return fmt.Errorf("its edge %s → %s is none of the graph", e.From, e.To)
		}
	}
	for k, q := range r.Responses {
		if k >= len(r.Edges) || q.From != r.Edges[k].From || q.To != r.Edges[k].To || len(q.At) != len(q.Effect) ||
			q.Delay < 1 || q.Delay > len(q.Lags) {
			return fmt.Errorf("its response %s → %s is not that of its edge", q.From, q.To)
		}
	}
	if n == 0 || r.Graph == nil || len(r.RMSE) != n || len(r.RMSEOwn) != n ||
		r.Explained != nil && len(r.Explained) != n {
		return errors.New("nodes, graph or errors are missing")
	}
	return nil
}

// places are the numbers of the nodes by their names.
func (r *Graph) places() map[string]int {
	at := make(map[string]int, len(r.Nodes))
	for i, name := range r.Nodes {
		at[name] = i
	}
	return at
}

// response is how the cause of edge k acts, nil where that was not computed.
func (r *Graph) response(k int) *granger.Response {
	if k < len(r.Responses) {
		return &r.Responses[k]
	}
	return nil
}

// Steps is the delay of edge k in steps, "" where that is not known.
func (r *Graph) Steps(k int) string {
	switch q := r.response(k); {
	case q != nil:
		return fmt.Sprint(q.Delay)
	case r.Lag == 1:
		return "1"
	}
	return ""
}

// How says in which direction edge k moves its target.
func (r *Graph) How(k int) string {
	q := r.response(k)
	if q == nil || len(q.Effect) == 0 {
		return ""
	}
	return directions[trendWord(q.Effect)]
}

// directions is what a cause does to its effect by how the curve of that runs.
var directions = map[string]string{
	"rises": "raises", "falls": "lowers", "stays the same": "no direction", "rises, then falls": "raises, then lowers",
	"falls, then rises": "lowers, then raises",
}

// InWords are the edges in words.
func (r *Graph) InWords() (texts []string) {
	for k, e := range r.Edges {
		texts = append(texts, say("edge", struct {
			granger.Link
			Steps, How string
		}{e, r.Steps(k), r.How(k)}))
	}
	return texts
}

// visible is the least strength, or probability, of an edge on a page, relative to the strongest: weights that converge
// to zero are above zero when a fit ends.
const visible = 0.01

// withoutWeak is the report of what a page shows.
func (r Graph) withoutWeak() *Graph {
	top, at := 0.0, r.places()
	weight := func(e granger.Link) float64 { return r.Graph[at[e.To]][at[e.From]] }
	for _, e := range r.Edges {
		top = max(top, weight(e))
	}
	edges, known := r.Edges, r.Responses
	r.Edges, r.Responses = nil, nil
	for k, e := range edges {
		if weight(e) < visible*top {
			continue
		}
		if r.Edges = append(r.Edges, e); k < len(known) && len(r.Responses) == len(r.Edges)-1 {
			r.Responses = append(r.Responses, known[k])
		}
	}
	return &r
}

// idle are the nodes of which the model explains nothing on held-out time points.
func (r *Graph) idle() (names []string) {
	for i, part := range r.Explained {
		if part != nil && *part == 0 {
			names = append(names, r.Nodes[i])
		}
	}
	return names
}

// findings are what sentences about a graph say beside its own numbers.
type findings struct {
	*Graph
	Possible                       int
	First                          string   // the first edge to a node that is not idle
	Idle                           []string // see idle
	Selected, Unlikely             []string // edges confirmed by resamples, and by shifts
	ByChance                       float64  // expected number of the latter without any influence
	FewShifts                      bool
	Gains                          *gains
	Ahead, BetterThanLast, Windows int
}

// gains are the nodes, of those held out, whose forecasts the others' past improves.
type gains struct {
	Better, Held int
	Helped       []string
}

// findings counts the edges that resamples and shifts confirm, and the forecasts that are better than others.
func (r *Graph) findings() *findings {
	n := len(r.Nodes)
	f := &findings{
		Graph: r, Possible: n * (n - 1), ByChance: smallP * float64(n*(n-1)), FewShifts: r.NullRounds < leastShifts,
		Idle: r.idle(), Gains: r.gains(), Windows: r.Missing + r.Samples,
	}
	texts := r.InWords()
	for k, e := range r.Edges {
		if f.First == "" && !slices.Contains(f.Idle, e.To) {
			f.First = texts[k]
		}
		if e.Frequency != nil && *e.Frequency >= oftenSelected {
			f.Selected = append(f.Selected, e.From+" → "+e.To)
		}
		if e.PValue != nil && *e.PValue <= smallP {
			f.Unlikely = append(f.Unlikely, e.From+" → "+e.To)
		}
	}
	for _, q := range r.Forecast {
		if f.Ahead = q.Step; q.RMSE < q.Last {
			f.BetterThanLast++
		}
	}
	return f
}

// verdict says what was found, and how sure it is.
func (f *findings) verdict() []string {
	return []string{say("influences", f), say("strongest", f), say("sureness", f)}
}

// gains are those of --improvement, beside models of a node's own past; nil where nothing was held out.
func (r *Graph) gains() *gains {
	g := &gains{Held: len(r.Improvement)}
	for _, q := range r.Improvement {
		if q.RMSE < q.Own {
			g.Better++
			g.Helped = append(g.Helped, fmt.Sprintf("%s (error −%.1f %%)", q.Node, 100*(1-q.RMSE/q.Own)))
		}
	}
	for i := range r.RMSE {
		if r.Improvement == nil && r.RMSE[i] != nil && r.RMSEOwn[i] != nil {
			g.Held++
			if *r.RMSE[i] < *r.RMSEOwn[i] {
				g.Better++
			}
		}
	}
	if g.Held == 0 {
		return nil
	}
	return g
}

// An edge can be relied on where so many resamples select it, and chance makes one as large so rarely.
const oftenSelected, smallP, leastShifts = 0.9, 0.05, 19

// Reliable reports whether some edge passes.
func (r *Graph) Reliable() bool { return slices.ContainsFunc(r.Edges, passes) }

// passes reports whether resamples or shifts were measured for an edge, and all that were confirm it.
func passes(e granger.Link) bool {
	return (e.Frequency != nil || e.PValue != nil) && (e.Frequency == nil || *e.Frequency >= oftenSelected) &&
		(e.PValue == nil || *e.PValue <= smallP)
}

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
			From: at[e.From], To: at[e.To], Strength: e.Evidence(),
			Dash: f.How(k) == "lowers", Line: line, Note: texts[k],
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
