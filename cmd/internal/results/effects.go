// This file moves one input of a model through its values, and says in words how a curve runs.

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

// relevanceOf is the relevance of the inputs of the file, that of the column of numbers that has most, largest first;
// nil where none was learned.
func relevanceOf(model *iokl.Model) (names []string, relevance []float64) {
	r := model.Relevance()
	if r == nil {
		return nil, nil
	}
	all := sourcesOf(model)
	most := make([]float64, len(all))
	for k, in := range all {
		most[k] = slices.Max(r[in.at : in.at+in.width])
	}
	for _, k := range largestFirst(most) {
		names, relevance = append(names, all[k].name), append(relevance, most[k])
	}
	return names, relevance
}

// codes are values to move the input through, and what they are called where they are no numbers.
func (in *sourceInput) codes(X *mat.Dense) (at []float64, labels []string) {
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
		labels = in.Levels
	case schema.Month:
		for k := range 12 {
			labels = append(labels, time.Month(k+1).String())
		}
	case schema.Weekday:
		for k := range 7 {
			labels = append(labels, time.Weekday((k+1)%7).String())
		}
	case schema.Clock:
		for k := range 24 {
			labels = append(labels, fmt.Sprintf("%d:00", k))
		}
	}
	for k := range labels {
		v := float64(k)
		if in.Kind == schema.Clock {
			v /= 24
		}
		at = append(at, v)
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
	for k := range curvePoints {
		at = append(at, lo+(hi-lo)*float64(k)/(curvePoints-1))
	}
	return at
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
			spokenOutputs(model)[j], e.Input, e.label(top), figure(y[top], 4), e.label(bottom), figure(y[bottom], 4))
	}
	text := fmt.Sprintf("%s %s as %s goes from %s to %s: from %s", spokenOutputs(model)[j], trendWord(y), e.Input,
		e.label(0), e.label(n-1), figure(y[0], 4))
	if turn := turningPoint(y); turn > 0 && turns(y) == 1 {
		text += fmt.Sprintf(" to %s at %s", figure(y[turn], 4), e.label(turn))
	}
	return text + fmt.Sprintf(" to %s on average.", figure(y[n-1], 4))
}

// label is what value k of the input is called.
func (e *effect) label(k int) string {
	if e.Labels != nil {
		return e.Labels[k]
	}
	return figure(e.At[k], 4)
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
	n := len(y)
	switch turn := turningPoint(y); {
	case turns(y) > 1:
		return "goes up and down"
	case turn > 0 && y[turn] > y[0]:
		return "rises, then falls"
	case turn > 0:
		return "falls, then rises"
	case y[n-1] > y[0]:
		return "rises"
	case y[n-1] < y[0]:
		return "falls"
	}
	return "stays the same"
}

// turnShare is the share of its range that a curve must go back by for that to count.
const turnShare = 0.3

// turns is how often a curve changes its direction and then goes back by more than turnShare of its range.
func turns(y []float64) (n int) {
	least := turnShare * (slices.Max(y) - slices.Min(y))
	low, high, direction := y[0], y[0], 0
	for _, v := range y {
		low, high = min(low, v), max(high, v)
		up, down := v-low > least, high-v > least
		if up && direction <= 0 || down && direction >= 0 {
			if direction != 0 {
				n++
			}
			if direction = 1; down {
				direction = -1
			}
			low, high = v, v
		}
	}
	return n
}

// turningPoint is where a curve turns that goes beyond its ends by more than turnShare of its range; 0 where it
// does not turn so.
func turningPoint(y []float64) int {
	n, top, bottom := len(y), floats.MaxIdx(y), floats.MinIdx(y)
	least := turnShare * (y[top] - y[bottom])
	over, under := y[top]-max(y[0], y[n-1]), min(y[0], y[n-1])-y[bottom]
	switch {
	case over >= under && over > least:
		return top
	case under > least:
		return bottom
	}
	return 0
}
