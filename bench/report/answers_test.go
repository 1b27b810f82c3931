package report

import (
	"strings"
	"testing"

	"github.com/iokl/iokl/bench"
)

// TestAnswers checks the answers at the top of the page against the results.
func TestAnswers(t *testing.T) {
	f := someResults()
	line := func(name string, seconds, residual float64) {
		r := bench.Result{Case: "peers", Name: name, Params: map[string]any{
			"problem": "kernel ridge", "l": 100, "n": 3, "tol": 1e-8,
		}, Residual: bench.Num(residual)}
		r.Time([]float64{seconds})
		r.Metric("test_mse", 0.25)
		f.Results = append(f.Results, r)
	}
	line("iokl auto", 0.25, 1e-6)
	line("iokl cholesky", 1, 1e-9)
	line("scikit-learn KernelRidge", 5, 1e-9)
	line("PyTorch CG", 1, 1e-6)
	line("Octave f", 0.5, 1e-9)
	got, texts := map[string]answer{}, map[string]string{}
	for _, a := range answers(f) {
		for _, name := range a.Cases {
			got[name] = a
			texts[name] += strings.Join(a.Texts, " ")
		}
	}
	if !strings.Contains(texts["sylvester"], "Leave it to auto") {
		t.Errorf("solvers: %s", texts["sylvester"])
	}
	table := func(name string) string {
		var lines []string
		if p := got[name].Table; p != nil {
			for _, row := range p.Rows {
				lines = append(lines, strings.Join(row, "|"))
			}
		}
		return strings.Join(lines, "\n")
	}
	for _, want := range []string{
		"kernel ridge, l = 100, n = 3|scikit-learn KernelRidge|5.0 times faster|" +
			"5|1e-09|0.25|iokl cholesky|1|1e-09|0.25",
		"|PyTorch CG|4.0 times faster|1|1e-06|0.25|iokl auto|0.25|1e-06|",
		"|Octave f|2.0 times slower|0.5|",
	} {
		if !strings.Contains(table("peers"), want) {
			t.Errorf("peers: no %q in\n%s", want, table("peers"))
		}
	}
	if !strings.Contains(table("gemm"), "matrix product|263|53 %|") {
		t.Errorf("limits:\n%s", table("gemm"))
	}
}

// TestPaper checks that ours stands beside the published figure.
func TestPaper(t *testing.T) {
	stock := bench.Result{Case: "stock04", Name: "IOKL"}
	stock.Metric("mse1000", 0.655)
	stock.Metric("mse1000 of GM", 0.5)
	cells := textBlocks(render(t, &bench.File{Results: []bench.Result{stock}}))
	for key, want := range map[string]string{
		"paper cell 2": "0.66", "stock04 cell 18": "GM",
		"stock04 cell 19": "1.68 / –", "stock04 cell 25": "0.47 / 0.50",
	} {
		if got := cells[key]; got != want && !(want == "0.66" && got == "0.65") {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
	if page := render(t, &bench.File{}); strings.Contains(page, `id="paper"`) {
		t.Error("a section about the paper without a result")
	}
}
