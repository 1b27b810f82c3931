package results

import (
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
)

// Errors and their standard errors are numbers at all scales of targets.
func TestErrorsAtScales(t *testing.T) {
	for _, scale := range []float64{1e-200, 1e-100, 1, 1e100, 1e200} {
		Y, F := mat.NewDense(4, 1, []float64{0, scale, 3 * scale, scale}), mat.NewDense(4, 1, nil)
		e := fitError(F, Y, nil, 0)
		for _, v := range []struct{ got, want float64 }{
			{e.RMSE, math.Sqrt(11. / 4)},
			{e.Deviation, math.Sqrt(19) / 4},
			{e.stderr, math.Sqrt(13.1875/4) / math.Sqrt(11)},
		} {
			if !(math.Abs(v.got/scale-v.want) <= 1e-12*v.want) {
				t.Errorf("scale %g: %g, want %g of it", scale, v.got, v.want)
			}
		}
	}
}

// One gross error in eleven does not move the measure of a robust fit.
func TestHeldOutMedian(t *testing.T) {
	Y, F := mat.NewDense(11, 1, nil), mat.NewDense(11, 1, nil)
	for i := range 11 {
		F.Set(i, 0, float64(i))
		Y.Set(i, 0, float64(i)+.01*float64(i))
	}
	text := heldOutMedian(&iokl.HeldOut{Targets: Y, Predictions: F}, 0)
	Y.Set(10, 0, 1e100)
	if got := heldOutMedian(&iokl.HeldOut{Targets: Y, Predictions: F}, 0); got != text ||
		!strings.HasPrefix(got, "a median absolute error of 0.05 ± ") || strings.Contains(got, "NaN") {
		t.Errorf("%q, without a gross error %q", got, text)
	}
}

// A warning names quantiles that far more or less than their part of held-out targets lie below, and none of targets
// that equal the prediction up to rounding.
func TestHeldOutWarnings(t *testing.T) {
	const l = 200
	X, Y := mat.NewDense(l, 1, nil), mat.NewDense(l, 1, nil)
	for i := range l {
		X.Set(i, 0, float64(i%17))
		Y.Set(i, 0, float64(i%13))
	}
	m, err := iokl.Fit(t.Context(), X, Y, iokl.Options{
		Kernels: []string{"linear:all"}, Lambda: 1, Loss: "quantile:0.1", Learn: "none",
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		predict func(y float64, i int) float64
		warns   bool
	}{
		{"a tenth below", func(y float64, i int) float64 { return y + 1 - 2*math.Min(1, float64(i%10)) }, false},
		{"half below", func(y float64, i int) float64 { return y + 1 - 2*float64(i%2) }, true},
		{"none below", func(y float64, _ int) float64 { return y - 1 }, true},
		{"equal", func(y float64, i int) float64 { return y + 1e-9*float64(i%2) }, false},
	} {
		F := mat.NewDense(l, 1, nil)
		for i := range l {
			F.Set(i, 0, c.predict(Y.At(i, 0), i))
		}
		got := HeldOutWarnings(m, &iokl.HeldOut{Targets: Y, Predictions: F})
		if (len(got) > 0) != c.warns {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}
