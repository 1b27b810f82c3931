package bench

import (
	"cmp"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl/blas"
)

// answer is what the top of the page says about a question people come with.
type answer struct {
	Question string
	Texts    []string
	Table    *published
	Figures  []template.HTML
	Cases    []string // where it comes from
}

// answers are those that the results suffice for.
func answers(group map[string][]Result, results []Result, limits *Limits) []answer {
	var out []answer
	for _, a := range []answer{
		whichSolver(group["sylvester"], group["scale"]), whichBackend(group), whichLimit(results, limits), whatExact(group), whatPeers(group),
	} {
		a.Cases = slices.DeleteFunc(a.Cases, func(name string) bool { return group[name] == nil })
		if len(a.Texts) > 0 || len(a.Figures) > 0 || (a.Table != nil && len(a.Table.Rows) > 0) {
			out = append(out, a)
		}
	}
	return out
}

func whichSolver(group, streamed []Result) answer {
	a := answer{Question: "Which solver for my number of samples l and outputs n?", Cases: []string{"sylvester", "scale"}}
	if len(group) > 0 {
		a.Texts = solverTexts(group)
		for _, m := range crossMaps(group) {
			if !m.gains {
				a.Figures = append(a.Figures, m.inline())
			}
		}
	}
	if len(streamed) > 0 {
		last := streamed[len(streamed)-1]
		a.Texts = append(a.Texts, fmt.Sprintf("More samples than an l × l matrix fits in memory for: stream them through random features. %s rows took %.3g s and %s of memory in all.",
			param(last, "l"), last.Seconds, bytesText(float64(last.PeakRSS))))
	}
	return a
}

// solverTexts say how good the automatic choice is, and what the grid shows.
func solverTexts(group []Result) []string {
	var texts []string
	best := fastest(group)
	if ratios, _, _ := choices(group); len(ratios) > 0 {
		texts = append(texts, fmt.Sprintf("Leave it to auto, the default: over %s it takes %.2g times as long as the solver that was fastest, on average, %.2g at worst.",
			plural(len(ratios), "system"), stat.GeometricMean(ratios, nil), slices.Max(ratios)))
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
		texts = append(texts, fmt.Sprintf("The map names the fastest solver for each size, each λ and each spectrum of L; point at a cell for its time. Times include all preparation; what is left of Y, ‖Y − K·C·L − λl·C‖, is at most %g of ‖Y‖.", number(*smallest, "tol")))
	}
	return texts
}

// backendWork are the cases that every backend takes part in.
var backendWork = []struct{ name, text string }{
	{"gemm", "matrix products"}, {"operator", "K times a block of columns"}, {"gram", "Gram matrices"}, {"eigen", "factorizations"},
}

// whichBackend compares the backends over the kernels that solvers spend their time in.
func whichBackend(group map[string][]Result) answer {
	a := answer{Question: "Which backend?", Cases: []string{"gemm", "operator", "eigen", "gram"}}
	a.Table = &published{Head: []string{"work", "native", "openblas", "gonum"}, Source: "Speed relative to native, geometric mean over the shapes that both measured; in brackets the best share of the machine's peak. native needs nothing but Go."}
	others := map[string]bool{}
	for _, k := range backendWork {
		g := group[k.name]
		if len(g) == 0 {
			continue
		}
		line := []string{k.text}
		for _, be := range a.Table.Head[1:] {
			line = append(line, relativeSpeed(g, be))
			if be != "native" && len(pairs(g, "native", be)) > 0 {
				others[be] = true
			}
		}
		a.Table.Rows = append(a.Table.Rows, line)
	}
	for _, be := range slices.Sorted(maps.Keys(others)) {
		a.Texts = append(a.Texts, backendVerdict(group, be))
	}
	return a
}

// about is how much faster something has to be on average to be called faster.
const about = 1.1

// backendVerdict says in which kinds of work another backend is faster than native.
func backendVerdict(group map[string][]Result, be string) string {
	var worse, better, same []string
	for _, k := range backendWork {
		g := stat.GeometricMean(pairs(group[k.name], "native", be), nil)
		switch {
		case g >= about:
			worse = append(worse, fmt.Sprintf("%s (%s)", k.text, times(g)))
		case g <= 1/about:
			better = append(better, fmt.Sprintf("%s (%s)", k.text, times(1/g)))
		case g > 0:
			same = append(same, k.text)
		}
	}
	var parts []string
	if len(worse) > 0 {
		parts = append(parts, "native is faster in "+strings.Join(worse, ", "))
	}
	if len(better) > 0 {
		parts = append(parts, be+" in "+strings.Join(better, ", "))
	}
	if len(same) > 0 {
		parts = append(parts, "they are about even in "+strings.Join(same, ", "))
	}
	advice := "Take native, the default, rather than " + be
	if len(better) > 0 {
		advice = fmt.Sprintf("Take native, the default, unless most of your time goes into what %s is faster in", be)
	}
	return advice + ": " + strings.Join(parts, "; ") + "."
}

func relativeSpeed(group []Result, be string) string {
	text := "1"
	if be != "native" {
		ratios := pairs(group, "native", be)
		if len(ratios) == 0 {
			return "–"
		}
		text = fmt.Sprintf("%.2f", 1/stat.GeometricMean(ratios, nil))
	}
	if r := bestShare(group, be); r != nil {
		text += fmt.Sprintf("\u00a0(%.0f\u00a0%%)", 100*r.OfPeak)
	}
	return text
}

// whichLimit says for each kind of work what bounds it and how near the run came.
func whichLimit(results []Result, limits *Limits) answer {
	a := answer{Question: "How far from what this machine can do?", Cases: []string{"gemm", "operator", "gram", "lanczos", "eigen", "predict", "scale"}}
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
			kind, positive(r.GFlops), percent(r.OfPeak), orDash(positive(r.GBytes)), orDash(percent(r.OfBandwidth)), bound,
		})
		if best := largest[nearest]; nearest == "" || max(r.OfPeak, r.OfBandwidth) > max(best.OfPeak, best.OfBandwidth) {
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
		slices.SortFunc(columns, func(p, q string) int { return cmp.Compare(number(largest[p], "k"), number(largest[q], "k")) })
		for _, kind := range []string{columns[0], columns[n-1]} {
			if kind != nearest {
				a.Texts = append(a.Texts, shareText(kind, largest[kind]))
			}
		}
	}
	if fig, ok := machineRoofline(results, limits); ok {
		a.Figures = append(a.Figures, fig.inline())
	}
	return a
}

// shareText says how near to the limit that binds it some work came.
func shareText(kind string, r Result) string {
	if r.OfBandwidth > r.OfPeak {
		return fmt.Sprintf("%s reads memory at %.0f GB/s, %.0f %% of what reading alone reaches.", kind, r.GBytes, 100*r.OfBandwidth)
	}
	return fmt.Sprintf("%s computes at %.0f GFLOP/s, %.0f %% of what the processor can do.", kind, r.GFlops, 100*r.OfPeak)
}

// workText names the kind of work of a line.
func workText(r Result) string {
	text := map[string]string{"gemm": "matrix product", "operator": "K times a block", "gram": "Gram matrix", "lanczos": "extremal eigenpair", "scale": "pass over streamed rows", "predict": "prediction"}[r.Case]
	if text == "" {
		text = r.Case
	}
	if v := param(r, "routine"); v != "" {
		text = v
	}
	if v := param(r, "kernel"); v == "product" {
		text += ", the product alone"
	} else if v != "" {
		text += ", " + v
	}
	if r.Case == "operator" {
		text = "K times " + plural(int(number(r, "k")), "column")
	}
	if v := param(r, "precision"); v == blas.Float32.String() {
		text += ", " + v
	}
	return text
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
	a := answer{Question: "How much faster than scikit-learn, scipy, PyTorch and Octave?", Cases: []string{"peers", "ridge"}}
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
	case ratio >= about:
		return times(ratio) + " faster"
	case ratio <= 1/about:
		return times(1/ratio) + " slower"
	}
	return "about as fast"
}

// peerText compares one line of another program with ours, and the errors where these differ.
func peerText(problem, verdict string, theirs, ours Result) string {
	text := fmt.Sprintf("%s: iokl is %s than %s", problem, verdict, theirs.Name)
	if verdict == "about as fast" {
		text = fmt.Sprintf("%s: iokl is about as fast as %s", problem, theirs.Name)
	}
	e, ok := theirs.Metrics["test_mse"]
	if o := ours.Metrics["test_mse"]; ok && (o > 1.01*e || o < e/1.01) {
		text += fmt.Sprintf(", with a test error of %s in place of %s", short(o), short(e))
	}
	return text + "."
}

func peerCells(r Result) []string {
	mse := ""
	if v, ok := r.Metrics["test_mse"]; ok {
		mse = short(v)
	}
	return []string{positive(r.Seconds), orDash(optional(r.Residual)), orDash(mse)}
}

// bestOfOurs is our fastest line for the problem of r that is about as accurate; for
// feature maps, the one of the same kind.
func bestOfOurs(group []Result, r Result) *Result {
	kind := map[string]string{"scikit-learn RBFSampler": "iokl rff qmc phases", "scikit-learn Nystroem": "iokl nystrom"}[r.Name]
	var best *Result
	for i, o := range group {
		if !strings.HasPrefix(o.Name, "iokl") || param(o, "problem") != param(r, "problem") || (kind != "" && o.Name != kind) || !(o.Seconds > 0) {
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
		text := fmt.Sprintf("%s: %s takes %s s, %s %s s.", row[0], row[6], row[7], row[1], row[3])
		if ours, theirs := row[9], row[5]; ours != "–" && theirs != "–" {
			text = fmt.Sprintf("%s Their mean squared errors on unseen samples are %s and %s.", text, ours, theirs)
		}
		out = append(out, text)
	}
	return out
}
