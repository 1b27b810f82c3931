// This file solves the symmetric equation by the method for general matrices, for comparison.

package sylvester

import (
	"context"
	"errors"
	"slices"

	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/lapack64"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/memory"
	"github.com/iokl/iokl/linop"
)

// asGeneral solves K·C·L + μC = Y as a general equation. It serves comparisons. The
// factors are kept until Invalidate while L stays the same. Very large and tiny K and L
// are divided by powers of two near their norms. Memory: up to 9l² + 5n² + 8ln floats.
type asGeneral struct {
	general BartelsStewart
	order   int            // l of the factors kept, 0 for none
	L       linop.Spectral // of the factors kept
	bound   float64        // upper bound of ‖K‖₂
	ka, lb  float64        // the powers of two
	X, Q    blas.General
}

func newBartelsStewart(cfg Config) engine {
	return &asGeneral{general: BartelsStewart{Backend: cfg.Backend}}
}

func (s *asGeneral) Name() string { return "bartels-stewart" }

func (s *asGeneral) Invalidate() { s.order = 0 }

func (s *asGeneral) prepare(ctx context.Context, f *frame) error {
	f.direct()
	l, n := f.Y.Rows, f.Y.Cols
	if s.order == l && same(&s.L, f.sys.L) {
		return nil
	}
	fl, fn := float64(l), float64(n)
	if err := memory.Check("sylvester: the solver "+s.Name(), 8*(9*fl*fl+5*fn*fn+8*fl*fn),
		"use the solver tridiagonal, or an iterative one"); err != nil {
		return err
	}
	s.order = 0
	K, L := blas.NewGeneral(l, l), blas.NewGeneral(n, n)
	if err := linop.Dense(ctx, K, f.sys.K); err != nil {
		return err
	}
	f.sys.L.Dense(f.be, L)
	s.bound = lapack64.Lange(lapack.MaxRowSum, K, nil)
	s.ka, s.lb = powerOfTwo(s.bound), powerOfTwo(lapack64.Lange(lapack.MaxRowSum, L, nil))
	blas.Scal(1/s.ka, K.Data)
	blas.Scal(1/s.lb, L.Data)
	if err := s.general.Factor(K, L); err != nil {
		return err
	}
	s.L = *f.sys.L.Clone()
	s.order = l
	return ctx.Err()
}

func (s *asGeneral) round(_ context.Context, f *frame, round int) error {
	s.X, s.Q = blas.Reshape(s.X, f.Y.Rows, f.Y.Cols), blas.Reshape(s.Q, f.Y.Rows, f.Y.Cols)
	if round == 0 {
		blas.CopyScaled(s.Q, 1/f.a, f.Y)
	} else {
		f.fromColumns(s.Q, f.rt)
	}
	f.res.Iter++
	mu := f.sys.Mu / s.ka / s.lb
	if _, err := s.general.Solve(s.X, mu, s.Q); err != nil && !errors.Is(err, ErrNotConverged) {
		return err
	}
	back := f.a / s.ka / s.lb
	if round == 0 {
		blas.CopyScaled(f.C, back, s.X)
	} else {
		blas.AddScaled(f.C, back, s.X)
	}
	return nil
}

func (s *asGeneral) norm() float64 { return s.bound }

func (s *asGeneral) solve(ctx context.Context, f *frame) error { return f.run(ctx, s, nil) }

// same reports whether a and b are equal element by element.
func same(a, b *linop.Spectral) bool {
	if a.Dim() != b.Dim() || a.Rank() != b.Rank() {
		return false
	}
	if !slices.Equal(a.S, b.S) {
		return false
	}
	for i := range a.Dim() {
		if !slices.Equal(blas.Row(a.V, i), blas.Row(b.V, i)) {
			return false
		}
	}
	return true
}
