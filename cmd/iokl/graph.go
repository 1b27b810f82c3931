package main

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"image/color"
	"io"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/palette/moreland"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/granger"
	"github.com/iokl/iokl/internal/atomicfile"
)

// graphWriter chooses the format by the ending of the name; nil for no name.
func graphWriter(path string) (func(io.Writer, *granger.Result, *grangerReport, float64) error, error) {
	switch ext := strings.ToLower(filepath.Ext(path)); {
	case path == "":
		return nil, nil
	case ext == ".csv":
		return writeGraphCSV, nil
	case ext == ".json":
		return writeGraphJSON, nil
	case ext == ".dot" || ext == ".gv":
		return writeDOT, nil
	case ext == ".graphml":
		return writeGraphML, nil
	default:
		return nil, fmt.Errorf("--out %s: graphs are written as .csv, .json, .dot or .graphml", path)
	}
}

func writeGraph(path string, res *granger.Result, report *grangerReport, threshold float64) error {
	write, err := graphWriter(path)
	if err != nil || write == nil {
		return err
	}
	return atomicfile.Write(path, func(w io.Writer) error { return write(w, res, report, threshold) })
}

// writeGraphCSV writes the matrix, a row for each target, under the names of the sources.
func writeGraphCSV(w io.Writer, res *granger.Result, _ *grangerReport, threshold float64) error {
	if err := writeRecord(w, append([]string{"target"}, res.Nodes...)); err != nil {
		return err
	}
	for i, name := range res.Nodes {
		rec := []string{name}
		for j, v := range blas.Row(res.Graph, i) {
			if i != j && v <= threshold {
				v = 0
			}
			rec = append(rec, strconv.FormatFloat(v, 'g', -1, 64))
		}
		if err := writeRecord(w, rec); err != nil {
			return err
		}
	}
	return nil
}

// writeRecord writes one line of CSV.
func writeRecord(w io.Writer, cells []string) error {
	for i, c := range cells {
		if strings.ContainsAny(c, ",\"\r\n") {
			cells[i] = `"` + strings.ReplaceAll(c, `"`, `""`) + `"`
		}
	}
	_, err := io.WriteString(w, strings.Join(cells, ",")+"\n")
	return err
}

func writeGraphJSON(w io.Writer, _ *granger.Result, report *grangerReport, _ float64) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", " ")
	return enc.Encode(report)
}

// writeDOT writes the graph for Graphviz, the width of an edge by its strength.
func writeDOT(w io.Writer, res *granger.Result, _ *grangerReport, threshold float64) error {
	list := edges(res, threshold)
	var b strings.Builder
	b.WriteString("digraph granger {\n")
	for _, name := range res.Nodes {
		fmt.Fprintf(&b, "  %q;\n", name)
	}
	for _, e := range list {
		fmt.Fprintf(&b, "  %q -> %q [weight=%.6g, penwidth=%.3g];\n", res.Nodes[e.from], res.Nodes[e.to], e.strength, 0.3+4*e.strength/list[0].strength)
	}
	b.WriteString("}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func writeGraphML(w io.Writer, res *granger.Result, _ *grangerReport, threshold float64) error {
	var b strings.Builder
	b.WriteString(xml.Header + `<graphml xmlns="http://graphml.graphdrawing.org/xmlns">` + "\n")
	b.WriteString(`<key id="strength" for="edge" attr.name="strength" attr.type="double"/>` + "\n<graph edgedefault=\"directed\">\n")
	for _, name := range res.Nodes {
		fmt.Fprintf(&b, "<node id=\"%s\"/>\n", escape(name))
	}
	for _, e := range edges(res, threshold) {
		fmt.Fprintf(&b, "<edge source=\"%s\" target=\"%s\"><data key=\"strength\">%g</data></edge>\n", escape(res.Nodes[e.from]), escape(res.Nodes[e.to]), e.strength)
	}
	b.WriteString("</graph>\n</graphml>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a strings.Builder does not fail
	return b.String()
}

// plotGraph draws the graph as a heat map of targets by sources, and as a network.
func plotGraph(dir string, res *granger.Result, threshold float64) ([]string, error) {
	files, err := plotMatrix(dir, res)
	if err != nil {
		return files, err
	}
	list := edges(res, threshold)
	p := newPlot("who drives whom: width and colour by strength", "", "")
	p.HideAxes()
	p.Add(&network{nodes: res.Nodes, edges: list})
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = -1.3, 1.3, -1.2, 1.2
	more, err := save(dir, "network", 620, 600, p.Draw)
	return append(files, more...), err
}

// strengths is G for a heat map, its diagonal left out, its first target on top.
type strengths struct{ g blas.General }

func (s strengths) Dims() (c, r int) { return s.g.Cols, s.g.Rows }
func (s strengths) X(c int) float64  { return float64(c) }
func (s strengths) Y(r int) float64  { return float64(r) }
func (s strengths) Z(c, r int) float64 {
	i := s.g.Rows - 1 - r
	if i == c {
		return 0
	}
	return s.g.Data[i*s.g.Stride+c]
}

func plotMatrix(dir string, res *granger.Result) ([]string, error) {
	var top float64
	for _, e := range edges(res, 0) {
		top = math.Max(top, e.strength)
	}
	if top == 0 {
		top = 1
	}
	colors := moreland.ExtendedBlackBody()
	colors.SetMin(0)
	colors.SetMax(1)
	h := plotter.NewHeatMap(strengths{res.Graph}, colors.Palette(255))
	h.Min, h.Max = 0, top
	p := newPlot(fmt.Sprintf("strength of source → target, 0 (black) to %.3g", top), "source", "target")
	p.Add(h)
	n := len(res.Nodes)
	if n <= 60 {
		down := make([]string, n)
		for i, name := range res.Nodes {
			down[n-1-i] = name
		}
		p.NominalX(res.Nodes...)
		p.NominalY(down...)
		p.X.Tick.Label.Rotation = math.Pi / 2
		p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = draw.XRight, draw.YCenter
	}
	size := vg.Length(max(360, min(900, 100+14*n)))
	return save(dir, "graph", size+60, size+60, p.Draw)
}

// network draws nodes on a circle and edges as arrows.
type network struct {
	nodes []string
	edges []edge
}

func (g *network) place(i int) (x, y float64) {
	s, c := math.Sincos(math.Pi/2 - 2*math.Pi*float64(i)/float64(len(g.nodes)))
	return c, s
}

// Plot implements plot.Plotter.
func (g *network) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	for k := len(g.edges) - 1; k >= 0; k-- {
		e := g.edges[k]
		share := e.strength / g.edges[0].strength
		x0, y0 := g.place(e.from)
		x1, y1 := g.place(e.to)
		shade := uint8(215 * (1 - share))
		style := draw.LineStyle{Color: color.RGBA{shade, shade, 80 + uint8(160*(1-share)), 255}, Width: vg.Length(0.4 + 2.6*share)}
		arrow(c, style, vg.Point{X: tx(x0), Y: ty(y0)}, vg.Point{X: tx(x1), Y: ty(y1)})
	}
	label := p.X.Tick.Label
	label.XAlign, label.YAlign = draw.XCenter, draw.YCenter
	for i, name := range g.nodes {
		x, y := g.place(i)
		c.DrawGlyph(draw.GlyphStyle{Color: blue, Radius: 5, Shape: draw.CircleGlyph{}}, vg.Point{X: tx(x), Y: ty(y)})
		if len(g.nodes) <= 60 {
			c.FillText(label, vg.Point{X: tx(1.14 * x), Y: ty(1.1 * y)}, name)
		}
	}
}

// arrow draws a line with a head, ending short of the node's disc.
func arrow(c draw.Canvas, style draw.LineStyle, a, b vg.Point) {
	d := b.Sub(a)
	length := vg.Length(math.Hypot(float64(d.X), float64(d.Y)))
	if length < 12 {
		return
	}
	u := vg.Point{X: d.X / length, Y: d.Y / length}
	from, tip := a.Add(u.Scale(5)), b.Sub(u.Scale(6))
	head := 4 + 1.5*style.Width
	base := tip.Sub(u.Scale(head))
	side := vg.Point{X: -u.Y, Y: u.X}.Scale(head / 2.5)
	c.StrokeLines(style, []vg.Point{from, base})
	c.FillPolygon(style.Color, []vg.Point{tip, base.Add(side), base.Sub(side)})
}
