package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// twoKinds writes targets of two kinds: y1 and y2 go together in a, y3 and y4 in b.
func twoKinds(t *testing.T, dir string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(4, 9))
	var x, y strings.Builder
	x.WriteString("a,b\n")
	y.WriteString("y1,y2,y3,y4\n")
	for range 80 {
		a, b := 2*rng.NormFloat64(), rng.NormFloat64()
		fmt.Fprintf(&x, "%v,%v\n", a, b)
		n := func() float64 { return .1 * rng.NormFloat64() }
		fmt.Fprintf(&y, "%v,%v,%v,%v\n", math.Sin(3*a)+n(), .7*math.Sin(3*a)+n(), b+n(), -.8*b+n())
	}
	write(t, dir, "x.csv", x.String())
	write(t, dir, "y.csv", y.String())
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
	var plain, global, sum, info report
	command(t, dir, fit).object(&plain)
	command(t, dir, fit+" --certify global").object(&global)
	command(t, dir, fit+" --model sum --out sum.iokl").object(&sum)
	command(t, dir, "info sum.iokl --json").object(&info)
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
	command(t, dir, "info sum.iokl").out("gaussian:0:median*0.25 (a) has ").out("couples y1 and y2 most (+")
	command(t, dir, "fit --x x.csv --y y.csv --kernel linear:1 --learn likelihood --out l.iokl")
	if r := command(t, dir, "info l.iokl"); !regexp.MustCompile(
		`(?m)^solver +average information, backend`).MatchString(r.stdout) {
		t.Errorf("info of a fit by likelihood says %s", r.stdout)
	}
	// One picture for each kernel, and a page that says what each couples.
	succeed(t, dir, "info sum.iokl --plot pictures").out("outputs-1.png", "outputs-2.png")
	command(t, dir, "report sum.iokl --out page.html")
	text, err := os.ReadFile(filepath.Join(dir, "page.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"Which kernel couples which outputs", "(a) has ", "couples y1 and y2 most (",
		"any other output kernels would lower",
	} {
		if !strings.Contains(string(text), line) {
			t.Errorf("the page does not say %q", line)
		}
	}
	if r := command(t, dir, "predict --model sum.iokl --x x.csv"); r.status != exitOK ||
		strings.Count(r.stdout, "\n") != 81 {
		t.Errorf("predict: status %d, %s", r.status, r.stderr)
	}
	if r := command(t, dir, "predict --model sum.iokl --x x.csv --interval .9"); r.status != exitUsage ||
		!strings.HasSuffix(r.stderr, "fit it with interval folds\n") {
		t.Errorf("intervals without folds: %+v", r)
	}
	for _, line := range []string{
		"fit --x x.csv --y y.csv --lambda 1 --model total", "fit --x x.csv --y y.csv --lambda 1 --certify local",
		"fit --x x.csv --y y.csv --lambda 1 --model sum --norm block1",
		"fit --x x.csv --y y.csv --lambda 1 --model sum --learn eta",
	} {
		refuse(t, dir, line)
	}
}
