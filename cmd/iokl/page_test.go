package main

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/cmd/internal/results"
	"github.com/iokl/iokl/internal/files/page/pagetest"
	"github.com/iokl/iokl/internal/files/table"
)

// pageFolder has data whose answers are known: y rises with heat and falls with wind,
// and z moves against y; rain drives river after two steps, and river lake after one.
func pageFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(3, 1))
	writeXY(t, dir, "heat,wind,hour", "load,<i>price</i>", 80, func(int) (x, y string) {
		a, b, c := rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()
		f := 2*a - 0.5*b
		return fmt.Sprintf("%g,%g,%g", a, b, c),
			fmt.Sprintf("%g,%g", f+0.1*rng.NormFloat64(), 5-f+0.1*rng.NormFloat64())
	})
	var before, last [3]float64
	write(t, dir, "series.csv", rowsText("rain,river,lake", 198, func(int) string {
		now := [3]float64{
			0.3*last[0] + rng.NormFloat64(), 0.2*last[1] + before[0] + 0.3*rng.NormFloat64(),
			0.2*last[2] - math.Tanh(last[1]) + 0.3*rng.NormFloat64(),
		}
		before, last = last, now
		return fmt.Sprintf("%g,%g,%g", now[0], now[1], now[2])
	}))
	return dir
}

// writtenPage runs a command and reads the page that it wrote, the file that the line ends with.
func writtenPage(t *testing.T, dir, line string) string {
	t.Helper()
	succeed(t, dir, line)
	return mustRead(t, filepath.Join(dir, line[strings.LastIndex(line, " ")+1:]))
}

// said is the text of a page as it is read.
func said(page string) string {
	page = regexp.MustCompile(`(?s)<script.*?</script>|<style.*?</style>|<svg.*?</svg>`).ReplaceAllString(page, " ")
	return strings.Join(strings.Fields(html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(page, ""))),
		" ")
}

// wellFormed checks that the elements of a page nest, its references stay inside, and
// its names are unique.
func wellFormed(t *testing.T, page string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(
		regexp.MustCompile(`(?s)<script.*</script>|<style.*?</style>`).ReplaceAllString(page, "")))
	d.Strict, d.AutoClose, d.Entity = false, []string{"meta", "input"}, xml.HTMLEntity
	depth, ids := 0, map[string]bool{}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("the page is not well formed: %v", err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			depth++
			for _, a := range e.Attr {
				if a.Name.Local == "id" {
					if ids[a.Value] {
						t.Errorf("two elements are called %q", a.Value)
					}
					ids[a.Value] = true
				}
			}
		case xml.EndElement:
			depth--
		}
	}
	if depth != 0 {
		t.Errorf("%d elements are not closed", depth)
	}
	for _, m := range regexp.MustCompile(`(?:src|href)="([^"]*)"|url\(|@import`).FindAllStringSubmatch(page, -1) {
		if !strings.HasPrefix(m[1], "#") || !ids[m[1][1:]] {
			t.Errorf("the page refers to %q", m[0])
		}
	}
	if strings.Contains(page, "<i>price") {
		t.Error("a name of the data is not escaped")
	}
}

// What people ask of a result stands on its page in words.
func TestPagesAnswer(t *testing.T) {
	dir := pageFolder(t)
	pages := map[string]string{}
	for name, line := range map[string]string{
		"model": "fit --x x.csv --y y.csv --kernel linear:each --kernel gaussian:all:median --lambda 1e-3 --out m.iokl",
		"cv":    "cv --x x.csv --y y.csv --kernel linear:all --lambdas 1e-1,1e-3 --norm lp:1 --folds 4 --out c.iokl",
		"graph": "granger --series series.csv --lag 3 --stability 20 --null 39 --forecast 2 --out graph.json",
		"set":   "fit --x x.csv --y y.csv --kernel gaussian:all:median --lambda 1e-3 --learn none --out set.iokl",
	} {
		pages[name] = writtenPage(t, dir, line+" --report "+name+".html")
	}
	again := writtenPage(t, dir, "report m.iokl --out again.html")
	if strings.ReplaceAll(again, "m.iokl", "") != strings.ReplaceAll(pages["model"], "m.iokl", "") {
		t.Error("the page of the file is not that of the fit")
	}
	pages["both"] = writtenPage(t, dir, "report m.iokl c.iokl graph.json --out both.html")
	for name, page := range pages {
		t.Run(name, func(t *testing.T) { wellFormed(t, page) })
	}
	for row := range strings.Lines(strings.TrimSpace(`
		model: which input matters? => The input that matters most is heat
		model: of which output? => It changes (load|<i>price</i>) most:
		model: in which direction? => load rises as heat goes from
		model: which input does not? => hour0\.0
		model: how sure is the fit? => The fit is certified
		set: how good are weights that were set? => Kernel weights and output kernel were not learned
		model: how do I run it again? => Run again: iokl fit --kernel linear:each --kernel gaussian:all:median --lambda 0.001
		model: which outputs go together? => correlation in L
		cv: which setting is best, and how sure is that? => Of 2 settings, the best has a held-out error of [0-9.]+ ± [0-9.]+
		graph: how many influences are there? => Of 6 possible influences among 3 nodes, 4 have at least a hundredth of the strength of the strongest
		graph: who drives whom? => Strongest: (rain → river|river → lake)
		graph: after how many steps, and how sure? => rain → river after 2 steps, p = 0.025: higher rain raises river \(strength [01]\.[0-9]+, selected in 100 % of resamples\)
		graph: in which direction does river move lake? => river → lake after 1 step, p = 0.025: higher river lowers lake
		graph: which edges can be relied on? => In at least 90 % of 20 resamples 2 edges stood out: (rain → river and river → lake|river → lake and rain → river)
		graph: what comes next, and how sure is that? => What follows the last row, for 2 steps. The intervals held 90 % of what happened on held-out time points
		both: which of several is better? => error on held-out rows, share of a standard deviation0.0[0-9]+0.0
	`)) {
		question, sentence, _ := strings.Cut(strings.TrimSpace(row), " => ")
		name, _, _ := strings.Cut(question, ":")
		if page := said(pages[name]); !regexp.MustCompile(sentence).MatchString(page) {
			t.Errorf("%s no %q in %.3000s", question, sentence, page)
		}
	}
}

// A reader who reads files of others is told what is wrong with them.
func TestReportRefuses(t *testing.T) {
	dir := pageFolder(t)
	write(t, dir, "other.json", `{"objective": 1}`)
	write(t, dir, "bent.json", `{"graph": [[1, 2]], "nodes": ["a", "b"]}`)
	write(t, dir, "empty.json", `{"points": []}`)
	write(t, dir, "zero.json", `{"points": [{"kernels": ["linear:all"]}]}`)
	write(t, dir, "edge.json",
		`{"graph": [[0]], "nodes": ["a"], "rmse": [null], "rmse_own": [null], "edges": [{"from": "a", "to": "b", "strength": 1}]}`)
	write(t, dir, "bare.json", `{"points": [{"kernels": ["linear:all"], "lambda": 1}, {"lambda": 1}]}`)
	succeed(t, dir, "report bare.json --out p.html")
	write(t, dir, "cut.iokl", "PK")
	refuseAll(t, dir, `
		report => report takes models
		report other.json => --out
		report nowhere.iokl --out p.html => nowhere.iokl
		report other.json --out p.html => no "points" and no "graph"
		report bent.json --out p.html => do not fit
		report empty.json --out p.html => no settings
		report zero.json --out p.html => no λ
		report edge.json --out p.html => a → b
		report cut.iokl --out p.html => cut.iokl
		report x.csv --out p.html => neither a model
		fit --x x.csv --y y.csv --report no/such/p.html => --report
		report other.json --out no/such/p.html => --out
	`)
}

// What a model notes about its fit survives its file, and another program's notes do no harm.
func TestOrigin(t *testing.T) {
	dir := pageFolder(t)
	command(t, dir, "fit --x x.csv --y y.csv --kernel gaussian:all:median --lambda 1e-3 --out m.iokl")
	m := mustLoad(t, filepath.Join(dir, "m.iokl"))
	o, err := results.OriginOf(m)
	if err != nil || len(o.Errors) != 2 || len(o.Effects) != 3 ||
		!strings.HasPrefix(o.Command, "iokl fit --kernel gaussian:all:median") {
		t.Errorf("%+v, %v", o, err)
	}
	x, err := readTable(filepath.Join(dir, "x.csv"), columns{}.index, table.Options{}, &stdin{})
	if err != nil {
		t.Fatal(err)
	}
	F, err := m.Predict(blas.Dense(x.Data))
	if err != nil {
		t.Fatal(err)
	}
	left, err := m.LeaveOneOut(t.Context())
	if err != nil || o.HeldOut != "each row by itself" {
		t.Fatalf("%v, %q", err, o.HeldOut)
	}
	var lo, hi, fitted, out float64
	for i, v := range o.Errors[0].Predicted {
		y, residual := o.Errors[0].Observed[i], left.Residuals.At(i, 0)
		if math.Abs(y-residual-v) > 1e-9*math.Abs(v) {
			t.Errorf("row %d: target %g, held out %g with residual %g", i, y, v, residual)
		}
		fitted, out = math.Hypot(fitted, y-F.At(i, 0)), math.Hypot(out, residual)
		lo, hi = min(lo, v), max(hi, v)
	}
	if !(fitted < out) {
		t.Errorf("errors of %g held out, of %g fitted", out, fitted)
	}
	if c := o.Effects[0].Curve[0]; !(c[0] < c[len(c)-1]) || c[0] < lo-1 || c[len(c)-1] > hi+1 {
		t.Errorf("the curve of heat is %v", c)
	}
	m.SetOrigin(json.RawMessage(`["of another program"]`))
	if err := m.Save(filepath.Join(dir, "other.iokl")); err != nil {
		t.Fatal(err)
	}
	refuse(t, dir, "report other.iokl --out p.html").err("notes")
}

// look measures the page and moves the tools of the explorer.
const look = `    say("overflow", d.documentElement.scrollWidth - d.documentElement.clientWidth);
    const rows = () => [...d.querySelectorAll("table[id^=edges] tbody tr")].filter(r => !r.hidden).length;
    const lines = () => [...d.querySelectorAll("svg.network g[data-line^=edges]")].filter(g => g.style.display !== "none").length;
    say("sure", rows() + " " + lines());
    say("count", d.querySelector(".count").textContent);
    const p = d.querySelector("[data-rule=most]");
    p.value = 1;
    p.dispatchEvent(new Event("input", {bubbles: true}));
    say("all", rows() + " " + lines());
    const h = d.querySelector("table.sort th button");
    h.focus();
    say("focus", d.activeElement === h);
    say("buttons", d.querySelectorAll("button.save").length);`

func TestGraphPageInChromium(t *testing.T) {
	dir := pageFolder(t)
	page := writtenPage(t, dir, "granger --series series.csv --lag 3 --null 39 --report graph.html")
	found := pagetest.Look(t, page, look, pagetest.Frame{Name: "w360", Width: 360},
		pagetest.Frame{Name: "w800", Width: 800, Dark: true}, pagetest.Frame{Name: "w1400", Width: 1400})
	for _, width := range []string{"w360", "w800", "w1400"} {
		for key, want := range map[string]string{
			"overflow": "0", "all": "4 4", "sure": "2 2", "count": "2 of 4 shown",
			"focus": "true", "errors": "none",
		} {
			if got := found[width+"-"+key]; got != want {
				t.Errorf("%s: %s is %q, want %q", width, key, got, want)
			}
		}
	}
}
