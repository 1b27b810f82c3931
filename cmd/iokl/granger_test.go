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
	var a, b, c float64
	write(t, dir, "s.csv", rowsText("run,t,a,b,c", 240, func(i int) string {
		if i%120 == 0 {
			a, b, c = 0, 0, 0
		}
		a, b, c = 0.3*a+rng.NormFloat64(), 1.5*math.Tanh(2*a)+0.2*rng.NormFloat64(),
			1.5*math.Tanh(2*b)+0.2*rng.NormFloat64()
		return fmt.Sprintf("%d,%d,%g,%g,%g", i/120, i%120, a, b, c)
	}))
	write(t, dir, "truth.csv", "from,to,sign\na,b,+\nb,c,+\n")
	write(t, dir, "matrix.csv", "a,b,c\n0,0,0\n1,0,0\n0,1,0\n")
	write(t, dir, "groups.csv", "series,node\na,front\nb,back\nc,back\n")
}

func TestGranger(t *testing.T) {
	dir := t.TempDir()
	chain(t, dir)
	const line = "granger --series s.csv --replicate run --lag 2 --json --truth "
	for _, truth := range []string{"truth.csv", "matrix.csv"} {
		got := object[results.Graph](t, dir, line+truth)
		if !slices.Equal(got.Nodes, []string{"a", "b", "c"}) || got.AUROC == nil || !(*got.AUROC > 0.95) ||
			got.AUPRAll == nil {
			t.Errorf("%s: %+v", truth, got)
		}
		// Row = target, column = source: a drives b.
		if !(got.Graph[1][0] > 2*got.Graph[0][1] && got.Graph[1][0] > 10*got.Graph[1][2]) || len(got.RMSE) != 3 ||
			got.RMSE[1] == nil || got.Samples != 2*(120-2) {
			t.Errorf("graph %v, rmse %v, %d samples", got.Graph, got.RMSE, got.Samples)
		}
	}
	got := object[results.Graph](t, dir, line+"truth.csv --kernel rff:gaussian:groups:median:40")
	if !(*got.AUROC > 0.95) {
		t.Errorf("with random features: AUROC %g", *got.AUROC)
	}
	succeed(t, dir, "granger --series s.csv --replicate run --threshold 0.05 --plot pics --out g.csv").
		out("a → b", "driven by")
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
	succeed(t, dir, "granger --series s.csv --replicate run --report g.html").out(named)
	if !strings.Contains(mustRead(t, "g.html"), named) {
		t.Error("the page does not say so")
	}
	got := object[results.Graph](t, dir, "granger --series s.csv --replicate run --json")
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
		succeed(t, dir, "granger --series s.csv --replicate run --groups groups.csv --out "+name)
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
	refuseAll(t, dir, `
		granger => --series
		granger --series none.csv => no such file
		granger --series gap.csv => series "a" is NaN
		granger --series flat.csv => "a" is 1
		granger --series twice.csv => "a"
		granger --series short.csv --replicate r => replicate 2 has 1 rows
		granger --series s.csv --drop t --lag 81 => 240 rows for lag 81, at least 243 are needed
		granger --series three.csv => 3 rows for lag 1, at least 7 are needed for 2 nodes
		granger --series s.csv => rows 1 and 121 have the same one in column 2 "t"
		granger --series again2.csv => rows 3 and 4 have the same one in column 1 "year"
		granger --series notime.csv => row 2 has no time in column 1 "date"
		granger --series words.csv --time mood => column 3 "mood" holds neither numbers nor dates
		granger --series s.csv --replicate run --out g.csv --lag 120 => lag 120
		granger --series mixed.csv --replicate r => replicate 1 are not consecutive
		granger --series s.csv --replicate run --out g.csv --groups again.csv => "a" is twice in node "front"
		granger --series s.csv --replicate run --out g.csv --groups wide.csv => wide.csv: row 1 has 3 cells
		granger --series s.csv --replicate run --out g.csv --null 0 => --null 0
		granger --series s.csv --replicate run --out g.csv --stability -3 => --stability -3
		granger --series s.csv --replicate run --out g.csv --top 2 => --top is for --stability
		granger --series s.csv --replicate run --out g.csv --stability 5 --top -1 => --top -1
		granger --series s.csv --replicate run --out g.csv --null 5 --checkpoint none/c.json => --checkpoint
		granger --series s.csv --replicate run --out g.csv --nonlinear --lag 10 => 220 samples for the 30
		granger --series s.csv --replicate run --out g.csv --lag 0 => --lag 0
		granger --series s.csv --replicate run --out g.csv --groups stray.csv => "zebra"
		granger --series s.csv --replicate run --out g.csv --truth wrong.csv => zebra
		granger --series s.csv --replicate run --out g.csv --lambda -1 => --lambda -1
		granger --series s.csv --replicate run --out g.csv --threshold -1 => --threshold -1
		granger --series s.csv --replicate run --out g.csv --norm lp:3 => lp:3
		granger --series s.csv --replicate run --out g.csv --kernel rbf => "rbf"
		granger --series s.csv --replicate zebra => "zebra"
		granger --series s.csv --out g.xyz => g.xyz
	`)
}

// What is forecast lies in its interval, and is written, drawn and refused.
func TestGrangerForecast(t *testing.T) {
	dir := t.TempDir()
	chain(t, dir)
	got := object[results.Graph](t, dir, chainLine+"--forecast 3 --interval 0.8 --json --report p.html")
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
	succeed(t, dir, chainLine+"--forecast 1").out("intervals held 90 %")
	refuseAll(t, dir, `
		granger --series s.csv --replicate run --lag 2 --forecast 0 => --forecast 0
		granger --series s.csv --replicate run --lag 2 --interval 0.5 => --interval
		granger --series s.csv --replicate run --lag 2 --forecast 1 --interval 1 => --interval 1
		granger --series s.csv --replicate run --lag 2 --forecast 100000 => held-out
	`)
}
