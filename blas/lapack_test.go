package blas_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/dense/lapack"
)

const eps = 0x1p-52

// lapackCases are the spectra every factorization is tried on.
var lapackCases = []struct {
	name     string
	spectrum func(i, n int) float64
}{
	{"random", func(i, n int) float64 { return math.Sin(1 + 3*float64(i)) }},
	{"graded", func(i, n int) float64 { return math.Pow(10, -12*float64(i)/float64(n)) }},
	{"clustered", func(i, n int) float64 { return float64(1+i%3) + 1e-13*float64(i) }},
	{"repeated", func(i, n int) float64 { return 2 }},
	{"low rank", func(i, n int) float64 { return max(0, 3-float64(i)) }},
	{"zero", func(i, n int) float64 { return 0 }},
	{"huge", func(i, n int) float64 { return 1e150 * (1 + float64(i)) }},
	{"tiny", func(i, n int) float64 { return 1e-150 * (1 + float64(i)) }},
}

var lapackSizes = []int{0, 1, 2, 3, 17, 70, 150}

// blocked is gonum's BLAS with the module's own factorizations.
type blocked struct {
	*blas.Gonum
	lapack.Implementation
}

func (blocked) Name() string { return "blocked" }

func lapackBackends() []blas.Backend {
	g := blas.NewGonum()
	return append(blas.Backends(), blocked{g, lapack.New(g, g)})
}

// eachLAPACK runs check for every backend, spectrum and size, with a stride beyond the width.
func eachLAPACK(t *testing.T, check func(t *testing.T, be blas.Backend, a blas.General, rng *rand.Rand)) {
	for _, be := range lapackBackends() {
		for _, c := range lapackCases {
			for _, n := range lapackSizes {
				t.Run(fmt.Sprintf("%s/%s/n=%d", be.Name(), c.name, n), func(t *testing.T) {
					rng := rand.New(rand.NewPCG(uint64(n), 7))
					check(t, be, symmetric(rng, n, func(i int) float64 { return c.spectrum(i, n) }), rng)
				})
			}
		}
	}
}

// padded returns an r×c matrix whose stride is larger than c.
func padded(r, c int) blas.General {
	return blas.General{Rows: r, Cols: c, Stride: c + 3, Data: make([]float64, r*(c+3))}
}

func copyOf(a blas.General) blas.General {
	b := padded(a.Rows, a.Cols)
	blas.Copy(b, a)
	return b
}

// symmetric returns Q·diag(spectrum)·Qᵀ for a Q made of random reflections.
func symmetric(rng *rand.Rand, n int, spectrum func(i int) float64) blas.General {
	a := padded(n, n)
	for i := range n {
		a.Data[i*a.Stride+i] = spectrum(i)
	}
	v, w := make([]float64, n), make([]float64, n)
	for range 3 {
		for i := range v {
			v[i] = rng.NormFloat64()
		}
		blas.Scal(1/blas.Nrm2(v), v)
		// H·A·H with H = I − 2vvᵀ: A − 2vuᵀ − 2uvᵀ with u = Av − (vᵀAv)v.
		for i := range n {
			w[i] = blas.Dot(blas.Row(a, i), v)
		}
		blas.Axpy(-blas.Dot(v, w), v, w)
		for i := range n {
			for j := range n {
				a.Data[i*a.Stride+j] -= 2 * (v[i]*w[j] + w[i]*v[j])
			}
		}
	}
	for i := range n {
		for j := range i {
			a.Data[j*a.Stride+i] = a.Data[i*a.Stride+j]
		}
	}
	return a
}

// lowerOnly returns a copy of a whose strictly upper triangle is NaN.
func lowerOnly(a blas.General) blas.General {
	b := copyOf(a)
	for i := range b.Rows {
		for j := i + 1; j < b.Cols; j++ {
			b.Data[i*b.Stride+j] = math.NaN()
		}
	}
	return b
}

func mul(tA, tB bool, a, b blas.General) blas.General {
	r, c := a.Rows, b.Cols
	if tA {
		r = a.Cols
	}
	if tB {
		c = b.Rows
	}
	out := blas.NewGeneral(r, c)
	blas.Mul(blas.NewGonum(), out, tA, tB, a, b)
	return out
}

// near fails when ‖got − want‖_F exceeds 10·n·eps·scale.
func near(t *testing.T, what string, got, want blas.General, scale float64) {
	t.Helper()
	diff := blas.Clone(got)
	blas.AddScaled(diff, -1, want)
	n := float64(max(got.Rows, got.Cols, 1))
	if e := blas.Frob(diff); !(e <= 10*n*eps*scale) {
		t.Errorf("%s: error %g is %.1f n·eps of %g", what, e, e/(n*eps*scale), scale)
	}
}

func identity(n int) blas.General {
	a := blas.NewGeneral(n, n)
	for i := range n {
		a.Data[i*n+i] = 1
	}
	return a
}

// orthonormal fails when the columns of q are not.
func orthonormal(t *testing.T, what string, q blas.General) {
	t.Helper()
	near(t, what+": QᵀQ − I", mul(true, false, q, q), identity(q.Cols), math.Sqrt(float64(q.Cols)))
}

func scaleColumns(a blas.General, w []float64) blas.General {
	b := blas.Clone(a)
	for i := range b.Rows {
		for j := range w {
			b.Data[i*b.Stride+j] *= w[j]
		}
	}
	return b
}

func TestSyevd(t *testing.T) {
	eachLAPACK(t, func(t *testing.T, be blas.Backend, a blas.General, _ *rand.Rand) {
		n := a.Rows
		v, w := lowerOnly(a), make([]float64, n)
		if err := be.Syevd(v, w); err != nil {
			t.Fatal(err)
		}
		orthonormal(t, "vectors", v)
		near(t, "A − VΛVᵀ", mul(false, true, scaleColumns(v, w), v), a, blas.Frob(a))
		if !slices.IsSorted(w) {
			t.Error("eigenvalues are not in ascending order")
		}
		values := make([]float64, n)
		if err := be.Syevals(lowerOnly(a), values); err != nil {
			t.Fatal(err)
		}
		near(t, "values alone", blas.Vector(values), blas.Vector(w), blas.Frob(a))
	})
}

func TestSytrd(t *testing.T) {
	eachLAPACK(t, func(t *testing.T, be blas.Backend, a blas.General, rng *rand.Rand) {
		n := a.Rows
		d, e, tau := make([]float64, n), make([]float64, max(n-1, 0)), make([]float64, max(n-1, 0))
		f := lowerOnly(a)
		be.Sytrd(f, d, e, tau)
		tri := blas.NewGeneral(n, n)
		for i := range n {
			tri.Data[i*n+i] = d[i]
			if i+1 < n {
				tri.Data[i*n+i+1], tri.Data[(i+1)*n+i] = e[i], e[i]
			}
		}
		q := copyOf(identity(n))
		be.Ormtr(false, f, tau, q)
		orthonormal(t, "Q", q)
		near(t, "A − QTQᵀ", mul(false, true, mul(false, false, q, tri), q), a, blas.Frob(a))
		c := random(rng, n, 3)
		qc := copyOf(c)
		be.Ormtr(true, f, tau, qc)
		near(t, "Qᵀc", qc, mul(true, false, q, c), blas.Frob(c))
	})
}

func random(rng *rand.Rand, r, c int) blas.General {
	a := padded(r, c)
	for i := range r {
		for j := range c {
			a.Data[i*a.Stride+j] = rng.NormFloat64()
		}
	}
	return a
}

func TestPotrf(t *testing.T) {
	eachLAPACK(t, func(t *testing.T, be blas.Backend, a blas.General, _ *rand.Rand) {
		n := a.Rows
		spd := mul(false, true, a, a)
		shift := blas.Frob(spd)
		if shift == 0 || math.IsInf(shift, 0) {
			shift = 1
			blas.Zero(spd)
		}
		for i := range n {
			spd.Data[i*spd.Stride+i] += shift
		}
		f := lowerOnly(spd)
		if !be.Potrf(f) {
			t.Fatal("reported as not positive definite")
		}
		for i := range n {
			clear(blas.Row(f, i)[i+1:])
		}
		near(t, "A − LLᵀ", mul(false, true, f, f), spd, blas.Frob(spd))
		inverse, identity := lowerOnly(f), padded(n, n)
		be.Potri(inverse)
		for i := range n {
			if i > 0 && !math.IsNaN(inverse.Data[i]) {
				t.Fatal("the upper triangle of the inverse was written")
			}
			identity.Data[i*identity.Stride+i] = 1
		}
		blas.MirrorLower(inverse)
		near(t, "A·A⁻¹ − I", mul(false, false, spd, inverse), identity, float64(n))
		if n > 0 {
			bad := lowerOnly(spd)
			bad.Data[(n-1)*bad.Stride+n-1] = -shift
			if be.Potrf(bad) {
				t.Error("an indefinite matrix was accepted")
			}
		}
	})
}

// rectangle returns m×n with the spectrum of a's case: the first columns of a over random rows scaled alike.
func rectangle(rng *rand.Rand, a blas.General, m int) blas.General {
	r := padded(m, a.Cols)
	scale := blas.Frob(a) / math.Sqrt(float64(max(1, a.Rows)))
	for i := range m {
		if i < a.Rows {
			copy(blas.Row(r, i), blas.Row(a, i))
			continue
		}
		for j := range a.Cols {
			r.Data[i*r.Stride+j] = scale * rng.NormFloat64()
		}
	}
	return r
}

func TestQR(t *testing.T) {
	eachLAPACK(t, func(t *testing.T, be blas.Backend, a blas.General, rng *rand.Rand) {
		for _, m := range []int{a.Cols, 2*a.Cols + 5} {
			full := rectangle(rng, a, m)
			q, r := copyOf(full), random(rng, a.Cols, a.Cols)
			be.QR(q, r)
			orthonormal(t, "Q", q)
			near(t, "A − QR", mul(false, false, q, r), full, blas.Frob(full))
			for i := range r.Rows {
				for j := range i {
					if r.Data[i*r.Stride+j] != 0 {
						t.Fatal("R is not upper triangular")
					}
				}
			}
		}
	})
}

func TestSVD(t *testing.T) {
	eachLAPACK(t, func(t *testing.T, be blas.Backend, a blas.General, rng *rand.Rand) {
		n := a.Cols
		for _, m := range []int{n, 2*n + 5, n / 2} {
			full := rectangle(rng, a, m)
			k := min(m, n)
			u, vt, s := random(rng, m, k), random(rng, k, n), make([]float64, k)
			if err := be.SVD(copyOf(full), s, u, vt); err != nil {
				t.Fatal(err)
			}
			for i := range s {
				if !(s[i] >= 0) || i > 0 && !(s[i] <= s[i-1]) {
					t.Fatalf("singular values %v do not descend to 0", s)
				}
			}
			v := padded(n, k)
			for i := range k {
				for j := range n {
					v.Data[j*v.Stride+i] = vt.Data[i*vt.Stride+j]
				}
			}
			orthonormal(t, "U", u)
			orthonormal(t, "V", v)
			near(t, "A − USVᵀ", mul(false, false, scaleColumns(u, s), vt), full, blas.Frob(full))
		}
	})
}

func TestSchur(t *testing.T) {
	eachLAPACK(t, func(t *testing.T, be blas.Backend, a blas.General, rng *rand.Rand) {
		n := a.Rows
		full := mul(false, false, scaleColumns(identity(n), slices.Repeat([]float64{blas.Frob(a)}, n)),
			random(rng, n, n))
		blas.AddScaled(full, 1, a)
		s, q := copyOf(full), random(rng, n, n)
		if err := be.Schur(s, q); err != nil {
			t.Fatal(err)
		}
		orthonormal(t, "Schur Q", q)
		near(t, "A − QTQᵀ", mul(false, true, mul(false, false, q, s), q), full, blas.Frob(full))
		quasiTriangular(t, s)
	})
}

// quasiTriangular fails unless s has at most standardised 2×2 blocks on its diagonal.
func quasiTriangular(t *testing.T, s blas.General) {
	t.Helper()
	at := func(i, j int) float64 { return s.Data[i*s.Stride+j] }
	for i := range s.Rows {
		for j := range max(i-1, 0) {
			if at(i, j) != 0 {
				t.Fatalf("element (%d,%d) below the blocks is %g", i, j, at(i, j))
			}
		}
		if i == 0 || at(i, i-1) == 0 {
			continue
		}
		if i > 1 && at(i-1, i-2) != 0 {
			t.Fatalf("two 2×2 blocks overlap at row %d", i)
		}
		if at(i, i) != at(i-1, i-1) || at(i, i-1)*at(i-1, i) >= 0 {
			t.Fatalf("the block at row %d is not standardised", i-1)
		}
	}
}

// The native backend promises the same bits for any number of threads.
func TestNativeSameBits(t *testing.T) {
	t.Cleanup(func() { blas.SetThreads(0) })
	be := blas.NewNative()
	const n = 260
	run := func(threads int) []float64 {
		blas.SetThreads(threads)
		rng := rand.New(rand.NewPCG(3, 4))
		a, g := symmetric(rng, n, func(i int) float64 { return math.Sin(float64(i)) }), random(rng, n, n)
		var all []float64
		keep := func(m blas.General) { all = append(all, blas.Clone(m).Data...) }
		v, w := blas.Clone(a), make([]float64, n)
		if err := be.Syevd(v, w); err != nil {
			t.Fatal(err)
		}
		keep(v)
		keep(blas.Vector(w))
		f, e, tau := blas.Clone(a), make([]float64, n-1), make([]float64, n-1)
		be.Sytrd(f, w, e, tau)
		c := blas.Clone(g)
		be.Ormtr(true, f, tau, c)
		keep(c)
		q, r := blas.Clone(g), blas.NewGeneral(n, n)
		be.QR(q, r)
		keep(q)
		u, vt := blas.NewGeneral(n, n), blas.NewGeneral(n, n)
		if err := be.SVD(blas.Clone(g), w, u, vt); err != nil {
			t.Fatal(err)
		}
		keep(u)
		spd := mul(false, true, g, g)
		be.Potrf(spd)
		keep(spd)
		wide := random(rng, n, 2*n)
		be.LU(wide, make([]int, n))
		keep(wide)
		h := blas.Clone(g)
		if err := be.Schur(h, q); err != nil {
			t.Fatal(err)
		}
		keep(h)
		return all
	}
	one := run(1)
	for _, threads := range []int{2, 5} {
		if !slices.Equal(one, run(threads)) {
			t.Errorf("%d threads give other bits than one", threads)
		}
	}
}
