package lengths

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/internal/par"
	"github.com/iokl/iokl/kernel"
)

// wavy is a target that varies fast along column 0, slowly along column 1, and not along the others.
func wavy(l, d int, seed uint64) (Z, Y blas.General) {
	rng := rand.New(rand.NewPCG(seed, 3))
	Z, Y = normal(rng, l, d), blas.NewGeneral(l, 1)
	for i := range l {
		x := blas.Row(Z, i)
		Y.Data[i] = math.Sin(3*x[0]) + math.Sin(x[min(1, d-1)]) + 0.1*rng.NormFloat64()
	}
	return Z, Y
}

func learned(t *testing.T, kind kernel.Kind, Z, Y blas.General, opt Options) Point {
	t.Helper()
	p, err := Learn(t.Context(), kind, Z, Y, opt)
	if err != nil {
		t.Fatal(err)
	}
	for c, s := range p.Scale {
		if !(s >= 0) || math.IsInf(s, 0) {
			t.Fatalf("factor %d is %g", c, s)
		}
	}
	return p
}

// TestLengths says that a column has the shorter a length the faster the target varies along it, whatever the kernel.
func TestLengths(t *testing.T) {
	Z, Y := wavy(200, 6, 1)
	for kind := range shapes {
		s := learned(t, kind, Z, Y, Options{}).Scale
		if stray := slices.Max(s[2:]); !(s[0] > 2*s[1] && s[1] > 3*stray) {
			t.Errorf("%s: inverse lengths %.3g", kind, s)
		}
	}
}

// TestUnits says that a length is in units of its column and depends on nothing else's units.
func TestUnits(t *testing.T) {
	Z, Y := wavy(80, 4, 2)
	want := learned(t, "gaussian", Z, Y, Options{})
	Z, Y = blas.Clone(Z), blas.Clone(Y)
	for i := range Z.Rows {
		blas.Row(Z, i)[1] = 1e6*blas.Row(Z, i)[1] - 5e6
		Y.Data[i] = 1e-9*Y.Data[i] + 3e-9
	}
	got := learned(t, "gaussian", Z, Y, Options{})
	got.Scale[1] *= 1e6
	for c, s := range want.Scale {
		if !(math.Abs(got.Scale[c]-s) <= 1e-4*s) {
			t.Errorf("inverse length %d is %.9g in other units, not %.9g", c, got.Scale[c], s)
		}
	}
	if !(math.Abs(got.Noise-want.Noise) <= 1e-4*want.Noise) {
		t.Errorf("noise %g in other units, not %g", got.Noise, want.Noise)
	}
}

// TestDegenerate learns something finite from data that tell little.
func TestDegenerate(t *testing.T) {
	for name, shape := range map[string]func() (Z, Y blas.General){
		"one column":      func() (Z, Y blas.General) { return wavy(50, 1, 3) },
		"more columns":    func() (Z, Y blas.General) { return wavy(20, 40, 4) },
		"two rows":        func() (Z, Y blas.General) { return wavy(2, 3, 5) },
		"constant target": func() (Z, Y blas.General) { Z, _ = wavy(30, 3, 6); return Z, blas.NewGeneral(30, 2) },
		"no target":       func() (Z, Y blas.General) { Z, _ = wavy(30, 3, 6); return Z, blas.NewGeneral(30, 0) },
		"large and small": func() (Z, Y blas.General) {
			Z, Y = wavy(30, 3, 7)
			blas.Scal(1e150, Z.Data)
			blas.Scal(1e-150, Y.Data)
			return Z, Y
		},
		"rows that repeat":  func() (Z, Y blas.General) { return repeated(40, 4) },
		"all rows but one":  func() (Z, Y blas.General) { return repeated(40, 39) },
		"targets of inputs": func() (Z, Y blas.General) { Z, _ = wavy(60, 3, 8); return Z, Z },
	} {
		Z, Y := shape()
		for kind := range shapes {
			t.Run(name+"/"+string(kind), func(t *testing.T) { learned(t, kind, Z, Y, Options{}) })
		}
	}
}

// repeated has the same row so many times among l.
func repeated(l, times int) (Z, Y blas.General) {
	Z, Y = wavy(l, 3, 9)
	for i := range times {
		copy(blas.Row(Z, i), blas.Row(Z, 0))
		Y.Data[i] = Y.Data[0]
	}
	return Z, Y
}

func TestConstantColumn(t *testing.T) {
	Z, Y := wavy(60, 4, 10)
	for i := range Z.Rows {
		blas.Row(Z, i)[2] = 7
	}
	if s := learned(t, "gaussian", Z, Y, Options{}).Scale; s[2] != 0 || s[0] == 0 {
		t.Errorf("inverse lengths %v, of which that of column 2 is constant", s)
	}
	constant := blas.NewGeneral(60, 2)
	if _, err := Learn(t.Context(), "gaussian", constant, Y, Options{}); !errors.Is(err, kernel.ErrConstant) ||
		!errors.Is(err, fault.ErrInput) {
		t.Errorf("constant columns: %v", err)
	}
}

func TestErrors(t *testing.T) {
	Z, Y := wavy(60, 4, 11)
	if _, err := Learn(t.Context(), "cauchy", Z, Y, Options{}); !errors.Is(err, fault.ErrInput) {
		t.Errorf("a kernel without lengths: %v", err)
	}
	if _, err := Learn(t.Context(), "gaussian", Z, Y, Options{Start: &Point{Scale: []float64{1}}}); err == nil {
		t.Error("a start of another number of columns")
	}
	hole := blas.Clone(Z)
	hole.Data[9] = math.NaN()
	if _, err := Learn(t.Context(), "gaussian", hole, Y, Options{}); !errors.Is(err, kernel.ErrNotFinite) {
		t.Errorf("NaN: %v", err)
	}
	for _, after := range []int{1, 5, 20} {
		ctx, cancel := context.WithCancel(t.Context())
		if _, err := Learn(&counted{ctx, cancel, after}, "gaussian", Z, Y, Options{}); !errors.Is(err,
			context.Canceled) {
			t.Errorf("cancelled at look %d: %v", after, err)
		}
	}
}

// counted is a context that ends when it is looked at for the n-th time.
type counted struct {
	context.Context
	cancel context.CancelFunc
	left   int
}

func (c *counted) Err() error {
	if c.left--; c.left == 0 {
		c.cancel()
	}
	return c.Context.Err()
}

// TestSeed says that the seed draws the samples, and that the number of threads does not matter.
func TestSeed(t *testing.T) {
	Z, Y := wavy(manyRows+100, 2, 12)
	one := learned(t, "laplacian", Z, Y, Options{Seed: 1})
	other := learned(t, "laplacian", Z, Y, Options{Seed: 2})
	par.SetThreads(1)
	defer par.SetThreads(0)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	serial := learned(t, "laplacian", Z, Y, Options{Seed: 1})
	if !slices.Equal(one.Scale, serial.Scale) || one.Noise != serial.Noise || slices.Equal(one.Scale, other.Scale) {
		t.Errorf("inverse lengths %v, with one thread %v, of another seed %v", one, serial, other)
	}
}

// TestStart says that learning goes on from lengths that were learned on fewer samples, to about
// where it comes from none.
func TestStart(t *testing.T) {
	Z, Y := wavy(200, 5, 13)
	first := func(a blas.General) blas.General { return blas.View(a, 0, 0, 100, a.Cols) }
	part := learned(t, "gaussian", first(Z), first(Y), Options{})
	still := learned(t, "gaussian", Z, blas.NewGeneral(200, 1), Options{Start: &part})
	for c, s := range part.Scale {
		if !(math.Abs(still.Scale[c]-s) <= 1e-12*s) {
			t.Errorf("without anything to learn inverse length %d goes from %g to %g", c, s, still.Scale[c])
		}
	}
	warm, cold := learned(t, "gaussian", Z, Y, Options{Start: &part}), learned(t, "gaussian", Z, Y, Options{})
	for c := range 2 {
		if !(math.Abs(math.Log(warm.Scale[c]/cold.Scale[c])) < 0.2) || warm.Scale[c] == part.Scale[c] ||
			warm.Scale[c] == cold.Scale[c] {
			t.Errorf("inverse lengths %.3g from %.3g, and %.3g from none", warm.Scale, part.Scale, cold.Scale)
		}
	}
}
