// This file answers how much faster this module is than each other program on the same problem.

package peers

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/iokl/iokl/bench"
)

func init() {
	bench.Ask(bench.Question{
		Text: "How much faster than scikit-learn, scipy, PyTorch and Octave?", Cases: besideOthers, Answer: whatPeers,
	})
}

// besideOthers are the cases with results of other programs.
var besideOthers = []string{"peers", "ridge"}

// whatPeers puts our fastest line of each problem beside each line of another program.
func whatPeers(f *bench.File) bench.Answer {
	var a bench.Answer
	a.Table = &bench.Table{
		Head: []string{
			"problem", "program", "our best is", "theirs: seconds", "residual", "test error", "ours",
			"seconds", "residual", "test error",
		},
		Source: "Same data, same number of threads, one run; residuals are recomputed from the answers, test errors " +
			"are mean squares on the same unseen samples.",
	}
	for _, name := range besideOthers {
		group := f.Of(name)
		for _, r := range group {
			if strings.HasPrefix(r.Name, "iokl") {
				continue
			}
			ours := bestOfOurs(group, r)
			if ours == nil {
				continue
			}
			problem := cmp.Or(r.Param("problem"), name+" on "+r.Param("D")+" features")
			ratio := r.Seconds / ours.Seconds
			verdict := faster(ratio)
			a.Texts = append(a.Texts, peerText(problem, verdict, r, *ours))
			line := []string{problem + ", " + sizes(r), r.Name, verdict}
			line = append(append(line, peerCells(r)...), ours.Name)
			a.Table.Rows = append(a.Table.Rows, append(line, peerCells(*ours)...))
		}
	}
	return a
}

// faster puts a ratio of their time to ours into words.
func faster(ratio float64) string {
	switch {
	case ratio >= bench.Noticeable:
		return bench.Times(ratio) + " faster"
	case ratio <= 1/bench.Noticeable:
		return bench.Times(1/ratio) + " slower"
	}
	return "about as fast"
}

// peerText compares one line of another program with ours, and the errors where these differ.
func peerText(problem, verdict string, theirs, ours bench.Result) string {
	text := fmt.Sprintf("%s: iokl is %s than %s", problem, verdict, theirs.Name)
	if verdict == "about as fast" {
		text = fmt.Sprintf("%s: iokl is about as fast as %s", problem, theirs.Name)
	}
	e, ok := theirs.Metrics["test_mse"]
	if o := ours.Metrics["test_mse"]; ok && (o > 1.01*e || o < e/1.01) {
		text += fmt.Sprintf(", with a test error of %s in place of %s", bench.Short(o), bench.Short(e))
	}
	return text + "."
}

func peerCells(r bench.Result) []string {
	mse := ""
	if v, ok := r.Metrics["test_mse"]; ok {
		mse = bench.Short(v)
	}
	return []string{bench.Positive(r.Seconds), bench.OrDash(bench.Optional(r.Residual)), bench.OrDash(mse)}
}

// bestOfOurs is our fastest line for the problem of r that is about as accurate; for
// feature maps, the one of the same kind.
func bestOfOurs(group []bench.Result, r bench.Result) *bench.Result {
	kind := map[string]string{
		"scikit-learn RBFSampler": "iokl rff qmc phases",
		"scikit-learn Nystroem":   "iokl nystrom",
	}[r.Name]
	var best *bench.Result
	for i, o := range group {
		if !strings.HasPrefix(o.Name, "iokl") || o.Param("problem") != r.Param("problem") ||
			(kind != "" && o.Name != kind) || !(o.Seconds > 0) {
			continue
		}
		if rough := r.Residual != nil && o.Residual != nil && *o.Residual > asAccurate**r.Residual; rough {
			continue
		}
		if best == nil || o.Seconds < best.Seconds {
			best = &group[i]
		}
	}
	return best
}

// asAccurate is how many times as large a residual may be and still count as the same accuracy.
const asAccurate = 10

// sizes are the dimensions among the parameters.
func sizes(r bench.Result) string {
	var parts []string
	for _, key := range slices.SortedFunc(maps.Keys(r.Params), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	}) {
		if len(key) == 1 {
			parts = append(parts, key+" = "+r.Param(key))
		}
	}
	return strings.Join(parts, ", ")
}
