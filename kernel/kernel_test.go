package kernel

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	gblas "gonum.org/v1/gonum/blas"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/par"
)

func randomX(rng *rand.Rand, l, d int) blas.General {
	x := blas.NewGeneral(l, d)
	for i := range x.Data {
		x.Data[i] = rng.NormFloat64()
	}
	return x
}

// positiveX has zeros, repeated rows and non-negative cells, for chi2.
func positiveX(rng *rand.Rand, l, d int) blas.General {
	x := blas.NewGeneral(l, d)
	for i := range x.Data {
		if rng.IntN(4) > 0 {
			x.Data[i] = rng.Float64()
		}
	}
	if l > 2 {
		copy(blas.Row(x, l-1), blas.Row(x, 0))
	}
	return x
}

var everyKernel = []string{
	"linear", "linear:unit", "linear:center", "linear:unit:center", "cosine:0-2", "poly:3", "poly:2:all:0.5:0.25:unit",
	"poly:1:1,3:0:2:center", "gaussian:all:median*0.5,1,2", "gaussian:each:2^-1..2^1", "gaussian:g1:0.7:center",
	"laplacian:all:median", "laplacian:2:1", "matern12", "matern32:groups:median", "matern52:all:1,3:center",
	"cauchy:all:median*1,2", "rational:0.5:0-3:median*1,2", "chi2:all:median*1,2", "chi2:0-1:1",
}

var testGroups = []Group{{Name: "g1", Columns: []int{4, 0, 2, 1, 3}}, {Name: "g2", Columns: []int{5}}}

func maxDiff(a, b blas.General) float64 {
	var worst float64
	for i := range a.Rows {
		for j, v := range blas.Row(a, i) {
			if d := math.Abs(v - blas.Row(b, i)[j]); !(d <= worst) {
				worst = d
			}
		}
	}
	return worst
}

func TestGramAgainstFormula(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, l := range []int{2, 3, 64, 65, 270} {
		X := positiveX(rng, l, 6)
		d, err := Build(everyKernel, X, testGroups, 1)
		if err != nil {
			t.Fatal(err)
		}
		want := make([]blas.General, len(d))
		for j := range d {
			want[j] = d[j].dense(X, X, X)
		}
		for _, c := range []struct {
			prec  blas.Precision
			cache int64
		}{{blas.Float64, 0}, {blas.Float32, 0}, {blas.Float64, 1}, {blas.Float32, 1}} { // 1: all are written past it
			grams, err := d.Grams(context.Background(), X, GramOptions{Precision: c.prec, cache: c.cache})
			if err != nil {
				t.Fatal(err)
			}
			for j := range d {
				checkGramMatrix(t, &d[j], grams[j], want[j])
			}
		}
	}
}

func checkGramMatrix(t *testing.T, k *Kernel, g *blas.Sym, want blas.General) {
	t.Helper()
	l := want.Rows
	got := blas.NewGeneral(l, l)
	g.Dense(got)
	tol := 1e-13
	if k.Kind == Matern {
		tol = 1e-12 // the integral for K_ν loses digits to powers and hyperbolic cosines
	}
	if g.Prec == blas.Float32 {
		tol = 5e-7
	}
	if d := maxDiff(got, want); !(d <= tol*(1+maxDiff(want, blas.NewGeneral(l, l)))) {
		t.Errorf("%s, l=%d, %v: off by %g", k.Name, l, g.Prec, d)
	}
	checkSymmetric(t, k, g)
}

func TestGramSingleSample(t *testing.T) {
	X := randomX(rand.New(rand.NewPCG(2, 2)), 1, 3)
	d, err := Build([]string{"gaussian:all:1", "linear", "poly:2:unit", "linear:center"}, X, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for j := range d {
		g, err := d[j].Gram(X, blas.Float64)
		if err != nil {
			t.Fatal(err)
		}
		checkGramMatrix(t, &d[j], g, d[j].dense(X, X, X))
	}
}

// Distances survive a large common offset, which inner products alone would lose.
func TestGramFarFromOrigin(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 2))
	X := randomX(rng, 100, 8)
	far := blas.Clone(X)
	for i := range far.Data {
		far.Data[i] += 1e6
	}
	k := Kernel{Kind: Gaussian, Inputs: 8, Width: 1}
	a, err := k.Gram(X, blas.Float64)
	if err != nil {
		t.Fatal(err)
	}
	b, err := k.Gram(far, blas.Float64)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range a.F64 {
		// The offset itself costs 1e6·2⁻⁵³ in each coordinate.
		if !(math.Abs(v-b.F64[i]) <= 1e-8) {
			t.Fatalf("element %d is %g, and %g away from the origin", i, v, b.F64[i])
		}
	}
}

func TestSameForAnyThreads(t *testing.T) {
	t.Cleanup(func() { par.SetThreads(0) })
	rng := rand.New(rand.NewPCG(4, 2))
	X, Xnew := positiveX(rng, 333, 6), positiveX(rng, 150, 6)
	var first []*blas.Sym
	var firstCross blas.General
	for _, threads := range []int{1, 2, 7} {
		par.SetThreads(threads)
		d, err := Build(everyKernel, X, testGroups, 1)
		if err != nil {
			t.Fatal(err)
		}
		grams, err := d.Grams(context.Background(), X, GramOptions{})
		if err != nil {
			t.Fatal(err)
		}
		cross := blas.NewGeneral(Xnew.Rows, X.Rows)
		if err := d.CrossSum(cross, weights(len(d), false), Xnew, X); err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first, firstCross = grams, cross
			continue
		}
		for j := range grams {
			if !slices.Equal(grams[j].F64, first[j].F64) {
				t.Errorf("%s depends on the number of threads", d[j].Name)
			}
		}
		if !slices.Equal(cross.Data, firstCross.Data) {
			t.Error("CrossSum depends on the number of threads")
		}
	}
}

// Matrices given to be overwritten end as new ones do, whatever they held.
func TestGramsInto(t *testing.T) {
	X := positiveX(rand.New(rand.NewPCG(4, 3)), 143, 6)
	d, err := Build(everyKernel, X, testGroups, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, prec := range []blas.Precision{blas.Float64, blas.Float32} {
		for _, cache := range []int64{0, 1} { // 1: all are written past it
			want, err := d.Grams(t.Context(), X, GramOptions{Precision: prec, cache: cache})
			if err != nil {
				t.Fatal(err)
			}
			into := make([]*blas.Sym, len(d))
			for j := range into {
				into[j] = blas.NewSym(X.Rows, prec)
				for i := range into[j].F64 {
					into[j].F64[i] = math.NaN()
				}
				for i := range into[j].F32 {
					into[j].F32[i] = float32(math.NaN())
				}
			}
			got, err := d.Grams(t.Context(), X, GramOptions{Precision: prec, Into: into, MaxBytes: 1, cache: cache})
			if err != nil {
				t.Fatal(err)
			}
			for j, g := range got {
				if g != into[j] || !slices.Equal(g.F64, want[j].F64) || !slices.Equal(g.F32, want[j].F32) {
					t.Errorf("%s, %v: memory given makes another matrix than new memory", d[j].Name, prec)
				}
			}
			for name, wrong := range map[string][]*blas.Sym{
				"few":       into[1:],
				"small":     append([]*blas.Sym{blas.NewSym(9, prec)}, into[1:]...),
				"precision": append([]*blas.Sym{blas.NewSym(X.Rows, 1-prec)}, into[1:]...),
			} {
				func() {
					defer func() {
						if recover() == nil {
							t.Errorf("no panic: %s", name)
						}
					}()
					_, _ = d.Grams(t.Context(), X, GramOptions{Precision: prec, Into: wrong})
				}()
			}
		}
	}
}

// skewed is a backend whose products depend on where they are stored, by an ulp or so.
type skewed struct{ blas.Backend }

func (s skewed) Dgemm(
	tA, tB gblas.Transpose, m, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64,
	c []float64, ldc int,
) {
	s.Backend.Dgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	for i := range m {
		for j := range n {
			c[i*ldc+j] *= 1 + float64(i-2*j)*0x1p-52
		}
	}
}

// Symmetry and the unit diagonal are exact on a backend whose products are not symmetric.
func TestSymmetricOnAnyBackend(t *testing.T) {
	X := positiveX(rand.New(rand.NewPCG(13, 2)), 150, 6)
	d, err := Build([]string{"linear", "poly:2:unit", "gaussian", "matern32", "linear:center"}, X, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	grams, err := d.Grams(context.Background(), X, GramOptions{Backend: skewed{blas.Active()}})
	if err != nil {
		t.Fatal(err)
	}
	for j := range d {
		checkGramMatrix(t, &d[j], grams[j], d[j].dense(X, X, X))
	}
}

// weights is 1, 1/2, 1/3, … with every third one zero when sparse.
func weights(m int, sparse bool) []float64 {
	eta := make([]float64, m)
	for j := range eta {
		if !sparse || j%3 != 1 {
			eta[j] = 1 / float64(j+1)
		}
	}
	return eta
}

func TestCrossSum(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 2))
	X, Xnew := positiveX(rng, 301, 6), positiveX(rng, 131, 6)
	d, err := Build(everyKernel, X, testGroups, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Grams(context.Background(), X, GramOptions{}); err != nil {
		t.Fatal(err)
	}
	eta := weights(len(d), true)
	want, one := blas.NewGeneral(Xnew.Rows, X.Rows), blas.NewGeneral(Xnew.Rows, X.Rows)
	for j := range d {
		k := d[j].dense(Xnew, X, X)
		if err := d[j].Cross(one, Xnew, X); err != nil {
			t.Fatal(err)
		}
		if diff := maxDiff(one, k); !(diff <= 1e-13*(1+blas.Frob(k))) {
			t.Errorf("%s: Cross is off by %g", d[j].Name, diff)
		}
		blas.AddScaled(want, eta[j], k)
	}
	got := blas.NewGeneral(Xnew.Rows, X.Rows)
	for i := range got.Data {
		got.Data[i] = math.NaN()
	}
	if err := d.CrossSum(got, eta, Xnew, X); err != nil {
		t.Fatal(err)
	}
	if diff := maxDiff(got, want); !(diff <= 1e-13*(1+blas.Frob(want))) {
		t.Errorf("CrossSum is off by %g", diff)
	}
}

// A kernel of weight zero is not evaluated: data it could not take do no harm.
func TestCrossSumSkipsInactive(t *testing.T) {
	X := randomX(rand.New(rand.NewPCG(6, 2)), 10, 2)
	for i := range X.Rows {
		X.Data[2*i+1] = -1
	}
	d := Dictionary{{Kind: Gaussian, Inputs: 2, Width: 1}, {Kind: Chi2, Inputs: 2, Width: 1}, {Kind: Precomputed}}
	dst := blas.NewGeneral(10, 10)
	if err := d.CrossSum(dst, []float64{1, 0, 0}, X, X); err != nil {
		t.Fatal(err)
	}
	if err := d.CrossSum(dst, []float64{1, 1, 0}, X, X); !errors.Is(err, ErrNegative) {
		t.Errorf("chi2 of negative data: %v", err)
	}
}

func TestMedian(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 2))
	X := randomX(rng, 50, 3)
	brute := func(f func(x, z []float64) float64) float64 {
		var all []float64
		for i := range X.Rows {
			for j := range i {
				all = append(all, f(blas.Row(X, i), blas.Row(X, j)))
			}
		}
		slices.Sort(all)
		return all[len(all)/2]
	}
	d, err := Build([]string{"gaussian", "laplacian:0-1:median*2"}, X, nil, 9)
	if err != nil {
		t.Fatal(err)
	}
	l2 := brute(func(x, z []float64) float64 {
		return math.Sqrt((x[0]-z[0])*(x[0]-z[0]) + (x[1]-z[1])*(x[1]-z[1]) + (x[2]-z[2])*(x[2]-z[2]))
	})
	l1 := brute(func(x, z []float64) float64 { return math.Abs(x[0]-z[0]) + math.Abs(x[1]-z[1]) })
	if math.Abs(d[0].Width-l2) > 1e-14 || math.Abs(d[1].Width-2*l1) > 1e-14 {
		t.Errorf("medians %g, %g; want %g, %g", d[0].Width, d[1].Width, l2, 2*l1)
	}
	// Drawn pairs: near the true median, the same for the same seed.
	big := randomX(rng, 2000, 1)
	a, _ := Build([]string{"gaussian"}, big, nil, 1)
	b, _ := Build([]string{"gaussian"}, big, nil, 1)
	c, _ := Build([]string{"gaussian"}, big, nil, 2)
	// |x−z| for standard normals has median √2·0.67449.
	if a[0].Width != b[0].Width || a[0].Width == c[0].Width || math.Abs(a[0].Width-0.95387) > 0.05 {
		t.Errorf("drawn medians %g, %g, %g", a[0].Width, b[0].Width, c[0].Width)
	}
}

func TestMedianOfMostlyZeros(t *testing.T) {
	X := blas.NewGeneral(100, 2)
	X.Data[0], X.Data[2] = 3, 3
	d, err := Build([]string{"gaussian:0:median"}, X, nil, 0)
	if err != nil || d[0].Width != 3 {
		t.Errorf("median %v, %v; want 3, over the pairs that differ", d, err)
	}
	_, err = Build([]string{"gaussian:each:median"}, X, nil, 0)
	if !errors.Is(err, ErrConstant) || !strings.Contains(err.Error(), "features 1") {
		t.Errorf("constant column 1: %v", err)
	}
}

func TestJSON(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 2))
	X, Xnew := positiveX(rng, 80, 6), positiveX(rng, 9, 6)
	d, err := Build(append(everyKernel, "rff:gaussian:all:median:2000"), X, testGroups, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Grams(context.Background(), X, GramOptions{}); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	var back Dictionary
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(d, back) {
		t.Error("the dictionary changed on its way through JSON")
	}
	a, b := blas.NewGeneral(9, 80), blas.NewGeneral(9, 80)
	eta := weights(len(d), false)
	if err := errors.Join(d.CrossSum(a, eta, Xnew, X), back.CrossSum(b, eta, Xnew, X)); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(a.Data, b.Data) {
		t.Error("a dictionary read back predicts something else")
	}
}

// TestWeightedGram compares the sum with that of the matrices one by one, in both precisions.
func TestWeightedGram(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	X := blas.NewGeneral(150, 4)
	for i := range X.Data {
		X.Data[i] = rng.NormFloat64()
	}
	d, err := Build([]string{"gaussian:all:1,2", "linear:0-1", "laplacian:all:median"}, X, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	d[2].Center = true
	weights := []float64{.5, 0, 2, 1.25}
	for prec, tol := range map[blas.Precision]float64{blas.Float64: 1e-15, blas.Float32: 1e-6} {
		grams, err := slices.Clone(d).Grams(t.Context(), X, GramOptions{Precision: prec})
		if err != nil {
			t.Fatal(err)
		}
		sum, err := d.WeightedGram(t.Context(), X, weights, GramOptions{Precision: prec})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 150 {
			for j := range i + 1 {
				var want, size float64
				for k, g := range grams {
					want += weights[k] * g.At(i, j)
					size += weights[k] * math.Abs(g.At(i, j))
				}
				if got := sum.At(i, j); math.Abs(got-want) > 4*tol*size {
					t.Fatalf("%v: element (%d,%d) is %g, want %g", prec, i, j, got, want)
				}
			}
		}
	}
	if _, err := d.WeightedGram(t.Context(), X, weights, GramOptions{MaxBytes: 1000}); !errors.Is(err, ErrMemory) {
		t.Errorf("error %v, want ErrMemory", err)
	}
}

// TestDiagonal compares the diagonal of cross-Gram matrices with that of Gram matrices, centred ones too.
func TestDiagonal(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 4))
	X := blas.NewGeneral(75, 3)
	for i := range X.Data {
		X.Data[i] = rng.Float64()
	}
	for _, spec := range []string{
		"gaussian:all:median", "laplacian:all:median", "matern32:all:median", "cauchy:all:median", "chi2:all:median",
		"linear:all", "poly:2:all:1",
	} {
		for _, center := range []bool{false, true} {
			d, err := Build([]string{spec}, X, nil, 1)
			if err != nil {
				t.Fatal(err)
			}
			d[0].Center = center
			K, err := d[0].Gram(X, blas.Float64)
			if err != nil {
				t.Fatal(err)
			}
			c, err := d.Crossing([]float64{2}, X, nil)
			if err != nil {
				t.Fatal(err)
			}
			got := make([]float64, X.Rows)
			if err := c.Diagonal(got, X); err != nil {
				t.Fatal(err)
			}
			for i, v := range got {
				if want := 2 * K.At(i, i); !(math.Abs(v-want) <= 1e-12*(1+math.Abs(want))) {
					t.Fatalf("%s, centred: %v: element %d is %g, want %g", spec, center, i, v, want)
				}
			}
		}
	}
}
