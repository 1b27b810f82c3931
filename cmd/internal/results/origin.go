package results

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/cmd/internal/status"
	"github.com/iokl/iokl/internal/files/picture"
)

// Origin is what a model file keeps for reports beside what predicts.
type Origin struct {
	Command string `json:"command,omitempty"`
	Keep    string `json:"keep,omitempty"` // columns that identify rows
	// names of the columns that hold the weights of rows; "" where these come from elsewhere
	Weights string `json:"weights,omitempty"`
	Rows    int    `json:"rows,omitempty"` // of the training data that Errors are measured on
	// how they were held out; "" for rows that the model was fitted to
	HeldOut string        `json:"held_out,omitempty"`
	Errors  []outputError `json:"errors,omitempty"`
	// Confusion is the weight of the held-out rows of each class (row) that were taken for each class (column).
	Confusion   [][]float64      `json:"confusion,omitempty"`
	Reliability []probabilityBin `json:"reliability,omitempty"` // of the held-out rows
	// Uncalibrated is Reliability before the calibration, and Scores are the errors of probabilities after and before.
	Uncalibrated []probabilityBin   `json:"uncalibrated,omitempty"`
	Scores       []probabilityScore `json:"probability_scores,omitempty"`
	Effects      []effect           `json:"effects,omitempty"` // of the inputs, the largest first
}

// outputError is how a model predicts an output.
type outputError struct {
	RMSE      float64   `json:"rmse"`
	Relative  float64   `json:"relative"`  // RMSE over Deviation
	Deviation float64   `json:"deviation"` // standard deviation of the targets
	Quantiles []float64 `json:"quantiles"` // of the residuals: see residualQuantiles
	Observed  []float64 `json:"observed"`  // of some rows
	Predicted []float64 `json:"predicted"`

	stderr float64 // of RMSE, by that of the squares
}

var residualQuantiles = []float64{0, 0.05, 0.25, 0.5, 0.75, 0.95, 1}

// effect is what the predictions owe to an input.
type effect struct {
	Input string `json:"input"`
	// of each output: RMS change when the input is shuffled among the rows, over the standard deviation of the targets
	Change []float64   `json:"change"`
	At     []float64   `json:"at,omitempty"`     // values of the input: codes of its kind where it is no number
	Labels []string    `json:"labels,omitempty"` // what these are called, where they are no numbers
	Levels bool        `json:"levels,omitempty"` // they are in no order
	Curve  [][]float64 `json:"curve,omitempty"`  // of each output: its mean prediction with the input at these values

	source int // index in sourcesOf
}

// Limits of what is stored and computed for a report.
const (
	originRows    = 1000 // on which errors are measured
	effectRows    = 300  // on which effects are measured
	curveRows     = 100
	curvePoints   = 15
	curveInputs   = 6
	scatterRows   = 200
	reportOutputs = 50  // with more outputs, the errors and effects of the first
	kernelValues  = 4e8 // that may be computed for effects where inputs and outputs are few, see rowsForEffects
)

// Note notes in the model how it came about: what o says of the command, its errors on held-out rows,
// or on its own where held is nil, and effects of the inputs on the training data X and Y, which may be nil. W are the
// weights of the rows or cells of Y, nil for 1. Once ctx has ended it leaves out what is measured on these.
func Note(
	ctx context.Context, model *iokl.Model, o Origin, X *mat.Dense, Y, W mat.Matrix, held *iokl.HeldOut,
) error {
	if held != nil {
		o.holdOut(model, held)
	}
	if X != nil && ctx.Err() == nil {
		if err := o.measure(ctx, model, X.RawMatrix(), Y, W); err != nil {
			return err
		}
	}
	text, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("report: %w", err) // a prediction that is not finite
	}
	model.SetOrigin(text)
	return nil
}

// Counts reports whether the notes count the held-out rows of each of the classes.
func (o *Origin) Counts(classes []string) bool {
	return len(classes) > 0 && len(o.Confusion) == len(classes) &&
		!slices.ContainsFunc(o.Confusion, func(row []float64) bool { return len(row) != len(classes) })
}

// OriginOf reads what Note noted.
func OriginOf(model *iokl.Model) (o Origin, err error) {
	if text := model.Origin(); text != nil {
		if err = json.Unmarshal(text, &o); err != nil {
			err = status.Input("the model's notes are not those of this command: %v", err)
		}
	}
	return o, err
}

// spaced are n of l rows, evenly spaced.
func spaced(l, n int) []int {
	n = min(l, n)
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i * l / n
	}
	return rows
}

// takeRows are some rows of a.
func takeRows(a blas.General, rows []int) *mat.Dense { return blas.Dense(blas.TakeRows(a, rows)) }

// holdOut fills in errors on held-out rows.
func (o *Origin) holdOut(model *iokl.Model, h *iokl.HeldOut) {
	o.HeldOut = heldBy(h)
	F := h.Predictions
	if h.Uncalibrated != nil { // predictions are log odds
		F = h.Probabilities
	}
	if o.compare(F, h.Targets, h.Weights); h.Probabilities != nil {
		o.trust(model, h)
	}
	if model.Classes() != nil {
		o.Confusion = confusionOf(h.Predictions, h.Targets, h.Weights)
	}
}

// confusionOf adds up the weights W, nil for 1, of the rows of each class of the targets Y (row) that the predictions F
// take for each class (column).
func confusionOf(F, Y, W *mat.Dense) [][]float64 {
	rows, n := Y.Dims()
	count := make([][]float64, n)
	for k := range n {
		count[k] = make([]float64, n)
	}
	for i := range rows {
		count[floats.MaxIdx(Y.RawRowView(i))][floats.MaxIdx(F.RawRowView(i))] += rowWeight(W, i)
	}
	return count
}

// compare fills in the errors of the predictions F of the targets Y with the weights W, nil for 1.
func (o *Origin) compare(F *mat.Dense, Y mat.Matrix, W *mat.Dense) {
	rows, n := F.Dims()
	o.Rows = rows
	for j := range min(reportOutputs, n) {
		o.Errors = append(o.Errors, fitError(F, Y, W, j))
	}
}

// measure fills in effects, and errors on the rows given where none were held out.
func (o *Origin) measure(ctx context.Context, model *iokl.Model, all blas.General, Y, W mat.Matrix) error {
	rows := spaced(all.Rows, originRows)
	X := takeRows(all, rows)
	if o.Errors == nil {
		predict := model.Predict
		if model.Certificate().Loss == "logistic" {
			predict = model.PredictProba
		}
		F, err := predict(X)
		if err != nil {
			return err
		}
		Y = takeRows(PerOutput(Y, max(1, len(model.Quantiles()))).RawMatrix(), rows)
		var weights *mat.Dense
		if W != nil {
			_, n := F.Dims()
			_, cols := W.Dims()
			weights = takeRows(PerOutput(W, n/cols).RawMatrix(), rows)
		}
		o.compare(F, Y, weights)
	}
	sd := make([]float64, len(o.Errors))
	for j := range sd {
		sd[j] = o.Errors[j].Deviation
	}
	return o.measureEffects(ctx, model, X, sd)
}

// fitError compares column j of the predictions F with that of the targets Y,
// those that are missing left out, by the weights W, nil for 1.
func fitError(F *mat.Dense, Y mat.Matrix, W *mat.Dense, j int) outputError {
	y, f, w := cells(F, Y, W, j)
	if len(y) == 0 {
		return outputError{}
	}
	residual := make([]float64, len(y))
	floats.SubTo(residual, y, f)
	// Squares of squares stay in the range of float64 in this unit.
	_, exponent := math.Frexp(max(floats.Norm(residual, math.Inf(1)), floats.Norm(y, math.Inf(1))))
	squares, scaled := make([]float64, len(y)), make([]float64, len(y))
	for i, e := range residual {
		e, scaled[i] = math.Ldexp(e, -exponent), math.Ldexp(y[i], -exponent)
		squares[i] = e * e
	}
	var e outputError
	mse, stderr := meanOf(squares, w)
	if e.RMSE = math.Sqrt(mse); e.RMSE > 0 {
		e.stderr = math.Ldexp(stderr/(2*e.RMSE), exponent)
	}
	_, e.Deviation = stat.PopMeanStdDev(scaled, w)
	e.RMSE, e.Deviation = math.Ldexp(e.RMSE, exponent), math.Ldexp(e.Deviation, exponent)
	if e.Deviation > 0 {
		e.Relative = e.RMSE / e.Deviation
	}
	stat.SortWeighted(residual, w)
	for _, p := range residualQuantiles {
		e.Quantiles = append(e.Quantiles, stat.Quantile(p, stat.LinInterp, residual, w))
	}
	for _, i := range spaced(len(y), scatterRows) {
		e.Observed, e.Predicted = append(e.Observed, y[i]), append(e.Predicted, f[i])
	}
	return e
}

// measureEffects shuffles one input at a time, and moves the most important ones
// through their range; where that is too much work, or ctx ends, it leaves the effects out.
func (o *Origin) measureEffects(ctx context.Context, model *iokl.Model, X *mat.Dense, sd []float64) error {
	names := model.InputNames()
	rows := spaced(X.RawMatrix().Rows, rowsForEffects(model.Certificate().Samples, max(1, Active(model.Eta())),
		len(names), len(model.OutputNames())))
	if len(rows) == 0 {
		return nil
	}
	X = takeRows(X.RawMatrix(), rows)
	base, err := model.Predict(X)
	if err != nil {
		return err
	}
	order := rand.New(rand.NewPCG(model.Certificate().Seed, 21)).Perm(len(rows))
	inputs := sourcesOf(model)
	for k, in := range inputs {
		if ctx.Err() != nil {
			o.Effects = nil
			return nil
		}
		moved := mat.DenseCopyOf(X)
		for i, from := range order {
			copy(moved.RawRowView(i)[in.at:in.at+in.width], X.RawRowView(from)[in.at:])
		}
		F, err := model.Predict(moved)
		if err != nil {
			return err
		}
		e := effect{Input: in.name, Change: make([]float64, len(sd)), source: k}
		for j := range sd {
			if sd[j] > 0 {
				change := floats.Distance(mat.Col(nil, j, F), mat.Col(nil, j, base), 2)
				e.Change[j] = change / math.Sqrt(float64(len(rows))) / sd[j]
			}
		}
		o.Effects = append(o.Effects, e)
	}
	slices.SortStableFunc(o.Effects, func(a, b effect) int {
		return cmp.Compare(stat.Mean(b.Change, nil), stat.Mean(a.Change, nil))
	})
	X = takeRows(X.RawMatrix(), spaced(len(rows), curveRows))
	for k := range o.Effects[:min(curveInputs, len(o.Effects))] {
		if err := o.Effects[k].trace(model, X, &inputs[o.Effects[k].source], len(sd)); err != nil {
			return err
		}
	}
	return nil
}

// rowsForEffects is the number of rows that effects are measured on, for a model of l samples, m kernels, d inputs
// and n outputs; 0 where that is too much work. A value of a kernel costs more with more inputs, and more with
// more outputs that it is multiplied for.
func rowsForEffects(l, m, d, n int) int {
	const least, cheap = 30, 32 // rows, and columns that cost as much as a value alone
	each := float64(m) * float64(l) * float64(d+1) * (1 + float64(d+n)/cheap)
	if rows := int(min(effectRows, kernelValues/each)); rows >= least {
		return rows
	}
	return 0
}

// fits shows predictions against what was observed, for the first outputs that are numbers.
func (r *about) fits() (figures []picture.Figure) {
	if r.Of.Classes() != nil || r.Reliability != nil {
		return nil
	}
	for j, e := range r.Errors[:min(mostFitted, len(r.Errors))] {
		figures = append(figures, fitFigure(r.Outputs[j], &e, "")...)
	}
	return figures
}

// accuracyText says how many classes are right, beside the share of the most frequent one.
func accuracyText(classes []string, count [][]float64) string {
	right, most, class := shares(count)
	return fmt.Sprintf("%.1f %% of the classes are right; the most frequent class, %s, has %.1f %% of the rows.",
		100*right, classes[class], 100*most)
}

// classRow is the number of rows of class k, and the share of them that are taken for it; 0 where there are none.
func classRow(row []float64, k int) (c struct{ Rows, Right float64 }) {
	if c.Rows = floats.Sum(row); row[k] > 0 {
		c.Right = row[k] / c.Rows
	}
	return c
}

// shares are those of the rows whose class is right and of the most frequent class.
func shares(count [][]float64) (right, most float64, class int) {
	rows := 0.0
	for k, row := range count {
		n := floats.Sum(row)
		rows, right = rows+n, right+row[k]
		if n > most {
			most, class = n, k
		}
	}
	return right / rows, most / rows, class
}

// mostFitted is the number of outputs whose predictions are drawn.
const mostFitted = 6

// fitFigure shows predictions against what was observed, and the band that holds 90 % of the rows; nothing where
// nothing was observed.
func fitFigure(name string, e *outputError, file string) []picture.Figure {
	if len(e.Observed) == 0 {
		return nil
	}
	lo, hi := slices.Min(e.Observed), slices.Max(e.Observed)
	c := picture.Chart{
		Title: name + ": predicted against observed", X: "observed", Y: "predicted",
		Curves: []picture.Curve{
			{Name: "rows", Dots: true, XY: picture.XY(e.Observed, e.Predicted)},
			diagonal("predicted = observed", lo, hi),
		},
	}
	low := e.Quantiles[slices.Index(residualQuantiles, 0.05)]
	high := e.Quantiles[slices.Index(residualQuantiles, 0.95)]
	c.Curves = append(c.Curves, picture.Curve{Name: "90 % of the rows are between", Line: true, XY: picture.XY(
		[]float64{lo, hi, hi, lo, lo}, []float64{lo - low, hi - low, hi - high, lo - high, lo - low},
	)})
	return c.Figures(file)
}
