package bcd

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/blas/native"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/regularizer"
)

func scaled(a blas.General, s float64) blas.General {
	b := blas.Clone(a)
	blas.Scal(s, b.Data)
	return b
}

// With an l_p norm the problem only scales with Y, by the square.
func TestScaleInvariance(t *testing.T) {
	K, Y := awkward(3, 25, 3)
	opt := Options{Tol: 1e-8, Sylvester: "eigen"}
	base, err := Solve(context.Background(), &Problem{
		Space: NewSamples(K, Y), Lambda: 0.01, Tau: 3,
		Norm: regularizer.Lp{P: 1.3},
	}, opt)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []float64{1e12, 1e-12} {
		res, err := Solve(context.Background(), &Problem{
			Space: NewSamples(K, scaled(Y, s)), Lambda: 0.01, Tau: 3,
			Norm: regularizer.Lp{P: 1.3},
		}, opt)
		if err != nil {
			t.Errorf("Y·%g: %v", s, err)
			continue
		}
		if math.Abs(res.Objective/(s*s)-base.Objective) > 2e-8*base.Objective {
			t.Errorf("Y·%g: objective %g, want %g times %g", s, res.Objective, base.Objective, s*s)
		}
	}
}

func TestZeroTargets(t *testing.T) {
	K, Y := awkward(3, 10, 2)
	for _, solver := range Solvers() {
		res, err := Solve(context.Background(), &Problem{Space: NewSamples(K, scaled(Y, 0)), Lambda: 1, Tau: 1},
			Options{Solver: solver})
		if err != nil || res.Objective != 0 && solver != "okl" || blas.Frob(res.C) != 0 {
			t.Errorf("%s: objective %g, ‖C‖ %g, %v", solver, res.Objective, blas.Frob(res.C), err)
		}
	}
}

func TestRefusals(t *testing.T) {
	K, Y := awkward(3, 10, 2)
	bad := func(i int, v float64) blas.General {
		y := blas.Clone(Y)
		y.Data[i] = v
		return y
	}
	indefinite := blas.NewSym(10, blas.Float64)
	indefinite.F64[0] = -1
	nan := math.NaN()
	ok := Problem{Space: NewSamples(K, Y), Lambda: 1, Tau: 1}
	for _, tc := range []struct {
		name   string
		change func(p *Problem, o *Options)
		says   string
	}{
		{"lambda 0", func(p *Problem, _ *Options) { p.Lambda = 0 }, "λ = 0"},
		{"lambda NaN", func(p *Problem, _ *Options) { p.Lambda = nan }, "λ = NaN"},
		{"tau", func(p *Problem, _ *Options) { p.Tau = -2 }, "τ = -2"},
		{"no space", func(p *Problem, _ *Options) { p.Space = nil }, "space"},
		{"shapes", func(p *Problem, _ *Options) { p.Space = NewSamples(K, blas.NewGeneral(9, 2)) }, "10×10, Y is 9×2"},
		{"Y infinite", func(p *Problem, _ *Options) {
			p.Space = NewSamples(K, bad(3, math.Inf(1)))
		}, "Inf at row 1, column 1"},
		{"Y overflows", func(p *Problem, _ *Options) { p.Space = NewSamples(K, bad(3, 1e200)) }, "overflows"},
		{"negative diagonal", func(p *Problem, _ *Options) {
			p.Space = NewSamples(linop.NewGramSum([]*blas.Sym{indefinite}, nil, blas.Float64), Y)
		}, "kernel 0"},
		{"weights", func(p *Problem, _ *Options) { p.Eta = []float64{1} }, "1 weights for 6 kernels"},
		{"negative weight", func(p *Problem, _ *Options) { p.Eta = []float64{1, -1, 0, 0, 0, 0} }, "weight 1"},
		{"L", func(p *Problem, _ *Options) { p.L = linop.ScaledIdentity(3, 1) }, "3×3"},
		{"p", func(p *Problem, _ *Options) { p.Norm = regularizer.Lp{P: 3} }, "p = 3"},
		{"groups", func(p *Problem, _ *Options) {
			p.Norm = regularizer.Groups{Sizes: []int{2}}
		}, "2 kernels, the problem 6"},
		{"solver", func(_ *Problem, o *Options) { o.Solver = "best" }, "best"},
		{"sylvester", func(_ *Problem, o *Options) { o.Sylvester = "best" }, "best"},
		{"tol", func(_ *Problem, o *Options) { o.Tol = nan }, "Tol = NaN"},
		{"max outer", func(_ *Problem, o *Options) { o.MaxOuter = -1 }, "MaxOuter"},
		{"schedule", func(_ *Problem, o *Options) { o.Schedule = []Inexact{{CG: 0, SDP: 1}} }, "schedule"},
		{"blocks", func(p *Problem, _ *Options) {
			p.Space = NewFeatures(blas.NewGeneral(4, 4), blas.NewGeneral(4, 2), 1, 3, []int{1, 2}, nil)
		}, "hold 3 columns, Γ is 4×4"},
		{"H", func(p *Problem, _ *Options) {
			p.Space = NewFeatures(blas.NewGeneral(4, 4), blas.NewGeneral(5, 2), 1, 3, []int{4}, nil)
		}, "Γ is 4×4, H is 5×2"},
		{"yy", func(p *Problem, _ *Options) {
			p.Space = NewFeatures(blas.NewGeneral(4, 4), blas.NewGeneral(4, 2), nan, 3, []int{4}, nil)
		}, "NaN"},
	} {
		p, opt := ok, Options{}
		tc.change(&p, &opt)
		res, err := Solve(context.Background(), &p, opt)
		if res != nil || !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

// An indefinite kernel with a harmless diagonal shows in the course of the solve.
func TestIndefiniteKernel(t *testing.T) {
	A := linop.ScaledIdentity(10, 1).V
	for i := range 10 {
		for j := range 10 {
			if i != j {
				A.Data[i*10+j] = 3
			}
		}
	}
	_, Y := awkward(3, 10, 2)
	p := &Problem{
		Space:  NewSamples(linop.NewGramSum([]*blas.Sym{blas.SymFrom(A, blas.Float64)}, nil, blas.Float64), Y),
		Lambda: 1e-3, Tau: 2,
	}
	for _, inner := range []string{"eigen", "cg", "auto"} {
		res, err := Solve(context.Background(), p, Options{Sylvester: inner})
		if !errors.Is(err, ErrNotPSD) || res == nil || res.Converged {
			t.Errorf("%s: %v", inner, err)
		}
	}
}

// A cancelled solve returns the best point so far, certified.
func TestCancelled(t *testing.T) {
	K, Y := awkward(8, 30, 3)
	p := &Problem{Space: NewSamples(K, Y), Lambda: 1e-3, Tau: 3, Norm: regularizer.Lp{P: 1}}
	for _, solver := range Solvers() {
		for _, after := range []int{0, 1, 3} {
			ctx, cancel := context.WithCancel(context.Background())
			steps := 0
			res, err := Solve(ctx, p, Options{Solver: solver, Tol: 1e-12, Trace: func(s Step) error {
				if steps == after {
					cancel()
				}
				steps++
				return nil
			}})
			cancel()
			if !errors.Is(err, context.Canceled) || res == nil {
				t.Fatalf("%s: %v", solver, err)
			}
			pt := at(t, &Problem{Space: p.Space, Lambda: p.Lambda, Tau: p.Tau, Norm: p.Norm}, res.Eta, res.L, res.C)
			if solver != "okl" && !(math.Abs(pt.cert.objective-res.Objective) <= 1e-10*res.Objective) {
				t.Errorf("%s cancelled after %d: objective %g, at the returned point %g", solver, after, res.Objective,
					pt.cert.objective)
			}
			if after > 0 && solver != "okl" && !(math.Abs(pt.cert.relative()-res.RelativeGap) <= 1e-6*res.RelativeGap) {
				t.Errorf("%s cancelled after %d: relative gap %g, at the returned point %g", solver, after,
					res.RelativeGap, pt.cert.relative())
			}
		}
	}
}

// An error from Trace stops the solve and comes back, with the result.
func TestTraceStops(t *testing.T) {
	K, Y := awkward(8, 20, 2)
	stop := errors.New("enough")
	for _, solver := range Solvers() {
		calls := 0
		res, err := Solve(context.Background(), &Problem{Space: NewSamples(K, Y), Lambda: 1e-3, Tau: 3},
			Options{Solver: solver, Tol: 1e-12, Trace: func(s Step) error {
				if calls++; calls == 3 {
					return stop
				}
				return nil
			}})
		if !errors.Is(err, stop) || res == nil || calls != 3 {
			t.Errorf("%s: %v after %d calls", solver, err, calls)
		}
	}
}

func TestSameOnAnyNumberOfThreads(t *testing.T) {
	K, Y := awkward(8, 150, 5)
	var first *Result
	for threads := 1; threads <= 8; threads++ {
		old := runtime.GOMAXPROCS(threads)
		res, err := Solve(context.Background(), &Problem{
			Space: NewSamples(K, Y), Lambda: 1e-3, Tau: 3,
			Norm: regularizer.Lp{P: 1.2},
		}, Options{Tol: 1e-6, Sylvester: "nystrom", Seed: 5})
		runtime.GOMAXPROCS(old)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = res
			continue
		}
		if !slices.Equal(res.Eta, first.Eta) || !slices.Equal(res.C.Data, first.C.Data) ||
			res.Objective != first.Objective {
			t.Errorf("%d threads: objective %v, with one %v", threads, res.Objective, first.Objective)
		}
	}
}

// On every instruction set a fit ends within its own gaps of what it finds on the others.
func TestSameOnAnyLevel(t *testing.T) {
	_, Y := awkward(8, 150, 5)
	active := blas.Active()
	t.Cleanup(func() { blas.Use(active) })
	var first *Result
	for _, level := range native.Levels() {
		be, err := blas.NewNativeLevel(level)
		if err != nil {
			t.Fatal(err)
		}
		blas.Use(be)
		K, _ := awkward(8, 150, 5)
		res, err := Solve(context.Background(), &Problem{
			Space: NewSamples(K, Y), Lambda: 1e-3, Tau: 3,
			Norm: regularizer.Lp{P: 1.2},
		}, Options{Tol: 1e-7, Sylvester: "nystrom", Seed: 5})
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = res
		}
		if gap := res.GapEta + res.GapL + first.GapEta + first.GapL; !(math.Abs(res.Objective-first.Objective) <= gap) {
			t.Errorf("%s: objective %.12g, on %s %.12g, gaps together %.3g", level, res.Objective, native.Levels()[0],
				first.Objective, gap)
		}
		for j, e := range res.Eta {
			if !(math.Abs(e-first.Eta[j]) <= 1e-3) {
				t.Errorf("%s: weight %d is %g, on %s %g", level, j, e, native.Levels()[0], first.Eta[j])
			}
		}
	}
}
