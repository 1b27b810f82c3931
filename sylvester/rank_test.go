package sylvester_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/deadline"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/sylvester"
)

// ofRank is a random l×l matrix of exact rank q with eigenvalues between 1 and 2.
func ofRank(rng *rand.Rand, l, q int) blas.General {
	s := make([]float64, l)
	for i := range q {
		s[i] = 1 + rng.Float64()
	}
	return spectrum(rng, s)
}

// solveInTurns solves with c.K cold, warm, for another L, for the K other, and for
// c.K again, and fails when a residual is not what is claimed, or not what is asked for.
func solveInTurns(
	t *testing.T, s sylvester.Solver, c testCase, other blas.General, opt sylvester.Options,
	operator func(blas.General) linop.Operator,
) {
	t.Helper()
	rng := rand.New(rand.NewPCG(43, uint64(c.K.Rows)))
	l, n := c.Y.Rows, c.Y.Cols
	C, K := blas.NewGeneral(l, n), c.K
	for _, turn := range []string{"cold", "warm", "other L", "other K", "first K"} {
		switch turn {
		case "other L":
			c.L = outputKernel(rng, n, decay(n-1, 2, 0.5))
		case "other K":
			c.K = other
			s.Invalidate()
		case "first K":
			c.K = K
			s.Invalidate()
		}
		res, err := s.Solve(context.Background(), C, sylvester.System{K: operator(c.K), L: c.L, Mu: c.mu}, c.Y, opt)
		if err != nil {
			t.Fatalf("%s: %s, μ = %g: %v", c.name, turn, c.mu, err)
		}
		if res.Single { // the residual is that of K in single precision
			if r := residual(c.K, c.L, c.mu, C, c.Y); !(r <= 1.2*c.tol) {
				t.Errorf("%s: %s, μ = %g: residual %g", c.name, turn, c.mu, r)
			}
			continue
		}
		checkClaims(t, c, C, res)
	}
}

func inDouble(K blas.General) linop.Operator { return dense{K, blas.Active()} }

// inBoth is K as a sum of Gram matrices, which multiplies in single precision too.
func inBoth(K blas.General) linop.Operator {
	sum := linop.NewGramSum([]*blas.Sym{blas.SymFrom(K, blas.Float64)}, nil, blas.Float64)
	sum.SetWeights([]float64{1})
	return sum
}

// TestExactRanks solves with K of every exact rank from 0 to l.
func TestExactRanks(t *testing.T) {
	const l, n = 40, 4
	rng := rand.New(rand.NewPCG(41, 42))
	K := make([]blas.General, l+1)
	for q := range K {
		K[q] = ofRank(rng, l, q)
	}
	L, Y := outputKernel(rng, n, decay(n, 3, 0.8)), gaussian(rng, l, n)
	for _, name := range sylvester.Names() {
		t.Run(name, func(t *testing.T) {
			for q := range K {
				for _, lambda := range []float64{1e-4, 1e-8} {
					c := testCase{name: "rank of K as its index", K: K[q], L: L, mu: lambda * l, Y: Y, tol: 1e-6}
					deadline.Run(t, 2*time.Minute, func() {
						solveInTurns(t, solverNamed(t, name), c, K[(q+l/3)%(l+1)], sylvester.Options{Tol: c.tol},
							inDouble)
					})
				}
			}
		})
	}
}

// TestExactRanksOfSketches solves where K's rank lies on either side of the number
// of columns of a sketch and of half of it: in double precision, with K in single
// precision where the solver chooses so, and where it is told so.
func TestExactRanksOfSketches(t *testing.T) {
	for _, c := range []struct {
		name   string
		l, n   int
		ranks  []int
		opt    sylvester.Options
		lambda []float64
	}{
		{
			"double", 300, 12,
			[]int{1, 7, 8, 9, 15, 16, 17, 24, 31, 33, 60, 130, 149, 151, 299},
			sylvester.Options{Tol: 1e-6},
			[]float64{1e-3, 1e-6, 1e-8},
		},
		{"Options.Single", 300, 12, []int{8, 9, 16, 24, 60, 151}, sylvester.Options{
			Tol:    1e-3,
			Single: true,
		}, []float64{1e-3}},
		{"mixed", 1000, 10, []int{9, 24, 40}, sylvester.Options{Tol: 1e-4}, []float64{1e-4, 1e-7}},
	} {
		rng := rand.New(rand.NewPCG(44, uint64(c.l)))
		L, Y := outputKernel(rng, c.n, decay(c.n, 3, 0.8)), gaussian(rng, c.l, c.n)
		for i, q := range c.ranks {
			K, other := ofRank(rng, c.l, q), ofRank(rng, c.l, c.ranks[(i+1)%len(c.ranks)])
			for _, name := range []string{"auto", "nystrom"} {
				for _, lambda := range c.lambda {
					t.Run(c.name+"/"+name, func(t *testing.T) {
						s := solverNamed(t, name)
						sys := testCase{name: c.name, K: K, L: L, mu: lambda * float64(c.l), Y: Y, tol: c.opt.Tol}
						deadline.Run(t, 2*time.Minute, func() { solveInTurns(t, s, sys, other, c.opt, inBoth) })
					})
				}
			}
		}
	}
}

// TestCancelledBetweenProducts cancels the context at the k-th product with K, for
// every k that a solve comes to: at most one more follows.
func TestCancelledBetweenProducts(t *testing.T) {
	rng := rand.New(rand.NewPCG(45, 46))
	for _, c := range []testCase{
		{name: "small", K: spectrum(rng, decay(50, 10, 0.8)), mu: 1e-2, Y: gaussian(rng, 50, 4), tol: 1e-6},
		{name: "larger", K: spectrum(rng, decay(150, 10, 0.97)), mu: 1e-1, Y: gaussian(rng, 150, 4), tol: 1e-6},
	} {
		c.L = outputKernel(rng, 4, decay(3, 2, 0.6))
		for _, name := range sylvester.Names() {
			t.Run(c.name+"/"+name, func(t *testing.T) {
				deadline.Run(t, 4*time.Minute, func() {
					for k := 1; ; k++ {
						if cancelledAt(t, name, c, k) {
							return
						}
					}
				})
			})
		}
	}
}

// cancelledAt runs a solve that is cancelled at the k-th product, after one for a K
// that has been replaced since, and reports whether it ended before that.
func cancelledAt(t *testing.T, name string, c testCase, k int) bool {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	products, counting := 0, false
	K := linop.Func{N: c.K.Rows, F: func(dst, x blas.General) {
		if counting {
			products++
		}
		if products == k {
			cancel()
		}
		blas.Mul(blas.Active(), dst, false, false, c.K, x)
	}}
	s, C := solverNamed(t, name), blas.NewGeneral(c.Y.Rows, c.Y.Cols)
	sys := sylvester.System{K: K, L: c.L, Mu: 10 * c.mu}
	if _, err := s.Solve(ctx, C, sys, c.Y, sylvester.Options{Tol: c.tol}); err != nil {
		t.Fatal(err)
	}
	s.Invalidate()
	counting, sys.Mu = true, c.mu
	_, err := s.Solve(ctx, C, sys, c.Y, sylvester.Options{Tol: c.tol})
	switch {
	case products < k:
		if err != nil {
			t.Fatal(err)
		}
		return true
	case products > k+1:
		t.Fatalf("%d products after the context was cancelled at product %d", products-k, k)
	}
	return false
}
