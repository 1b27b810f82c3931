// This file answers which solver to take for a number of samples and outputs.

package systems

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl/bench"
)

// whichSolver shows who wins where.
func whichSolver(f *bench.File) bench.Answer {
	var a bench.Answer
	group, streamed := f.Of("sylvester"), f.Of("scale")
	if len(group) > 0 {
		a.Texts = solverTexts(group)
		for _, m := range crossMaps(group) {
			a.Figures = append(a.Figures, m.figure())
		}
	}
	if len(streamed) > 0 {
		last := streamed[len(streamed)-1]
		a.Texts = append(a.Texts,
			fmt.Sprintf("More samples than an l × l matrix fits in memory for: stream them through random features. "+
				"%s rows took %.3g s and %s of memory in all.",
				last.Param("l"), last.Seconds, bench.Bytes(float64(last.PeakRSS))))
	}
	return a
}

// solverTexts say how good the automatic choice is, and what the grid shows.
func solverTexts(group []bench.Result) []string {
	var texts []string
	best := fastest(group)
	if ratios, _, _ := choices(group); len(ratios) > 0 {
		texts = append(texts, fmt.Sprintf("Leave it to auto, the default: over %s it takes %.2g times as long as the "+
			"solver that was fastest, on average, %.2g at worst.",
			bench.Plural(len(ratios), "system"), stat.GeometricMean(ratios, nil), slices.Max(ratios)))
	}
	var smallest, largest *bench.Result
	for _, r := range best {
		if smallest == nil || r.Number("l") < smallest.Number("l") {
			smallest = &r
		}
		if largest == nil || r.Number("l") > largest.Number("l") {
			largest = &r
		}
	}
	if smallest != nil && smallest.Number("l") < largest.Number("l") {
		texts = append(texts, fmt.Sprintf("The map names the fastest solver for each size, each λ and each spectrum "+
			"of L; point at a cell for its time. Times include all preparation; what is left of Y, ‖Y − K·C·L − "+
			"λl·C‖, is at most %g of ‖Y‖.", smallest.Number("tol")))
	}
	return texts
}
