package bench

import (
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
			fig.point(r.Name, number(r, "k"), r.GFlops)
			if r.Name == "native" {
				bytes, flops, threads = r.GBytes*r.Seconds*1e9, 2*number(r, "l")*number(r, "l"), int(number(r, "threads"))
			}
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
	roof := curve{name: "limit of this machine", line: true}
	for _, k := range []float64{1, 2, 4, 7, 10, 14, 20, 32, 64, 102, 204} {
		roof.xy = append(roof.xy, plotter.XY{X: k, Y: min(peak, k*flops*read/bytes)})
	}
	return roof, true
}

// machineRoofline puts every product that was measured in float64 under the
// roofs of this machine: peak, and what each level of memory delivers times the
// operations done with each byte.
func machineRoofline(results []Result, limits *Limits) (figure, bool) {
	fig := figure{
		name: "roofline", title: "roofline of this machine, float64",
		xLabel: "operations for each byte (logarithmic)", yLabel: "GFLOP/s (logarithmic)", logX: true, logY: true,
	}
	if limits == nil {
		return fig, false
	}
	threads := 0
	points := map[string]*curve{}
	var order []string
	for _, r := range results {
		x, name := intensity(r), ""
		switch {
		case r.Params["precision"] != "float64" || !(r.GFlops > 0) || !(x > 0):
			continue
		case r.Case == "gemm" && int(number(r, "threads")) == maxThreads(limits):
			name = "A·B, " + r.Name
		case r.Case == "operator":
			name = "K·X, " + r.Name
		default:
			continue
		}
		if points[name] == nil {
			points[name] = &curve{name: name, dots: true}
			order = append(order, name)
		}
		points[name].xy = append(points[name].xy, plotter.XY{X: x, Y: r.GFlops})
		threads = int(number(r, "threads"))
	}
	peak := limits.Peak("float64", threads)
	if len(order) == 0 || peak == 0 {
		return fig, false
	}
	for _, size := range []float64{1 << 20, 24 << 20, 256 << 20} {
		roof := curve{name: "limit of data in " + bytesText(size), line: true}
		read := limits.Read(size, threads)
		if read == 0 {
			continue
		}
		for _, x := range []float64{0.1, peak / read, 200} {
			roof.xy = append(roof.xy, plotter.XY{X: x, Y: min(peak, x*read)})
		}
		fig.curves = append(fig.curves, roof)
	}
	for _, name := range order {
		fig.curves = append(fig.curves, *points[name])
	}
	return fig, true
}

// intensity is the number of operations for each byte that has to come from
// memory once: what the case counted, or both factors and the result of a product.
func intensity(r Result) float64 {
	if r.GBytes > 0 {
		return r.GFlops / r.GBytes
	}
	m, n, k := number(r, "m"), number(r, "n"), number(r, "k")
	return 2 * m * n * k / (8 * (m*k + k*n + m*n))
}

func maxThreads(l *Limits) int {
	threads := 0
	for _, p := range l.FMA {
		threads = max(threads, p.Threads)
	}
	return threads
}
