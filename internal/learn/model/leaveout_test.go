package model_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/internal/learn/learntest"
)

// Jackknife+ by its definition, from refits without each row at the same kernel, L and μ.
func TestJackknifePlusAgainstRefits(t *testing.T) {
	const l, level = 30, 0.8
	X, Y := learntest.Wave(l+5, 34)
	lambda := 2e-3
	opt := iokl.Options{
		Kernels: []string{"gaussian:all:4"}, Lambda: lambda, Learn: "none", Standardize: "none",
		Tol: 1e-10,
	}
	m, err := iokl.Fit(context.Background(), X.Slice(0, l, 0, 4), Y.Slice(0, l, 0, 3), opt)
	if err != nil {
		t.Fatal(err)
	}
	fresh := X.Slice(l, l+5, 0, 4)
	got, err := m.PredictInterval(context.Background(), fresh, iokl.IntervalOptions{Level: level, Method: "jackknife+"})
	if err != nil {
		t.Fatal(err)
	}
	opt.Lambda = lambda * l / (l - 1) // the same μ
	residuals, values := mat.NewDense(l, 3, nil), make([]*mat.Dense, l)
	for i := range l {
		x, y := without(X, i, l), without(Y, i, l)
		f, err := iokl.Fit(context.Background(), x, y, opt)
		if err != nil {
			t.Fatal(err)
		}
		P, err := f.Predict(X.Slice(i, i+1, 0, 4))
		if err != nil {
			t.Fatal(err)
		}
		if values[i], err = f.Predict(fresh); err != nil {
			t.Fatal(err)
		}
		for j := range 3 {
			residuals.Set(i, j, math.Abs(Y.At(i, j)-P.At(0, j)))
		}
	}
	nearEnds(t, got, values, residuals, level)
}

func seq(from, to int) []int {
	var idx []int
	for i := from; i < to; i++ {
		idx = append(idx, i)
	}
	return idx
}

// without is the first l rows of a but for row i.
func without(a *mat.Dense, i, l int) *mat.Dense {
	_, c := a.Dims()
	b := mat.NewDense(l-1, c, nil)
	for p := range l - 1 {
		q := p
		if p >= i {
			q++
		}
		b.SetRow(p, a.RawRowView(q))
	}
	return b
}

// Residuals and influences against refits without each row, by their definition; leverages
// and deviations against differences of targets and against the residuals.
func TestLeaveOneOutAgainstRefits(t *testing.T) {
	const l = 24
	X, Y := learntest.Wave(l+1, 35)
	opt := iokl.Options{
		Kernels: []string{"gaussian:all:4", "linear:all"}, Lambda: 5e-3, Learn: "none",
		Standardize: "none", Tol: 1e-10,
	}
	fit := func(X, Y mat.Matrix, lambda float64) *iokl.Model {
		opt := opt
		opt.Lambda = lambda
		m, err := iokl.Fit(context.Background(), X, Y, opt)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	predict := func(m *iokl.Model, X mat.Matrix) *mat.Dense {
		F, err := m.Predict(X)
		if err != nil {
			t.Fatal(err)
		}
		return F
	}
	train, fresh := X.Slice(0, l, 0, 4), X.Slice(l, l+1, 0, 4)
	m := fit(train, Y.Slice(0, l, 0, 3), opt.Lambda)
	r, err := m.LeaveOneOut(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	change, err := m.Influence(context.Background(), fresh)
	if err != nil {
		t.Fatal(err)
	}
	all := predict(m, fresh)
	var freedom, surprise float64
	for i := range l {
		f := fit(without(X, i, l), without(Y, i, l), opt.Lambda*l/(l-1))
		P, at := predict(f, X.Slice(i, i+1, 0, 4)), predict(f, fresh)
		moved := mat.DenseCopyOf(Y.Slice(0, l, 0, 3))
		for j := range 3 {
			near(t, "residual", r.Residuals.At(i, j), Y.At(i, j)-P.At(0, j))
			near(t, "influence", change.Changes.At(i, j), all.At(0, j)-at.At(0, j))
			freedom += r.Leverages.At(i, j)
			z := r.Residuals.At(i, j) / r.Deviations.At(i, j)
			surprise += z * z / (3 * l)
			moved.Set(i, j, moved.At(i, j)+1)
		}
		up, down := predict(fit(train, moved, opt.Lambda), X.Slice(i, i+1, 0, 4)), predict(m, X.Slice(i, i+1, 0, 4))
		for j := range 3 {
			near(t, "leverage", r.Leverages.At(i, j), up.At(0, j)-down.At(0, j))
		}
	}
	near(t, "freedom", r.Freedom, freedom)
	near(t, "mean square of residuals over deviations", surprise, 1)
}

// A target that is the same in all rows is no part of the error, nor of its standard error.
func TestLeaveOneOutOfConstantTargets(t *testing.T) {
	X, Y := learntest.Wave(30, 37)
	more := mat.NewDense(30, 4, nil)
	more.Apply(func(i, j int, _ float64) float64 {
		if j < 3 {
			return Y.At(i, j)
		}
		return 7
	}, more)
	var points []iokl.CVPoint
	for _, Y := range []*mat.Dense{Y, more} {
		r, err := iokl.CrossValidate(context.Background(), X, Y, iokl.Options{
			Kernels: []string{"gaussian:all:4"}, Learn: "none", Tau: 3,
			CV: iokl.CVOptions{LeaveOneOut: true, Lambdas: []float64{1e-2}},
		})
		if err != nil {
			t.Fatal(err)
		}
		points = append(points, r.Points[0])
	}
	near(t, "error", points[1].Mean, points[0].Mean)
	near(t, "standard error", points[1].StdErr, points[0].StdErr)
}

// Leave-one-out of cross-validation against refits without each row by Fit, at the same μ.
func TestCrossValidateLeaveOneOut(t *testing.T) {
	const l = 26
	X, Y := learntest.Wave(l, 36)
	for name, kernels := range map[string][]string{
		"exact": {"gaussian:all:4", "laplacian:all:9"}, "exact, one linear": {"linear:all", "gaussian:all:4"},
		"linear features": {"linear:all"}, "random features": {"rff:gaussian:all:4:40"},
	} {
		for _, metric := range []iokl.Metric{iokl.MetricMSE, iokl.MetricRMSE} {
			t.Run(name+"/"+string(metric), func(t *testing.T) {
				opt := iokl.Options{
					Kernels: kernels, Learn: "none", Standardize: "none", Tol: 1e-10,
					CV: iokl.CVOptions{LeaveOneOut: true, Lambdas: []float64{1e-1, 1e-2}, Metric: metric},
				}
				r, err := iokl.CrossValidate(context.Background(), X, Y, opt)
				if err != nil {
					t.Fatal(err)
				}
				if len(r.Points) != 2 || r.Folds != l {
					t.Fatalf("%+v", r)
				}
				for _, p := range r.Points {
					opt := opt
					opt.Lambda = p.Lambda * l / (l - 1)
					mse := make([]float64, 3)
					for i := range l {
						m, err := iokl.Fit(context.Background(), without(X, i, l), without(Y, i, l), opt)
						if err != nil {
							t.Fatal(err)
						}
						F, err := m.Predict(X.Slice(i, i+1, 0, 4))
						if err != nil {
							t.Fatal(err)
						}
						for j := range mse {
							e := F.At(0, j) - Y.At(i, j)
							mse[j] += e * e / l
						}
					}
					var want float64
					for _, v := range mse {
						if metric == "rmse" {
							v = math.Sqrt(v)
						}
						want += v / 3
					}
					if !(math.Abs(p.Mean-want) <= 1e-7*want) || !(p.StdErr > 0) || !(p.Freedom > 0 && p.Freedom < 3*l) {
						t.Errorf("λ = %g: error %.10g ± %g, want %.10g; %g degrees of freedom", p.Lambda, p.Mean,
							p.StdErr, want, p.Freedom)
					}
				}
			})
		}
	}
	learned, err := iokl.CrossValidate(context.Background(), X, Y,
		iokl.Options{Kernels: []string{"gaussian:all:median*0.5,1"}, CV: iokl.CVOptions{LeaveOneOut: true}})
	if err != nil {
		t.Fatal(err)
	}
	if p := learned.Chosen(); !(p.Mean < learned.Constant) || learned.Best == 0 {
		t.Errorf("chose %+v of errors beside %g", p, learned.Constant)
	}
	if _, err := iokl.CrossValidate(context.Background(), X, Y,
		iokl.Options{CV: iokl.CVOptions{LeaveOneOut: true, TimeOrdered: true}}); !errors.Is(err, iokl.ErrInput) {
		t.Errorf("in the order of time: %v", err)
	}
}

// Targets that a model predicts by their mean have the residuals of the mean, and no deviation.
func TestClosedFormsOfMeans(t *testing.T) {
	X, Y := learntest.Wave(90, 37)
	m, err := iokl.Fit(context.Background(), X, Y, iokl.Options{Kernels: []string{"gaussian:all:median"}})
	if err != nil {
		t.Fatal(err)
	}
	const noise = 2
	if c := m.Chosen(); !slices.Contains(c.Means, noise) {
		t.Skipf("the noise is learned: %+v", c)
	}
	r, err := m.LeaveOneOut(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	F, err := m.Predict(X)
	if err != nil {
		t.Fatal(err)
	}
	D, err := m.PredictDeviation(context.Background(), X)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 90 {
		near(t, "residual", r.Residuals.At(i, noise), Y.At(i, noise)-F.At(i, noise))
		if D.At(i, noise) != 0 || !(D.At(i, 0) > 0) || r.Leverages.At(i, noise) != 0 {
			t.Fatalf("row %d: deviations %g", i, mat.Row(nil, i, D))
		}
	}
	a, err := m.PredictInterval(context.Background(), X, iokl.IntervalOptions{Method: "jackknife+"})
	if err != nil {
		t.Fatal(err)
	}
	if w := a.High.At(0, noise) - a.Low.At(0, noise); math.Abs(a.High.At(1, noise)-a.Low.At(1, noise)-w) > 1e-9*w {
		t.Error("intervals of a mean differ in width")
	}
}
