package choose_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/learntest"
	"github.com/iokl/iokl/internal/learn/samples"
)

var bg = context.Background()

// TestRidgeIsWhatFitFinds compares the errors by factorisation with those of models fitted to the same split.
func TestRidgeIsWhatFitFinds(t *testing.T) {
	X, Y := learntest.Wave(50, 21)
	folding := learn.Folding{Folds: 5, Content: learn.ContentOf(blas.Raw(X), blas.Raw(Y))}
	splits, err := folding.Deal(50)
	if err != nil {
		t.Fatal(err)
	}
	split := splits[0]
	for name, tau := range map[string]float64{"default τ": 0, "τ = 6": 6} {
		t.Run(name, func(t *testing.T) {
			opt := iokl.Options{
				Kernels: []string{"gaussian:each:median*0.5,1", "poly:1:all:0"}, Tau: tau,
				Learn: "none",
			}
			d, err := samples.NewRows(blas.Raw(X), blas.Raw(Y), blas.General{}, samples.Options{
				Columns: columns.Options{ScaleInputs: true, ScaleOutputs: true},
			})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := d.Split(folding); err != nil {
				t.Fatal(err)
			}
			r, err := d.Ridge(0)
			if err != nil {
				t.Fatal(err)
			}
			lambdas := []float64{1e-1, 1e-3}
			e, err := r.Errors(t.Context(), opt.Kernels, tau, lambdas)
			if err != nil {
				t.Fatal(err)
			}
			train := func(A mat.Matrix, idx []int) *mat.Dense {
				return blas.Dense(blas.TakeRows(blas.Raw(A), idx))
			}
			for i, lambda := range lambdas {
				opt.Lambda = lambda
				m, err := iokl.Fit(bg, train(X, split.Train), train(Y, split.Train), opt)
				if err != nil {
					t.Fatal(err)
				}
				P, err := m.Predict(train(X, split.Test))
				if err != nil {
					t.Fatal(err)
				}
				var want float64 // with the variances of the training targets
				Yt := train(Y, split.Test)
				for j, scale := range columns.Measure(blas.Raw(train(Y, split.Train))).Scale {
					for i := range split.Test {
						miss := (P.At(i, j) - Yt.At(i, j)) / scale
						want += miss * miss / float64(3*len(split.Test))
					}
				}
				if !(math.Abs(e[i].NMSE-want) <= 1e-7*want) {
					t.Errorf("λ = %g: error %.10g by factorisation, %.10g of the model", lambda, e[i].NMSE, want)
				}
				for j, v := range m.Eta() {
					part := 1.0 / 16
					if j == 8 {
						part = 1.0 / 2
					}
					if math.Abs(v-part) > 1e-15 {
						t.Errorf("weight %g of kernel %d, want %g", v, j, part)
					}
				}
			}
		})
	}
}

// TestBestGoesOn asks of Fit and of the best setting of CrossValidate the same model, also where lengths of columns
// start from those that the comparison learned.
func TestBestGoesOn(t *testing.T) {
	X, Y := mat.NewDense(80, 3, nil), mat.NewDense(80, 1, nil)
	rng := rand.New(rand.NewPCG(5, 5))
	for i := range 80 {
		for k := range 3 {
			X.Set(i, k, rng.NormFloat64())
		}
		Y.Set(i, 0, math.Sin(3*X.At(i, 0))+.3*X.At(i, 1)+.05*rng.NormFloat64())
	}
	opt := iokl.Options{IntervalFolds: -1}
	want, err := iokl.Fit(bg, X, Y, opt)
	if err != nil {
		t.Fatal(err)
	}
	opt.CV = opt.CV.ForFit(80)
	r, err := iokl.CrossValidate(bg, X, Y, opt)
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Fit(bg)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(fmt.Sprint(r.Chosen().Kernels), ":directions:") {
		t.Fatalf("kernels %v: no lengths are learned", r.Chosen().Kernels)
	}
	a, _ := want.Predict(X)
	b, _ := got.Predict(X)
	if !mat.Equal(a, b) {
		t.Error("the two models differ")
	}
}

// TestZeroOptionsWithinMemory gives less and less memory: fewer dictionaries are
// compared, then fewer kernels, and then none is possible.
func TestZeroOptionsWithinMemory(t *testing.T) {
	X, Y := learntest.Wave(60, 25)
	be := blas.Active()
	sum := be.PackedBytes(60, blas.Float64) + be.PackedBytes(60, blas.Float32) // K_η in both precisions
	for grams, most := range map[float64]int{1000: 1000, 12: 12, 1: 1, -1: 0} {
		opt := iokl.Options{CV: iokl.CVOptions{Folds: 3, Repeats: 1}}
		// Beside it two matrices for the solver, l×n blocks and two copies of X; less than it for -1.
		opt.MaxBytes = int64(grams*float64(blas.SymBytes(60, blas.Float64)) + sum + 60*60*2*8 + 8*60*(12*3+2*4))
		m, err := iokl.Fit(bg, X, Y, opt)
		if most == 0 {
			if m != nil || !errors.Is(err, iokl.ErrMemory) {
				t.Errorf("without memory: model %v, error %v", m, err)
			}
			continue
		}
		// Kernels of fixed weights are held as their sum.
		if err != nil || m.Chosen().Learn.Weights() && len(m.Eta()) > most {
			t.Errorf("memory for %g matrices: model %v, error %v", grams, m, err)
		}
	}
}

// An error inside a fold says which: the data as a whole are fine.
func TestFoldNamed(t *testing.T) {
	X, _ := learntest.Wave(20, 3)
	Y := mat.NewDense(20, 1, nil)
	Y.Set(7, 0, 1)
	_, err := iokl.CrossValidate(bg, X, Y, iokl.Options{
		Kernels: []string{"gaussian:all"},
		CV:      iokl.CVOptions{Folds: 4, Lambdas: []float64{1e-2}},
	})
	if !errors.Is(err, iokl.ErrInput) ||
		!regexp.MustCompile(`^fold \d: every target column is constant`).MatchString(err.Error()) {
		t.Errorf("%v", err)
	}
}

// Columns that do not vary are in none of the sets that zero options try.
func TestConstantInputs(t *testing.T) {
	wave, Y := learntest.Wave(24, 5)
	X := mat.NewDense(24, 9, nil)
	for j := range 4 {
		X.SetCol(2*j, mat.Col(nil, j, wave))
	}
	r, err := iokl.CrossValidate(bg, X, Y, iokl.Options{CV: iokl.CVOptions{Folds: 2, Tol: 0.1}})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range r.Points {
		for _, spec := range p.Kernels {
			if f := strings.Split(spec, ":"); f[0] != "poly" && strings.ContainsAny(f[1], "1357") {
				t.Errorf("kernel %s", spec)
			}
		}
	}
}

// TestPathsBeginAtTheConstant compares errors by a quantile of targets with next to no noise. At large λ the function
// is next to the constant, and its errors say nothing: they may rise and fall.
func TestPathsBeginAtTheConstant(t *testing.T) {
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(seed, 1))
		X, Y := mat.NewDense(120, 4, nil), mat.NewDense(120, 1, nil)
		X.Apply(func(_, _ int, _ float64) float64 { return 4*rng.Float64() - 2 }, X)
		Y.Apply(func(i, _ int, _ float64) float64 {
			x := X.RawRowView(i)
			return math.Sin(2*x[0])*x[1] + x[2]*x[2] + 0.02*rng.NormFloat64()
		}, Y)
		r, err := iokl.CrossValidate(bg, X, Y, iokl.Options{
			Loss: "quantile:0.5", Kernels: []string{"gaussian:all:median*0.5"}, Learn: "none",
		})
		if err != nil {
			t.Fatal(err)
		}
		if p := r.Chosen(); !(p.Mean < 0.7*r.Constant) {
			t.Errorf("seed %d: λ = %g has the loss %g, the constant %g", seed, p.Lambda, p.Mean, r.Constant)
		}
	}
}

// Several quantiles are judged by the mean of their relative losses: the lowest, the one nearest ½ and the highest.
func TestQuantilesAreJudgedTogether(t *testing.T) {
	X, Y := learntest.Wave(60, 41)
	judge := func(loss iokl.Loss) iokl.CVPoint {
		r, err := iokl.CrossValidate(bg, X, Y, iokl.Options{
			Loss: loss, Kernels: []string{"gaussian:all:median"}, Learn: "none", Tol: 1e-8,
			CV: iokl.CVOptions{Lambdas: []float64{1e-3}, Tol: 1e-8},
		})
		if err != nil {
			t.Fatal(err)
		}
		return r.Points[0]
	}
	want := (judge("quantile:0.1").Mean + judge("quantile:0.5").Mean + judge("quantile:0.8").Mean) / 3
	if got := judge("quantile:0.1,0.3,0.5,0.8").Mean; !(math.Abs(got-want) <= 1e-4*want) {
		t.Errorf("the error of three quantiles is %.8g, the mean of their errors %.8g", got, want)
	}
}
