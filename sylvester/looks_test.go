package sylvester

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	gblas "gonum.org/v1/gonum/blas"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// looks is a context, and a backend whose multiplications between two looks at it are counted. It is cancelled at the
// look end.
type looks struct {
	context.Context
	blas.Backend
	cancel      context.CancelFunc
	end         int64 // 0 for none
	count       atomic.Int64
	since, most atomic.Int64
}

func newLooks(t *testing.T, end int64) *looks {
	s := &looks{Backend: blas.Default(), end: end}
	s.Context, s.cancel = context.WithCancel(t.Context())
	t.Cleanup(s.cancel)
	return s
}

func (s *looks) Err() error {
	s.since.Store(0)
	if s.count.Add(1) == s.end {
		s.cancel()
	}
	return s.Context.Err()
}

// after is the number of looks after that which cancelled.
func (s *looks) after() int64 { return s.count.Load() - s.end }

func (s *looks) add(m, n, k int) {
	now := s.since.Add(int64(m) * int64(n) * int64(k))
	for most := s.most.Load(); now > most && !s.most.CompareAndSwap(most, now); most = s.most.Load() {
	}
}

func (s *looks) Dgemm(
	tA, tB gblas.Transpose, m, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64,
	c []float64, ldc int,
) {
	s.add(m, n, k)
	s.Backend.Dgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
}

func (s *looks) Sgemm(
	tA, tB gblas.Transpose, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32,
	c []float32, ldc int,
) {
	s.add(m, n, k)
	s.Backend.Sgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
}

func (s *looks) Dsyrk(
	ul gblas.Uplo, t gblas.Transpose, n, k int, alpha float64, a []float64, lda int, beta float64, c []float64, ldc int,
) {
	s.add(n, n, k/2)
	s.Backend.Dsyrk(ul, t, n, k, alpha, a, lda, beta, c, ldc)
}

func (s *looks) Dtrsm(
	side gblas.Side, ul gblas.Uplo, t gblas.Transpose, d gblas.Diag, m, n int, alpha float64, a []float64, lda int,
	b []float64, ldb int,
) {
	s.add(m, n, n/2)
	s.Backend.Dtrsm(side, ul, t, d, m, n, alpha, a, lda, b, ldb)
}

// counted is a kernel matrix whose products are counted too.
type counted struct {
	*linop.Gram
	by *looks
}

func (k counted) Apply(dst, x blas.General) {
	k.by.add(k.Dim(), k.Dim(), x.Cols)
	k.Gram.Apply(dst, x)
}

// TestLooksOfBlockFactor asserts that a solve by a factor in single precision looks at the context before it multiplies
// more than for one block of the factor and one iteration, and that cancelled at any look it ends with the next few.
func TestLooksOfBlockFactor(t *testing.T) {
	const l = 4 * factorWidth
	Y := blas.NewGeneral(l, 1)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range Y.Data {
		Y.Data[i] = rng.NormFloat64()
	}
	K := gaussianRows(l, blas.Default())
	solve := func(end int64) (*looks, error) {
		k := newLooks(t, end)
		s := &solver{frame: frame{own: k}, engine: &singleCholesky{}}
		sys := System{K: counted{K, k}, L: linop.ScaledIdentity(1, 1), Mu: 1e-4}
		_, err := s.Solve(k, blas.NewGeneral(l, 1), sys, Y, Options{Tol: 1e-6})
		return k, err
	}
	all, err := solve(0)
	if err != nil {
		t.Fatal(err)
	}
	if most := all.most.Load(); most < l*factorWidth || most > l*factorWidth*factorWidth+3*l*l {
		t.Errorf("%d multiplications between two looks, of %d", most, int64(l*l*l/3))
	}
	for end, count := int64(1), all.count.Load(); end < count; end += 1 + count/10 {
		if k, err := solve(end); !errors.Is(err, context.Canceled) || k.after() > 5+l/blas.SymBlock {
			t.Errorf("cancelled at look %d of %d: %v after %d more", end, count, err, k.after())
		}
	}
}

// TestLooksOfSketch is TestLooksOfBlockFactor for a sketch that grows: the look comes before more than a product of
// basisColumns, or two triangles of products with all columns, have been multiplied.
func TestLooksOfSketch(t *testing.T) {
	const l, first, q = 1200, 40, 2 * basisColumns
	K := gaussianRows(l, blas.Default())
	grow := func(end int64) (*looks, error) {
		k := newLooks(t, end)
		s := sketch{be: k, seed: 1}
		for _, columns := range []int{first, q} {
			if ok, err := s.grow(k, K, columns); err != nil || !ok {
				return k, err
			}
		}
		return k, nil
	}
	all, err := grow(0)
	if err != nil {
		t.Fatal(err)
	}
	if most := all.most.Load(); most < l*q || most > l*q*q {
		t.Errorf("%d multiplications between two looks, for %d rows and %d columns", most, l, q)
	}
	for end, count := int64(1), all.count.Load(); end < count; end += 1 + count/10 {
		if k, err := grow(end); !errors.Is(err, context.Canceled) || k.after() > 5 {
			t.Errorf("cancelled at look %d of %d: %v after %d more", end, count, err, k.after())
		}
	}
}
