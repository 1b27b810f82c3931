package iokl_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/internal/fittest"
)

// twoKinds is targets of two kinds: y1 and y2 go together in a wave of the first input,
// y3 and y4 in a line of the second.
func twoKinds(l int, seed uint64) (X, Y *mat.Dense) {
	rng := rand.New(rand.NewPCG(seed, 1))
	X, Y = mat.NewDense(l, 2, nil), mat.NewDense(l, 4, nil)
	for i := range l {
		a, b := 2*rng.NormFloat64(), rng.NormFloat64()
		X.SetRow(i, []float64{a, b})
		wave := math.Sin(3 * a)
		for j, v := range []float64{wave, 0.7 * wave, b, -0.8 * b} {
			Y.Set(i, j, v+0.1*rng.NormFloat64())
		}
	}
	return X, Y
}

var twoKernels = []string{"gaussian:0:median*0.25", "linear:1"}

func TestSumModel(t *testing.T) {
	X, Y := twoKinds(120, 1)
	Xt, Yt := twoKinds(80, 2)
	for _, missing := range []bool{false, true} {
		if missing {
			for i := range 120 {
				Y.Set(i, i%4, math.NaN())
			}
		}
		opt := iokl.Options{Kernels: twoKernels, Lambda: 1e-3, Tol: 1e-6, Model: "sum"}
		m, err := iokl.Fit(t.Context(), X, Y, opt)
		if err != nil {
			t.Fatal(err)
		}
		// The kernels couple the outputs that depend on their inputs, and no others.
		Ls := m.OutputKernels()
		if len(Ls) != 2 {
			t.Fatalf("%d output kernels", len(Ls))
		}
		wave, line := iokl.Correlation(Ls[0]), iokl.Correlation(Ls[1])
		if !(wave.At(0, 1) > 0.85) || !(line.At(2, 3) < -0.95) {
			t.Errorf("correlations %.3f and %.3f", wave.At(0, 1), line.At(2, 3))
		}
		c := m.Certificate()
		if c.GlobalBound == nil || !c.Converged || !(c.GlobalGap <= 1e-6) || c.SumObjective != c.Objective {
			t.Errorf("certificate %+v", c)
		}
		P, err := m.Predict(Xt)
		if err != nil {
			t.Fatal(err)
		}
		var D mat.Dense
		D.Sub(P, Yt)
		if r := mat.Norm(&D, 2) / mat.Norm(Yt, 2); !(r < 0.25) {
			t.Errorf("relative error %.3f", r)
		}
		// The file predicts the same.
		path := filepath.Join(t.TempDir(), "m.iokl")
		if err := m.Save(path); err != nil {
			t.Fatal(err)
		}
		again, err := iokl.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		Q, err := again.Predict(Xt)
		if err != nil {
			t.Fatal(err)
		}
		if !mat.Equal(P, Q) || again.Certificate().GlobalBound == nil ||
			*again.Certificate().GlobalBound != *c.GlobalBound {
			t.Error("a loaded model predicts, or certifies, something else")
		}
		for j, L := range again.OutputKernels() {
			if !slices.Equal(L.S, Ls[j].S) || !slices.Equal(L.V.Data, Ls[j].V.Data) {
				t.Errorf("output kernel %d of a loaded model differs", j)
			}
		}
	}
}

// A sum with every setting open is chosen and fitted, with one output as with several.
func TestSumZeroOptions(t *testing.T) {
	for _, l := range []int{6, 40} {
		for _, n := range []int{1, 2} {
			X, Y := twoKinds(l, 1)
			m, err := iokl.Fit(t.Context(), X, Y.Slice(0, l, 0, n), iokl.Options{Model: "sum", Seed: 1})
			if err != nil {
				t.Fatalf("%d samples, %d outputs: %v", l, n, err)
			}
			if m.OutputKernels() == nil {
				t.Errorf("%d samples, %d outputs: no output kernels", l, n)
			}
		}
	}
}

// Sums of linear kernels alone, which product models take as explicit features, are learned on samples.
func TestSumLinear(t *testing.T) {
	X, Y := twoKinds(60, 1)
	opt := iokl.Options{Kernels: []string{"linear:each"}, Lambda: 1e-2, Seed: 1}
	for name, set := range map[string]func(*iokl.Options){
		"sum":        func(o *iokl.Options) { o.Model = "sum" },
		"likelihood": func(o *iokl.Options) { o.Learn, o.Lambda = "likelihood", 0 },
		"global":     func(o *iokl.Options) { o.Global = true },
	} {
		o := opt
		set(&o)
		m, err := iokl.Fit(t.Context(), X, Y, o)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if m.OutputKernels() == nil && name != "global" {
			t.Errorf("%s: no output kernels", name)
		}
	}
	opt.CV.Models = []iokl.ModelKind{"product", "sum"}
	if _, err := iokl.CrossValidate(t.Context(), X, Y, opt); err != nil {
		t.Errorf("cross-validation: %v", err)
	}
}

// FitGram learns the same function from the Gram matrices of the same kernels.
func TestSumGram(t *testing.T) {
	X, Y := twoKinds(60, 1)
	Xt, _ := twoKinds(20, 2)
	gram := func(A, B *mat.Dense) []mat.Matrix {
		l, _ := A.Dims()
		k, _ := B.Dims()
		K1, K2 := mat.NewDense(l, k, nil), mat.NewDense(l, k, nil)
		for i := range l {
			for j := range k {
				d := A.At(i, 0) - B.At(j, 0)
				K1.Set(i, j, math.Exp(-2*d*d))
				K2.Set(i, j, A.At(i, 1)*B.At(j, 1))
			}
		}
		return []mat.Matrix{K1, K2}
	}
	opt := iokl.Options{Lambda: 1e-2, Tol: 1e-8, Model: "sum"}
	m, err := iokl.FitGram(t.Context(), gram(X, X), Y, opt)
	if err != nil {
		t.Fatal(err)
	}
	cross := gram(Xt, X)
	P, err := m.PredictGram(cross)
	if err != nil {
		t.Fatal(err)
	}
	// At the optimum λl·C = Y − F, so that the function at its own samples tells C.
	F, err := m.PredictGram(gram(X, X))
	if err != nil {
		t.Fatal(err)
	}
	var C, want mat.Dense
	C.Sub(Y, F)
	C.Scale(1/(1e-2*60), &C)
	for j, L := range m.OutputKernels() {
		n := L.Dim()
		D := mat.NewDense(n, n, nil)
		for a := range n {
			for b := range n {
				var v float64
				for k, s := range L.S {
					v += s * L.V.Data[a*L.V.Stride+k] * L.V.Data[b*L.V.Stride+k]
				}
				D.Set(a, b, v)
			}
		}
		var KC, KCL mat.Dense
		KC.Mul(cross[j], &C)
		KCL.Mul(&KC, D)
		if j == 0 {
			want.CloneFrom(&KCL)
		} else {
			want.Add(&want, &KCL)
		}
	}
	if !mat.EqualApprox(P, &want, 1e-3*mat.Norm(&want, math.Inf(1))) {
		t.Error("predictions are not Σ K_j·C·L_j")
	}
	again := fittest.Loaded(t, m)
	if Q, err := again.PredictGram(cross); err != nil || !mat.Equal(P, Q) {
		t.Errorf("a loaded model predicts something else, or %v", err)
	}
}

// A product model with a global bound: the bound is below its objective, and that of the sum between the two.
func TestGlobalBound(t *testing.T) {
	X, Y := twoKinds(60, 1)
	opt := iokl.Options{Kernels: twoKernels, Lambda: 1e-2, Tol: 1e-5}
	plain, err := iokl.Fit(t.Context(), X, Y, opt)
	if err != nil {
		t.Fatal(err)
	}
	opt.Global = true
	m, err := iokl.Fit(t.Context(), X, Y, opt)
	if err != nil {
		t.Fatal(err)
	}
	c := m.Certificate()
	if c.GlobalBound == nil || plain.Certificate().GlobalBound != nil || c.Objective != plain.Certificate().Objective ||
		m.OutputKernels() != nil {
		t.Fatalf("certificates %+v and %+v", c, plain.Certificate())
	}
	if !(c.LowerBound <= c.SumObjective) || !(c.SumObjective < 0.95*c.Objective) ||
		!(c.SumObjective-c.LowerBound <= 1e-5*c.SumObjective) ||
		!(math.Abs(c.GlobalGap-1+c.LowerBound/c.Objective) <= 1e-12) {
		t.Errorf("bound %g, sum %g, product %g, gap %g", c.LowerBound, c.SumObjective, c.Objective, c.GlobalGap)
	}
	text, err := json.Marshal(c)
	if err != nil || !bytes.Contains(text, []byte(`"lower_bound"`)) {
		t.Errorf("JSON %s, error %v", text, err)
	}
	// Where the kernels are chosen too, fixed weights could win.
	noisy := mat.NewDense(60, 2, nil)
	noisy.Apply(func(i, k int, _ float64) float64 { return X.At(i, 0) + math.Sin(1000*float64(i+60*k)) }, noisy)
	open := iokl.Options{Global: true, CV: iokl.CVOptions{Folds: 4, Lambdas: []float64{1, 1e-1, 1e-2}}}
	if m, err := iokl.Fit(t.Context(), X, noisy, open); err != nil || m.Certificate().GlobalBound == nil ||
		m.Chosen().Learn != "eta,l" {
		t.Errorf("zero options: %v", err)
	}
	opt.Norm = "block1"
	if _, err := iokl.Fit(t.Context(), X, Y, opt); !errors.Is(err, iokl.ErrInput) {
		t.Errorf("a bound for a block norm: %v", err)
	}
	opt.Norm, opt.Kernels = "", []string{"rff:gaussian:0:median*0.25:20", "linear:1"}
	m, err = iokl.Fit(t.Context(), X, Y, opt)
	if err != nil {
		t.Fatal(err)
	}
	opt.Global, opt.Model = false, "sum"
	sum, err := iokl.Fit(t.Context(), X, Y, opt)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := m.Certificate(), sum.Certificate(); !(a.LowerBound <= b.Objective) ||
		!(math.Abs(a.SumObjective-b.Objective) <= 2e-5*b.Objective) || !(b.Objective < a.Objective) {
		t.Errorf("in features: product %+v, sum %+v", a, b)
	}
}
