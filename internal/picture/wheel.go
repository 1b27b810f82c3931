// This file draws directed graphs into pages.

package picture

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strings"
)

// Wheel is a network as an element of a page: nodes on a circle, and between them
// curved arrows whose width grows with the strength.
type Wheel struct {
	Title string // what a reader who does not see it is told
	Nodes []string
	Edges []Edge   // the strongest first
	Lines []string // of each edge: a name for scripts, in data-line
	Notes []string // of each edge: what is said where it is pointed at
	Dash  []bool   // of each edge: a broken line
}

// Measures of a wheel, in units of its drawing.
const (
	wheelSize   = 360
	wheelRadius = 150
	wheelLabel  = 18 // characters of a name that are shown
)

// HTML is the element.
func (w *Wheel) HTML() template.HTML {
	var b strings.Builder
	n := float64(len(w.Nodes))
	size, longest := max(4.5, min(12, 900/max(n, 1))), 0
	for _, name := range w.Nodes {
		longest = max(longest, len([]rune(short(name))))
	}
	side := max(0, 0.65*size*float64(longest)-wheelSize/2+wheelRadius+9) // room for labels left and right of the square
	fmt.Fprintf(&b, `<figure><svg class="network" role="img" aria-label="%s" viewBox="%.0f 0 %.0f %d">`,
		html.EscapeString(w.Title), -side, wheelSize+2*side, wheelSize)
	for k := len(w.Edges) - 1; k >= 0; k-- {
		w.edge(&b, k)
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
		dy := 0.35 * size
		if anchor == "middle" && ly < wheelSize/2 {
			dy = -0.1 * size
		} else if anchor == "middle" {
			dy = 0.8 * size
		}
		fmt.Fprintf(&b,
			`<circle cx="%.1f" cy="%.1f" r="4"/><text x="%.1f" y="%.1f" font-size="%.1f" text-anchor="%s">%s<title>%s</title></text>`,
			x, y, lx, ly+dy, size, anchor, html.EscapeString(short(name)), html.EscapeString(name))
	}
	b.WriteString(`</svg></figure>`)
	return template.HTML(b.String()) // every text was escaped above
}

func short(name string) string {
	if r := []rune(name); len(r) > wheelLabel {
		return string(r[:wheelLabel-1]) + "…"
	}
	return name
}

// place is where node i lies on a circle of that radius.
func (w *Wheel) place(i int, radius float64) (x, y float64) {
	s, c := math.Sincos(2*math.Pi*float64(i)/float64(len(w.Nodes)) - math.Pi/2)
	return wheelSize/2 + radius*c, wheelSize/2 + radius*s
}

// edge draws arrow k: a curve bent to its left and towards the middle, so that those
// of both directions lie apart, and a head.
func (w *Wheel) edge(b *strings.Builder, k int) {
	e := w.Edges[k]
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
	if w.Dash[k] {
		dash = ` stroke-dasharray="6 4"`
	}
	fmt.Fprintf(b,
		`<g data-line="%s"><title>%s</title><path d="M%.1f %.1fQ%.1f %.1f %.1f %.1f" stroke-width="%.1f"%s/><path class="head" d="M%.1f %.1fL%.1f %.1fL%.1f %.1fZ"/></g>`,
		html.EscapeString(w.Lines[k]), html.EscapeString(w.Notes[k]), ax, ay, cx, cy, baseX, baseY, width, dash,
		tipX, tipY, baseX-0.4*head*uy, baseY+0.4*head*ux, baseX+0.4*head*uy, baseY-0.4*head*ux)
}
