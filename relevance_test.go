package iokl

import (
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/par"
	"github.com/iokl/iokl/kernel"
)

// hidden is two outputs that depend on three of nine inputs, two of them together;
// input 8 is constant.
func hidden(l int, seed uint64) (X, Y *mat.Dense) {
	rng := rand.New(rand.NewPCG(seed, 2))
	X, Y = mat.NewDense(l, 9, nil), mat.NewDense(l, 2, nil)
	for i := range l {
		for j := range 8 {
			X.Set(i, j, rng.NormFloat64())
		}
		X.Set(i, 8, 4)
		Y.SetRow(i, []float64{X.At(i, 0)*X.At(i, 3) + 0.1*rng.NormFloat64(), math.Sin(2*X.At(i, 5)) + 0.1*rng.NormFloat64()})
	}
	return X, Y
}

func relevanceOf(t *testing.T, X, Y *mat.Dense, opt Options) []float64 {
	t.Helper()
	s := &study{X: raw(X), Y: raw(Y)}
	opt, err := opt.check(false)
	if err != nil {
		t.Fatal(err)
	}
	_, _, Z, err := s.dictionary(t.Context(), []string{linearKernel}, &opt)
	if err != nil {
		t.Fatal(err)
	}
	_, T, _, err := newOutputs(s.Y, &opt)
	if err != nil {
		t.Fatal(err)
	}
	groups, err := withRelevance(t.Context(), []string{"gaussian:relevant"}, Z, T, &opt)
	if err != nil {
		t.Fatal(err)
	}
	return groups[0].Scale
}

func TestRelevance(t *testing.T) {
	X, Y := hidden(150, 1)
	scale := relevanceOf(t, X, Y, Options{})
	var stray float64
	for _, c := range []int{1, 2, 4, 6, 7} {
		stray = max(stray, scale[c])
	}
	for _, c := range []int{0, 3, 5} {
		if !(scale[c] > 3*stray) {
			t.Errorf("factor %.3g of column %d, and %.3g of one that does not matter", scale[c], c, stray)
		}
	}
	if scale[8] != 0 {
		t.Errorf("factor %g of a constant column", scale[8])
	}
	// Units of inputs and outputs do not matter.
	for i := range 150 {
		X.Set(i, 0, 1e6*X.At(i, 0)-3)
		Y.Set(i, 1, 1e-6*Y.At(i, 1))
	}
	for c, v := range relevanceOf(t, X, Y, Options{}) {
		if !(math.Abs(v-scale[c]) <= 1e-6) {
			t.Errorf("factor %d is %g in other units, not %g", c, v, scale[c])
		}
	}
}

// TestDirections finds the two directions of six that the target varies along.
func TestDirections(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 2))
	X, Y := mat.NewDense(150, 6, nil), mat.NewDense(150, 1, nil)
	u, v := []float64{.5, .5, .5, .5, 0, 0}, []float64{.5, -.5, 0, 0, .5, -.5}
	for i := range 150 {
		for c := range 6 {
			X.Set(i, c, rng.NormFloat64())
		}
		x := X.RawRowView(i)
		Y.Set(i, 0, blas.Dot(x, u)*blas.Dot(x, v)+0.05*rng.NormFloat64())
	}
	opt := Options{}
	groups, err := withRelevance(t.Context(), []string{"gaussian:directions"}, raw(X), raw(Y), &opt)
	if err != nil {
		t.Fatal(err)
	}
	// The directions of length 1 orthogonal to u and v are much shorter in the metric.
	M := mat.NewDense(6, 6, nil)
	for _, row := range groups[0].Directions {
		M.RankOne(M, 1, mat.NewVecDense(6, row), mat.NewVecDense(6, row))
	}
	length := func(w ...float64) float64 {
		x := mat.NewVecDense(6, w)
		return math.Sqrt(mat.Inner(x, M, x) / mat.Dot(x, x))
	}
	short := max(length(1, 1, -1, -1, 0, 0), length(0, 0, 1, -1, 0, 0), length(0, 0, 0, 0, 1, 1))
	if a, b := length(u...), length(v...); !(a > 3*short && b > 3*short) {
		t.Errorf("lengths %.3g and %.3g along the directions that matter, up to %.3g along others", a, b, short)
	}
}

// TestRelevanceOfManySamples looks at a part of them, which the seed draws.
func TestRelevanceOfManySamples(t *testing.T) {
	X, Y := hidden(relevanceRows+100, 2)
	one, again, other := relevanceOf(t, X, Y, Options{Seed: 1}), relevanceOf(t, X, Y, Options{Seed: 1}), relevanceOf(t, X, Y, Options{Seed: 2})
	if !slices.Equal(one, again) || slices.Equal(one, other) {
		t.Errorf("factors %v, %v of the same seed, %v of another", one, again, other)
	}
}

func TestFitOnRelevantColumns(t *testing.T) {
	X, Y := hidden(120, 3)
	Xt, Yt := hidden(100, 4)
	miss := func(opt Options) float64 {
		opt.Lambda, opt.Learn = 1e-3, "none"
		m, err := Fit(bg, X, Y, opt)
		if err != nil {
			t.Fatal(err)
		}
		s, err := m.Score(Xt, Yt)
		if err != nil {
			t.Fatal(err)
		}
		return s.ARRMSE
	}
	all, relevant := miss(Options{Kernels: []string{"gaussian:all"}}), miss(Options{Kernels: []string{"gaussian:relevant"}})
	if !(relevant < 0.7*all) {
		t.Errorf("error %.3g on relevant columns, %.3g on all", relevant, all)
	}
	m, err := Fit(bg, X, Y, Options{Lambda: 1e-3, Norm: "lp:2", Kernels: []string{"gaussian:relevant", "laplacian:directions", "gaussian:0"}})
	if err != nil {
		t.Fatal(err)
	}
	r := m.Relevance()
	if slices.Max(r) != 1 || r[8] != 0 || !(min(r[0], r[3], r[5]) > 2*max(r[1], r[2], r[4], r[6], r[7])) {
		t.Errorf("relevance of the model's inputs %.3v", r)
	}
	own := []kernel.Group{{Name: "relevant", Columns: []int{0, 3, 5}}}
	if mine, same := miss(Options{Kernels: []string{"gaussian:relevant"}, Groups: own}), miss(Options{Kernels: []string{"gaussian:0,3,5"}}); mine != same {
		t.Errorf("the caller's own group: error %g, on its columns %g", mine, same)
	}
	constant := mat.NewDense(120, 2, nil)
	if _, err := Fit(bg, X, constant, Options{Lambda: 1, Kernels: []string{"gaussian:relevant"}}); !errors.Is(err, ErrInput) {
		t.Errorf("constant targets: %v", err)
	}
}

// TestZeroOptionsSameForAnyParallelism compares the whole outcome of zero Options, to the bit.
func TestZeroOptionsSameForAnyParallelism(t *testing.T) {
	X, Y := hidden(36, 5)
	Xt, _ := hidden(10, 6)
	var want *Model
	for _, p := range parallelisms {
		var m *Model
		p.run(func() {
			var err error
			if m, err = Fit(bg, X, Y, Options{Seed: 3, CV: CVOptions{Repeats: 1}}); err != nil {
				t.Fatal(err)
			}
		})
		if want == nil {
			want = m
			continue
		}
		if a, b := m.Certificate(), want.Certificate(); a != b {
			t.Errorf("with %+v %+v, with one thread %+v", p, a, b)
		}
		if !slices.Equal(m.KernelNames(), want.KernelNames()) || !slices.Equal(m.Eta(), want.Eta()) {
			t.Errorf("with %+v the kernels %v weigh %v; with one thread %v, %v", p, m.KernelNames(), m.Eta(), want.KernelNames(), want.Eta())
		}
		P, err := m.Predict(Xt)
		if err != nil {
			t.Fatal(err)
		}
		Q, err := want.Predict(Xt)
		if err != nil || !sameBits(P, Q) {
			t.Errorf("predictions differ with %+v: %v", p, err)
		}
	}
}

// parallelism is how many threads and processors there are; 0 leaves them alone.
type parallelism struct{ threads, procs int }

// parallelisms are some ways to compute that must not change any answer, one thread first.
var parallelisms = []parallelism{{1, 0}, {5, 2}, {0, 1}, {0, 4}}

func (p parallelism) run(f func()) {
	par.SetThreads(p.threads)
	defer par.SetThreads(0)
	if p.procs > 0 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(p.procs))
	}
	f()
}

// TestWeightsByName has two kernels of one name, whose weights add up.
func TestWeightsByName(t *testing.T) {
	X, Y := wave(40, 7)
	m, err := Fit(bg, X, Y, Options{Lambda: 1e-2, Norm: "lp:2", Kernels: []string{"linear:all", "gaussian:0", "linear:all"}})
	if err != nil {
		t.Fatal(err)
	}
	eta, w := m.Eta(), m.Weights()
	if len(w) != 2 || w["linear:all"] != eta[0]+eta[2] || w["gaussian:0:median"] != eta[1] || !(eta[0] > 0) {
		t.Errorf("weights %v by name, %v in order", w, eta)
	}
}
