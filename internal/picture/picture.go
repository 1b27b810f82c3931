// Package picture draws for both commands, all in one style: charts, heat maps of
// matrices with names, and networks, as PNG and SVG files and as elements of a page.
package picture

import (
	"image/color"
	"io"
	"path/filepath"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/iokl/iokl/internal/atomicfile"
)

// Blue is the first colour of all pictures.
var Blue = color.RGBA{0, 114, 178, 255}

// New is a plot in the style of all pictures.
func New(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Title.TextStyle = Text(titleSize)
	p.Title.TextStyle.XAlign, p.Title.TextStyle.YAlign = draw.XCenter, draw.YTop
	p.Title.Padding = 8
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Font.Variant, a.Tick.Label.Font.Variant = "Sans", "Sans"
		a.Label.TextStyle.Font.Size, a.Tick.Label.Font.Size = 11, 9
		a.Label.Padding = 4
	}
	p.Legend.TextStyle = Text(10)
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

// Save writes dir/name.png and dir/name.svg and returns the names of the files.
func Save(dir, name string, width, height vg.Length, paint func(draw.Canvas)) ([]string, error) {
	var files []string
	for _, format := range formats {
		var canvas vg.CanvasWriterTo = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height),
			vgimg.UseDPI(150))}
		if format == "svg" {
			canvas = vgsvg.New(width, height)
		}
		paint(draw.Crop(draw.New(canvas), margin, -margin, margin, -margin))
		path := filepath.Join(dir, name+"."+format)
		err := atomicfile.Write(path, func(w io.Writer) error {
			_, err := canvas.WriteTo(w)
			return err
		})
		if err != nil {
			return files, err
		}
		files = append(files, path)
	}
	return files, nil
}

var formats = []string{"png", "svg"}
