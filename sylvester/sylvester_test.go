package sylvester_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/par"
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
		{"K indefinite", spectrum(rng, append([]float64{-5}, decay(l-1, 10, 0.8)...)), L, 0.3, Y, 1e-10, sylvester.ErrNotSPD, sylvester.ErrNotSPD},
		{"K negative", scaled(K, -1), L, 0.3, Y, 1e-10, sylvester.ErrNotSPD, sylvester.ErrNotSPD},
		{"NaN in K", with(K, 0, nan), L, 0.3, Y, 1e-10, sylvester.ErrNotFinite, sylvester.ErrNotSPD},
		{"NaN in L", K, outputKernel(rng, n, []float64{nan}), 0.3, Y, 1e-10, sylvester.ErrNotFinite, sylvester.ErrNotFinite},
		{"NaN in V", K, &linop.Spectral{V: with(L.V, 3, nan), S: L.S}, 0.3, Y, 1e-10, sylvester.ErrNotFinite, sylvester.ErrNotFinite},
		{"L indefinite", K, outputKernel(rng, n, []float64{1, -1}), 0.3, Y, 1e-10, sylvester.ErrNotSPD, sylvester.ErrNotSPD},
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

func TestCases(t *testing.T) {
	for _, c := range cases() {
		for _, name := range sylvester.Names() {
			if (name == "bartels-stewart" || name == "hessenberg-schur") && (c.name == "K indefinite" || c.name == "K negative") {
				continue // they need no definiteness
			}
			t.Run(c.name+"/"+name, func(t *testing.T) {
				C := blas.NewGeneral(c.Y.Rows, c.Y.Cols)
				res, err := solverNamed(t, name).Solve(context.Background(), C, system(c.K, c.L, c.mu), c.Y, sylvester.Options{Tol: c.tol, MaxIter: 5000})
				if !errors.Is(err, c.want) && !errors.Is(err, c.or) {
					t.Fatalf("error %v, want %v", err, c.want)
				}
				if err == nil {
					checkClaims(t, c, C, res)
				}
			})
		}
	}
}

// checkClaims compares what res says with C itself.
func checkClaims(t *testing.T, c testCase, C blas.General, res sylvester.Result) {
	t.Helper()
	r := residual(c.K, c.L, c.mu, C, c.Y)
	if !(r <= c.tol) {
		t.Errorf("residual %g, tolerance %g", r, c.tol)
	}
	if !(math.Abs(r-res.Residual) <= 1e-3*r+1e-12) {
		t.Errorf("residual %g, claimed %g", r, res.Residual)
	}
	KC := blas.NewGeneral(C.Rows, C.Cols)
	blas.Mul(blas.Active(), KC, false, false, c.K, C)
	blas.AddScaled(KC, -1, res.KC)
	if d := blas.Frob(KC); !(d <= 1e-12*blas.Frob(c.K)*blas.Frob(C)) {
		t.Errorf("KC is off by %g", d)
	}
}

// TestReuse runs one solver through changes of L, of K after Invalidate, of shape
// and of tolerance, each time from the last solution when that fits.
func TestReuse(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	small := testCase{K: spectrum(rng, decay(40, 5, 0.8)), L: outputKernel(rng, 4, decay(3, 2, 0.5)), mu: 0.1, Y: gaussian(rng, 40, 4), tol: 1e-9}
	large := testCase{K: spectrum(rng, decay(300, 50, 0.97)), L: outputKernel(rng, 6, decay(6, 2, 0.5)), mu: 0.01, Y: gaussian(rng, 300, 6), tol: 1e-6}
	otherL, otherK, near := large, large, large
	otherL.L = outputKernel(rng, 6, decay(5, 3, 0.7))
	near.K = blas.Clone(large.K)
	blas.Scal(1.1, near.K.Data)
	otherK.K = spectrum(rng, decay(300, 80, 0.99))
	for _, name := range sylvester.Names() {
		t.Run(name, func(t *testing.T) {
			s := solverNamed(t, name)
			C := map[int]blas.General{40: blas.NewGeneral(40, 4), 300: blas.NewGeneral(300, 6)}
			for i, c := range []testCase{large, otherL, near, otherK, small, large, large} {
				if i >= 2 && i <= 5 {
					s.Invalidate()
				}
				res, err := s.Solve(context.Background(), C[c.Y.Rows], system(c.K, c.L, c.mu), c.Y, sylvester.Options{Tol: c.tol})
				if err != nil {
					t.Fatalf("solve %d: %v", i, err)
				}
				checkClaims(t, c, C[c.Y.Rows], res)
			}
		})
	}
}

// TestStrides solves inside larger matrices.
func TestStrides(t *testing.T) {
	c := cases()[0]
	inside := func(a blas.General) blas.General {
		b := blas.View(gaussian(rand.New(rand.NewPCG(5, 6)), a.Rows+2, a.Cols+3), 1, 2, a.Rows, a.Cols)
		blas.Copy(b, a)
		return b
	}
	for _, name := range sylvester.Names() {
		t.Run(name, func(t *testing.T) {
			C := inside(blas.NewGeneral(c.Y.Rows, c.Y.Cols))
			res, err := solverNamed(t, name).Solve(context.Background(), C, system(c.K, c.L, c.mu), inside(c.Y), sylvester.Options{Tol: c.tol})
			if err != nil {
				t.Fatal(err)
			}
			checkClaims(t, c, C, res)
		})
	}
}

func iterative() []string { return []string{"cg", "rotated", "nystrom", "krylov"} }

func TestLimits(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	K := spectrum(rng, decay(200, 100, 0.98))
	L := outputKernel(rng, 5, decay(5, 2, 0.5))
	Y := gaussian(rng, 200, 5)
	sys := system(K, L, 1e-4)
	boom := errors.New("boom")
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	for _, name := range iterative() {
		for _, c := range []struct {
			name  string
			ctx   context.Context
			opt   sylvester.Options
			start float64
			want  error
		}{
			{"limit", context.Background(), sylvester.Options{Tol: 1e-10, MaxIter: 3}, 0, sylvester.ErrNotConverged},
			{"out of reach", context.Background(), sylvester.Options{Tol: 1e-19, MaxIter: 5000}, 0, sylvester.ErrNotConverged},
			{"cancelled", cancelled, sylvester.Options{}, 0, context.Canceled},
			{"trace stops", context.Background(), sylvester.Options{Trace: func(s sylvester.Step) error {
				if s.Iter >= 4 {
					return boom
				}
				return nil
			}}, 0, boom},
			{"start not finite", context.Background(), sylvester.Options{}, math.NaN(), sylvester.ErrNotFinite},
		} {
			t.Run(name+"/"+c.name, func(t *testing.T) {
				C := blas.NewGeneral(200, 5)
				C.Data[7] = c.start
				res, err := solverNamed(t, name).Solve(c.ctx, C, sys, Y, c.opt)
				if !errors.Is(err, c.want) {
					t.Fatalf("error %v, want %v", err, c.want)
				}
				if res.KC.Data == nil {
					return // stopped before the first step
				}
				if r := residual(K, L, 1e-4, C, Y); !(math.Abs(r-res.Residual) <= 1e-6*r) {
					t.Errorf("residual %g, claimed %g", r, res.Residual)
				}
			})
		}
	}
}

// TestThreads asserts that results do not depend on the number of threads.
func TestThreads(t *testing.T) {
	defer par.SetThreads(0)
	rng := rand.New(rand.NewPCG(9, 10))
	K := spectrum(rng, decay(400, 30, 0.98))
	L := outputKernel(rng, 9, decay(9, 2, 0.6))
	Y := gaussian(rng, 400, 9)
	for _, name := range sylvester.Names() {
		t.Run(name, func(t *testing.T) {
			var first blas.General
			for _, threads := range []int{1, 2, 5} {
				par.SetThreads(threads)
				C := blas.NewGeneral(400, 9)
				if _, err := solverNamed(t, name).Solve(context.Background(), C, system(K, L, 0.05), Y, sylvester.Options{Tol: 1e-6}); err != nil {
					t.Fatal(err)
				}
				if first.Data == nil {
					first = C
				}
				for i, v := range C.Data {
					if v != first.Data[i] {
						t.Fatalf("%d threads: element %d is %v, with one thread %v", threads, i, v, first.Data[i])
					}
				}
			}
		})
	}
}

func TestTraceSeesEveryIteration(t *testing.T) {
	c := cases()[0]
	for _, name := range iterative() {
		t.Run(name, func(t *testing.T) {
			var steps []sylvester.Step
			opt := sylvester.Options{Tol: 1e-8, Trace: func(s sylvester.Step) error { steps = append(steps, s); return nil }}
			C := blas.NewGeneral(c.Y.Rows, c.Y.Cols)
			if _, err := solverNamed(t, name).Solve(context.Background(), C, system(c.K, c.L, c.mu), c.Y, opt); err != nil {
				t.Fatal(err)
			}
			for i := 1; i < len(steps); i++ {
				if steps[i].Iter != steps[i-1].Iter+1 || steps[i].Columns < steps[i-1].Columns {
					t.Errorf("step %+v follows %+v", steps[i], steps[i-1])
				}
			}
			if first, last := steps[0].Residual, steps[len(steps)-1].Residual; !(last <= 1e-8) || math.Abs(first-1) > 1e-9 && name != "nystrom" {
				t.Errorf("residuals from %g to %g", first, last)
			}
		})
	}
}

func TestUnknownSolver(t *testing.T) {
	if _, err := sylvester.New("magic", sylvester.Config{}); err == nil {
		t.Error("no error for an unknown solver")
	}
}

func TestShapesPanic(t *testing.T) {
	c := cases()[0]
	for _, name := range sylvester.Names() {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			C := blas.NewGeneral(c.Y.Rows, c.Y.Cols-1)
			_, _ = solverNamed(t, name).Solve(context.Background(), C, system(c.K, c.L, c.mu), c.Y, sylvester.Options{})
		})
	}
}

// TestSingle asserts that iterating in single precision ends at a residual of
// double precision.
func TestSingle(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	K := spectrum(rng, decay(200, 20, 0.95))
	sum := linop.NewGramSum([]*blas.Sym{blas.SymFrom(K, blas.Float64)}, nil, blas.Float64)
	sum.SetWeights([]float64{2})
	blas.Scal(2, K.Data)
	c := testCase{K: K, L: outputKernel(rng, 6, decay(6, 2, 0.6)), mu: 0.5, Y: gaussian(rng, 200, 6), tol: 1e-11}
	for _, name := range []string{"rotated", "nystrom"} {
		t.Run(name, func(t *testing.T) {
			s, err := sylvester.New(name, sylvester.Config{Single: true})
			if err != nil {
				t.Fatal(err)
			}
			C := blas.NewGeneral(200, 6)
			res, err := s.Solve(context.Background(), C, sylvester.System{K: sum, L: c.L, Mu: c.mu}, c.Y, sylvester.Options{Tol: c.tol})
			if err != nil {
				t.Fatal(err)
			}
			checkClaims(t, c, C, res)
		})
	}
}

// TestOptionsSingle asserts that a solve in single precision throughout meets a
// rough tolerance in double precision too, with a preconditioner that rounding
// has not spoilt although K is of low numerical rank, which a later solve in
// double precision is not held back by.
func TestOptionsSingle(t *testing.T) {
	const l = 300
	rng := rand.New(rand.NewPCG(15, 16))
	K := spectrum(rng, decay(l, 1e4, 0.6))
	sum := linop.NewGramSum([]*blas.Sym{blas.SymFrom(K, blas.Float64)}, nil, blas.Float64)
	sum.SetWeights([]float64{1})
	c := testCase{K: K, L: outputKernel(rng, 12, decay(12, 1, 0.8)), mu: 0.5, Y: gaussian(rng, l, 12), tol: 1e-3}
	for _, name := range []string{"nystrom", "rotated"} {
		t.Run(name, func(t *testing.T) {
			s := solverNamed(t, name)
			C := blas.NewGeneral(l, 12)
			sys := system(c.K, c.L, c.mu)
			sys.K = sum
			iterations := map[bool]int{}
			for _, single := range []bool{false, true, false} {
				if single {
					s = solverNamed(t, name)
				}
				blas.Zero(C)
				res, err := s.Solve(context.Background(), C, sys, c.Y, sylvester.Options{Tol: c.tol, Single: single})
				if err != nil {
					t.Fatal(err)
				}
				if res.Single != single {
					t.Errorf("Single = %v, want %v", res.Single, single)
				}
				F := blas.NewGeneral(l, 12)
				(&linop.Kronecker{K: linop.NewDense(K, nil), L: c.L, Mu: c.mu}).ApplyMatrix(F, C)
				blas.AddScaled(F, -1, c.Y)
				if r := blas.Frob(F) / blas.Frob(c.Y); !(r <= 1.2*c.tol) {
					t.Errorf("single %v: residual %g", single, r)
				}
				if before, ok := iterations[single]; ok && res.Iter > 3*before/2+2 {
					t.Errorf("%d iterations after a solve in single precision, %d before", res.Iter, before)
				}
				iterations[single] = res.Iter
			}
		})
	}
}
