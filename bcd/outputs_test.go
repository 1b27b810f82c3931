package bcd

import (
	"context"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/regularizer"
)

// Outputs that are linear combinations of fewer ones give the same optimum as
// the problem without reduction, in either orientation.
func TestReducedOutputs(t *testing.T) {
	K, Y := awkward(6, 15, 3)
	for _, n := range []int{5, 40} {
		wide := blas.NewGeneral(15, n)
		blas.Mul(blas.Active(), wide, false, false, Y, randn(newRand(2), 3, n))
		p := &Problem{Space: NewSamples(K, wide), Lambda: 0.01, Tau: 3, Norm: regularizer.Lp{P: 1.3}}
		res, err := Solve(context.Background(), p, Options{Tol: 1e-9, Sylvester: "eigen"})
		if err != nil {
			t.Fatal(err)
		}
		if res.C.Cols != n || res.L.Dim() != n || res.L.Rank() > 3 {
			t.Fatalf("n = %d: C has %d columns, L is of order %d and rank %d", n, res.C.Cols, res.L.Dim(), res.L.Rank())
		}
		// The returned point in the original outputs has the reported certificate.
		pt := at(t, p, res.Eta, res.L, res.C)
		if math.Abs(pt.cert.objective-res.Objective) > 1e-10*res.Objective || !(pt.cert.relative() <= 2e-9) {
			t.Errorf("n = %d: objective %.12g with relative gap %g; at the returned point %.12g with %g", n,
				res.Objective, res.RelativeGap, pt.cert.objective, pt.cert.relative())
		}
	}
}

// With n ≫ l nothing of n×n is allocated.
func TestManyOutputsMemory(t *testing.T) {
	const l, n = 20, 5000
	K, small := awkward(6, l, l)
	Y := blas.NewGeneral(l, n)
	blas.Mul(blas.Active(), Y, false, false, small, randn(newRand(3), l, n))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	res, err := Solve(context.Background(), &Problem{Space: NewSamples(K, Y), Lambda: 0.1, Tau: n},
		Options{Tol: 1e-2, Sylvester: "eigen"})
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	if res.L.V.Rows != n || res.L.Rank() > l {
		t.Errorf("L is of order %d and rank %d", res.L.V.Rows, res.L.Rank())
	}
	if got, square := after.HeapSys-before.HeapSys, uint64(8*n*n); after.HeapSys > before.HeapSys && got > square/2 {
		t.Errorf("the heap grew by %d bytes; an n×n matrix takes %d", got, square)
	}
}

// BenchmarkManyOutputs fits 50 000 outputs on 1000 samples. Three arrays of the
// size of Y cannot be avoided: Y, C and, as long as L is not of low rank, its
// eigenvectors. It fails when more than 1500 MiB were ever resident.
func BenchmarkManyOutputs(b *testing.B) {
	const l, n, limit = 1000, 50000, 1500
	K, Y := wideTask(l, n)
	for b.Loop() {
		res, err := Solve(context.Background(), &Problem{
			Space: NewSamples(K, Y), Lambda: 1e-2, Tau: n,
			Norm: regularizer.Lp{P: 1.5},
		}, Options{Tol: 0.2})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(res.RelativeGap, "gap")
		b.ReportMetric(float64(res.SylvesterSolves), "solves")
	}
	size := peakMemory(b) >> 20
	b.ReportMetric(float64(size), "MiB")
	if size > limit {
		b.Errorf("the process took %d MiB, at most %d expected", size, limit)
	}
}

// peakMemory is the most memory in bytes that the process has ever had resident.
func peakMemory(b *testing.B) int {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Skip(err)
	}
	for line := range strings.Lines(string(status)) {
		if f := strings.Fields(line); f[0] == "VmHWM:" {
			kib, err := strconv.Atoi(f[1])
			if err != nil {
				b.Fatal(err)
			}
			return kib << 10
		}
	}
	b.Skip("the system does not tell")
	return 0
}
