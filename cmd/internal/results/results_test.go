package results

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/files/page"
	"github.com/iokl/iokl/internal/learn/choose"
)

// Effects are measured on fewer rows, or not at all, where each prediction is much work.
func TestRowsForEffects(t *testing.T) {
	for _, c := range []struct{ l, m, d, n, want int }{
		{200, 5, 10, 3, effectRows},
		{10_000, 10, 20, 8, 101},
		{3000, 1, 2000, 1, 0},
		{3000, 1, 30, 1000, 129},
		{1_000_000, 10, 20, 1, 0},
	} {
		if got := rowsForEffects(c.l, c.m, c.d, c.n); got != c.want {
			t.Errorf("%+v: %d rows", c, got)
		}
	}
}

// Where more settings are compared than a picture has colours for, each is listed once, with its best λ, and the best
// ones are drawn, on an axis by decades where errors are far apart.
func TestManySettings(t *testing.T) {
	r := CV{Metric: "mse", Folds: 3}
	for k := range 9 {
		for _, lambda := range []float64{1, 0.1, 0.01} {
			r.Points = append(r.Points, iokl.CVPoint{
				Norm: "lp:1", Kernels: []string{fmt.Sprintf("poly:%d:all:1", k)}, Lambda: lambda,
				Mean: math.Pow(10, float64(8-k)) * (1 + lambda), StdErr: math.Pow(10, float64(8-k)),
			})
		}
	}
	r.Best = r.Points[len(r.Points)-1]
	points, title := r.listed().Listed, r.listed().Title
	if len(points) != 9 || !strings.Contains(title, "best λ") || points[0].Lambda != 0.01 ||
		points[0].Kernels[0] != "poly:8:all:1" || points[8].Kernels[0] != "poly:0:all:1" {
		t.Errorf("%s: %+v", title, points)
	}
	var text bytes.Buffer
	if err := r.Write(&text); err != nil || strings.Count(text.String(), "\n") != 1+9+3 ||
		!strings.Contains(text.String(), "of 27 in all") {
		t.Errorf("%v:\n%s", err, text.String())
	}
	figures := CVFigures(&iokl.CVResult{Metric: "mse", Points: r.Points, Best: 26})
	if len(figures) != 1 || len(figures[0].Legend) != mostPaths+1 ||
		!strings.Contains(figures[0].Title, "the best 6 of 9 settings") {
		t.Fatalf("%+v", figures)
	}
	f := figures[0]
	for _, label := range []string{"1", "100", "1e+05"} {
		if !strings.Contains(string(f.HTML()), ">"+label+"</text>") {
			t.Errorf("no label %s", label)
		}
	}
	if l := (&CV{Points: r.Points[:18]}).listed(); len(l.Listed) != 18 || l.Title != "Every setting" {
		t.Errorf("%d points of few settings, %s", len(l.Listed), l.Title)
	}
}

func TestTrendWord(t *testing.T) {
	curve := func(f func(x float64) float64) (y []float64) {
		for i := range curvePoints {
			y = append(y, f(float64(i)/(curvePoints-1)))
		}
		return y
	}
	for name, c := range map[string]struct {
		f    func(x float64) float64
		want string
	}{
		"line":              {func(x float64) float64 { return 3 * x }, "rises"},
		"falling line":      {func(x float64) float64 { return -3 * x }, "falls"},
		"wavy line":         {func(x float64) float64 { return x + .05*math.Sin(20*x) }, "rises"},
		"hill":              {func(x float64) float64 { return x * (1 - x) }, "rises, then falls"},
		"valley":            {func(x float64) float64 { return -x * (1 - x) }, "falls, then rises"},
		"season":            {func(x float64) float64 { return math.Sin(4*math.Pi*x) + .1*x }, "goes up and down"},
		"season and a half": {func(x float64) float64 { return math.Sin(3 * math.Pi * x) }, "goes up and down"},
		"flat":              {func(float64) float64 { return 2 }, "stays the same"},
	} {
		if got := trendWord(curve(c.f)); got != c.want {
			t.Errorf("%s %s, said %q", name, c.want, got)
		}
	}
}

// Outputs that go against each other are said to, not that none are correlated.
func TestOpposedOutputs(t *testing.T) {
	const l = 40
	X, Y := mat.NewDense(l, 1, nil), mat.NewDense(l, 2, nil)
	for i := range l {
		x := float64(i) / 6
		X.Set(i, 0, x)
		Y.SetRow(i, []float64{math.Sin(x), -math.Sin(x)})
	}
	m, err := iokl.Fit(t.Context(), X, Y, iokl.Options{Kernels: []string{"gaussian:all:1"}, Lambda: 1e-3})
	if err != nil {
		t.Fatal(err)
	}
	if r := m.OutputCorrelation().At(0, 1); !(r < -0.99) {
		t.Fatalf("correlation %g", r)
	}
	found := newLearned(m, "")
	want := "y1 and y2 go against each other: their correlation in L is -1.00."
	if said := found.OutputWords(); !slices.Contains(said, want) {
		t.Errorf("said %q, want %q", said, want)
	}
}

// A page does not say that less than nothing is explained, and what it says is explained is what its errors give.
func TestExplained(t *testing.T) {
	q := &iokl.Chosen{Error: 1.5, Constant: 1.2, Folds: 3}
	o := Origin{HeldOut: "5 folds", Errors: []outputError{{Relative: 0.5}, {Relative: 1}}}
	half := &iokl.Chosen{Error: 0.5, Constant: 2, Folds: 2}
	for want, r := range map[string]about{
		"(5 folds) it explains 37.5 % of the variance of the targets.": {Origin: o, Compared: q},
		"(3 folds) it is no better than the mean of the targets.":      {Compared: q},
		"(2 folds) it explains 75.0 % of the variance of the targets.": {Compared: half},
	} {
		got := say("explained", &r)
		if got != "On held-out samples "+want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestFigure(t *testing.T) {
	for v, want := range map[float64]string{
		160123: "160000", 12934: "12900", 2.3456: "2.35", -98765: "-98800", 1e9: "1e+09", 1.5e-7: "1.5e-07", 0: "0",
	} {
		if got := page.Figure(v, 3); got != want {
			t.Errorf("%g is written %s, want %s", v, got, want)
		}
	}
}

func TestKernelLabel(t *testing.T) {
	for name, want := range map[string]string{
		"gaussian:1:median": "gaussian:1:median (b)", "gaussian:all:2": "gaussian:all:2",
		"poly:1:all:0": "poly:1:all:0",
		"linear:0":     "linear:0 (a)", "gaussian:0-1:median": "gaussian:0-1:median", "gram1": "gram1",
	} {
		if got := kernelLabel(name, []string{"a", "b"}); got != want {
			t.Errorf("%q is shown as %q, want %q", name, got, want)
		}
	}
}

// TestFirst checks what a legend has room for.
func TestFirst(t *testing.T) {
	specs := strings.Fields(strings.Repeat("gaussian:all:1 ", 30))
	if got := first(specs); got != "gaussian:all:1 gaussian:all:1 + 28 more" {
		t.Errorf("legend %q", got)
	}
	if got := choose.Brief(specs); !strings.HasSuffix(got, "gaussian:all:1 … and 26 more") {
		t.Errorf("list %q", got)
	}
}

// TestCouplingHeats checks that the maps of the L of each kernel add up to that of L.
func TestCouplingHeats(t *testing.T) {
	const l = 40
	X, Y := mat.NewDense(l, 2, nil), mat.NewDense(l, 2, nil)
	for i := range l {
		a, b := math.Sin(float64(i)), math.Cos(float64(7*i))
		X.SetRow(i, []float64{a, b})
		Y.SetRow(i, []float64{a + b, a - b})
	}
	m, err := iokl.Fit(t.Context(), X, Y, iokl.Options{
		Kernels: []string{"linear:0", "linear:1"}, Lambda: 1e-3, Model: "sum", Norm: "lp:1",
	})
	if err != nil {
		t.Fatal(err)
	}
	rest, heats := correlationHeat(m).Matrix, couplingHeats(m)
	for _, h := range heats {
		blas.AddScaled(rest, -1, h.Matrix)
	}
	if d := blas.Frob(rest); len(heats) != 2 || !(d < 1e-9) {
		t.Errorf("%d maps, which are %g from L", len(heats), d)
	}
}
