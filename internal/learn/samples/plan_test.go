package samples

import (
	"math"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/defaults"
	"github.com/iokl/iokl/linop"
)

// waves are rows of inputs and one target.
func waves(l, d int) (X, Y blas.General) {
	X, Y = blas.NewGeneral(l, d), blas.NewGeneral(l, 1)
	for i := range l {
		for j := range d {
			X.Data[i*d+j] = math.Sin(float64(i*(j+7)) * 0.37)
		}
		Y.Data[i] = math.Cos(2 * X.Data[i*d])
	}
	return X, Y
}

// TestPlanOfManyRows holds the plan of fixed weights to the sizes that memory has room for.
func TestPlanOfManyRows(t *testing.T) {
	const limit = 8 << 30
	before := debug.SetMemoryLimit(limit)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	for _, c := range []struct {
		l, kernels int
		prec       blas.Precision
		fits       bool
	}{
		{41157, 1, blas.Float32, true},
		{50000, 1, blas.Float32, true},
		{50000, 12, blas.Float32, true},
		{60000, 1, blas.Float32, false},
		{41157, 1, blas.Float64, false},
	} {
		opt := &Options{Env: learn.Env{MaxBytes: limit}, Precision: c.prec}
		p := opt.sumPlan(c.kernels, c.l, 9, 1)
		if triangle := float64(c.l) * float64(c.l) / 2 * float64(c.prec.Bytes()); p.Held < triangle {
			t.Errorf("%d rows in %v: %g bytes are held, and a triangle takes %g", c.l, c.prec, p.Held, triangle)
		}
		if fits := p.Bytes <= limit; fits != c.fits {
			t.Errorf("%d rows in %v: plan of %g bytes, fits: %v, want %v", c.l, c.prec, p.Bytes, fits, c.fits)
		}
	}
}

// TestPlanHolds compares the bytes that a plan holds with those that the training set has taken, where one triangle is
// stored.
func TestPlanHolds(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	const l = linop.KeepBoth + 300
	X, Y := waves(l, 3)
	r, err := NewRows(X, Y, blas.General{}, Options{Precision: blas.Float32, Env: learn.Env{MaxBytes: -1}})
	if err != nil {
		t.Fatal(err)
	}
	specs := []string{"gaussian:all:1,2", "laplacian:all:1"}
	plan, err := r.Plan(t.Context(), specs, learn.Nothing, true)
	if err != nil {
		t.Fatal(err)
	}
	allocated := func() float64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	before := allocated()
	s, err := r.Train(t.Context(), specs, learn.Nothing, learn.All)
	if err != nil {
		t.Fatal(err)
	}
	if got := allocated() - before; got > plan.Held || got < plan.Held/2 {
		t.Errorf("%g bytes are taken, and the plan holds %g", got, plan.Held)
	}
	// The sum is that of the kernels one by one.
	K, _ := s.Set.(*training).Kernels()
	K.SetWeights(s.Weights())
	one := blas.NewGeneral(l, 1)
	at := l / 3
	one.Data[at] = 1
	got := blas.NewGeneral(l, 1)
	K.Apply(got, one)
	var worst float64
	w := s.Set.(*training).weights
	for i := range l {
		var square, sum float64
		for j := range 3 {
			square += math.Pow(X.Data[3*i+j]-X.Data[3*at+j], 2)
			sum += math.Abs(X.Data[3*i+j] - X.Data[3*at+j])
		}
		want := w[0]*math.Exp(-square/2) + w[1]*math.Exp(-square/8) + w[2]*math.Exp(-sum)
		worst = max(worst, math.Abs(got.Data[i]-want))
	}
	if !(worst <= 1e-6) {
		t.Errorf("a column of the sum is off by %g", worst)
	}
}

// TestAffordableWithin takes exact kernels within memory and budget alone, and says what it compared.
func TestAffordableWithin(t *testing.T) {
	const many, none, outputs = linop.KeepBoth + 1, learn.Nothing, learn.OutputKernel
	for _, c := range []struct {
		name      string
		l         int
		what      learn.Learned
		bytes     int64
		budget    time.Duration
		exact     bool
		precision blas.Precision
		says      string
	}{
		{"no budget", 600, none, -1, 0, true, blas.Float64, "exact kernels in float64 take"},
		{"memory", 600, none, 1 << 20, 0, false, blas.Float64, "the limit is 1.0 MiB"},
		{"time", 600, none, -1, time.Nanosecond, false, blas.Float64, "and the budget is 1ns"},
		{"enough time", 600, none, -1, time.Hour, true, blas.Float64, "and the budget is 1h0m0s"},
		{"no memory in time", 600, none, 1 << 20, time.Hour, false, blas.Float64, "explicit features"},
		{"many rows", many, none, -1, 0, true, blas.Float32, "exact kernels in float32 take"},
		{"learned outputs", many, outputs, -1, 0, true, blas.Float64, "exact kernels in float64 take"},
		{"too long", 48000, outputs, -1, 0, false, blas.Float64, "a budget allows what takes long"},
		{"features of many rows", many, none, 100 << 20, 0, false, blas.Float64, "explicit features"},
	} {
		X, Y := waves(c.l, 2)
		var lines []string
		r, err := NewRows(X, Y, blas.General{}, Options{Env: learn.Env{MaxBytes: c.bytes, Notify: func(line string) {
			lines = append(lines, line)
		}}})
		if err != nil {
			t.Fatal(err)
		}
		specs := []string{"gaussian:all:median"}
		got, err := r.Affordable(t.Context(), specs, c.what, 3, c.budget)
		if err != nil {
			t.Fatal(err)
		}
		if exact := got[0] == specs[0]; exact != c.exact || r.opt.Precision != c.precision {
			t.Errorf("%s: kernels %v in %v", c.name, got, r.opt.Precision)
		}
		said := strings.Join(lines, "\n")
		timed := strings.Contains(said, "a fit takes about")
		want := c.bytes < 0 && (c.budget > 0 || c.l > linop.KeepBoth)
		if !strings.Contains(said, c.says) || timed != want {
			t.Errorf("%s: said %q, want %q in it", c.name, said, c.says)
		}
	}
}

// TestMostFeatures asserts that the bounds of work, of decompositions, of rows and of memory each decide where they are
// the least, and that 100,000 rows of ten inputs take twice 3000 features.
func TestMostFeatures(t *testing.T) {
	for _, c := range []struct {
		l     int
		limit float64
		least int
		most  int
	}{
		{100_000, 1e12, 6000, defaults.MostFeatures},
		{1_000_000, 1e12, 1940, 2000},
		{9_000, 1e12, 4500, 4500},
		{100_000, 2e8, 300, 2000},
		{100_000, 0, defaults.ColumnFeatures, defaults.ColumnFeatures},
	} {
		if D := mostFeatures(c.l, 10, 1, 3, c.limit, defaults.FeatureWork); D < c.least || D > c.most {
			t.Errorf("%d rows in %g bytes: %d features, not %d to %d", c.l, c.limit, D, c.least, c.most)
		}
	}
}
