package results

import (
	"fmt"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/plot"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/internal/files/page"
	"github.com/iokl/iokl/schema"
)

// sourceInput is a column of the file that the inputs come from, and the columns of numbers that it became.
type sourceInput struct {
	schema.Column
	name      string
	at, width int
}

// sourcesOf are the columns that the model learned from.
func sourcesOf(model *iokl.Model) (all []sourceInput) {
	names := model.InputNames()
	at := 0
	for _, c := range model.InputSchema() {
		in := sourceInput{c, c.Name, at, schema.Columns{c}.Cols()}
		if in.width == 1 || c.Name == "" && in.width > 0 {
			in.name = names[at]
		}
		if at += in.width; in.width > 0 {
			all = append(all, in)
		}
	}
	return all
}

// sourceNames are the names of the columns that the model learned from.
func sourceNames(model *iokl.Model) (names []string) {
	for _, in := range sourcesOf(model) {
		names = append(names, in.name)
	}
	return names
}

// ByRelevance are the inputs of the file with the relevance of the column of numbers that has most, the largest first;
// nil where none was learned.
func (l *learned) ByRelevance() (inputs []named) {
	r := l.Of.Relevance()
	if r == nil {
		return nil
	}
	all := sourcesOf(l.Of)
	most := make([]float64, len(all))
	for k, in := range all {
		most[k] = slices.Max(r[in.at : in.at+in.width])
	}
	for _, k := range largestFirst(most) {
		inputs = append(inputs, named{Name: all[k].name, Value: most[k]})
	}
	return inputs
}

// codes are values to move the input through, and what they are called where they are no numbers.
func (in *sourceInput) codes(X *mat.Dense) (at []float64, labels []string) {
	count, label, unit := 0, func(k int) string { return "" }, 1.0
	switch in.Kind {
	case schema.Number, schema.Date:
		at = in.span(X)
		for _, v := range at {
			if in.Kind == schema.Date {
				labels = append(labels, time.Unix(int64(math.Round(v*86400)), 0).UTC().Format(time.DateOnly))
			}
		}
		return at, labels
	case schema.Category:
		count, label = len(in.Levels), func(k int) string { return in.Levels[k] }
	case schema.Month:
		count, label = 12, func(k int) string { return time.Month(k + 1).String() }
	case schema.Weekday:
		count, label = 7, func(k int) string { return time.Weekday((k + 1) % 7).String() }
	case schema.Clock:
		count, label, unit = 24, func(k int) string { return fmt.Sprintf("%d:00", k) }, 1./24
	}
	for k := range count {
		at, labels = append(at, float64(k)*unit), append(labels, label(k))
	}
	return at, labels
}

// span is the range of a column of numbers or dates, or all of few values.
func (in *sourceInput) span(X *mat.Dense) (at []float64) {
	var values []float64
	for i := range X.RawMatrix().Rows {
		if v := X.At(i, in.at); !math.IsNaN(v) {
			values = append(values, v+in.First)
		}
	}
	if len(values) == 0 {
		return nil
	}
	slices.Sort(values)
	if distinct := slices.Compact(slices.Clone(values)); len(distinct) <= curvePoints {
		return distinct
	}
	lo, hi := stat.Quantile(0.05, stat.LinInterp, values, nil), stat.Quantile(0.95, stat.LinInterp, values, nil)
	return floats.Span(make([]float64, curvePoints), lo, hi)
}

// trace fills in the curve of an input.
func (e *effect) trace(model *iokl.Model, X *mat.Dense, in *sourceInput, outputs int) error {
	e.At, e.Labels = in.codes(X)
	if e.Levels = in.Kind == schema.Category; len(e.At) == 0 {
		return nil
	}
	e.Curve = make([][]float64, outputs)
	moved := mat.DenseCopyOf(X)
	for _, v := range e.At {
		for i := range moved.RawMatrix().Rows {
			schema.Columns{in.Column}.Expand(moved.RawRowView(i)[in.at:in.at+in.width], []float64{v})
		}
		F, err := model.Predict(moved)
		if err != nil {
			return err
		}
		for j := range outputs {
			e.Curve[j] = append(e.Curve[j], stat.Mean(mat.Col(nil, j, F), nil))
		}
	}
	return nil
}

// directionText says how output j moves with the input.
func directionText(model *iokl.Model, e *effect, j int) string {
	y, n := e.Curve[j], len(e.At)
	if e.Levels {
		top, bottom := floats.MaxIdx(y), floats.MinIdx(y)
		return fmt.Sprintf("%s is highest where %s is %s, %s on average, and lowest where it is %s, %s.",
			spokenOutputs(model)[j], e.Input, e.label(top), page.Figure(y[top], 4), e.label(bottom),
			page.Figure(y[bottom], 4))
	}
	text := fmt.Sprintf("%s %s as %s goes from %s to %s: from %s", spokenOutputs(model)[j], trendWord(y), e.Input,
		e.label(0), e.label(n-1), page.Figure(y[0], 4))
	if turns := turningPoints(y); len(turns) == 1 {
		text += fmt.Sprintf(" to %s at %s", page.Figure(y[turns[0]], 4), e.label(turns[0]))
	}
	return text + fmt.Sprintf(" to %s on average.", page.Figure(y[n-1], 4))
}

// label is what value k of the input is called.
func (e *effect) label(k int) string {
	if e.Labels != nil {
		return e.Labels[k]
	}
	return page.Figure(e.At[k], 4)
}

// Lengths of what charts have room for on the axis of an input, in letters.
const axisLetters, levelLetters = 40, 14

// mostLevels is the number of levels of a category of which a chart is readable.
const mostLevels = 25

// ticks are labels of values of the input that are no numbers, as many as have room; nil for numbers.
func (e *effect) ticks() (ticks plot.ConstantTicks) {
	longest := 1
	for _, label := range e.Labels {
		longest = max(longest, len(label))
	}
	n := len(e.Labels)
	every := max(1, (n*longest+axisLetters-1)/axisLetters)
	for k := 0; k < n; k += every {
		ticks = append(ticks, plot.Tick{Value: e.At[k], Label: e.Labels[k]})
	}
	return ticks
}

// trendWord says how a curve runs.
func trendWord(y []float64) string {
	first, last := y[0], y[len(y)-1]
	switch turns := turningPoints(y); {
	case len(turns) > 1:
		return "goes up and down"
	case len(turns) == 1 && y[turns[0]] > first:
		return "rises, then falls"
	case len(turns) == 1:
		return "falls, then rises"
	case last > first:
		return "rises"
	case last < first:
		return "falls"
	}
	return "stays the same"
}

// turningPoints are where a curve changes its direction, of changes by more than 30 % of its range.
func turningPoints(y []float64) (at []int) {
	least := 0.3 * (slices.Max(y) - slices.Min(y))
	low, high := 0, 0 // since the last turn
	direction := 0.0
	for i, v := range y {
		if v < y[low] {
			low = i
		}
		if v > y[high] {
			high = i
		}
		for _, turn := range []struct {
			sign float64
			from int
		}{{1, low}, {-1, high}} {
			if turn.sign*(v-y[turn.from]) > least && direction != turn.sign {
				if direction != 0 {
					at = append(at, turn.from)
				}
				direction, low, high = turn.sign, i, i
			}
		}
	}
	return at
}
