package bench

import (
	"cmp"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"
)

// answer is what the top of the page says about a question people come with.
type answer struct {
	Question string
	Texts    []string
	Grid     template.HTML
	Table    *published
	Figures  []template.HTML
	Cases    []string // where it comes from
}

// answers are those that the results suffice for.
func answers(results []Result, limits *Limits) []answer {
	group := map[string][]Result{}
	for _, g := range byCase(results) {
		group[g[0].Case] = g
	}
	var out []answer
	for _, a := range []answer{
		whichSolver(group["sylvester"]), whichBackend(group), whichLimit(results, limits), whatExact(group), whatPeers(group),
	} {
		a.Cases = slices.DeleteFunc(a.Cases, func(name string) bool { return group[name] == nil })
		if len(a.Texts) > 0 || a.Grid != "" || (a.Table != nil && len(a.Table.Rows) > 0) {
			out = append(out, a)
		}
	}
	return out
}

func whichSolver(group []Result) answer {
	a := answer{Question: "Which solver for my number of samples l and outputs n?", Cases: []string{"sylvester"}}
	if len(group) == 0 {
		return a
	}
	a.Grid = winnerGrid(group)
	var regrets []float64
	best := fastest(group)
	for _, r := range group {
		if b, ok := best[systemKey(r)]; ok && r.Name == "auto" && r.Error == "" && !r.Stopped {
			regrets = append(regrets, r.Seconds/b.Seconds)
		}
	}
	if len(regrets) > 0 {
		a.Texts = append(a.Texts, fmt.Sprintf("Leave it to auto unless you know better: over %s it takes %.2g times as long as the best solver on average, %.2g at worst.",
			plural(len(regrets), "system"), geomean(regrets), slices.Max(regrets)))
	}
	var smallest, largest *Result
	for _, r := range best {
		if smallest == nil || number(r, "l") < number(*smallest, "l") {
			smallest = &r
		}
		if largest == nil || number(r, "l") > number(*largest, "l") {
			largest = &r
		}
	}
	if smallest != nil && number(*smallest, "l") < number(*largest, "l") {
		a.Texts = append(a.Texts, fmt.Sprintf("The grid has the fastest for each size, with λ = 0.001 and an L whose eigenvalues decay; times include all preparation, the true residual is at most %g of ‖Y‖.", sylvesterTol))
	}
	return a
}

// whichBackend compares the backends over the kernels that solvers spend their time in.
func whichBackend(group map[string][]Result) answer {
	a := answer{Question: "Which backend?", Cases: []string{"gemm", "operator", "eigen", "gram"}}
	kinds := []struct{ name, text string }{
		{"gemm", "matrix products"}, {"operator", "K times a block of columns"}, {"gram", "Gram matrices"}, {"eigen", "factorizations"},
	}
	a.Table = &published{Head: []string{"work", "native", "openblas", "gonum"}, Source: "Speed relative to native, geometric mean over the shapes that both measured; in brackets the best share of the machine's peak. native needs nothing but Go."}
	others := map[string][]float64{}
	for _, k := range kinds {
		g := group[k.name]
		if len(g) == 0 {
			continue
		}
		line := []string{k.text}
		for _, be := range a.Table.Head[1:] {
			line = append(line, relativeSpeed(g, be))
			if ratios := pairs(g, "native", be); be != "native" {
				others[be] = append(others[be], ratios...)
			}
		}
		a.Table.Rows = append(a.Table.Rows, line)
	}
	for _, be := range slices.Sorted(maps.Keys(others)) {
		ratios := others[be]
		if len(ratios) == 0 {
			continue
		}
		wins := 0
		for _, r := range ratios {
			if r >= 1 {
				wins++
			}
		}
		a.Texts = append(a.Texts, fmt.Sprintf("native is at least as fast as %s on %d of %d measured shapes and %.2g times as fast on average.", be, wins, len(ratios), geomean(ratios)))
	}
	return a
}

func relativeSpeed(group []Result, be string) string {
	text := "1"
	if be != "native" {
		ratios := pairs(group, "native", be)
		if len(ratios) == 0 {
			return "–"
		}
		text = fmt.Sprintf("%.2f", 1/geomean(ratios))
	}
	if r := bestShare(group, be); r != nil {
		text += fmt.Sprintf("\u00a0(%.0f\u00a0%%)", 100*r.OfPeak)
	}
	return text
}

// whichLimit says for each kind of work what bounds it and how near the run came.
func whichLimit(results []Result, limits *Limits) answer {
	a := answer{Question: "How far from what this machine can do?", Cases: []string{"gemm", "operator", "gram", "eigen", "scale"}}
	a.Table = &published{
		Head:   []string{"work", "GFLOP/s", "of peak", "GB/s", "of reading", "bound by"},
		Source: "The native backend with all threads, each case's largest line. Limits are measured in the same run: fused multiply-adds from registers, and reads of as many bytes. Where both shares are known, the larger one names the bound.",
	}
	largest := map[string]Result{}
	var order []string
	for _, r := range results {
		if !(r.OfPeak > 0) || fmt.Sprint(r.Params["backend"]) != "native" || int(number(r, "threads")) != maxThreads(orEmpty(limits)) {
			continue
		}
		kind := r.Case
		for _, key := range []string{"routine", "kernel", "k", "precision"} {
			if r.Case == "gemm" && key == "k" || r.Params[key] == nil {
				continue
			}
			kind += ", " + strings.TrimPrefix(key+" = ", "routine = ") + param(r, key)
		}
		old, ok := largest[kind]
		if !ok {
			order = append(order, kind)
		}
		if !ok || r.GFlops*r.Seconds >= old.GFlops*old.Seconds {
			largest[kind] = r
		}
	}
	for _, kind := range order {
		r := largest[kind]
		bound := "arithmetic"
		if r.OfBandwidth > r.OfPeak {
			bound = "memory"
		}
		a.Table.Rows = append(a.Table.Rows, []string{
			kind, positive(r.GFlops), percent(r.OfPeak), orDash(positive(r.GBytes)), orDash(percent(r.OfBandwidth)), bound,
		})
	}
	if fig, ok := machineRoofline(results, limits); ok {
		a.Figures = append(a.Figures, fig.inline())
	}
	return a
}

func orEmpty(l *Limits) *Limits {
	if l == nil {
		return &Limits{}
	}
	return l
}

// whatExact gathers what the cases say about exact solvers.
func whatExact(group map[string][]Result) answer {
	a := answer{Question: "How much faster than exact solvers?", Cases: []string{"sylvester", "caltech", "digits", "leaves", "mfeat"}}
	if texts := concludeSylvester(group["sylvester"]); len(texts) > 0 && strings.Contains(texts[0], "eigendecomposition") {
		a.Texts = append(a.Texts, texts[0])
	}
	for _, name := range a.Cases[1:] {
		for _, text := range concludeExact(group[name]) {
			a.Texts = append(a.Texts, name+": "+text)
		}
	}
	return a
}

// concludeExact compares whole fits whose linear systems are solved inexactly with exact ones.
func concludeExact(group []Result) []string {
	var out []string
	if r, exact := lookup(group, "reduced-fast"), lookup(group, "paper-exact"); r != nil && r.SecondsTo != nil && exact != nil {
		if exact.SecondsTo != nil {
			out = append(out, fmt.Sprintf("within 0.1 %% of the best objective after %.3g s, by the paper's method with exact subproblems after %.3g s: %s as long.", *r.SecondsTo, *exact.SecondsTo, times(*exact.SecondsTo / *r.SecondsTo)))
		} else {
			out = append(out, fmt.Sprintf("within 0.1 %% of the best objective after %.3g s; the paper's method with exact subproblems is not there after %.3g s, more than %s as long.", *r.SecondsTo, exact.Seconds, times(exact.Seconds / *r.SecondsTo)))
		}
	}
	for _, text := range concludeLearning(group) {
		if strings.Contains(text, "eigendecomposition") {
			out = append(out, text)
		}
	}
	return out
}

// whatPeers puts our fastest line of each problem beside each line of another program.
func whatPeers(group map[string][]Result) answer {
	a := answer{Question: "How much faster than scikit-learn, scipy and Octave?", Cases: []string{"peers", "ridge"}}
	a.Table = &published{
		Head:   []string{"problem", "program", "our best is", "theirs: seconds", "residual", "test error", "ours", "seconds", "residual", "test error"},
		Source: "Same data, same number of threads, one run; residuals are recomputed from the answers, test errors are mean squares on the same unseen samples.",
	}
	for _, name := range a.Cases {
		for _, r := range group[name] {
			if strings.HasPrefix(r.Name, "iokl") {
				continue
			}
			ours := bestOfOurs(group[name], r)
			if ours == nil {
				continue
			}
			problem := param(r, "problem")
			if problem == "" {
				problem = name + " on " + param(r, "D") + " features"
			}
			ratio := r.Seconds / ours.Seconds
			verdict := times(ratio) + " faster"
			if ratio < 1 {
				verdict = times(1/ratio) + " slower"
			}
			line := []string{problem + ", " + sizes(r), r.Name, verdict}
			line = append(append(line, peerCells(r)...), ours.Name)
			a.Table.Rows = append(a.Table.Rows, append(line, peerCells(*ours)...))
		}
	}
	return a
}

func peerCells(r Result) []string {
	mse := ""
	if v, ok := r.Metrics["test_mse"]; ok {
		mse = short(v)
	}
	return []string{positive(r.Seconds), orDash(optional(r.Residual)), orDash(mse)}
}

// bestOfOurs is our fastest line for the problem of r; for feature maps, the one
// of the same kind.
func bestOfOurs(group []Result, r Result) *Result {
	kind := map[string]string{"scikit-learn RBFSampler": "iokl rff phases", "scikit-learn Nystroem": "iokl nystrom"}[r.Name]
	var best *Result
	for i, o := range group {
		if !strings.HasPrefix(o.Name, "iokl") || param(o, "problem") != param(r, "problem") || (kind != "" && o.Name != kind) || !(o.Seconds > 0) {
			continue
		}
		if best == nil || o.Seconds < best.Seconds {
			best = &group[i]
		}
	}
	return best
}

// sizes are the dimensions among the parameters.
func sizes(r Result) string {
	var parts []string
	for _, key := range slices.SortedFunc(maps.Keys(r.Params), func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }) {
		if len(key) == 1 {
			parts = append(parts, key+" = "+param(r, key))
		}
	}
	return strings.Join(parts, ", ")
}

// concludePeers says for each problem how our fastest compares with theirs, where
// theirs were there to be measured.
func concludePeers(group []Result) []string {
	var out []string
	for _, row := range whatPeers(map[string][]Result{group[0].Case: group}).Table.Rows {
		out = append(out, fmt.Sprintf("%s: %s takes %s s, %s %s s.", row[0], row[6], row[7], row[1], row[3]))
	}
	return out
}

func concludeMisprints(group []Result) []string {
	off := 0
	for _, r := range group {
		if d := r.Metrics["as_printed"] - r.Metrics["should_be"]; d > 0.01 || d < -0.01 {
			off++
		}
	}
	return []string{fmt.Sprintf("%d of %s give a wrong number as printed.", off, plural(len(group), "formula"))}
}
