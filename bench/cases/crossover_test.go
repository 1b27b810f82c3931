package cases

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/plot/plotter"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/internal/files/page"
)

// mapResults are times of three solvers at some points of the grid.
func mapResults() []bench.Result {
	var out []bench.Result
	add := func(name string, l, n int, spectrum string, lambda, seconds float64, stopped bool) {
		r := bench.Result{Case: "sylvester", Name: name, Stopped: stopped, Params: map[string]any{
			"l": l, "n": n, "spectrum": spectrum, "lambda": lambda, "tol": sylvesterTol, "backend": "native",
		}}
		r.Time([]float64{seconds})
		out = append(out, r)
	}
	for _, l := range []int{250, 500} {
		add("eigen", l, 1, "decaying", 1e-2, 1, false)
		add("nystrom", l, 1, "decaying", 1e-2, 0.1, false)
		add("auto", l, 1, "decaying", 1e-2, 0.05, false)
		add("eigen", l, 10, "identity", 1e-2, 1, false)
		add("tridiagonal", l, 10, "identity", 1e-2, 0.5, false)
		add("nystrom", l, 10, "identity", 1e-2, 0.75, true)
	}
	add("rotated", 3060, 102, "decaying", 1e-3, 0.1, false) // beside the grid
	return out
}

func TestWinners(t *testing.T) {
	got := Table(mapResults())
	want := [][]string{
		{"l × n", "L decaying, λ = 0.01", "L identity, λ = 0.01", "L decaying, λ = 0.001"},
		{"250 × 1", "nystrom 0.1", "", ""},
		{"250 × 10", "", "tridiagonal 0.5", ""},
		{"500 × 1", "nystrom 0.1", "", ""},
		{"500 × 10", "", "tridiagonal 0.5", ""},
		{"3060 × 102", "", "", "rotated 0.1"},
	}
	for i, row := range append([]page.Row{{Cells: got.Head}}, got.Rows...) {
		if !slices.Equal(row.Cells, want[i]) {
			t.Errorf("row %d: %q, want %q", i, row.Cells, want[i])
		}
	}
	if len(got.Rows) != len(want)-1 {
		t.Errorf("%d rows", len(got.Rows))
	}
}

func TestExponent(t *testing.T) {
	var xy plotter.XYs
	for _, l := range []float64{10, 250, 500, 1000} {
		xy = append(xy, plotter.XY{X: l, Y: 3e-9 * math.Pow(l, 2.5)})
	}
	xy[0].Y = 1 // small sizes do not count
	if p := exponent(xy); math.Abs(p-2.5) > 1e-9 {
		t.Errorf("l^%g", p)
	}
}

// TestPieces runs one λ of one size.
func TestPieces(t *testing.T) {
	cases, err := bench.Select(All, []string{"sylvester:250x10@0.01"})
	if err != nil {
		t.Fatal(err)
	}
	env := bench.NewEnv()
	env.Count = 1
	results, err := cases[0].Measure(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	spectra := map[any]int{}
	for _, r := range results {
		if r.Name == "auto" {
			spectra[r.Params["spectrum"]]++
		}
		if l, lambda := r.Number("l"), r.Number("lambda"); l != 250 || lambda != 1e-2 {
			t.Errorf("%s at l = %g, λ = %g", r.Name, l, lambda)
		}
		if r.Error != "" || !r.Stopped && r.Residual != nil && *r.Residual > sylvesterTol {
			t.Errorf("%s: %+v", r.Name, r)
		}
	}
	if len(spectra) != len(gridSpectra) {
		t.Errorf("spectra %v", spectra)
	}
	if _, err := bench.Select(All, []string{"sylvester:250x11"}); err == nil {
		t.Error("a size beside the grid was accepted")
	}
}
