// Package picture draws for both commands, all in one style: charts, heat maps of
// matrices with names, and networks, as PNG and SVG files and as elements of a page.
package picture

import (
	"bytes"
	"fmt"
	"html"
	"html/template"
	"image/color"
	"io"
	"path/filepath"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/iokl/iokl/internal/base/screen"
	"github.com/iokl/iokl/internal/files/atomicfile"
)

// Blue is the first colour of all pictures.
var Blue = color.RGBA{0, 114, 178, 255}

// New is a plot in the style of all pictures, with labels of its axes and without a background.
func New(x, y string) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	p.X.Label.Text, p.Y.Label.Text = x, y
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Font.Variant, a.Tick.Label.Font.Variant = "Sans", "Sans"
		a.Label.TextStyle.Font.Size, a.Tick.Label.Font.Size = 11, 9
		a.Label.Padding = 4
	}
	return p
}

// Text is text of that size in the font of all pictures.
func Text(size vg.Length) draw.TextStyle {
	f := font.From(plot.DefaultFont, size)
	f.Variant = "Sans"
	return draw.TextStyle{Color: color.Black, Font: f, Handler: plot.DefaultTextHandler}
}

// margin is left free on every side of a file.
const margin = 10

// SaveAll writes the figures into a folder and returns the names of the files.
func SaveAll(dir string, figures []Figure) (files []string, err error) {
	for _, f := range figures {
		more, err := f.Save(dir)
		if files = append(files, more...); err != nil {
			return files, err
		}
	}
	return files, nil
}

// Figure is a picture with its title and its legend. Files have the title above
// it and the legend to the right; pages have both as text around it.
type Figure struct {
	Name          string // of its files, without ending; "" for a figure of pages alone
	Title         string
	Width, Height vg.Length // of what Paint fills in a file
	PageWidth     vg.Length // on a page, as high in proportion; 0 means Width
	Paint         func(draw.Canvas)
	Legend        []Sign
	PageLegend    bool   // a file needs no legend
	Chart         *Chart // that Paint paints, nil for another picture
}

// Sign is an entry of a legend.
type Sign struct {
	Text  string
	Thumb plot.Thumbnailer
}

// Sizes of what is around a picture.
const (
	titleSize   = 13
	titleHeight = 1.5 * titleSize
	thumbWidth  = 0.8 * vg.Centimeter
	thumbHeight = 12
	gap         = 12
	wider       = 1.15 // the fonts that browsers draw SVG files with, over those measured here
)

// Save writes dir/Name.png and dir/Name.svg and returns the names of the files.
func (f *Figure) Save(dir string) (files []string, err error) {
	title := Text(titleSize)
	title.XAlign = draw.XCenter
	legend := plot.NewLegend()
	legend.Top, legend.Left, legend.Padding, legend.ThumbnailWidth = true, true, 4, thumbWidth
	legend.TextStyle = Text(10)
	side := vg.Length(0)
	if !f.PageLegend {
		for _, s := range f.Legend {
			legend.Add(s.Text, s.Thumb)
			side = max(side, wider*legend.TextStyle.Rectangle(s.Text).Size().X+thumbWidth+2*gap)
		}
	}
	lines := wrapped(f.Title, title, f.Width+side)
	center := f.Width / 2
	if title.Rectangle(f.Title).Size().X > f.Width {
		center = (f.Width + side) / 2
	}
	top := titleHeight * vg.Length(len(lines))
	width, height := f.Width+side+2*margin, f.Height+top+2*margin
	png := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(150))
	for _, format := range []struct {
		ending string
		canvas vg.CanvasWriterTo
	}{{".png", vgimg.PngCanvas{Canvas: png}}, {".svg", vgsvg.New(width, height)}} {
		c := draw.Crop(draw.New(format.canvas), margin, -margin, margin, -margin)
		c.SetColor(color.White)
		c.Fill(vg.Rectangle{Min: vg.Point{X: -margin, Y: -margin}, Max: vg.Point{X: width, Y: height}}.Path())
		for i, line := range lines {
			c.FillText(title, vg.Point{X: c.Min.X + center, Y: c.Max.Y - titleSize - vg.Length(i)*titleHeight}, line)
		}
		f.Paint(draw.Crop(c, 0, -side, 0, -top))
		legend.Draw(draw.Crop(c, f.Width+gap, 0, 0, -top))
		path := filepath.Join(dir, f.Name+format.ending)
		err := atomicfile.Write(path, func(w io.Writer) error {
			if format.ending == ".svg" {
				w = &screen.Writer{W: w} // XML has no way to write control characters
			}
			_, err := format.canvas.WriteTo(w)
			return err
		})
		if err != nil {
			return files, err
		}
		files = append(files, path)
	}
	return files, nil
}

// wrapped breaks a text into lines that fit the width.
func wrapped(s string, style draw.TextStyle, width vg.Length) []string {
	var lines []string
	for _, word := range strings.Fields(s) {
		last := len(lines) - 1
		if last >= 0 && style.Rectangle(lines[last]+" "+word).Size().X <= width {
			lines[last] += " " + word
			continue
		}
		lines = append(lines, word)
	}
	return lines
}

// HTML is the figure as an element of a page, whose style sheet gives the colours
// --fg, --soft, --line, --bg and --c0, --c1, … of the palette.
func (f *Figure) HTML() template.HTML {
	width := f.Width
	if f.PageWidth > 0 {
		width = f.PageWidth
	}
	height := f.Height * width / f.Width
	title := html.EscapeString(f.Title)
	var b strings.Builder
	fmt.Fprintf(&b, `<figure><figcaption>%s</figcaption>`, title)
	b.WriteString(inline(width, height, fmt.Sprintf(`class="chart" role="img" aria-label="%s" style="max-width:%.0fpx"`,
		title, 1.45*width), f.Paint))
	if len(f.Legend) > 0 {
		b.WriteString(`<ul class="legend">`)
		for _, s := range f.Legend {
			thumb := inline(thumbWidth, thumbHeight, `aria-hidden="true"`, func(c draw.Canvas) {
				s.Thumb.Thumbnail(&c)
			})
			fmt.Fprintf(&b, `<li>%s %s</li>`, thumb, html.EscapeString(s.Text))
		}
		b.WriteString(`</ul>`)
	}
	b.WriteString(`</figure>`)
	return template.HTML(b.String()) // every text was escaped above or by vgsvg
}

// inline is what paint paints as an svg element with the attributes, in the colours of a page.
func inline(width, height vg.Length, attributes string, paint func(draw.Canvas)) string {
	return fmt.Sprintf(`<svg %s viewBox="0 0 %.4g %.4g">%s</svg>`, attributes, width.Points(), height.Points(),
		drawn(width, height, paint))
}

// drawn is what paint paints as the content of an svg element, in the colours of a page.
func drawn(width, height vg.Length, paint func(draw.Canvas)) string {
	canvas := vgsvg.New(width, height)
	paint(draw.New(canvas))
	var b bytes.Buffer
	_, _ = canvas.WriteTo(&b) // a buffer takes everything
	text := b.String()
	return pageColors.Replace(text[strings.Index(text, "<g"):strings.LastIndex(text, "</svg>")])
}

// pageColors puts the variables of a page's style sheet in the place of colours. Black is left out
// by vgsvg where it fills.
var pageColors = func() *strings.Replacer {
	pairs := []string{":#000000", ":var(--fg)", ":#FFFFFF", ":var(--bg)", ":#E1E1E1", ":var(--line)", "\n", " "}
	for i, c := range Palette {
		pairs = append(pairs, fmt.Sprintf(":#%02X%02X%02X", c.R, c.G, c.B), fmt.Sprintf(":var(--c%d)", i))
	}
	return strings.NewReplacer(pairs...)
}()
