package sylvester_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/sylvester"
)

// looks is a context that ends when it is looked at for the n-th time.
type looks struct {
	context.Context
	cancel context.CancelFunc
	left   atomic.Int64
}

func (c *looks) Err() error {
	if c.left.Add(-1) == 0 {
		c.cancel()
	}
	return c.Context.Err()
}

// A direct solver whose decomposition was ended by its context solves the next
// system, and one whose context ends after a solve keeps sound factors.
func TestSolvesAfterItsContextEnded(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 1))
	sys := sylvester.System{
		K: dense{spectrum(rng, decay(150, 1, .9)), blas.Active()},
		L: outputKernel(rng, 3, []float64{2, 1, .5}), Mu: 1e-2,
	}
	Y := gaussian(rng, 150, 3)
	opt := sylvester.Options{Tol: 1e-9}
	for _, name := range []string{"eigen", "tridiagonal", "cholesky", "auto"} {
		t.Run(name, func(t *testing.T) {
			for at := int64(1); at < 1e5; at *= 3 {
				s, err := sylvester.New(name, sylvester.Config{})
				if err != nil {
					t.Fatal(err)
				}
				ctx := new(looks)
				ctx.Context, ctx.cancel = context.WithCancel(t.Context())
				ctx.left.Store(at)
				C := blas.NewGeneral(150, 3)
				_, err = s.Solve(ctx, C, sys, Y, opt)
				if err != nil && !errors.Is(err, context.Canceled) {
					t.Fatalf("ended at look %d: %v", at, err)
				}
				ctx.cancel()
				blas.Zero(C)
				if res, err := s.Solve(t.Context(), C, sys, Y, opt); err != nil || !(res.Residual <= opt.Tol) {
					t.Fatalf("after a solve ended at look %d: residual %g, %v", at, res.Residual, err)
				}
			}
		})
	}
}
