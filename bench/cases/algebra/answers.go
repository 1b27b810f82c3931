// This file answers which backend is the fastest for each kind of work, what bounds it, and how near it is to that.

package algebra

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/blas"
)

func init() {
	bench.Ask(bench.Question{
		Text: "Which backend?", Cases: []string{"gemm", "operator", "eigen", "gram"}, Answer: whichBackend,
	})
}

// backendWork are the cases that every backend takes part in.
var backendWork = []struct{ name, text string }{
	{"gemm", "matrix products"},
	{"operator", "K times a block of columns"},
	{"gram", "Gram matrices"},
	{"eigen", "factorizations"},
}

// whichBackend compares the backends over the kernels that solvers spend their time in.
func whichBackend(f *bench.File) bench.Answer {
	var a bench.Answer
	a.Table = &bench.Table{
		Head: []string{"work", "native", "openblas", "gonum"},
		Source: "Speed relative to native, geometric mean over the shapes that both measured; in brackets the best " +
			"share of the machine's peak. native needs nothing but Go.",
	}
	others := map[string]bool{}
	for _, k := range backendWork {
		g := f.Of(k.name)
		if len(g) == 0 {
			continue
		}
		line := []string{k.text}
		for _, be := range a.Table.Head[1:] {
			line = append(line, relativeSpeed(g, be))
			if be != "native" && len(bench.Ratios(g, "native", be)) > 0 {
				others[be] = true
			}
		}
		a.Table.Rows = append(a.Table.Rows, line)
	}
	for _, be := range slices.Sorted(maps.Keys(others)) {
		a.Texts = append(a.Texts, backendVerdict(f, be))
	}
	return a
}

// backendVerdict says in which kinds of work another backend is faster than native.
func backendVerdict(f *bench.File, be string) string {
	var worse, better, same []string
	for _, k := range backendWork {
		g := stat.GeometricMean(bench.Ratios(f.Of(k.name), "native", be), nil)
		switch {
		case g >= bench.Noticeable:
			worse = append(worse, fmt.Sprintf("%s (%s)", k.text, bench.Times(g)))
		case g <= 1/bench.Noticeable:
			better = append(better, fmt.Sprintf("%s (%s)", k.text, bench.Times(1/g)))
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

func relativeSpeed(group []bench.Result, be string) string {
	text := "1"
	if be != "native" {
		ratios := bench.Ratios(group, "native", be)
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

func init() {
	bench.Ask(bench.Question{
		Text:   "How far from what this machine can do?",
		Cases:  []string{"gemm", "operator", "gram", "eigen", "scale"},
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
		"scale": "pass over streamed rows",
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

// concludeSpeed compares native with each other backend, and Gram matrices with products.
func concludeSpeed(what string) func(group []bench.Result) []string {
	return bench.Say(`
{{$all := without "kernel" "product" .}}
		{{range $other := names .}}{{$r := ratios "native" $other "seconds" $all}}{{if and $r (ne $other "native")}}
		{{$g := geomean $r}}The native backend is
		{{if ge $g 1.0}}{{times $g}} faster{{else}}{{div 1.0 $g | times}} slower{{end}} than {{$other}} on average in
		` + what + ` (its speed is from {{printf "%.2g" (least $r)}} to {{printf "%.2g" (most $r)}} times over
		{{plural (len $r) "shape"}}).
		{{end}}{{end}}{{with named "native" $all | where "memory" "new" | values "of_product"}}
		Native Gram matrices, made in new memory, take shape at {{least . | printf "%.2f"}} to {{most . | printf
"%.2f"}}
		of the speed of the product X·Xᵀ alone, which goes to old memory.
		{{end}}`)
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
