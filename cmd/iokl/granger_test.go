package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/iokl/iokl/cmd/internal/results"
)

// chain writes series of which a drives b and b drives c, in two replicates.
func chain(t *testing.T, dir string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 4))
	text := "run,t,a,b,c\n"
	for run := range 2 {
		var a, b, c float64
		for i := range 120 {
			a, b, c = 0.3*a+rng.NormFloat64(), 1.5*math.Tanh(2*a)+0.2*rng.NormFloat64(),
				1.5*math.Tanh(2*b)+0.2*rng.NormFloat64()
			text += fmt.Sprintf("%d,%d,%g,%g,%g\n", run, i, a, b, c)
		}
	}
	write(t, dir, "s.csv", text)
	write(t, dir, "truth.csv", "from,to,sign\na,b,+\nb,c,+\n")
	write(t, dir, "matrix.csv", "a,b,c\n0,0,0\n1,0,0\n0,1,0\n")
	write(t, dir, "groups.csv", "series,node\na,front\nb,back\nc,back\n")
}

func TestGranger(t *testing.T) {
	dir := t.TempDir()
	chain(t, dir)
	var got results.Graph
	for _, truth := range []string{"truth.csv", "matrix.csv"} {
		r := command(t, dir, "granger --series s.csv --replicate run --lag 2 --json --truth "+truth)
		r.object(t, &got)
		if !slices.Equal(got.Nodes, []string{"a", "b", "c"}) || got.AUROC == nil || !(*got.AUROC > 0.95) ||
			got.AUPRAll == nil {
			t.Errorf("%s: %s", truth, r.stdout)
		}
		// Row = target, column = source: a drives b.
		if !(got.Graph[1][0] > 2*got.Graph[0][1] && got.Graph[1][0] > 10*got.Graph[1][2]) || len(got.RMSE) != 3 ||
			got.RMSE[1] == nil || got.Samples != 2*(120-2) {
			t.Errorf("graph %v, rmse %v, %d samples", got.Graph, got.RMSE, got.Samples)
		}
	}
	command(t, dir, "granger --series s.csv --replicate run --lag 2 --json --truth truth.csv --kernel "+
		"rff:gaussian:groups:median:40").object(t, &got)
	if !(*got.AUROC > 0.95) {
		t.Errorf("with random features: AUROC %g", *got.AUROC)
	}
	r := command(t, dir, "granger --series s.csv --replicate run --threshold 0.05 --plot pics --out g.csv")
	if r.status != exitOK || !strings.Contains(r.stdout, "a → b") || !strings.Contains(r.stdout, "driven by") {
		t.Errorf("%+v", r)
	}
	for _, name := range []string{"pics/graph.png", "pics/graph.svg", "pics/network.png", "pics/network.svg"} {
		if s, err := os.Stat(name); err != nil || s.Size() < 1000 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if text := mustRead(t, "g.csv"); !strings.HasPrefix(text, "target,a,b,c\na,") {
		t.Errorf("g.csv: %s", text)
	}
}

// Replicates that relax are named, on the screen, in JSON and on the page.
func TestGrangerRelaxing(t *testing.T) {
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(5, 6))
	text := "run,t,a,b\n"
	for run := range 4 {
		a, b := rng.Float64(), rng.Float64()
		for i := range 21 {
			text += fmt.Sprintf("%d,%d,%g,%g\n", run, i, a+0.03*rng.NormFloat64(), b+0.03*rng.NormFloat64())
			for range 100 {
				a, b = a+0.003*(0.2-a), b+0.0025*(a-b)
			}
		}
	}
	write(t, dir, "s.csv", text)
	const named = "The replicates return to a common state and are observed with noise"
	if r := command(t, dir, "granger --series s.csv --replicate run --report g.html"); r.status != exitOK ||
		!strings.Contains(r.stdout, named) {
		t.Errorf("%+v", r)
	}
	if !strings.Contains(mustRead(t, "g.html"), named) {
		t.Error("the page does not say so")
	}
	var got results.Graph
	command(t, dir, "granger --series s.csv --replicate run --json").object(t, &got)
	if !got.Relaxing || !(got.Graph[1][0] > 0.5) || !(got.Graph[0][1] < 0.5) {
		t.Errorf("relaxing %t, graph %v", got.Relaxing, got.Graph)
	}
}

func TestGrangerFormats(t *testing.T) {
	dir := t.TempDir()
	chain(t, dir)
	for name, want := range map[string]string{
		"g.dot":     `"front" -> "back"`,
		"g.graphml": `<edge source="n0" target="n1">`, "g.json": `"front"`,
	} {
		if r := command(t, dir,
			"granger --series s.csv --replicate run --groups groups.csv --out "+name); r.status != exitOK {
			t.Fatalf("%s: %+v", name, r)
		}
		text := mustRead(t, name)
		if !strings.Contains(text, want) {
			t.Errorf("%s has no %q:\n%s", name, want, text)
		}
		if name == "g.json" && !json.Valid([]byte(text)) {
			t.Errorf("%s is no JSON", name)
		}
	}
}

func TestGrangerBadInput(t *testing.T) {
	dir := t.TempDir()
	chain(t, dir)
	write(t, dir, "gap.csv", "a,b\n1,2\n,3\n4,5\n6,7\n8,1\n")
	write(t, dir, "flat.csv", "a,b\n1,2\n1,3\n1,5\n1,7\n1,1\n")
	write(t, dir, "twice.csv", "a,a\n1,2\n2,3\n4,5\n6,7\n8,1\n")
	write(t, dir, "short.csv", "r,a\n1,2\n1,4\n1,3\n1,7\n2,1\n")
	write(t, dir, "stray.csv", "a,front\nzebra,back\n")
	write(t, dir, "wrong.csv", "from,to\na,zebra\n")
	write(t, dir, "again.csv", "a,front\na,front\nb,back\n")
	write(t, dir, "wide.csv", "a,front,1\n")
	write(t, dir, "mixed.csv", "r,a\n1,2\n1,4\n1,3\n2,7\n2,1\n2,5\n1,4\n1,6\n")
	write(t, dir, "three.csv", "a,b\n0,0\n.3,.8\n-1.1,1.3\n")
	write(t, dir, "again2.csv", "year,a\n1,2\n2,4\n3,3\n3,7\n4,1\n5,8\n6,2\n")
	write(t, dir, "notime.csv", "date,a\n2020-01-01,2\n,4\n2020-01-03,3\n2020-01-04,7\n2020-01-05,1\n2020-01-06,8\n")
	write(t, dir, "words.csv", "a,b,mood\n1,2,up\n4,3,down\n2,7,up\n4,1,up\n5,8,down\n1,3,up\n2,2,up\n9,9,up\n")
	before := listing(t, dir)
	const series = "granger --series s.csv --replicate run --out g.csv "
	for name, c := range map[string]struct{ line, want string }{
		"no series":       {"granger", "--series"},
		"missing file":    {"granger --series none.csv", "no such file"},
		"gap":             {"granger --series gap.csv", `series "a" is NaN`},
		"constant":        {"granger --series flat.csv", `"a" is 1`},
		"duplicate":       {"granger --series twice.csv", `"a"`},
		"short replicate": {"granger --series short.csv --replicate r", "replicate 2 has 1 rows"},
		"T < 3·lag": {
			"granger --series s.csv --drop t --lag 81", "240 rows for lag 81, at least 243 are needed",
		},
		"three rows":           {"granger --series three.csv", "3 rows for lag 1, at least 7 are needed for 2 nodes"},
		"panel":                {"granger --series s.csv", "rows 1 and 121 have the same one in column 2 \"t\""},
		"repeated time":        {"granger --series again2.csv", `rows 3 and 4 have the same one in column 1 "year"`},
		"no time":              {"granger --series notime.csv", `row 2 has no time in column 1 "date"`},
		"time of words":        {"granger --series words.csv --time mood", `column 3 "mood" holds neither numbers nor dates`},
		"replicates too short": {series + "--lag 120", "lag 120"},
		"replicates mixed":     {"granger --series mixed.csv --replicate r", "replicate 1 are not consecutive"},
		"series twice in node": {series + "--groups again.csv", `"a" is twice in node "front"`},
		"three cells":          {series + "--groups wide.csv", "wide.csv: row 1 has 3 cells"},
		"no rounds":            {series + "--null 0", "--null 0"},
		"negative rounds":      {series + "--stability -3", "--stability -3"},
		"top of nothing":       {series + "--top 2", "--top is for --stability"},
		"negative top":         {series + "--stability 5 --top -1", "--top -1"},
		"no folder":            {series + "--null 5 --checkpoint none/c.json", "--checkpoint"},
		"nonlinear, too short": {series + "--nonlinear --lag 10", "220 samples for the 30"},
		"lag 0":                {series + "--lag 0", "--lag 0"},
		"unknown series":       {series + "--groups stray.csv", `"zebra"`},
		"unknown edge":         {series + "--truth wrong.csv", "zebra"},
		"negative lambda":      {series + "--lambda -1", "--lambda -1"},
		"negative threshold":   {series + "--threshold -1", "--threshold -1"},
		"unknown norm":         {series + "--norm lp:3", "lp:3"},
		"unknown kernel":       {series + "--kernel rbf", `"rbf"`},
		"unknown replicate":    {"granger --series s.csv --replicate zebra", `"zebra"`},
		"unknown graph format": {"granger --series s.csv --out g.xyz", "g.xyz"},
	} {
		t.Run(name, func(t *testing.T) {
			r := command(t, dir, c.line)
			if r.status != exitUsage || r.stdout != "" || !strings.Contains(r.stderr, c.want) ||
				strings.Count(r.stderr, "\n") != 1 {
				t.Errorf("%+v, want status 2 and one line with %q", r, c.want)
			}
			if after := listing(t, dir); !slices.Equal(before, after) {
				t.Errorf("files before %v, after %v", before, after)
			}
		})
	}
}

// What is forecast lies in its interval, and is written, drawn and refused.
func TestGrangerForecast(t *testing.T) {
	dir := t.TempDir()
	chain(t, dir)
	var got results.Graph
	r := command(t, dir, chainLine+"--forecast 3 --interval 0.8 --json --report p.html")
	r.object(t, &got)
	if len(got.Forecast) != 9 || got.Level != 0.8 {
		t.Fatalf("%d forecasts of level %g", len(got.Forecast), got.Level)
	}
	for k, f := range got.Forecast {
		if f.Series != got.Nodes[k%3] || f.Step != 1+k/3 || !(f.Lo < f.Value && f.Value < f.Hi) ||
			!(f.RMSE > 0 && f.Last > 0) {
			t.Errorf("%+v", f)
		}
	}
	if text := said(mustRead(t, "p.html")); !strings.Contains(text, "What follows the last row, for 3 steps") {
		t.Error("the page has no forecasts")
	}
	if r := command(t, dir, chainLine+"--forecast 1"); r.status != exitOK ||
		!strings.Contains(r.stdout, "intervals held 90 %") {
		t.Errorf("%+v", r)
	}
	for line, want := range map[string]string{
		"--forecast 0": "--forecast 0", "--interval 0.5": "--interval",
		"--forecast 1 --interval 1": "--interval 1", "--forecast 100000": "held-out",
	} {
		if r := command(t, dir, chainLine+line); r.status != exitUsage || !strings.Contains(r.stderr, want) ||
			strings.Count(r.stderr, "\n") != 1 {
			t.Errorf("%s: %+v", line, r)
		}
	}
}
