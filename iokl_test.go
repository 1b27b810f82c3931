package iokl

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/internal/files/npy"
	"github.com/iokl/iokl/internal/files/npy/npytest"
	"github.com/iokl/iokl/internal/learn/learntest"
)

var bg = context.Background()

// golden reads an array of a reference case.
func golden(t *testing.T, file, name string) *npy.Array {
	t.Helper()
	return npytest.Load(t, file)[name]
}

func matrix(a *npy.Array) *mat.Dense { return mat.NewDense(a.Shape[0], a.Shape[1], a.Data) }

func stack(a *npy.Array) []mat.Matrix {
	r, c := a.Shape[1], a.Shape[2]
	var all []mat.Matrix
	for j := range a.Shape[0] {
		all = append(all, mat.NewDense(r, c, a.Data[j*r*c:(j+1)*r*c]))
	}
	return all
}

// The reference objectives are those of testdata's manifest in ../shared/golden.
func TestGoldenGram(t *testing.T) {
	for _, c := range []struct {
		file      string
		norm      Norm
		lambda, F float64
	}{
		{"joint_p1.0", "lp:1", 0.02, 1.8930961736992242},
		{"joint_p1.7", "lp:1.7", 0.005, 0.18252130379156023},
	} {
		t.Run(c.file, func(t *testing.T) {
			Ks, Y := stack(golden(t, c.file, "Ks")), matrix(golden(t, c.file, "Y"))
			m, err := FitGram(bg, Ks, Y, Options{Lambda: c.lambda, Tau: 4, Norm: c.norm, Tol: 1e-9})
			if err != nil {
				t.Fatal(err)
			}
			if cert := m.Certificate(); !cert.Converged || !(cert.Objective <= c.F*(1+1e-8)) {
				t.Errorf("objective %.12g, want at most %.12g; %+v", cert.Objective, c.F, cert)
			}
			P, err := m.PredictGram(stack(golden(t, c.file, "Kx")))
			if err != nil {
				t.Fatal(err)
			}
			want := matrix(golden(t, c.file, "predictions"))
			var d mat.Dense
			d.Sub(P, want)
			if e := mat.Norm(&d, 2) / mat.Norm(want, 2); !(e <= 1e-4) {
				t.Errorf("predictions differ by %.2g", e)
			}
		})
	}
}

func TestFitLearns(t *testing.T) {
	X, Y := learntest.Wave(80, 1)
	Xt, Yt := learntest.Wave(100, 2)
	m, err := Fit(bg, X, Y, Options{Learn: "eta,l"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := m.Score(Xt, Yt)
	if err != nil {
		t.Fatal(err)
	}
	if !(s.RRMSE[0] < 0.3 && s.RRMSE[1] < 0.3 && s.RRMSE[2] < 1.1) {
		t.Errorf("relative errors %.3v", s.RRMSE)
	}
	cert := m.Certificate()
	if !(cert.RelativeGap <= 1e-4) || !cert.Converged || cert.Objective <= 0 {
		t.Errorf("certificate %+v", cert)
	}
}

// Two outputs that are functions of one another up to noise correlate.
func TestOutputCorrelation(t *testing.T) {
	for seed := range uint64(5) {
		X, Y := learntest.Wave(80, seed)
		m, err := Fit(bg, X, Y, Options{Lambda: 1e-3})
		if err != nil {
			t.Fatal(err)
		}
		if R := m.OutputCorrelation(); !(R.At(0, 1) < -0.8) {
			t.Errorf("seed %d: correlation of the first two outputs is %.3f", seed, R.At(0, 1))
		}
	}
}

// A fit that is given λ and no kernels takes the default ones.
func TestDefaultKernels(t *testing.T) {
	X, Y := learntest.Wave(40, 8)
	m, err := Fit(bg, X, Y, Options{Lambda: 1e-2, Norm: "lp:1"})
	if err != nil {
		t.Fatal(err)
	}
	named, err := Fit(bg, X, Y, Options{Lambda: 1e-2, Norm: "lp:1", Kernels: DefaultKernels(X)})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(m.KernelNames(), named.KernelNames()) || !slices.Equal(m.Eta(), named.Eta()) {
		t.Errorf("kernels %v with weights %v, by name %v with %v", m.KernelNames(), m.Eta(), named.KernelNames(),
			named.Eta())
	}
}

func TestConstantColumnsAndMissingCells(t *testing.T) {
	X, Y := learntest.Wave(60, 5)
	for i := range 60 {
		X.Set(i, 3, 0.1)
		Y.Set(i, 2, 0.7)
	}
	X.Set(4, 1, math.NaN())
	opt := Options{Lambda: 1e-3, Kernels: []string{"gaussian:each", "linear:all"}, InputNames: []string{
		"a", "b", "c",
		"d",
	}, OutputNames: []string{"u", "v", "w"}}
	m, err := Fit(bg, X, Y, opt)
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(m.Warnings(), "\n")
	for _, want := range []string{"dropped input column d", "target column w constant", "filled 1 missing cells"} {
		if !strings.Contains(all, want) {
			t.Errorf("warnings %q lack %q", all, want)
		}
	}
	if len(m.KernelNames()) != 4 {
		t.Errorf("kernels %v, want three columns and the linear one", m.KernelNames())
	}
	if !slices.Equal(m.LearnedOutputs(), []string{"u", "v"}) {
		t.Errorf("learned outputs %v", m.LearnedOutputs())
	}
	P, err := m.Predict(X)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 60 {
		if P.At(i, 2) != 0.7 {
			t.Fatalf("constant output predicted as %v", P.At(i, 2))
		}
	}
	opt.Missing = "error"
	if _, err := Fit(bg, X, Y, opt); !errors.Is(err, ErrInput) ||
		!strings.Contains(err.Error(), "row 5, column 2 (b)") {
		t.Errorf("missing cell refused with %v", err)
	}
}

func TestBadInput(t *testing.T) {
	X, Y := learntest.Wave(20, 6)
	nan := mat.DenseCopyOf(Y)
	nan.Set(3, 1, math.NaN())
	inf := mat.DenseCopyOf(X)
	inf.Set(3, 1, math.Inf(1))
	constant := mat.NewDense(20, 2, nil)
	var huge, tiny mat.Dense
	huge.Scale(1e300, Y)
	tiny.Scale(1e-300, Y)
	k := []string{"gaussian:all"}
	for name, c := range map[string]struct {
		X, Y mat.Matrix
		opt  Options
		want string
	}{
		"lengths differ": {X, Y.Slice(0, 19, 0, 3), Options{}, "X has 20 rows and Y has 19"},
		"one row":        {X.Slice(0, 1, 0, 4), Y.Slice(0, 1, 0, 3), Options{}, "one row"},
		"no rows":        {new(mat.Dense), new(mat.Dense), Options{}, "empty"},
		"NaN target": {
			X, nan,
			Options{MissingTargets: "error"},
			"row 4, column 2 (y2) of the targets is missing",
		},
		"infinite input": {inf, Y, Options{}, "row 4, column 2 (x2) of the inputs is +Inf"},
		"all-constant Y": {X, constant, Options{}, "every target column is constant"},
		"huge targets": {
			X, &huge,
			Options{},
			"whose squares overflow or vanish in double precision: rescale it",
		},
		"tiny targets": {
			X, &tiny,
			Options{},
			"whose squares overflow or vanish in double precision: rescale it",
		},
		"all-constant X":      {constant, Y, Options{}, "every input column is constant"},
		"negative λ":          {X, Y, Options{Lambda: -1}, "λ = -1"},
		"NaN λ":               {X, Y, Options{Lambda: math.NaN()}, "λ = NaN"},
		"negative τ":          {X, Y, Options{Lambda: 1, Tau: -1}, "τ = -1"},
		"unknown kernel":      {X, Y, Options{Lambda: 1, Kernels: []string{"rbf"}}, `unknown kernel "rbf"`},
		"column out of range": {X, Y, Options{Lambda: 1, Kernels: []string{"gaussian:9"}}, "9"},
		"unknown norm":        {X, Y, Options{Lambda: 1, Norm: "l3"}, `unknown norm "l3"`},
		"p = 3":               {X, Y, Options{Lambda: 1, Norm: "lp:3"}, "lp:3"},
		"unknown solver": {
			X, Y,
			Options{Lambda: 1, Kernels: k, Solver: "magic"},
			`unknown solver "magic" (have reduced | closed | okl | paper)`,
		},
		"unknown sylvester": {
			X, Y,
			Options{Kernels: k, Sylvester: "magic"},
			`unknown solver of the linear systems "magic"`,
		},
		"unknown learn":       {X, Y, Options{Learn: "x"}, "what to learn"},
		"unknown standardize": {X, Y, Options{Standardize: "z"}, "what to standardize"},
		"beyond memory":       {X, Y, Options{Lambda: 1, MaxBytes: 1000}, "and the limit is 1000"},
		"names":               {X, Y, Options{Lambda: 1, InputNames: []string{"a"}}, "1 names for 4 input columns"},
		"folds":               {X, Y, Options{CV: CVOptions{Folds: 1}}, "1 folds"},
		"precomputed":         {X, Y, Options{Lambda: 1, Kernels: []string{"precomputed"}}, "Gram matrices"},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := Fit(bg, c.X, c.Y, c.opt)
			if !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), c.want) || m != nil {
				t.Errorf("model %v, error %v; want an ErrInput with %q", m, err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %q", err)
			}
		})
	}
	if _, err := Fit(bg, X, Y, Options{Lambda: 1, MaxBytes: 1000}); !errors.Is(err, ErrMemory) {
		t.Errorf("beyond memory: %v is no ErrMemory", err)
	}
}

func TestBadGram(t *testing.T) {
	_, Y := learntest.Wave(4, 7)
	gram := func(f func(i, j int) float64) *mat.Dense {
		K := mat.NewDense(4, 4, nil)
		K.Apply(func(i, j int, _ float64) float64 { return f(i, j) }, K)
		return K
	}
	eye := gram(func(i, j int) float64 { return map[bool]float64{true: 1}[i == j] })
	for name, c := range map[string]struct {
		K    mat.Matrix
		want string
	}{
		"not square":    {mat.NewDense(4, 3, nil), "not square"},
		"other order":   {mat.NewDense(3, 3, nil), "Y has 4 rows"},
		"not symmetric": {gram(func(i, j int) float64 { return float64(i) }), "not symmetric"},
		"indefinite": {gram(func(i, j int) float64 {
			return map[bool]float64{true: 0.5, false: 1}[i == j]
		}), "not positive semidefinite"},
		"NaN": {gram(func(i, j int) float64 { return math.NaN() }), "NaN"},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := FitGram(bg, []mat.Matrix{eye, c.K}, Y, Options{Lambda: 1})
			if !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), c.want) ||
				!strings.Contains(err.Error(), "Gram matrix 2") || m != nil {
				t.Errorf("error %v, want an ErrInput with %q", err, c.want)
			}
		})
	}
}

func TestStoppedFitKeepsModel(t *testing.T) {
	X, Y := learntest.Wave(60, 8)
	stop := errors.New("stop")
	opt := Options{Lambda: 1e-4, Kernels: []string{"gaussian:each"}, Tol: 1e-12, Trace: func(s bcd.Step) error {
		if s.Iter == 3 {
			return stop
		}
		return nil
	}}
	m, err := Fit(bg, X, Y, opt)
	if !errors.Is(err, stop) || m == nil {
		t.Fatalf("model %v, error %v", m, err)
	}
	if c := m.Certificate(); c.Converged || !(c.RelativeGap > 0) {
		t.Errorf("certificate %+v", c)
	}
	if _, err := m.Predict(X); err != nil {
		t.Error(err)
	}
}

func TestFitClasses(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	X := mat.NewDense(90, 2, nil)
	labels := make([]string, 90)
	for i := range labels {
		k := i % 3
		labels[i] = []string{"10", "9", "plum"}[k]
		X.SetRow(i, []float64{
			4*math.Cos(2*float64(k)) + rng.NormFloat64(),
			4*math.Sin(2*float64(k)) + rng.NormFloat64(),
		})
	}
	m, err := FitClasses(bg, X, labels, Options{Lambda: 1e-2})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(m.Classes(), []string{"9", "10", "plum"}) {
		t.Errorf("classes %v", m.Classes())
	}
	got, err := m.Classify(X)
	if err != nil {
		t.Fatal(err)
	}
	right := 0
	for i := range got {
		if got[i] == labels[i] {
			right++
		}
	}
	if right < 85 {
		t.Errorf("%d of 90 right", right)
	}
	if _, err := FitClasses(bg, X, make([]string, 90), Options{}); !errors.Is(err, ErrInput) {
		t.Errorf("one class: %v", err)
	}
}

func TestPredictWrongShape(t *testing.T) {
	X, Y := learntest.Wave(30, 10)
	m, err := Fit(bg, X, Y, Options{Lambda: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Predict(X.Slice(0, 5, 0, 3)); !errors.Is(err, ErrInput) ||
		!strings.Contains(err.Error(), "3 columns, the model was fitted on 4") {
		t.Errorf("wrong number of columns: %v", err)
	}
	if _, err := m.PredictGram([]mat.Matrix{X}); !errors.Is(err, ErrInput) {
		t.Errorf("Gram matrices to a model of inputs: %v", err)
	}
}

func TestFolds(t *testing.T) {
	groups := []int{0, 0, 0, 1, 1, 2, 2, 3, 4, 5}
	for name, c := range map[string]struct {
		groups []int
		time   bool
	}{"shuffled": {nil, false}, "grouped": {groups, false}, "time-ordered": {nil, true}} {
		t.Run(name, func(t *testing.T) {
			splits, err := Folds(10, 3, 2, c.groups, c.time, 1)
			if err != nil {
				t.Fatal(err)
			}
			tested := make([]int, 10)
			for _, s := range splits {
				for _, i := range s.Test {
					tested[i]++
					if slices.Contains(s.Train, i) {
						t.Errorf("sample %d on both sides", i)
					}
					for _, j := range s.Train {
						if c.groups != nil && groups[i] == groups[j] {
							t.Errorf("group %d on both sides", groups[i])
						}
						if c.time && j > i {
							t.Errorf("sample %d is tested after training on %d", i, j)
						}
					}
				}
			}
			for i, k := range tested {
				if !c.time && k != 2 || c.time && i >= 4 && k != 1 {
					t.Errorf("sample %d tested %d times", i, k)
				}
			}
		})
	}
	if _, err := Folds(10, 3, 1e9, nil, false, 1); !errors.Is(err, ErrInput) {
		t.Errorf("repeats without end: %v", err)
	}
	if _, err := Folds(10, 3, 1, groups, true, 1); !errors.Is(err, ErrInput) {
		t.Errorf("groups in the order of time: %v", err)
	}
}

// TestIsolatedValues: a failed reading among the targets, or in one input, spoils neither the
// scales nor the predictions
// nearby where settings are chosen. Where λ is given, targets are learned as they are.
func TestIsolatedValues(t *testing.T) {
	const l, wild = 600, 300
	X, Y := mat.NewDense(l, 2, nil), mat.NewDense(l, 1, nil)
	for i := range l {
		x := float64(i) / l
		X.SetRow(i, []float64{x, x * x})
		Y.Set(i, 0, math.Sin(6*x))
	}
	Y.Set(wild, 0, 1e4)
	X.Set(wild/2, 1, -1e4)
	opt := Options{Kernels: []string{"laplacian:all:median"}, Learn: "none", CV: CVOptions{Lambdas: []float64{1e-9}}}
	at := mat.NewDense(1, 2, []float64{(wild + .5) / l, (wild + .5) * (wild + .5) / l / l})
	miss := func(opt Options) (float64, []string) {
		m, err := Fit(t.Context(), X, Y, opt)
		if err != nil {
			t.Fatal(err)
		}
		P, err := m.Predict(at)
		if err != nil {
			t.Fatal(err)
		}
		return math.Abs(P.At(0, 0) - math.Sin(6*(wild+.5)/l)), m.Warnings()
	}
	far, warnings := miss(opt)
	said := 0
	for _, w := range warnings {
		if strings.Contains(w, "isolated") {
			said++
		}
	}
	if said != 2 || far > 3 {
		t.Errorf("error %g beside the isolated target, warnings %q", far, warnings)
	}
	opt.Lambda, opt.CV = 1e-9, CVOptions{}
	if as, _ := miss(opt); as < 100 {
		t.Errorf("λ given: error %g beside a target of 1e4", as)
	}
}
