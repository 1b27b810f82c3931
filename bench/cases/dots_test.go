package cases

import (
	"testing"

	"github.com/iokl/iokl/bench"
)

// TestDots draws results over their params, ours first, and nothing where no result has the metric.
func TestDots(t *testing.T) {
	result := func(name, set string, cut, rmse float64) bench.Result {
		r := bench.Result{Case: "c", Name: name, Params: map[string]any{"set": set, "cut": cut}}
		r.Metric("rmse", rmse)
		return r
	}
	group := []bench.Result{
		result("peer", "b", 0.5, 2),
		result("iokl", "a", 0.1, 1),
		result("iokl", "b", 0.5, 3),
		{Case: "c", Name: "other", Params: map[string]any{"set": "z"}},
	}
	draw := (&dots{Title: "errors", Metrics: []string{"rmse"}, Params: []string{"set", "cut"}}).figures
	for range 2 { // the second call starts anew
		figures := draw(group, nil)
		if len(figures) != 1 || figures[0].Name != "c" || figures[0].Legend[0].Text != "iokl" {
			t.Fatalf("figures %+v", figures)
		}
		chart := figures[0].Chart
		if len(chart.Names) != 2 || chart.Names[0] != "b 0.5" || chart.Names[1] != "a 0.1" {
			t.Errorf("places %q", chart.Names)
		}
		ours := chart.Curves[0]
		if !ours.Dots || len(ours.XY) != 2 || ours.XY[0].X != 1 || ours.XY[0].Y != 3 || ours.XY[1].Y != 1 {
			t.Errorf("points %+v", ours)
		}
	}
	if figures := draw(group[3:], nil); figures != nil {
		t.Errorf("%d figures of nothing", len(figures))
	}
}
