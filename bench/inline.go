package bench

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
)

// Size of a chart of the report and its margins, in SVG units.
const (
	chartWidth, chartHeight           = 560.0, 320.0
	chartLeft, chartRight             = 62.0, 12.0
	chartTop, chartBottom             = 12.0, 42.0
	chartInnerWidth, chartInnerHeight = chartWidth - chartLeft - chartRight, chartHeight - chartTop - chartBottom
)

// axis maps values to positions from 0 to 1.
type axis struct {
	lo, hi float64
	log    bool
}

func (a *axis) cover(v float64) { a.lo, a.hi = min(a.lo, v), max(a.hi, v) }

// pad widens the range a little, and an empty one enough to divide by.
func (a *axis) pad() {
	if a.log {
		f := max(math.Pow(a.hi/a.lo, 0.04), 1.02)
		a.lo, a.hi = a.lo/f, a.hi*f
		return
	}
	d := max(0.05*(a.hi-a.lo), 1e-9*math.Abs(a.hi), 1e-300)
	a.lo, a.hi = a.lo-d, a.hi+d
}

func (a *axis) at(v float64) float64 {
	if a.log {
		return math.Log(v/a.lo) / math.Log(a.hi/a.lo)
	}
	return (v - a.lo) / (a.hi - a.lo)
}

func (a *axis) ticks() []plot.Tick {
	if a.log {
		return logTicks{}.Ticks(a.lo, a.hi)
	}
	ticks := plot.DefaultTicks{}.Ticks(a.lo, a.hi)
	for i := range ticks {
		if ticks[i].Label != "" { // where the range is narrow, theirs are all alike
			ticks[i].Label = strconv.FormatFloat(ticks[i].Value, 'g', 5, 64)
		}
	}
	return ticks
}

// inline is the figure as SVG for the page, whose style sheet gives the colours.
func (f *figure) inline() template.HTML {
	x, y := axis{math.Inf(1), math.Inf(-1), f.logX}, axis{math.Inf(1), math.Inf(-1), f.logY}
	for _, c := range f.curves {
		for _, p := range c.xy {
			x.cover(p.X)
			y.cover(p.Y)
		}
	}
	x.pad()
	y.pad()
	px := func(v float64) float64 { return chartLeft + chartInnerWidth*x.at(v) }
	py := func(v float64) float64 { return chartTop + chartInnerHeight*(1-y.at(v)) }
	var b strings.Builder
	fmt.Fprintf(&b, `<figure><figcaption>%s</figcaption><svg class="chart" viewBox="0 0 %g %g" role="img" aria-label="%s">`,
		html.EscapeString(f.title), chartWidth, chartHeight, html.EscapeString(f.title))
	for _, t := range x.ticks() {
		if t.Label != "" {
			fmt.Fprintf(&b, `<line class="grid" x1="%.1f" x2="%.1f" y1="%g" y2="%g"/><text x="%.1f" y="%g" text-anchor="middle">%s</text>`,
				px(t.Value), px(t.Value), chartTop, chartTop+chartInnerHeight, px(t.Value), chartTop+chartInnerHeight+16, html.EscapeString(t.Label))
		}
	}
	for _, t := range y.ticks() {
		if t.Label != "" {
			fmt.Fprintf(&b, `<line class="grid" x1="%g" x2="%g" y1="%.1f" y2="%.1f"/><text x="%g" y="%.1f" text-anchor="end">%s</text>`,
				chartLeft, chartLeft+chartInnerWidth, py(t.Value), py(t.Value), chartLeft-5, py(t.Value)+4, html.EscapeString(t.Label))
		}
	}
	fmt.Fprintf(&b, `<text x="%g" y="%g" text-anchor="middle">%s</text>`, chartLeft+chartInnerWidth/2, chartHeight-6, html.EscapeString(f.xLabel))
	fmt.Fprintf(&b, `<text transform="translate(13 %g) rotate(-90)" text-anchor="middle">%s</text>`, chartTop+chartInnerHeight/2, html.EscapeString(f.yLabel))
	for i, c := range f.curves {
		xy, dots := c.xy, c.xy
		if f.steps {
			xy, dots = steps(xy), xy[len(xy)-1:]
		}
		if c.dots {
			xy = nil
		} else if c.line {
			dots = nil
		}
		fmt.Fprintf(&b, `<path class="k%d"%s d="`, i%len(palette), dashAttribute(i))
		for k, p := range xy {
			fmt.Fprintf(&b, "%c%.1f %.1f", "ML"[min(k, 1)], px(p.X), py(p.Y))
		}
		b.WriteString(`"/>`)
		for _, p := range dots {
			b.WriteString(dot(i, px(p.X), py(p.Y)))
		}
	}
	b.WriteString(`</svg><ul class="legend">`)
	for i, c := range f.curves {
		sign := fmt.Sprintf(`<path class="k%d"%s fill="none" stroke-width="4" d="M0 6L32 6"/>`, i%len(palette), dashAttribute(i))
		if c.dots {
			sign = dot(i, 16, 6)
		}
		fmt.Fprintf(&b, `<li><svg viewBox="0 0 32 12" aria-hidden="true">%s</svg> %s</li>`, sign, html.EscapeString(c.name))
	}
	b.WriteString(`</ul></figure>`)
	return template.HTML(b.String()) //nolint:gosec // every text was escaped above
}

// dot is the point of curve i: full, or a ring once the colours repeat.
func dot(i int, x, y float64) string {
	if i < len(palette) {
		return fmt.Sprintf(`<circle class="f%d" r="3.5" cx="%.1f" cy="%.1f"/>`, i, x, y)
	}
	return fmt.Sprintf(`<circle class="k%d" fill="none" stroke-width="2" r="3.5" cx="%.1f" cy="%.1f"/>`, i%len(palette), x, y)
}

// dashAttribute distinguishes curves once the colours repeat.
func dashAttribute(i int) string {
	d := dashes[i/len(palette)%len(dashes)]
	if d == nil {
		return ""
	}
	parts := make([]string, len(d))
	for k, v := range d {
		parts[k] = fmt.Sprintf("%g", v.Points())
	}
	return ` stroke-dasharray="` + strings.Join(parts, " ") + `"`
}
