package results

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot/plotter"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/internal/files/picture"
)

// intervalFigures show how intervals do on rows whose targets are known: the intervals beside what was observed, and
// the share of targets that they hold for several levels; nothing for a model without intervals.
func intervalFigures(ctx context.Context, model *iokl.Model, X *mat.Dense, Y mat.Matrix) ([]picture.Figure, error) {
	if !model.KeepsHeldOut() && model.Certificate().Samples > leaveOutRows {
		return nil, nil
	}
	distances, err := model.Distances(ctx, X)
	switch {
	case errors.Is(err, iokl.ErrInput):
		distances = nil // the model keeps no training rows
	case err != nil:
		return nil, err
	}
	chart := picture.Chart{Title: "targets in intervals", X: "share asked for", Y: "share of targets inside"}
	if len(distances) > 0 && floats.Max(distances) == 0 {
		chart.Title += " (training rows: new rows have fewer)"
	}
	names := TargetNames(model.OutputNames(), max(1, len(model.Quantiles())))
	shown := names[:min(mostIntervals, len(names))]
	var asked *iokl.Intervals
	for _, level := range []float64{0.5, 0.6, 0.7, 0.8, 0.9, 0.95} {
		r, err := model.PredictInterval(ctx, X, iokl.IntervalOptions{Level: level})
		if errors.Is(err, iokl.ErrInput) {
			break // no intervals, or none of this level
		}
		if err != nil {
			return nil, err
		}
		if level <= 0.9 {
			asked = r
		}
		share, _, _ := Cover(r.Low.At, r.High.At, Y)
		for j, name := range shown {
			chart.Point(name, level, share[j])
		}
	}
	if asked == nil {
		return nil, nil
	}
	chart.Curves = append(chart.Curves, diagonal("as asked", 0.5, 0.95))
	figures := chart.Figures("coverage")
	for j, name := range shown {
		figures = append(figures, rowsInIntervals(asked, Y, j, name)...)
	}
	return figures, nil
}

// Cover is, of each target, the share of the observed values between lo and hi, and the mean width; and the share of
// the rows of which all observed values are.
func Cover(lo, hi func(i, j int) float64, Y mat.Matrix) (share, width []float64, joint float64) {
	t, n := Y.Dims()
	share, width = make([]float64, n), make([]float64, n)
	count := make([]float64, n)
	for i := range t {
		all := true
		for j := range n {
			width[j] += (hi(i, j) - lo(i, j)) / float64(t)
			if y := Y.At(i, j); lo(i, j) <= y && y <= hi(i, j) {
				share[j]++
				count[j]++
			} else if y == y { // not missing
				all = false
				count[j]++
			}
		}
		if all {
			joint++
		}
	}
	for j := range n {
		share[j] /= max(count[j], 1)
	}
	return share, width, joint / float64(t)
}

// mostIntervals is the number of outputs of which intervals are drawn.
const mostIntervals = 4

// rowsInIntervals shows the intervals of output j for the rows in the order of their predictions.
func rowsInIntervals(r *iokl.Intervals, Y mat.Matrix, j int, name string) []picture.Figure {
	each := r.Predictions.RawMatrix().Cols / r.Low.RawMatrix().Cols
	f := mat.Col(nil, each*j+each/2, r.Predictions)
	order := make([]int, len(f))
	floats.ArgsortStable(f, order)
	curves := []picture.Curve{
		{Name: "observed", Dots: true},
		{Name: "lower end", Line: true},
		{Name: "upper end", Line: true},
	}
	for at, i := range order {
		for k, v := range []float64{Y.At(i, j), r.Low.At(i, j), r.High.At(i, j)} {
			if v == v { // not missing
				curves[k].XY = append(curves[k].XY, plotter.XY{X: float64(at + 1), Y: v})
			}
		}
	}
	return picture.Chart{
		Title: "90 % intervals of " + name, X: "rows by prediction", Y: name,
		Curves: curves,
	}.Figures(fmt.Sprintf("intervals%d", j+1))
}

// calibrationFigures show how often the class predicted is the true one, by its probability; nothing for a model
// without probabilities.
func calibrationFigures(
	ctx context.Context, model *iokl.Model, X *mat.Dense, labels []string,
) ([]picture.Figure, error) {
	r, err := model.PredictSets(ctx, X, 0.5)
	if errors.Is(err, iokl.ErrInput) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	w := slices.Repeat([]float64{1}, len(labels))
	bins := reliability(r.Probabilities, w, func(i int) bool { return r.Classes[i] == labels[i] })
	return reliabilityFigure(bins, nil, "calibration"), nil
}

// probabilityBin are the rows whose class predicted has a probability in one tenth of those from 0 to 1.
type probabilityBin struct {
	Rows        int     `json:"rows"`
	Probability float64 `json:"probability"` // of the class predicted, the mean
	Right       float64 `json:"right"`       // share of the rows where it is true
}

// reliability sorts the rows of P, of the weights w, by the probability of the class predicted; bins without rows are
// left out.
func reliability(P *mat.Dense, w []float64, right func(i int) bool) []probabilityBin {
	var bins [10]probabilityBin
	var weight [10]float64
	for i := range P.RawMatrix().Rows {
		p := slices.Max(P.RawRowView(i))
		at := min(int(p*float64(len(bins))), len(bins)-1)
		b := &bins[at]
		b.Rows++
		weight[at] += w[i]
		b.Probability += w[i] * p
		if right(i) {
			b.Right += w[i]
		}
	}
	for k := range bins {
		if bins[k].Rows > 0 {
			bins[k].Probability /= weight[k]
			bins[k].Right /= weight[k]
		}
	}
	return slices.DeleteFunc(bins[:], func(b probabilityBin) bool { return b.Rows == 0 })
}

// reliabilityFigure shows how often the class predicted is the true one, by its probability, and by that before its
// calibration where there are bins of it.
func reliabilityFigure(bins, before []probabilityBin, name string) []picture.Figure {
	chart := picture.Chart{
		Title: "probabilities of classes", X: "probability of the class predicted",
		Y: "share of rows where it is true",
	}
	for _, b := range bins {
		chart.Point("rows", b.Probability, b.Right)
	}
	for _, b := range before {
		chart.Point("without calibration", b.Probability, b.Right)
	}
	chart.Curves = append(chart.Curves, diagonal("calibrated", 0, 1))
	return chart.Figures(name)
}

// diagonal is the line where both axes have the same value, from lo to hi.
func diagonal(name string, lo, hi float64) picture.Curve {
	return picture.Curve{Name: name, Line: true, XY: plotter.XYs{{X: lo, Y: lo}, {X: hi, Y: hi}}}
}

// TargetNames are the names of targets that have so many outputs each, for quantiles.
func TargetNames(outputs []string, each int) (names []string) {
	for j := 0; j < len(outputs); j += each {
		name := outputs[j]
		if each > 1 {
			name = name[:strings.LastIndex(name, "_q")]
		}
		names = append(names, name)
	}
	return names
}
