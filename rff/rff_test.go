package rff

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/par"
	"github.com/iokl/iokl/kernel"
)

func randomX(seed uint64, l, d int) blas.General {
	return normals(l, d, rand.New(rand.NewPCG(seed, 99)))
}

// build resolves one SPEC on X.
func build(t testing.TB, spec string, X blas.General) kernel.Dictionary {
	t.Helper()
	d, err := kernel.Build([]string{spec}, X, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// gramOf is the exact Gram matrix of a kernel, dense.
func gramOf(t testing.TB, k kernel.Kernel, X blas.General) blas.General {
	t.Helper()
	s, err := k.Gram(X, blas.Float64)
	if err != nil {
		t.Fatal(err)
	}
	K := blas.NewGeneral(X.Rows, X.Rows)
	s.Dense(K)
	return K
}

// approximate is Z Zᵀ of the features of a kernel.
func approximate(t testing.TB, k kernel.Kernel, X blas.General, seed uint64) blas.General {
	t.Helper()
	m, err := New(t.Context(), k, X, seed, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	Z, K := blas.NewGeneral(X.Rows, m.Dim()), blas.NewGeneral(X.Rows, X.Rows)
	if err := m.Transform(Z, X); err != nil {
		t.Fatal(err)
	}
	blas.Mul(blas.Active(), K, false, true, Z, Z)
	return K
}

// rmsError is the root mean square of the elements of a−b off the diagonal.
func rmsError(a, b blas.General) float64 {
	var sum float64
	for i := range a.Rows {
		for j := range i {
			d := a.Data[i*a.Stride+j] - b.Data[i*b.Stride+j]
			sum += d * d
		}
	}
	return math.Sqrt(sum / float64(a.Rows*(a.Rows-1)/2))
}

var fourierKinds = func() []string {
	names := []string{"matern:4"}
	for _, kind := range kernel.Kinds() {
		if kind.HasFrequencies() {
			names = append(names, kind.Example())
		}
	}
	return names
}()

// The mean over many seeds approaches the kernel, within five standard errors,
// for every kernel and sampler that is unbiased.
func TestUnbiased(t *testing.T) {
	const seeds, features = 400, 16
	X := randomX(1, 6, 3)
	for _, kind := range fourierKinds {
		for _, sampler := range []string{"mc", "orthogonal", "qmc", "mc:phases", "orthogonal:phases", "qmc:phases"} {
			k := build(t, fmt.Sprintf("rff:%s:all:1.5:%d:%s", kind, features, sampler), X)[0]
			want := gramOf(t, k, X)
			mean, square := make([]float64, 36), make([]float64, 36)
			for seed := range uint64(seeds) {
				for i, v := range approximate(t, k, X, seed).Data {
					mean[i] += v / seeds
					square[i] += v * v / seeds
				}
			}
			for i, v := range mean {
				se := math.Sqrt(max(square[i]-v*v, 0) / seeds)
				if !(math.Abs(v-want.Data[i]) <= 5*se+1e-12) {
					t.Errorf("%s, %s: element %d has mean %.4f, the kernel is %.4f, standard error %.4f", kind, sampler,
						i, v, want.Data[i], se)
				}
			}
		}
	}
}

// errorAt is the error at D features, root mean square over some seeds.
func errorAt(t *testing.T, kind, sampler string, D int, X blas.General) float64 {
	k := build(t, fmt.Sprintf("rff:%s:all:2:%d:%s", kind, D, sampler), X)[0]
	want := gramOf(t, k, X)
	var sum float64
	const seeds = 12
	for seed := range uint64(seeds) {
		e := rmsError(approximate(t, k, X, seed+1000), want)
		sum += e * e / seeds
	}
	return math.Sqrt(sum)
}

// Sixteen times the features leave a quarter of the error.
func TestRate(t *testing.T) {
	X := randomX(2, 25, 5)
	for _, kind := range fourierKinds {
		for _, sampler := range []string{"mc", "orthogonal", "mc:phases", "orthogonal:phases"} {
			ratio := errorAt(t, kind, sampler, 40, X) / errorAt(t, kind, sampler, 640, X)
			if !(ratio > 3.3 && ratio < 4.8) {
				t.Errorf("%s, %s: the error falls by %.2f, want about 4", kind, sampler, ratio)
			}
		}
	}
}

func TestSamplersAgainstMonteCarlo(t *testing.T) {
	X := randomX(3, 25, 8)
	for _, D := range []int{32, 256} {
		mc := errorAt(t, "gaussian", "mc", D, X)
		for sampler, most := range map[string]float64{"orthogonal": 0.9, "qmc": 1, "hadamard": 1} {
			if e := errorAt(t, "gaussian", sampler, D, X); !(e <= most*mc) {
				t.Errorf("D = %d: %s has error %.4f, Monte Carlo %.4f", D, sampler, e, mc)
			}
		}
	}
	if o, mc := errorAt(t, "gaussian", "orthogonal:phases", 256, X), errorAt(t, "gaussian", "mc:phases", 256,
		X); !(o <= mc) {
		t.Errorf("phases: orthogonal %.4f, Monte Carlo %.4f", o, mc)
	}
	if o, mc := errorAt(t, "matern52", "orthogonal", 64, X), errorAt(t, "matern52", "mc", 64, X); !(o <= mc) {
		t.Errorf("matern52: orthogonal %.4f, Monte Carlo %.4f", o, mc)
	}
}

// Structured rows are Gaussian in the limit of large d only: the bias is small at d = 100, padded to 128.
func TestHadamardBias(t *testing.T) {
	X := randomX(4, 8, 100)
	for _, spec := range []string{
		"gaussian:all:median:1024:hadamard", "matern32:all:median:1024:hadamard",
		"gaussian:all:median:1024:hadamard:phases",
	} {
		k := build(t, "rff:"+spec, X)[0]
		want, mean := gramOf(t, k, X), blas.NewGeneral(8, 8)
		const seeds = 60
		for seed := range uint64(seeds) {
			blas.AddScaled(mean, 1./seeds, approximate(t, k, X, seed))
		}
		if e := rmsError(mean, want); !(e <= 0.01) {
			t.Errorf("%s: mean error %.4f over %d seeds", spec, e, seeds)
		}
	}
}

// Where structured frequencies are chosen for their speed, they cost no accuracy.
func TestAuto(t *testing.T) {
	X := randomX(5, 25, 256)
	for _, form := range []string{"", ":phases"} {
		k := build(t, "rff:gaussian:all:median:1024"+form, X)[0]
		m, err := New(t.Context(), k, X, 1, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		if m.Sampler != "hadamard" || !strings.Contains(k.Name, ":1024:hadamard"+form) {
			t.Fatalf("chose %s for %s", m.Sampler, k.Name)
		}
		want := gramOf(t, k, X)
		var squares [3]float64
		for seed := range uint64(6) {
			for i, sampler := range []string{"hadamard", "orthogonal", "mc"} {
				k.Approx.Sampler = sampler
				e := rmsError(approximate(t, k, X, seed), want)
				squares[i] += e * e / 6
			}
		}
		h, o, mc := math.Sqrt(squares[0]), math.Sqrt(squares[1]), math.Sqrt(squares[2])
		if !(h <= 1.15*o && h <= mc) {
			t.Errorf("%q: hadamard has error %.4f, orthogonal %.4f, Monte Carlo %.4f", form, h, o, mc)
		}
	}
}

// Normal coordinates become those of the distribution function: Cauchy for the
// Laplacian kernel, Laplace for the Cauchy kernel.
func TestCoordinates(t *testing.T) {
	for _, g := range []float64{-4, -1, -0.1, 0.3, 2} {
		p := math.Erfc(-g/math.Sqrt2) / 2
		for kind, want := range map[kernel.Kind]float64{
			kernel.Laplacian: math.Tan(math.Pi * (p - 0.5)),
			kernel.Cauchy:    math.Copysign(math.Log(2*math.Min(p, 1-p)), g),
		} {
			_, coordinate := (&kernel.Kernel{Kind: kind}).Frequencies()
			if got := coordinate(g); !(math.Abs(got-want) <= 1e-9*math.Abs(want)) {
				t.Errorf("%s at %g: %g, want %g", kind, g, got, want)
			}
		}
	}
}

func TestOrthogonalRows(t *testing.T) {
	const d = 7
	g := orthogonalRows(20, d, rand.New(rand.NewPCG(5, 5)), blas.Active())
	for i := range 20 {
		for j := range i {
			a, b := blas.Row(g, i), blas.Row(g, j)
			cos := blas.Dot(a, b) / blas.Nrm2(a) / blas.Nrm2(b)
			if i/d == j/d && !(math.Abs(cos) <= 1e-14) {
				t.Errorf("rows %d and %d of one block meet at cosine %g", i, j, cos)
			}
			if i/d != j/d && math.Abs(cos) < 1e-14 {
				t.Errorf("rows %d and %d of different blocks are orthogonal", i, j)
			}
		}
	}
}

// flipped is a backend whose QR factorization takes the other sign in every second column.
type flipped struct{ blas.Backend }

func (f flipped) QR(a, r blas.General) {
	f.Backend.QR(a, r)
	for j := 0; j < a.Cols; j += 2 {
		blas.Scal(-1, blas.Row(r, j))
		for i := range a.Rows {
			a.Data[i*a.Stride+j] = -a.Data[i*a.Stride+j]
		}
	}
}

// The same seed gives the same rows on every backend, up to rounding.
func TestOrthogonalRowsOnAnyBackend(t *testing.T) {
	saved := blas.Active()
	t.Cleanup(func() { blas.Use(saved) })
	var first blas.General
	for _, be := range append(blas.Backends(), flipped{saved}) {
		blas.Use(be)
		g := orthogonalRows(30, 12, rand.New(rand.NewPCG(5, 5)), be)
		if first.Data == nil {
			first = g
		}
		for i, v := range g.Data {
			if !(math.Abs(v-first.Data[i]) <= 1e-12) {
				t.Fatalf("%s: element %d is %g, not %g", be.Name(), i, v, first.Data[i])
			}
		}
	}
}

// Every coordinate of the sequence is spread evenly: one point in each of b equal cells for b points.
func TestHalton(t *testing.T) {
	h := newHalton(5, rand.New(rand.NewPCG(6, 6)))
	for f, b := range []int{2, 3, 5, 7, 11} {
		for start := range 3 {
			seen := make([]int, b)
			for i := range b {
				seen[int(h.at(start*b+i, f)*float64(b))]++
			}
			if slices.Max(seen) != 1 {
				t.Errorf("base %d: cells hold %v", b, seen)
			}
		}
	}
	wide := &Map{
		Kernel: build(t, "rff:gaussian:all:1:2:qmc", randomX(1, 2, maxHalton))[0],
		Method: Fourier, Sampler: "qmc", D: 2,
	}
	if err := wide.Check(); !errors.Is(err, ErrNoFeatures) {
		t.Errorf("too many dimensions: %v", err)
	}
}

func TestExact(t *testing.T) {
	X := randomX(7, 20, 4)
	copy(blas.Row(X, 3), make([]float64, 4)) // a zero sample
	for _, spec := range []string{
		"linear", "linear:1-2", "linear:3,0:unit", "linear:center", "cosine", "cosine:all:center",
		"poly:1", "poly:3", "poly:2:all:0", "poly:4:0,2:0.3:2", "poly:3:all:1:0.5:unit", "poly:2:all:1:center",
	} {
		k := build(t, spec, X)[0]
		want := gramOf(t, k, X)
		got := approximate(t, k, X, 0)
		blas.AddScaled(got, -1, want)
		if e := blas.Frob(got); !(e <= 1e-12*(1+blas.Frob(want))) {
			t.Errorf("%s: off by %g", spec, e)
		}
	}
}

func TestSeeds(t *testing.T) {
	X := randomX(10, 10, 3)
	k := build(t, "rff:gaussian:all:median:20", X)[0]
	a := approximate(t, k, X, 1)
	if !slices.Equal(a.Data, approximate(t, k, X, 1).Data) {
		t.Error("the same seed gives other features")
	}
	if slices.Equal(a.Data, approximate(t, k, X, 2).Data) {
		t.Error("another seed gives the same features")
	}
	maps, err := NewMaps(t.Context(), kernel.Dictionary{k, k}, X, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	var features [2]blas.General
	for j, m := range maps {
		features[j] = blas.NewGeneral(X.Rows, m.Dim())
		if err := m.Transform(features[j], X); err != nil {
			t.Fatal(err)
		}
	}
	if slices.Equal(features[0].Data, features[1].Data) {
		t.Error("two maps of one dictionary share their frequencies")
	}
}

// Features do not depend on threads nor on how rows are split into calls.
func TestTransformSplit(t *testing.T) {
	t.Cleanup(func() { par.SetThreads(0) })
	X := randomX(11, 300, 6)
	d, err := kernel.Build([]string{
		"rff:gaussian:all:median:50", "linear:0-2", "poly:2:3,4",
		"rff:gaussian:5:1:30:hadamard", "rff:cauchy:1-4:1:21:phases", "rff:gaussian:all:1:9:hadamard:phases",
	}, X, nil,
		1)
	if err != nil {
		t.Fatal(err)
	}
	maps, err := NewMaps(t.Context(), d, X, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := maps.Blocks(); !slices.Equal(got, []int{50, 3, 6, 30, 21, 9}) {
		t.Fatalf("blocks %v", got)
	}
	whole := blas.NewGeneral(300, maps.Dim())
	par.SetThreads(1)
	if err := maps.Transform(whole, X); err != nil {
		t.Fatal(err)
	}
	par.SetThreads(3)
	parts := blas.NewGeneral(300, maps.Dim())
	for lo := 0; lo < 300; lo += 128 {
		rows := min(128, 300-lo)
		if err := maps.Transform(blas.View(parts, lo, 0, rows, parts.Cols),
			blas.View(X, lo, 0, rows, X.Cols)); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(whole.Data, parts.Data) {
		t.Error("features depend on the threads or the split into calls")
	}
}

func TestErrors(t *testing.T) {
	X := randomX(12, 10, 3)
	bad := blas.Clone(X)
	bad.Data[7] = math.NaN()
	none := blas.General{Cols: 3, Stride: 3}
	wide := kernel.Kernel{Kind: kernel.Poly, Inputs: 1000, Params: []float64{3, 1, 1}}
	for _, c := range []struct {
		name string
		k    kernel.Kernel
		X    blas.General
		want error
	}{
		{"no features", build(t, "gaussian", X)[0], X, ErrNoFeatures},
		{"too many monomials", wide, none, ErrNoFeatures},
		{"landmarks without data", build(t, "nystrom:gaussian:all:1:5", X)[0], none, ErrNoFeatures},
		{"means without data", build(t, "linear:center", X)[0], none, ErrNoFeatures},
		{"NaN among the landmarks", build(t, "nystrom:gaussian:all:1:5", X)[0], bad, kernel.ErrNotFinite},
		{"structured product", build(t, "rff:laplacian:all:1:10:hadamard", X)[0], X, ErrNoFeatures},
		{"bad width", kernel.Kernel{Kind: kernel.Gaussian, Inputs: 3}, X, nil},
		{"other columns", build(t, "linear", randomX(1, 5, 4))[0], X, nil},
	} {
		if _, err := New(t.Context(), c.k, c.X, 1, 0, nil); err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	m, err := New(t.Context(), build(t, "rff:gaussian:all:1:10", X)[0], X, 1, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Transform(blas.NewGeneral(10, 10), bad); !errors.Is(err, kernel.ErrNotFinite) ||
		!strings.Contains(err.Error(), "row 2, column 1") {
		t.Errorf("NaN cell: %v", err)
	}
	for _, text := range []string{
		`{"method":"none","features":2}`,
		`{"method":"rff","features":3,"kernel":{"kind":"gaussian","inputs":3,"width":1}}`,
		`{"method":"rff","form":"waves","features":4,"sampler":"mc","kernel":{"kind":"gaussian","inputs":3,"width":1}}`,
		`{"method":"rff","form":"phases","sampler":"mc","kernel":{"kind":"gaussian","inputs":3,"width":1}}`,
		`{"method":"nystrom","features":3,"kernel":{"kind":"gaussian","inputs":3,"width":1}}`,
		`{"method":"exact","features":3,"kernel":{"kind":"gaussian","inputs":3,"width":1}}`,
	} {
		m := new(Map)
		if err := json.Unmarshal([]byte(text), m); err != nil {
			t.Fatal(err)
		}
		if err := m.Transform(blas.NewGeneral(10, m.D), X); !errors.Is(err, ErrNoFeatures) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
