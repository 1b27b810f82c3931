package model_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/internal/fittest"
)

// threeClasses is samples of three classes, and their probabilities: softmax of three linear functions of x.
func threeClasses(l int, seed uint64) (X *mat.Dense, labels []string, P *mat.Dense) {
	rng := rand.New(rand.NewPCG(seed, 11))
	X, P = mat.NewDense(l, 2, nil), mat.NewDense(l, 3, nil)
	for i := range l {
		a, b := 4*rng.Float64()-2, 4*rng.Float64()-2
		X.SetRow(i, []float64{a, b})
		p := P.RawRowView(i)
		sum := 0.0
		for k, f := range []float64{2 * a, -a + 2*b, -a - 2*b} {
			p[k] = math.Exp(f)
			sum += p[k]
		}
		u, label := rng.Float64(), 2
		for k := range p {
			p[k] /= sum
		}
		if u < p[0] {
			label = 0
		} else if u < p[0]+p[1] {
			label = 1
		}
		labels = append(labels, fmt.Sprintf("c%d", label))
	}
	return X, labels, P
}

// Probabilities by the logistic loss sum to 1, are near those that the labels were drawn by, and survive a file.
func TestProbabilities(t *testing.T) {
	X, labels, _ := threeClasses(400, 1)
	m, err := iokl.FitClasses(t.Context(), X, labels, iokl.Options{
		Kernels: []string{"gaussian:all:median*2"}, Lambda: 3e-4, Loss: "logistic",
	})
	if err != nil {
		t.Fatal(err)
	}
	if m.Certificate().Loss != "logistic" || !m.Certificate().Converged {
		t.Errorf("%+v", m.Certificate())
	}
	Z, test, P := threeClasses(600, 2)
	Q, err := m.PredictProba(Z)
	if err != nil {
		t.Fatal(err)
	}
	classes, err := m.Classify(Z)
	if err != nil {
		t.Fatal(err)
	}
	var off, logLoss, best, right float64
	for i := range 600 {
		sum := 0.0
		for k, q := range Q.RawRowView(i) {
			if !(q >= 0 && q <= 1) {
				t.Fatalf("row %d: probabilities %v", i, Q.RawRowView(i))
			}
			sum += q
			off += math.Abs(q-P.At(i, k)) / 1800
			if test[i] == m.Classes()[k] {
				logLoss -= math.Log(q) / 600
				best -= math.Log(P.At(i, k)) / 600
			}
		}
		if math.Abs(sum-1) > 1e-12 {
			t.Fatalf("row %d: probabilities %v of the sum %g", i, Q.RawRowView(i), sum)
		}
		if classes[i] == test[i] {
			right++
		}
	}
	if !(off < 0.06 && logLoss < best+0.06) {
		t.Errorf("probabilities are %.3g off, log loss %.3g, of the true ones %.3g", off, logLoss, best)
	}
	if !(right/600 > 0.6) {
		t.Errorf("%.3g of the classes are right", right/600)
	}
}

// A target of 0 and 1 has a probability without inputs that tell: its share, by the weights.
func TestLogisticPrior(t *testing.T) {
	const l = 60
	rng := rand.New(rand.NewPCG(3, 3))
	X, Y, W := mat.NewDense(l, 1, nil), mat.NewDense(l, 1, nil), mat.NewDense(l, 1, nil)
	for i := range l {
		X.Set(i, 0, rng.NormFloat64())
		W.Set(i, 0, 1)
		if i%4 == 0 {
			Y.Set(i, 0, 1)
			W.Set(i, 0, 3)
		}
	}
	m := fittest.Fit(t, X, Y, iokl.Options{Kernels: []string{"linear:all"}, Lambda: 1e6, Loss: "logistic", Weights: W})
	P, err := m.PredictProba(X)
	if err != nil {
		t.Fatal(err)
	}
	if p := P.At(0, 0); !(math.Abs(p-0.5) < 1e-3) {
		t.Errorf("probability %g, want 0.5", p)
	}
	plain := fittest.Fit(t, X, Y, iokl.Options{Kernels: []string{"linear:all"}, Lambda: 1})
	if _, err := plain.PredictProba(X); !errors.Is(err, iokl.ErrInput) {
		t.Errorf("probabilities by squares: %v", err)
	}
}
