// This file draws maps of which solver is the fastest at each size, λ and spectrum of L.

package systems

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/internal/picture"
)

// crossMap shows the fastest solver of every system of the grid: a panel for each spectrum of L (down) and λ (across),
// in it a cell for each l (across) and n (down).
type crossMap struct {
	name, title string
	ls, ns      []float64
	spectra     []string
	lambdas     []float64
	at          map[point][]bench.Result
}

// point is where a cell belongs.
type point struct {
	l, n, lambda float64
	spectrum     string
}

// mapCell is what a cell shows: a colour of the page's palette, a letter, and a sentence for those who point at it.
type mapCell struct {
	colour      int
	text, words string
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
	{0, "N", "nystrom"},
	{4, "R", "rotated"},
	{2, "K", "krylov"},
	{8, "J", "cg"},
	{1, "T", "tridiagonal"},
	{3, "E", "eigen"},
	{5, "C", "cholesky"},
	{7, "B", "bartels-stewart"},
}

func signOf(name string) mapCell {
	i := slices.IndexFunc(signs, func(c mapCell) bool { return c.words == name })
	if i < 0 {
		return mapCell{6, "?", name}
	}
	return signs[i]
}

// crossMaps are those of each backend.
func crossMaps(group []bench.Result) []crossMap {
	var maps []crossMap
	for _, be := range backendsOf(group) {
		m := crossMap{
			name: "sylvester-winners", title: fmt.Sprintf("The fastest solver, %v backend", be),
			at: map[point][]bench.Result{},
		}
		if be != nil && be != "native" {
			m.name += fmt.Sprintf("-%v", be)
		}
		for _, r := range group {
			if r.Params["backend"] == be && inMap(r, group) {
				p := point{r.Number("l"), r.Number("n"), r.Number("lambda"), fmt.Sprint(r.Params["spectrum"])}
				m.ls, m.ns, m.lambdas = insert(m.ls, p.l), insert(m.ns, p.n), insert(m.lambdas, p.lambda)
				if !slices.Contains(m.spectra, p.spectrum) {
					m.spectra = append(m.spectra, p.spectrum)
				}
				m.at[p] = append(m.at[p], r)
			}
		}
		if len(m.at) >= 2 {
			slices.Reverse(m.lambdas)
			maps = append(maps, m)
		}
	}
	return maps
}

// cell names the fastest solver at a point. Every L of one output is the same.
func (m *crossMap) cell(p point) (mapCell, bool) {
	rs := m.at[p]
	for _, s := range m.spectra {
		if p.n == 1 && rs == nil {
			p.spectrum = s
			rs = m.at[p]
		}
	}
	best, ok := quickest(rs)
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

// quickest is the fastest of those that ended; "auto" is judged apart.
func quickest(rs []bench.Result) (bench.Result, bool) {
	best, ok := bench.Result{}, false
	for _, r := range rs {
		if r.Name != "auto" && r.Error == "" && !r.Stopped && r.Seconds > 0 && (!ok || r.Seconds < best.Seconds) {
			best, ok = r, true
		}
	}
	return best, ok
}

// usedSigns are those of the solvers that win somewhere.
func usedSigns(at map[point][]bench.Result) []mapCell {
	var used []mapCell
	for _, s := range signs {
		for _, rs := range at {
			if best, ok := quickest(rs); ok && best.Name == s.words {
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
	for _, c := range usedSigns(m.at) {
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

// Thumbnail fills the canvas with the colour and writes the text over it.
func (m mapCell) Thumbnail(c *draw.Canvas) {
	style := picture.Text(min(9, 0.8*c.Size().Y))
	style.Color = color.White
	c.FillPolygon(picture.Palette[m.colour], corners(c.Rectangle))
	style.XAlign, style.YAlign = draw.XCenter, draw.YCenter
	c.FillText(style, c.Center(), m.text)
}
