package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The page of a classifier has the accuracy, confusion and reliability of held-out predictions, all of them counted
// here once more.
func TestClassPage(t *testing.T) {
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(36, 8))
	const l = 90
	write(t, dir, "k.csv", rowsText("a,b,kind", l, func(int) string {
		a, b := rng.NormFloat64(), rng.NormFloat64()
		return fmt.Sprintf("%g,%g,%s", a, b, map[bool]string{true: "oak", false: "elm"}[a+.7*rng.NormFloat64() > .3])
	}))
	page := said(writtenPage(t, dir, "fit --x k.csv --y-columns kind --classes --kernel gaussian:all:median "+
		"--lambda 1e-2 --out k.iokl --report k.html"))
	m := mustLoad(t, filepath.Join(dir, "k.iokl"))
	h, err := m.HeldOut(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var count [2][2]int
	var inBin, rightInBin [10]int
	for i := range l {
		p := h.Probabilities.RawRowView(i)
		is, said := int(h.Targets.At(i, 1)), 0
		if h.Predictions.At(i, 1) > h.Predictions.At(i, 0) {
			said = 1
		}
		if math.Abs(p[0]+p[1]-1) > 1e-12 || (p[1] > p[0]) != (said == 1) {
			t.Fatalf("row %d: probabilities %v, predictions %v", i, p, h.Predictions.RawRowView(i))
		}
		count[is][said]++
		k := int(10 * slices.Max(p))
		if inBin[k]++; is == said {
			rightInBin[k]++
		}
	}
	right := count[0][0] + count[1][1]
	want := []string{
		fmt.Sprintf("Of held-out samples (each row by itself), %.1f %% of the classes are right", 100*float64(right)/l),
		fmt.Sprintf("elm%d%.1f %%%d%d", count[0][0]+count[0][1],
			100*float64(count[0][0])/float64(count[0][0]+count[0][1]), count[0][0], count[0][1]),
		"class elm falls as a goes from",
	}
	for k, n := range inBin {
		if n > 0 {
			want = append(want, fmt.Sprintf("%d%.1f %%", n, 100*float64(rightInBin[k])/float64(n)))
		}
	}
	for _, w := range want {
		if !strings.Contains(page, w) {
			t.Errorf("no %q in %.3000s", w, page)
		}
	}
	if strings.Contains(page, "go against each other") || strings.Contains(page, "esiduals") {
		t.Errorf("sentences that say nothing about two classes: %.3000s", page)
	}
}
