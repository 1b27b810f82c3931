// This file writes graphs as DOT and GraphML.

package granger

import (
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"

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

// WriteGraphML writes the edges above the threshold with strength, norm, and what is known
// of frequencies and p-values. A node's name is its data, as an id must not hold blanks.
func (r *Result) WriteGraphML(w io.Writer, threshold float64) error {
	type data struct {
		Key   string `xml:"key,attr"`
		Value string `xml:",chardata"`
	}
	type key struct {
		ID   string `xml:"id,attr"`
		For  string `xml:"for,attr"`
		Name string `xml:"attr.name,attr"`
		Type string `xml:"attr.type,attr"`
	}
	type node struct {
		ID   string `xml:"id,attr"`
		Data []data `xml:"data"`
	}
	type edge struct {
		Source string `xml:"source,attr"`
		Target string `xml:"target,attr"`
		Data   []data `xml:"data"`
	}
	type graphml struct {
		XMLName xml.Name `xml:"http://graphml.graphdrawing.org/xmlns graphml"`
		Keys    []key    `xml:"key"`
		Graph   struct {
			ID      string `xml:"id,attr"`
			Default string `xml:"edgedefault,attr"`
			Nodes   []node `xml:"node"`
			Edges   []edge `xml:"edge"`
		} `xml:"graph"`
	}
	doc := graphml{Keys: []key{
		{"name", "node", "name", "string"},
		{"strength", "edge", "strength", "double"},
		{"norm", "edge", "norm", "double"},
		{"frequency", "edge", "frequency", "double"},
		{"p_value", "edge", "p_value", "double"},
	}}
	doc.Graph.ID, doc.Graph.Default = "granger", "directed"
	id := map[string]string{}
	for i, name := range r.Nodes {
		id[name] = "n" + strconv.Itoa(i)
		doc.Graph.Nodes = append(doc.Graph.Nodes, node{id[name], []data{{"name", name}}})
	}
	for _, l := range r.Links(threshold) {
		e := edge{id[l.From], id[l.To], []data{{"strength", format(l.Strength)}, {"norm", format(l.Norm)}}}
		if l.Frequency != nil {
			e.Data = append(e.Data, data{"frequency", format(*l.Frequency)})
		}
		if l.PValue != nil {
			e.Data = append(e.Data, data{"p_value", format(*l.PValue)})
		}
		doc.Graph.Edges = append(doc.Graph.Edges, e)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(doc); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
