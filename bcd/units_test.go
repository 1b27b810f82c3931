package bcd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/regularizer"
)

// scaledSum is K with every term times s.
func scaledSum(K *linop.GramSum, s float64) *linop.GramSum {
	var terms []*blas.Sym
	for j := range K.Len() {
		a := blas.NewGeneral(K.Dim(), K.Dim())
		K.Term(j).Dense(a)
		terms = append(terms, blas.SymFrom(scaled(a, s), blas.Float64))
	}
	return linop.NewGramSum(terms, nil, blas.Float64)
}

// A problem and the same with targets, kernels, τ and λ of other sizes, equal up to
// units, have one solution up to units: for every regularizer, in both spaces, in what
// Trace sees, and across a checkpoint.
func TestUnits(t *testing.T) {
	K, Y := awkward(11, 20, 3)
	for _, norm := range allNorms {
		// With the factor of ω in the caller's units: λω = y²λ′ω′.
		for _, u := range []struct {
			y, k, b float64
		}{
			{0x1p300, 1, 1},
			{0x1p-300, 1, 1},
			{1, 0x1p300, 1},
			{0x1p-200, 0x1p-400, 0x1p200},
			{0x1p200, 0x1p-100, 0x1p-150},
		} {
			reg := norm
			if _, free := norm.(regularizer.Lp); !free {
				reg = regularizer.InUnits{Regularizer: norm, Scale: 1 / u.y, B: 1 / u.b}
			}
			plain := &Problem{Space: NewSamples(K, Y), Lambda: 0.01, Tau: 3, Norm: norm}
			large := &Problem{
				Space: NewSamples(scaledSum(K, u.k), scaled(Y, u.y)), Lambda: 0.01 * u.b,
				Tau: 3 * u.b / u.k, Norm: reg,
			}
			opt := Options{Tol: 1e-7, Sylvester: "eigen"}
			want, err := Solve(context.Background(), plain, opt)
			if err != nil {
				t.Fatal(err)
			}
			var saved bytes.Buffer
			opt.Trace = func(s Step) error {
				if s.Iter == 2 {
					saved.Reset()
					if err := s.State().Encode(&saved, large); err != nil {
						t.Fatal(err)
					}
				}
				if !(s.Objective >= want.Objective*u.y*u.y*(1-1e-6)) {
					t.Errorf("%v, %v: Trace saw the objective %g below the least, %g", norm, u, s.Objective,
						want.Objective*u.y*u.y)
				}
				return nil
			}
			got, err := Solve(context.Background(), large, opt)
			same(t, fmt.Sprint(norm, u), got, err, want, u.y, u.b/u.k)
			opt.Trace = nil
			if saved.Len() > 0 {
				if opt.Start, err = DecodeState(&saved, large); err != nil {
					t.Fatal(err)
				}
				got, err = Solve(context.Background(), large, opt)
				same(t, fmt.Sprint(norm, u, " resumed"), got, err, want, u.y, u.b/u.k)
			}
		}
	}
}

// same compares two fits to a relative gap of 1e-7 whose targets and L differ by the
// factors y and L.
func same(t *testing.T, name string, got *Result, err error, want *Result, y, L float64) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	if !(math.Abs(got.Objective/y/y-want.Objective) <= 2e-7*want.Objective) ||
		!(got.GapEta+got.GapL <= 1e-7*got.Objective) {
		t.Errorf("%s: objective %.12g·y², want %.12g, gaps %g and %g", name, got.Objective/y/y, want.Objective,
			got.GapEta, got.GapL)
	}
	if a, b := floats.Sum(got.L.S)/L, floats.Sum(want.L.S); !(math.Abs(a-b) <= 1e-3*b) {
		t.Errorf("%s: tr L = %g, want %g", name, a, b)
	}
}

func TestUnitsInFeatureSpace(t *testing.T) {
	_, p := lowrank(t)
	f := p.Space.(*features)
	Gamma := blas.NewGeneral(f.Dim(), f.Dim())
	if err := linop.Dense(context.Background(), Gamma, f.gamma); err != nil {
		t.Fatal(err)
	}
	want, err := Solve(context.Background(), p, Options{Tol: 1e-7, Sylvester: "eigen"})
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range []struct{ y, k float64 }{{0x1p300, 1}, {1, 0x1p300}, {0x1p-200, 0x1p-400}} {
		q := *p
		q.Tau = p.Tau / u.k
		q.Space = NewFeatures(scaled(Gamma, u.k), scaled(f.B, u.y*math.Sqrt(u.k)), f.yy*u.y*u.y, f.l, f.blocks, nil)
		got, err := Solve(context.Background(), &q, Options{Tol: 1e-7, Sylvester: "eigen"})
		same(t, fmt.Sprint(u), got, err, want, u.y, 1/u.k)
		// W = Z_ηᵀC: the norms of the blocks of the function are those of WL^½.
		if err == nil {
			if a, b := blas.Frob(got.C)/u.y*math.Sqrt(u.k)/u.k, blas.Frob(want.C)/1; !(math.Abs(a-b) <= 1e-2*b) &&
				u.k == 1 {
				t.Errorf("%v: ‖W‖ = %g, want %g", u, a, b)
			}
		}
	}
}

// Forms of kernels and coefficients whose product with a kernel as given, before its unit
// is taken out, would leave the range of float64.
func TestFormsOfTinyKernels(t *testing.T) {
	const k = 0x1p-490
	K, Y := awkward(11, 20, 3)
	tiny := NewSamples(scaledSum(K, k), Y)
	units, _ := tiny.shared().inUnits(1, k)
	U := randn(newRand(3), 20, 3)
	want, got := make([]float64, K.Len()), make([]float64, K.Len())
	idx := make([]int, K.Len())
	for j := range idx {
		idx[j] = j
	}
	NewSamples(K, Y).(*samples).forms(want, blas.Clone(U), idx)
	tiny.with(units).(*samples).forms(got, scaled(U, 0x1p-350), idx)
	for j := range got {
		if got[j] != want[j]*0x1p-700 || want[j] > 0 && !(got[j] > 0) {
			t.Errorf("kernel %d: %g, want %g", j, got[j], want[j]*0x1p-700)
		}
	}
}

// Block norms let the weights grow with the targets, here until μ is lost beside K_η·L: no
// solver then returns what is worse than the function 0.
func TestNoWorseThanZero(t *testing.T) {
	const n = 3
	rng := newRand(5)
	for _, c := range []struct{ y, k float64 }{{1e77, 1e16}, {1e117, 1e84}} {
		Z := scaled(randn(rng, 12, 4), math.Sqrt(c.k))
		Y := scaled(randn(rng, 12, n), c.y)
		Gamma, H := blas.NewGeneral(4, 4), blas.NewGeneral(4, n)
		blas.GramOf(blas.Active(), Gamma, Z)
		blas.Mul(blas.Active(), H, true, false, Z, Y)
		yy := square(blas.Frob(Y))
		for _, space := range []Space{
			NewSamples(linop.NewFactorSum([]blas.General{Z}, nil), Y),
			NewFeatures(Gamma, H, yy, 12, []int{4}, nil),
		} {
			for _, solver := range Solvers() {
				p := &Problem{Space: space, Lambda: 1e-4, Tau: n, Norm: regularizer.BlockR{R: 1}, Model: Weights}
				opt := Options{Solver: solver, MaxOuter: 8}
				if solver == "okl" {
					opt.Rho = 1e-200
				}
				res, err := Solve(context.Background(), p, opt)
				if err != nil && !errors.Is(err, ErrNotConverged) {
					t.Errorf("%v, %s: %v", c, solver, err)
				} else if !(res.Objective >= 0 && res.Objective <= yy/12*(1+1e-12)) {
					t.Errorf("%v, %s: the objective is %g, that of 0 %g", c, solver, res.Objective, yy/12)
				}
			}
		}
	}
}

// Kernels that are positive semidefinite by construction are never called indefinite,
// however small λ or large the targets.
func TestRoundingIsNotIndefinite(t *testing.T) {
	rng := newRand(5)
	X := randn(rng, 100, 8)
	for i := 50; i < 100; i++ {
		copy(blas.Row(X, i), blas.Row(X, i-50))
	}
	K := blas.NewGeneral(100, 100)
	blas.Mul(blas.Active(), K, false, true, X, X)
	sum := linop.NewGramSum([]*blas.Sym{blas.SymFrom(K, blas.Float64), gaussian(X, 1, blas.Float64)}, nil, blas.Float64)
	Y := randn(rng, 100, 3)
	for _, c := range []struct {
		lambda, y float64
		norm      regularizer.Regularizer
	}{
		{1e-12, 1, regularizer.Lp{P: 1}},
		{1e-12, 1, regularizer.BlockR{R: 1}},
		{1e-3, 1e20, regularizer.BlockR{R: 1}},
		{1e-3, 1e20, regularizer.BlockR{R: 1.2}},
		{1e-3, 1e20, regularizer.ElasticNet{Mix: 0.5}},
		{1e-14, 1, regularizer.Lp{P: 1.5}},
	} {
		for _, inner := range []string{
			"auto", "nystrom", "eigen", "tridiagonal", "cholesky", "rotated", "cg",
		} {
			p := &Problem{Space: NewSamples(sum, scaled(Y, c.y)), Lambda: c.lambda, Tau: 3, Norm: c.norm}
			res, err := Solve(context.Background(), p, Options{Sylvester: inner, MaxOuter: 6})
			if err != nil && !errors.Is(err, ErrNotConverged) || errors.Is(err, ErrNotPSD) || res == nil {
				t.Errorf("λ = %g, targets of %g, %v, %s: %v", c.lambda, c.y, c.norm, inner, err)
			}
		}
	}
}

// cancelling is a sum that cancels a context at its k-th product and counts those after.
type cancelling struct {
	linop.Sum
	cancel func()
	k      int
	after  int
}

func (c *cancelling) Apply(dst, x blas.General) {
	if c.k--; c.k == 0 {
		c.cancel()
	} else if c.k < 0 {
		c.after++
	}
	c.Sum.Apply(dst, x)
}

// Once cancelled a fit multiplies by K twice at most: the product at hand may be
// followed by that of a residual, and one certifies the point that is returned.
func TestCancelledWithinAProduct(t *testing.T) {
	for _, solver := range Solvers() {
		for _, inner := range []string{"cg", "rotated", "nystrom"} {
			for k := 1; k < 200; k = k*3/2 + 1 {
				K, Y := awkward(8, 40, 4)
				ctx, cancel := context.WithCancel(context.Background())
				sum := &cancelling{Sum: K, cancel: cancel, k: k}
				res, err := Solve(ctx, &Problem{
					Space: NewSamples(sum, Y), Lambda: 1e-4, Tau: 4,
					Norm: regularizer.Lp{P: 1.5},
				}, Options{Solver: solver, Sylvester: inner, Tol: 1e-9, MaxOuter: 30})
				cancel()
				if sum.k <= 0 && !errors.Is(err, context.Canceled) && !errors.Is(err, ErrNotConverged) && err != nil ||
					res == nil {
					t.Errorf("%s, %s, product %d: %v", solver, inner, k, err)
				}
				if errors.Is(err, context.Canceled) && sum.after > 2 {
					t.Errorf("%s, %s: %d products after the cancelled one, number %d", solver, inner, sum.after, k)
				}
			}
		}
	}
}

// Weights next to the bound of the elastic net, where large targets take them, leave
// no joint step that lowers the objective.
func TestElasticNetNextToItsBound(t *testing.T) {
	for seed := range uint64(12) {
		rng := newRand(12 + seed)
		l, n := 5+2*int(seed), 2+int(seed)%5
		K := linop.NewGramSum([]*blas.Sym{gaussian(randn(rng, l, 3), 0.2, blas.Float64)}, nil, blas.Float64)
		for _, y := range []float64{1e3, 1e6, 1e9} {
			p := &Problem{
				Space: NewSamples(K, scaled(randn(rng, l, n), y)), Lambda: 0.03, Tau: float64(n),
				Norm: regularizer.ElasticNet{Mix: 0.5},
			}
			if _, err := Solve(context.Background(), p, Options{Sylvester: "eigen"}); err != nil {
				t.Errorf("%d samples, %d outputs, targets of %g: %v", l, n, y, err)
			}
		}
	}
}
