// This file draws directed graphs into files and pages.

package picture

import (
	"fmt"
	"html"
	"html/template"
	"image/color"
	"math"
	"slices"
	"strings"
	"unicode"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Network is a directed graph whose edges have strengths.
type Network struct {
	Title string
	Nodes []string
	Edges []Edge // the strongest first
}

// Edge is an arrow between two nodes, given by their numbers.
type Edge struct {
	From, To int
	Strength float64
	Dash     bool   // a broken line, in a Wheel
	Line     string // a name for scripts, in data-line of a Wheel
	Note     string // what a Wheel says where it is pointed at
}

// edgesPerNode limits the edges that are drawn.
const edgesPerNode = 3

// Figure is the network, its nodes on a circle, as a figure of files with that name. At most three edges for each node
// are drawn, the strongest.
func (g Network) Figure(name string) Figure {
	if shown := edgesPerNode * len(g.Nodes); len(g.Edges) > shown {
		g.Title = fmt.Sprintf("%s (the strongest %d of %d edges)", g.Title, shown, len(g.Edges))
		g.Edges = g.Edges[:shown]
	}
	p := New("", "")
	p.HideAxes()
	p.Add(g)
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = -1.3, 1.3, -1.2, 1.2
	side := vg.Length(max(600, 9*len(g.Nodes)))
	return Figure{Name: name, Title: g.Title, Width: side + 20, Height: side, PageWidth: 420, Paint: p.Draw}
}

// Plot implements plot.Plotter: nodes on a circle and edges as arrows, the stronger the wider and darker.
func (g Network) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	place := func(i int) (x, y float64) {
		y, x = math.Sincos(math.Pi/2 - 2*math.Pi*float64(i)/float64(len(g.Nodes)))
		return x, y
	}
	for _, e := range slices.Backward(g.Edges) {
		x0, y0 := place(e.From)
		x1, y1 := place(e.To)
		share := e.Strength / g.Edges[0].Strength
		grey := uint8(200 * (1 - share))
		style := draw.LineStyle{
			Color: color.RGBA{grey, grey, 80 + uint8(140*(1-share)), 255},
			Width: vg.Length(0.5 + 3*share),
		}
		arrow(c, style, vg.Point{X: tx(x0), Y: ty(y0)}, vg.Point{X: tx(x1), Y: ty(y1)})
	}
	label := p.X.Tick.Label
	label.XAlign, label.YAlign = draw.XCenter, draw.YCenter
	for i, name := range g.Nodes {
		x, y := place(i)
		c.DrawGlyph(draw.GlyphStyle{Color: Blue, Radius: 5, Shape: draw.CircleGlyph{}}, vg.Point{X: tx(x), Y: ty(y)})
		c.FillText(label, vg.Point{X: tx(1.14 * x), Y: ty(1.1 * y)}, name)
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

// Wheel is a network as an element of a page: nodes on a circle, and between them
// curved arrows whose width grows with the strength.
type Wheel struct {
	Title string // what a reader who does not see it is told
	Nodes []string
	Edges []Edge // the strongest first
}

// Measures of a wheel, in units of its drawing.
const (
	wheelSize   = 360
	wheelRadius = 150
	wheelLabel  = 14 // characters in a line of a name: wider ones make letters smaller than 8 pixels on a telephone
)

// HTML is the element.
func (w *Wheel) HTML() template.HTML {
	var b strings.Builder
	n := float64(len(w.Nodes))
	size, longest := max(4.5, min(12, 900/max(n, 1))), 0
	most := max(1, int(2*math.Pi*wheelRadius/n/size))   // lines that one name has room for beside the next
	labels, room := make([][]string, len(w.Nodes)), 0.0 // above and below the square for more lines than one
	for i, name := range w.Nodes {
		labels[i] = broken(name, wheelLabel, most)
		room = max(room, size*float64(len(labels[i])-1))
		for _, line := range labels[i] {
			longest = max(longest, len([]rune(line)))
		}
	}
	side := max(0, 0.65*size*float64(longest)-wheelSize/2+wheelRadius+9) // room for labels left and right of the square
	fmt.Fprintf(&b, `<figure><svg class="network" role="img" aria-label="%s" viewBox="%.0f %.0f %.0f %.0f">`,
		html.EscapeString(w.Title), -side, -room, wheelSize+2*side, wheelSize+2*room)
	for _, e := range slices.Backward(w.Edges) {
		w.edge(&b, e)
	}
	for i, name := range w.Nodes {
		x, y := w.place(i, wheelRadius)
		lx, ly := w.place(i, wheelRadius+9)
		anchor := "middle"
		switch dx := lx - wheelSize/2; {
		case dx > 12:
			anchor = "start"
		case dx < -12:
			anchor = "end"
		}
		below := size * float64(len(labels[i])-1)                      // what the last line is below the first
		dy := 0.35*size - below/2*(1-(ly-wheelSize/2)/(wheelRadius+9)) // away from the node
		if anchor == "middle" && ly < wheelSize/2 {
			dy = -0.1*size - below
		} else if anchor == "middle" {
			dy = 0.8 * size
		}
		fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="4"/><text y="%.1f" font-size="%.1f" text-anchor="%s">`, x, y,
			ly+dy, size, anchor)
		for k, line := range labels[i] {
			fmt.Fprintf(&b, `<tspan x="%.1f" dy="%.1f">%s</tspan>`, lx, size*min(float64(k), 1), html.EscapeString(line))
		}
		fmt.Fprintf(&b, `<title>%s</title></text>`, html.EscapeString(name))
	}
	b.WriteString(`</svg></figure>`)
	return template.HTML(b.String()) // every text was escaped above
}

// broken is a name in lines of at most width characters, broken behind what is no letter or digit where there is such a
// place; the last of most lines is cut.
func broken(name string, width, most int) (lines []string) {
	rest := []rune(name)
	for len(rest) > width && len(lines)+1 < most {
		at := width
		for k := width; k > 0; k-- {
			if r := rest[k-1]; !unicode.IsLetter(r) && !unicode.IsDigit(r) || rest[k] == ' ' {
				at = k
				break
			}
		}
		lines = append(lines, strings.TrimSpace(string(rest[:at])))
		rest = []rune(strings.TrimSpace(string(rest[at:])))
	}
	return append(lines, Short(string(rest), width))
}

// Short cuts names of more characters than most.
func Short(name string, most int) string {
	if r := []rune(name); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return name
}

// place is where node i lies on a circle of that radius.
func (w *Wheel) place(i int, radius float64) (x, y float64) {
	s, c := math.Sincos(2*math.Pi*float64(i)/float64(len(w.Nodes)) - math.Pi/2)
	return wheelSize/2 + radius*c, wheelSize/2 + radius*s
}

// edge draws an arrow: a curve bent to its left and towards the middle, so that those
// of both directions lie apart, and a head.
func (w *Wheel) edge(b *strings.Builder, e Edge) {
	ax, ay := w.place(e.From, wheelRadius)
	bx, by := w.place(e.To, wheelRadius)
	mx, my := (ax+bx)/2, (ay+by)/2
	cx := mx + 0.25*(wheelSize/2-mx) + 0.12*(by-ay)
	cy := my + 0.25*(wheelSize/2-my) - 0.12*(bx-ax)
	width := 0.7 + 3*e.Strength/w.Edges[0].Strength
	// The head points along the end of the curve.
	ux, uy := bx-cx, by-cy
	length := math.Hypot(ux, uy)
	ux, uy = ux/length, uy/length
	tipX, tipY, head := bx-5*ux, by-5*uy, 5+1.5*width
	baseX, baseY := tipX-head*ux, tipY-head*uy
	dash := ""
	if e.Dash {
		dash = ` stroke-dasharray="6 4"`
	}
	fmt.Fprintf(b,
		`<g data-line="%s"><title>%s</title><path d="M%.1f %.1fQ%.1f %.1f %.1f %.1f" stroke-width="%.1f"%s/><path class="head" d="M%.1f %.1fL%.1f %.1fL%.1f %.1fZ"/></g>`,
		html.EscapeString(e.Line), html.EscapeString(e.Note), ax, ay, cx, cy, baseX, baseY, width, dash,
		tipX, tipY, baseX-0.4*head*uy, baseY+0.4*head*ux, baseX+0.4*head*uy, baseY-0.4*head*ux)
}
