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

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Network is a directed graph whose edges have strengths: nodes on a circle, and between them curved arrows whose width
// grows with the strength.
type Network struct {
	Title string // what a reader of a page who does not see it is told
	Nodes []string
	Edges []Edge // the strongest first
}

// Edge is an arrow between two nodes, given by their numbers.
type Edge struct {
	From, To int
	Strength float64
	Dash     bool   // a broken line
	Line     string // a name for scripts of a page, in data-line
	Note     string // what a page says where it is pointed at
}

// Measures of a network, in units of its drawing.
const (
	networkSize   = 450
	networkRadius = 188
	nameGap       = 11  // from a node to its name
	nameLetters   = 14  // in a line of a name: wider ones make letters smaller than 8 pixels on a telephone
	lineStep      = 1.2 // from one line of a name to the next, in sizes of its letters
	edgesPerNode  = 3   // that files show
)

// Figure is the network as a figure of files with that name. At most three edges for each node are drawn, the
// strongest.
func (g Network) Figure(name string) Figure {
	if shown := edgesPerNode * len(g.Nodes); len(g.Edges) > shown {
		g.Title = fmt.Sprintf("%s (the strongest %d of %d edges)", g.Title, shown, len(g.Edges))
		g.Edges = g.Edges[:shown]
	}
	l := g.layout()
	return Figure{Name: name, Title: g.Title, Width: l.width, Height: l.height, Paint: func(c draw.Canvas) {
		c.Push()
		c.Translate(c.Min)
		for _, e := range slices.Backward(g.Edges) {
			l.edge(c, e)
		}
		for i := range g.Nodes {
			l.node(c, i)
		}
		c.Pop()
	}}
}

// HTML is the network as an element of a page.
func (g *Network) HTML() template.HTML {
	var b strings.Builder
	l := g.layout()
	fmt.Fprintf(&b, `<figure><svg class="network" role="img" aria-label="%s" viewBox="0 0 %.0f %.0f">`,
		html.EscapeString(g.Title), l.width, l.height)
	group := func(line, title string, paint func(draw.Canvas)) {
		fmt.Fprintf(&b, `<g data-line="%s"><title>%s</title>%s</g>`, html.EscapeString(line), html.EscapeString(title),
			drawn(l.width, l.height, paint))
	}
	for _, e := range slices.Backward(g.Edges) {
		group(e.Line, e.Note, func(c draw.Canvas) { l.edge(c, e) })
	}
	for i, name := range g.Nodes {
		group("", name, func(c draw.Canvas) { l.node(c, i) })
	}
	b.WriteString(`</svg></figure>`)
	return template.HTML(b.String()) // every text was escaped above or by vgsvg
}

// layout is a network with its names in lines and the room that it takes.
type layout struct {
	*Network
	labels              [][]string
	size, width, height vg.Length // of letters, and of the drawing
	top                 float64   // the largest strength
}

func (g *Network) layout() layout {
	n := float64(len(g.Nodes))
	l := layout{Network: g, size: vg.Length(max(5.6, min(15, 1125/max(n, 1)))), top: math.SmallestNonzeroFloat64}
	for _, e := range g.Edges {
		l.top = max(l.top, e.Strength)
	}
	most := max(1, int(2*math.Pi*networkRadius/n/float64(lineStep*l.size))) // lines that a name has room for
	lines, longest := 1, 0
	for _, name := range g.Nodes {
		label := broken(name, nameLetters, most)
		l.labels, lines = append(l.labels, label), max(lines, len(label))
		for _, line := range label {
			longest = max(longest, len([]rune(line)))
		}
	}
	// room for names left and right of the square, and for more lines than one above and below it
	side := max(0, 0.65*l.size*vg.Length(longest)-networkSize/2+networkRadius+nameGap)
	l.width, l.height = networkSize+2*side, networkSize+2*lineStep*l.size*vg.Length(lines-1)
	return l
}

// place is where node i lies on a circle of that radius.
func (l *layout) place(i int, radius vg.Length) vg.Point {
	s, c := math.Sincos(math.Pi/2 - 2*math.Pi*float64(i)/float64(len(l.Nodes)))
	return vg.Point{X: l.width/2 + radius*vg.Length(c), Y: l.height/2 + radius*vg.Length(s)}
}

// node draws a disc, and the name beside it, away from the middle.
func (l *layout) node(c draw.Canvas, i int) {
	at, label := l.place(i, networkRadius), Text(l.size)
	c.DrawGlyph(draw.GlyphStyle{Color: color.Black, Radius: 5, Shape: draw.CircleGlyph{}}, at)
	out := at.Sub(l.place(i, 0)).Scale(1.0 / networkRadius)
	switch {
	case math.Abs(float64(out.X)) < 0.08:
		label.XAlign = draw.XCenter
	case out.X < 0:
		label.XAlign = draw.XRight
	}
	label.YAlign = draw.YCenter
	lines, step := l.labels[i], lineStep*l.size
	for k, line := range lines {
		up := (float64(len(lines))*float64(out.Y) + float64(len(lines)-1)) / 2
		c.FillText(label, l.place(i, networkRadius+nameGap).Add(vg.Point{Y: step * vg.Length(up-float64(k))}), line)
	}
}

// edge draws an arrow: a curve bent to its left and towards the middle, so that those of both directions lie apart, and
// a head.
func (l *layout) edge(c draw.Canvas, e Edge) {
	a, b := l.place(e.From, networkRadius), l.place(e.To, networkRadius)
	middle, left := a.Add(b).Scale(0.5*0.75), b.Sub(a).Scale(0.12)
	bend := middle.Add(l.place(0, 0).Scale(0.25)).Add(vg.Point{X: -left.Y, Y: left.X})
	width := vg.Length(0.9 + 3.7*e.Strength/l.top)
	// The head points along the end of the curve.
	u := b.Sub(bend)
	u = u.Scale(1 / vg.Length(math.Hypot(float64(u.X), float64(u.Y))))
	head := 6 + 1.5*width
	tip := b.Sub(u.Scale(6))
	base, side := tip.Sub(u.Scale(head)), vg.Point{X: -u.Y, Y: u.X}.Scale(0.4*head)
	line := draw.LineStyle{Color: Blue, Width: width}
	if e.Dash {
		line.Dashes = []vg.Length{8, 5}
	}
	c.SetLineStyle(line)
	var curve vg.Path
	curve.Move(a)
	curve.QuadTo(bend, base)
	c.Stroke(curve)
	c.FillPolygon(Blue, []vg.Point{tip, base.Add(side), base.Sub(side)})
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
