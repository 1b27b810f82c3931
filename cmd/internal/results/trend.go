// This file says in words how a curve runs.

package results

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/internal/picture"
)

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
func (e *effect) ticks() (ticks []picture.Tick) {
	longest := 1
	for _, label := range e.Labels {
		longest = max(longest, len(label))
	}
	n := len(e.Labels)
	every := max(1, (n*longest+axisLetters-1)/axisLetters)
	for k := 0; k < n; k += every {
		ticks = append(ticks, picture.Tick{Value: e.At[k], Label: e.Labels[k]})
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
