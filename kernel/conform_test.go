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

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/par"
)

// TestKinds holds every registered kind to what the package promises of all of them.
func TestKinds(t *testing.T) {
	for _, kind := range Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			checkTexts(t, kind)
			checkParameterErrors(t, kind)
			specs := []string{kind.Example(), kind.Example() + ":0,2-4:center", "nystrom:" + kind.Example() + ":10"}
			if !kind.HasWidth() {
				specs = append(specs, kind.Example()+":1-4:unit")
			}
			for _, spec := range specs {
				t.Run(spec, func(t *testing.T) { checkConformance(t, spec) })
			}
		})
	}
}

// checkTexts checks help, error texts, and that SPECs read and write alike.
func checkTexts(t *testing.T, kind Kind) {
	if kind.Formula() == "" || !strings.Contains(Usage(), "  "+string(kind)+":") ||
		!strings.Contains(Usage(), kind.Formula()+"\n") {
		t.Errorf("help does not have the kind and its formula:\n%s", Usage())
	}
	if _, err := Parse("?"); !strings.Contains(err.Error(), string(kind)) {
		t.Errorf("not among the kinds of %q", err)
	}
	s, err := Parse(kind.Example())
	if err != nil || s.Kind != kind {
		t.Fatalf("its example reads as %+v, %v", s, err)
	}
	if again, err := Parse(s.String()); err != nil || !reflect.DeepEqual(again, s) {
		t.Errorf("%s reads as %+v, %v; want %+v", s, again, err, s)
	}
	if _, err := Parse(s.String() + ":1:1:1"); !errors.Is(err, ErrSpec) {
		t.Errorf("%s with more parameters: %v", s, err)
	}
	if slices.ContainsFunc(kind.def().params, func(p param) bool { return !p.optional }) {
		if _, err := Parse(string(kind)); !errors.Is(err, ErrSpec) ||
			!strings.Contains(err.Error(), "needs its "+kind.def().params[0].name) {
			t.Errorf("without parameters: %v", err)
		}
	}
}

// checkParameterErrors makes each parameter of a sound kernel bad, one at a time.
func checkParameterErrors(t *testing.T, kind Kind) {
	d, err := Build([]string{kind.Example()}, positiveX(rand.New(rand.NewPCG(40, 1)), 9, 3), nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	bad := func(k Kernel, say string) {
		if err := k.Validate(); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%+v: %v, want %q", k, err, say)
		}
	}
	if err := d[0].Validate(); err != nil {
		t.Error(err)
	}
	for i, p := range kind.def().params {
		for _, v := range []float64{math.NaN(), math.Inf(1), p.min - 1, math.Nextafter(p.min, math.Inf(-1))} {
			k := d[0]
			k.Params = slices.Clone(k.Params)
			k.Params[i] = v
			bad(k, p.name+" "+number(v)+" is not")
		}
	}
	k := d[0]
	k.Params = append(slices.Clone(k.Params), 1)
	bad(k, "parameters, want")
	if kind.HasWidth() {
		for _, v := range []float64{0, -1, math.NaN(), math.Inf(1)} {
			k := d[0]
			k.Width = v
			bad(k, "width")
		}
	}
}

func checkConformance(t *testing.T, spec string) {
	rng := rand.New(rand.NewPCG(41, 1))
	X, Xnew := blas.NewGeneral(tileCols+9, 6), blas.NewGeneral(21, 6)
	for _, x := range []blas.General{X, Xnew} {
		for i := range x.Data {
			x.Data[i] = rng.Float64()
		}
	}
	gram := func(X blas.General, prec blas.Precision) (*Kernel, blas.General) {
		d, err := Build([]string{spec}, X, nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		g, err := d[0].Gram(X, prec)
		if err != nil {
			t.Fatal(err)
		}
		checkSymmetric(t, &d[0], g)
		K := blas.NewGeneral(X.Rows, X.Rows)
		g.Dense(K)
		return &d[0], K
	}
	k, K := gram(X, blas.Float64)
	var size float64
	for _, v := range K.Data {
		size = max(size, math.Abs(v))
	}
	near := func(what string, got, want blas.General, tol float64) {
		t.Helper()
		if d := maxDiff(got, want); !(d <= tol*size) {
			t.Errorf("%s: off by %g of %g", what, d, size)
		}
	}
	if !k.Center {
		near("Gram matrix, from values of pairs", K, k.pairs(X, X), 1e-12)
	} else {
		for i := range K.Rows {
			if s := blas.Dot(blas.Row(K, i), slices.Repeat([]float64{1}, K.Cols)); !(math.Abs(s) <= 1e-12*size*float64(
				K.Rows)) {
				t.Errorf("row %d of a centred matrix adds up to %g", i, s)
			}
		}
	}
	w := make([]float64, K.Rows)
	if err := blas.Active().Syevals(blas.Clone(K), w); err != nil || !(w[0] >= -1e-12*w[len(w)-1]) {
		t.Errorf("eigenvalues from %g to %g: not positive semidefinite; %v", w[0], w[len(w)-1], err)
	}
	cross := func(A blas.General) blas.General {
		C := blas.NewGeneral(A.Rows, X.Rows)
		if err := k.Cross(C, A, X); err != nil {
			t.Fatal(err)
		}
		return C
	}
	near("cross-Gram matrix of the samples", cross(X), K, 1e-7) // r of a sample to itself is rounded to √(2⁻⁵³)
	if !k.Center {
		near("cross-Gram matrix, from values of pairs", cross(Xnew), k.pairs(Xnew, X), 1e-12)
	}
	_, single := gram(X, blas.Float32)
	near("in single precision", single, K, 1e-6)
	if k.Kind.HasWidth() {
		scaled := blas.Clone(X)
		blas.Scal(0x1p-30, scaled.Data)
		_, S := gram(scaled, blas.Float64)
		near("samples and widths times 2⁻³⁰", S, K, 1e-12)
	}
	t.Cleanup(func() { par.SetThreads(0) })
	for _, threads := range []int{1, 3} {
		par.SetThreads(threads)
		if _, again := gram(X, blas.Float64); !slices.Equal(again.Data, K.Data) {
			t.Errorf("depends on the number of threads")
		}
	}
	text, err := json.Marshal(k)
	if err != nil {
		t.Fatal(err)
	}
	var back Kernel
	if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(&back, k) {
		t.Errorf("through JSON: %+v, %v; want %+v", back, err, k)
	}
	bad := blas.Clone(X)
	blas.Row(bad, 7)[2] = math.NaN()
	if _, err := (Dictionary{*k}).Grams(context.Background(), bad, GramOptions{}); !errors.Is(err, ErrNotFinite) ||
		!strings.Contains(err.Error(), "row 7, column 2") {
		t.Errorf("a cell that is no number: %v", err)
	}
}

// checkSymmetric wants symmetry to the bit, and a diagonal of ones where the kernel has one; a unit
// kernel is 0 where k(x,x) is.
func checkSymmetric(t *testing.T, k *Kernel, g *blas.Sym) {
	t.Helper()
	for p := range g.Panels() {
		row, rows, cols, off := g.Panel(p)
		for i := range rows {
			for j := range i {
				if element(g, off+i*cols+row+j) != element(g, off+j*cols+row+i) {
					t.Fatalf("%s: the diagonal block is not symmetric", k.Name)
				}
			}
			v := g.At(row+i, row+i)
			if exact := (k.Kind.HasWidth() || k.UnitDiagonal()) && !k.Center; exact && v != 1 &&
				!(v == 0 && k.UnitDiagonal()) {
				t.Fatalf("%s: diagonal element %d is %v", k.Name, row+i, v)
			}
		}
	}
}

// pairs evaluates the kernel one pair at a time, on metric values that are summed one feature after the other.
func (k *Kernel) pairs(A, B blas.General) blas.General {
	A, B = k.Features(A), k.Features(B)
	m, e := k.Kind.def().metric, k.evaluator()
	value := func(x, z []float64) float64 {
		var v float64
		switch m {
		case dot:
			v = blas.Dot(x, z)
		case lorentz:
			v = 1
			for f := range x {
				v *= 1 + (x[f]-z[f])*(x[f]-z[f])/k.Width/k.Width
			}
		case euclid:
			v = distance(m, x, z)
			v *= v
		default:
			v = distance(m, x, z)
		}
		out := []float64{0}
		e.row(out, []float64{v})
		return out[0]
	}
	K := blas.NewGeneral(A.Rows, B.Rows)
	for i := range A.Rows {
		for j := range B.Rows {
			x, z := blas.Row(A, i), blas.Row(B, j)
			v := value(x, z)
			if k.UnitDiagonal() {
				if norm := math.Sqrt(value(x, x) * value(z, z)); norm > 0 {
					v /= norm
				}
			}
			K.Data[i*K.Stride+j] = v
		}
	}
	return K
}

// Models of format 1 hold each parameter in a field of its own.
func TestParametersOfFormat1(t *testing.T) {
	for text, want := range map[string]Kernel{
		`{"name":"p","kind":"poly","inputs":3,"degree":2,"offset":1,"gamma":0.5}`: {
			Name: "p", Kind: Poly, Inputs: 3, Params: []float64{2, 1, 0.5},
		},
		`{"name":"p","kind":"poly","inputs":3,"degree":2,"gamma":0.5}`: {
			Name: "p", Kind: Poly, Inputs: 3, Params: []float64{2, 0, 0.5},
		},
		`{"name":"m","kind":"matern","inputs":3,"width":2,"nu":1.5}`: {
			Name: "m", Kind: Matern, Inputs: 3, Width: 2, Params: []float64{1.5},
		},
		`{"name":"g","kind":"gaussian","inputs":3,"width":2,"unit":true}`: {
			Name: "g", Kind: Gaussian, Inputs: 3, Width: 2, Unit: true,
		},
	} {
		var k Kernel
		if err := json.Unmarshal([]byte(text), &k); err != nil || !reflect.DeepEqual(k, want) || k.Validate() != nil {
			t.Errorf("%s: %+v, %v; want %+v", text, k, err, want)
		}
	}
}

// element is the stored element at an offset.
func element(g *blas.Sym, at int) float64 {
	if g.Prec == blas.Float32 {
		return float64(g.F32[at])
	}
	return g.F64[at]
}
