package bench

import (
	"cmp"
	"slices"

	"gonum.org/v1/plot/plotter"
)

// columnFigures are the operator's speed against the number of columns, with the
// roof that the machine's peak and memory put over it.
func columnFigures(group []Result, limits *Limits) []figure {
	var figs []figure
	for _, prec := range []string{"float64", "float32"} {
		fig := figure{
			name: "operator-" + prec, title: "operator, " + prec + ": speed against the number of columns",
			xLabel: "columns k (logarithmic)", yLabel: "GFLOP/s (logarithmic)", logX: true, logY: true,
		}
		var bytes, flops float64 // of one column
		threads := 0
		for _, r := range group {
			if r.Params["precision"] != prec || !(r.GFlops > 0) {
				continue
			}
			i := slices.IndexFunc(fig.curves, func(c curve) bool { return c.name == r.Name })
			if i < 0 {
				i = len(fig.curves)
				fig.curves = append(fig.curves, curve{name: r.Name})
			}
			fig.curves[i].xy = append(fig.curves[i].xy, plotter.XY{X: number(r, "k"), Y: r.GFlops})
			if r.Name == "native" {
				bytes, flops, threads = r.GBytes*r.Seconds*1e9, 2*number(r, "l")*number(r, "l"), int(number(r, "threads"))
			}
		}
		for i := range fig.curves {
			slices.SortFunc(fig.curves[i].xy, func(a, b plotter.XY) int { return cmp.Compare(a.X, b.X) })
		}
		if roof, ok := roofOf(limits, prec, threads, bytes, flops); ok && len(fig.curves) > 0 {
			fig.curves = append(fig.curves, roof)
		}
		if len(fig.curves) > 0 {
			figs = append(figs, fig)
		}
	}
	return figs
}

// roofOf is min(peak, k·flops·bandwidth/bytes) for k columns: what a matrix of so
// many bytes, read once, allows.
func roofOf(limits *Limits, prec string, threads int, bytes, flops float64) (curve, bool) {
	if limits == nil || !(bytes > 0) {
		return curve{}, false
	}
	peak, read := limits.Peak(prec, threads), limits.Read(bytes, threads)
	if peak == 0 || read == 0 {
		return curve{}, false
	}
	roof := curve{name: "limit of this machine"}
	for _, k := range []float64{1, 2, 4, 7, 10, 14, 20, 32, 64, 102, 204} {
		roof.xy = append(roof.xy, plotter.XY{X: k, Y: min(peak, k*flops*read/bytes)})
	}
	return roof, true
}
