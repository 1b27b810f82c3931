package bcd

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// learningCurves are l standardised curves of n epochs and their five settings. Half of the curves have lost their
// tail.
func learningCurves(kind string, seed uint64, l, n int) (X, Y blas.General) {
	rng := newRand(seed)
	X, Y = randn(rng, l, 5), blas.NewGeneral(l, n)
	noise := 1.0
	if kind == "exact" {
		noise = 0
	}
	for i := range l {
		x, y := blas.Row(X, i), blas.Row(Y, i)
		limit := math.Tanh(x[0]) + 0.5*math.Sin(2*x[1]) - 0.3*x[2]*x[2] + 0.15*noise*rng.NormFloat64()
		rate := math.Exp(0.7*math.Sin(x[3]+x[0]) + 0.15*noise*rng.NormFloat64() - 1)
		at := float64(n) * (0.3 + 0.4/(1+math.Exp(-x[1]-0.15*noise*rng.NormFloat64())))
		for k := range y {
			e := float64(k)
			y[k] = limit + (-1.5+0.3*x[2]-limit)*math.Pow(1+e, -rate) + 0.02*noise*rng.NormFloat64()
			switch kind {
			case "falling":
				y[k] = math.Exp(0.3*x[0])*(0.05*math.Exp(x[1])+math.Exp(-rate*e/4)) + 0.02*rng.NormFloat64()
			case "jumping":
				if e > at {
					y[k] += 0.8 + 0.3*x[4]
				}
			case "plateaus":
				y[k] = limit/(1+math.Exp(-2*(e-at))) + 0.02*rng.NormFloat64()
			case "heavy tails":
				y[k] += 0.05 * rng.NormFloat64() / math.Sqrt(math.Max(1e-3, rng.ExpFloat64()*rng.ExpFloat64()))
			case "diverging":
				if x[4] > 1 {
					y[k] += math.Exp(math.Min(0.4*e*(x[4]-1), 8))
				}
			}
		}
		if rng.IntN(2) == 0 {
			for k := 1 + rng.IntN(n-1); k < n; k++ {
				y[k] = math.NaN()
			}
		}
	}
	for k := range n {
		sum, squares, count := 0.0, 0.0, 0.0
		for i := range l {
			if v := Y.Data[i*n+k]; !math.IsNaN(v) {
				sum, squares, count = sum+v, squares+v*v, count+1
			}
		}
		mean := sum / count
		for i := range l {
			Y.Data[i*n+k] = (Y.Data[i*n+k] - mean) / math.Sqrt(squares/count-mean*mean)
		}
	}
	return X, Y
}

// curvesProblem learns the output kernel of curves with one Gaussian kernel of their settings.
func curvesProblem(kind string, seed uint64, lambda float64) *Problem {
	const l, n = 150, 16
	X, Y := learningCurves(kind, seed, l, n)
	K := blas.NewGeneral(l, l)
	for i := range l {
		for j := range l {
			r := 0.0
			for c, v := range blas.Row(X, i) {
				r += square(v - blas.Row(X, j)[c])
			}
			K.Data[i*l+j] = math.Exp(-r / 8)
		}
	}
	grams := linop.NewGramSum([]*blas.Sym{blas.SymFrom(K, blas.Float64)}, nil, blas.Float64)
	return &Problem{Space: NewSamples(grams, Y), Lambda: lambda, Tau: n, Model: Output}
}

// Descents on curves without their tails reach the tolerance, in a number of iterations that shows no stall.
func TestCurvesReachTolerance(t *testing.T) {
	total := 0
	for i, kind := range []string{"smooth", "falling", "jumping", "plateaus", "heavy tails", "diverging", "exact"} {
		for _, lambda := range []float64{1e-3, 1e-5} {
			res, err := Solve(t.Context(), curvesProblem(kind, uint64(i), lambda), Options{Tol: 1e-4})
			if err != nil {
				t.Errorf("%s, λ = %g: %v", kind, lambda, err)
			}
			t.Logf("%s, λ = %g: %d iterations, %d columns", kind, lambda, res.OuterIterations, res.KernelMultiplies)
			total += res.OuterIterations
		}
	}
	const most = 145 // 164 with bounds at single points alone
	if total > most {
		t.Errorf("%d iterations in all, want at most %d", total, most)
	}
}

// Where no tolerance is asked for, a gap of up to ten times the default is no error.
func TestToleranceNotAskedFor(t *testing.T) {
	seen := false
	for k := 1; k < 12; k++ {
		p := curvesProblem("diverging", 5, 1e-3)
		res, err := Solve(context.Background(), p, Options{MaxOuter: k})
		if near := res.RelativeGap <= 1e-3; near != (err == nil) || res.Converged != (res.RelativeGap <= 1e-4) {
			t.Errorf("gap %g, converged %v: %v", res.RelativeGap, res.Converged, err)
		}
		if err == nil && !res.Converged {
			seen = true
			_, err = Solve(context.Background(), p, Options{MaxOuter: k, Tol: 1e-4})
			if !errors.Is(err, ErrNotConverged) {
				t.Errorf("gap %g beside a tolerance of 1e-4: %v", res.RelativeGap, err)
			}
		}
	}
	if !seen {
		t.Error("no number of iterations leaves a gap between the two tolerances")
	}
}
