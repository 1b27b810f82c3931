package samples_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/internal/fittest"
	"github.com/iokl/iokl/internal/learn/learntest"
)

var bg = context.Background()

// Linear kernels on few columns are fitted in feature space, and must give what
// their Gram matrices give: with one L or an L each, from memory or streamed, and where targets are missing.
func TestFeaturesAgreeWithGrams(t *testing.T) {
	const l = 80
	Xt, _ := learntest.Wave(20, 22)
	for _, kind := range []iokl.ModelKind{"product", "sum"} {
		for _, missing := range []bool{false, true} {
			name := fmt.Sprintf("%s, missing %v", kind, missing)
			X, Y := learntest.Wave(l, 21)
			for i := range l {
				if missing && i%4 < 3 {
					Y.Set(i, i%4, math.NaN())
				}
			}
			opt := iokl.Options{
				Lambda: 1e-3, Norm: "lp:1.5", Tol: 1e-7, Standardize: "none", Model: kind,
				Kernels: []string{"linear:0-1", "linear:2-3"},
			}
			var grams, cross []mat.Matrix
			for _, at := range []int{0, 2} {
				A, B := X.Slice(0, l, at, at+2), Xt.Slice(0, 20, at, at+2)
				G, C := new(mat.Dense), new(mat.Dense)
				G.Mul(A, A.T())
				C.Mul(B, A.T())
				grams, cross = append(grams, G), append(cross, C)
			}
			g, err := iokl.FitGram(bg, grams, Y, opt)
			if err != nil {
				t.Fatal(name, err)
			}
			want, err := g.PredictGram(cross)
			if err != nil {
				t.Fatal(name, err)
			}
			data := fittest.Stream(X, Y)
			for how, fit := range map[string]func() (*iokl.Model, error){
				"memory": func() (*iokl.Model, error) { return iokl.Fit(bg, X, Y, opt) },
				"stream": func() (*iokl.Model, error) { return iokl.FitStream(bg, data, opt) },
			} {
				m, err := fit()
				if err != nil {
					t.Fatal(name, how, err)
				}
				if space := m.Chosen().Space; space != "features" {
					t.Fatalf("%s, %s: fitted in the space %s", name, how, space)
				}
				if a, b := m.Certificate().Objective, g.Certificate().Objective; !(math.Abs(a-b) <= 1e-6*b) {
					t.Errorf("%s, %s: objectives %.12g and %.12g", name, how, a, b)
				}
				if sum := kind == "sum"; sum != (m.OutputKernels() != nil) ||
					sum != (m.Certificate().GlobalBound != nil) {
					t.Errorf("%s, %s: output kernels %v, certificate %+v", name, how, m.OutputKernels(),
						m.Certificate())
				}
				var file bytes.Buffer
				if err := m.Encode(&file); err != nil {
					t.Fatal(name, how, err)
				}
				again, err := fittest.Decode(file.Bytes())
				if err != nil {
					t.Fatal(name, how, err)
				}
				for _, m := range []*iokl.Model{m, again} {
					P, err := m.Predict(Xt)
					if err != nil {
						t.Fatal(name, how, err)
					}
					P.Sub(P, want)
					if e := mat.Norm(P, 2) / mat.Norm(want, 2); !(e <= 2e-4) {
						t.Errorf("%s, %s: predictions differ by %.2g", name, how, e)
					}
					for j, L := range m.OutputKernels() {
						if d := L.Trace() - g.OutputKernels()[j].Trace(); !(math.Abs(d) <= 1e-3) {
							t.Errorf("%s, %s: traces of output kernel %d differ by %.2g", name, how, j, d)
						}
					}
				}
			}
		}
	}
}

func TestRandomFeaturesLearn(t *testing.T) {
	X, Y := learntest.Wave(300, 23)
	Xt, Yt := learntest.Wave(100, 24)
	m, err := iokl.Fit(bg, X, Y, iokl.Options{
		Kernels: []string{"rff:gaussian:all:median*0.5,1:100", "linear:all"},
		CV:      iokl.CVOptions{Folds: 3, Norms: []iokl.Norm{"lp:1"}, Lambdas: []float64{1e-2, 1e-3, 1e-4}},
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := m.Score(Xt, Yt)
	if err != nil {
		t.Fatal(err)
	}
	if !(s.RRMSE[0] < 0.3 && s.RRMSE[1] < 0.3) {
		t.Errorf("relative errors %.3v", s.RRMSE)
	}
	exact := iokl.Options{Lambda: 1, Kernels: []string{"rff:gaussian:all:median:10", "gaussian:all"}}
	if _, err := iokl.Fit(bg, X, Y, exact); !errors.Is(err, iokl.ErrInput) ||
		!strings.Contains(err.Error(), "explicit features") {
		t.Errorf("exact beside random features: %v", err)
	}
}
