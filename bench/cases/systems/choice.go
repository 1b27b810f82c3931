// This file judges the solver auto: how its time compares with that of the fastest solver of each system.

package systems

import (
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl/bench"
)

const (
	closeRatio   = 1.3   // the automatic choice counts as good within this factor of the fastest,
	closeSeconds = 0.002 // or when it loses less than this
)

// judgeChoice writes into the line of "auto" at one point how many times as long
// it took as the fastest of the others, and which that was.
func judgeChoice(point []bench.Result) {
	for key, best := range fastest(point) {
		for i := range point {
			r := &point[i]
			if r.Name == "auto" && systemKey(*r) == key && r.Error == "" && !r.Stopped {
				r.Metric("times_fastest", r.Seconds/best.Seconds)
				r.Metric("seconds_over_fastest", r.Seconds-best.Seconds)
				r.Params["fastest"] = best.Name
			}
		}
	}
}

// choices are those two figures at every point that "auto" and another solver were
// measured at, and the number of points at which auto chose the fastest method.
func choices(group []bench.Result) (ratios, over []float64, same int) {
	for _, r := range group {
		if ratio, ok := r.Metrics["times_fastest"]; ok && r.Name == "auto" {
			ratios, over = append(ratios, ratio), append(over, r.Metrics["seconds_over_fastest"])
			if r.Params["chosen"] == r.Params["fastest"] {
				same++
			}
		}
	}
	return ratios, over, same
}

// choiceName is the line that sums the automatic choice up.
const choiceName = "auto, all points"

// choiceSummary sums up how well "auto" chose over the whole grid, in one line.
func choiceSummary(group []bench.Result) []bench.Result {
	ratios, over, same := choices(group)
	if len(ratios) == 0 {
		return nil
	}
	within, near := 0, 0
	for i, ratio := range ratios {
		if ratio <= closeRatio {
			within++
		}
		if ratio <= closeRatio || over[i] < closeSeconds {
			near++
		}
	}
	r := bench.Result{Name: choiceName}
	r.Metric("points", float64(len(ratios)))
	r.Metric("points_fastest_chosen", float64(same))
	r.Metric("points_within_1.3", float64(within))
	r.Metric("points_within_1.3_or_2ms", float64(near))
	r.Metric("worst_times_fastest", slices.Max(ratios))
	r.Metric("mean_times_fastest", stat.GeometricMean(ratios, nil))
	return []bench.Result{r}
}
