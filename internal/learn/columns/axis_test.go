package columns_test

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/internal/fittest"
)

// madeTails draws l curves Y of n points T that are smooth functions of three inputs and t, with noise, and Z, of which
// all curves but a tenth have lost their tails.
func madeTails(l, n int, seed uint64) (X, Y, Z, T *mat.Dense) {
	rng := rand.New(rand.NewPCG(seed, 0))
	X, Y, T = mat.NewDense(l, 3, nil), mat.NewDense(l, n, nil), mat.NewDense(n, 1, nil)
	waves := make([][5]float64, 20)
	for k := range waves {
		for c, scale := range []float64{0.5, 0.5, 0.5, 6, 10} {
			waves[k][c] = scale * rng.NormFloat64()
		}
	}
	for i := range l {
		x := X.RawRowView(i)
		for c := range x {
			x[c] = rng.NormFloat64()
		}
		for j := range n {
			t := float64(j) / float64(n-1)
			T.Set(j, 0, t)
			f := 0.05 * rng.NormFloat64()
			for _, w := range waves {
				f += 0.3 * math.Cos(w[0]*x[0]+w[1]*x[1]+w[2]*x[2]+w[3]*t+w[4])
			}
			Y.Set(i, j, f)
		}
	}
	Z = mat.DenseCopyOf(Y)
	for i := l / 10; i < l; i++ {
		for j := 1 + rng.IntN(n-1); j < n; j++ {
			Z.Set(i, j, math.NaN())
		}
	}
	return X, Y, Z, T
}

// tailError is the root mean square of F − Y where Z is missing.
func tailError(F, Y, Z *mat.Dense) float64 {
	var sum, count float64
	r, c := Y.Dims()
	for i := range r {
		for j := range c {
			if e := F.At(i, j) - Y.At(i, j); math.IsNaN(Z.At(i, j)) {
				sum, count = sum+e*e, count+1
			}
		}
	}
	return math.Sqrt(sum / count)
}

// TestOutputAxisFillsTails compares a kernel on the axis with L learned, and with none, where few rows have late cells.
func TestOutputAxisFillsTails(t *testing.T) {
	X, Y, Z, T := madeTails(30, 30, 0)
	best := func(opt iokl.Options) float64 {
		least := math.Inf(1)
		for _, opt.Lambda = range []float64{1e-2, 1e-3, 1e-4} {
			opt.Kernels, opt.Tol = []string{"gaussian:all:median*1,3"}, 1e-2
			m, err := iokl.Fit(t.Context(), X, Z, opt)
			if err != nil {
				t.Fatal(err)
			}
			least = min(least, tailError(fittest.Predict(t, m, X), Y, Z))
		}
		return least
	}
	axis := best(iokl.Options{OutputAxis: T, Learn: "none"})
	learned, none := best(iokl.Options{Learn: "l"}), best(iokl.Options{Learn: "none"})
	t.Logf("errors in the tails: %.3f with the axis, %.3f with L learned, %.3f with none", axis, learned, none)
	if !(axis < 0.85*min(learned, none)) {
		t.Error("the axis does not help")
	}
}

// TestOutputAxisIsChosen lets cross-validation choose between L learned, and kernels on the axis, of curves.
func TestOutputAxisIsChosen(t *testing.T) {
	X, _, Z, T := madeTails(60, 15, 0)
	fit := func() *iokl.Model {
		m, err := iokl.Fit(t.Context(), X, Z, iokl.Options{
			OutputAxis: T, Kernels: []string{"gaussian:all:median"}, Norm: "lp:1", IntervalFolds: -1,
			CV: iokl.CVOptions{Folds: 3, Repeats: 1, Lambdas: []float64{1e-4}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	m := fit()
	if c := m.Chosen(); !strings.HasPrefix(c.OutputKernel, "matern32:all:median*") || c.Learn != "eta" {
		t.Errorf("chose %+v", c)
	}
	if m.AxisKernel() != m.Chosen().OutputKernel {
		t.Errorf("the model says %s", m.AxisKernel())
	}
	if !mat.Equal(fittest.Predict(t, m, X), fittest.Predict(t, fit(), X)) {
		t.Error("two fits differ")
	}
}

// TestOutputAxisIsTheDenseSystem compares predictions with those of K⊗T + μI on the observed cells, solved densely.
func TestOutputAxisIsTheDenseSystem(t *testing.T) {
	const lambda, sigma, rho = 1e-3, 1.5, 0.7
	l, n := 12, 6
	for _, holes := range []bool{true, false} {
		X, Y, Z, _ := madeTails(l, n, 2)
		if !holes {
			Z = Y
		}
		T := mat.NewDense(n, 2, []float64{0, 1, 0.3, 2, 1, -1, 1.2, 0, 2, 3, 2.5, 1})
		m, err := iokl.Fit(t.Context(), X, Z, iokl.Options{
			Kernels: []string{"gaussian:all:1.5"}, OutputKernel: "gaussian:all:0.7", OutputAxis: T, Learn: "none",
			Lambda: lambda, Standardize: "none",
		})
		if err != nil {
			t.Fatal(err)
		}
		gauss := func(a, b []float64, width float64, scale func(c int) float64) float64 {
			var s float64
			for c := range a {
				s += math.Pow((a[c]-b[c])/scale(c), 2)
			}
			return math.Exp(-s / (2 * width * width))
		}
		one := func(int) float64 { return 1 }
		deviation := func(c int) float64 {
			var mean, square float64
			for j := range n {
				mean += T.At(j, c) / float64(n)
			}
			for j := range n {
				square += math.Pow(T.At(j, c)-mean, 2) / float64(n)
			}
			return math.Sqrt(square)
		}
		var cells [][2]int
		for i := range l {
			for j := range n {
				if !math.IsNaN(Z.At(i, j)) {
					cells = append(cells, [2]int{i, j})
				}
			}
		}
		A, y := mat.NewDense(len(cells), len(cells), nil), mat.NewVecDense(len(cells), nil)
		for a, p := range cells {
			for b, q := range cells {
				A.Set(a, b, gauss(X.RawRowView(p[0]), X.RawRowView(q[0]), sigma, one)*
					gauss(T.RawRowView(p[1]), T.RawRowView(q[1]), rho, deviation))
			}
			A.Set(a, a, A.At(a, a)+lambda*float64(l))
			y.SetVec(a, Z.At(p[0], p[1]))
		}
		var c mat.VecDense
		if err := c.SolveVec(A, y); err != nil {
			t.Fatal(err)
		}
		dense := func(points *mat.Dense) *mat.Dense {
			r, _ := points.Dims()
			F := mat.NewDense(l, r, nil)
			for i := range l {
				for j := range r {
					for a, p := range cells {
						F.Set(i, j, F.At(i, j)+c.AtVec(a)*gauss(X.RawRowView(i), X.RawRowView(p[0]), sigma, one)*
							gauss(points.RawRowView(j), T.RawRowView(p[1]), rho, deviation))
					}
				}
			}
			return F
		}
		if want := dense(T); !mat.EqualApprox(fittest.Predict(t, m, X), want, 1e-8*mat.Max(want)) {
			t.Errorf("holes %v: predictions differ from the dense solution", holes)
		}
		points := mat.NewDense(3, 2, []float64{0.5, 0.5, 1.7, 2, 2.2, -0.5})
		at, err := m.At(points)
		if err != nil {
			t.Fatal(err)
		}
		if want := dense(points); !mat.EqualApprox(fittest.Predict(t, at, X), want, 1e-8*mat.Max(want)) {
			t.Errorf("holes %v: at new points:\n%v, the dense solution\n%v", holes, mat.Formatted(fittest.Predict(t,
				at, X)),
				mat.Formatted(want))
		}
	}
}

// TestOutputAxisAtItsOwnPoints predicts at trained points, and next to them, as at new ones, from a model and its file.
func TestOutputAxisAtItsOwnPoints(t *testing.T) {
	X, _, Z, T := madeTails(40, 8, 3)
	for _, opt := range []iokl.Options{
		{Learn: "none", OutputKernel: "gaussian:all:median"},
		{Learn: "eta"},
		{CV: iokl.CVOptions{Folds: 3, Lambdas: []float64{1e-3}, Models: []iokl.ModelKind{"sum"}}},
	} {
		opt.OutputAxis, opt.Kernels, opt.AxisNames = T, []string{"gaussian:all:median*1,2"}, []string{"epoch"}
		if opt.CV.Lambdas == nil {
			opt.Lambda = 1e-3
		}
		m, err := iokl.Fit(t.Context(), X, Z, opt)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "model.iokl")
		if err := m.Save(file); err != nil {
			t.Fatal(err)
		}
		again, err := iokl.Load(file)
		if err != nil {
			t.Fatal(err)
		}
		want := fittest.Predict(t, m, X)
		for _, shift := range []float64{0, 1e-9} {
			near := mat.DenseCopyOf(T)
			near.Apply(func(_, _ int, v float64) float64 { return v + shift }, near)
			at, err := again.At(near)
			if err != nil {
				t.Fatal(err)
			}
			if F := fittest.Predict(t, at, X); !mat.EqualApprox(F, want, (1e-10+1e3*shift)*mat.Max(want)) {
				t.Errorf("%s: predictions %g from the points differ", m.AxisKernel(), shift)
			}
			var b bytes.Buffer
			if err := at.Encode(&b); err != nil {
				t.Fatal(err)
			}
			if _, err := iokl.Decode(bytes.NewReader(b.Bytes()), int64(b.Len())); err != nil {
				t.Error(err)
			}
		}
		if points, names := again.OutputAxis(); !mat.Equal(points, T) || names[0] != "epoch" {
			t.Errorf("the file has the axis %v, %v", names, points)
		}
		if again.AxisKernel() != m.AxisKernel() {
			t.Errorf("the file has the kernel %q, the model %q", again.AxisKernel(), m.AxisKernel())
		}
	}
}

// TestOutputAxisStaysInUpdates adds rows to a model with a kernel on the axis, and compares with a fit to all.
func TestOutputAxisStaysInUpdates(t *testing.T) {
	X, Y, _, T := madeTails(40, 6, 4)
	opt := iokl.Options{
		OutputAxis: T, Learn: "none", Kernels: []string{"gaussian:all:2"}, Lambda: 1e-3, Standardize: "none",
	}
	part, err := iokl.Fit(t.Context(), X.Slice(0, 30, 0, 3), Y.Slice(0, 30, 0, 6), opt)
	if err != nil {
		t.Fatal(err)
	}
	updated, err := part.Update(t.Context(), X.Slice(30, 40, 0, 3), Y.Slice(30, 40, 0, 6), iokl.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	opt.Lambda *= 30. / 40
	all, err := iokl.Fit(t.Context(), X, Y, opt)
	if err != nil {
		t.Fatal(err)
	}
	want := fittest.Predict(t, all, X)
	if !mat.EqualApprox(fittest.Predict(t, updated, X), want, 1e-7*mat.Max(want)) {
		t.Error("the update differs from a fit to all rows")
	}
	if updated.AxisKernel() != iokl.DefaultOutputKernel {
		t.Errorf("the update has the kernel %q", updated.AxisKernel())
	}
}

func TestOutputAxisRefuses(t *testing.T) {
	X, Y, _, T := madeTails(20, 5, 5)
	bad := mat.DenseCopyOf(T)
	bad.Set(2, 0, math.NaN())
	for _, c := range []struct {
		name, says string
		opt        iokl.Options
	}{
		{"rows", "3 points, and there are 5 outputs", iokl.Options{OutputAxis: T.Slice(0, 3, 0, 1)}},
		{"NaN", "coordinate t1 is missing", iokl.Options{OutputAxis: bad}},
		{"one point", "one point", iokl.Options{OutputAxis: mat.NewDense(5, 1, nil)}},
		{"learn l", "learns L", iokl.Options{OutputAxis: T, Learn: "eta,l"}},
		{"sum", "sum", iokl.Options{OutputAxis: T, Model: "sum"}},
		{"loss", "squared loss", iokl.Options{OutputAxis: T, Loss: "huber"}},
		{"no axis", "not given", iokl.Options{OutputKernel: "gaussian:all:1"}},
		{"kernel", "nonsense", iokl.Options{OutputAxis: T, OutputKernel: "nonsense:all:1"}},
		{"ranks", "ranks", iokl.Options{OutputAxis: T, OutputKernel: "gaussian:ranks:median"}},
		{"names", "2 names", iokl.Options{OutputAxis: T, AxisNames: []string{"a", "b"}}},
	} {
		c.opt.Lambda, c.opt.Kernels = 1e-2, []string{"gaussian:all:median"}
		m, err := iokl.Fit(t.Context(), X, Y, c.opt)
		if m != nil || !errors.Is(err, iokl.ErrInput) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	twice := mat.DenseCopyOf(T)
	twice.Set(1, 0, 0)
	opt := iokl.Options{OutputAxis: twice, Lambda: 1e-2, Kernels: []string{"gaussian:all:median"}}
	m, err := iokl.Fit(t.Context(), X, Y, opt)
	if err != nil {
		t.Fatalf("two outputs at a point: %v", err)
	}
	if _, err := m.At(mat.NewDense(1, 2, nil)); !errors.Is(err, iokl.ErrInput) {
		t.Errorf("points of two coordinates: %v", err)
	}
	opt.OutputAxis = nil
	if m, err = iokl.Fit(t.Context(), X, Y, opt); err != nil {
		t.Fatal(err)
	}
	if _, err := m.At(T); !errors.Is(err, iokl.ErrInput) || !strings.Contains(err.Error(), "without an axis") {
		t.Errorf("a model without an axis: %v", err)
	}
	labels := strings.Fields(strings.Repeat("a b ", 10))
	if _, err := iokl.FitClasses(t.Context(), X, labels, iokl.Options{OutputAxis: T}); !errors.Is(err, iokl.ErrInput) {
		t.Errorf("classes: %v", err)
	}
}
