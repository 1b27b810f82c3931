// This file answers whether arithmetic or memory bounds each kind of work, and how near it is to that bound.

package algebra

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/blas"
)

func init() {
	bench.Ask(bench.Question{
		Text:   "How far from what this machine can do?",
		Cases:  []string{"gemm", "operator", "gram", "lanczos", "eigen", "predict", "scale"},
		Answer: whichLimit,
	})
}

// whichLimit says for each kind of work what bounds it and how near the run came.
func whichLimit(f *bench.File) bench.Answer {
	results, limits := f.Results, f.Machine.Limits
	var a bench.Answer
	a.Table = &bench.Table{
		Head: []string{"work", "GFLOP/s", "of peak", "GB/s", "of reading", "bound by"},
		Source: "The native backend with all threads, each case's largest line. Limits are measured in the same run: " +
			"fused multiply-adds from registers, and reads of as many bytes. Where both shares are known, the larger " +
			"one names the bound.",
	}
	largest := map[string]bench.Result{}
	var order []string
	for _, r := range results {
		if !(r.OfPeak > 0) || fmt.Sprint(r.Params["backend"]) != "native" ||
			int(r.Number("threads")) != limits.MaxThreads() {
			continue
		}
		kind := workText(r)
		old, ok := largest[kind]
		if !ok {
			order = append(order, kind)
		}
		if !ok || r.GFlops*r.Seconds >= old.GFlops*old.Seconds {
			largest[kind] = r
		}
	}
	var nearest string
	for _, kind := range order {
		r := largest[kind]
		bound := "arithmetic"
		if r.OfBandwidth > r.OfPeak {
			bound = "memory"
		}
		a.Table.Rows = append(a.Table.Rows, []string{
			kind, bench.Positive(r.GFlops), bench.Percent(r.OfPeak), bench.OrDash(bench.Positive(r.GBytes)),
			bench.OrDash(bench.Percent(r.OfBandwidth)), bound,
		})
		if best := largest[nearest]; nearest == "" ||
			max(r.OfPeak, r.OfBandwidth) > max(best.OfPeak, best.OfBandwidth) {
			nearest = kind
		}
	}
	if r, ok := largest[nearest]; ok {
		a.Texts = append(a.Texts, "Nearest to its limit: "+shareText(nearest, r))
	}
	var columns []string // K times the fewest and the most
	for _, kind := range order {
		if r := largest[kind]; r.Case == "operator" && r.Params["precision"] == "float64" {
			columns = append(columns, kind)
		}
	}
	if n := len(columns); n > 1 {
		slices.SortFunc(columns, func(p, q string) int {
			a, b := largest[p], largest[q]
			return cmp.Compare(a.Number("k"), b.Number("k"))
		})
		for _, kind := range []string{columns[0], columns[n-1]} {
			if kind != nearest {
				a.Texts = append(a.Texts, shareText(kind, largest[kind]))
			}
		}
	}
	a.Figures = machineRoofline(results, limits).Figures("roofline")
	return a
}

// shareText says how near to the limit that binds it some work came.
func shareText(kind string, r bench.Result) string {
	if r.OfBandwidth > r.OfPeak {
		return fmt.Sprintf("%s reads memory at %.0f GB/s, %.0f %% of what reading alone reaches.", kind, r.GBytes,
			100*r.OfBandwidth)
	}
	return fmt.Sprintf("%s computes at %.0f GFLOP/s, %.0f %% of what the processor can do.", kind, r.GFlops,
		100*r.OfPeak)
}

// workText names the kind of work of a line.
func workText(r bench.Result) string {
	text := cmp.Or(map[string]string{
		"gemm": "matrix product", "operator": "K times a block", "gram": "Gram matrix",
		"lanczos": "extremal eigenpair", "scale": "pass over streamed rows", "predict": "prediction",
	}[r.Case], r.Case)
	if v := r.Param("routine"); v != "" {
		text = v
	}
	if v := r.Param("kernel"); v == "product" {
		text += ", the product alone"
	} else if v != "" {
		text += ", " + v
	}
	if r.Case == "operator" {
		text = "K times " + bench.Plural(int(r.Number("k")), "column")
	}
	if v := r.Param("precision"); v == blas.Float32.String() {
		text += ", " + v
	}
	return text
}
