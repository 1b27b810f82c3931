package columns_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/internal/learn/learntest"
)

var bg = context.Background()

func TestStandardizeInverts(t *testing.T) {
	X, Y := learntest.Wave(60, 4)
	opt := iokl.Options{Kernels: []string{"gaussian:all"}, Lambda: 1e-3}
	m, err := iokl.Fit(bg, X, Y, opt)
	if err != nil {
		t.Fatal(err)
	}
	// Other units of inputs and outputs change the predictions by those units only.
	var X2, Y2 mat.Dense
	X2.Apply(func(_, j int, v float64) float64 { return v*float64(j+1)*1e3 - 7 }, X)
	Y2.Apply(func(_, j int, v float64) float64 { return v*1e-6 + float64(j) }, Y)
	m2, err := iokl.Fit(bg, &X2, &Y2, opt)
	if err != nil {
		t.Fatal(err)
	}
	P, _ := m.Predict(X)
	P2, _ := m2.Predict(&X2)
	for i := range 60 {
		for j := range 3 {
			want := P.At(i, j)*1e-6 + float64(j)
			if math.Abs(P2.At(i, j)-want) > 1e-7*math.Abs(P.At(i, j))*1e-6+1e-9 {
				t.Fatalf("row %d, output %d: %g, want %g", i, j, P2.At(i, j), want)
			}
		}
	}
}

// Units whose squares overflow or vanish are units like others.
func TestExtremeUnits(t *testing.T) {
	X, Y := learntest.Wave(40, 4)
	opt := iokl.Options{Kernels: []string{"gaussian:all"}, Lambda: 1e-3}
	m, err := iokl.Fit(bg, X, Y, opt)
	if err != nil {
		t.Fatal(err)
	}
	P, _ := m.Predict(X)
	for _, unit := range []float64{0x1p-700, 0x1p700} {
		var X2, Y2 mat.Dense
		X2.Scale(unit, X)
		Y2.Scale(unit, Y)
		m2, err := iokl.Fit(bg, &X2, &Y2, opt)
		if err != nil {
			t.Errorf("unit %g: %v", unit, err)
			continue
		}
		P2, _ := m2.Predict(&X2)
		P2.Scale(1/unit, P2)
		if !mat.EqualApprox(P, P2, 1e-12) {
			t.Errorf("unit %g: other predictions", unit)
		}
	}
}

// A fit that fails because numbers overflow has a certificate that JSON can say.
func TestOverflow(t *testing.T) {
	X, Y := learntest.Wave(30, 4)
	m, err := iokl.Fit(bg, X, Y, iokl.Options{
		Kernels: []string{"gaussian:all"}, Lambda: 1e-3, Tau: 1e300,
		Standardize: "x",
	})
	if err == nil || m == nil {
		t.Fatalf("model %v, %v", m, err)
	}
	if _, err := json.Marshal(m.Certificate()); err != nil {
		t.Error(err)
	}
	Y.Scale(1e200, Y)
	if _, err := iokl.Fit(bg, X, Y, iokl.Options{
		Kernels: []string{"gaussian:all"}, Lambda: 1e-3,
		Standardize: "x",
	}); !errors.Is(
		err, iokl.ErrInput) {
		t.Errorf("‖Y‖² overflows: %v", err)
	}
}
