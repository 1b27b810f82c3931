package sylvester_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/internal/files/npy/npytest"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/sylvester"
)

var exactNames = []string{"bartels-stewart", "cholesky", "eigen", "tridiagonal"}

func newSolver(t testing.TB, name string, be blas.Backend) sylvester.Solver {
	t.Helper()
	s, err := sylvester.New(name, sylvester.Config{Backend: be})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// backward is ‖K·C·L + μC − Y‖_F/(ε(‖K‖₂‖L‖₂ + μ)‖C‖_F).
func backward(K blas.General, normK float64, L *linop.Spectral, mu float64, C, Y blas.General) float64 {
	top := 0.0
	if L.Rank() > 0 {
		top = L.S[0]
	}
	nY := blas.Frob(Y)
	if nY == 0 {
		nY = 1
	}
	return residual(K, L, mu, C, Y) * nY / (0x1p-52 * (normK*top + mu) * blas.Frob(C))
}

func TestExactBackwardError(t *testing.T) {
	const l = 90
	zeroTail := decay(l, 5, 0.5)
	clear(zeroTail[20:])
	for _, kc := range []struct {
		name string
		s    []float64
		mu   float64 // relative to ‖K‖‖L‖
	}{
		{"graded", decay(l, 7, 0.7), 1e-6},
		{"nearly singular", decay(l, 7, 0.7), 1e-13},
		{
			"clustered", slices.Concat(slices.Repeat([]float64{3}, l/2), slices.Repeat([]float64{3 - 1e-13}, l-l/2)),
			1e-3,
		},
		{"identity", slices.Repeat([]float64{1}, l), 1},
		{"low rank", zeroTail, 1e-8},
		{"huge", decay(l, 1e120, 0.9), 1e-4},
		{"tiny", decay(l, 1e-120, 0.9), 1e-4},
		{"zero", make([]float64, l), 1},
	} {
		for _, lc := range []struct {
			name string
			n    int
			s    []float64
		}{
			{"one output", 1, []float64{2}},
			{"full", 6, decay(6, 3, 0.3)},
			{"low rank", 6, decay(2, 3, 0.3)},
			{"equal", 6, slices.Repeat([]float64{2}, 6)},
			{"tiny", 4, decay(4, 1e-30, 0.5)},
			{"zero", 3, nil},
		} {
			rng := rand.New(rand.NewPCG(3, 4))
			K, L, Y := spectrum(rng, kc.s), outputKernel(rng, lc.n, lc.s), gaussian(rng, l, lc.n)
			top := 0.0
			if len(lc.s) > 0 {
				top = lc.s[0]
			}
			mu := kc.mu * kc.s[0] * top
			if mu == 0 {
				mu = 0.5
			}
			for _, name := range exactNames {
				t.Run(kc.name+"/"+lc.name+"/"+name, func(t *testing.T) {
					C := blas.NewGeneral(l, lc.n)
					res, err := newSolver(t, name, nil).Solve(context.Background(), C,
						sylvester.System{K: dense{K, blas.Active()}, L: L, Mu: mu}, Y, sylvester.Options{})
					if err != nil {
						t.Fatal(err)
					}
					if r := backward(K, kc.s[0], L, mu, C, Y); !(r < 30) {
						t.Errorf("backward-error ratio %g", r)
					}
					if r := residual(K, L, mu, C, Y); !(math.Abs(r-res.Residual) <= 1e-13+1e-2*r) {
						t.Errorf("residual %g, claimed %g", r, res.Residual)
					}
				})
			}
		}
	}
}

func TestExactOneSample(t *testing.T) {
	K, Y := blas.NewGeneral(1, 1), blas.NewGeneral(1, 2)
	K.Data[0], Y.Data[0], Y.Data[1] = 3, 10, -5
	for _, name := range exactNames {
		C := blas.NewGeneral(1, 2)
		if _, err := newSolver(t, name, nil).Solve(context.Background(), C, sylvester.System{
			K: dense{K, blas.Active()}, L: linop.ScaledIdentity(2, 1), Mu: 2,
		}, Y, sylvester.Options{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !(math.Abs(C.Data[0]-2) < 1e-15 && math.Abs(C.Data[1]+1) < 1e-15) {
			t.Errorf("%s: %v, want [2 -1]", name, C.Data)
		}
	}
}

// counted counts how often a dense matrix is written out.
type counted struct {
	dense
	times *int
}

func (c counted) Dense(dst blas.General) { *c.times++; c.dense.Dense(dst) }

func TestExactFactorsAreKept(t *testing.T) {
	const l, n, mu = 40, 5, 0.2
	rng := rand.New(rand.NewPCG(5, 6))
	K1, K2 := spectrum(rng, decay(l, 4, 0.8)), spectrum(rng, decay(l, 6, 0.9))
	for _, name := range exactNames {
		t.Run(name, func(t *testing.T) {
			s, times := newSolver(t, name, nil), 0
			solve := func(K blas.General, L *linop.Spectral, mu float64) {
				t.Helper()
				Y, C := gaussian(rng, l, n), gaussian(rng, l, n)
				if _, err := s.Solve(context.Background(), C,
					sylvester.System{K: counted{dense{K, blas.Active()}, &times}, L: L, Mu: mu}, Y,
					sylvester.Options{}); err != nil {
					t.Fatal(err)
				}
				if r := residual(K, L, mu, C, Y); !(r < 1e-12) {
					t.Errorf("residual %g", r)
				}
			}
			L := outputKernel(rng, n, decay(n, 3, 0.5))
			solve(K1, L, mu)
			solve(K1, L, 3*mu)
			if times != 1 {
				t.Errorf("K was formed %d times for two solves", times)
			}
			s.Invalidate()
			solve(K2, outputKernel(rng, n, decay(2, 1, 0.5)), mu)
			if times != 2 {
				t.Errorf("K was formed %d times in all after Invalidate", times)
			}
		})
	}
}

func TestExactRefusals(t *testing.T) {
	const l, n = 12, 3
	rng := rand.New(rand.NewPCG(7, 8))
	good := spectrum(rng, decay(l, 4, 0.8))
	indefinite := spectrum(rng, append(decay(l-1, 4, 0.8), -9))
	nan := blas.Clone(good)
	nan.Data[5*l+2], nan.Data[2*l+5] = math.NaN(), math.NaN()
	L := outputKernel(rng, n, decay(n, 3, 0.5))
	badY := gaussian(rng, l, n)
	badY.Data[4] = math.Inf(1)
	Y := gaussian(rng, l, n)
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	stop := errors.New("enough")
	for _, name := range exactNames {
		for _, c := range []struct {
			name string
			ctx  context.Context
			K    blas.General
			mu   float64
			Y    blas.General
			opt  sylvester.Options
			want error
		}{
			{"negative shift", context.Background(), good, -1, Y, sylvester.Options{}, sylvester.ErrNotSPD},
			{"NaN shift", context.Background(), good, math.NaN(), Y, sylvester.Options{}, sylvester.ErrNotSPD},
			{"NaN in K", context.Background(), nan, 1, Y, sylvester.Options{}, nil},
			{"infinite Y", context.Background(), good, 1, badY, sylvester.Options{}, sylvester.ErrNotFinite},
			{"cancelled", cancelled, good, 1, Y, sylvester.Options{}, context.Canceled},
			{"indefinite", context.Background(), indefinite, 1, Y, sylvester.Options{}, sylvester.ErrNotSPD},
			{
				"NaN tolerance", context.Background(), good, 1, Y,
				sylvester.Options{Tol: math.NaN()},
				sylvester.ErrNotFinite,
			},
			{"stopped", context.Background(), good, 1, Y, sylvester.Options{Trace: func(sylvester.Step) error {
				return stop
			}}, stop},
		} {
			t.Run(name+"/"+c.name, func(t *testing.T) {
				C := blas.NewGeneral(l, n)
				_, err := newSolver(t, name, nil).Solve(c.ctx, C, sylvester.System{
					K: dense{c.K, blas.Active()}, L: L, Mu: c.mu,
				}, c.Y, c.opt)
				if err == nil || c.want != nil && !errors.Is(err, c.want) {
					t.Errorf("got %v, want %v", err, c.want)
				}
			})
		}
	}
}

func TestExactMemory(t *testing.T) {
	const l, n = 200, 2
	memory.SetLimit(100 << 10)
	t.Cleanup(func() { memory.SetLimit(0) })
	Y := blas.NewGeneral(l, n)
	K := linop.Func{N: l, F: func(blas.General, blas.General) { t.Error("K was applied") }}
	for _, name := range exactNames {
		_, err := newSolver(t, name, nil).Solve(context.Background(), blas.NewGeneral(l, n),
			sylvester.System{K: K, L: linop.ScaledIdentity(n, 1), Mu: 1}, Y, sylvester.Options{})
		if !errors.Is(err, memory.ErrTooLarge) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An operator that can only be applied is written out first.
func TestExactOnPlainOperator(t *testing.T) {
	const l, n, mu = 70, 3, 0.1
	rng := rand.New(rand.NewPCG(9, 10))
	K := spectrum(rng, decay(l, 4, 0.8))
	L := outputKernel(rng, n, decay(n, 3, 0.5))
	Y := gaussian(rng, l, n)
	d := dense{K, blas.Active()}
	for _, name := range exactNames {
		C := blas.NewGeneral(l, n)
		if _, err := newSolver(t, name, nil).Solve(context.Background(), C,
			sylvester.System{K: linop.Func{N: l, F: d.Apply}, L: L, Mu: mu}, Y, sylvester.Options{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// readGolden returns the matrices of a reference case.
func readGolden(t *testing.T, name string) map[string]blas.General {
	t.Helper()
	out := map[string]blas.General{}
	for k, a := range npytest.Load(t, name) {
		out[k] = blas.General{Rows: a.Shape[0], Cols: a.Shape[1], Stride: a.Shape[1], Data: a.Data}
	}
	return out
}

// The reference solutions came from an independent program.
func TestGolden(t *testing.T) {
	const lambda = 0.02
	for _, name := range []string{"sylvester_full", "sylvester_lowrank"} {
		z := readGolden(t, name)
		L, err := linop.NewSpectral(blas.Active(), z["L"], 1e-14)
		if err != nil {
			t.Fatal(err)
		}
		for _, solver := range sylvester.Names() {
			t.Run(name+"/"+solver, func(t *testing.T) {
				C := blas.NewGeneral(z["Y"].Rows, z["Y"].Cols)
				sys := sylvester.System{K: dense{z["K"], blas.Active()}, L: L, Mu: lambda * float64(C.Rows)}
				if _, err := newSolver(t, solver, nil).Solve(context.Background(), C, sys, z["Y"],
					sylvester.Options{Tol: 1e-13}); err != nil {
					t.Fatal(err)
				}
				blas.AddScaled(C, -1, z["C"])
				if e := blas.Frob(C) / blas.Frob(z["C"]); !(e <= 1e-10) {
					t.Errorf("relative error %g", e)
				}
			})
		}
	}
}

func BenchmarkExact(b *testing.B) {
	for _, size := range []struct{ l, n int }{{500, 20}, {1000, 50}, {2000, 100}, {3000, 100}} {
		rng := rand.New(rand.NewPCG(1, 2))
		x := gaussian(rng, size.l, 10)
		K := blas.NewGeneral(size.l, size.l)
		blas.Mul(blas.Active(), K, false, true, x, x)
		for i := range size.l {
			for j := range size.l {
				d := blas.Dot(blas.Row(x, i), blas.Row(x, i)) + blas.Dot(blas.Row(x, j), blas.Row(x, j)) -
					2*K.Data[i*size.l+j]
				if j >= i {
					K.Data[i*size.l+j] = math.Exp(-0.05 * d)
				} else {
					K.Data[i*size.l+j] = K.Data[j*size.l+i]
				}
			}
		}
		L, Y := outputKernel(rng, size.n, decay(size.n, 2, 0.9)), gaussian(rng, size.l, size.n)
		for _, name := range exactNames {
			for _, be := range blas.Backends() {
				if be.Name() == "gonum" || name == "bartels-stewart" {
					continue // minutes, and eigen by another name
				}
				b.Run(fmt.Sprintf("op=%s/l=%d/n=%d/impl=%s", name, size.l, size.n, be.Name()), func(b *testing.B) {
					s, C := newSolver(b, name, be), blas.NewGeneral(size.l, size.n)
					mu := 1e-3 * float64(size.l)
					for b.Loop() {
						s.Invalidate()
						if _, err := s.Solve(context.Background(), C, sylvester.System{K: dense{K, be}, L: L, Mu: mu},
							Y, sylvester.Options{}); err != nil {
							b.Fatal(err)
						}
					}
					b.ReportMetric(backward(K, float64(size.l), L, mu, C, Y), "backward")
				})
			}
		}
	}
}

// Eigenvalues of L that are nearly equal are not taken for one.
func TestNearlyEqualEigenvalues(t *testing.T) {
	const l = 30
	rng := rand.New(rand.NewPCG(7, 8))
	K, L, Y := spectrum(rng, decay(l, 2, 0.8)), outputKernel(rng, 3, []float64{1 + 0x1p-20, 1 + 0x1p-34, 1}),
		gaussian(rng, l, 3)
	for _, name := range exactNames {
		C := blas.NewGeneral(l, 3)
		_, err := newSolver(t, name, nil).Solve(context.Background(), C, sylvester.System{
			K: dense{K, blas.Active()}, L: L, Mu: 1e-3,
		}, Y, sylvester.Options{})
		if r := backward(K, 2, L, 1e-3, C, Y); err != nil || !(r < 30) {
			t.Errorf("%s: backward-error ratio %g, %v", name, r, err)
		}
	}
}

// sloppy is a backend whose eigenvalues are off by a factor.
type sloppy struct {
	blas.Backend
	factor float64
}

func (s sloppy) Syevd(a blas.General, w []float64) error {
	err := s.Backend.Syevd(a, w)
	for i := range w {
		w[i] *= s.factor
	}
	return err
}

// A direct solver whose residual is above rounding level refines, or does not claim success.
func TestExactRefusesRoughAnswers(t *testing.T) {
	const l = 30
	rng := rand.New(rand.NewPCG(9, 8))
	K, L, Y := spectrum(rng, decay(l, 2, 0.8)), outputKernel(rng, 2, []float64{1, 0.5}), gaussian(rng, l, 2)
	for _, c := range []struct {
		factor float64
		want   error
	}{{1, nil}, {1 + 1e-11, nil}, {0.9, nil}, {3, sylvester.ErrNotConverged}} {
		be := sloppy{blas.Active(), c.factor}
		for _, tol := range []float64{0, 1e-12} {
			C := blas.NewGeneral(l, 2)
			_, err := newSolver(t, "eigen", be).Solve(context.Background(), C, sylvester.System{
				K: dense{K, be}, L: L, Mu: 1e-3,
			}, Y, sylvester.Options{Tol: tol})
			if !errors.Is(err, c.want) {
				t.Errorf("eigenvalues times %g, tolerance %g: %v", c.factor, tol, err)
			}
			if r := backward(K, 2, L, 1e-3, C, Y); err == nil && !(r < 100) {
				t.Errorf("eigenvalues times %g, tolerance %g: backward-error ratio %g", c.factor, tol, r)
			}
		}
	}
}
