// This file says how much faster this module is than each other program on the same problem.

package peers

import (
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl/bench"
)

// concludePeers compares our fastest line of each problem with each line of another program, over all sizes where
// there are several.
func concludePeers(group []bench.Result) (texts []string) {
	ratios := map[[2]string][]float64{} // their seconds over ours, by problem and program
	said := map[[2]string]string{}      // the sentence about each
	var order [][2]string
	for _, r := range group {
		ours := bestOfOurs(group, r)
		if strings.HasPrefix(r.Name, "iokl") || ours == nil {
			continue
		}
		key := [2]string{r.Param("problem"), r.Name}
		if ratios[key] == nil {
			order = append(order, key)
		}
		ratios[key] = append(ratios[key], r.Seconds/ours.Seconds)
		said[key] = fmt.Sprintf("%s, %s: iokl is %s as %s.", key[0], sizes(r), faster(r.Seconds/ours.Seconds), r.Name)
	}
	for _, key := range order {
		if all := ratios[key]; len(all) > 1 {
			said[key] = fmt.Sprintf("%s, %d sizes: iokl is %s as %s on average, %s at least.", key[0], len(all),
				faster(stat.GeometricMean(all, nil)), key[1], faster(slices.Min(all)))
		}
		texts = append(texts, said[key])
	}
	return texts
}

// faster puts a ratio of their time to ours into words.
func faster(ratio float64) string {
	switch {
	case ratio >= bench.Noticeable:
		return bench.Times(ratio) + " as fast"
	case ratio <= 1/bench.Noticeable:
		return bench.Times(1/ratio) + " as slow"
	}
	return "about as fast"
}

// bestOfOurs is our fastest line for the problem of r that is about as accurate.
func bestOfOurs(group []bench.Result, r bench.Result) *bench.Result {
	var best *bench.Result
	for i, o := range group {
		switch {
		case !strings.HasPrefix(o.Name, "iokl") || o.Param("problem") != r.Param("problem") || sizes(o) != sizes(r):
		case r.Residual != nil && o.Residual != nil && *o.Residual > asAccurate**r.Residual:
		case o.Seconds > 0 && (best == nil || o.Seconds < best.Seconds):
			best = &group[i]
		}
	}
	return best
}

// asAccurate is how many times as large a residual may be and still count as the same accuracy.
const asAccurate = 10

// sizes are the parameters that tell one form of a problem from another.
func sizes(r bench.Result) string {
	return r.Without("problem", "backend", "threads", "seed", "version")
}
