// This file draws speeds under the limits that the machine's arithmetic and memory set.

package algebra

import (
	"gonum.org/v1/plot/plotter"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/internal/picture"
)

// gemmFigures is the roofline of all products of the run.
func gemmFigures(_ []bench.Result, f *bench.File) []picture.Figure {
	return machineRoofline(f.Results, f.Machine.Limits).Figures("roofline")
}

// machineRoofline puts every product that was measured in float64 under the
// roofs of this machine: peak, and what each level of memory delivers times the
// operations done with each byte. It has no curve where nothing was measured.
func machineRoofline(results []bench.Result, limits *bench.Limits) picture.Chart {
	fig := picture.Chart{
		Title: "roofline of this machine, float64",
		X:     "operations for each byte (logarithmic)", Y: "GFLOP/s (logarithmic)", LogX: true, LogY: true,
	}
	if limits == nil {
		return fig
	}
	threads := 0
	points := map[string]*picture.Curve{}
	var order []string
	for _, r := range results {
		x, name := intensity(r), ""
		switch {
		case r.Params["precision"] != "float64" || !(r.GFlops > 0) || !(x > 0):
			continue
		case r.Case == "gemm" && int(r.Number("threads")) == limits.MaxThreads():
			name = "A·B, " + r.Name
		case r.Case == "operator":
			name = "K·X, " + r.Name
		default:
			continue
		}
		if points[name] == nil {
			points[name] = &picture.Curve{Name: name, Dots: true}
			order = append(order, name)
		}
		points[name].XY = append(points[name].XY, plotter.XY{X: x, Y: r.GFlops})
		threads = int(r.Number("threads"))
	}
	peak := limits.Peak("float64", threads)
	if len(order) == 0 || peak == 0 {
		return fig
	}
	for _, size := range []float64{1 << 20, 24 << 20, 256 << 20} {
		roof := picture.Curve{Name: "limit of data in " + bench.Bytes(size), Line: true}
		read := limits.Read(size, threads)
		if read == 0 {
			continue
		}
		for _, x := range []float64{0.1, peak / read, 200} {
			roof.XY = append(roof.XY, plotter.XY{X: x, Y: min(peak, x*read)})
		}
		fig.Curves = append(fig.Curves, roof)
	}
	for _, name := range order {
		fig.Curves = append(fig.Curves, *points[name])
	}
	return fig
}

// intensity is the number of operations for each byte that has to come from
// memory once: what the case counted, or both factors and the result of a product.
func intensity(r bench.Result) float64 {
	if r.GBytes > 0 {
		return r.GFlops / r.GBytes
	}
	m, n, k := r.Number("m"), r.Number("n"), r.Number("k")
	return 2 * m * n * k / (8 * (m*k + k*n + m*n))
}
