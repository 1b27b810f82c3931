package bench

import (
	"cmp"
	"fmt"
	"html"
	"html/template"
	"math"
	"slices"
	"strings"
)

// crossMap shows something of every system of the grid: a panel for each spectrum of
// L (down) and λ (across), in it a cell for each l (across) and n (down).
type crossMap struct {
	name, title string
	gains       bool // shows gains rather than winners
	ls, ns      []float64
	spectra     []string
	lambdas     []float64
	cell        func(point) (cell mapCell, ok bool)
	legend      []mapCell
}

// point is where a cell belongs.
type point struct {
	l, n, lambda float64
	spectrum     string
}

// mapCell is what a cell shows: a colour of the page's palette in some strength, a
// few characters, and a sentence for those who point at it.
type mapCell struct {
	colour   int
	strength float64
	text     string
	words    string
}

// Sizes in SVG units, of which a phone has about 330 across.
const (
	mapCellWidth, mapCellHeight = 20.0, 17.0
	mapLeft, mapTop, mapGap     = 34.0, 30.0, 8.0
	mapBelow                    = 16.0 // for the values of l
	mapHead                     = 60.0 // what a value of λ takes
	mapLeast                    = 330.0
)

// signs are the letters of the solvers in a map, and their colours.
var signs = []mapCell{
	{0, 1, "N", "nystrom"},
	{4, 1, "R", "rotated"},
	{2, 1, "K", "krylov"},
	{8, 1, "J", "cg"},
	{1, 1, "T", "tridiagonal"},
	{3, 1, "E", "eigen"},
	{5, 1, "C", "cholesky"},
	{7, 1, "B", "bartels-stewart"},
	{6, 1, "H", "hessenberg-schur"},
}

func signOf(name string) mapCell {
	i := slices.IndexFunc(signs, func(c mapCell) bool { return c.words == name })
	if i < 0 {
		return mapCell{6, 1, "?", name}
	}
	return signs[i]
}

// direct reports whether a solver is a direct method.
func direct(name string) bool {
	return slices.Contains([]string{"tridiagonal", "eigen", "cholesky", "bartels-stewart", "hessenberg-schur"}, name)
}

// crossMaps are, for each backend, who wins where, and how much the fastest
// iterative method gains over the fastest direct one.
func crossMaps(group []Result) []crossMap {
	var maps []crossMap
	for _, be := range backendsOf(group) {
		mine := slices.DeleteFunc(slices.Clone(group), func(r Result) bool { return r.Params["backend"] != be || !inMap(r, group) })
		frame := crossMap{}
		at := map[point][]Result{}
		for _, r := range mine {
			p := point{number(r, "l"), number(r, "n"), number(r, "lambda"), fmt.Sprint(r.Params["spectrum"])}
			frame.ls, frame.ns = insert(frame.ls, p.l), insert(frame.ns, p.n)
			frame.lambdas, frame.spectra = insert(frame.lambdas, p.lambda), include(frame.spectra, p.spectrum)
			at[p] = append(at[p], r)
		}
		if len(at) < 2 {
			continue
		}
		slices.Reverse(frame.lambdas)
		for p, rs := range at { // every L of one output is the same
			for _, s := range frame.spectra {
				if q := (point{p.l, p.n, p.lambda, s}); p.n == 1 && at[q] == nil {
					at[q] = rs
				}
			}
		}
		suffix := ""
		if be != nil && be != "native" {
			suffix = fmt.Sprintf("-%v", be)
		}
		who, gain := frame, frame
		who.name, who.title = "sylvester-winners"+suffix, fmt.Sprintf("The fastest solver, %v backend", be)
		who.cell = func(p point) (mapCell, bool) { return winnerCell(at[p]) }
		who.legend = usedSigns(at)
		gain.gains = true
		gain.name, gain.title = "sylvester-gain"+suffix, fmt.Sprintf("Exact against inexact: the fastest iterative solver is so many times as fast as the fastest direct one, %v backend", be)
		gain.cell = func(p point) (mapCell, bool) { return gainCell(at[p]) }
		gain.legend = []mapCell{{0, 0.7, "", "iterative is faster"}, {1, 0.7, "", "direct is faster"}}
		maps = append(maps, who, gain)
	}
	return maps
}

// inMap leaves out what lies beside the grid, when there are points of the grid.
func inMap(r Result, group []Result) bool {
	on := func(r Result) bool {
		return slices.Contains(gridSamples, int(number(r, "l"))) && slices.Contains(gridOutputs, int(number(r, "n"))) && slices.Contains(gridLambdas, number(r, "lambda"))
	}
	return number(r, "l") > 0 && (on(r) || !slices.ContainsFunc(group, on))
}

func backendsOf(group []Result) []any {
	var all []any
	for _, r := range group {
		if be := r.Params["backend"]; r.Params["l"] != nil && !slices.Contains(all, be) {
			all = append(all, be)
		}
	}
	return all
}

// insert adds v to an ascending list that does not have it.
func insert(list []float64, v float64) []float64 {
	i, found := slices.BinarySearch(list, v)
	if found {
		return list
	}
	return slices.Insert(list, i, v)
}

func include(list []string, v string) []string {
	if slices.Contains(list, v) {
		return list
	}
	return append(list, v)
}

// quickest is the fastest of those that ended, among the solvers that pass.
func quickest(rs []Result, pass func(name string) bool) (Result, bool) {
	best, ok := Result{}, false
	for _, r := range rs {
		if r.Name != "auto" && pass(r.Name) && r.Error == "" && !r.Stopped && r.Seconds > 0 && (!ok || r.Seconds < best.Seconds) {
			best, ok = r, true
		}
	}
	return best, ok
}

func winnerCell(rs []Result) (mapCell, bool) {
	best, ok := quickest(rs, func(string) bool { return true })
	if !ok {
		return mapCell{}, false
	}
	c := signOf(best.Name)
	c.words = fmt.Sprintf("%s, %.3g s", best.Name, best.Seconds)
	for _, r := range rs {
		if r.Name == "eigen" && best.Name != "eigen" && r.Error == "" && !r.Stopped {
			c.words += fmt.Sprintf(", %s faster than eigen", times(r.Seconds/best.Seconds))
		}
	}
	return c, true
}

// gainCell compares the fastest of both kinds. Where all iterative solvers were
// stopped, the longest any of them had is a bound.
func gainCell(rs []Result) (mapCell, bool) {
	exact, ok := quickest(rs, direct)
	if !ok {
		return mapCell{}, false
	}
	sign := ""
	fast, ok := quickest(rs, func(name string) bool { return !direct(name) })
	if !ok {
		for _, r := range rs {
			if r.Stopped && !direct(r.Name) && r.Name != "auto" && r.Seconds > 0 && (fast.Seconds == 0 || r.Seconds < fast.Seconds) {
				fast, sign = r, "<"
			}
		}
		if fast.Seconds == 0 {
			return mapCell{}, false
		}
	}
	gain := exact.Seconds / fast.Seconds
	c := mapCell{colour: 0, strength: min(0.08+0.15*math.Abs(math.Log2(gain)), 0.75), text: sign + threeSigns(gain)}
	if gain < 1 {
		c.colour = 1
	}
	c.words = fmt.Sprintf("%s %.3g s, %s %s%.3g s", exact.Name, exact.Seconds, fast.Name, strings.ReplaceAll(sign, "<", "more than "), fast.Seconds)
	return c, true
}

// threeSigns is v in at most three characters.
func threeSigns(v float64) string {
	if v < 0.95 {
		return strings.TrimPrefix(fmt.Sprintf("%.1f", v), "0")
	}
	if v < 9.95 {
		return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0")
	}
	return fmt.Sprintf("%.0f", v)
}

// usedSigns are those of the solvers that win somewhere.
func usedSigns(at map[point][]Result) []mapCell {
	var used []mapCell
	for _, s := range signs {
		for _, rs := range at {
			if best, ok := quickest(rs, func(string) bool { return true }); ok && best.Name == s.words {
				used = append(used, s)
				break
			}
		}
	}
	return used
}

// kilo writes 1000 as 1k.
func kilo(v float64) string {
	if v >= 1000 && math.Mod(v, 500) == 0 {
		return fmt.Sprintf("%gk", v/1000)
	}
	return fmt.Sprintf("%g", v)
}

// svg is the picture. Alone, it carries its own style.
func (m *crossMap) svg(alone bool) string {
	panelWidth, panelHeight := mapCellWidth*float64(len(m.ls)), mapCellHeight*float64(len(m.ns))
	pitch := max(panelWidth, mapHead) + mapGap
	width := max(mapLeft+float64(len(m.lambdas))*pitch, mapLeast)
	rowHeight := panelHeight + mapBelow + 18
	legendRows := math.Ceil(float64(len(m.legend)) / 3)
	height := mapTop + rowHeight*float64(len(m.spectra)) + 16*legendRows
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="map" viewBox="0 0 %g %g" role="img" aria-label="%s"`, width, height, html.EscapeString(m.title))
	if alone {
		fmt.Fprintf(&b, ` xmlns="http://www.w3.org/2000/svg" width="%g" height="%g"><style>%s</style><rect width="100%%" height="100%%" fill="var(--bg)"/`, 2*width, 2*height, mapStyle)
	}
	b.WriteString(">")
	for j, lambda := range m.lambdas {
		x := mapLeft + float64(j)*pitch
		fmt.Fprintf(&b, `<text class="head" x="%g" y="11" text-anchor="middle">λ = %g</text>`, x+panelWidth/2, lambda)
	}
	for i, spectrum := range m.spectra {
		y := mapTop + float64(i)*rowHeight
		fmt.Fprintf(&b, `<text class="head" x="2" y="%g">L %s</text>`, y-5, html.EscapeString(spectrum))
		for k, n := range m.ns {
			name := kilo(n)
			if k == 0 {
				name = "n=" + name
			}
			fmt.Fprintf(&b, `<text x="%g" y="%g" text-anchor="end">%s</text>`, mapLeft-3, y+mapCellHeight*(float64(k)+0.5)+3.5, name)
		}
		fmt.Fprintf(&b, `<text class="axis" x="%g" y="%g" text-anchor="end">l =</text>`, mapLeft-3, y+panelHeight+9)
		for j, lambda := range m.lambdas {
			m.panel(&b, mapLeft+float64(j)*pitch, y, spectrum, lambda)
		}
	}
	for i, c := range m.legend {
		x, y := 4+float64(i%3)*(width-4)/3, mapTop+rowHeight*float64(len(m.spectra))+16*float64(i/3)
		fmt.Fprintf(&b, `<rect class="f%d" fill-opacity="%.2f" x="%g" y="%g" width="13" height="13"/><text class="sign" x="%g" y="%g" text-anchor="middle">%s</text><text x="%g" y="%g">%s</text>`,
			c.colour, c.strength, x, y-9, x+6.5, y+1, c.text, x+17, y+1, html.EscapeString(c.words))
	}
	b.WriteString("</svg>")
	return b.String()
}

// panel writes the cells of one spectrum and λ.
func (m *crossMap) panel(b *strings.Builder, x, y float64, spectrum string, lambda float64) {
	for a, l := range m.ls {
		left := x + mapCellWidth*float64(a)
		for k, n := range m.ns {
			top := y + mapCellHeight*float64(k)
			c, ok := m.cell(point{l, n, lambda, spectrum})
			if !ok {
				fmt.Fprintf(b, `<rect class="none" x="%g" y="%g" width="%g" height="%g"/>`, left, top, mapCellWidth-1, mapCellHeight-1)
				continue
			}
			class := "sign"
			if c.strength < 1 {
				class = "figure"
			}
			fmt.Fprintf(b, `<g><title>%s</title><rect class="f%d" fill-opacity="%.2f" x="%g" y="%g" width="%g" height="%g"/><text class="%s" x="%g" y="%g" text-anchor="middle">%s</text></g>`,
				html.EscapeString(fmt.Sprintf("l = %g, n = %g, L %s, λ = %g: %s", l, n, spectrum, lambda, c.words)),
				c.colour, c.strength, left, top, mapCellWidth-1, mapCellHeight-1, class, left+(mapCellWidth-1)/2, top+mapCellHeight/2+3, html.EscapeString(c.text))
		}
		fmt.Fprintf(b, `<text class="axis" x="%g" y="%g" text-anchor="middle">%s</text>`, left+(mapCellWidth-1)/2, y+mapCellHeight*float64(len(m.ns))+9, kilo(l))
	}
}

// inline is the picture for the page.
func (m *crossMap) inline() template.HTML {
	return template.HTML(fmt.Sprintf("<figure><figcaption>%s</figcaption>%s</figure>", html.EscapeString(m.title), m.svg(false))) //nolint:gosec // svg escapes every text
}

// mapStyle is what the picture takes from the page's style sheet.
const mapStyle = `svg { --bg:#fff; --fg:#1b1f24; --soft:#57606a; --line:#d0d7de; --c0:#0072b2; --c1:#d55e00; --c2:#008a65; --c3:#b0508a; --c4:#3f9bd1; --c5:#b97900; --c6:#464646; --c7:#8c564b; --c8:#785ef0 }
.f0{fill:var(--c0)}.f1{fill:var(--c1)}.f2{fill:var(--c2)}.f3{fill:var(--c3)}.f4{fill:var(--c4)}.f5{fill:var(--c5)}.f6{fill:var(--c6)}.f7{fill:var(--c7)}.f8{fill:var(--c8)}
text { fill:var(--soft); font:9.5px system-ui,sans-serif } .head,.figure { fill:var(--fg) } .head { font-weight:600 } .figure { font-size:9px } .sign { fill:var(--bg); font-weight:600; font-size:11px } .axis { font-size:8px } .none { fill:none; stroke:var(--line) }`

// mapFindings says, for each spectrum of L, where the direct methods begin to win.
func mapFindings(group []Result) []string {
	var out []string
	for _, m := range crossMaps(group) {
		if m.gains {
			continue
		}
		for _, spectrum := range m.spectra {
			var parts []string
			for _, lambda := range m.lambdas {
				parts = append(parts, m.crossover(spectrum, lambda))
			}
			out = append(out, fmt.Sprintf("%s, L %s: %s.", strings.TrimPrefix(m.title, "The fastest solver, "), spectrum, strings.Join(parts, "; ")))
		}
	}
	return out
}

// crossover counts the winners of one panel by kind.
func (m *crossMap) crossover(spectrum string, lambda float64) string {
	wins, all, kinds := map[string]int{}, 0, 0
	for _, l := range m.ls {
		for _, n := range m.ns {
			if c, ok := m.cell(point{l, n, lambda, spectrum}); ok {
				name, _, _ := strings.Cut(c.words, ",")
				wins[name]++
				all++
				if !direct(name) {
					kinds++
				}
			}
		}
	}
	var names []string
	for name := range wins {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(wins[b], wins[a]), cmp.Compare(a, b)) })
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %d", name, wins[name])
	}
	return fmt.Sprintf("λ = %g, an iterative solver at %d of %d sizes (%s)", lambda, kinds, all, strings.Join(names, ", "))
}
