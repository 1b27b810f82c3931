package sylvester

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/linop"
)

// TestPlainIterationsHaveAnother asserts that plain iterations never go without a method that takes their place when
// they have cost as much, also where memory holds no factors.
func TestPlainIterationsHaveAnother(t *testing.T) {
	t.Cleanup(func() { memory.SetLimit(0) })
	const l = 300
	rng := rand.New(rand.NewPCG(91, 92))
	Y := blas.NewGeneral(l, 1)
	for i := range Y.Data {
		Y.Data[i] = rng.NormFloat64()
	}
	K := GaussianKernel(rng, l, 3, 0.05, blas.Default())
	for _, limit := range []int64{0, 100 << 10} {
		for _, mu := range []float64{300, 30, 3, 0.3, 3e-3} {
			memory.SetLimit(limit)
			s := newAuto(Config{Backend: blas.Default()}).(*auto)
			f := &frame{own: blas.Default()}
			sys := System{K, linop.ScaledIdentity(1, 1), mu}
			if err := f.begin(blas.Like(Y), sys, Y, Options{Tol: 1e-6}); err != nil {
				t.Fatal(err)
			}
			f.opt = f.opt.filled()
			c := costsOf(s.be)
			best, least := s.direct(c, f.sys, 1, f.opt.Tol)
			ways, err := s.choose(context.Background(), c, best, least, f)
			if err != nil {
				t.Fatal(err)
			}
			if ways[0].method == method(&s.plain) && (len(ways) < 2 || math.IsInf(ways[1].cost, 1)) {
				t.Errorf("μ = %g within %d bytes: plain iterations have no end", mu, limit)
			}
			for i, w := range ways {
				for _, other := range ways[:i] {
					if w.method == other.method {
						t.Errorf("μ = %g within %d bytes: %s comes twice", mu, limit, w.method.Name())
					}
				}
			}
		}
	}
}

// TestPredictionEnds solves systems that rounding forbids to solve: the prediction of iterations ends, as they do.
func TestPredictionEnds(t *testing.T) {
	const l = 120
	rng := rand.New(rand.NewPCG(93, 94))
	K := GaussianKernel(rng, l, 3, 0.05, blas.Default())
	for _, scale := range []float64{1, 1e-290} {
		Y := blas.NewGeneral(l, 2)
		for i := range Y.Data {
			Y.Data[i] = scale * rng.NormFloat64()
		}
		for _, mu := range []float64{1e-15, 1e-18, 1e-30} {
			for _, name := range []string{"nystrom", "auto"} {
				s, err := New(name, Config{})
				if err != nil {
					t.Fatal(err)
				}
				sys := System{K, linop.ScaledIdentity(2, 1), mu}
				res, err := s.Solve(t.Context(), blas.Like(Y), sys, Y, Options{Tol: 1e-8})
				if err != nil && !errors.Is(err, ErrNotConverged) && !errors.Is(err, ErrNotSPD) {
					t.Errorf("%s, μ = %g, targets of size %g: %v", name, mu, scale, err)
				}
				if res.Iter > 11*l {
					t.Errorf("%s, μ = %g: %d iterations", name, mu, res.Iter)
				}
			}
		}
	}
}
