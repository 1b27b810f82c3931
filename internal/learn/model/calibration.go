// This file calibrates the probabilities of the logistic loss.

package model

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/loss"
)

// Calibrate makes the probabilities of a model of the logistic loss σ(a·f + b) of its log odds f, with the pair a ≥ 0,
// b that is the most likely for the samples left out of its folds (Platt, Advances in Large Margin Classifiers, 1999).
// A cell of target j of sample i counts weight(i, j) times. One pair for all outputs keeps the order of the classes.
func (m *Model) Calibrate(weight func(i, j int) float64) {
	var f, y, w []float64
	for _, fold := range m.Folds {
		for k, i := range fold.Rows {
			for _, j := range m.Out.Live {
				if v := fold.Y.Data[k*fold.Y.Stride+j]; !math.IsNaN(v) {
					f, y, w = append(f, fold.F.Data[k*fold.F.Stride+j]), append(y, v), append(w, weight(i, j))
				}
			}
		}
	}
	m.Out.Calibration = platt(f, y, w)
}

// platt maximises Σ w·(t·log p + (1−t)·log(1−p)), p = σ(a·f + b), over a ≥ 0 and b. The targets t are (N₁+1)/(N₁+2) in
// the place of y = 1 and 1/(N₀+2) in that of 0, N₁ and N₀ being the weights of these, which keeps a and b finite.
func platt(f, y, w []float64) *columns.Platt {
	ones := floats.Dot(w, y)
	zeros := floats.Sum(w) - ones
	t := make([]float64, len(y))
	for i, v := range y {
		if t[i] = 1 / (zeros + 2); v == 1 {
			t[i] = (ones + 1) / (ones + 2)
		}
	}
	l := likelihood{f, t, w}
	a, b := l.maximize(1, 0)
	if a < 0 {
		p := stat.Mean(t, w)
		a, b = 0, math.Log(p/(1-p))
	}
	return &columns.Platt{Slope: a, Shift: b}
}

// likelihood is −log of that of a and b, convex.
type likelihood struct{ f, t, w []float64 }

func (l *likelihood) value(a, b float64) (sum float64) {
	for i, f := range l.f {
		sum += l.w[i] * loss.Loss{Kind: loss.Logistic}.Value(l.t[i], a*f+b)
	}
	return sum
}

// step is Newton's. Where f is constant, of all steps that reach the minimum it is the shortest.
func (l *likelihood) step(a, b float64) (da, db float64) {
	var ga, gb, haa, hab, hbb float64
	for i, f := range l.f {
		slope, curvature := loss.Loss{Kind: loss.Logistic}.Slope(l.t[i], a*f+b)
		slope, curvature = l.w[i]*slope, l.w[i]*curvature
		ga, gb = ga+slope*f, gb+slope
		haa, hab, hbb = haa+curvature*f*f, hab+curvature*f, hbb+curvature
	}
	const ridge = 1e-12 // of the curvature, above its rounding
	r := ridge * (haa + hbb)
	haa, hbb = haa+r, hbb+r
	det := haa*hbb - hab*hab
	return (hbb*ga - hab*gb) / det, (haa*gb - hab*ga) / det
}

// maximize takes Newton's steps from a and b, halved until they improve, while this is more than rounding.
func (l *likelihood) maximize(a, b float64) (float64, float64) {
	const most, small = 100, 1e-14 // steps, and the relative improvement that is rounding
	for at, k := l.value(a, b), 0; k < most; k++ {
		da, db := l.step(a, b)
		next := l.value(a+da, b+db)
		for size := 0; !(next < at) && size < most; size++ {
			da, db = da/2, db/2
			next = l.value(a+da, b+db)
		}
		if !(at-next > small*at) {
			break
		}
		a, b, at = a+da, b+db, next
	}
	return a, b
}
