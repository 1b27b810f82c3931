// This file draws kernel weights, output kernels, predictions and errors of cross-validation.

package results

import (
	"cmp"
	"context"
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/cmd/internal/status"
	"github.com/iokl/iokl/internal/picture"
)

var (
	blue   = picture.Blue
	orange = color.RGBA{213, 94, 0, 255}
	green  = color.RGBA{0, 158, 115, 255}
	grey   = color.RGBA{130, 130, 130, 255}
	hues   = []color.RGBA{blue, orange, green, {204, 121, 167, 255}, {86, 180, 233, 255}, {230, 159, 0, 255}}
)

// LearnedFigures show the weights of kernels and the correlations of outputs.
func LearnedFigures(model *iokl.Model) ([]picture.Figure, error) {
	weights, err := weightsFigure(model)
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
	panels, err := predictionsFigure(model, F, Y)
	if err != nil {
		return nil, status.Failure(err)
	}
	more, err := intervalFigures(ctx, model, X, Y)
	return append([]picture.Figure{panels}, more...), err
}

// barKernels is how many kernels the bar chart shows.
const barKernels = 30

// weightsFigure shows the largest kernel weights as horizontal bars.
func weightsFigure(model *iokl.Model) (picture.Figure, error) {
	eta, names := model.Eta(), model.KernelNames()
	idx := largestFirst(eta)
	active := len(idx)
	idx = idx[:min(barKernels, len(idx))]
	slices.Reverse(idx) // the largest on top
	p := picture.New("", "weight η", "")
	p.BackgroundColor = nil
	values, labels := make(plotter.Values, len(idx)), make([]string, len(idx))
	longest := 0
	for k, j := range idx {
		values[k], labels[k] = eta[j], kernelLabel(names[j], model.InputNames())
		longest = max(longest, len(labels[k]))
	}
	f := picture.Figure{
		Name: "weights", Title: fmt.Sprintf("kernel weights: %d of %d kernels have weight", active, len(eta)),
		Width: 420, Height: vg.Length(len(idx))*16 + 60, PageWidth: 350, Paint: p.Draw,
	}
	if len(values) > 0 {
		bars, err := plotter.NewBarChart(values, 9)
		if err != nil {
			return f, err
		}
		bars.Horizontal, bars.Color, bars.LineStyle.Width = true, blue, 0
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
		Matrix: blas.NewGeneral(n, n), Rows: classes, Cols: classes, Max: 100,
	}
	total := make([]float64, n)
	for i, label := range ClassesOf(model, F) {
		seen := slices.Index(classes, labels[i])
		h.Matrix.Data[seen*n+slices.Index(classes, label)]++
		total[seen]++
	}
	for c := range n {
		blas.Scal(100/max(total[c], 1), blas.Row(h.Matrix, c))
	}
	return h.Figure("predictions"), nil
}

// predictionsFigure shows predicted against observed targets, a panel for each output.
func predictionsFigure(model *iokl.Model, F, Y *mat.Dense) (f picture.Figure, _ error) {
	const columns, most = 3, 12
	names := model.OutputNames()
	n := min(len(names), most)
	cols := min(columns, n)
	rows := (n + cols - 1) / cols
	scores := model.ScorePredictions(F, Y)
	panels := make([][]*plot.Plot, rows)
	for r := range panels {
		panels[r] = make([]*plot.Plot, cols)
		for c := range cols {
			if j := r*cols + c; j < n {
				p, err := panel(fmt.Sprintf("%s, relative error %.3f", names[j], scores.RRMSE[j]), j, F, Y)
				if err != nil {
					return f, err
				}
				panels[r][c] = p
			}
		}
	}
	f = picture.Figure{Name: "predictions", Width: vg.Length(cols) * 260, Height: vg.Length(rows) * 250}
	f.Paint = func(c draw.Canvas) {
		tiles := draw.Tiles{Rows: rows, Cols: cols, PadX: 8, PadY: 8}
		for r, line := range plot.Align(panels, tiles, c) {
			for k, canvas := range line {
				if panels[r][k] != nil {
					panels[r][k].Draw(canvas)
				}
			}
		}
	}
	return f, nil
}

func panel(title string, j int, F, Y *mat.Dense) (*plot.Plot, error) {
	p := picture.New(title, "observed", "predicted")
	p.Title.TextStyle.Font.Size = 10
	var xy plotter.XYs
	for i, v := range mat.Col(nil, j, Y) {
		if !math.IsNaN(v) {
			xy = append(xy, plotter.XY{X: v, Y: F.At(i, j)})
		}
	}
	s, err := plotter.NewScatter(xy)
	if err != nil {
		return nil, err
	}
	s.GlyphStyle = draw.GlyphStyle{Color: blue, Radius: 1.6, Shape: draw.CircleGlyph{}}
	identity := plotter.NewFunction(func(x float64) float64 { return x })
	identity.Color = grey
	p.Add(identity, s)
	lo, hi := math.Min(p.X.Min, p.Y.Min), math.Max(p.X.Max, p.Y.Max)
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = lo, hi, lo, hi
	return p, nil
}

// points are the errors along one path of λ, for lines with error bars.
type points struct {
	at    []iokl.CVPoint
	shift float64 // factor of λ that keeps the error bars of several paths apart

	decades bool // the axis of errors is logarithmic
}

func (p points) Len() int                { return len(p.at) }
func (p points) XY(i int) (x, y float64) { return p.at[i].Lambda * p.shift, p.at[i].Mean }

// YError is the standard error on both sides, on a logarithmic axis down to a tenth of the error.
func (p points) YError(i int) (low, high float64) {
	low, high = p.at[i].StdErr, p.at[i].StdErr
	if p.decades {
		low = min(low, 0.9*p.at[i].Mean)
	}
	return low, high
}

// CVFigure shows the errors of the best settings against λ, with error bars: a curve for each that differs in more than
// λ, as many as there are colours. Errors over more than two decades have a logarithmic axis: on another the least are
// nearer to 0 than a line is wide.
func CVFigure(r *iokl.CVResult) (picture.Figure, error) {
	p := picture.New("", "λ", r.Metric)
	p.BackgroundColor = nil
	f := picture.Figure{
		Name: "cv", Title: fmt.Sprintf("cross-validation, %d folds: mean and standard error", r.Folds),
		Width: 620, Height: 380, PageWidth: 330, Paint: p.Draw,
	}
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, picture.LogTicks{}
	paths := splitPaths(r.Points, r.Metric)
	if n := len(paths); n > len(hues) {
		paths = paths[:len(hues)]
		f.Title += fmt.Sprintf(", the best %d of %d settings", len(hues), n)
	}
	lo, hi := r.Chosen().Lambda, r.Chosen().Lambda
	least, most := r.Chosen().Mean, r.Chosen().Mean
	for _, path := range paths {
		for _, q := range path.at {
			lo, hi = min(lo, q.Lambda), max(hi, q.Lambda)
			least, most = min(least, q.Mean), max(most, q.Mean)
		}
	}
	decades := least > 0 && most > 100*least
	if decades {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, picture.LogTicks{}
	}
	span := hi / lo
	if span == 1 {
		span = 4
	}
	const apart = 0.006 // of the width of the picture, between the error bars of two paths
	mark := points{at: []iokl.CVPoint{r.Chosen()}, shift: 1}
	for k := range paths {
		path := &paths[k]
		path.decades = decades
		path.shift = math.Pow(span, apart*(float64(k)-float64(len(paths)-1)/2))
		if sameKind(&path.at[0], &mark.at[0]) {
			mark.shift = path.shift
		}
		line, err := plotter.NewLine(path)
		if err != nil {
			return f, err
		}
		bars, err := plotter.NewYErrorBars(path)
		if err != nil {
			return f, err
		}
		line.Color, bars.Color = hues[k], hues[k]
		line.Width = 1.6
		p.Add(line, bars)
		f.Legend = append(f.Legend, picture.Sign{Text: path.name(severalDictionaries(r.Points)), Thumb: line})
	}
	chosen, err := plotter.NewScatter(mark)
	if err != nil {
		return f, err
	}
	chosen.GlyphStyle = draw.GlyphStyle{Color: color.Black, Radius: 4, Shape: draw.RingGlyph{}}
	p.Add(chosen)
	f.Legend = append(f.Legend, picture.Sign{Text: "chosen", Thumb: chosen})
	pad := math.Pow(span, 0.02)
	if hi == lo {
		pad = 2
	}
	p.X.Min, p.X.Max = lo/pad, hi*pad
	return f, nil
}

// splitPaths groups the points by all but λ, the group with the best point first.
func splitPaths(all []iokl.CVPoint, metric string) (paths []points) {
	for i := range all {
		k := slices.IndexFunc(paths, func(p points) bool { return sameKind(&p.at[0], &all[i]) })
		if k < 0 {
			k = len(paths)
			paths = append(paths, points{})
		}
		paths[k].at = append(paths[k].at, all[i])
	}
	slices.SortStableFunc(paths, func(a, b points) int {
		return cmp.Compare(cost(metric, a.best(metric)), cost(metric, b.best(metric)))
	})
	return paths
}

// sameKind reports whether two settings differ in λ alone.
func sameKind(p, q *iokl.CVPoint) bool {
	return p.Norm == q.Norm && p.Learns() == q.Learns() && p.Tau == q.Tau && slices.Equal(p.Kernels, q.Kernels)
}

// cost is less for a better error, and most for one beyond double precision.
func cost(metric string, p iokl.CVPoint) float64 {
	switch {
	case math.IsNaN(p.Mean):
		return math.Inf(1)
	case metric == "accuracy":
		return -p.Mean
	}
	return p.Mean
}

// best is the point of the path with the best error.
func (p points) best(metric string) iokl.CVPoint {
	return slices.MinFunc(p.at, func(a, b iokl.CVPoint) int { return cmp.Compare(cost(metric, a), cost(metric, b)) })
}

// name is what the legend calls the path; with kernels where these differ.
func (p points) name(kernels bool) string {
	q := p.at[0]
	name := q.Norm
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
