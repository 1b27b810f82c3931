package sylvester_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/sylvester"
)

// reweighted is a solver for weights that change from call to call.
type reweighted struct{ sylvester.Solver }

func newReweighted(t testing.TB) reweighted {
	t.Helper()
	s, err := sylvester.New("auto", sylvester.Config{Reweighted: true})
	if err != nil {
		t.Fatal(err)
	}
	return reweighted{s}
}

func (s reweighted) Solve(
	ctx context.Context, B blas.General, sys sylvester.System, cells *linop.Cells, Y blas.General,
	opt sylvester.Options,
) (sylvester.Result, error) {
	sys.Cells = cells
	if opt.Fitted.Data == nil {
		opt.Fitted = blas.Like(B)
	}
	blas.Zero(B)
	return s.Solver.Solve(ctx, B, sys, Y, opt)
}

// Cholesky's factor takes K in dense form once for cells of many weights, and anew once K has changed.
func TestReweightedKeepsK(t *testing.T) {
	const l, n = 50, 3
	rng, be := rand.New(rand.NewPCG(4, 9)), blas.Active()
	normal := func(r, c int) blas.General {
		a := blas.NewGeneral(r, c)
		for i := range a.Data {
			a.Data[i] = rng.NormFloat64()
		}
		return a
	}
	weights := func() *linop.Cells {
		return linop.WeightedCells(l, n, func(i, j int) float64 { return float64((i+j)%2) * rng.Float64() })
	}
	s := newReweighted(t)
	Y, V := normal(l, n), normal(n, n)
	blas.Mul(be, V, false, true, blas.Clone(V), V)
	L, err := linop.NewSpectral(be, V, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, changed := range []bool{true, true} {
		Z, K := normal(l, l), blas.NewGeneral(l, l)
		blas.Mul(be, K, false, true, Z, Z)
		op := &tally{Operator: linop.NewDense(K, be)}
		for range 2 {
			op.columns = 0
			sys := sylvester.System{K: op, L: L, Mu: 1e-2}
			res, err := s.Solve(t.Context(), blas.NewGeneral(l, n), sys, weights(), Y, sylvester.Options{Tol: 1e-10})
			if err != nil || res.Iter > 3 {
				t.Errorf("%d products with K, error %v", res.Iter, err)
			}
			if formed := op.columns >= l; formed != changed {
				t.Errorf("%d columns multiplied; K has changed: %v", op.columns, changed)
			}
			changed = false
		}
		s.Invalidate()
	}
}

// A kernel that is not positive semidefinite or not finite, and a context that ends, are told.
func TestReweightedErrors(t *testing.T) {
	sys, cells, Y := gaussianHoles(450, 12, 1e-3, 0.3)
	s, B := newReweighted(t), blas.Like(Y)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Solve(ctx, B, sys, cells, Y, sylvester.Options{Tol: 1e-6}); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled call: %v", err)
	}
	if _, err := s.Solve(t.Context(), B, sys, cells, Y, sylvester.Options{Tol: 1e-6}); err != nil {
		t.Error(err)
	}
	small, some, T := gaussianHoles(420, 6, 1e-3, 0.3)
	_, err := s.Solve(ctx, blas.Like(T), small, some, T, sylvester.Options{Tol: 1e-6})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled call after one of another shape: %v", err)
	}
	K := blas.NewGeneral(450, 450)
	writeDense(t, K, sys.K)
	for _, c := range []struct {
		scale float64
		want  error
	}{{-1, sylvester.ErrNotSPD}, {math.NaN(), sylvester.ErrNotFinite}} {
		bad := blas.Clone(K)
		blas.Scal(c.scale, bad.Data)
		s := newReweighted(t)
		sys := sylvester.System{K: linop.NewDense(bad, nil), L: sys.L, Mu: sys.Mu}
		if _, err := s.Solve(t.Context(), B, sys, cells, Y, sylvester.Options{Tol: 1e-6}); !errors.Is(err, c.want) {
			t.Errorf("K times %g: %v", c.scale, err)
		}
	}
	if _, err := s.Solve(t.Context(), B, sys, cells, Y, sylvester.Options{
		Tol: 1e-12, MaxIter: 2,
	}); !errors.Is(err, sylvester.ErrNotConverged) {
		t.Errorf("two iterations: %v", err)
	}
}

// Where iterations of calls have together taken as long as a factor, the next call takes that at once.
func TestReweightedFactorInTime(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 42))
	const l, n = 200, 4
	K, Y := spectrum(rng, decay(l, 100, 0.97)), gaussian(rng, l, n)
	sys := system(K, outputKernel(rng, n, decay(n, 3, 0.5)), 1e-4)
	cells := linop.WeightedCells(l, n, func(int, int) float64 { return math.Exp(3 * rng.NormFloat64()) })
	s := newReweighted(t)
	for round, most := range []int{300, 300, 300, 300, 300, 300, 300, 3} {
		res, err := s.Solve(t.Context(), blas.NewGeneral(l, n), sys, cells, Y, sylvester.Options{Tol: 1e-6})
		if err != nil || res.Iter > most {
			t.Errorf("call %d: %d iterations, error %v", round, res.Iter, err)
		}
	}
}
