package bench

import (
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"
)

// conclusions turn the results of a case into sentences; the first one stands at
// the top of the report. Every number in them is computed from the results.
var conclusions = map[string]func(group []Result) []string{
	"gemm":         concludeGemm,
	"operator":     concludeOperator,
	"gram":         concludeGram,
	"eigen":        concludeSpeed("factorizations"),
	"lanczos":      concludeLanczos,
	"digits":       concludeLearning,
	"leaves":       concludeLearning,
	"mfeat":        concludeLearning,
	"macro":        concludeMacro,
	"sylvester":    concludeSylvester,
	"caltech":      concludeTarget,
	"convergence":  concludeTarget,
	"sparse":       concludeSparse,
	"lorenz96":     concludeGraphs,
	"dream3":       concludeGraphs,
	"lotka":        concludeGraphs,
	"drosophila":   concludeHoldOut,
	"granger-null": concludeNull,
	"stock04":      concludeStock,
	"mtr":          concludeMTR,
	"rff":          concludeFeatures,
	"nystrom":      concludeNystrom,
	"scale":        concludeScale,
	"figures":      concludeTarget,
	"peers":        concludePeers,
	"ridge":        concludePeers,
	"ranks":        concludeRanks,
	"misprints":    concludeMisprints,
}

// times says "3.2 times"; more precision would pretend too much.
func times(x float64) string {
	if x >= 10 {
		return fmt.Sprintf("%.0f times", x)
	}
	return fmt.Sprintf("%.1f times", x)
}

// without is a result's parameters as text, less the named ones.
func without(r Result, keys ...string) string {
	var parts []string
	for _, p := range strings.Split(paramText(r), " ") {
		if k, _, _ := strings.Cut(p, "="); !slices.Contains(keys, k) {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, " ")
}

// pairs are the ratios of times, second over first, of results that differ in name alone.
func pairs(group []Result, first, second string) []float64 {
	var out []float64
	for _, a := range group {
		for _, b := range group {
			if a.Name == first && b.Name == second && a.Seconds > 0 && b.Seconds > 0 && without(a, "backend") == without(b, "backend") {
				out = append(out, b.Seconds/a.Seconds)
			}
		}
	}
	return out
}

func names(group []Result) []string {
	var out []string
	for _, r := range group {
		if !slices.Contains(out, r.Name) {
			out = append(out, r.Name)
		}
	}
	return out
}

func concludeLanczos(group []Result) []string {
	var out []string
	// One backend: pairs would compare one's Lanczos with another's eigendecomposition.
	first := group[0].Params["backend"]
	group = slices.DeleteFunc(slices.Clone(group), func(r Result) bool { return r.Params["backend"] != first })
	for _, name := range names(group) {
		if ratios := pairs(group, name, "eigendecomposition"); name != "eigendecomposition" && len(ratios) > 0 {
			out = append(out, fmt.Sprintf("For one extremal eigenpair, %s takes a fraction of the full eigendecomposition's time: it is %.2g to %.2g times faster.", name, slices.Min(ratios), slices.Max(ratios)))
		}
	}
	return out
}

// concludeLearning says what learning brings, and the fast solver against the exact one.
func concludeLearning(group []Result) []string {
	var out []string
	best := map[string]Result{}
	for _, r := range group {
		if b, ok := best[r.Name]; r.Accuracy != nil && (!ok || *r.Accuracy > *b.Accuracy) {
			best[r.Name] = r
		}
	}
	uniform, okU := best["uniform kernels, L = I"]
	both, okB := best["IOKL (both)"]
	if okU && okB {
		out = append(out, fmt.Sprintf("Learning kernels and outputs together classifies %.2f %% of the test samples rightly with %.0f of %s kernels; uniform kernels and independent outputs, which use all, %.2f %%.",
			100**both.Accuracy, both.Metrics["active_kernels"], param(both, "m"), 100**uniform.Accuracy))
	}
	for _, slow := range []string{"plain CG", "eigendecomposition"} {
		fast, exact := lookup(group, "IOKL, fast"), lookup(group, "IOKL, "+slow)
		if fast == nil {
			fast = lookup(group, "IOKL (both)")
		}
		if fast != nil && exact != nil && fast.Seconds > 0 {
			bound := ""
			if exact.Stopped {
				bound = "more than "
			}
			out = append(out, fmt.Sprintf("The fast solver of the linear systems ends the same fit %s%s faster than %s (%.3g s and %.3g s).", bound, times(exact.Seconds/fast.Seconds), slow, fast.Seconds, exact.Seconds))
		}
	}
	return out
}

func lookup(group []Result, name string) *Result {
	for i := range group {
		if group[i].Name == name {
			return &group[i]
		}
	}
	return nil
}

func concludeMacro(group []Result) []string {
	score := func(r Result) float64 { return r.Metrics["rrmse"] }
	if len(group) == 0 {
		return nil
	}
	best := slices.MinFunc(group, func(a, b Result) int {
		switch {
		case score(a) < score(b):
			return -1
		case score(a) > score(b):
			return 1
		}
		return 0
	})
	out := []string{fmt.Sprintf("The smallest error of one-step forecasts has %q: %.3f of that of forecasting the training mean.", best.Name, score(best))}
	if v := lookup(group, "linear VAR, least squares"); v != nil && v.Name != best.Name {
		out = append(out, fmt.Sprintf("A linear vector autoregression by least squares has %.3f.", score(*v)))
	}
	return out
}

// concludeTarget compares the times to within 0.1 % of the best objective.
func concludeTarget(group []Result) []string {
	var fast *Result
	for i, r := range group {
		if r.SecondsTo != nil && (fast == nil || *r.SecondsTo < *fast.SecondsTo) {
			fast = &group[i]
		}
	}
	if fast == nil {
		return nil
	}
	out := []string{fmt.Sprintf("%q is first to come within 0.1 %% of the best objective, after %.3g s.", fast.Name, *fast.SecondsTo)}
	for _, r := range group {
		switch {
		case r.Name == fast.Name || param(r, "solver") == "okl":
		case r.SecondsTo != nil:
			out = append(out, fmt.Sprintf("%q takes %s as long.", r.Name, times(*r.SecondsTo / *fast.SecondsTo)))
		default:
			out = append(out, fmt.Sprintf("%q was not there when it stopped after %.3g s: more than %s as long.", r.Name, r.Seconds, times(r.Seconds / *fast.SecondsTo)))
		}
	}
	return out
}

func concludeSparse(group []Result) []string {
	r := lookup(group, "reduced-fast")
	if r == nil {
		return nil
	}
	return []string{fmt.Sprintf("Of ten inputs the three relevant ones get %.1f %% of the weight and no other more than %.1f %%, after %.0f solves of the linear system.",
		100*r.Metrics["weight_on_relevant"], 100*r.Metrics["largest_stray_weight"], r.Metrics["c_solves"])}
}

// concludeGraphs compares the graphs inferred with the linear baseline's.
func concludeGraphs(group []Result) []string {
	mean := func(name, metric string) float64 {
		var x []float64
		for _, r := range group {
			if v, ok := r.Metrics[metric]; ok && r.Name == name {
				x = append(x, v)
			}
		}
		return stat.Mean(x, nil)
	}
	var slowest float64
	networks := 0
	for _, r := range group {
		if r.Name == "kernels" {
			slowest = max(slowest, r.Seconds)
			networks++
		}
	}
	return []string{fmt.Sprintf("Over %s the graphs' mean AUROC is %.3f (linear ridge: %.3f) and their AUPR %.3f (%.3f), edges from a node to itself left out; the slowest took %.2g s.",
		plural(networks, "network"), mean("kernels", "auroc"), mean(linearVAR, "auroc"), mean("kernels", "aupr"), mean(linearVAR, "aupr"), slowest)}
}

// concludeFeatures compares the ways to draw random features by their error at
// equal numbers.
func concludeFeatures(group []Result) []string {
	errorOf := map[string]float64{}
	for _, r := range group {
		errorOf[r.Name+" "+paramText(r)] = r.Metrics["kernel_error"]
	}
	var out []string
	for _, other := range names(group) {
		var ratios []float64
		for _, r := range group {
			if e := errorOf["orthogonal "+paramText(r)]; r.Name == other && other != "orthogonal" && e > 0 {
				ratios = append(ratios, r.Metrics["kernel_error"]/e)
			}
		}
		if len(ratios) > 0 {
			out = append(out, fmt.Sprintf("At equal number of features, drawing them %q leaves %.2g times the kernel error of orthogonal ones on average (%.2g to %.2g).", other, stat.GeometricMean(ratios, nil), slices.Min(ratios), slices.Max(ratios)))
		}
	}
	return append(out, concludeFits(group)...)
}

func concludeNystrom(group []Result) []string {
	exact := lookup(group, exactKernel)
	if exact == nil {
		return nil
	}
	out := []string{fmt.Sprintf("The exact kernel explains %.3f of the held-out variance in %.2g s.", exact.Metrics["r2"], exact.Seconds)}
	for _, name := range names(group) {
		var best *Result
		for i, r := range group {
			if r.Name == name && name != exact.Name && (best == nil || r.Metrics["r2"] > best.Metrics["r2"]) {
				best = &group[i]
			}
		}
		if best != nil {
			out = append(out, fmt.Sprintf("The best of %q explains %.3f in %.2g s, with %s features.", name, best.Metrics["r2"], best.Seconds, param(*best, "D")))
		}
	}
	return out
}

func concludeScale(group []Result) []string {
	if len(group) == 0 {
		return nil
	}
	last, first := group[len(group)-1], group[0]
	return []string{
		fmt.Sprintf("%s rows pass through %s features in %.3g s, at %.0f %% of the machine's peak and with %s of memory in all.", param(last, "l"), param(last, "D"), last.Seconds, 100*last.OfPeak, bytesText(float64(last.PeakRSS))),
		fmt.Sprintf("That is %.3g µs a row, and %.3g µs with %s rows.", 1e6*last.Seconds/number(last, "l"), 1e6*first.Seconds/number(first, "l"), param(first, "l")),
		fmt.Sprintf("The fit after the pass takes %.2g s; with %s rows it takes %.2g s.", number(last, "seconds_after_pass"), param(first, "l"), number(first, "seconds_after_pass")),
	}
}

func concludeStock(group []Result) []string {
	var parts []string
	for _, r := range group {
		parts = append(parts, fmt.Sprintf("%s %.3f", r.Name, r.Metrics["mse1000"]))
	}
	return []string{"Mean squared error × 1000 of next week's returns: " + strings.Join(parts, ", ") + "."}
}

// concludeMTR compares zero Options with ridge regression and kernel ridge
// regression on the same folds, and with what scikit-learn reached on its own.
func concludeMTR(group []Result) []string {
	of := func(name string) map[string]float64 {
		m := map[string]float64{}
		for _, r := range group {
			if r.Name == name {
				m[param(r, "set")] = r.Metrics["arrmse"]
			}
		}
		return m
	}
	ours := of(mtrOurs)
	var out []string
	for _, base := range []string{mtrRidge, mtrKernel} {
		better, all := 0, 0
		var ratios []float64
		for set, e := range of(base) {
			if v, ok := ours[set]; ok {
				all++
				ratios = append(ratios, v/e)
				if v < e {
					better++
				}
			}
		}
		if all > 0 {
			out = append(out, fmt.Sprintf("With zero Options iokl has a smaller error than tuned %s regression on %d of %s; on average its error is %.2g times as large.", base, better, plural(all, "set"), stat.GeometricMean(ratios, nil)))
		}
	}
	same, far, forest, forests := 0, 0, 0, 0
	for set, v := range ours {
		ref, ok := mtrReference[set]
		if !ok {
			continue
		}
		if v <= ref[1] {
			same++
		}
		if v <= 0.9*ref[1] {
			far++
		}
		if ref[2] > 0 {
			forests++
			if v < ref[2] {
				forest++
			}
		}
	}
	if len(ours) > 0 {
		out = append(out, fmt.Sprintf("It is no worse than scikit-learn's tuned kernel ridge on %d of %s, better by a tenth on %d, and better than its random forest on %d of %d.", same, plural(len(ours), "set"), far, forest, forests))
	}
	return out
}
