package lengths

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/par"
	"github.com/iokl/iokl/internal/learn/fault"
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

func learned(t *testing.T, Z, Y blas.General, opt Options, kinds ...kernel.Kind) Point {
	t.Helper()
	p, err := Learn(t.Context(), kinds, Z, Y, opt)
	if err != nil {
		t.Fatal(err)
	}
	for _, scale := range p.Scale {
		for c, s := range scale {
			if !(s >= 0) || math.IsInf(s, 0) {
				t.Fatalf("factor %d is %g", c, s)
			}
		}
	}
	return p
}

// TestLengths says that a column has the shorter a length the faster the target varies along it, whatever the kernel.
func TestLengths(t *testing.T) {
	Z, Y := wavy(200, 6, 1)
	for kind := range shapes {
		s := learned(t, Z, Y, Options{}, kind).Scale[0]
		if stray := slices.Max(s[2:]); !(s[0] > 2*s[1] && s[1] > 3*stray) {
			t.Errorf("%s: inverse lengths %.3g", kind, s)
		}
	}
}

// TestFrequency says that a target of twelve periods along one column is found, where lengths start at the spread of
// the data and all minima near them explain it by noise.
func TestFrequency(t *testing.T) {
	for seed := range uint64(5) {
		rng := rand.New(rand.NewPCG(seed, 3))
		Z, Y := blas.NewGeneral(200, 3), blas.NewGeneral(200, 1)
		for i := range Y.Data {
			x := blas.Row(Z, i)
			for k := range x {
				x[k] = rng.Float64()
			}
			Y.Data[i] = math.Sin(24*math.Pi*x[1]) + 0.3*x[2] + 0.1*rng.NormFloat64()
		}
		p := learned(t, Z, Y, Options{Seed: seed}, "gaussian")
		if s := p.Scale[0]; !(p.Noise < 0.1) || !(s[1] > 10*max(s[0], s[2])) {
			t.Errorf("seed %d: noise %.3g, inverse lengths %.3g", seed, p.Noise, s)
		}
	}
}

// TestSum says that two kernels part the columns of a target that is a sum of functions of two columns each.
func TestSum(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 3))
	Z, Y := normal(rng, 300, 4), blas.NewGeneral(300, 1)
	for i := range 300 {
		x := blas.Row(Z, i)
		Y.Data[i] = math.Sin(2*x[0])*x[1] + math.Sin(2*x[2])*x[3] + 0.05*rng.NormFloat64()
	}
	p := learned(t, Z, Y, Options{}, "gaussian", "gaussian")
	a, b := p.Scale[0], p.Scale[1]
	if a[0] < b[0] {
		a, b = b, a
	}
	if !(a[0] > 5*b[0] && a[1] > 5*b[1] && b[2] > 5*a[2] && b[3] > 5*a[3]) {
		t.Errorf("inverse lengths %.3g and %.3g", p.Scale[0], p.Scale[1])
	}
	still := learned(t, Z, blas.NewGeneral(300, 1), Options{Start: &p}, "gaussian", "gaussian")
	if w := p.Weights[1]; !(math.Abs(still.Weights[1]-w) <= 1e-12*w) {
		t.Errorf("without anything to learn the second weight goes from %g to %g", w, still.Weights[1])
	}
}

// TestStarts finds the noise of a target that varies at three scales, for each of some draws, in the place of a minimum
// of the criterion that takes what is fast for noise: two starts of equal lengths end at .04 or more.
func TestStarts(t *testing.T) {
	for seed := range uint64(3) {
		rng := rand.New(rand.NewPCG(seed, 4))
		Z, Y := blas.NewGeneral(300, 4), blas.NewGeneral(300, 1)
		for i := range 300 {
			x := blas.Row(Z, i)
			for k := range x {
				x[k] = rng.Float64()
			}
			Y.Data[i] = 2*math.Sin(x[0]+x[1]+x[2]+x[3]) + .5*math.Sin(12*x[0])*math.Cos(12*x[1]) +
				math.Sin(5*x[0]-5*x[3]) + .02*rng.NormFloat64()
		}
		if p := learned(t, Z, Y, Options{}, "gaussian", "gaussian"); !(p.Noise < .01) {
			t.Errorf("seed %d: noise %g", seed, p.Noise)
		}
	}
}

// TestUnits says that a length is in units of its column and depends on nothing else's units.
func TestUnits(t *testing.T) {
	Z, Y := wavy(80, 4, 2)
	want := learned(t, Z, Y, Options{}, "gaussian")
	Z, Y = blas.Clone(Z), blas.Clone(Y)
	for i := range Z.Rows {
		blas.Row(Z, i)[1] = 1e6*blas.Row(Z, i)[1] - 5e6
		Y.Data[i] = 1e-9*Y.Data[i] + 3e-9
	}
	got := learned(t, Z, Y, Options{}, "gaussian")
	got.Scale[0][1] *= 1e6
	for c, s := range want.Scale[0] {
		if !(math.Abs(got.Scale[0][c]-s) <= 1e-4*s) {
			t.Errorf("inverse length %d is %.9g in other units, not %.9g", c, got.Scale[0][c], s)
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
			t.Run(name+"/"+string(kind), func(t *testing.T) { learned(t, Z, Y, Options{}, kind) })
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
	if s := learned(t, Z, Y, Options{}, "gaussian").Scale[0]; s[2] != 0 || s[0] == 0 {
		t.Errorf("inverse lengths %v, of which that of column 2 is constant", s)
	}
	constant := blas.NewGeneral(60, 2)
	if _, err := Learn(t.Context(), []kernel.Kind{"gaussian"}, constant, Y, Options{}); !errors.Is(err,
		kernel.ErrConstant) ||
		!errors.Is(err, fault.ErrInput) {
		t.Errorf("constant columns: %v", err)
	}
}

func TestErrors(t *testing.T) {
	Z, Y := wavy(60, 4, 11)
	if _, err := Learn(t.Context(), []kernel.Kind{"cauchy"}, Z, Y, Options{}); !errors.Is(err, fault.ErrInput) {
		t.Errorf("a kernel without lengths: %v", err)
	}
	hole := blas.Clone(Z)
	hole.Data[9] = math.NaN()
	if _, err := Learn(t.Context(), []kernel.Kind{"gaussian"}, hole, Y, Options{}); !errors.Is(err,
		kernel.ErrNotFinite) {
		t.Errorf("NaN: %v", err)
	}
	for _, after := range []int{1, 5, 20} {
		ctx, cancel := context.WithCancel(t.Context())
		if _, err := Learn(&counted{ctx, cancel, after}, []kernel.Kind{"gaussian"}, Z, Y, Options{}); !errors.Is(err,
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
	one := learned(t, Z, Y, Options{Seed: 1}, "laplacian")
	other := learned(t, Z, Y, Options{Seed: 2}, "laplacian")
	par.SetThreads(1)
	defer par.SetThreads(0)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	serial := learned(t, Z, Y, Options{Seed: 1}, "laplacian")
	if !slices.Equal(one.Scale[0], serial.Scale[0]) || one.Noise != serial.Noise ||
		slices.Equal(one.Scale[0], other.Scale[0]) {
		t.Errorf("inverse lengths %v, with one thread %v, of another seed %v", one, serial, other)
	}
}

// TestStart says that learning goes on from lengths that were learned on fewer samples, to about
// where it comes from none.
func TestStart(t *testing.T) {
	Z, Y := wavy(200, 5, 13)
	first := func(a blas.General) blas.General { return blas.View(a, 0, 0, 100, a.Cols) }
	part := learned(t, first(Z), first(Y), Options{}, "gaussian")
	still := learned(t, Z, blas.NewGeneral(200, 1), Options{Start: &part}, "gaussian")
	for c, s := range part.Scale[0] {
		if !(math.Abs(still.Scale[0][c]-s) <= 1e-12*s) {
			t.Errorf("without anything to learn inverse length %d goes from %g to %g", c, s, still.Scale[0][c])
		}
	}
	warm, cold := learned(t, Z, Y, Options{Start: &part}, "gaussian"), learned(t, Z, Y, Options{}, "gaussian")
	for c := range 2 {
		if !(math.Abs(math.Log(warm.Scale[0][c]/cold.Scale[0][c])) < 0.2) || warm.Scale[0][c] == part.Scale[0][c] ||
			warm.Scale[0][c] == cold.Scale[0][c] {
			t.Errorf("inverse lengths %.3g from %.3g, and %.3g from none", warm.Scale[0], part.Scale[0], cold.Scale[0])
		}
	}
}

// TestGather takes the mean of what folds have taught, which is likelier than each, unless these are of different
// minima.
func TestGather(t *testing.T) {
	Z, Y := wavy(240, 3, 14)
	whole := learned(t, Z, Y, Options{}, "gaussian")
	var points []Point
	for fold := range 3 {
		var idx []int
		for i := range Z.Rows {
			if i%3 != fold {
				idx = append(idx, i)
			}
		}
		x, y := blas.TakeRows(Z, idx), blas.TakeRows(Y, idx)
		points = append(points, learned(t, x, y, Options{Start: &whole}, "gaussian"))
	}
	p, mean, err := Gather(t.Context(), []kernel.Kind{"gaussian"}, Z, Y, points, Options{})
	if err != nil || !mean {
		t.Fatalf("of the folds %v alike: mean %v, %v", points, mean, err)
	}
	var sum float64
	for _, q := range points {
		sum += math.Log(q.Scale[0][0]) / 3
	}
	if v := math.Log(p.Scale[0][0]); !(math.Abs(v-sum) < 1e-12) {
		t.Errorf("the logarithm of an inverse length is %g, the mean of those of the folds %g", v, sum)
	}
	far := points[0]
	far.Scale = [][]float64{{1e-3 * far.Scale[0][0], far.Scale[0][1], far.Scale[0][2]}}
	kinds := []kernel.Kind{"gaussian"}
	if p, mean, err = Gather(t.Context(), kinds, Z, Y, []Point{far, points[1]}, Options{}); err != nil || mean ||
		!slices.Equal(p.Scale[0], points[1].Scale[0]) {
		t.Errorf("of two minima: mean %v, %v, %v", mean, p.Scale, err)
	}
	if p, mean, err = Gather(t.Context(), kinds, Z, Y, []Point{far}, Options{}); err != nil || !mean ||
		!slices.Equal(p.Scale[0], far.Scale[0]) {
		t.Errorf("of one: mean %v, %v, %v", mean, p.Scale, err)
	}
}

// looked is a context that ends when it is looked at for the at-th time.
type looked struct {
	context.Context
	at, looks atomic.Int64
}

func (c *looked) Err() error {
	if c.looks.Add(1) >= c.at.Load() {
		return context.Canceled
	}
	return nil
}

// Done says that the context can end.
func (c *looked) Done() <-chan struct{} { return make(chan struct{}) }

// TestEnds ends each kind of learning at any look at the context, in the middle of an evaluation too, with few more
// looks.
func TestEnds(t *testing.T) {
	Z, Y := wavy(120, 3, 14)
	kinds := []kernel.Kind{"gaussian", kernel.Matern12}
	from := learned(t, Z, Y, Options{}, kinds...)
	for name, f := range map[string]func(ctx context.Context, opt Options) error{
		"Learn": func(ctx context.Context, opt Options) error { _, err := Learn(ctx, kinds, Z, Y, opt); return err },
		"Turn": func(ctx context.Context, opt Options) error {
			_, err := Turn(ctx, kinds, Z, Y, from, opt)
			return err
		},
		"Gather": func(ctx context.Context, opt Options) error {
			_, _, err := Gather(ctx, kinds, Z, Y, []Point{from, from}, opt)
			return err
		},
	} {
		for at := int64(1); ; at *= 2 {
			ctx := &looked{Context: t.Context()}
			ctx.at.Store(at)
			err := f(ctx, Options{Backend: blas.NewNative()})
			if ctx.looks.Load() < at {
				if err != nil || at < 16 {
					t.Errorf("%s: not ended by look %d: %v", name, at, err)
				}
				break
			}
			const few = 400 // the operations of a factorization, and the rows of a kernel, that are passed over
			if after := ctx.looks.Load() - at; !errors.Is(err, context.Canceled) || after > few {
				t.Errorf("%s, ended at look %d: %v after %d more looks", name, at, err, after)
			}
		}
	}
}
