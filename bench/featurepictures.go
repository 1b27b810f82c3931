package bench

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/plot/plotter"
)

// featureFigures show, for each kernel, how its error falls with the number of features.
func featureFigures(group []Result) []figure {
	var figs []figure
	for _, kind := range featureKernels {
		fig := figure{
			name: "rff-error-" + strings.ReplaceAll(kind, ":", "-"), title: "rff, " + kind + " kernel: relative error against the number of features",
			xLabel: "features D (logarithmic)", yLabel: "‖ZZᵀ − K‖/‖K‖ (logarithmic)", logX: true, logY: true,
		}
		for _, r := range group {
			if e := r.Metrics["kernel_error"]; e > 0 && param(r, "kernel") == kind {
				fig.point(r.Name, number(r, "D"), e)
			}
		}
		if len(fig.curves) > 0 {
			fig.curves = append(fig.curves, rateCurve(fig.curves[0]))
			figs = append(figs, fig)
		}
	}
	return figs
}

// rateCurve is the rate of all ways to draw features, through the first point of a curve.
func rateCurve(c curve) curve {
	first, last := c.xy[0], c.xy[len(c.xy)-1]
	return curve{name: "falling as D^(−1/2)", line: true, xy: plotter.XYs{first, {X: last.X, Y: first.Y * math.Sqrt(first.X/last.X)}}}
}

// wayFigures show what each way to make features takes and how far its fits are
// from that of the exact kernel.
func wayFigures(group []Result) []figure {
	fig := figure{
		name: "nystrom-error", title: "nystrom: distance from the fit by the exact kernel against time",
		xLabel: "seconds (logarithmic)", yLabel: "‖P − P_K‖/‖P_K‖ (logarithmic)", logX: true, logY: true,
	}
	for _, r := range group {
		if e := r.Metrics["fit_error"]; e > 0 && r.Name != exactKernel {
			fig.point(r.Name+wayOf(r), r.Seconds, e)
		}
	}
	return fig.ifAny()
}

// wayOf is the last word of a SPEC of Nyström features.
func wayOf(r Result) string {
	if r.Name != "nystrom" {
		return ""
	}
	text := param(r, "features")
	return ", " + text[strings.LastIndex(text, ":")+1:]
}

// scaleFigures show how the pass and what follows it grow with the number of rows.
func scaleFigures(group []Result) []figure {
	fig := figure{
		name: "scale-growth", title: "scale: seconds against the number of rows",
		xLabel: "rows l (logarithmic)", yLabel: "seconds (logarithmic)", logX: true, logY: true,
	}
	for _, r := range group {
		l := number(r, "l")
		fig.point(fmt.Sprintf("the pass, D = %s", param(r, "D")), l, r.Seconds)
		if s := number(r, "seconds_after_pass"); s > 0 {
			fig.point("the fit after it", l, s)
		}
	}
	return fig.ifAny()
}
