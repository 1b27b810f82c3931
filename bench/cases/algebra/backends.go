// This file answers which backend of dense kernels is the fastest for each kind of work.

package algebra

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl/bench"
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
