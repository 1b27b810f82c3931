package picture

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Chart shows curves over an axis.
type Chart struct {
	Title, X, Y string
	LogX, LogY  bool
	Steps       bool               // each value holds until the next
	Names       []string           // of the values 1, 2, … of X
	At          plot.ConstantTicks // labels of X where it is no number; nil for numbers
	Curves      []Curve
}

// Curve is one line of a chart with a point at each value.
type Curve struct {
	Name string
	XY   plotter.XYs
	Dots bool            // points without a line between them
	Line bool            // a line without points
	Ring bool            // black rings around points
	Bars plotter.YErrors // error bars of the values; nil for none
}

// Palette is told apart by people who confuse colours (Okabe and Ito) and in grey.
var Palette = []color.RGBA{
	Blue,
	{213, 94, 0, 255},
	{0, 158, 115, 255},
	{204, 121, 167, 255},
	{86, 180, 233, 255},
	{230, 159, 0, 255},
	{70, 70, 70, 255},
	{140, 86, 75, 255},
	{120, 94, 240, 255},
}

// dashes tell curves apart once the colours repeat.
var dashes = [][]vg.Length{nil, {6, 3}, {2, 2}, {8, 3, 2, 3}}

// XY are points of these coordinates.
func XY(x, y []float64) plotter.XYs {
	xy := make(plotter.XYs, len(x))
	for i := range xy {
		xy[i] = plotter.XY{X: x[i], Y: y[i]}
	}
	return xy
}

// Point adds a point to the curve of that name, at its place by x.
func (c *Chart) Point(name string, x, y float64) {
	i := slices.IndexFunc(c.Curves, func(c Curve) bool { return c.Name == name })
	if i < 0 {
		i = len(c.Curves)
		c.Curves = append(c.Curves, Curve{Name: name})
	}
	xy := append(c.Curves[i].XY, plotter.XY{X: x, Y: y})
	slices.SortStableFunc(xy, func(a, b plotter.XY) int { return cmp.Compare(a.X, b.X) })
	c.Curves[i].XY = xy
}

// DropShort leaves out curves of fewer than two points.
func (c *Chart) DropShort() {
	c.Curves = slices.DeleteFunc(c.Curves, func(c Curve) bool { return len(c.XY) < 2 })
}

// Figures is the chart as a figure with that name of its files, none where it has no curve.
func (c Chart) Figures(name string) []Figure {
	if len(c.Curves) == 0 {
		return nil
	}
	f := Figure{
		Name: name, Title: c.Title, Width: 16 * vg.Centimeter, Height: 11 * vg.Centimeter, PageWidth: 330,
		Paint: c.paint, Chart: &c,
	}
	for i, curve := range c.Curves {
		sign := Sign{curve.Name, &plotter.Line{LineStyle: line(i)}}
		if curve.Dots || curve.Ring {
			sign.Thumb = &plotter.Scatter{GlyphStyle: curve.glyph(i)}
		}
		f.Legend = append(f.Legend, sign)
	}
	return []Figure{f}
}

func line(i int) draw.LineStyle {
	return draw.LineStyle{Color: Palette[i%len(Palette)], Width: 1.8, Dashes: dashes[i/len(Palette)%len(dashes)]}
}

// glyph is the point of curve i: full, or a ring once the colours repeat; of points
// without lines, each has a shape of its own.
func (c *Curve) glyph(i int) draw.GlyphStyle {
	g := draw.GlyphStyle{Color: Palette[i%len(Palette)], Radius: 2.6, Shape: draw.CircleGlyph{}}
	switch {
	case c.Ring:
		g = draw.GlyphStyle{Color: color.Black, Radius: 4, Shape: draw.RingGlyph{}}
	case c.Dots:
		g.Shape, g.Radius = shapes[i%len(shapes)], 3.5
	case i >= len(Palette):
		g.Shape = draw.RingGlyph{}
	}
	return g
}

var shapes = []draw.GlyphDrawer{
	draw.CircleGlyph{},
	draw.RingGlyph{},
	draw.SquareGlyph{},
	draw.TriangleGlyph{},
	draw.CrossGlyph{},
	draw.PlusGlyph{},
	draw.BoxGlyph{},
	draw.PyramidGlyph{},
}

func (c *Chart) paint(canvas draw.Canvas) {
	p := New("", "") // its own labels are off the middle of logarithmic axes
	p.X.Tick.Marker, p.Y.Tick.Marker = ticks{}, ticks{}
	if c.LogX {
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, logTicks{}
	}
	at := c.At
	for i, name := range c.Names {
		at = append(at, plot.Tick{Value: float64(i + 1), Label: name})
	}
	if at != nil {
		p.X.Tick.Marker = at
	}
	const across = 40 // letters that an axis has room for
	if len(strings.Join(c.Names, "")) > across {
		upright(&p.X, 8)
	}
	if c.LogY {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, logTicks{}
	}
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = color.Gray{225}, color.Gray{225}
	p.Add(grid)
	for i, curve := range c.Curves {
		line := &plotter.Line{XYs: curve.XY, LineStyle: line(i)}
		dots := &plotter.Scatter{XYs: curve.XY, GlyphStyle: curve.glyph(i)}
		if c.Steps {
			line.StepStyle, dots.XYs = plotter.PostStep, curve.XY[len(curve.XY)-1:]
		}
		if !curve.Dots && !curve.Ring {
			p.Add(line)
		}
		if curve.Bars != nil {
			p.Add(&plotter.YErrorBars{
				XYs: curve.XY, YErrors: curve.Bars, CapWidth: plotter.DefaultCapWidth,
				LineStyle: draw.LineStyle{Color: line.Color, Width: 0.8},
			})
		}
		if !curve.Line {
			p.Add(dots)
		}
	}
	pad(&p.X, c.LogX, 0.04)
	if c.Names != nil {
		p.X.Min, p.X.Max = 0.5, float64(len(c.Names))+0.5
	}
	pad(&p.Y, c.LogY, 0.06)
	label := Text(11)
	label.XAlign = draw.XCenter
	inner := draw.Crop(canvas, titleHeight, 0, titleHeight, 0)
	p.Draw(inner)
	data := p.DataCanvas(inner)
	middle := data.Center()
	canvas.FillText(label, vg.Point{X: middle.X, Y: canvas.Min.Y + 3}, c.X)
	label.Rotation = math.Pi / 2
	half := label.Rectangle(c.Y).Size().Y / 2
	y := max(min(middle.Y, canvas.Max.Y-half), canvas.Min.Y+half) // the label is whole
	canvas.FillText(label, vg.Point{X: canvas.Min.X + 11, Y: y}, c.Y)
}

// upright turns the labels of a horizontal axis.
func upright(a *plot.Axis, size vg.Length) {
	a.Tick.Label.Font.Size, a.Tick.Label.Rotation = size, math.Pi/2
	a.Tick.Label.XAlign, a.Tick.Label.YAlign = draw.XRight, draw.YCenter
}

// pad leaves room beyond the last value, and widens an empty range enough to divide by.
func pad(a *plot.Axis, log bool, share float64) {
	if log {
		a.Max *= max(math.Pow(a.Max/a.Min, share), 1.02)
		return
	}
	a.Max += max(share*(a.Max-a.Min), 1e-9*math.Abs(a.Max), 1e-300)
}

// ticks are gonum's with five significant digits, which differ where the range is narrow.
type ticks struct{}

func (ticks) Ticks(lo, hi float64) []plot.Tick {
	out := plot.DefaultTicks{}.Ticks(lo, hi)
	for i := range out {
		if out[i].Label != "" {
			out[i].Label = strconv.FormatFloat(out[i].Value, 'g', 5, 64)
		}
	}
	return out
}

// logTicks labels powers of ten, and 2 and 5 times them where few decades are shown.
type logTicks struct{}

func (logTicks) Ticks(lo, hi float64) []plot.Tick {
	if !(lo > 0) || !(hi > lo) {
		return []plot.Tick{{Value: lo, Label: fmt.Sprint(lo)}}
	}
	decades := math.Log10(hi / lo)
	every := max(1, int(math.Ceil(decades/9)))
	var out []plot.Tick
	for e := int(math.Floor(math.Log10(lo))); float64(e) <= math.Log10(hi)+1e-9; e++ {
		for _, m := range []float64{1, 2, 5} {
			v := m * math.Pow10(e)
			if v < lo*(1-1e-9) || v > hi*(1+1e-9) {
				continue
			}
			t := plot.Tick{Value: v}
			if (m == 1 && e%every == 0) || (m > 1 && decades < 2.2) {
				t.Label = fmt.Sprintf("%.4g", v)
			}
			out = append(out, t)
		}
	}
	if len(out) < 3 {
		return ticks{}.Ticks(lo, hi)
	}
	return out
}
