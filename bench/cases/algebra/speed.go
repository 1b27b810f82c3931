// This file puts the speeds of the backends, relative to each other and to the machine's peak, into sentences.

package algebra

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl/bench"
)

// concludeSpeed compares the backends, and each with the machine.
func concludeSpeed(what string) func(group []bench.Result) []string {
	return func(group []bench.Result) []string {
		var out []string
		for _, other := range bench.Names(group) {
			ratios := bench.Ratios(group, "native", other)
			if other == "native" || len(ratios) == 0 {
				continue
			}
			g := stat.GeometricMean(ratios, nil)
			lo, hi := slices.Min(ratios), slices.Max(ratios)
			switch {
			case g >= 1:
				out = append(out,
					fmt.Sprintf("The native backend is %s faster than %s on average in %s (from %.2g to %.2g over %s).",
						bench.Times(g), other, what, lo, hi, bench.Plural(len(ratios), "shape")))
			default:
				out = append(out,
					fmt.Sprintf("The native backend is %s slower than %s on average in %s (its speed is from %.2g to "+
						"%.2g of it over %s).", bench.Times(1/g), other, what, lo, hi,
						bench.Plural(len(ratios), "shape")))
			}
		}
		for _, name := range bench.Names(group) {
			if r := bestShare(group, name); r != nil {
				out = append(out,
					fmt.Sprintf("At its best (%s) %s reaches %.0f %% of the machine's peak, %.0f GFLOP/s.",
						r.Without("backend", "seed", "threads"), name, 100*r.OfPeak, r.GFlops))
			}
		}
		return out
	}
}

// bestShare is the line of that name nearest to the peak of its precision.
func bestShare(group []bench.Result, name string) *bench.Result {
	var best *bench.Result
	for i, r := range group {
		if r.Name == name && r.OfPeak > 0 && (best == nil || r.OfPeak > best.OfPeak) {
			best = &group[i]
		}
	}
	return best
}

// againstOpenBLAS adds to the native results how many times as long OpenBLAS took, as the
// median over the rounds: what slows the machine for a while slows both runs of a round.
func againstOpenBLAS(results []bench.Result) {
	for _, other := range results {
		for i := range results {
			if r := &results[i]; r.Name == "native" && other.Name == "openblas" &&
				r.Without("backend") == other.Without("backend") {
				ratios := make([]float64, min(len(r.Samples), len(other.Samples)))
				for round := range ratios {
					ratios[round] = other.Samples[round] / r.Samples[round]
				}
				r.Metric("openblas_over_native", bench.Median(ratios))
			}
		}
	}
}
