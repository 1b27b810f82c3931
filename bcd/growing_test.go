package bcd

import (
	"bytes"
	"context"
	"errors"
	"math"
	"runtime"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/regularizer"
)

// withMaxOutputs runs f where the bases of outputs of p grow from few outputs on.
func withMaxOutputs(limit int, p *Problem, f func()) {
	p.wide = limit
	defer func() { p.wide = 0 }()
	f()
}

// A basis of outputs that grows ends at the optimum of the whole problem, where the
// certificate, taken with every output, is the one reported.
func TestGrowingOutputs(t *testing.T) {
	K, Y := wideTask(70, 60)
	features := asFeatures(t, K, Y)
	fixed := []float64{0.7, 0.4}
	for _, c := range []struct {
		name string
		p    Problem
		opt  Options
	}{
		{
			"rank 5",
			Problem{Space: NewSamples(K, Y), Lambda: 3e-2, Tau: 1, Norm: regularizer.Lp{P: 1.5}},
			Options{Tol: 1e-9},
		},
		{"rank 26", Problem{Space: NewSamples(K, Y), Lambda: 5e-3, Tau: 30}, Options{Tol: 1e-9}},
		{
			"fixed weights",
			Problem{Space: NewSamples(K, Y), Lambda: 1e-2, Tau: 10, Eta: fixed, Model: Output},
			Options{Tol: 1e-9},
		},
		{"features", Problem{Space: features, Lambda: 3e-2, Tau: 1, Norm: regularizer.Lp{P: 1.5}}, Options{Tol: 1e-9}},
		{
			"inexact C steps",
			Problem{Space: NewSamples(K, Y), Lambda: 3e-2, Tau: 1, Norm: regularizer.Lp{P: 1.5}},
			Options{Tol: 1e-7, Sylvester: "rotated"},
		},
		{
			"published method",
			Problem{Space: NewSamples(K, Y), Lambda: 3e-2, Tau: 1, Norm: regularizer.Lp{P: 1.5}},
			Options{Tol: 1e-3, Solver: "paper"},
		},
	} {
		if c.opt.Sylvester == "" {
			c.opt.Sylvester = "eigen"
		}
		dense, err := Solve(context.Background(), &c.p, c.opt)
		if err != nil {
			t.Fatal(err)
		}
		var got *Result
		withMaxOutputs(50, &c.p, func() { got, err = Solve(context.Background(), &c.p, c.opt) })
		t.Logf("%s: rank %d, objective %.12g, %d C-solves; growing: rank %d, objective %.12g, gap %.2g, %d C-solves",
			c.name,
			dense.L.Rank(), dense.Objective, dense.SylvesterSolves, got.L.Rank(), got.Objective, got.RelativeGap,
			got.SylvesterSolves)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if !(math.Abs(got.Objective-dense.Objective) <= math.Max(1e-8, c.opt.Tol)*dense.Objective) {
			t.Errorf("%s: objective %.12g, %.12g with all outputs at once", c.name, got.Objective, dense.Objective)
		}
		pt := at(t, &c.p, got.Eta, got.L, got.C)
		if math.Abs(pt.cert.objective-got.Objective) > 1e-10*got.Objective || !(pt.cert.relative() <= 2*c.opt.Tol) {
			t.Errorf("%s: objective %.12g with relative gap %g; at the returned point %.12g with %g", c.name,
				got.Objective, got.RelativeGap, pt.cert.objective, pt.cert.relative())
		}
	}
}

// Where the optimum needs more directions than there may be, and where the run is
// stopped, the reported gap holds for all outputs all the same.
func TestGrowingOutputsCutShort(t *testing.T) {
	K, Y := wideTask(70, 60)
	p := Problem{Space: NewSamples(K, Y), Lambda: 1e-4, Tau: 60}
	dense, err := Solve(context.Background(), &p, Options{Tol: 1e-8, Sylvester: "eigen"})
	if err != nil {
		t.Fatal(err)
	}
	stop := errors.New("stop")
	for _, c := range []struct {
		name string
		opt  Options
		want error
	}{
		{"no room", Options{Tol: 1e-6}, ErrNotConverged},
		{"stopped", Options{Tol: 1e-6, Trace: func(s Step) error {
			if s.Iter == 3 {
				return stop
			}
			return nil
		}}, stop},
	} {
		c.opt.Sylvester = "eigen"
		withMaxOutputs(20, &p, func() {
			res, err := Solve(context.Background(), &p, c.opt)
			if !errors.Is(err, c.want) || res == nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			t.Logf("%s: rank %d, gap %.3g, true %.3g", c.name, res.L.Rank(), res.GapL+res.GapEta,
				res.Objective-dense.Objective)
			if open := res.Objective - dense.Objective; !(res.GapL+res.GapEta >= open) || !(res.GapL <= res.Objective) {
				t.Errorf("%s: %g is left to gain, the gap is %g", c.name, open, res.GapL+res.GapEta)
			}
		})
	}
}

// Nothing of n×n is allocated, whether L is learned or is a multiple of the identity.
func TestGrowingOutputsMemory(t *testing.T) {
	const l, n = 60, 4000
	K, Y := wideTask(l, n)
	for _, c := range []struct {
		name  string
		limit int
		p     Problem
	}{
		{"learned", 50, Problem{Space: NewSamples(K, Y), Lambda: 3e-2, Tau: 1}},
		{"fixed", 100, Problem{Space: NewSamples(K, Y), Lambda: 3e-2, Tau: n, Model: Weights}},
	} {
		withMaxOutputs(c.limit, &c.p, func() {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			res, err := Solve(context.Background(), &c.p, Options{Tol: 1e-5, Sylvester: "eigen"})
			runtime.ReadMemStats(&after)
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			// All that was ever allocated, freed or not, is less than n×n.
			if got, square := after.TotalAlloc-before.TotalAlloc, uint64(8*n*n); got >= square || res.L.Rank() > l {
				t.Errorf("%s: rank %d, %d bytes allocated in all; an n×n matrix takes %d", c.name, res.L.Rank(), got,
					square)
			}
		})
	}
}

// The identity kept as that of the row space of the targets gives the same function.
func TestFixedIdentity(t *testing.T) {
	K, Y := wideTask(20, 60)
	p := Problem{Space: NewSamples(K, Y), Lambda: 1e-2, Tau: 60, Model: Weights, Norm: regularizer.Lp{P: 1.5}}
	opt := Options{Tol: 1e-9, Sylvester: "eigen"}
	whole, err := Solve(context.Background(), &p, opt)
	if err != nil {
		t.Fatal(err)
	}
	withMaxOutputs(40, &p, func() {
		part, err := Solve(context.Background(), &p, opt)
		if err != nil {
			t.Fatal(err)
		}
		F, G := blas.Like(Y), blas.Like(Y)
		whole.L.MulRight(blas.Active(), F, whole.C)
		part.L.MulRight(blas.Active(), G, part.C)
		if part.L.Rank() != 20 || whole.L.Rank() != 60 || !(distance2(F, G) <= 1e-10*square(blas.Frob(F))) {
			t.Errorf("ranks %d, %d; C·L is off by %g of %g", part.L.Rank(), whole.L.Rank(), math.Sqrt(distance2(F, G)),
				blas.Frob(F))
		}
	})
}

// A fit goes on from a checkpoint of one with a growing basis.
func TestGrowingOutputsResumed(t *testing.T) {
	K, Y := wideTask(70, 60)
	p := Problem{Space: NewSamples(K, Y), Lambda: 3e-2, Tau: 1, Norm: regularizer.Lp{P: 1.5}}
	withMaxOutputs(50, &p, func() {
		var saved bytes.Buffer
		opt := Options{Tol: 1e-9, Sylvester: "eigen", Trace: func(s Step) error {
			saved.Reset()
			return s.State().Encode(&saved, &p)
		}}
		whole, err := Solve(context.Background(), &p, opt)
		if err != nil {
			t.Fatal(err)
		}
		opt.Trace = nil
		if opt.Start, err = DecodeState(&saved, &p); err != nil {
			t.Fatal(err)
		}
		again, err := Solve(context.Background(), &p, opt)
		if err != nil {
			t.Fatal(err)
		}
		if solves := again.SylvesterSolves - whole.SylvesterSolves; solves > 6 ||
			math.Abs(again.Objective-whole.Objective) > 2e-9*whole.Objective {
			t.Errorf("%d C-solves more, objective %.12g after %.12g", solves, again.Objective, whole.Objective)
		}
	})
}

// BenchmarkGrowingOutputs fits 4500 outputs on as many samples. One square array of
// their order takes 154 MiB; there are those of the samples, two kernels and K_η in
// double and single precision, and Y and C.
func BenchmarkGrowingOutputs(b *testing.B) {
	const l, n = 4500, 4500
	K, Y := wideTask(l, n)
	for b.Loop() {
		res, err := Solve(context.Background(), &Problem{
			Space: NewSamples(K, Y), Lambda: 1e-2, Tau: 1,
			Norm: regularizer.Lp{P: 1.5},
		}, Options{Tol: 1e-4})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(res.RelativeGap, "gap")
		b.ReportMetric(float64(res.SylvesterSolves), "solves")
		b.ReportMetric(float64(res.L.Rank()), "rank")
	}
	size := peakMemory(b) >> 20
	b.ReportMetric(float64(size), "MiB")
	if size > 1400 {
		b.Errorf("the process took %d MiB, at most 1400 expected", size)
	}
}
