package granger

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/iokl/iokl/blas"
)

// Link is an edge of the graph found, From → To.
type Link struct {
	From     string  `json:"from"`
	To       string  `json:"to"`
	Strength float64 `json:"strength"` // its element of Result.Strength
	Norm     float64 `json:"norm"`     // of source j's part of the model of i: its element of Result.Sizes
	// that the edge is in the models of relaxations, where the replicates relax
	Probability *float64 `json:"probability,omitempty"`
	// share of resamples that select it, where Result.Stability is known
	Frequency *float64 `json:"frequency,omitempty"`
	PValue    *float64 `json:"p_value,omitempty"` // of the permutation null, where Result.Null is known
	Source    int      `json:"-"`                 // the number of the node From
	Target    int      `json:"-"`                 // the number of the node To
}

// Links lists the edges between different nodes whose element of Graph is above the threshold: in descending order of
// probability if these are known, and otherwise of the norm. Strengths would not do for it: they are shares within one
// target, also for a target that no source drives.
func (r *Result) Links(threshold float64) []Link {
	frequency, p := r.confidence()
	var links []Link
	for i, to := range r.Nodes {
		for j, from := range r.Nodes {
			if i != j && *entry(r.Graph, i, j) > threshold {
				links = append(links, Link{
					From: from, To: to, Strength: *entry(r.Strength, i, j), Norm: *entry(r.Sizes, i, j),
					Probability: entry(r.Probability, i, j), Frequency: entry(frequency, i, j),
					PValue: entry(p, i, j), Source: j, Target: i,
				})
			}
		}
	}
	slices.SortStableFunc(links, func(a, b Link) int {
		return cmp.Or(cmp.Compare(b.Evidence(), a.Evidence()), cmp.Compare(b.Norm, a.Norm))
	})
	return links
}

// Evidence is the number by which links are ranked: the probability if it is known, and otherwise the norm.
func (l *Link) Evidence() float64 {
	if l.Probability != nil {
		return *l.Probability
	}
	return l.Norm
}

// confidence is the frequencies and the p-values, empty where they are not known.
func (r *Result) confidence() (frequency, p blas.General) {
	if r.Stability != nil {
		frequency = r.Stability.Frequency()
	}
	if r.Null != nil {
		p = r.Null.PValues()
	}
	return frequency, p
}

func entry(a blas.General, i, j int) *float64 {
	if a.Rows == 0 {
		return nil
	}
	return &blas.Row(a, i)[j]
}

// Central sums up the edges of a node above a threshold: the sums of its column and of its row of the graph, without
// the diagonal.
type Central struct {
	Node   string  `json:"node"`
	Out    float64 `json:"out"`    // how much it drives others
	In     float64 `json:"in"`     // how much others drive it
	Drives int     `json:"drives"` // how many
	Driven int     `json:"driven"` // by how many
}

// Central lists the nodes by the sum of the [Link.Evidence] of their outgoing edges, the largest first.
func (r *Result) Central(threshold float64) []Central {
	nodes := make([]Central, len(r.Nodes))
	for i, name := range r.Nodes {
		nodes[i].Node = name
	}
	total := map[string]float64{}
	for _, l := range r.Links(threshold) {
		total[l.From] += l.Evidence()
		nodes[l.Source].Out += l.Strength
		nodes[l.Source].Drives++
		nodes[l.Target].In += l.Strength
		nodes[l.Target].Driven++
	}
	slices.SortStableFunc(nodes, func(a, b Central) int { return cmp.Compare(total[b.Node], total[a.Node]) })
	return nodes
}

// WriteCSV writes the graph as a table: a header of sources, and a row for every
// target. Entries between different nodes that are not above the threshold are 0.
func (r *Result) WriteCSV(w io.Writer, threshold float64) error {
	lines := [][]string{append([]string{"target"}, r.Nodes...)}
	for i, name := range r.Nodes {
		line := []string{name}
		for j, v := range blas.Row(r.Graph, i) {
			if i != j && !(v > threshold) {
				v = 0
			}
			line = append(line, strconv.FormatFloat(v, 'g', -1, 64))
		}
		lines = append(lines, line)
	}
	return csv.NewWriter(w).WriteAll(lines)
}

// MarshalJSON writes nodes, the graph and the norms as rows of targets, and the fits.
func (r *Result) MarshalJSON() ([]byte, error) {
	type fit struct {
		Fit
		RMSE      *float64    `json:"rmse,omitempty"` // absent without hold-out
		RMSEOwn   *float64    `json:"rmse_own,omitempty"`
		Explained *float64    `json:"explained,omitempty"`
		L         [][]float64 `json:"l,omitempty"`
	}
	fits := make([]fit, len(r.Fits))
	for i, f := range r.Fits {
		fits[i].Fit = f
		if !math.IsNaN(f.RMSE) {
			fits[i].RMSE, fits[i].RMSEOwn, fits[i].Explained = &f.RMSE, &f.RMSEOwn, &f.Explained
		}
		if f.L != nil {
			at := f.L.Elements()
			for a := range f.L.Dim() {
				row := make([]float64, f.L.Dim())
				for b := range row {
					row[b] = at(a, b)
				}
				fits[i].L = append(fits[i].L, row)
			}
		}
	}
	return json.Marshal(struct {
		Nodes   []string    `json:"nodes"`
		Graph   [][]float64 `json:"graph"` // row = target, column = source
		Norms   [][]float64 `json:"norms"`
		Sizes   [][]float64 `json:"sizes"`
		Kernels []string    `json:"kernels"`

		Strength    [][]float64 `json:"strength"`
		Probability [][]float64 `json:"probability,omitempty"`

		Samples int   `json:"samples"`
		Lag     int   `json:"lag"`
		Fits    []fit `json:"fits"`

		Stability *Counts `json:"stability,omitempty"`
		Null      *Counts `json:"null,omitempty"`
	}{
		r.Nodes, rowsOf(r.Graph), rowsOf(r.Norms), rowsOf(r.Sizes), r.Kernels, rowsOf(r.Strength),
		rowsOf(r.Probability), r.Samples, r.Lag, fits, r.Stability, r.Null,
	})
}

func rowsOf(a blas.General) [][]float64 {
	rows := make([][]float64, a.Rows)
	for i := range rows {
		rows[i] = blas.Row(a, i)
	}
	return rows
}

func format(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// quoter escapes what a quoted string of Graphviz must escape; letters of all alphabets stay.
var quoter = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// dot is the graph in Graphviz's language.
var dot = template.Must(template.New("dot").Funcs(template.FuncMap{
	"format": format, "quote": func(s string) string { return `"` + quoter.Replace(s) + `"` },
	"width": func(v, top float64) string { return strconv.FormatFloat(0.5+4*v/top, 'f', 2, 64) },
}).Parse(`strict digraph granger {
  // Node definitions.
{{- range .Nodes}}
  {{quote .}};
{{- end}}
{{- if .Links}}

  // Edge definitions.
{{- end}}
{{- range .Links}}
  {{quote .From}} -> {{quote .To}} [
    weight={{format .Strength}}
    penwidth={{width .Evidence $.Top}}
{{- with .Probability}}
    probability={{format .}}
{{- end}}
{{- with .Frequency}}
    frequency={{format .}}
{{- end}}
{{- with .PValue}}
    p_value={{format .}}
{{- end}}
  ];
{{- end}}
}
`))

// WriteDOT writes the edges above the threshold in Graphviz's language, line
// widths growing with [Link.Evidence].
func (r *Result) WriteDOT(w io.Writer, threshold float64) error {
	links, top := r.Links(threshold), math.SmallestNonzeroFloat64
	if len(links) > 0 {
		top = max(top, links[0].Evidence())
	}
	slices.SortFunc(links, func(a, b Link) int { return cmp.Or(a.Source-b.Source, a.Target-b.Target) })
	return dot.Execute(w, map[string]any{"Nodes": r.Nodes, "Links": links, "Top": top})
}

// graphML is the document of a graph; a node's name is its data, as an id must not hold blanks.
var graphML = template.Must(template.New("graphml").Funcs(template.FuncMap{"format": format, "text": escaped}).Parse(
	xml.Header + `<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="name" for="node" attr.name="name" attr.type="string"></key>
{{- range .Keys}}
  <key id="{{.}}" for="edge" attr.name="{{.}}" attr.type="double"></key>
{{- end}}
  <graph id="granger" edgedefault="directed">
{{- range $i, $name := .Nodes}}
    <node id="n{{$i}}">
      <data key="name">{{text $name}}</data>
    </node>
{{- end}}
{{- range .Links}}
    <edge source="n{{.Source}}" target="n{{.Target}}">
      <data key="strength">{{format .Strength}}</data>
      <data key="norm">{{format .Norm}}</data>
{{- with .Probability}}
      <data key="probability">{{format .}}</data>
{{- end}}
{{- with .Frequency}}
      <data key="frequency">{{format .}}</data>
{{- end}}
{{- with .PValue}}
      <data key="p_value">{{format .}}</data>
{{- end}}
    </edge>
{{- end}}
  </graph>
</graphml>
`))

func escaped(s string) (string, error) {
	var b strings.Builder
	err := xml.EscapeText(&b, []byte(s))
	return b.String(), err
}

// WriteGraphML writes the edges above the threshold with their strengths and norms, and with their probabilities,
// frequencies and p-values where these are known.
func (r *Result) WriteGraphML(w io.Writer, threshold float64) error {
	return graphML.Execute(w, map[string]any{
		"Keys":  []string{"strength", "norm", "probability", "frequency", "p_value"},
		"Nodes": r.Nodes, "Links": r.Links(threshold),
	})
}
