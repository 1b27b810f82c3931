// This file writes graphs as CSV, JSON, DOT, GraphML and lists of edges.

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
	Strength float64 `json:"strength"` // G_ij
	Norm     float64 `json:"norm"`     // of source j's part of the model of i: its element of Result.Sizes
	// share of resamples that select it, where Result.Stability is known
	Frequency *float64 `json:"frequency,omitempty"`
	PValue    *float64 `json:"p_value,omitempty"` // of the permutation null, where Result.Null is known
	Source    int      `json:"-"`                 // the number of the node From
	Target    int      `json:"-"`                 // the number of the node To
}

// Links lists the edges between different nodes whose strength is above the threshold, those of the largest norm first:
// strengths are shares of the causes of one node, also where nothing drives it.
func (r *Result) Links(threshold float64) []Link {
	frequency, p := r.confidence()
	sizes := r.Sizes
	if sizes.Rows == 0 {
		sizes = r.Norms
	}
	var links []Link
	for i, to := range r.Nodes {
		for j, from := range r.Nodes {
			if g := r.Graph.Data[i*r.Graph.Stride+j]; i != j && g > threshold {
				links = append(links, Link{
					from, to, g, sizes.Data[i*sizes.Stride+j], entry(frequency, i, j), entry(p, i, j), j, i,
				})
			}
		}
	}
	slices.SortStableFunc(links, func(a, b Link) int { return cmp.Compare(b.Norm, a.Norm) })
	return links
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
	return &a.Data[i*a.Stride+j]
}

// Central is what a node gives and takes: the sums of its column and its row of
// the graph over the edges above a threshold, the diagonal left out.
type Central struct {
	Node   string  `json:"node"`
	Out    float64 `json:"out"`    // how much it drives others
	In     float64 `json:"in"`     // how much others drive it
	Drives int     `json:"drives"` // how many
	Driven int     `json:"driven"` // by how many
}

// Central lists the nodes, those that drive others most first: by the sum of the norms of their edges.
func (r *Result) Central(threshold float64) []Central {
	nodes := make([]Central, len(r.Nodes))
	for i, name := range r.Nodes {
		nodes[i].Node = name
	}
	size := map[string]float64{}
	for _, l := range r.Links(threshold) {
		size[l.From] += l.Norm
		nodes[l.Source].Out += l.Strength
		nodes[l.Source].Drives++
		nodes[l.Target].In += l.Strength
		nodes[l.Target].Driven++
	}
	slices.SortStableFunc(nodes, func(a, b Central) int { return cmp.Compare(size[b.Node], size[a.Node]) })
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
		Samples int         `json:"samples"`
		Lag     int         `json:"lag"`
		Fits    []fit       `json:"fits"`

		Stability *Counts `json:"stability,omitempty"`
		Null      *Counts `json:"null,omitempty"`
	}{
		r.Nodes, rowsOf(r.Graph), rowsOf(r.Norms), rowsOf(r.Sizes), r.Kernels, r.Samples, r.Lag, fits, r.Stability,
		r.Null,
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
	"width": func(norm, top float64) string { return strconv.FormatFloat(0.5+4*norm/top, 'f', 2, 64) },
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
    penwidth={{width .Norm $.Top}}
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
// widths growing with the norm.
func (r *Result) WriteDOT(w io.Writer, threshold float64) error {
	links, top := r.Links(threshold), math.SmallestNonzeroFloat64
	for _, l := range links {
		top = max(top, l.Norm)
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

// WriteGraphML writes the edges above the threshold with strength, norm, and what is known of frequencies and p-values.
func (r *Result) WriteGraphML(w io.Writer, threshold float64) error {
	return graphML.Execute(w, map[string]any{
		"Keys": []string{"strength", "norm", "frequency", "p_value"}, "Nodes": r.Nodes, "Links": r.Links(threshold),
	})
}
