// This file draws maps of which solver is the fastest at each size, λ and spectrum of L.

package systems

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/internal/picture"
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

// Sizes in points, of which a phone has about 330 across.
const (
	mapCellWidth, mapCellHeight = vg.Length(20), vg.Length(17)
	mapLeft, mapTop, mapGap     = vg.Length(34), vg.Length(30), vg.Length(8)
	mapBelow                    = vg.Length(34) // for the values of l and the name of the next spectrum
	mapHead                     = vg.Length(60) // what a value of λ takes
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
func crossMaps(group []bench.Result) []crossMap {
	var maps []crossMap
	for _, be := range backendsOf(group) {
		mine := slices.DeleteFunc(slices.Clone(group), func(r bench.Result) bool {
			return r.Params["backend"] != be || !inMap(r, group)
		})
		frame := crossMap{}
		at := map[point][]bench.Result{}
		for _, r := range mine {
			p := point{r.Number("l"), r.Number("n"), r.Number("lambda"), fmt.Sprint(r.Params["spectrum"])}
			frame.ls, frame.ns = insert(frame.ls, p.l), insert(frame.ns, p.n)
			frame.lambdas = insert(frame.lambdas, p.lambda)
			if !slices.Contains(frame.spectra, p.spectrum) {
				frame.spectra = append(frame.spectra, p.spectrum)
			}
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
		gain.name, gain.title = "sylvester-gain"+suffix,
			fmt.Sprintf("Exact against inexact: the fastest iterative solver is so many times as fast as the fastest "+
				"direct one, %v backend", be)
		gain.cell = func(p point) (mapCell, bool) { return gainCell(at[p]) }
		gain.legend = []mapCell{{0, 0.7, "", "iterative is faster"}, {1, 0.7, "", "direct is faster"}}
		maps = append(maps, who, gain)
	}
	return maps
}

// inMap leaves out what lies beside the grid, when there are points of the grid.
func inMap(r bench.Result, group []bench.Result) bool {
	on := func(r bench.Result) bool {
		return slices.Contains(gridSamples, int(r.Number("l"))) && slices.Contains(gridOutputs, int(r.Number("n"))) &&
			slices.Contains(gridLambdas, r.Number("lambda"))
	}
	return r.Number("l") > 0 && (on(r) || !slices.ContainsFunc(group, on))
}

func backendsOf(group []bench.Result) []any {
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

// quickest is the fastest of those that ended, among the solvers that pass.
func quickest(rs []bench.Result, pass func(name string) bool) (bench.Result, bool) {
	best, ok := bench.Result{}, false
	for _, r := range rs {
		if r.Name != "auto" && pass(r.Name) && r.Error == "" && !r.Stopped && r.Seconds > 0 &&
			(!ok || r.Seconds < best.Seconds) {
			best, ok = r, true
		}
	}
	return best, ok
}

func winnerCell(rs []bench.Result) (mapCell, bool) {
	best, ok := quickest(rs, func(string) bool { return true })
	if !ok {
		return mapCell{}, false
	}
	c := signOf(best.Name)
	c.words = fmt.Sprintf("%s, %.3g s", best.Name, best.Seconds)
	for _, r := range rs {
		if r.Name == "eigen" && best.Name != "eigen" && r.Error == "" && !r.Stopped {
			c.words += fmt.Sprintf(", %s faster than eigen", bench.Times(r.Seconds/best.Seconds))
		}
	}
	return c, true
}

// gainCell compares the fastest of both kinds. Where all iterative solvers were
// stopped, the longest any of them had is a bound.
func gainCell(rs []bench.Result) (mapCell, bool) {
	exact, ok := quickest(rs, direct)
	if !ok {
		return mapCell{}, false
	}
	sign := ""
	fast, ok := quickest(rs, func(name string) bool { return !direct(name) })
	if !ok {
		for _, r := range rs {
			if r.Stopped && !direct(r.Name) && r.Name != "auto" && r.Seconds > 0 &&
				(fast.Seconds == 0 || r.Seconds < fast.Seconds) {
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
	c.words = fmt.Sprintf("%s %.3g s, %s %s%.3g s", exact.Name, exact.Seconds, fast.Name, strings.ReplaceAll(sign, "<",
		"more than "), fast.Seconds)
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
func usedSigns(at map[point][]bench.Result) []mapCell {
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

// size of the picture without its legend.
func (m *crossMap) size() (width, height vg.Length) {
	rows := vg.Length(len(m.spectra))
	return mapLeft + vg.Length(len(m.lambdas))*m.pitch(), mapTop + rows*m.rowHeight()
}

func (m *crossMap) panelWidth() vg.Length { return mapCellWidth * vg.Length(len(m.ls)) }

// pitch is the distance from one λ to the next.
func (m *crossMap) pitch() vg.Length { return max(m.panelWidth(), mapHead) + mapGap }

// rowHeight is the distance from one spectrum to the next.
func (m *crossMap) rowHeight() vg.Length { return mapCellHeight*vg.Length(len(m.ns)) + mapBelow }

// corner is the upper left corner of a cell, from the upper left corner of the picture.
func (m *crossMap) corner(lambda, spectrum, l, n int) vg.Point {
	return vg.Point{
		X: mapLeft + vg.Length(lambda)*m.pitch() + mapCellWidth*vg.Length(l),
		Y: mapTop + vg.Length(spectrum)*m.rowHeight() + mapCellHeight*vg.Length(n),
	}
}

// each calls f for every cell with its corner; ok tells whether there is something to show.
func (m *crossMap) each(f func(at vg.Point, p point, c mapCell, ok bool)) {
	for i, spectrum := range m.spectra {
		for j, lambda := range m.lambdas {
			for a, l := range m.ls {
				for k, n := range m.ns {
					p := point{l, n, lambda, spectrum}
					c, ok := m.cell(p)
					f(m.corner(j, i, a, k), p, c, ok)
				}
			}
		}
	}
}

// figure is the map with what each cell stands for as its notes.
func (m *crossMap) figure() picture.Figure {
	width, height := m.size()
	f := picture.Figure{Name: m.name, Title: m.title, Width: width, Height: height, Paint: m.paint}
	for _, c := range m.legend {
		f.Legend = append(f.Legend, picture.Sign{Text: c.words, Thumb: c})
	}
	m.each(func(at vg.Point, p point, c mapCell, ok bool) {
		if ok {
			f.Notes = append(f.Notes, picture.Note{
				X: float64(at.X / width), Y: float64(1 - (at.Y+mapCellHeight)/height),
				Width: float64(mapCellWidth / width), Height: float64(mapCellHeight / height),
				Text: fmt.Sprintf("l = %g, n = %g, L %s, λ = %g: %s", p.l, p.n, p.spectrum, p.lambda, c.words),
			})
		}
	})
	return f
}

func (m *crossMap) paint(c draw.Canvas) {
	say := func(x, y vg.Length, size vg.Length, align text.XAlignment, s string) {
		style := picture.Text(size)
		style.XAlign = align
		c.FillText(style, vg.Point{X: c.Min.X + x, Y: c.Max.Y - y}, s)
	}
	for j, lambda := range m.lambdas {
		say(m.corner(j, 0, 0, 0).X+m.panelWidth()/2, 11, 9, draw.XCenter, fmt.Sprintf("λ = %g", lambda))
	}
	for i, spectrum := range m.spectra {
		say(2, m.corner(0, i, 0, 0).Y-4, 9, draw.XLeft, "L "+spectrum)
		for k, n := range m.ns {
			name := kilo(n)
			if k == 0 {
				name = "n=" + name
			}
			say(mapLeft-3, m.corner(0, i, 0, k).Y+mapCellHeight/2+3, 8, draw.XRight, name)
		}
		below := m.corner(0, i, 0, len(m.ns)).Y + 8
		say(mapLeft-3, below, 7, draw.XRight, "l =")
		for j := range m.lambdas {
			for a, l := range m.ls {
				say(m.corner(j, i, a, 0).X+mapCellWidth/2, below, 7, draw.XCenter, kilo(l))
			}
		}
	}
	m.each(func(at vg.Point, _ point, cell mapCell, ok bool) {
		box := vg.Rectangle{
			Min: vg.Point{X: c.Min.X + at.X, Y: c.Max.Y - at.Y - mapCellHeight + 1},
			Max: vg.Point{X: c.Min.X + at.X + mapCellWidth - 1, Y: c.Max.Y - at.Y},
		}
		if !ok {
			c.StrokeLines(draw.LineStyle{Color: color.Gray{225}, Width: 1}, append(corners(box), box.Min))
			return
		}
		inside := c
		inside.Rectangle = box
		cell.Thumbnail(&inside)
	})
}

func corners(r vg.Rectangle) []vg.Point {
	return []vg.Point{r.Min, {X: r.Max.X, Y: r.Min.Y}, r.Max, {X: r.Min.X, Y: r.Max.Y}}
}

// Thumbnail fills the canvas with the colour and writes the text over it: white on a
// full colour, dark on a pale one.
func (m mapCell) Thumbnail(c *draw.Canvas) {
	fill := picture.Palette[m.colour]
	style := picture.Text(9)
	style.Color = color.White
	if m.strength < 1 {
		style.Color = color.Gray{30}
		pale := func(v uint8) uint8 { return uint8(255 - m.strength*float64(255-v)) }
		fill = color.RGBA{pale(fill.R), pale(fill.G), pale(fill.B), 255}
		style.Font.Size = 7.5
	}
	style.Font.Size = min(style.Font.Size, 0.8*c.Size().Y)
	c.FillPolygon(fill, corners(c.Rectangle))
	style.XAlign, style.YAlign = draw.XCenter, draw.YCenter
	c.FillText(style, c.Center(), m.text)
}
