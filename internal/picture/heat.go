package picture

import (
	"math"

	"gonum.org/v1/plot/palette"
	"gonum.org/v1/plot/palette/moreland"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/iokl/iokl/blas"
)

// Heat is a heat map of a matrix, its first row on top.
type Heat struct {
	Title, X, Y string
	Matrix      blas.General
	Rows, Cols  []string // names; many make the labels small, above 150 they are left out
	Min, Max    float64  // the range of the colours: of black to white, or blue over grey to red where Min is below 0
}

// cells is the matrix in the coordinates of a plot.
type cells struct{ a blas.General }

func (c cells) Dims() (cols, rows int) { return c.a.Cols, c.a.Rows }
func (c cells) X(j int) float64        { return float64(j) }
func (c cells) Y(r int) float64        { return float64(r) }
func (c cells) Z(j, r int) float64     { return c.a.Data[(c.a.Rows-1-r)*c.a.Stride+j] }

const maxLabels = 150

// Draw writes the picture and returns the names of its files.
func (h *Heat) Draw(dir, name string) ([]string, error) {
	var colors palette.ColorMap = moreland.ExtendedBlackBody()
	if h.Min < 0 {
		colors = moreland.SmoothBlueRed()
	}
	colors.SetMin(h.Min)
	colors.SetMax(h.Max)
	m := plotter.NewHeatMap(cells{h.Matrix}, colors.Palette(255))
	m.Min, m.Max = h.Min, h.Max
	p := New(h.Title, h.X, h.Y)
	p.Add(m)
	n := max(h.Matrix.Rows, h.Matrix.Cols)
	label := vg.Length(max(5, min(9, 700/n)))
	longest := 0
	if n <= maxLabels && len(h.Rows) > 0 && len(h.Cols) > 0 {
		down := make([]string, len(h.Rows))
		for i, name := range h.Rows {
			down[len(down)-1-i] = name
		}
		for _, list := range [][]string{h.Rows, h.Cols} {
			for _, name := range list {
				longest = max(longest, len([]rune(name)))
			}
		}
		p.NominalX(h.Cols...)
		p.NominalY(down...)
		p.X.Tick.Label.Font.Size, p.Y.Tick.Label.Font.Size = label, label
		p.X.Tick.Label.Rotation = math.Pi / 2
		p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = draw.XRight, draw.YCenter
	}
	side := vg.Length(max(300, min(1100, 14*n)))
	margin := 70 + vg.Length(longest)*label*0.62
	return Save(dir, name, side+margin, side+margin, p.Draw)
}
