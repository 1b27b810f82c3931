package sylvester_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/sylvester"
)

func gaussian(rng *rand.Rand, r, c int) blas.General {
	a := blas.NewGeneral(r, c)
	for i := range a.Data {
		a.Data[i] = rng.NormFloat64()
	}
	return a
}

// spectrum is the matrix Q·diag(s)·Qᵀ with a random orthogonal Q.
func spectrum(rng *rand.Rand, s []float64) blas.General {
	l := len(s)
	q := gaussian(rng, l, l)
	blas.Active().QR(q, blas.General{})
	t, a := blas.Clone(q), blas.NewGeneral(l, l)
	for i := range l {
		for j, v := range s {
			t.Data[i*l+j] *= v
		}
	}
	blas.Mul(blas.Active(), a, false, true, t, q)
	blas.MirrorLower(a)
	return a
}

// decay is c·b^j for j < k.
func decay(k int, c, b float64) []float64 {
	s := make([]float64, k)
	for j := range s {
		s[j] = c * math.Pow(b, float64(j))
	}
	return s
}

// outputKernel is a random n×n L with the given positive eigenvalues.
func outputKernel(rng *rand.Rand, n int, s []float64) *linop.Spectral {
	v := gaussian(rng, n, len(s))
	if len(s) > 0 {
		blas.Active().QR(v, blas.General{})
	}
	return &linop.Spectral{V: v, S: s}
}

// dense is a symmetric matrix as an operator.
type dense struct {
	a  blas.General
	be blas.Backend
}

func (d dense) Dim() int                  { return d.a.Rows }
func (d dense) Apply(dst, x blas.General) { blas.Mul(d.be, dst, false, false, d.a, x) }
func (d dense) Dense(dst blas.General)    { blas.Copy(dst, d.a) }

func system(K blas.General, L *linop.Spectral, mu float64) sylvester.System {
	return sylvester.System{K: dense{K, blas.Active()}, L: L, Mu: mu}
}

func solverNamed(t testing.TB, name string) sylvester.Solver {
	t.Helper()
	s, err := sylvester.New(name, sylvester.Config{Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// residual is ‖Y − K·C·L − μC‖_F/‖Y‖_F from dense matrices.
func residual(K blas.General, L *linop.Spectral, mu float64, C, Y blas.General) float64 {
	KC, R := blas.NewGeneral(C.Rows, C.Cols), blas.NewGeneral(C.Rows, C.Cols)
	blas.Mul(blas.Active(), KC, false, false, K, C)
	L.MulRight(blas.Active(), R, KC)
	blas.AddScaled(R, mu, C)
	blas.AddScaled(R, -1, Y)
	if nY := blas.Frob(Y); nY > 0 {
		return blas.Frob(R) / nY
	}
	return blas.Frob(R)
}

type testCase struct {
	name string
	K    blas.General
	L    *linop.Spectral
	mu   float64
	Y    blas.General
	tol  float64
	want error
	or   error // also accepted
}

// cases are the hard ones; every solver meets every one.
func cases() []testCase {
	rng := rand.New(rand.NewPCG(1, 2))
	const l, n = 60, 7
	K := spectrum(rng, decay(l, 10, 0.8))
	L := outputKernel(rng, n, decay(n, 3, 0.5))
	Y := gaussian(rng, l, n)
	scaled := func(a blas.General, c float64) blas.General {
		b := blas.Clone(a)
		blas.Scal(c, b.Data)
		return b
	}
	with := func(a blas.General, k int, v float64) blas.General {
		b := blas.Clone(a)
		b.Data[k] = v
		return b
	}
	nan := math.NaN()
	cases := []testCase{
		{"plain", K, L, 0.3, Y, 1e-10, nil, nil},
		{"loose", K, L, 0.3, Y, 1e-2, nil, nil},
		{"one sample", blas.Vector([]float64{2}), L, 0.3, gaussian(rng, 1, n), 1e-12, nil, nil},
		{"one output", K, outputKernel(rng, 1, []float64{2}), 0.3, gaussian(rng, l, 1), 1e-10, nil, nil},
		{"L = 0", K, outputKernel(rng, n, nil), 0.3, Y, 1e-12, nil, nil},
		{"L of rank 1", K, outputKernel(rng, n, []float64{4}), 0.3, Y, 1e-10, nil, nil},
		{"L with a zero eigenvalue", K, outputKernel(rng, n, []float64{4, 1, 0}), 0.3, Y, 1e-10, nil, nil},
		{"L = I", K, linop.ScaledIdentity(n, 1), 0.3, Y, 1e-10, nil, nil},
		{"Y = 0", K, L, 0.3, blas.NewGeneral(l, n), 1e-10, nil, nil},
		{"one column of Y is 0", K, linop.ScaledIdentity(2, 1), 0.3, columnOf(Y, 2), 1e-10, nil, nil},
		{"Y tiny", K, L, 0.3, scaled(Y, 1e-12), 1e-10, nil, nil},
		{"Y huge", K, L, 0.3, scaled(Y, 1e12), 1e-10, nil, nil},
		{"all tiny", scaled(K, 1e-12), L, 0.3e-12, Y, 1e-10, nil, nil},
		{"all huge", scaled(K, 1e12), L, 0.3e12, Y, 1e-10, nil, nil},
		{"ill conditioned", K, L, 1e-3, Y, 1e-8, nil, nil},
		{"K singular", spectrum(rng, append(decay(5, 10, 0.5), make([]float64, l-5)...)), L, 0.3, Y, 1e-10, nil, nil},
		{"K = 0", blas.NewGeneral(l, l), L, 0.3, Y, 1e-12, nil, nil},
		{"K = I", linop.ScaledIdentity(l, 1).V, L, 0.3, Y, 1e-12, nil, nil},
		{
			"K indefinite", spectrum(rng, append([]float64{-5}, decay(l-1, 10, 0.8)...)), L, 0.3, Y, 1e-10,
			sylvester.ErrNotSPD, sylvester.ErrNotSPD,
		},
		{"K negative", scaled(K, -1), L, 0.3, Y, 1e-10, sylvester.ErrNotSPD, sylvester.ErrNotSPD},
		{"NaN in K", with(K, 0, nan), L, 0.3, Y, 1e-10, sylvester.ErrNotFinite, sylvester.ErrNotSPD},
		{
			"NaN in L", K, outputKernel(rng, n, []float64{nan}), 0.3, Y, 1e-10, sylvester.ErrNotFinite,
			sylvester.ErrNotFinite,
		},
		{
			"NaN in V", K, &linop.Spectral{V: with(L.V, 3, nan), S: L.S}, 0.3, Y, 1e-10, sylvester.ErrNotFinite,
			sylvester.ErrNotFinite,
		},
		{
			"L indefinite", K, outputKernel(rng, n, []float64{1, -1}), 0.3, Y, 1e-10, sylvester.ErrNotSPD,
			sylvester.ErrNotSPD,
		},
		{"NaN in Y", K, L, 0.3, with(Y, 5, nan), 1e-10, sylvester.ErrNotFinite, sylvester.ErrNotFinite},
		{"infinity in Y", K, L, 0.3, with(Y, 5, math.Inf(1)), 1e-10, sylvester.ErrNotFinite, sylvester.ErrNotFinite},
		{"mu = 0", K, L, 0, Y, 1e-10, sylvester.ErrNotSPD, sylvester.ErrNotSPD},
		{"mu NaN", K, L, nan, Y, 1e-10, sylvester.ErrNotSPD, sylvester.ErrNotSPD},
	}
	return cases
}

// columnOf is the first columns of a with the last of them zero.
func columnOf(a blas.General, k int) blas.General {
	b := blas.Clone(blas.View(a, 0, 0, a.Rows, k))
	for i := range b.Rows {
		b.Data[i*k+k-1] = 0
	}
	return b
}
