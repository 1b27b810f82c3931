package frankwolfe_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/frankwolfe"
)

// sorted is the textbook projection on the simplex by sorting (Held, Wolfe, Crowder).
func sorted(x []float64, tau float64) []float64 {
	u := slices.Clone(x)
	slices.SortFunc(u, func(a, b float64) int { return int(math.Copysign(1, b-a)) })
	var sum, theta float64
	for k, v := range u {
		sum += v
		if t := (sum - tau) / float64(k+1); v > t {
			theta = t
		}
	}
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = max(v-theta, 0)
	}
	return out
}

func TestProjectSimplex(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		x := make([]float64, 1+rng.IntN(30))
		for i := range x {
			x[i] = rng.NormFloat64()
			if rng.IntN(4) == 0 {
				x[i] = math.Round(x[i]) // ties
			}
		}
		tau := math.Abs(rng.NormFloat64()) * 3
		want := sorted(x, tau)
		scale := max(tau, slices.Max(x), -slices.Min(x))
		got := slices.Clone(x)
		frankwolfe.ProjectSimplex(got, tau)
		capped := slices.Clone(x)
		frankwolfe.ProjectCappedSimplex(capped, tau)
		inside, sum := make([]float64, len(x)), 0.0
		for i, v := range x {
			inside[i] = max(v, 0)
			sum += inside[i]
		}
		wantCapped := want
		if sum <= tau {
			wantCapped = inside
		}
		for i := range x {
			if !(math.Abs(got[i]-want[i]) <= 1e-14*scale) {
				t.Fatalf("%v on the simplex of %g: %v, want %v", x, tau, got, want)
			}
			if !(math.Abs(capped[i]-wantCapped[i]) <= 1e-14*scale) {
				t.Fatalf("%v on the capped simplex of %g: %v, want %v", x, tau, capped, wantCapped)
			}
		}
	}
}

func TestSimplexEdges(t *testing.T) {
	for _, c := range []struct {
		name string
		x    []float64
		tau  float64
		want []float64
	}{
		{"one", []float64{-5}, 2, []float64{2}},
		{"equal", []float64{1, 1, 1, 1}, 2, []float64{.5, .5, .5, .5}},
		{"tau 0", []float64{3, 1}, 0, []float64{0, 0}},
		{"far away", []float64{1e20, 1e20, -1e20}, 1, []float64{.5, .5, 0}},
		{"huge tau", []float64{1, 2}, 1e300, []float64{5e299, 5e299}},
		{"tiny", []float64{1e-200, 3e-200}, 2e-200, []float64{0, 2e-200}},
		{"NaN", []float64{1, math.NaN()}, 1, []float64{math.NaN(), math.NaN()}},
		{"infinite", []float64{1, math.Inf(1)}, 1, []float64{math.NaN(), math.NaN()}},
	} {
		t.Run(c.name, func(t *testing.T) {
			frankwolfe.ProjectSimplex(c.x, c.tau)
			for i, v := range c.x {
				if w := c.want[i]; math.IsNaN(v) != math.IsNaN(w) || math.Abs(v-w) > 1e-15*math.Abs(w) {
					t.Fatalf("%v, want %v", c.x, c.want)
				}
			}
		})
	}
	x := []float64{4, 3, 2}
	if n := testing.AllocsPerRun(10, func() { frankwolfe.ProjectSimplex(x, 1) }); n > 0 {
		t.Errorf("%g allocations", n)
	}
	nan := []float64{math.NaN(), 1}
	frankwolfe.ProjectCappedSimplex(nan, 5)
	if !math.IsNaN(nan[1]) {
		t.Errorf("NaN projects to %v", nan)
	}
}

// The projection P of a is the only point of the set with ⟨a−P, Z−P⟩ ≤ 0 for
// every Z in it; the largest ⟨a−P, Z⟩ is τ·max(0, λ_max(a−P)).
func TestProjectSpectrahedron(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for trial := range 60 {
		n, tau := 1+rng.IntN(12), 5*rng.Float64()
		if trial%10 == 0 {
			tau = 0
		}
		a := randomSymmetric(rng, n)
		s, err := frankwolfe.ProjectSpectrahedron(nil, a, tau)
		if err != nil {
			t.Fatal(err)
		}
		if s.Trace() > tau*(1+1e-12) {
			t.Fatalf("trace %g above %g", s.Trace(), tau)
		}
		P := blas.NewGeneral(n, n)
		s.Dense(blas.Active(), P)
		inner := blas.Inner(a, P) - blas.Inner(P, P)
		r := blas.Clone(a)
		blas.AddScaled(r, -1, P)
		w := make([]float64, n)
		if err := blas.Active().Syevals(r, w); err != nil {
			t.Fatal(err)
		}
		if excess := tau*max(0, w[n-1]) - inner; !(excess <= 1e-12*(1+blas.Frob(a))*(1+tau)) {
			t.Fatalf("n = %d, tau = %g: the variational inequality fails by %g", n, tau, excess)
		}
		for _, v := range s.S {
			if !(v > 0) {
				t.Fatalf("eigenvalue %g kept", v)
			}
		}
	}
	bad := blas.NewGeneral(2, 2)
	bad.Data[2] = math.NaN()
	if _, err := frankwolfe.ProjectSpectrahedron(nil, bad, 1); !errors.Is(err, frankwolfe.ErrNotFinite) {
		t.Errorf("NaN: error %v", err)
	}
}

func randomSymmetric(rng *rand.Rand, n int) blas.General {
	a := blas.NewGeneral(n, n)
	for i := range n {
		for j := range i + 1 {
			v := rng.NormFloat64()
			a.Data[i*n+j], a.Data[j*n+i] = v, v
		}
	}
	return a
}
