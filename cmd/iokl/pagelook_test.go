package main

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/iokl/iokl/internal/files/page/pagetest"
)

// letters measures the text of charts, and what does not fit the page.
const letters = `    say("overflow", d.documentElement.scrollWidth - d.documentElement.clientWidth);
    const wide = [...d.querySelectorAll(".wide")].filter(e => e.scrollWidth > e.clientWidth + 1);
    say("tables", wide.map(e => e.textContent.slice(0, 40).replace(/\n/g, " ")).join("; "));
    let least = Infinity;
    const cut = [], over = [];
    for (const svg of d.querySelectorAll("svg.chart, svg.network")) {
      const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
      const texts = [...svg.querySelectorAll("text")].map(e => [(e.querySelector("title") ?? e).textContent, e.getBoundingClientRect(),
        scale * parseFloat(view.getComputedStyle(e).fontSize)]);
      texts.forEach(([text, a, size], i) => {
        least = Math.min(least, size);
        if (a.left < 0 || a.right > d.documentElement.clientWidth) cut.push(text);
        for (const [other, b] of texts.slice(0, i))
          if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
            Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3) over.push(text + " and " + other);
      });
    }
    say("letters", least);
    say("cut", cut.join("; "));
    say("over", over.join("; "));`

// Pages of all kinds can be read on a wide screen and on a narrow one: letters are half as large as the text of 16
// pixels or more, and whole, labels
// do not run into one another, and on a wide screen the tables of few columns show all of them.
func TestPagesInChromium(t *testing.T) {
	dir := pageFolder(t)
	rng := rand.New(rand.NewPCG(36, 9))
	rows := "passenger,age,port,when,income,fate\n"
	for i := range 90 {
		rows += fmt.Sprintf("p%d,%d,%s,%s,%d,%s\n", i, rng.IntN(80),
			[]string{"Southampton Docks", "Cherbourg-en-Cotentin", "Queenstown (Cobh)", "Bremerhaven"}[rng.IntN(4)],
			time.Date(1912, 1, 1+rng.IntN(300), 0, 0, 0, 0, time.UTC).Format("2/1/2006"), 1000*rng.IntN(900),
			[]string{"died", "survived", "was injured"}[rng.IntN(3)])
	}
	write(t, dir, "k.csv", rows)
	write(t, dir, "names.csv", strings.Replace(mustRead(t, filepath.Join(dir, "series.csv")), "rain,river,lake",
		`Unemployment rate (%),consumer_confidence_index,"growth of GDP, a year"`, 1))
	const kernels = " --kernel gaussian:all:median --kernel laplacian:all:median*4 --lambda 1e-2"
	for name, line := range map[string]string{
		"model":   "fit --x x.csv --y y.csv --interval-folds 4 --out model.iokl" + kernels,
		"classes": "fit --x k.csv --keep passenger --y-columns fate --classes --interval-folds 4" + kernels,
		"cv": "cv --x x.csv --y y.csv --kernel linear:all --kernel gaussian:all:median --lambdas 1,1e-1,1e-3 " +
			"--norm lp:1 --folds 4",
		"choice": "cv --x x.csv --y y.csv --folds 3 --budget 2s",
		"graph":  "granger --series series.csv --lag 3 --stability 20 --null 39 --forecast 2",
		"names":  "granger --series names.csv --lag 3 --stability 20 --null 39",
	} {
		if testing.Short() && name != "model" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			page := writtenPage(t, dir, line+" --report page.html")
			found := pagetest.Look(t, page, letters, pagetest.Frame{Name: "w400", Width: 400}, pagetest.Frame{
				Name: "w1200", Width: 1200,
			})
			for _, width := range []string{"w400", "w1200"} {
				for _, key := range []string{"cut", "over"} {
					if text := found[width+"-"+key]; text != "" {
						t.Errorf("%s: %s: %s", width, key, text)
					}
				}
				if found[width+"-overflow"] != "0" || found[width+"-errors"] != "none" {
					t.Errorf("%s: overflows by %s, errors %s", width, found[width+"-overflow"], found[width+"-errors"])
				}
				least, err := strconv.ParseFloat(found[width+"-letters"], 64)
				if err != nil || least < 8 {
					t.Errorf("%s: letters of %s pixels", width, found[width+"-letters"])
				}
			}
			if wide := found["w1200-tables"]; strings.TrimSpace(wide) != "" {
				t.Errorf("tables wider than the page: %s", wide)
			}
		})
	}
}
