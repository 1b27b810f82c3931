package dictionary

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/defaults"
	"github.com/iokl/iokl/internal/learn/learntest"
	"github.com/iokl/iokl/kernel"
)

// relevanceOf are the factors of the columns, standardised as for a fit.
func relevanceOf(t *testing.T, X, Y *mat.Dense, seed uint64) []float64 {
	t.Helper()
	opt := columns.Options{ScaleInputs: true, ScaleOutputs: true}
	in, _, err := columns.NewInputs(columns.Measure(blas.Raw(X)), &opt)
	if err != nil {
		t.Fatal(err)
	}
	Z, _, err := in.Apply(blas.Raw(X))
	if err != nil {
		t.Fatal(err)
	}
	_, T, _, err := columns.LearnOutputs(blas.Raw(Y), blas.General{}, &opt)
	if err != nil {
		t.Fatal(err)
	}
	r := NewResolver(Z, T, Options{Seed: seed})
	if err := r.Learn(t.Context(), []string{"gaussian:relevant"}); err != nil {
		t.Fatal(err)
	}
	return r.learned[0].Scale
}

func TestRelevance(t *testing.T) {
	X, Y := learntest.Hidden(150, 1)
	scale := relevanceOf(t, X, Y, 0)
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
	for c, v := range relevanceOf(t, X, Y, 0) {
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
	r := NewResolver(blas.Raw(X), blas.Raw(Y), Options{})
	if err := r.Learn(t.Context(), []string{"gaussian:directions"}); err != nil {
		t.Fatal(err)
	}
	// The directions of length 1 orthogonal to u and v are much shorter in the metric.
	M := mat.NewDense(6, 6, nil)
	for _, row := range r.learned[0].Directions {
		scaled := mat.NewVecDense(6, nil)
		scaled.MulElemVec(mat.NewVecDense(6, row), mat.NewVecDense(6, r.learned[0].Scale))
		M.RankOne(M, 1, scaled, scaled)
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
	X, Y := learntest.Hidden(defaults.SomeSamples+100, 2)
	one, again, other := relevanceOf(t, X, Y, 1), relevanceOf(t, X, Y, 1), relevanceOf(t, X, Y, 2)
	if !slices.Equal(one, again) || slices.Equal(one, other) {
		t.Errorf("factors %v, %v of the same seed, %v of another", one, again, other)
	}
}

// TestResolveSum says that the kernels of a sum have lengths of their own and share the weight of the SPEC as they were
// learned to, each for all its widths, and that the linear one is xᵀz/d of standardised columns.
func TestResolveSum(t *testing.T) {
	X, Y := learntest.Hidden(60, 3)
	r := NewResolver(blas.Raw(X), blas.Raw(Y), Options{})
	specs := []string{"linear", "gaussian+matern12+linear:ard:median*1,2", "gaussian:ard"}
	outline, _, err := r.Outline(t.Context(), specs)
	if err != nil {
		t.Fatal(err)
	}
	d, weights, err := r.Resolve(t.Context(), specs)
	if err != nil {
		t.Fatal(err)
	}
	known := r.Lengths()["ard:gaussian+matern12+linear"]
	var total float64
	for _, w := range known.Weights {
		total += 3 * w
	}
	want := []float64{1. / 3}
	for _, term := range []int{0, 0, 1, 1} {
		want = append(want, known.Weights[term]/total/2)
	}
	want = append(want, known.Weights[2]/total, 1./3)
	for j, w := range want {
		if !(math.Abs(weights[j]-w) <= 1e-15) {
			t.Errorf("%s has the weight %g, want %g", d[j].Name, weights[j], w)
		}
	}
	for j, term := range []int{0, 0, 1, 1, 2} {
		if !slices.Equal(d[1+j].Scale, known.Scale[term]) {
			t.Errorf("%s has factors %v", d[1+j].Name, d[1+j].Scale)
		}
	}
	if slices.Equal(d[6].Scale, d[1].Scale) || d[3].Name != "matern12:ard.2:median" || d[5].Name != "linear:ard.3" {
		t.Errorf("kernels %v", d.Names())
	}
	before, err := r.Diagonals(outline)
	if err != nil {
		t.Fatal(err)
	}
	after, err := r.Diagonals(d)
	if err != nil {
		t.Fatal(err)
	}
	for j := range after {
		if !(math.Abs(before[j]-after[j]) <= 1e-12*after[j]) {
			t.Errorf("%s has the mean diagonal %g before and %g after", d[j].Name, before[j], after[j])
		}
	}
}

// TestLengthsOfRanks learns lengths for the ranks of a column over decades, beside the column, and for no ranks of a
// uniform column or a normal one. The function of the rank alone leaves the column itself a long length.
func TestLengthsOfRanks(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	X, Y := mat.NewDense(300, 3, nil), mat.NewDense(300, 1, nil)
	for i := range 300 {
		decade := 4 * rng.Float64()
		X.SetRow(i, []float64{rng.Float64(), math.Pow(10, decade), rng.NormFloat64()})
		Y.Set(i, 0, math.Sin(3*decade)+0.1*rng.NormFloat64())
	}
	r := NewResolver(blas.Raw(X), blas.Raw(Y), Options{})
	specs := []string{"gaussian+linear:ard"}
	outline, _, err := r.Outline(t.Context(), specs)
	if err != nil {
		t.Fatal(err)
	}
	d, _, err := r.Resolve(t.Context(), specs)
	if err != nil {
		t.Fatal(err)
	}
	k := d[0]
	if !slices.Equal(k.Columns, []int{0, 1, 2, 1}) || len(k.Knots) != 4 || k.Knots[1] != nil || k.Knots[3] == nil {
		t.Fatalf("columns %v with knots %v", k.Columns, k.Knots)
	}
	if outline[0].Dim() != k.Dim() || !slices.EqualFunc(outline[0].Knots, k.Knots, slices.Equal[[]float64]) {
		t.Errorf("the outline has columns %v", outline[0].Columns)
	}
	deviation := columns.Measure(blas.Raw(X)).Scale[1]
	if rank, value := k.Scale[3], k.Scale[1]*deviation; !(rank > 3*value) {
		t.Errorf("the inverse length of ranks is %.3g, that of values %.3g", rank, value)
	}
}

// TestStart learns lengths from those of other samples, for ranks of the same columns.
func TestStart(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	first, X, Y := mat.NewDense(60, 2, nil), mat.NewDense(60, 2, nil), mat.NewDense(60, 1, nil)
	for i := range 60 {
		first.SetRow(i, []float64{rng.Float64(), math.Pow(10, 4*rng.Float64())})
		X.SetRow(i, []float64{rng.Float64(), rng.Float64()})
		Y.Set(i, 0, math.Sin(3*X.At(i, 0))+0.1*rng.NormFloat64())
	}
	one := NewResolver(blas.Raw(first), blas.Raw(Y), Options{})
	r := NewResolver(blas.Raw(X), blas.Raw(Y), Options{Start: one.Of})
	specs := []string{"gaussian+linear:ard"}
	d, _, err := r.Resolve(t.Context(), specs)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(d[0].Columns, []int{0, 1, 1}) || len(one.Lengths()) != 1 {
		t.Errorf("columns %v, %d SPECs known before", d[0].Columns, len(one.Lengths()))
	}
	alone, _, err := NewResolver(blas.Raw(X), blas.Raw(Y), Options{}).Resolve(t.Context(), specs)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(alone[0].Columns, []int{0, 1}) {
		t.Errorf("columns %v without what was known", alone[0].Columns)
	}
}

// TestResolveLengths says that widths multiply lengths, which are those of the kind of kernel, and
// that "groups" are the caller's.
func TestResolveLengths(t *testing.T) {
	X, Y := learntest.Hidden(60, 3)
	r := NewResolver(blas.Raw(X), blas.Raw(Y), Options{Groups: []kernel.Group{{Name: "own", Columns: []int{2}}}})
	d, _, err := r.Resolve(t.Context(), []string{
		"gaussian:ard:median*0.5,2", "nystrom:matern32:ard:median:9", "gaussian:groups:1",
	})
	if err != nil {
		t.Fatal(err)
	}
	known := r.Lengths()
	for j, want := range []struct {
		kind  kernel.Kind
		width float64
	}{{"gaussian", .5}, {"gaussian", 2}, {"matern32", 1}} {
		if k := d[j]; k.Kind != want.kind || k.Width != want.width ||
			!slices.Equal(k.Scale, known["ard:"+string(want.kind)].Scale[0]) {
			t.Errorf("%s has width %g and factors %v", k.Name, k.Width, k.Scale)
		}
	}
	if len(d) != 4 || slices.Equal(d[0].Scale, d[2].Scale) || d[3].Scale != nil {
		t.Errorf("kernels %v", d.Names())
	}
	for spec, want := range map[string]string{
		"gaussian:ard:0.5": "write median*0.5",
		"rational:1:ard":   "lengths of columns are learned for gaussian",
	} {
		if _, _, err := r.Resolve(t.Context(), []string{spec}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", spec, err)
		}
	}
}

// TestResolveAtOnce has several goroutines resolve what is learned, each SPEC once, as one after the other would.
func TestResolveAtOnce(t *testing.T) {
	X, Y := learntest.Hidden(60, 3)
	specs := [][]string{
		{"gaussian:ard"},
		{"gaussian:ard:median*0.5", "linear"},
		{"laplacian:ranks", "gaussian:ard"},
		{"gaussian:ranks"},
		{"gaussian:relevant", "matern32:directions"},
		{"matern32:directions"},
	}
	alone, shared := NewResolver(blas.Raw(X), blas.Raw(Y), Options{}), NewResolver(blas.Raw(X), blas.Raw(Y), Options{})
	got := make([]kernel.Dictionary, len(specs))
	var wait sync.WaitGroup
	for k := range specs {
		wait.Go(func() {
			var err error
			if got[k], _, err = shared.Resolve(t.Context(), specs[k]); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	for k := range specs {
		want, _, err := alone.Resolve(t.Context(), specs[k])
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got[k], want) {
			t.Errorf("%v: %v, want %v", specs[k], got[k], want)
		}
	}
	if len(shared.learned) != len(alone.learned) || len(shared.lessons) != 0 {
		t.Errorf("%d groups, want %d; %d lessons", len(shared.learned), len(alone.learned), len(shared.lessons))
	}
}

// TestResolveAgain learns what a context that had ended kept from being learned.
func TestResolveAgain(t *testing.T) {
	X, Y := learntest.Hidden(60, 3)
	r := NewResolver(blas.Raw(X), blas.Raw(Y), Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	specs := []string{"gaussian:ard", "matern32:ard"}
	if _, _, err := r.Resolve(ctx, specs); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
	if _, _, err := r.Resolve(t.Context(), specs); err != nil || len(r.learned) != 2 {
		t.Errorf("%d groups, %v", len(r.learned), err)
	}
}
