package bench

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// concludeSpeed compares the backends, and each with the machine.
func concludeSpeed(what string) func(group []Result) []string {
	return func(group []Result) []string {
		var out []string
		for _, other := range names(group) {
			ratios := pairs(group, "native", other)
			if other == "native" || len(ratios) == 0 {
				continue
			}
			g := stat.GeometricMean(ratios, nil)
			lo, hi := slices.Min(ratios), slices.Max(ratios)
			switch {
			case g >= 1:
				out = append(out, fmt.Sprintf("The native backend is %s faster than %s on average in %s (from %.2g to %.2g over %s).", times(g), other, what, lo, hi, plural(len(ratios), "shape")))
			default:
				out = append(out, fmt.Sprintf("The native backend is %s slower than %s on average in %s (its speed is from %.2g to %.2g of it over %s).", times(1/g), other, what, lo, hi, plural(len(ratios), "shape")))
			}
		}
		for _, name := range names(group) {
			if r := bestShare(group, name); r != nil {
				out = append(out, fmt.Sprintf("At its best (%s) %s reaches %.0f %% of the machine's peak, %.0f GFLOP/s.", without(*r, "backend", "seed", "threads"), name, 100*r.OfPeak, r.GFlops))
			}
		}
		return out
	}
}

// bestShare is the line of that name nearest to the peak of its precision.
func bestShare(group []Result, name string) *Result {
	var best *Result
	for i, r := range group {
		if r.Name == name && r.OfPeak > 0 && (best == nil || r.OfPeak > best.OfPeak) {
			best = &group[i]
		}
	}
	return best
}

// concludeGemm also says how fast gonum is beside the limit, which bounds how many
// times faster anything can be.
func concludeGemm(group []Result) []string {
	out := concludeSpeed("matrix products")(group)
	largest := map[string]Result{} // of gonum, by precision and threads
	var order []string
	for _, r := range group {
		if r.Name != "gonum" || !(r.OfPeak > 0) {
			continue
		}
		key := param(r, "precision") + param(r, "threads")
		old, ok := largest[key]
		if !ok {
			order = append(order, key)
		}
		if !ok || r.GFlops*r.Seconds > old.GFlops*old.Seconds {
			largest[key] = r
		}
	}
	for _, key := range order {
		r := largest[key]
		text := fmt.Sprintf("gonum multiplies %s matrices (%s) at %.3g GFLOP/s with %s: the machine's peak, %.3g, is %s that",
			param(r, "precision"), without(r, "backend", "seed", "threads", "precision"), r.GFlops, plural(int(number(r, "threads")), "thread"), r.GFlops/r.OfPeak, times(1/r.OfPeak))
		for _, n := range group {
			if n.Name == "native" && without(n, "backend") == without(r, "backend") {
				text += fmt.Sprintf(", and the native backend %s as fast", times(r.Seconds/n.Seconds))
			}
		}
		out = append(out, text+".")
	}
	return out
}

// concludeOperator also says how long collections take beside products.
func concludeOperator(group []Result) []string {
	out := concludeSpeed("products of K with a block of columns")(group)
	beside := lookup(group, besideProducts)
	if beside == nil {
		return out
	}
	how := func(r *Result) string {
		seldom := ""
		if p95, ok := r.Metrics["p95_ms"]; ok {
			seldom = fmt.Sprintf("seldom more than %.2g ms, ", p95)
		}
		return fmt.Sprintf("%.2g ms on average, %s%.2g ms at worst", r.Metrics["mean_ms"], seldom, r.Metrics["worst_ms"])
	}
	text := fmt.Sprintf("A garbage collection beside products takes %s (of %d).", how(beside), beside.Count)
	if idle := lookup(group, besideNothing); idle != nil {
		text += fmt.Sprintf(" In the same program at rest it takes %s: what the machine and the runtime do to any program.", how(idle))
	}
	if loops := lookup(group, besideLoops); loops != nil {
		text += fmt.Sprintf(" Beside loops in Go on every processor it takes %s.", how(loops))
	}
	return append(out, text)
}

func concludeFastest(does string) func(group []Result) []string {
	return func(group []Result) []string {
		var out []string
		group = slices.DeleteFunc(slices.Clone(group), func(r Result) bool { return r.Params["kernel"] == "product" })
		for _, other := range names(group) {
			if ratios := pairs(group, "native", other); other != "native" && len(ratios) > 0 {
				out = append(out, fmt.Sprintf("The native backend %s at %.2g times the speed of %s, on average over %s.", does, stat.GeometricMean(ratios, nil), other, plural(len(ratios), "case")))
			}
		}
		return out
	}
}

// concludeGram also says how near the builders come to the product inside them.
func concludeGram(group []Result) []string {
	out := concludeFastest("builds Gram matrices")(group)
	var least, most *Result
	for _, r := range group {
		share, ok := r.Metrics["of_product"]
		if !ok || r.Name != "native" || r.Params["kernel"] == "product" || r.Params["memory"] != "new" {
			continue
		}
		if least == nil || share < least.Metrics["of_product"] {
			least = &r
		}
		if most == nil || share > most.Metrics["of_product"] {
			most = &r
		}
	}
	if least != nil {
		what := func(r *Result) string {
			return fmt.Sprintf("%.2f (%s, %s)", r.Metrics["of_product"], param(*r, "kernel"), plural(int(number(*r, "d")), "feature"))
		}
		out = append(out, fmt.Sprintf("Its Gram matrices, made in new memory, take shape at %s to %s of the speed of the product X·Xᵀ alone, which goes to old memory.", what(least), what(most)))
	}
	return out
}
