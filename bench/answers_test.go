package bench

import (
	"strings"
	"testing"
)

// TestAnswers checks the answers at the top of the page against the results.
func TestAnswers(t *testing.T) {
	f := someResults()
	line := func(name string, seconds, residual float64) {
		r := Result{Case: "peers", Name: name, Params: map[string]any{"problem": "kernel ridge", "l": 100, "n": 3, "tol": 1e-8}, Residual: Num(residual)}
		r.time([]float64{seconds})
		r.metric("test_mse", 0.25)
		f.Results = append(f.Results, r)
	}
	line("iokl auto", 0.25, 1e-6)
	line("iokl cholesky", 1, 1e-9)
	line("scikit-learn KernelRidge", 5, 1e-9)
	line("PyTorch CG", 1, 1e-6)
	line("Octave f", 0.5, 1e-9)
	got := map[string]answer{}
	for _, a := range answers(grouped(f.Results), f.Results, f.Machine.Limits) {
		for _, name := range a.Cases {
			got[name] = a
		}
	}
	if a := got["sylvester"]; !strings.Contains(strings.Join(a.Texts, " "), "times faster than") {
		t.Errorf("solvers: %+v", a)
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
		"kernel ridge, l = 100, n = 3|scikit-learn KernelRidge|5.0 times faster|5|1e-09|0.25|iokl cholesky|1|1e-09|0.25",
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

func TestRoofline(t *testing.T) {
	f := someResults()
	fig, ok := machineRoofline(f.Results, f.Machine.Limits)
	if !ok {
		t.Fatal("no roofline")
	}
	byName := map[string]curve{}
	for _, c := range fig.curves {
		byName[c.name] = c
	}
	roof, points := byName["limit of data in 1 MiB"], byName["A·B, native"]
	if len(roof.xy) != 3 || roof.xy[0].Y != 5 || roof.xy[2].Y != 100 || !roof.line { // 0.1 flop a byte at 50 GB/s, and the peak
		t.Errorf("roof %+v", roof)
	}
	// 2·512³ operations on three matrices of 512² float64.
	if len(points.xy) != 1 || points.xy[0].X != 512.0/12 || !points.dots {
		t.Errorf("points %+v", points)
	}
	if _, ok := machineRoofline(f.Results, nil); ok {
		t.Error("a roofline without limits")
	}
}

// TestPaperPage checks that ours stands beside the published figure.
func TestPaperPage(t *testing.T) {
	stock := Result{Case: "stock04", Name: "IOKL"}
	stock.metric("mse1000", 0.655)
	stock.metric("mse1000 of GM", 0.5)
	p := paperPage(map[string][]Result{"stock04": {stock}})
	if p == nil || len(p.Rows) != 1 || p.Rows[0][2] != "0.66" && p.Rows[0][2] != "0.65" {
		t.Errorf("%+v", p)
	}
	var gm []string
	for _, row := range stockTable([]Result{stock}).Rows {
		if row[0] == "GM" {
			gm = row
		}
	}
	if len(gm) != 9 || gm[1] != "1.68 / –" || gm[7] != "0.47 / 0.50" {
		t.Errorf("GM: %q", gm)
	}
	if paperPage(nil) != nil {
		t.Error("a page of nothing")
	}
}
