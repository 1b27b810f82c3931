package lengths

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/optimize"

	"github.com/iokl/iokl/kernel"
)

// TestDirectionsOfBFGS compares with those of gonum, which keeps the matrix, along a path of points.
func TestDirectionsOfBFGS(t *testing.T) {
	const d = 7
	rng := rand.New(rand.NewPCG(1, 1))
	curvature := make([]float64, d)
	for k := range curvature {
		curvature[k] = math.Exp(3 * rng.Float64())
	}
	at := func(x []float64) *optimize.Location {
		g := make([]float64, d)
		for k, v := range x {
			g[k] = curvature[k]*v + v*v*v
		}
		return &optimize.Location{X: x, Gradient: g}
	}
	x := normal(rng, 1, d).Data
	ours, theirs := new(bfgs), new(optimize.BFGS)
	got, want := make([]float64, d), make([]float64, d)
	a, b := ours.InitDirection(at(x), got), theirs.InitDirection(at(x), want)
	for step := range 20 {
		apart := floats.Distance(got, want, 2) / floats.Norm(want, 2)
		if !(math.Abs(a-b) <= 1e-14*b) || !(apart <= 1e-10) {
			t.Fatalf("step %d: %v times %g, want %v times %g", step, got, a, want, b)
		}
		next := make([]float64, d)
		floats.AddScaledTo(next, x, (0.2+rng.Float64())*a, got)
		x = next
		a, b = ours.NextDirection(at(x), got), theirs.NextDirection(at(x), want)
	}
}

// TestMinimize ends near a point without a gradient, and at the start where the context has ended or nothing lowers the
// criterion.
func TestMinimize(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	X, Y := normal(rng, 60, 3), normal(rng, 60, 1)
	for i := range 60 {
		Y.Data[i] = math.Sin(2*X.Data[3*i]) + 0.1*Y.Data[i]
	}
	s, err := newSearch([]kernel.Kind{"gaussian"}, X, Y, &Options{})
	if err != nil {
		t.Fatal(err)
	}
	c, p := s.criterion(t.Context(), 60), s.fresh(func(int) float64 { return 2 })
	grad := make([]float64, len(p))
	start := c.pulled(p, grad)
	far := floats.Norm(grad, 2)
	end, value := c.minimize(t.Context(), p, steps, math.Inf(1))
	again := c.pulled(end, grad)
	if near := floats.Norm(grad, 2); again != value || !(value < start) || !(near < 0.05*far) {
		t.Errorf("%g, %g at its point, from %g; gradients %g and %g", value, again, start, near, far)
	}
	if again, same := c.minimize(t.Context(), end, steps, -math.MaxFloat64); same > value || len(again) != len(end) {
		t.Errorf("%g from the end, which has %g", same, value)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if at, same := c.minimize(ctx, p, steps, math.Inf(1)); same != start || floats.Distance(at, p, 2) != 0 {
		t.Errorf("%g where the context has ended, want %g", same, start)
	}
}

// TestWithin descends on functions that are finite up to 1 alone: to a minimum before, and by steps that end where they
// are finite to the bound.
func TestWithin(t *testing.T) {
	for name, c := range map[string]struct{ slope, want float64 }{"a minimum": {0, .7}, "a bound": {-2, 1}} {
		f := func(at *optimize.Location) {
			x := at.X[0]
			if at.F, at.Gradient[0] = (x-.7)*(x-.7)+c.slope*x, 2*(x-.7)+c.slope; x > 1 {
				at.F, at.Gradient[0] = math.Inf(1), 0
			}
		}
		at := &optimize.Location{X: []float64{-9}, Gradient: []float64{0}}
		f(at)
		best, x := at.F, at.X[0]
		search := &optimize.LinesearchMethod{NextDirectioner: new(bfgs), Linesearcher: new(within)}
		left := 200
		for op, err := search.Init(at); err == nil && left > 0; op, err = search.Iterate(at) {
			if op != optimize.MajorIteration {
				f(at)
				left--
			}
			if at.F < best {
				best, x = at.F, at.X[0]
			}
		}
		if !(math.Abs(x-c.want) <= 1e-6) {
			t.Errorf("%s: %g, want %g", name, x, c.want)
		}
	}
}
