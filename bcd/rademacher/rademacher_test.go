package rademacher

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-12*math.Abs(b) }

// By hand: tr K = 4, 9, 16 and tr L = 4 give u = 4, 6, 8; l = 2, r = 3.
func TestByHand(t *testing.T) {
	c := Class{Radius: 3, Samples: 2, Traces: []float64{4, 9, 16}, TraceL: 4}
	l2 := math.Sqrt(eta0*2) * math.Sqrt(16+36+64)
	for _, tc := range []struct {
		p, want float64
		t       int
	}{
		{3, 1.5 * 18, 1}, // conjugate 3/2: only the first bound
		{2, 1.5 * l2, 2},
		{1.6, 1.5 * l2, 2}, // conjugate 8/3: the bound of p = 2 holds
		{1.5, 1.5 * l2, 2}, // conjugate 3, where √(3η₀)‖u‖₃ is larger
		{1, 1.5 * l2, 2},
	} {
		c.P = tc.p
		got, tt, err := c.Bound()
		if err != nil || tt != tc.t || !near(got, tc.want) {
			t.Errorf("p = %g: bound %g with t = %d, %v; want %g with t = %d", tc.p, got, tt, err, tc.want, tc.t)
		}
	}
}

// With many kernels a larger t wins, and only for small enough p.
func TestManyKernels(t *testing.T) {
	c := Class{P: 1, Radius: 1, Samples: 10, Traces: make([]float64, 400), TraceL: 1}
	for j := range c.Traces {
		c.Traces[j] = 10
	}
	best, bestT := math.Inf(1), 0
	for k := 2; k < 60; k++ {
		if v := math.Sqrt(eta0*float64(k)*10) * math.Pow(400, 1/float64(k)) / 10; v < best {
			best, bestT = v, k
		}
	}
	got, tt, err := c.Bound()
	if err != nil || tt != bestT || !near(got, best) {
		t.Errorf("bound %g with t = %d, %v; want %g with t = %d", got, tt, err, best, bestT)
	}
	loose, err := Separable(400, 1, 1, 1, 10, 1)
	if err != nil || got > loose {
		t.Errorf("the bound from traces, %g, exceeds the one before data, %g", got, loose)
	}
}

func TestSeparable(t *testing.T) {
	unit := 3 * math.Sqrt(2*5/20.0) // r√(κτ/l)
	for _, tc := range []struct {
		m       int
		p, want float64
	}{
		{1, 1, unit * math.Sqrt(eta0)},
		{10, 1, unit * math.Sqrt(eta0*math.E*5)}, // 2 ln 10 = 4.605
		{10, 2, unit * math.Sqrt(10*eta0*2)},
		{10, 1.5, unit * math.Cbrt(10) * math.Sqrt(eta0*3)},
		{10, 1.7, unit * 10},
		{2, 2, unit * 2}, // the first bound is the lesser
	} {
		got, err := Separable(tc.m, 2, 5, 3, 20, tc.p)
		if err != nil || !near(got, tc.want) {
			t.Errorf("m = %d, p = %g: %g, %v; want %g", tc.m, tc.p, got, err, tc.want)
		}
	}
}

// For one kernel the supremum over the class is (r/l)·√(σᵀ(K⊗L)σ), so that the
// complexity can be simulated. It lies below the bound, and by Khintchine's
// inequality not below 1/√2 of it.
func TestSimulation(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	l, n, r := 30, 3, 2.0
	Z, W := random(rng, l, 4), random(rng, n, 2)
	K, L := blas.NewGeneral(l, l), blas.NewGeneral(n, n)
	be := blas.Active()
	blas.Mul(be, K, false, true, Z, Z)
	blas.Mul(be, L, false, true, W, W)
	trace := func(a blas.General) (s float64) {
		for i := range a.Rows {
			s += a.Data[i*a.Stride+i]
		}
		return s
	}
	bound := OneKernel(trace(K), trace(L), r, l)
	var mean float64
	const draws = 4000
	for range draws {
		S, KS, KSL := blas.NewGeneral(l, n), blas.NewGeneral(l, n), blas.NewGeneral(l, n)
		for i := range S.Data {
			S.Data[i] = float64(2*rng.IntN(2) - 1)
		}
		blas.Mul(be, KS, false, false, K, S)
		blas.Mul(be, KSL, false, false, KS, L)
		mean += r / float64(l) * math.Sqrt(blas.Inner(S, KSL)) / draws
	}
	if !(mean <= bound) || !(mean >= bound/math.Sqrt2*0.98) {
		t.Errorf("simulated %g, bound %g", mean, bound)
	}
	c := Class{P: 1, Radius: r, Samples: l, Traces: []float64{trace(K)}, TraceL: trace(L)}
	if got, _, err := c.Bound(); err != nil || !near(got, bound) {
		t.Errorf("a class of one kernel: %g, %v; want %g", got, err, bound)
	}
}

func random(rng *rand.Rand, r, c int) blas.General {
	a := blas.NewGeneral(r, c)
	for i := range a.Data {
		a.Data[i] = rng.NormFloat64()
	}
	return a
}

func TestFitted(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	l := 12
	var terms []*blas.Sym
	for range 3 {
		Z, K := random(rng, l, 5), blas.NewGeneral(l, l)
		blas.Mul(blas.Active(), K, false, true, Z, Z)
		terms = append(terms, blas.SymFrom(K, blas.Float64))
	}
	K := linop.NewGramSum(terms, nil, blas.Float64)
	res, err := bcd.Solve(context.Background(), &bcd.Problem{
		Space: bcd.NewSamples(K, random(rng, l, 2)), Lambda: 0.1, Tau: 2, Norm: bcd.Lp{P: 1},
	}, bcd.Options{Sylvester: "eigen", Tol: 1e-8})
	if err != nil {
		t.Fatal(err)
	}
	c, err := Fitted(K, res, 1)
	if err != nil {
		t.Fatal(err)
	}
	// At the optimum over η the squared norm (Σα_j)² is the regularizer's value tr(Cᵀ K_η C L).
	K.SetWeights(res.Eta)
	KC, KCL := blas.NewGeneral(l, 2), blas.NewGeneral(l, 2)
	K.Apply(KC, res.C)
	res.L.MulRight(blas.Active(), KCL, KC)
	if want := blas.Inner(res.C, KCL); math.Abs(c.Radius*c.Radius-want) > 1e-5*want {
		t.Errorf("radius² %g, ‖f‖² %g", c.Radius*c.Radius, want)
	}
	if b, _, err := c.Bound(); err != nil || !(b > 0) {
		t.Errorf("bound %g, %v", b, err)
	}
	res.Eta = res.Eta[:2]
	if _, err := Fitted(K, res, 1); !errors.Is(err, ErrInput) {
		t.Errorf("a fit of another dictionary: %v", err)
	}
}

func TestRefused(t *testing.T) {
	ok := Class{P: 1, Radius: 1, Samples: 1, Traces: []float64{1}, TraceL: 1}
	for name, change := range map[string]func(c *Class){
		"p below 1":      func(c *Class) { c.P = 0.5 },
		"p NaN":          func(c *Class) { c.P = math.NaN() },
		"radius":         func(c *Class) { c.Radius = -1 },
		"no samples":     func(c *Class) { c.Samples = 0 },
		"no kernels":     func(c *Class) { c.Traces = nil },
		"negative trace": func(c *Class) { c.Traces = []float64{-1} },
		"infinite L":     func(c *Class) { c.TraceL = math.Inf(1) },
	} {
		c := ok
		change(&c)
		if _, _, err := c.Bound(); !errors.Is(err, ErrInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Separable(0, 1, 1, 1, 1, 1); !errors.Is(err, ErrInput) {
		t.Errorf("no kernels: %v", err)
	}
}

// Adding kernels costs little: with p = 1 the bound grows like √ln m.
func Example() {
	for _, m := range []int{1, 10, 100, 1000} {
		c := Class{P: 1, Radius: 1, Samples: 100, Traces: make([]float64, m), TraceL: 1}
		for j := range c.Traces {
			c.Traces[j] = 100 // k(x,x) = 1
		}
		bound, t, _ := c.Bound()
		fmt.Printf("m = %4d: %.3f (t = %d)\n", m, bound, t)
	}
	// Output:
	// m =    1: 0.100 (t = 1)
	// m =   10: 0.362 (t = 5)
	// m =  100: 0.512 (t = 9)
	// m = 1000: 0.627 (t = 14)
}
