package columns_test

import (
	"bytes"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/internal/learn/learntest"
)

// TestInputLimits takes an input far beyond those of the training as one that is the width of their range beyond,
// where inputs are scaled, and keeps that in the file.
func TestInputLimits(t *testing.T) {
	X, Y := learntest.Wave(40, 3)
	lo, hi := mat.Min(X.ColView(0)), mat.Max(X.ColView(0))
	at := func(first float64) *mat.Dense {
		x := mat.DenseCopyOf(X.Slice(0, 1, 0, 4))
		x.Set(0, 0, first)
		return x
	}
	for _, standardize := range []iokl.Scaling{iokl.ScaleBoth, iokl.ScaleTargets} {
		m, err := iokl.Fit(bg, X, Y, iokl.Options{
			Kernels: []string{"linear:all"}, Lambda: 1e-3,
			Standardize: standardize,
		})
		if err != nil {
			t.Fatal(err)
		}
		var file bytes.Buffer
		if err := m.Encode(&file); err != nil {
			t.Fatal(err)
		}
		loaded, err := iokl.Decode(bytes.NewReader(file.Bytes()), int64(file.Len()))
		if err != nil {
			t.Fatal(err)
		}
		for name, m := range map[string]*iokl.Model{"fitted": m, "loaded": loaded} {
			predict := func(first float64) float64 {
				P, err := m.Predict(at(first))
				if err != nil {
					t.Fatal(err)
				}
				return P.At(0, 0)
			}
			end, near, far := predict(2*hi-lo), predict(1.9*hi-.9*lo), predict(1e6*hi)
			if scaled := standardize == "x,y"; near == end || (far == end) != scaled ||
				(predict(-1e6*hi) == predict(2*lo-hi)) != scaled {
				t.Errorf("%s, standardize %s: %g near the limit, %g at it, %g beyond", name, standardize, near, end,
					far)
			}
		}
	}
}
