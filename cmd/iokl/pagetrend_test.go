package main

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/iokl/iokl/cmd/internal/results"
)

// A category is one input, with the levels where a target is highest and lowest, and dates are said as dates.
func TestEffectsOfColumns(t *testing.T) {
	dir := t.TempDir()
	o, _ := madeTable(false)
	o.column("y", func(i int, _ string) string {
		return fmt.Sprint(map[string]float64{"rot": 1, "grün": 5, "blau": -2}[o.rows[i][2]] + float64(i)/20)
	})
	o.save(t, dir)
	page := writtenPage(t, dir, "fit --x odd.csv --x-columns u,colour,when,weekday --y-columns y --kernel "+
		"gaussian:each:median --lambda 1e-3 --out m.iokl --report p.html")
	notes, err := results.OriginOf(mustLoad(t, "m.iokl"))
	if err != nil || len(notes.Effects) != 4 || notes.Effects[0].Input != "colour" || notes.Effects[1].Input != "when" {
		t.Fatalf("%v %+v", err, notes.Effects)
	}
	for _, label := range []string{"rot", "grün", "blau", `2021-1[12]-\d\d`, `2022-\d\d-\d\d`} {
		if !regexp.MustCompile(`(?s)<text[^>]*>` + label + `</text`).MatchString(page) {
			t.Errorf("no label %q on an axis", label)
		}
	}
	text := said(page)
	for _, want := range []string{
		"from 4 inputs",
		`y is highest where colour is grün, [0-9.]+ on average, and lowest where it is blau`,
		`y rises as when goes from 2021-1[12]-\d\d to 2023-\d\d-\d\d`,
	} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("no %q in %.1500s", want, text)
		}
	}
}

// Where lengths are learned for each column of numbers, pages and info list the columns of the file.
func TestRelevanceOfColumns(t *testing.T) {
	dir := t.TempDir()
	o, _ := madeTable(false)
	o.save(t, dir)
	page := said(writtenPage(t, dir, "fit --x odd.csv --y-columns y --kernel gaussian:ard:median --lambda 1e-2 "+
		"--out m.iokl --report p.html"))
	_, text, _ := strings.Cut(page, "1 for the largest.")
	text, _, _ = strings.Cut(text, "Errors and")
	info := command(t, dir, "info m.iokl").stdout
	_, short, _ := strings.Cut(info, "inputs by relevance")
	short, _, _ = strings.Cut(short, "\n\n")
	for _, name := range []string{"u", "price", "colour", "when", "at", "month", "weekday"} {
		number := regexp.MustCompile(name + ` *(0\.\d{3}|1\.000)`)
		if !number.MatchString(text) || !number.MatchString(short) {
			t.Errorf("no %s in %s or %s", name, text, short)
		}
	}
	const inputs = "7: u, price, colour, when, at, month, weekday"
	if strings.Contains(text+short, "colour=") || strings.Contains(text+short, ".cos") ||
		!strings.Contains(page, inputs) || !strings.Contains(info, inputs) {
		t.Errorf("columns of numbers in %s or %s, or no %s in %s", text, short, inputs, info)
	}
}

// Of many outputs, those that sentences name are in the table and on the curves.
func TestShownOutputs(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "x.csv", rowsText("a,b,y1,y2,y3,y4,y5,y6,y7,y8,y9", 40, func(i int) string {
		a, b := float64(i)/20-1, math.Sin(float64(7*i))
		row := fmt.Sprintf("%g,%g", a, b)
		for k := range 9 {
			row += fmt.Sprintf(",%g", map[int]float64{7: 9 * a, 8: 9 * b}[k]+math.Cos(float64(k+3*i)))
		}
		return row
	}))
	page := writtenPage(t, dir, "fit --x x.csv --y-columns y* --kernel linear:all --lambda 1e-3 --out m.iokl "+
		"--report p.html")
	head := `<th scope="col">` + strings.Join([]string{"y1", "y2", "y3", "y4", "y8", "y9"}, `</th><th scope="col">`) + `</th>`
	if !strings.Contains(page, head) ||
		!strings.Contains(said(page), "y8 rises as a goes from") || strings.Count(page, "> y9</li>") != 2 {
		t.Errorf("no %s in %.4000s", head, page)
	}
}
