// Command losses draws what the losses other than squares are for: a curve among outliers, a fan of quantiles where the
// noise varies, and the probability of a class on the plane. Its pictures are those of docs/losses.md.
package main

import (
	"context"
	"flag"
	"image/color"
	"log"
	"math"
	"math/rand/v2"
	"path/filepath"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/palette/moreland"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/iokl/iokl"
)

const rows = 200

func main() {
	dir := flag.String("out", ".", "directory of the pictures")
	flag.Parse()
	for name, picture := range map[string]func(*rand.Rand) (*plot.Plot, error){
		"losses-outliers": outliers, "losses-quantiles": quantiles, "losses-classes": classes,
	} {
		p, err := picture(rand.New(rand.NewPCG(1, 2)))
		if err == nil {
			err = p.Save(14*vg.Centimeter, 9*vg.Centimeter, filepath.Join(*dir, name+".svg"))
		}
		if err != nil {
			log.Fatal(err)
		}
	}
}

// curve is the function that targets are drawn about.
func curve(x float64) float64 { return math.Sin(2 * x) }

// targets are rows of one input in −2…2 with targets about the curve.
func targets(rng *rand.Rand, noise func(x float64) float64) (X, Y *mat.Dense) {
	X, Y = mat.NewDense(rows, 1, nil), mat.NewDense(rows, 1, nil)
	for i := range rows {
		x := 4*rng.Float64() - 2
		X.Set(i, 0, x)
		Y.Set(i, 0, curve(x)+noise(x))
	}
	return X, Y
}

// fitted is the outputs of a fit by that loss along the axis: one row for each place.
func fitted(X, Y *mat.Dense, loss iokl.Loss) (at []float64, F *mat.Dense, err error) {
	model, err := iokl.Fit(context.Background(), X, Y, iokl.Options{
		Kernels: []string{"gaussian:all:median"}, Lambda: 1e-4, Loss: loss,
	})
	if err != nil {
		return nil, nil, err
	}
	for x := -2.0; x <= 2; x += 0.02 {
		at = append(at, x)
	}
	F, err = model.Predict(mat.NewDense(len(at), 1, at))
	return at, F, err
}

// outliers fits targets of which one in ten is an error by squares and by Huber's loss.
func outliers(rng *rand.Rand) (*plot.Plot, error) {
	X, Y := targets(rng, func(float64) float64 {
		if rng.IntN(10) == 0 {
			return 4
		}
		return 0.15 * rng.NormFloat64()
	})
	p := scatter("One target in ten is an error", X, Y)
	for k, loss := range []iokl.Loss{iokl.LossSquared, iokl.HuberLoss(0.1)} {
		at, F, err := fitted(X, Y, loss)
		if err != nil {
			return nil, err
		}
		line(p, at, F.ColView(0), k, string(loss))
	}
	return p, nil
}

// quantiles fits five quantiles of targets whose noise grows along the axis.
func quantiles(rng *rand.Rand) (*plot.Plot, error) {
	X, Y := targets(rng, func(x float64) float64 { return 0.4 * math.Exp(x/2) * rng.NormFloat64() })
	at, F, err := fitted(X, Y, "quantile:0.05,0.25,0.5,0.75,0.95")
	if err != nil {
		return nil, err
	}
	p := scatter("Quantiles of noise that varies", X, Y)
	for k, name := range []string{".05", ".25", ".5", ".75", ".95"} {
		line(p, at, F.ColView(k), k, name)
	}
	return p, nil
}

// classes draws the probability of the second of two moons.
func classes(rng *rand.Rand) (*plot.Plot, error) {
	X, labels := mat.NewDense(rows, 2, nil), make([]string, rows)
	points := make([]plotter.XYs, 2)
	for i := range rows {
		class, angle := i%2, math.Pi*rng.Float64()
		sign := float64(1 - 2*class)
		x := sign*math.Cos(angle) + float64(class) + 0.2*rng.NormFloat64()
		y := sign*math.Sin(angle) + 0.5*float64(class) + 0.2*rng.NormFloat64()
		X.SetRow(i, []float64{x, y})
		labels[i] = string(rune('a' + class))
		points[class] = append(points[class], plotter.XY{X: x, Y: y})
	}
	model, err := iokl.FitClasses(context.Background(), X, labels, iokl.Options{
		Kernels: []string{"gaussian:all:median*0.5"}, Lambda: 1e-3, Loss: "logistic",
	})
	if err != nil {
		return nil, err
	}
	grid := probabilities{make([]float64, 70), make([]float64, 45), nil}
	places := mat.NewDense(len(grid.x)*len(grid.y), 2, nil)
	for c := range grid.x {
		grid.x[c] = -1.75 + 4.5*float64(c)/float64(len(grid.x)-1)
		for r := range grid.y {
			grid.y[r] = -1.25 + 3*float64(r)/float64(len(grid.y)-1)
			places.SetRow(r*len(grid.x)+c, []float64{grid.x[c], grid.y[r]})
		}
	}
	if grid.P, err = model.PredictProba(places); err != nil {
		return nil, err
	}
	p := plot.New()
	p.Title.Text = "Probability of squares: blue 0, grey ½, red 1"
	colors := moreland.SmoothBlueRed()
	colors.SetMin(0)
	colors.SetMax(1)
	heat := plotter.NewHeatMap(grid, colors.Palette(101))
	heat.Min, heat.Max, heat.Rasterized = 0, 1, true
	p.Add(heat)
	for k, xy := range points {
		addPoints(p, xy, plotutil.Shape(k), color.Black)
	}
	return p, nil
}

// probabilities are those of the second class on a grid.
type probabilities struct {
	x, y []float64
	P    *mat.Dense
}

func (g probabilities) Dims() (c, r int)   { return len(g.x), len(g.y) }
func (g probabilities) X(c int) float64    { return g.x[c] }
func (g probabilities) Y(r int) float64    { return g.y[r] }
func (g probabilities) Z(c, r int) float64 { return g.P.At(r*len(g.x)+c, 1) }

// scatter is a plot of the rows.
func scatter(title string, X, Y *mat.Dense) *plot.Plot {
	p := plot.New()
	p.Title.Text = title
	p.Legend.Top, p.Legend.Left = true, true
	xy := make(plotter.XYs, rows)
	for i := range xy {
		xy[i] = plotter.XY{X: X.At(i, 0), Y: Y.At(i, 0)}
	}
	addPoints(p, xy, plotter.DefaultGlyphStyle.Shape, color.Gray{150})
	return p
}

func addPoints(p *plot.Plot, xy plotter.XYs, shape draw.GlyphDrawer, c color.Color) {
	style := draw.GlyphStyle{Color: c, Radius: plotter.DefaultGlyphStyle.Radius, Shape: shape}
	p.Add(&plotter.Scatter{XYs: xy, GlyphStyle: style})
}

// line adds the values v over the axis, in color k.
func line(p *plot.Plot, at []float64, v mat.Vector, k int, name string) {
	l := &plotter.Line{LineStyle: draw.LineStyle{Color: plotutil.Color(k), Width: vg.Points(2)}}
	for i, x := range at {
		l.XYs = append(l.XYs, plotter.XY{X: x, Y: v.AtVec(i)})
	}
	p.Add(l)
	p.Legend.Add(name, l)
}
