// Package formula holds what a fitted model computes as arrays, and evaluates it with the standard library alone. Its
// source is part of the Go files that models are exported to.
package formula

import (
	"encoding/json"
	"fmt"
	"math"
)

// Formula is y(x) = Offset + Σ_s W_sᵀ·v_s(z). The numbers z stand for the inputs x, and v_s is a vector of functions
// of z.
type Formula struct {
	Columns []Column  `json:"columns"`           // one for each number of x
	Fill    []float64 `json:"fill,omitempty"`    // in place of missing numbers (NaN), which are an error without it
	Low     []float64 `json:"low,omitempty"`     // numbers below are taken as these
	High    []float64 `json:"high,omitempty"`    // and those above as these
	Mean    []float64 `json:"mean,omitempty"`    // z = (number − Mean)/Scale; nil: z = number
	Scale   []float64 `json:"scale,omitempty"`   // 0 for a column that was constant in training: z = 0
	Outputs []string  `json:"outputs"`           // names of y
	Classes []string  `json:"classes,omitempty"` // of a classifier, whose answer is the class of the largest y
	Offset  []float64 `json:"offset"`
	Sums    []Sum     `json:"sums"`
}

// Column is one number of x, which becomes z's numbers of so many columns: the number itself less First, a cosine and
// a sine for each period, and an indicator for each level of a category.
type Column struct {
	Name    string    `json:"name"`
	Number  bool      `json:"number,omitempty"`  // the number is a column of its own
	First   float64   `json:"first,omitempty"`   // of dates, in days since 1970-01-01
	Periods []float64 `json:"periods,omitempty"` // after which the number means the same again
	// Levels are the words of a category. The number is the index of one of them, or −1 for another word.
	Levels []string `json:"levels,omitempty"`
	Place  []int    `json:"place,omitempty"` // the indicator that each level sets to 1
	Places int      `json:"places,omitempty"`
}

// Sum is Wᵀ·v(z) with v = Σ_t v_t, the values of its terms.
type Sum struct {
	Terms   []Term    `json:"terms"`
	Weights []float64 `json:"weights"` // row by row: one row for each value, one column for each output
}

// Metric is the number u that is computed from the features q of z and a row p of Points.
type Metric string

// The metrics. Functions of u are the values of all but the first and the last.
const (
	Linear   Metric = "linear"   // the features q themselves, times Weight; there are no points
	Dot      Metric = "dot"      // pᵀq
	Squared  Metric = "squared"  // ‖q − p‖²
	Euclid   Metric = "euclid"   // ‖q − p‖
	Absolute Metric = "absolute" // ‖q − p‖₁
	Sine     Metric = "sine"     // sin(pᵀq + Shift)
)

// Term is a vector of functions of features of z. The features are numbers of z, or ranks of these, times Factor, or
// linear combinations of them.
type Term struct {
	Columns []int `json:"columns,omitempty"` // numbers of z; nil: all
	// Knots are ascending values that each is ranked among; nil, of one or all: no ranks.
	Knots      [][]float64 `json:"knots,omitempty"`
	Factor     []float64   `json:"factor,omitempty"`     // of each; nil: 1
	Directions [][]float64 `json:"directions,omitempty"` // coefficients of linear combinations; nil: none
	Metric     Metric      `json:"metric"`
	Weight     float64     `json:"weight,omitempty"` // of a linear term
	Points     []float64   `json:"points,omitempty"` // row by row, as many columns as features
	Shift      []float64   `json:"shift,omitempty"`  // of each point
	Functions  []Function  `json:"functions,omitempty"`
}

// Function is Weight·(Σ_i Coefficients[i]·uⁱ)^Power·exp(−Rate·u).
type Function struct {
	Weight       float64   `json:"weight"`
	Coefficients []float64 `json:"coefficients"`
	Power        float64   `json:"power"`
	Rate         float64   `json:"rate"`
}

// Parse reads a formula that was written as JSON.
func Parse(text string) (*Formula, error) {
	f := new(Formula)
	return f, json.Unmarshal([]byte(text), f)
}

// Class is the class of the largest of the outputs y, "" where the model is no classifier.
func (f *Formula) Class(y []float64) (class string) {
	largest := math.Inf(-1)
	for k, name := range f.Classes {
		if y[k] > largest {
			class, largest = name, y[k]
		}
	}
	return class
}

// Width is the number of numbers z.
func (f *Formula) Width() (n int) {
	for _, c := range f.Columns {
		if n += 2*len(c.Periods) + c.Places; c.Number {
			n++
		}
	}
	return n
}

// Predict returns the outputs for the inputs x, one number for each of Columns. It may run in several goroutines.
func (f *Formula) Predict(x []float64) ([]float64, error) {
	z, err := f.inputs(x)
	if err != nil {
		return nil, err
	}
	y := append([]float64(nil), f.Offset...)
	for _, s := range f.Sums {
		v := make([]float64, len(s.Weights)/len(y))
		for i := range s.Terms {
			s.Terms[i].add(v, s.Terms[i].features(z))
		}
		for i, value := range v {
			for j, w := range s.Weights[i*len(y) : (i+1)*len(y)] {
				y[j] += value * w
			}
		}
	}
	return y, nil
}

// inputs is z.
func (f *Formula) inputs(x []float64) (z []float64, err error) {
	if len(x) != len(f.Columns) {
		return nil, fmt.Errorf("%d inputs, the model has %d", len(x), len(f.Columns))
	}
	for k, v := range x {
		if math.IsInf(v, 0) || math.IsNaN(v) && f.Fill == nil {
			return nil, fmt.Errorf("input %d (%s) is %g", k+1, f.Columns[k].Name, v)
		}
		z = f.Columns[k].expand(z, v)
	}
	for j, v := range z {
		if math.IsNaN(v) {
			v = f.Fill[j]
		}
		if f.Low != nil {
			v = math.Max(f.Low[j], math.Min(v, f.High[j]))
		}
		if f.Mean != nil {
			v = (v - f.Mean[j]) / f.Scale[j]
		}
		if f.Scale != nil && f.Scale[j] == 0 {
			v = 0
		}
		z[j] = v
	}
	return z, nil
}

// expand appends what the number v becomes. A missing number is NaN in all columns.
func (c *Column) expand(z []float64, v float64) []float64 {
	if c.Number {
		z = append(z, v-c.First)
	}
	for _, period := range c.Periods {
		cos, sin := Turn(v, period)
		z = append(z, cos, sin)
	}
	at := len(z)
	for range c.Places {
		z = append(z, 0*v)
	}
	for level, place := range c.Place {
		if v == float64(level) {
			z[at+place] = 1
		}
	}
	return z
}

// Grain is what cosines and sines are multiples of.
const Grain = 0x1p-40

// Turn is the point of a circle that v has come to, which goes around it once in a period. Coordinates that are equal,
// as those of April and October, are so in every bit, which ranks depend on.
func Turn(v, period float64) (cos, sin float64) {
	sin, cos = math.Sincos(2 * math.Pi * math.Mod(v, period) / period)
	return Grain * math.Round(cos/Grain), Grain * math.Round(sin/Grain)
}

// features is q.
func (t *Term) features(z []float64) []float64 {
	q := append([]float64(nil), z...)
	if t.Columns != nil {
		q = q[:0]
		for _, c := range t.Columns {
			q = append(q, z[c])
		}
	}
	for c, knots := range t.Knots {
		if knots != nil {
			q[c] = Rank(knots, q[c])
		}
	}
	for c, factor := range t.Factor {
		q[c] *= factor
	}
	if t.Directions == nil {
		return q
	}
	combined := make([]float64, len(t.Directions))
	for r, row := range t.Directions {
		for c, w := range row {
			combined[r] += w * q[c]
		}
	}
	return combined
}

// Rank is where v lies among ascending knots, from −√3 at the first of them to √3 at the last, so that ranks of the
// values that the knots are quantiles of have mean 0 and, where no two are equal, variance 1. Between knots it is
// linear, beyond their ends constant, and the middle of those that are equal to v.
func Rank(knots []float64, v float64) float64 {
	last := len(knots) - 1
	switch {
	case knots[0] == knots[last]:
		return 0
	case math.IsNaN(v):
		return v
	}
	at := count(knots, v, false)
	place := float64(at)
	switch {
	case at > last:
		place = float64(last)
	case knots[at] == v:
		place = float64(at+count(knots, v, true)-1) / 2
	case at > 0:
		place -= (knots[at] - v) / (knots[at] - knots[at-1])
	}
	return math.Sqrt(3) * (2*place/float64(last) - 1)
}

// count is how many of the ascending knots are below v, and of those that are equal to it where they count too.
func count(knots []float64, v float64, equal bool) (at int) {
	for left := len(knots); left > 0; {
		half := (left + 1) / 2
		if k := knots[at+half-1]; k < v || equal && k == v {
			at += half
		}
		left -= half
	}
	return at
}

// add adds the values of the term at the features q to v.
func (t *Term) add(v, q []float64) {
	if t.Metric == Linear {
		for c, feature := range q {
			v[c] += t.Weight * feature
		}
		return
	}
	for i := range v {
		u := t.Metric.between(q, t.Points[i*len(q):(i+1)*len(q)])
		if t.Metric == Sine {
			v[i] += math.Sin(u + t.Shift[i])
		}
		for _, f := range t.Functions {
			v[i] += f.at(u)
		}
	}
}

// between is u, without the sine.
func (m Metric) between(q, p []float64) (u float64) {
	for c, v := range q {
		switch m {
		case Sine, Dot:
			u += v * p[c]
		case Absolute:
			u += math.Abs(v - p[c])
		default:
			u += (v - p[c]) * (v - p[c])
		}
	}
	if m == Euclid {
		u = math.Sqrt(u)
	}
	return u
}

func (f *Function) at(u float64) float64 {
	p := 0.0
	for i := len(f.Coefficients) - 1; i >= 0; i-- {
		p = p*u + f.Coefficients[i]
	}
	return f.Weight * math.Pow(p, f.Power) * math.Exp(-f.Rate*u)
}
