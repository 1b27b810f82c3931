package lapack

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas/gonum"

	"github.com/iokl/iokl/internal/base/par"
)

// Every factorization is tested on every backend in package blas; here are the
// parts whose choice depends on the size, at sizes that a test can afford.

var reference = New(gonum.Implementation{}, gonum.Implementation{})

func randomSymmetric(n int, seed uint64) matrix {
	rng := rand.New(rand.NewPCG(seed, 1))
	a := zeros(n, n)
	for i := range n {
		for j := range i + 1 {
			v := rng.NormFloat64()
			a.Data[i*n+j], a.Data[j*n+i] = v, v
		}
	}
	return a
}

func multiply(a, b matrix, transposeB bool) matrix {
	c := zeros(a.Rows, b.Cols)
	t := nt
	if transposeB {
		c, t = zeros(a.Rows, b.Rows), tr
	}
	reference.gemm(nt, t, 1, a, b, 0, c)
	return c
}

// distance is ‖a − b‖_F.
func distance(a, b matrix) float64 {
	var s float64
	for i := range a.Rows {
		for j, v := range row(a, i) {
			s = math.Hypot(s, v-row(b, i)[j])
		}
	}
	return s
}

func frob(a matrix) float64 { return distance(a, zeros(a.Rows, a.Cols)) }

func identity(n int) matrix {
	a := zeros(n, n)
	for i := range n {
		a.Data[i*n+i] = 1
	}
	return a
}

func tridiagonal(d, e []float64) matrix {
	t := zeros(len(d), len(d))
	for i, v := range d {
		t.Data[i*t.Stride+i] = v
		if i > 0 {
			t.Data[i*t.Stride+i-1], t.Data[(i-1)*t.Stride+i] = e[i-1], e[i-1]
		}
	}
	return t
}

// The reduction through a band, around multiples of its width.
func TestTwoStage(t *testing.T) {
	const b = bandWidth
	for _, n := range []int{3, 4, b - 1, b, b + 1, b + 2, b + 3, 2*b - 1, 2 * b, 2*b + 1, 2*b + 2, 3*b + 7, 200} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			full := randomSymmetric(n, 2)
			a := zeros(n, n)
			copyMatrix(a, full)
			d, e, tau := make([]float64, n), make([]float64, n-1), make([]float64, n-1)
			reference.twoStage(a, d, e, tau)
			q := identity(n)
			reference.applyTwoStage(false, a, tau, q)
			if r := distance(multiply(q, q, true), identity(n)); !(r <= 4*float64(n)*eps) {
				t.Errorf("Q is orthogonal to %g", r)
			}
			back := multiply(multiply(q, tridiagonal(d, e), false), q, true)
			if r := distance(back, full); !(r <= 4*float64(n)*eps*frob(full)) {
				t.Errorf("A − QTQᵀ is %g", r)
			}
			reference.applyTwoStage(true, a, tau, q)
			if r := distance(q, identity(n)); !(r <= 8*float64(n)*eps) {
				t.Errorf("QᵀQ − I is %g", r)
			}
		})
	}
}

// Already banded or diagonal matrices give reflections that do nothing.
func TestTwoStageSparse(t *testing.T) {
	const n = 130
	d0, e0 := make([]float64, n), make([]float64, n-1)
	for i := range d0 {
		d0[i] = float64(i % 5)
	}
	for i := range e0 {
		e0[i] = float64(i % 3)
	}
	a := tridiagonal(d0, e0)
	d, e, tau := make([]float64, n), make([]float64, n-1), make([]float64, n-1)
	reference.twoStage(a, d, e, tau)
	if !slices.Equal(d, d0) || !slices.Equal(e, e0) {
		t.Error("a tridiagonal matrix was changed")
	}
}

func TestSameBitsOnAnyThreads(t *testing.T) {
	t.Cleanup(func() { par.SetThreads(0) })
	const n = 230
	run := func(threads int) []float64 {
		par.SetThreads(threads)
		a := randomSymmetric(n, 3)
		d, e, tau := make([]float64, n), make([]float64, n-1), make([]float64, n-1)
		reference.twoStage(a, d, e, tau)
		c := identity(n)
		reference.applyTwoStage(false, a, tau, c)
		v, w := randomSymmetric(n, 4), make([]float64, n)
		if err := reference.Syevd(v, w); err != nil {
			t.Fatal(err)
		}
		return slices.Concat(d, e, c.Data, w, v.Data)
	}
	if one := run(1); !slices.Equal(one, run(4)) {
		t.Error("four threads give other bits than one")
	}
}

// Tridiagonal matrices known to be hard for divide and conquer.
func TestTridiagonalEigen(t *testing.T) {
	repeat := func(n int, v float64) []float64 { return slices.Repeat([]float64{v}, n) }
	wilkinson := func(n int) []float64 {
		d := make([]float64, n)
		for i := range d {
			d[i] = math.Abs(float64(i) - float64(n-1)/2)
		}
		return d
	}
	glued := repeat(5*41-1, 1)
	for i := 40; i < len(glued); i += 41 {
		glued[i] = 1e-7
	}
	graded, random := make([]float64, 150), make([]float64, 150)
	rng := rand.New(rand.NewPCG(5, 6))
	for i := range graded {
		graded[i], random[i] = math.Pow(10, -float64(i)/10), rng.NormFloat64()
	}
	tiny := repeat(99, 1)
	for i := range tiny {
		tiny[i] = math.Ldexp(1, -i)
	}
	for _, c := range []struct {
		name string
		d, e []float64
	}{
		{"1,2,1", repeat(200, 2), repeat(199, 1)},
		{"1,0,1", repeat(201, 0), repeat(200, 1)},
		{"Wilkinson", wilkinson(121), repeat(120, 1)},
		{"glued Wilkinson", slices.Repeat(wilkinson(41), 5), glued},
		{"graded down", graded, graded[:149]},
		{"graded up", reversed(graded), reversed(graded[:149])},
		{"random", random, random[1:]},
		{"zero", repeat(70, 0), repeat(69, 0)},
		{"diagonal", random, repeat(149, 0)},
		{"negative couplings", repeat(130, 1), repeat(129, -0.25)},
		{"fading couplings", wilkinson(100), tiny},
		{"underflowing couplings", repeat(90, 1), repeat(89, 1e-300)},
		{"huge", repeat(90, 1e300), repeat(89, 1e300)},
		{"tiny", repeat(90, 3e-290), repeat(89, 1e-290)},
		{"leaf", repeat(divideLeaf, 1), repeat(divideLeaf-1, 1)},
		{"beyond the leaf", repeat(divideLeaf+1, 1), repeat(divideLeaf, 1)},
		{"one", []float64{-3}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := len(c.d)
			full := tridiagonal(c.d, c.e)
			d, Z := slices.Clone(c.d), zeros(n, n)
			p := newCuppen(reference, n)
			if err := p.tridiagonalEigen(d, slices.Clone(c.e), Z); err != nil {
				t.Fatal(err)
			}
			if r := distance(multiply(Z, Z, true), identity(n)); !(r <= 4*float64(n)*eps) {
				t.Errorf("vectors are orthogonal to %.3g·n·eps", r/(float64(n)*eps))
			}
			// T·z = λ·z, scaled to order one.
			scale := 0.0
			for _, v := range full.Data {
				scale = max(scale, math.Abs(v))
			}
			if scale == 0 {
				scale = 1
			}
			for i := range full.Data {
				full.Data[i] /= scale
			}
			zt := multiply(Z, full, false)
			for i := range n {
				scal(d[i]/scale, row(Z, i))
			}
			if r := distance(zt, Z); !(r <= 4*float64(n)*eps) {
				t.Errorf("residual %.3g·n·eps", r/(float64(n)*eps))
			}
			for i := 1; i < n; i++ {
				if d[p.order[i]] < d[p.order[i-1]] {
					t.Fatal("not in ascending order")
				}
			}
		})
	}
}

func reversed(x []float64) []float64 {
	y := slices.Clone(x)
	slices.Reverse(y)
	return y
}

// Roots are checked by the sign of f on both sides of them, in the shifted
// variable, since λ itself can agree with a pole to all its digits.
func TestSecularRoots(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for trial := range 200 {
		k := 1 + trial%40
		s := secular{d: make([]float64, k), z: make([]float64, k), rhoInv: math.Exp(3 * rng.NormFloat64())}
		at, sq := 0.0, 0.0
		for j := range k {
			at += max(math.Exp(8*rng.NormFloat64()), 1e-14*at) // deflation leaves no closer poles
			s.d[j], s.z[j] = at, math.Exp(4*rng.NormFloat64())
			sq += s.z[j] * s.z[j]
		}
		s.reach = sq / s.rhoInv
		delta := make([]float64, k)
		for i := range k {
			if _, ok := s.root(i, delta); !ok {
				t.Fatal("no root")
			}
			sum, size := s.rhoInv, s.rhoInv
			for j, dl := range delta {
				if (dl < 0) != (j <= i) {
					t.Fatalf("root %d of %d is on the wrong side of pole %d", i, k, j)
				}
				sum += s.z[j] * s.z[j] / dl
				size += math.Abs(s.z[j] * s.z[j] / dl)
			}
			if !(math.Abs(sum) <= 50*eps*size) {
				t.Errorf("f is %g of %g at root %d of %d", sum, size, i, k)
			}
		}
	}
}

func TestNotFinite(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		for _, n := range []int{1, 5, 80} {
			poisoned := func() matrix {
				a := identity(n)
				a.Data[(n-1)*n+n/2] = bad
				return a
			}
			w := make([]float64, n)
			for name, err := range map[string]error{
				"Syevd":   reference.Syevd(poisoned(), w),
				"Syevals": reference.Syevals(poisoned(), w),
				"SVD":     reference.SVD(poisoned(), w, zeros(n, n), zeros(n, n)),
				"Schur":   reference.Schur(poisoned(), zeros(n, n)),
			} {
				if !errors.Is(err, ErrNoConvergence) {
					t.Errorf("%s with %v, order %d: %v", name, bad, n, err)
				}
			}
			if reference.Potrf(poisoned()) {
				t.Errorf("Potrf accepted %v", bad)
			}
		}
	}
}
