package results

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/cmd/internal/status"
	"github.com/iokl/iokl/internal/files/picture"
)

// LearnedFigures show the weights of kernels and the correlations of outputs.
func LearnedFigures(model *iokl.Model) ([]picture.Figure, error) {
	l := newLearned(model, "")
	weights, err := weightsFigure(&l)
	figures := []picture.Figure{weights}
	if n := len(model.LearnedOutputs()); err != nil || n < 2 || n > maxCorrelation || !couples(model) {
		return figures, status.Failure(err)
	}
	figures = append(figures, correlationHeat(model).Figure("outputs"))
	for k, heat := range couplingHeats(model) {
		figures = append(figures, heat.Figure(fmt.Sprintf("outputs-%d", k+1)))
	}
	return figures, nil
}

// PredictedFigures show predictions for X beside the targets Y, or the labels of a classifier, which are in that file.
func PredictedFigures(
	ctx context.Context, model *iokl.Model, file string, X *mat.Dense, Y *mat.Dense, labels []string,
) ([]picture.Figure, error) {
	F, err := model.Predict(X)
	if err != nil {
		return nil, err
	}
	if labels != nil {
		confusion, err := confusionFigure(model, F, labels, file)
		if err != nil {
			return nil, err
		}
		more, err := calibrationFigures(ctx, model, X, labels)
		return append([]picture.Figure{confusion}, more...), err
	}
	l, n := Y.Dims()
	if r, c := F.Dims(); r != l || c != n {
		return nil, status.Input("the targets are %d×%d, the predictions %d×%d", l, n, r, c)
	}
	var figures []picture.Figure
	for j, name := range model.OutputNames()[:min(mostFitted, n)] {
		e := fitError(F, Y, nil, j)
		figures = append(figures, fitFigure(name, &e, fmt.Sprintf("predictions%d", j+1))...)
	}
	more, err := intervalFigures(ctx, model, X, Y)
	return append(figures, more...), err
}

// barKernels is how many kernels the bar chart shows.
const barKernels = 30

// weightsFigure shows the largest kernel weights as horizontal bars.
func weightsFigure(l *learned) (picture.Figure, error) {
	weights := l.ByWeight()
	active := len(weights)
	weights = weights[:min(barKernels, active)]
	slices.Reverse(weights) // the largest on top
	p := picture.New("weight η", "")
	values, labels := make(plotter.Values, len(weights)), make([]string, len(weights))
	longest := 0
	for k, w := range weights {
		values[k], labels[k], longest = w.Value, w.Name, max(longest, len(w.Name))
	}
	f := picture.Figure{
		Name: "weights", Title: fmt.Sprintf("kernel weights: %d of %d kernels have weight", active, len(l.Eta)),
		Width: 420, Height: vg.Length(len(weights))*16 + 60, PageWidth: 350, Paint: p.Draw,
	}
	if len(values) > 0 {
		bars, err := plotter.NewBarChart(values, 9)
		if err != nil {
			return f, err
		}
		bars.Horizontal, bars.Color, bars.LineStyle.Width = true, picture.Blue, 0
		p.Add(bars)
		p.NominalY(labels...)
		p.Y.Padding = vg.Length(longest) * 0.8 // a browser's letters are wider than those that the plot measures
		p.X.Min = 0
	}
	return f, nil
}

// correlationHeat shows L as a correlation, outputs that go together side by side.
func correlationHeat(model *iokl.Model) *picture.Heat {
	return picture.Correlations("output kernel L as correlation (blue −1, grey 0, red +1)", model.LearnedOutputs(),
		model.OutputCorrelation())
}

// confusionFigure shows, for each class, the shares of its samples that are taken for each class.
func confusionFigure(model *iokl.Model, F *mat.Dense, labels []string, file string) (f picture.Figure, _ error) {
	classes := model.Classes()
	Y, err := OneHot(labels, classes, file)
	if err != nil {
		return f, err
	}
	if r, _ := F.Dims(); r != len(labels) {
		return f, status.Input("%s has %d labels, there are %d predictions", file, len(labels), r)
	}
	n := len(classes)
	h := picture.Heat{
		Title: fmt.Sprintf("accuracy %.4f (black 0 %%, white 100 %% of a row)", model.ScorePredictions(F, Y).Accuracy),
		X:     "predicted", Y: "observed",
		Matrix: blas.NewGeneral(n, n), Names: classes, Max: 100,
	}
	for k, row := range confusionOf(F, Y, nil) {
		for j, count := range row {
			h.Matrix.Data[k*n+j] = 100 / max(floats.Sum(row), 1) * count
		}
	}
	return h.Figure("predictions"), nil
}

// CVFigures shows the errors of the best settings against λ, with error bars: a curve for each that differs in more
// than λ, at most mostPaths. Errors over more than two decades have a logarithmic axis: on another the least are nearer
// to 0 than a line is wide. Errors that are not finite are left out.
func CVFigures(r *iokl.CVResult) []picture.Figure {
	finite := func(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
	points := slices.DeleteFunc(slices.Clone(r.Points), func(q iokl.CVPoint) bool { return !finite(q.Mean) })
	chosen := r.Chosen()
	if len(points) == 0 || !finite(chosen.Mean) {
		return nil
	}
	c := picture.Chart{
		Title: fmt.Sprintf("cross-validation, %d folds: mean and standard error", r.Folds),
		X:     "λ", Y: string(r.Metric), LogX: true,
	}
	paths := splitPaths(points, r.Metric)
	if n := len(paths); n > mostPaths {
		paths = paths[:mostPaths]
		c.Title += fmt.Sprintf(", the best %d of %d settings", mostPaths, n)
	}
	shown := append(slices.Concat(paths...), chosen)
	lambda := func(a, b iokl.CVPoint) int { return cmp.Compare(a.Lambda, b.Lambda) }
	mean := func(a, b iokl.CVPoint) int { return cmp.Compare(a.Mean, b.Mean) }
	least, most := slices.MinFunc(shown, mean).Mean, slices.MaxFunc(shown, mean).Mean
	c.LogY = least > 0 && most > 100*least
	span := slices.MaxFunc(shown, lambda).Lambda / slices.MinFunc(shown, lambda).Lambda
	several := slices.ContainsFunc(points, func(q iokl.CVPoint) bool {
		return !slices.Equal(q.Kernels, points[0].Kernels)
	})
	const apart = 0.006 // of the width of the picture, between the error bars of two paths
	ring := picture.Curve{Name: "chosen", Ring: true, XY: plotter.XYs{{X: chosen.Lambda, Y: chosen.Mean}}}
	for k, path := range paths {
		shift := math.Pow(span, apart*float64(k))
		curve := picture.Curve{Name: pathName(path[0], several), Line: true}
		for _, q := range path {
			curve.XY = append(curve.XY, plotter.XY{X: shift * q.Lambda, Y: q.Mean})
			bar := struct{ Low, High float64 }{q.StdErr, q.StdErr}
			if c.LogY {
				bar.Low = min(bar.Low, 0.9*q.Mean)
			}
			if !finite(q.StdErr) {
				bar.Low, bar.High = 0, 0
			}
			curve.Bars = append(curve.Bars, bar)
		}
		if c.Curves = append(c.Curves, curve); sameKind(&path[0], &chosen) {
			ring.XY[0].X *= shift
		}
	}
	c.Curves = append(c.Curves, ring)
	return c.Figures("cv")
}

// mostPaths is the number of settings whose curves are told apart.
const mostPaths = 6

// splitPaths groups the points by all but λ, the group with the best point first.
func splitPaths(all []iokl.CVPoint, metric iokl.Metric) (paths [][]iokl.CVPoint) {
	for i := range all {
		k := slices.IndexFunc(paths, func(p []iokl.CVPoint) bool { return sameKind(&p[0], &all[i]) })
		if k < 0 {
			k, paths = len(paths), append(paths, nil)
		}
		paths[k] = append(paths[k], all[i])
	}
	slices.SortStableFunc(paths, func(a, b []iokl.CVPoint) int {
		return cmp.Compare(cost(metric, bestOf(a, metric)), cost(metric, bestOf(b, metric)))
	})
	return paths
}

// sameKind reports whether two settings differ in λ alone.
func sameKind(p, q *iokl.CVPoint) bool {
	return p.Norm == q.Norm && p.Learns() == q.Learns() && p.Tau == q.Tau && slices.Equal(p.Kernels, q.Kernels)
}

// cost is less for a better error, and most for one beyond double precision.
func cost(metric iokl.Metric, p iokl.CVPoint) float64 {
	switch {
	case math.IsNaN(p.Mean):
		return math.Inf(1)
	case metric == "accuracy":
		return -p.Mean
	}
	return p.Mean
}

// bestOf is the point with the best error.
func bestOf(path []iokl.CVPoint, metric iokl.Metric) iokl.CVPoint {
	return slices.MinFunc(path, func(a, b iokl.CVPoint) int { return cmp.Compare(cost(metric, a), cost(metric, b)) })
}

// pathName is what the legend calls the path of a point; with kernels where these differ.
func pathName(q iokl.CVPoint, kernels bool) string {
	name := string(q.Norm)
	if kernels {
		name += ", " + q.Learns() + ": " + first(q.Kernels)
	}
	if q.Tau > 0 {
		name += fmt.Sprintf(", τ = %.4g", q.Tau)
	}
	return name
}

// first is the first SPECs, few enough for a legend, and how many more there are.
func first(specs []string) string {
	if len(specs) == 0 {
		return "given matrices"
	}
	const room = 40
	text := specs[0]
	for k, s := range specs[1:] {
		if len(text)+len(s) > room {
			return fmt.Sprintf("%s + %d more", text, len(specs)-1-k)
		}
		text += " " + s
	}
	return text
}
