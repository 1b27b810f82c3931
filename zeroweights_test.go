package iokl_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/fittest"
)

// among puts the rows of a between rows of garbage, and marks which are of a.
func among(a *mat.Dense, garbage float64) (all *mat.Dense, own []int) {
	l, n := a.Dims()
	all = mat.NewDense(l+l/2, n, nil)
	for i := range l + l/2 {
		if i%3 != 2 {
			own = append(own, i)
			all.SetRow(i, a.RawRowView(len(own)-1))
			continue
		}
		for j := range n {
			all.Set(i, j, garbage*float64(i+j))
		}
	}
	return all, own
}

// encoded is the file of a model.
func encoded(t *testing.T, m *iokl.Model, err error) []byte {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := m.Encode(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A row of weight 0 is a row that is not there, byte for byte in the model, in every data form: whatever it holds.
func TestZeroWeightIsNoRow(t *testing.T) {
	X, Y, _ := noisyTargets(60, 0.1, false, 12)
	allX, own := among(X, math.Inf(1))
	allY, _ := among(Y, 1e9)
	l, _ := allX.Dims()
	W, labels, fewer := mat.NewDense(l, 1, nil), make([]string, l), []string{}
	groups, some := make([]int, l), []int{}
	for i := range l {
		labels[i], groups[i] = "seen at weight 0 alone", i
	}
	for k, i := range own {
		W.Set(i, 0, 1)
		labels[i], groups[i] = fmt.Sprint(Y.At(k, 0) > 0), k%7
		fewer, some = append(fewer, labels[i]), append(some, k%7)
	}
	gram := func(X *mat.Dense) []mat.Matrix {
		var K mat.Dense
		K.Mul(X, X.T())
		return []mat.Matrix{&K}
	}
	finite, _ := among(X, 1e5)
	given := iokl.Options{Kernels: []string{"gaussian:all:median", "linear:all"}, Lambda: 1e-3}
	for name, opt := range map[string]iokl.Options{
		"zero options": {}, "given": given, "grouped": {CV: iokl.CVOptions{Groups: groups}},
		"logistic": {Loss: "logistic", Lambda: 1e-2, Kernels: given.Kernels},
	} {
		t.Run(name, func(t *testing.T) {
			with, without := opt, opt
			if with.Weights = W; opt.CV.Groups != nil {
				without.CV.Groups = some
			}
			if opt.Loss == "" {
				m, err := iokl.Fit(t.Context(), allX, allY, with)
				a := encoded(t, m, err)
				m, err = iokl.Fit(t.Context(), X, Y, without)
				if !bytes.Equal(a, encoded(t, m, err)) {
					t.Error("the models of rows differ")
				}
			}
			m, err := iokl.FitClasses(t.Context(), allX, labels, with)
			a := encoded(t, m, err)
			m, err = iokl.FitClasses(t.Context(), X, fewer, without)
			if !bytes.Equal(a, encoded(t, m, err)) {
				t.Errorf("the models of classes differ: %v", m.Classes())
			}
			if opt.Loss == "" {
				m, err = iokl.FitGram(t.Context(), gram(finite), allY, with)
				a = encoded(t, m, err)
				m, err = iokl.FitGram(t.Context(), gram(X), Y, without)
				if !bytes.Equal(a, encoded(t, m, err)) {
					t.Error("the models of Gram matrices differ")
				}
			}
		})
	}
	m := fittest.Fit(t, X, Y, given)
	a, err := m.Update(t.Context(), allX, allY, iokl.UpdateOptions{Weights: W})
	first := encoded(t, a, err)
	b, err := m.Update(t.Context(), X, Y, iokl.UpdateOptions{})
	if !bytes.Equal(first, encoded(t, b, err)) {
		t.Error("updates differ")
	}
	bad := mat.DenseCopyOf(X)
	bad.Set(40, 1, math.Inf(1))
	allBad, _ := among(bad, math.Inf(-1))
	_, err = iokl.Fit(t.Context(), allBad, allY, iokl.Options{Weights: W})
	want := fmt.Sprintf("row %d, column 2", own[40]+1)
	if err == nil || !bytes.Contains([]byte(err.Error()), []byte(want)) {
		t.Errorf("%v does not name %s", err, want)
	}
}

// Rows in another order have the same fit, to rounding, also where many are equal.
func TestOrderOfRows(t *testing.T) {
	X, Y, _ := noisyTargets(80, 0.1, false, 13)
	for i := 40; i < 80; i++ {
		X.SetRow(i, X.RawRowView(i%4))
		Y.SetRow(i, Y.RawRowView(i%4))
	}
	order := rand.New(rand.NewPCG(1, 1)).Perm(80)
	opt := iokl.Options{Kernels: []string{"gaussian:all:1"}, Learn: "none"} // λ is chosen
	a := fittest.Predict(t, fittest.Fit(t, X, Y, opt), X)
	b := fittest.Predict(t, fittest.Fit(t, blas.Dense(blas.TakeRows(X.RawMatrix(), order)),
		blas.Dense(blas.TakeRows(Y.RawMatrix(), order)), opt), X)
	if d := fittest.Far(a, b); !(d <= 1e-9) {
		t.Errorf("predictions differ by %.2g", d)
	}
}

// Of noise in proportion to 1/√w, intervals at rows of given weights hold their share in every part of the rows, and
// widths are in proportion to 1/√w. What is held out has the weights.
func TestWidthsFollowWeights(t *testing.T) {
	const l = 300
	rng := rand.New(rand.NewPCG(14, 1))
	X, Y, W := mat.NewDense(2*l, 1, nil), mat.NewDense(2*l, 1, nil), mat.NewDense(2*l, 1, nil)
	for i := range 2 * l {
		sigma := []float64{0.1, 3}[i%2]
		X.Set(i, 0, rng.NormFloat64())
		Y.Set(i, 0, X.At(i, 0)+sigma*rng.NormFloat64())
		W.Set(i, 0, 1/(sigma*sigma))
	}
	part := func(a *mat.Dense, from, to int) *mat.Dense { return mat.DenseCopyOf(a.Slice(from, to, 0, 1)) }
	m := fittest.Loaded(t, fittest.Fit(t, part(X, 0, l), part(Y, 0, l), iokl.Options{
		Kernels: []string{"linear:all"}, Lambda: 1e-3, Weights: part(W, 0, l), IntervalFolds: 5,
	}))
	fresh := part(X, l, 2*l)
	r, err := m.PredictInterval(t.Context(), fresh, iokl.IntervalOptions{Weights: part(W, l, 2*l)})
	if err != nil {
		t.Fatal(err)
	}
	plain, err := m.PredictInterval(t.Context(), fresh, iokl.IntervalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	inside := [2]float64{}
	for i := range l {
		if y := Y.At(l+i, 0); r.Low.At(i, 0) <= y && y <= r.High.At(i, 0) {
			inside[i%2] += 2. / l
		}
		sigma := []float64{0.1, 3}[i%2]
		width, one := r.High.At(i, 0)-r.Low.At(i, 0), plain.High.At(i, 0)-plain.Low.At(i, 0)
		if !(math.Abs(width/one/sigma-1) < 0.1) {
			t.Fatalf("row %d: width %g, of weight 1 %g", i, width, one)
		}
	}
	if min(inside[0], inside[1]) < 0.82 || max(inside[0], inside[1]) > 0.98 {
		t.Errorf("intervals hold %.3f of the two halves", inside)
	}
	h, err := m.HeldOut(t.Context())
	if err != nil || h.Weights == nil {
		t.Fatalf("no weights are held out: %v", err)
	}
	for i := range l {
		if e := math.Abs(h.Targets.At(i, 0) - h.Predictions.At(i, 0)); e > 1 && h.Weights.At(i, 0) > 1 {
			t.Errorf("row %d is off by %g at weight %g", i, e, h.Weights.At(i, 0))
		}
	}
	for name, w := range map[string]*mat.Dense{
		"negative": mat.NewDense(l, 1, append([]float64{-1}, make([]float64, l-1)...)),
		"fewer":    mat.NewDense(3, 1, nil),
	} {
		if _, err := m.PredictInterval(t.Context(), fresh, iokl.IntervalOptions{Weights: w}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
