// This file draws errors and times of explicit features.

package features

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/plot/plotter"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/internal/picture"
)

// featureFigures show, for each kernel, how its error falls with the number of features.
func featureFigures(group []bench.Result, _ *bench.Limits) []picture.Figure {
	var figs []picture.Figure
	for _, kind := range featureKernels {
		fig := picture.Chart{
			Title: "rff, " + kind + " kernel: relative error against the number of features",
			X:     "features D (logarithmic)", Y: "‖ZZᵀ − K‖/‖K‖ (logarithmic)", LogX: true, LogY: true,
		}
		for _, r := range group {
			if e := r.Metrics["kernel_error"]; e > 0 && r.Param("kernel") == kind {
				fig.Point(r.Name, r.Number("D"), e)
			}
		}
		if len(fig.Curves) > 0 {
			fig.Curves = append(fig.Curves, rateCurve(fig.Curves[0]))
			figs = append(figs, fig.Figures("rff-error-"+strings.ReplaceAll(kind, ":", "-"))...)
		}
	}
	return figs
}

// rateCurve is the rate of all ways to draw features, through the first point of a curve.
func rateCurve(c picture.Curve) picture.Curve {
	first, last := c.XY[0], c.XY[len(c.XY)-1]
	return picture.Curve{
		Name: "falling as D^(−1/2)", Line: true,
		XY: plotter.XYs{first, {X: last.X, Y: first.Y * math.Sqrt(first.X/last.X)}},
	}
}

// wayFigures show what each way to make features takes and how far its fits are
// from that of the exact kernel.
func wayFigures(group []bench.Result, _ *bench.Limits) []picture.Figure {
	fig := picture.Chart{
		Title: "nystrom: distance from the fit by the exact kernel against time",
		X:     "seconds (logarithmic)", Y: "‖P − P_K‖/‖P_K‖ (logarithmic)", LogX: true, LogY: true,
	}
	for _, r := range group {
		if e := r.Metrics["fit_error"]; e > 0 && r.Name != exactKernel {
			fig.Point(r.Name+wayOf(r), r.Seconds, e)
		}
	}
	return fig.Figures("nystrom-error")
}

// wayOf is the last word of a SPEC of Nyström features.
func wayOf(r bench.Result) string {
	if r.Name != "nystrom" {
		return ""
	}
	text := r.Param("features")
	return ", " + text[strings.LastIndex(text, ":")+1:]
}

// scaleFigures show how the pass and what follows it grow with the number of rows.
func scaleFigures(group []bench.Result, _ *bench.Limits) []picture.Figure {
	fig := picture.Chart{
		Title: "scale: seconds against the number of rows",
		X:     "rows l (logarithmic)", Y: "seconds (logarithmic)", LogX: true, LogY: true,
	}
	for _, r := range group {
		l := r.Number("l")
		fig.Point(fmt.Sprintf("the pass, D = %s", r.Param("D")), l, r.Seconds)
		if s := r.Number("seconds_after_pass"); s > 0 {
			fig.Point("the fit after it", l, s)
		}
	}
	return fig.Figures("scale-growth")
}
