// This file puts the accuracies and times of the learning cases into sentences.

package learning

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/iokl/iokl/bench"
)

func init() {
	bench.Ask(bench.Question{Text: "How much faster than exact solvers?", Cases: exactCases, Answer: whatExact})
}

// exactCases solve their linear systems exactly too.
var exactCases = []string{"sylvester", "caltech", "digits", "leaves", "mfeat"}

// concludeLearning says what learning brings, and the fast solver against the exact one.
var concludeLearning = bench.Say(`
{{$all := .}}{{with named "IOKL (both)" . | ordered "accuracy"}}{{$both := last .}}
{{with named "uniform kernels, L = I" $all | ordered "accuracy"}}Learning kernels and outputs together classifies
{{value "accuracy" $both | mul 100.0 | printf "%.2f"}} % of the test samples rightly with
{{value "active_kernels" $both | printf "%.0f"}} of {{$both.Param "m"}} kernels; uniform kernels and independent
outputs,
which use all, {{last . | value "accuracy" | mul 100.0 | printf "%.2f"}} %.
{{end}}{{end}}{{$fast := named "IOKL, fast" .}}{{if not $fast}}{{$fast = named "IOKL (both)" .}}{{end}}
{{if having "seconds" $fast}}{{$fast = (index $fast 0).Seconds}}{{range $all}}
{{if or (eq .Name "IOKL, plain CG") (eq .Name "IOKL, eigendecomposition")}}The fast solver of the linear systems ends
the
same fit {{if .Stopped}}more than {{end}}{{div .Seconds $fast | times}} faster than {{slice .Name 6}}
({{printf "%.3g" $fast}} s and {{printf "%.3g" .Seconds}} s).
{{end}}{{end}}{{end}}`)

// concludeTarget compares the times to within 0.1 % of the best objective.
var concludeTarget = bench.Say(`
{{with ordered "seconds_to" .}}{{$fast := index . 0}}{{$best := value "seconds_to" $fast}}{{printf "%q" $fast.Name}} is
first to come within 0.1 % of the best objective, after {{printf "%.3g" $best}} s.
{{range without "solver" "okl" $}}{{if eq .Name $fast.Name}}{{else if .SecondsTo}}{{printf "%q" .Name}} takes
{{div (value "seconds_to" .) $best | times}} as long.
{{else}}{{printf "%q" .Name}} was not there when it stopped after {{printf "%.3g" .Seconds}} s: more than
{{div .Seconds $best | times}} as long.
{{end}}{{end}}{{end}}`)

// whatExact gathers what the cases say about exact solvers.
func whatExact(f *bench.File) bench.Answer {
	var a bench.Answer
	if c, group := bench.Find("sylvester"), f.Of("sylvester"); c != nil {
		if texts := c.Conclude(group); len(texts) > 0 && strings.Contains(texts[0], "eigendecomposition") {
			a.Texts = append(a.Texts, texts[0])
		}
	}
	for _, name := range exactCases[1:] {
		for _, text := range concludeExact(f.Of(name)) {
			a.Texts = append(a.Texts, name+": "+text)
		}
	}
	return a
}

// concludeExact compares whole fits whose linear systems are solved inexactly with exact ones.
func concludeExact(group []bench.Result) []string {
	var out []string
	if r, exact := bench.Lookup(group, "reduced-fast"), bench.Lookup(group, "paper-exact"); r != nil &&
		r.SecondsTo != nil && exact != nil {
		if exact.SecondsTo != nil {
			out = append(out, fmt.Sprintf("within 0.1 %% of the best objective after %.3g s, by the paper's method "+
				"with exact subproblems after %.3g s: %s as long.", *r.SecondsTo, *exact.SecondsTo,
				bench.Times(*exact.SecondsTo / *r.SecondsTo)))
		} else {
			out = append(out, fmt.Sprintf("within 0.1 %% of the best objective after %.3g s; the paper's method with "+
				"exact subproblems is not there after %.3g s, more than %s as long.", *r.SecondsTo, exact.Seconds,
				bench.Times(exact.Seconds / *r.SecondsTo)))
		}
	}
	for _, text := range concludeLearning(group) {
		if strings.Contains(text, "eigendecomposition") {
			out = append(out, text)
		}
	}
	return out
}

// orderOfApproaches is what the paper's first figure shows.
func orderOfApproaches(group []bench.Result) []bench.Evidence {
	return []bench.Evidence{{
		Item: "Figure 1, objective against time: which inexactness pays",
		Published: "insufficient progress with CG 0.1 and 100 SDP steps, and with CG 1e-6 and 3000; rapid with 0.01 " +
			"and 1000; far more efficient than eigendecompositions",
		Measured: objectiveOrder(group),
	}}
}

// curvesOfApproaches are the paper's first two figures on other data.
func curvesOfApproaches(group []bench.Result, data string) []bench.Evidence {
	all := append(orderOfApproaches(group), bench.Evidence{
		Item: "Figure 2, accuracy against time",
		Published: "79.43 ± 0.67 % on Caltech-101 with ten kernels after a few minutes (best quoted of others: 78.2 " +
			"± 0.4 %)",
		Measured: accuracyOrder(group),
	})
	for i, quantity := range []string{"excess", "accuracy"} {
		c := bench.TraceChart(group, quantity)
		c.Title = fmt.Sprintf("As figure %d: %s, %s", i+1, c.Title, data)
		all[i].Figures = c.Figures("")
	}
	return all
}

// objectiveOrder lists how far above the best objective each approach ended and when.
func objectiveOrder(group []bench.Result) string {
	best := math.Inf(1)
	var lines []bench.Result
	for _, r := range group {
		if r.Objective != nil && r.Param("solver") != "okl" {
			best = min(best, *r.Objective)
			lines = append(lines, r)
		}
	}
	if len(lines) < 2 {
		return ""
	}
	slices.SortStableFunc(lines, func(a, b bench.Result) int { return cmp.Compare(*a.Objective, *b.Objective) })
	var parts []string
	for _, r := range lines {
		parts = append(parts, fmt.Sprintf("%s +%.2g %% after %.3g s", r.Name, 100*(*r.Objective/best-1), r.Seconds))
	}
	return "objective above the best: " + strings.Join(parts, "; ")
}

func accuracyOrder(group []bench.Result) string {
	var parts []string
	for _, r := range group {
		if r.Accuracy != nil {
			parts = append(parts, fmt.Sprintf("%s %.2f %% after %.3g s", r.Name, 100**r.Accuracy, r.Seconds))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("%d classes, %s kernels: %s", int(group[0].Number("n")), group[0].Param("m"),
		strings.Join(parts, "; "))
}
