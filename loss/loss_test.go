package loss

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/iokl/iokl/blas"
)

var all = []Loss{{}, {Huber, 0.7}, {Quantile, 0.2}, {Quantile, 0.5}, {Logistic, 0}}

func targets(l Loss) []float64 {
	if l.Kind == Logistic {
		return []float64{0, 1}
	}
	return []float64{-1.3, 0, 0.4, 2}
}

// Slope and curvature are the differences of the values and of the slopes.
func TestSlope(t *testing.T) {
	const h = 1e-5
	for _, l := range all {
		for _, y := range targets(l) {
			for f := -4.05; f < 4; f += 0.1 {
				slope, curvature := l.Slope(y, f)
				if d := -(l.Value(y, f+h) - l.Value(y, f-h)) / (2 * h); math.Abs(d-slope) > 1e-4 {
					t.Errorf("%v at y = %g, f = %g: slope %g, by differences %g", l, y, f, slope, d)
				}
				up, _ := l.Slope(y, f+h)
				down, _ := l.Slope(y, f-h)
				if d := -(up - down) / (2 * h); math.Abs(d-curvature) > 1e-4 {
					t.Errorf("%v at y = %g, f = %g: curvature %g, by differences %g", l, y, f, curvature, d)
				}
			}
		}
	}
}

// ψ*(v) is the least of φ + v·f over a fine grid of f, and that is unbounded outside the box.
func TestConjugate(t *testing.T) {
	for _, l := range all {
		for _, y := range targets(l) {
			lo, hi := l.Box(y)
			for v := -1.95; v < 2; v += 0.1 {
				least := math.Inf(1)
				for f := -100.0; f <= 100; f += 0.01 {
					least = math.Min(least, l.Value(y, f)+v*f)
				}
				switch in := v > lo && v < hi; {
				case in && math.Abs(least-l.Conjugate(y, v)) > 0.02:
					t.Errorf("%v at y = %g, v = %g: %g, by a grid %g", l, y, v, l.Conjugate(y, v), least)
				case !in && least > -0.5:
					t.Errorf("%v at y = %g, v = %g outside the box: φ + vf is at least %g", l, y, v, least)
				}
			}
		}
	}
}

// Far from 0 the logistic loss and its probabilities neither overflow nor lose the small one.
func TestLogisticFar(t *testing.T) {
	l := Loss{Kind: Logistic}
	for _, c := range []struct{ y, f, value, slope float64 }{
		{0, 1000, 1000, -1},
		{1, 1000, 0, 0},
		{1, -1000, 1000, 1},
		{1, 50, math.Exp(-50), math.Exp(-50)},
	} {
		slope, _ := l.Slope(c.y, c.f)
		if v := l.Value(c.y, c.f); math.Abs(v-c.value) > 1e-12*c.value+1e-14 || math.Abs(slope-c.slope) > 1e-15 {
			t.Errorf("y = %g, f = %g: value %g, slope %g", c.y, c.f, v, slope)
		}
	}
	if p := Probability(-700); !(math.Abs(p/math.Exp(-700)-1) <= 1e-12) {
		t.Errorf("σ(−700) = %g", p)
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string][]Loss{
		"":                 {{}},
		"squared":          {{}},
		"logistic":         {{Kind: Logistic}},
		"huber":            {{Huber, 1.345}},
		"huber:0.3":        {{Huber, 0.3}},
		"quantile:0.9":     {{Quantile, 0.9}},
		"quantile:.05,0.5": {{Quantile, 0.05}, {Quantile, 0.5}},
	} {
		got, err := Parse(text)
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
		for _, l := range got {
			if again, err := Parse(l.String()); err != nil || again[0] != l {
				t.Errorf("%v is read as %v, %v", l, again, err)
			}
		}
	}
	for _, text := range []string{
		"huber:", "huber:0", "huber:-1", "huber:NaN", "huber:Inf", "quantile", "quantile:", "quantile:0", "quantile:1",
		"quantile:0.5,", "quantile:1.5", "logistic:1", "squared:2", "absolute",
	} {
		if got, err := Parse(text); !errors.Is(err, ErrInvalid) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

// Gap is the difference of the two sides, with kinks rounded and without.
func TestGap(t *testing.T) {
	const l, n, mu = 40, 3, 0.3
	rng := rand.New(rand.NewPCG(5, 6))
	random := func() blas.General {
		a := blas.NewGeneral(l, n)
		for i := range a.Data {
			a.Data[i] = rng.NormFloat64()
		}
		return a
	}
	for at := range 4 {
		loss, free := []Loss{{Quantile, 0.3}, {Huber, 0.8}}[at/2], at%2 > 0
		c, err := NewCells(loss, random(), func(i, j int) float64 { return rng.Float64() }, free)
		if err != nil {
			t.Fatal(err)
		}
		C, F := random(), random()
		c.Clip(C, mu)
		for _, kappa := range []float64{0, 0.2} {
			if kappa > 0 {
				c.Rounding = Rounding{kappa, random()}
			}
			if got, want := c.Gap(C, F, mu), c.Sum(F)-c.Dual(C, mu, 1); !(math.Abs(got-want) <= 1e-12*c.Zero) {
				t.Errorf("%v, κ = %g: %g, want %g", loss, kappa, got, want)
			}
		}
	}
}

// Constants are the best ones, and coefficients in the box have the sum 0, whatever the scales of targets.
func TestConstants(t *testing.T) {
	const l, mu = 60, 0.3
	rng := rand.New(rand.NewPCG(7, 8))
	for _, text := range []string{"squared", "huber:0.8", "quantile:0.3", "quantile:0.02", "logistic"} {
		for _, scale := range []float64{1, 1e-8, 1e8} {
			for _, ties := range []bool{false, true} {
				losses, err := Parse(text)
				if err != nil {
					t.Fatal(err)
				}
				ls := losses[0]
				Y, F, C := blas.NewGeneral(l, 1), blas.NewGeneral(l, 1), blas.NewGeneral(l, 1)
				for i := range l {
					Y.Data[i] = scale * math.Exp(rng.NormFloat64())
					F.Data[i], C.Data[i] = scale*rng.NormFloat64(), rng.NormFloat64()
					if ties {
						Y.Data[i], F.Data[i] = scale*float64(i%3), 0
					}
					if ls.Kind == Logistic {
						Y.Data[i] = float64(max(0, i%9-7))
					}
				}
				if ls.Kind == Huber {
					ls.Parameter *= scale
					blas.Scal(scale, C.Data)
				}
				c, err := NewCells(ls, Y, func(i, _ int) float64 { return float64(i % 4) }, true)
				if err != nil {
					t.Fatal(err)
				}
				least := c.Sum(F)
				b := c.Offset[0]
				for _, d := range []float64{-1e-4, 1e-4} {
					move := d * math.Max(math.Abs(b), scale)
					if ls.Kind == Logistic {
						move = d
					}
					var sum float64
					c.Each(func(at int, y, w float64) { sum += w * ls.Value(y, F.Data[at]+b+move) })
					if !(sum >= least*(1-1e-14)) {
						t.Errorf("%s, scale %g, ties %v: %g at the constant %g, %g beside it", text, scale, ties, least,
							b, sum)
					}
				}
				c.Clip(C, mu)
				var sum, size float64
				c.Each(func(at int, y, w float64) {
					lo, hi := ls.Box(y)
					if v := 2 * mu * C.Data[at] / w; !(v >= lo-1e-12 && v <= hi+1e-12) {
						t.Errorf("%s: v = %g leaves the box", text, v)
					}
					sum, size = sum+C.Data[at], size+math.Abs(C.Data[at])
				})
				if !(math.Abs(sum) <= 1e-13*size) {
					t.Errorf("%s: coefficients add up to %g, their sizes to %g", text, sum, size)
				}
				if c.Clip(C, mu) {
					t.Errorf("%s: coefficients in the box have moved", text)
				}
			}
		}
	}
}
