package cases

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/iokl/iokl/bench"
)

// quickEnv is the environment of a quick run.
func quickEnv() *bench.Env {
	env := bench.NewEnv()
	env.Quick = true
	return env
}

func TestSelect(t *testing.T) {
	all, err := bench.Select(All, []string{"all"})
	if err != nil || len(all) != len(All) {
		t.Errorf("all: %d cases, %v", len(all), err)
	}
	part, err := bench.Select(All, []string{"mtr:jura,edm"})
	if err != nil || len(part) != 1 || !slices.Equal(part[0].Parts, []string{"jura", "edm"}) {
		t.Errorf("parts of a case: %v, %v", part, err)
	}
	evidence, err := bench.Select(All, []string{"evidence"})
	if err != nil {
		t.Fatal(err)
	}
	minutes := 0.0
	for _, topic := range bench.Topics {
		if !slices.ContainsFunc(evidence, func(c bench.Case) bool { return c.Topic == topic }) {
			t.Errorf("no case is evidence of %q", topic)
		}
	}
	for _, c := range evidence {
		if minutes += c.Minutes; !slices.Contains(bench.Topics, c.Topic) {
			t.Errorf("%s is of the unknown topic %q", c.Name, c.Topic)
		}
	}
	if minutes > 60 {
		t.Errorf("the evidence takes %g minutes", minutes)
	}
	for _, bad := range []string{"mtr:nothing", "digits:some"} {
		if _, err := bench.Select(All, []string{bad}); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
	two, err := bench.Select(All, []string{"gram", "digits", "gram"})
	if err != nil || len(two) != 2 || two[0].Name != "gram" || two[1].Name != "digits" {
		t.Errorf("two cases: %v, %v", two, err)
	}
	if _, err := bench.Select(All, []string{"digits", "nonsense"}); err == nil ||
		!strings.Contains(err.Error(), `"nonsense"`) {
		t.Errorf("unknown case: %v", err)
	}
	var names []string
	for _, c := range All {
		names = append(names, c.Name)
		if c.Does == "" {
			t.Errorf("%s does not say what it does", c.Name)
		}
		if c.Run == nil || c.Topic != "" && !slices.Contains(bench.Topics, c.Topic) {
			t.Errorf("%s has no run, or is of the unknown topic %q", c.Name, c.Topic)
		}
	}
	if len(names) != len(runs) {
		t.Errorf("%d cases, %d of them with a run", len(names), len(runs))
	}
	slices.Sort(names)
	if u := slices.Compact(slices.Clone(names)); len(u) != len(names) {
		t.Errorf("names repeat: %v", names)
	}
}

func TestAbsentDataIsSkipped(t *testing.T) {
	env := quickEnv()
	env.Data = t.TempDir()
	for _, name := range []string{"figures", "stock04", "dream3", "drosophila", "wheat", "jura"} {
		c, err := bench.Select(All, []string{name})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c[0].Measure(context.Background(), env); !errors.Is(err, bench.ErrSkipped) {
			t.Errorf("%s without its data: %v", name, err)
		}
	}
}

// TestConclusions checks the sentences of cases that no quick run measures.
func TestConclusions(t *testing.T) {
	line := func(name string, params map[string]any, metrics map[string]float64) bench.Result {
		return bench.Result{Name: name, Params: params, Metrics: metrics, Seconds: 2}
	}
	for _, c := range []struct {
		name    string
		results []bench.Result
		want    string
	}{
		{"jura", []bench.Result{line("iokl, Cd, Ni and Zn", map[string]any{"scale": "mg/kg"}, map[string]float64{
			"mae": .44,
		})}, "fitted to mg/kg: mean absolute error 0.440 mg/kg."},
		{"wheat", []bench.Result{line("iokl, pedigree and markers", map[string]any{"scheme": "cv1"}, map[string]float64{
			"r1": .5, "r2": .4, "r3": .3, "r4": .2,
		})}, "whole lines hidden: correlations 0.500, 0.400, 0.300 and 0.200 in"},
		{"intervals", []bench.Result{line("CV+", nil, map[string]float64{
			"coverage": .9, "least coverage of a set": .8, "mean width": 3,
		})}, "by CV+ hold 0.900 of new targets on average, 0.800 in the worst data set, at a mean width of 3.000."},
		{"granger-forecast", []bench.Result{line("kernels", map[string]any{"set": "macro"}, map[string]float64{
			"nmse_1": .1, "nmse_24": .2, "coverage": .91,
		})}, "over the variance 0.100 1 steps ahead, 0.200 24 steps ahead, intervals of level .9 hold 91.0 %."},
	} {
		if got := strings.Join(words.Sentences(c.name, c.results), " "); !strings.Contains(got, c.want) {
			t.Errorf("%s: no %q in %q", c.name, c.want, got)
		}
		if got := words.Sentences(c.name, []bench.Result(nil)); len(got) > 0 {
			t.Errorf("%s concludes %q from nothing", c.name, got)
		}
	}
}
