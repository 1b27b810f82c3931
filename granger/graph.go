// This file writes graphs as DOT and GraphML.

package granger

import (
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/template"

	"gonum.org/v1/gonum/graph"
	"gonum.org/v1/gonum/graph/encoding"
	"gonum.org/v1/gonum/graph/encoding/dot"
	"gonum.org/v1/gonum/graph/simple"
)

// vertex and arrow carry names and weights into gonum's graph encoders.
type vertex struct {
	id   int64
	name string
}

func (v vertex) ID() int64     { return v.id }
func (v vertex) DOTID() string { return `"` + quoter.Replace(v.name) + `"` }

// quoter escapes what a quoted string of Graphviz must escape; letters of all alphabets stay.
var quoter = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

type arrow struct {
	graph.WeightedEdge
	link Link
	top  float64 // largest strength, for line widths
}

func (a arrow) Attributes() []encoding.Attribute {
	list := []encoding.Attribute{
		{Key: "weight", Value: format(a.Weight())},
		{Key: "penwidth", Value: strconv.FormatFloat(0.5+4*a.Weight()/a.top, 'f', 2, 64)},
	}
	if a.link.Frequency != nil {
		list = append(list, encoding.Attribute{Key: "frequency", Value: format(*a.link.Frequency)})
	}
	if a.link.PValue != nil {
		list = append(list, encoding.Attribute{Key: "p_value", Value: format(*a.link.PValue)})
	}
	return list
}

func format(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// Directed is the graph in gonum's terms: node k is Nodes[k], an edge j → i has
// weight G_ij, and only those between different nodes above the threshold are in it.
func (r *Result) Directed(threshold float64) *simple.WeightedDirectedGraph {
	g := simple.NewWeightedDirectedGraph(0, 0)
	for i, name := range r.Nodes {
		g.AddNode(vertex{int64(i), name})
	}
	links := r.Links(threshold)
	for _, l := range links {
		g.SetWeightedEdge(arrow{
			g.NewWeightedEdge(g.Node(int64(l.Source)), g.Node(int64(l.Target)), l.Strength), l, links[0].Strength,
		})
	}
	return g
}

// WriteDOT writes the edges above the threshold in Graphviz's language, line
// widths growing with strength.
func (r *Result) WriteDOT(w io.Writer, threshold float64) error {
	b, err := dot.Marshal(r.Directed(threshold), "granger", "", "  ")
	if err != nil {
		return fmt.Errorf("granger: %w", err)
	}
	_, err = w.Write(append(b, '\n'))
	return err
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
