package picture

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/palette/moreland"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/iokl/iokl/blas"
)

// Heat is a heat map of a square matrix, its first row on top.
type Heat struct {
	Title, X, Y string
	Matrix      blas.General
	Names       []string // of rows and of columns; many make the labels small, above 150 they are left out
	Min, Max    float64  // the range of the colours: of black to white, or blue over grey to red where Min is below 0
}

// cells paints the matrix: one path for each colour.
type cells struct {
	*Heat
	colors []color.Color
}

// Plot implements plot.Plotter.
func (h cells) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	paths := make([]vg.Path, len(h.colors))
	for i := range h.Matrix.Rows {
		y := float64(h.Matrix.Rows - 1 - i)
		for j, v := range blas.Row(h.Matrix, i) {
			share := min(max((v-h.Min)/(h.Max-h.Min), 0), 1) // NaN stays
			if math.IsNaN(share) {
				continue
			}
			x := float64(j)
			path := &paths[int(math.Round(share*float64(len(paths)-1)))]
			*path = append(*path, vg.Rectangle{
				Min: vg.Point{X: tx(x - 0.5), Y: ty(y - 0.5)}, Max: vg.Point{X: tx(x + 0.5), Y: ty(y + 0.5)},
			}.Path()...)
		}
	}
	for k, path := range paths {
		if len(path) > 0 {
			c.SetColor(fixed(h.colors[k]))
			c.Fill(path)
		}
	}
}

// fixed is the colour less what would make it pure black or white, which a page replaces.
func fixed(c color.Color) color.Color {
	r, g, b, _ := c.RGBA()
	within := func(v uint32) uint8 { return uint8(min(max(v>>8, 1), 254)) }
	return color.RGBA{within(r), within(g), within(b), 255}
}

// DataRange implements plot.DataRanger.
func (h cells) DataRange() (xmin, xmax, ymin, ymax float64) {
	return -0.5, float64(h.Matrix.Cols) - 0.5, -0.5, float64(h.Matrix.Rows) - 0.5
}

const maxLabels = 150

// shades is odd, so that the middle of the range has a colour of its own.
const shades = 255

// Figure is the heat map as a figure with that name of its files.
func (h *Heat) Figure(name string) Figure {
	colors := moreland.ExtendedBlackBody()
	if h.Min < 0 {
		colors = moreland.SmoothBlueRed()
	}
	colors.SetMin(h.Min)
	colors.SetMax(h.Max)
	p := New(h.X, h.Y)
	p.Add(cells{h, colors.Palette(shades).Colors()})
	n := h.Matrix.Rows
	label := vg.Length(max(5, min(9, 700/n)))
	longest := 0
	if n <= maxLabels {
		for _, name := range h.Names {
			longest = max(longest, len([]rune(name)))
		}
		down := slices.Clone(h.Names)
		slices.Reverse(down)
		p.NominalX(h.Names...)
		p.NominalY(down...)
		upright(&p.X, label)
		p.Y.Tick.Label.Font.Size = label
	}
	side := vg.Length(max(300, min(1100, 14*n)))
	spare := vg.Length(longest) * label * 0.15 // below the cells, as upright labels are longer in some fonts of pages
	room := 70 + vg.Length(longest)*label*0.62 + spare
	f := Figure{Name: name, Title: h.Title, Width: side + room, Height: side + room, PageLegend: true, Paint: p.Draw}
	p.X.Padding += spare
	for k := range 3 { // the middle and both ends of the range
		v := h.Min + (h.Max-h.Min)*float64(k)/2
		c, err := colors.At(v)
		if err != nil {
			break // an empty range
		}
		f.Legend = append(f.Legend, Sign{fmt.Sprintf("%.3g", v), square{c}})
	}
	return f
}

// square is the sign of an area in a legend.
type square struct{ color.Color }

// Thumbnail implements plot.Thumbnailer.
func (s square) Thumbnail(c *draw.Canvas) {
	c.SetColor(fixed(s.Color))
	c.Fill(c.Rectangle.Path())
}

// Correlations is the map of a correlation matrix whose variables have these names, those that go together side by
// side.
func Correlations(title string, names []string, R mat.Symmetric) *Heat {
	order := Clustered(R)
	n := len(order)
	h := &Heat{Title: title, Matrix: blas.NewGeneral(n, n), Min: -1, Max: 1}
	for a, i := range order {
		h.Names = append(h.Names, names[i])
		for b, j := range order {
			h.Matrix.Data[a*n+b] = R.At(i, j)
		}
	}
	return h
}

// Clustered orders the rows of a correlation matrix so that those which go
// together are neighbours: the leaves of an average-linkage tree on 1 − r, each
// merge laid so that the nearer ends meet.
func Clustered(R mat.Symmetric) []int {
	n := R.SymmetricDim()
	groups := make([][]int, n)
	d := make([][]float64, n)
	for i := range n {
		groups[i] = []int{i}
		d[i] = make([]float64, n)
		for j := range n {
			d[i][j] = 1 - R.At(i, j)
		}
	}
	for left := n; left > 1; left-- {
		a, b := nearest(groups, d)
		for k := range groups {
			if groups[k] == nil || k == a || k == b {
				continue
			}
			na, nb := float64(len(groups[a])), float64(len(groups[b]))
			d[a][k] = (na*d[a][k] + nb*d[b][k]) / (na + nb)
			d[k][a] = d[a][k]
		}
		groups[a] = join(groups[a], groups[b], R)
		groups[b] = nil
	}
	return slices.Concat(groups...) // of which one is left
}

// nearest is the pair of groups of smallest distance.
func nearest(groups [][]int, d [][]float64) (a, b int) {
	best := math.Inf(1)
	for i := range groups {
		if groups[i] == nil {
			continue
		}
		for j := range i {
			if groups[j] != nil && (d[i][j] < best || math.IsInf(best, 1)) {
				best, a, b = d[i][j], j, i
			}
		}
	}
	return a, b
}

// join puts b after a, either reversed where that brings more similar ends together.
func join(a, b []int, R mat.Symmetric) (out []int) {
	best := math.Inf(-1)
	for range 2 {
		for range 2 {
			if r := R.At(a[len(a)-1], b[0]); r > best {
				best, out = r, slices.Concat(a, b)
			}
			slices.Reverse(b)
		}
		slices.Reverse(a)
	}
	return out
}
