package results

import (
	"errors"
	"fmt"
	"slices"

	"github.com/iokl/iokl/granger"
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
		if _, to := at[e.To]; !from || !to || !(e.Strength > 0) {
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

// response is how edge k acts, nil where that was not asked.
func (r *Graph) response(k int) *granger.Response {
	if k < len(r.Responses) {
		return &r.Responses[k]
	}
	return nil
}

// Steps is after how many steps edge k acts, "" where that is not known.
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

// visible is the part of the strongest edge's strength from which on an edge is on the page: weights that
// fall towards zero are above it when a fit ends.
const visible = 0.01

// withoutWeak is the report of what a page shows.
func (r Graph) withoutWeak() *Graph {
	top := 0.0
	for _, e := range r.Edges {
		top = max(top, e.Strength)
	}
	edges, known := r.Edges, r.Responses
	r.Edges, r.Responses = nil, nil
	for k, e := range edges {
		if e.Strength < visible*top {
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
	First                          string   // the edge of the largest norm, to a node that is not idle
	Idle                           []string // see idle
	Selected, Unlikely             []string // edges that resamples and shifts stand for
	ByChance                       float64  // of the latter
	FewShifts                      bool
	Gains                          *gains
	Ahead, BetterThanLast, Windows int
}

// gains are the nodes, of those held out, whose forecasts the others' past improves.
type gains struct {
	Better, Held int
	Helped       []string
}

// findings compares what was measured with what edges can be relied on for.
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

// passes reports whether an edge can be relied on by all that was measured about it, which something was.
func passes(e granger.Link) bool {
	return (e.Frequency != nil || e.PValue != nil) && (e.Frequency == nil || *e.Frequency >= oftenSelected) &&
		(e.PValue == nil || *e.PValue <= smallP)
}
