package bench

import (
	"cmp"
	"fmt"
	"image/color"
	"io"
	"math"
	"path/filepath"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/iokl/iokl/internal/atomicfile"
)

// A figure is a picture of one case: curves over time, or over a parameter.
type figure struct {
	name       string // of the file, without its ending
	title      string
	what       string // the title without the name of the case, of figures over time
	xLabel     string
	yLabel     string
	logX, logY bool
	steps      bool // each value holds until the next
	named      bool // there is a picture with names in its place where there is room for them: this one is for the page alone
	curves     []curve
}

type curve struct {
	name string
	xy   plotter.XYs
	dots bool // points without a line between them
	line bool // a line without points
}

// palette is told apart by people who confuse colours (Okabe and Ito) and in grey.
var palette = []color.RGBA{
	{0, 114, 178, 255},
	{213, 94, 0, 255},
	{0, 158, 115, 255},
	{204, 121, 167, 255},
	{86, 180, 233, 255},
	{230, 159, 0, 255},
	{70, 70, 70, 255},
	{140, 86, 75, 255},
	{120, 94, 240, 255},
}

var dashes = [][]vg.Length{nil, {6, 3}, {2, 2}, {8, 3, 2, 3}}

// Draw draws every picture that the results have the numbers for into dir, each
// as PNG and SVG, and returns the names of the files.
func Draw(f *File, dir string) ([]string, error) {
	var names []string
	figs := slices.DeleteFunc(figures(f), func(fig figure) bool { return fig.named })
	if fig, ok := machineRoofline(f.Results, f.Machine.Limits); ok {
		figs = append(figs, fig)
	}
	for _, fig := range figs {
		for _, format := range []string{"png", "svg"} {
			name := filepath.Join(dir, fig.name+"."+format)
			if err := atomicfile.Write(name, func(w io.Writer) error { return fig.write(w, format) }); err != nil {
				return names, fmt.Errorf("drawing %s: %w", name, err)
			}
			names = append(names, name)
		}
	}
	for _, group := range byCase(f.Results) {
		if group[0].Case == "sylvester" {
			for _, m := range crossMaps(group) {
				name := filepath.Join(dir, m.name+".svg")
				if err := atomicfile.Write(name, func(w io.Writer) error { _, err := io.WriteString(w, m.svg(true)); return err }); err != nil {
					return names, fmt.Errorf("drawing %s: %w", name, err)
				}
				names = append(names, name)
			}
		}
		if group[0].Case == "drosophila" {
			more, err := drawGenes(group, dir)
			names = append(names, more...)
			if err != nil {
				return names, fmt.Errorf("drawing: %w", err)
			}
		}
	}
	return names, nil
}

const (
	plotWidth    = 16 * vg.Centimeter
	figureHeight = 11 * vg.Centimeter
	margin       = 0.4 * vg.Centimeter
)

// write draws the plot with its legend to the right of it.
func (f *figure) write(w io.Writer, format string) error {
	legend := f.legend()
	side := margin
	for _, c := range f.curves {
		side = max(side, legend.TextStyle.Rectangle(c.name).Size().X)
	}
	side += legend.ThumbnailWidth + 2*margin
	width := plotWidth + side
	var canvas vg.CanvasWriterTo
	if format == "png" {
		canvas = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, figureHeight), vgimg.UseDPI(150))}
	} else {
		canvas = vgsvg.New(width, figureHeight)
	}
	all := draw.New(canvas)
	p := f.plot()
	p.Draw(draw.Crop(all, margin, -side-margin, margin, -margin))
	legend.Draw(draw.Crop(all, plotWidth, -margin, margin, -1.2*vg.Centimeter))
	_, err := canvas.WriteTo(w)
	return err
}

// legend lists the curves.
func (f *figure) legend() *plot.Legend {
	l := plot.NewLegend()
	l.Top, l.Left = true, true
	l.TextStyle.Font.Variant = "Sans"
	l.TextStyle.Font.Size = 10
	l.Padding = 4
	l.ThumbnailWidth = 0.8 * vg.Centimeter
	for i, c := range f.curves {
		l.Add(c.name, &plotter.Line{LineStyle: f.line(i)})
	}
	return &l
}

// line is the style of curve i: its colour and dashes.
func (f *figure) line(i int) draw.LineStyle {
	return draw.LineStyle{Color: palette[i%len(palette)], Width: vg.Points(1.8), Dashes: dashes[i/len(palette)%len(dashes)]}
}

// figures are the pictures of the results.
func figures(f *File) []figure {
	var figs []figure
	for _, group := range byCase(f.Results) {
		figs = append(figs, traceFigures(group)...)
		if more := pictures[group[0].Case]; more != nil {
			figs = append(figs, more(group, f.Machine.Limits)...)
		}
	}
	return figs
}

// traceFigures are objective, certified gap and accuracy against time.
func traceFigures(group []Result) []figure {
	if len(group) == 0 {
		return nil
	}
	name := group[0].Case
	best := math.Inf(1)
	for _, r := range group {
		for _, p := range r.Trace {
			if p.Objective != nil {
				best = min(best, *p.Objective)
			}
		}
	}
	quantities := []struct {
		file, title, label string
		logY               bool
		of                 func(Point) *float64
	}{
		{"objective", "objective against time", "objective (logarithmic)", true, func(p Point) *float64 { return p.Objective }},
		{"excess", "distance to the best objective against time", "objective over the best, − 1", true, func(p Point) *float64 {
			if p.Objective == nil || !(best > 0) {
				return nil
			}
			return Num(*p.Objective/best - 1)
		}},
		{"gap", "certified relative gap against time", "relative gap", true, func(p Point) *float64 { return p.RelativeGap }},
		{"accuracy", "test accuracy against time", "test accuracy (%)", false, func(p Point) *float64 {
			if p.Accuracy == nil {
				return nil
			}
			return Num(100 * *p.Accuracy)
		}},
	}
	var figs []figure
	for _, q := range quantities {
		fig := figure{
			name: name + "-" + q.file, title: name + ": " + q.title, what: q.title,
			xLabel: "seconds (logarithmic)", yLabel: q.label, logX: true, logY: q.logY, steps: true,
		}
		for _, r := range group {
			fig.add(r.Name, r.Trace, q.of)
		}
		if len(fig.curves) > 0 {
			figs = append(figs, fig)
		}
	}
	return figs
}

// add adds the curve of one quantity over a trace, where it has at least two points that can be drawn.
func (f *figure) add(name string, trace []Point, of func(Point) *float64) {
	var xy plotter.XYs
	for _, p := range trace {
		y := of(p)
		if y == nil || (f.logY && !(*y > 0)) || (f.logX && !(p.Seconds > 0)) {
			continue
		}
		xy = append(xy, plotter.XY{X: p.Seconds, Y: *y})
	}
	if len(xy) > 1 {
		f.curves = append(f.curves, curve{name: name, xy: xy})
	}
}

// point adds a point to the curve of that name, at its place by x.
func (f *figure) point(name string, x, y float64) {
	i := slices.IndexFunc(f.curves, func(c curve) bool { return c.name == name })
	if i < 0 {
		i = len(f.curves)
		f.curves = append(f.curves, curve{name: name})
	}
	f.curves[i].xy = append(f.curves[i].xy, plotter.XY{X: x, Y: y})
	f.curves[i].sort()
}

func (c *curve) sort() {
	slices.SortStableFunc(c.xy, func(a, b plotter.XY) int { return cmp.Compare(a.X, b.X) })
}

// ifAny is the figure where it has a curve.
func (f figure) ifAny() []figure {
	if len(f.curves) == 0 {
		return nil
	}
	return []figure{f}
}

func (f *figure) plot() *plot.Plot {
	p := plot.New()
	plain := font.Font{Variant: "Sans"}
	for _, s := range []*text.Style{&p.Title.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label} {
		s.Font.Variant = plain.Variant
	}
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = f.title, f.xLabel, f.yLabel
	p.Title.TextStyle.Font.Size = 13
	p.Title.Padding = 8
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.DefaultTicks{}, plot.DefaultTicks{}
	if f.logX {
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, logTicks{}
	}
	if f.logY {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, logTicks{}
	}
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = color.Gray{225}, color.Gray{225}
	p.Add(grid)
	for i, c := range f.curves {
		line := &plotter.Line{XYs: c.xy, LineStyle: f.line(i)}
		dots := &plotter.Scatter{XYs: c.xy, GlyphStyle: draw.GlyphStyle{
			Color: palette[i%len(palette)], Radius: vg.Points(2.5), Shape: draw.CircleGlyph{},
		}}
		if f.steps {
			line.XYs, dots.XYs = steps(c.xy), c.xy[len(c.xy)-1:]
		}
		if !c.dots {
			p.Add(line)
		}
		if !c.line {
			p.Add(dots)
		}
	}
	f.padRange(p)
	return p
}

// steps holds each value until the next is known: nothing is known in between.
func steps(xy plotter.XYs) plotter.XYs {
	out := plotter.XYs{xy[0]}
	for i := 1; i < len(xy); i++ {
		out = append(out, plotter.XY{X: xy[i].X, Y: xy[i-1].Y}, xy[i])
	}
	return out
}

// padRange leaves room to the right of the curves and above them.
func (f *figure) padRange(p *plot.Plot) {
	if f.logX {
		p.X.Max *= 1.15
	}
	if f.logY {
		p.Y.Max *= math.Pow(p.Y.Max/p.Y.Min, 0.06)
		return
	}
	p.Y.Max += 0.06 * (p.Y.Max - p.Y.Min)
}

// logTicks labels powers of ten, and 2 and 5 times them where few decades are shown.
type logTicks struct{}

func (logTicks) Ticks(lo, hi float64) []plot.Tick {
	if !(lo > 0) || !(hi > lo) {
		return []plot.Tick{{Value: lo, Label: fmt.Sprint(lo)}}
	}
	decades := math.Log10(hi / lo)
	every := max(1, int(math.Ceil(decades/9)))
	var ticks []plot.Tick
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
			ticks = append(ticks, t)
		}
	}
	if len(ticks) < 3 {
		return plot.DefaultTicks{}.Ticks(lo, hi)
	}
	slices.SortFunc(ticks, func(a, b plot.Tick) int { return cmp.Compare(a.Value, b.Value) })
	return ticks
}

// pictures are those of single cases beside the traces.
var pictures = map[string]func(group []Result, limits *Limits) []figure{
	"digits":     func(group []Result, _ *Limits) []figure { return digitFigures(group) },
	"sylvester":  func(group []Result, _ *Limits) []figure { return sylvesterFigures(group) },
	"operator":   columnFigures,
	"drosophila": func(group []Result, _ *Limits) []figure { return groupFigures(group) },
	"rff":        func(group []Result, _ *Limits) []figure { return featureFigures(group) },
	"nystrom":    func(group []Result, _ *Limits) []figure { return wayFigures(group) },
	"scale":      func(group []Result, _ *Limits) []figure { return scaleFigures(group) },
}
