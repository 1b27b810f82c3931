package blas

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/iokl/iokl/internal/base/deadline"
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

// A factorization that its context does not end is the same to the bit; one that it
// ends, at any time, returns.
func TestUntil(t *testing.T) {
	const n = 300
	rng := rand.New(rand.NewPCG(3, 1))
	A := NewGeneral(n, n)
	for i := range n {
		for j := range i + 1 {
			v := rng.NormFloat64()
			A.Data[i*n+j], A.Data[j*n+i] = v, v
		}
		A.Data[i*n+i] += 2 * n
	}
	for name, factor := range map[string]func(be Backend, a General) []float64{
		"Potrf":   func(be Backend, a General) []float64 { be.Potrf(a); return nil },
		"Syevd":   func(be Backend, a General) []float64 { w := make([]float64, n); _ = be.Syevd(a, w); return w },
		"Syevals": func(be Backend, a General) []float64 { w := make([]float64, n); _ = be.Syevals(a, w); return w },
		"Sytrd": func(be Backend, a General) []float64 {
			d, e, tau := make([]float64, n), make([]float64, n-1), make([]float64, n-1)
			be.Sytrd(a, d, e, tau)
			return slices.Concat(d, e, tau)
		},
		"SVD": func(be Backend, a General) []float64 {
			s := make([]float64, n)
			_ = be.SVD(a, s, NewGeneral(n, n), NewGeneral(n, n))
			return s
		},
		"Schur": func(be Backend, a General) []float64 { _ = be.Schur(a, NewGeneral(n, n)); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			want := Clone(A)
			more := factor(NewNative(), want)
			ended := 0
			for at := int64(1); ; at *= 4 {
				ctx := new(looks)
				ctx.Context, ctx.cancel = context.WithCancel(t.Context())
				ctx.left.Store(at)
				a := Clone(A)
				var got []float64
				deadline.Run(t, time.Minute, func() { got = factor(Until(ctx, NewNative()), a) })
				if ctx.Context.Err() == nil {
					ctx.cancel()
					if !slices.Equal(a.Data, want.Data) || !slices.Equal(got, more) {
						t.Error("a context that does not end it changes the result")
					}
					break
				}
				ended++
			}
			if ended < 2 {
				t.Errorf("ended %d times: it hardly looks at its context", ended)
			}
		})
	}
	if be := NewGonum(); fmt.Sprint(Until(t.Context(), be)) != fmt.Sprint(be) {
		t.Error("another backend is changed")
	}
}
