package dictionary_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/internal/learn/defaults"
	"github.com/iokl/iokl/internal/learn/learntest"
	"github.com/iokl/iokl/kernel"
)

var bg = context.Background()

func TestFitOnRelevantColumns(t *testing.T) {
	X, Y := learntest.Hidden(120, 3)
	Xt, Yt := learntest.Hidden(100, 4)
	miss := func(opt iokl.Options) float64 {
		opt.Lambda, opt.Learn = 1e-3, "none"
		m, err := iokl.Fit(bg, X, Y, opt)
		if err != nil {
			t.Fatal(err)
		}
		s, err := m.Score(Xt, Yt)
		if err != nil {
			t.Fatal(err)
		}
		return s.ARRMSE
	}
	all, relevant := miss(iokl.Options{Kernels: []string{"gaussian:all"}}),
		miss(iokl.Options{Kernels: []string{"gaussian:relevant"}})
	if !(relevant < 0.7*all) {
		t.Errorf("error %.3g on relevant columns, %.3g on all", relevant, all)
	}
	m, err := iokl.Fit(bg, X, Y, iokl.Options{Lambda: 1e-3, Norm: "lp:2", Kernels: []string{
		"gaussian:relevant",
		"laplacian:directions", "gaussian:0",
	}})
	if err != nil {
		t.Fatal(err)
	}
	r := m.Relevance()
	if slices.Max(r) != 1 || r[8] != 0 || !(min(r[0], r[3], r[5]) > 2*max(r[1], r[2], r[4], r[6], r[7])) {
		t.Errorf("relevance of the model's inputs %.3v", r)
	}
	own := []kernel.Group{{Name: "relevant", Columns: []int{0, 3, 5}}}
	if mine, same := miss(iokl.Options{Kernels: []string{"gaussian:relevant"}, Groups: own}), miss(
		iokl.Options{Kernels: []string{"gaussian:0,3,5"}}); mine != same {
		t.Errorf("the caller's own group: error %g, on its columns %g", mine, same)
	}
	constant := mat.NewDense(120, 2, nil)
	if _, err := iokl.Fit(bg, X, constant, iokl.Options{
		Lambda:  1,
		Kernels: []string{"gaussian:relevant"},
	}); !errors.Is(err,
		iokl.ErrInput) {
		t.Errorf("constant targets: %v", err)
	}
}

// TestFitOnLengths is TestFitOnRelevantColumns for learned lengths, which widths multiply.
func TestFitOnLengths(t *testing.T) {
	X, Y := learntest.Hidden(120, 3)
	Xt, Yt := learntest.Hidden(100, 4)
	fit := func(lambda float64, specs ...string) *iokl.Model {
		m, err := iokl.Fit(bg, X, Y, iokl.Options{Kernels: specs, Lambda: lambda, Learn: "none"})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	miss := func(spec string) float64 {
		least := math.Inf(1)
		for _, lambda := range []float64{1e-3, 1e-5, 1e-7} {
			s, err := fit(lambda, spec).Score(Xt, Yt)
			if err != nil {
				t.Fatal(err)
			}
			least = min(least, s.ARRMSE)
		}
		return least
	}
	all, learned := miss("gaussian:all"), miss("gaussian:ard")
	if !(learned < 0.5*all) {
		t.Errorf("error %.3g with learned lengths, %.3g on all columns", learned, all)
	}
	m := fit(1e-3, "gaussian:ard", "laplacian:ard", "gaussian:0")
	r := m.Relevance()
	if slices.Max(r) != 1 || r[8] != 0 || !(min(r[0], r[3], r[5]) > 5*max(r[1], r[2], r[4], r[6], r[7])) {
		t.Errorf("relevance of the model's inputs %.3v", r)
	}
	list, double := fit(1e-3, "gaussian:ard:median*0.5,1"), fit(1e-3, "gaussian:ard:median*0.5", "gaussian:ard")
	P, err := list.Predict(Xt)
	if err != nil {
		t.Fatal(err)
	}
	if Q, err := double.Predict(Xt); err != nil || !mat.EqualApprox(P, Q, 1e-12) {
		t.Errorf("two widths of a SPEC predict otherwise than two SPECs: %v", err)
	}
	own := iokl.Options{
		Kernels: []string{"gaussian:ard"}, Groups: []kernel.Group{{Name: "ard", Columns: []int{0, 3, 5}}},
		Lambda: 1e-3,
	}
	if m, err := iokl.Fit(bg, X, Y, own); err != nil || m.Relevance() != nil {
		t.Errorf("the caller's own group: %v", err)
	}
	for _, spec := range []string{"gaussian:ard:2", "cauchy:ard", "linear:ard"} {
		if _, err := iokl.Fit(bg, X, Y, iokl.Options{Lambda: 1, Kernels: []string{spec}}); !errors.Is(err,
			iokl.ErrInput) {
			t.Errorf("%s: %v", spec, err)
		}
	}
}

// TestFitOnRanks says that kernels on ranks see the order of the values of a column alone, up to as
// many samples as there are knots.
func TestFitOnRanks(t *testing.T) {
	X, Y := learntest.Hidden(defaults.RankKnots, 3)
	bent := new(mat.Dense)
	bent.Apply(func(_, _ int, v float64) float64 { return math.Exp(3 * v) }, X)
	predict := func(X *mat.Dense, spec string) *mat.Dense {
		m, err := iokl.Fit(bg, X, Y, iokl.Options{Lambda: 1e-3, Learn: "none", Kernels: []string{spec}})
		if err != nil {
			t.Fatal(err)
		}
		P, err := m.Predict(X)
		if err != nil {
			t.Fatal(err)
		}
		return P
	}
	for _, c := range []struct {
		spec string
		same bool
	}{{"laplacian:ranks", true}, {"gaussian:ranks:median*0.5", true}, {"laplacian:all", false}} {
		if same := mat.EqualApprox(predict(X, c.spec), predict(bent, c.spec), 1e-9); same != c.same {
			t.Errorf("%s: same predictions from exp(3x) as from x: %v, want %v", c.spec, same, c.same)
		}
	}
	if !mat.EqualApprox(predict(X, "nystrom:laplacian:ranks:median:101:uniform"), predict(X, "laplacian:ranks"), 1e-6) {
		t.Error("landmarks at all samples predict otherwise than the exact kernel")
	}
}

// TestWeightsByName has two kernels of one name, whose weights add up.
func TestWeightsByName(t *testing.T) {
	X, Y := learntest.Wave(40, 7)
	m, err := iokl.Fit(bg, X, Y, iokl.Options{Lambda: 1e-2, Norm: "lp:2", Kernels: []string{
		"linear:all", "gaussian:0",
		"linear:all",
	}})
	if err != nil {
		t.Fatal(err)
	}
	eta, w := m.Eta(), m.Weights()
	if len(w) != 2 || w["linear:all"] != eta[0]+eta[2] || w["gaussian:0:median"] != eta[1] || !(eta[0] > 0) {
		t.Errorf("weights %v by name, %v in order", w, eta)
	}
}
