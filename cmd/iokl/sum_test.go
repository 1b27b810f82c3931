package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// twoKinds writes targets of two kinds: y1 and y2 go together in a, y3 and y4 in b.
func twoKinds(t *testing.T, dir string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(4, 9))
	writeXY(t, dir, "a,b", "y1,y2,y3,y4", 80, func(int) (x, y string) {
		a, b := 2*rng.NormFloat64(), rng.NormFloat64()
		n := func() float64 { return .1 * rng.NormFloat64() }
		return fmt.Sprintf("%v,%v", a, b),
			fmt.Sprintf("%v,%v,%v,%v", math.Sin(3*a)+n(), .7*math.Sin(3*a)+n(), b+n(), -.8*b+n())
	})
}

func TestSumCommands(t *testing.T) {
	dir := folder(t)
	twoKinds(t, dir)
	const fit = "fit --x x.csv --y y.csv --kernel gaussian:0:median*0.25 --kernel linear:1 --lambda 1e-3 --json"
	type report struct {
		Objective    float64
		RelativeGap  float64   `json:"relative_gap"`
		LowerBound   *float64  `json:"lower_bound"`
		GlobalGap    *float64  `json:"global_gap"`
		SumObjective *float64  `json:"sum_objective"`
		Trace        float64   `json:"trace_l"`
		Traces       []float64 `json:"l_trace"`
		Chosen       struct{ Model string }
	}
	plain := object[report](t, dir, fit)
	global := object[report](t, dir, fit+" --certify global")
	sum := object[report](t, dir, fit+" --model sum --out sum.iokl")
	info := object[report](t, dir, "info sum.iokl --json")
	if plain.LowerBound != nil || plain.GlobalGap != nil || plain.Traces != nil || plain.Chosen.Model != "product" {
		t.Errorf("a plain fit reports %+v", plain)
	}
	if global.LowerBound == nil || global.GlobalGap == nil || global.Objective != plain.Objective ||
		global.Chosen.Model != "product" {
		t.Fatalf("--certify global reports %+v", global)
	}
	if d := *global.GlobalGap - (1 - *global.LowerBound/global.Objective); !(math.Abs(d) < 1e-12) ||
		!(*global.GlobalGap > 0.02) {
		t.Errorf("global gap %g, bound %g, objective %g", *global.GlobalGap, *global.LowerBound, global.Objective)
	}
	if sum.Chosen.Model != "sum" || len(sum.Traces) != 2 ||
		!(math.Abs(sum.Traces[0]+sum.Traces[1]-sum.Trace) <= 1e-9) ||
		!(math.Abs(sum.Objective / *global.SumObjective - 1) <= 2e-4) {
		t.Errorf("--model sum reports %+v, --certify global %+v", sum, global)
	}
	if sum.GlobalGap == nil || !(*sum.GlobalGap <= 1e-4) ||
		!(math.Abs(*sum.LowerBound / *global.LowerBound - 1) <= 2e-4) {
		t.Errorf("--model sum has global gap %v, bound %v", sum.GlobalGap, sum.LowerBound)
	}
	if len(info.Traces) != 2 || *info.LowerBound != *sum.LowerBound {
		t.Errorf("info reports %+v", info)
	}
	command(t, dir, "info sum.iokl").out("gaussian:0:median*0.25 (a) has ", "couples y1 and y2 most (+")
	command(t, dir, "fit --x x.csv --y y.csv --kernel linear:1 --learn likelihood --out l.iokl")
	succeed(t, dir, "info l.iokl").matches(`(?m)^solver +average information, backend`)
	// One picture for each kernel, and a page that says what each couples.
	succeed(t, dir, "info sum.iokl --plot pictures").out("outputs-1.png", "outputs-2.png")
	text := writtenPage(t, dir, "report sum.iokl --out page.html")
	for _, line := range []string{
		"Which kernel couples which outputs", "(a) has ", "couples y1 and y2 most (",
		"any other output kernels would lower",
	} {
		if !strings.Contains(text, line) {
			t.Errorf("the page does not say %q", line)
		}
	}
	if rows := succeed(t, dir, "predict --model sum.iokl --x x.csv").lines(); len(rows) != 81 {
		t.Errorf("predict: %d lines", len(rows))
	}
	refuse(t, dir, "predict --model sum.iokl --x x.csv --interval .9 --method cv+").err("keeps no models of folds")
	for _, line := range []string{
		"fit --x x.csv --y y.csv --lambda 1 --model total", "fit --x x.csv --y y.csv --lambda 1 --certify local",
		"fit --x x.csv --y y.csv --lambda 1 --model sum --norm block1",
		"fit --x x.csv --y y.csv --lambda 1 --model sum --learn eta",
	} {
		refuse(t, dir, line)
	}
}
