package bench

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strings"
)

// heat is a matrix for the page: a square for each entry, its first row on top.
type heat struct {
	title      string
	rows, cols []string // names; too many to read are left out
	matrix     [][]float64
	min, max   float64 // the range of the colours: pale to dark, or blue over grey to red where min is below 0
}

// Sizes in SVG units; shades is odd, so that 0 has one of its own.
const (
	heatCell, heatText = 10.0, 9.0
	heatWidth          = 700.0 // pixels, at most
	heatShades         = 21
)

// inline is the matrix as SVG: one path for each shade.
func (h *heat) inline() template.HTML {
	left, top := heatMargin(h.rows), heatMargin(h.cols)
	n, m := len(h.matrix), 0
	paths := make([]strings.Builder, heatShades)
	for i, row := range h.matrix {
		m = max(m, len(row))
		for j, v := range row {
			fmt.Fprintf(&paths[h.shade(v)], "M%g %gh%gv%gh-%gz", left+heatCell*float64(j), top+heatCell*float64(i), heatCell, heatCell, heatCell)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<figure><figcaption>%s</figcaption><svg class="heat" style="max-width:%.0fpx" viewBox="0 0 %g %g" role="img" aria-label="%s">`,
		html.EscapeString(h.title), min(heatWidth, 1.4*(left+heatCell*float64(m))), left+heatCell*float64(m), top+heatCell*float64(n), html.EscapeString(h.title))
	for k := range paths {
		if paths[k].Len() > 0 {
			fmt.Fprintf(&b, `<path fill="%s" d="%s"/>`, h.color(k), paths[k].String())
		}
	}
	for i, name := range h.rows {
		fmt.Fprintf(&b, `<text x="%g" y="%g" text-anchor="end">%s</text>`, left-3, top+heatCell*(float64(i)+0.8), html.EscapeString(name))
	}
	for j, name := range h.cols {
		fmt.Fprintf(&b, `<text transform="translate(%g %g) rotate(-90)">%s</text>`, left+heatCell*(float64(j)+0.8), top-3, html.EscapeString(name))
	}
	b.WriteString(`</svg><ul class="legend">`)
	for _, k := range []int{0, heatShades / 2, heatShades - 1} {
		v := h.min + (h.max-h.min)*float64(k)/(heatShades-1)
		fmt.Fprintf(&b, `<li><svg viewBox="0 0 12 12" aria-hidden="true"><rect width="12" height="12" fill="%s"/></svg> %.2g</li>`, h.color(k), v)
	}
	b.WriteString(`</ul></figure>`)
	return template.HTML(b.String()) //nolint:gosec // every text was escaped above
}

// heatMargin is the room that the longest name takes.
func heatMargin(names []string) float64 {
	longest := 0
	for _, name := range names {
		longest = max(longest, len([]rune(name)))
	}
	return 4 + 0.58*heatText*float64(longest)
}

func (h *heat) shade(v float64) int {
	t := (v - h.min) / (h.max - h.min)
	return int(math.Round(min(max(t, 0), 1) * (heatShades - 1)))
}

// color of a shade. Both ends stand out from a white and from a black page.
func (h *heat) color(k int) string {
	t := float64(k) / (heatShades - 1)
	if h.min >= 0 {
		return blend([3]float64{225, 228, 232}, [3]float64{90, 15, 90}, t)
	}
	grey := [3]float64{200, 203, 208}
	if t < 0.5 {
		return blend(grey, [3]float64{20, 70, 190}, 1-2*t)
	}
	return blend(grey, [3]float64{190, 20, 30}, 2*t-1)
}

func blend(from, to [3]float64, t float64) string {
	var c [3]int
	for i := range c {
		c[i] = int(math.Round(from[i] + t*(to[i]-from[i])))
	}
	return fmt.Sprintf("#%02x%02x%02x", c[0], c[1], c[2])
}
