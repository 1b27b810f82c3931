package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Result is one measured line. A field that does not apply is left out of the JSON.
type Result struct {
	Case   string         `json:"case"`
	Part   string         `json:"part,omitempty"` // of a case made of parts
	Name   string         `json:"name"`
	Params map[string]any `json:"params"`

	Seconds float64   `json:"seconds,omitempty"` // median of Samples
	Min     float64   `json:"min,omitempty"`
	Max     float64   `json:"max,omitempty"`
	Count   int       `json:"count,omitempty"`
	Samples []float64 `json:"samples,omitempty"` // seconds of each repetition

	GFlops      float64  `json:"gflops,omitempty"`              // 1e9 floating point operations a second
	GBytes      float64  `json:"gbytes_per_second,omitempty"`   // 1e9 bytes of memory a second
	OfPeak      float64  `json:"of_fma_peak,omitempty"`         // GFlops over the machine's own limit
	OfBandwidth float64  `json:"of_memory_bandwidth,omitempty"` // GBytes over the machine's own limit
	PeakRSS     int64    `json:"peak_rss_bytes,omitempty"`      // of the process while the case ran
	Accuracy    *float64 `json:"accuracy,omitempty"`            // share of test samples classified rightly
	Objective   *float64 `json:"objective,omitempty"`           // of the learning problem, at the returned point
	RelativeGap *float64 `json:"relative_gap,omitempty"`        // certified
	Residual    *float64 `json:"residual,omitempty"`            // true, relative to ‖Y‖
	SecondsTo   *float64 `json:"seconds_to_0.1pct,omitempty"`   // to an objective within 0.1 % of the best of all
	Stopped     bool     `json:"stopped,omitempty"`             // by the time budget, before its own stopping test held
	Noisy       bool     `json:"noisy,omitempty"`               // repetitions differ by more than half of their median
	Error       string   `json:"error,omitempty"`

	Metrics map[string]float64 `json:"metrics,omitempty"` // what has no field of its own
	Trace   []Point            `json:"trace,omitempty"`
	Rerun   string             `json:"rerun,omitempty"` // the command that measures this line again
}

// Point is one moment of a fit.
type Point struct {
	Seconds     float64  `json:"seconds"`
	Objective   *float64 `json:"objective,omitempty"`
	RelativeGap *float64 `json:"relative_gap,omitempty"`
	Accuracy    *float64 `json:"accuracy,omitempty"`
}

// File is the outcome of a run.
type File struct {
	Machine Machine  `json:"machine"`
	Results []Result `json:"results"`
}

// ByCase splits the results into those of each case, keeping their order.
func (f *File) ByCase() [][]Result {
	var groups [][]Result
	for _, r := range f.Results {
		i := slices.IndexFunc(groups, func(g []Result) bool { return g[0].Case == r.Case })
		if i < 0 {
			i, groups = len(groups), append(groups, nil)
		}
		groups[i] = append(groups[i], r)
	}
	return groups
}

// Num is x as an optional JSON number, absent when x is NaN or infinite.
func Num(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// Param is a parameter as text, "" where there is none.
func (r Result) Param(key string) string {
	switch v := r.Params[key].(type) {
	case nil:
		return ""
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	default:
		return fmt.Sprint(v)
	}
}

// Number is a numeric parameter, which is an int when measured and a float64 when
// read back; NaN where there is none.
func (r Result) Number(key string) float64 {
	switch v := r.Params[key].(type) {
	case int:
		return float64(v)
	case int64:
		return float64(v)
	case float64:
		return v
	}
	return math.NaN()
}

// Without is every parameter as key=value, less the named ones.
func (r Result) Without(keys ...string) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(r.Params)) {
		if !slices.Contains(keys, k) {
			parts = append(parts, k+"="+r.Param(k))
		}
	}
	return strings.Join(parts, " ")
}

// Value is a metric, or one of the fields that every case has, and whether the result has it.
func (r Result) Value(key string) (v float64, known bool) {
	optional := map[string]*float64{
		"seconds_to": r.SecondsTo, "accuracy": r.Accuracy, "objective": r.Objective, "gap": r.RelativeGap,
		"residual": r.Residual,
	}
	positive := map[string]float64{
		"seconds": r.Seconds, "min": r.Min, "max": r.Max, "peak": float64(r.PeakRSS >> 20), "gflops": r.GFlops,
		"gbytes": r.GBytes, "of_peak": r.OfPeak, "of_bandwidth": r.OfBandwidth,
	}
	if p, ok := optional[key]; ok {
		if p == nil {
			return 0, false
		}
		return *p, true
	}
	if v, ok := positive[key]; ok {
		return v, v > 0 && (r.Count > 1 || key != "min" && key != "max")
	}
	v, known = r.Metrics[key]
	return v, known
}

// Bytes is an amount of memory in the largest unit that it fills.
func Bytes(b float64) string {
	unit := 0
	for ; b >= 1024 && unit < 3; unit++ {
		b /= 1024
	}
	return fmt.Sprintf([]string{"%.0f bytes", "%.3g KiB", "%.3g MiB", "%.3g GiB"}[unit], b)
}

// Metric records x under key unless it is NaN or infinite, which JSON cannot hold.
func (r *Result) Metric(key string, x float64) {
	if Num(x) == nil {
		return
	}
	if r.Metrics == nil {
		r.Metrics = map[string]float64{}
	}
	r.Metrics[key] = x
}

// Time records the repetitions, in seconds.
func (r *Result) Time(samples []float64) {
	if len(samples) == 0 {
		return
	}
	r.Samples = samples
	r.Count = len(samples)
	r.Seconds = Median(samples)
	r.Min, r.Max = slices.Min(samples), slices.Max(samples)
	r.Noisy = r.Count > 2 && r.Max-r.Min > 0.5*r.Seconds
}

// Rate derives speed from work done per repetition.
func (r *Result) Rate(flops, bytes float64) {
	if r.Seconds > 0 {
		r.GFlops, r.GBytes = flops/r.Seconds/1e9, bytes/r.Seconds/1e9
	}
}

// Median of a copy of x, the mean of the middle two where their number is even; NaN when x is empty.
func Median(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(x))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// WriteJSON writes the file as one indented JSON object.
func (f *File) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", " ")
	return enc.Encode(f)
}

// ErrEmpty says that a file is of a run that measured nothing.
var ErrEmpty = errors.New("holds no results")

// ReadFile reads what WriteJSON wrote.
func ReadFile(name string) (*File, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var f File
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, fmt.Errorf("%s: not a result of mklbench run: %w", name, err)
	}
	if len(f.Results) == 0 {
		return nil, fmt.Errorf("%s: %w", name, ErrEmpty)
	}
	return &f, nil
}
