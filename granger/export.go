package granger

import (
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/iokl/iokl/blas"
	"gonum.org/v1/gonum/graph"
	"gonum.org/v1/gonum/graph/encoding"
	"gonum.org/v1/gonum/graph/encoding/dot"
	"gonum.org/v1/gonum/graph/simple"
)

// Link is an edge of the graph found, From → To.
type Link struct {
	From     string  `json:"from"`
	To       string  `json:"to"`
	Strength float64 `json:"strength"` // G_ij
	Norm     float64 `json:"norm"`     // of source j's part of the model of i
}

// Links lists the edges between different nodes whose strength is above the
// threshold, the strongest first.
func (r *Result) Links(threshold float64) []Link {
	var links []Link
	for i, to := range r.Nodes {
		for j, from := range r.Nodes {
			if g := r.Graph.Data[i*r.Graph.Stride+j]; i != j && g > threshold {
				links = append(links, Link{from, to, g, r.Norms.Data[i*r.Norms.Stride+j]})
			}
		}
	}
	slices.SortStableFunc(links, func(a, b Link) int {
		switch {
		case a.Strength > b.Strength:
			return -1
		case a.Strength < b.Strength:
			return 1
		}
		return 0
	})
	return links
}

// Central is what a node gives and takes: the sums of its column and its row of
// the graph, the diagonal left out.
type Central struct {
	Node string  `json:"node"`
	Out  float64 `json:"out"` // how much it drives others
	In   float64 `json:"in"`  // how much others drive it
}

// Central lists the nodes, those that drive others most first.
func (r *Result) Central() []Central {
	nodes := make([]Central, len(r.Nodes))
	for i, name := range r.Nodes {
		nodes[i].Node = name
		for j := range r.Nodes {
			if i != j {
				nodes[i].In += r.Graph.Data[i*r.Graph.Stride+j]
				nodes[i].Out += r.Graph.Data[j*r.Graph.Stride+i]
			}
		}
	}
	slices.SortStableFunc(nodes, func(a, b Central) int {
		switch {
		case a.Out > b.Out:
			return -1
		case a.Out < b.Out:
			return 1
		}
		return 0
	})
	return nodes
}

// WriteCSV writes the graph as a table: a header of sources, and a row for every target.
func (r *Result) WriteCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	if err := c.Write(append([]string{"target"}, r.Nodes...)); err != nil {
		return err
	}
	for i, name := range r.Nodes {
		line := []string{name}
		for _, v := range blas.Row(r.Graph, i) {
			line = append(line, strconv.FormatFloat(v, 'g', -1, 64))
		}
		if err := c.Write(line); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

// MarshalJSON writes nodes, the graph and the norms as rows of targets, and the fits.
func (r *Result) MarshalJSON() ([]byte, error) {
	type fit struct {
		Fit
		RMSE    *float64    `json:"rmse,omitempty"` // absent without hold-out
		RMSEOwn *float64    `json:"rmse_own,omitempty"`
		L       [][]float64 `json:"l,omitempty"`
	}
	fits := make([]fit, len(r.Fits))
	for i, f := range r.Fits {
		fits[i].Fit = f
		if !math.IsNaN(f.RMSE) {
			fits[i].RMSE, fits[i].RMSEOwn = &f.RMSE, &f.RMSEOwn
		}
		if f.L != nil {
			n := f.L.Dim()
			L := blas.NewGeneral(n, n)
			f.L.Dense(blas.Active(), L)
			fits[i].L = rowsOf(L)
		}
	}
	return json.Marshal(struct {
		Nodes   []string    `json:"nodes"`
		Graph   [][]float64 `json:"graph"` // row = target, column = source
		Norms   [][]float64 `json:"norms"`
		Kernels []string    `json:"kernels"`
		Samples int         `json:"samples"`
		Lag     int         `json:"lag"`
		Fits    []fit       `json:"fits"`
	}{r.Nodes, rowsOf(r.Graph), rowsOf(r.Norms), r.Kernels, r.Samples, r.Lag, fits})
}

func rowsOf(a blas.General) [][]float64 {
	rows := make([][]float64, a.Rows)
	for i := range rows {
		rows[i] = blas.Row(a, i)
	}
	return rows
}

// vertex and arrow carry names and weights into gonum's graph encoders.
type vertex struct {
	id   int64
	name string
}

func (v vertex) ID() int64     { return v.id }
func (v vertex) DOTID() string { return strconv.Quote(v.name) }

type arrow struct {
	graph.WeightedEdge
	top float64 // largest strength, for line widths
}

func (a arrow) Attributes() []encoding.Attribute {
	return []encoding.Attribute{
		{Key: "weight", Value: formatStrength(a.Weight())},
		{Key: "penwidth", Value: strconv.FormatFloat(0.5+4*a.Weight()/a.top, 'f', 2, 64)},
	}
}

func formatStrength(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// Directed is the graph in gonum's terms: node k is Nodes[k], an edge j → i has
// weight G_ij, and only those between different nodes above the threshold are in it.
func (r *Result) Directed(threshold float64) *simple.WeightedDirectedGraph {
	g := simple.NewWeightedDirectedGraph(0, 0)
	for i, name := range r.Nodes {
		g.AddNode(vertex{int64(i), name})
	}
	top := 0.0
	for i := range r.Nodes {
		for j, v := range blas.Row(r.Graph, i) {
			if i != j {
				top = math.Max(top, v)
			}
		}
	}
	for i := range r.Nodes {
		for j, v := range blas.Row(r.Graph, i) {
			if i != j && v > threshold {
				g.SetWeightedEdge(arrow{g.NewWeightedEdge(g.Node(int64(j)), g.Node(int64(i)), v), top})
			}
		}
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

// WriteGraphML writes the edges above the threshold with strength and norm.
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
	doc := graphml{Keys: []key{{"name", "node", "name", "string"}, {"strength", "edge", "strength", "double"}, {"norm", "edge", "norm", "double"}}}
	doc.Graph.ID, doc.Graph.Default = "granger", "directed"
	id := map[string]string{}
	for i, name := range r.Nodes {
		id[name] = "n" + strconv.Itoa(i)
		doc.Graph.Nodes = append(doc.Graph.Nodes, node{id[name], []data{{"name", name}}})
	}
	for _, l := range r.Links(threshold) {
		doc.Graph.Edges = append(doc.Graph.Edges, edge{id[l.From], id[l.To], []data{{"strength", formatStrength(l.Strength)}, {"norm", formatStrength(l.Norm)}}})
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
