package sylvester

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// gaussianRows packs a Gaussian kernel of l points on a line in single precision: its eigenvalues fall below rounding.
func gaussianRows(l int, be blas.Backend) *linop.Gram {
	P := be.NewPacked(l, blas.Float32)
	line := make([]float64, l)
	for i := range l {
		for j := range i + 1 {
			line[j] = math.Exp(-square(20 * float64(i-j) / float64(l)))
		}
		P.Set(i, 0, line[:i+1])
	}
	P.Complete()
	K := linop.NewGram(P, be)
	K.SetWeights([]float64{2})
	return K
}

// TestBlockFactor checks a factor of several blocks, whose last is short, against a factor in double precision: where
// the shift is far above rounding the two agree, and where it is below, σ is raised.
func TestBlockFactor(t *testing.T) {
	const l = 2*factorWidth + 77
	for _, be := range blas.Backends() {
		K := gaussianRows(l, be)
		A, X := blas.NewGeneral(l, l), blas.NewGeneral(l, 3)
		rng := rand.New(rand.NewPCG(5, 6))
		for i := range X.Data {
			X.Data[i] = rng.NormFloat64()
		}
		for _, shift := range []float64{1, 1e-2, 1e-9} {
			p := blockFactor{be: be}
			ok, err := p.factorize(t.Context(), K, l, shift)
			if !ok || err != nil {
				t.Fatalf("%s, shift %g: %v, %v", be.Name(), shift, ok, err)
			}
			if least := shift + factorFloor*0x1p-24*2*l; !(p.sigma >= 0.999*least && p.sigma <= 17*least) {
				t.Errorf("%s: σ = %g for the shift %g", be.Name(), p.sigma, shift)
			}
			for _, k := range []int{1, 3} {
				got, want := blas.Clone(blas.View(X, 0, 0, l, k)), blas.Clone(blas.View(X, 0, 0, l, k))
				p.solve(got)
				K.Dense(A)
				for i := range l {
					A.Data[i*l+i] += p.sigma
				}
				be.Potrf(A)
				blas.Potrs(be, A, want)
				blas.AddScaled(got, -1, want)
				// The backward error is of order l·2⁻²⁴ at most, relative to a shift as the least eigenvalue.
				if r := blas.Frob(got) / blas.Frob(want); !(r <= l*0x1p-23/p.sigma) {
					t.Errorf("%s, shift %g, %d columns: error %g", be.Name(), shift, k, r)
				}
			}
		}
	}
}

// TestBlockFactorKeepsScratch asserts that solves after the first allocate a block for each thread at most.
func TestBlockFactorKeepsScratch(t *testing.T) {
	const l, block = 2*factorWidth + 77, 8 * factorWidth * factorWidth
	be := blas.Default()
	p, X := blockFactor{be: be}, blas.NewGeneral(l, 2)
	if ok, err := p.factorize(t.Context(), gaussianRows(l, be), l, 1); !ok || err != nil {
		t.Fatalf("%v, %v", ok, err)
	}
	var before, after runtime.MemStats
	p.solve(X)
	runtime.ReadMemStats(&before)
	for range 3 * blas.Threads() {
		p.solve(X)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > block*uint64(1+blas.Threads()) {
		t.Errorf("solves allocate %d bytes, a block has %d", n, block)
	}
}

// rowsRead counts the rows that are read of a kernel matrix.
type rowsRead struct {
	*linop.Gram
	count atomic.Int64
}

func (r *rowsRead) Row(i int, dst []float64) {
	r.count.Add(1)
	r.Gram.Row(i, dst)
}

// TestBlockFactorFails checks what is not positive definite, not finite, or cancelled.
func TestBlockFactorFails(t *testing.T) {
	const l = factorWidth + 5
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	K := gaussianRows(l, blas.Default())
	for _, c := range []struct {
		name   string
		ctx    context.Context
		weight float64
		want   error
	}{
		{"indefinite", t.Context(), -1, nil},
		{"NaN", t.Context(), math.NaN(), nil},
		{"cancelled", cancelled, 1, context.Canceled},
	} {
		K.SetWeights([]float64{c.weight})
		p, rows := blockFactor{be: blas.Default()}, rowsRead{Gram: K}
		if _, err := p.factorize(c.ctx, &rows, l, 1e-3); err != nil && rows.count.Load() > 0 {
			t.Errorf("%s: %d rows were read", c.name, rows.count.Load())
		}
		if ok, err := p.factorize(c.ctx, K, l, 1e-3); ok || !errors.Is(err, c.want) || p.sigma != 0 {
			t.Errorf("%s: %v, %v, σ = %g", c.name, ok, err, p.sigma)
		}
	}
}

// TestSingleCholesky checks that a factor in single precision solves systems far below its rounding in few iterations,
// of one output and of several, serves other μ nearby, and is made anew for other K and far μ.
func TestSingleCholesky(t *testing.T) {
	const l, tol = 1200, 1e-6
	K := gaussianRows(l, blas.Default())
	rng := rand.New(rand.NewPCG(7, 8))
	V := blas.NewGeneral(3, 3)
	for i := range V.Data {
		V.Data[i] = rng.NormFloat64()
	}
	blas.Default().QR(V, blas.General{})
	for _, L := range []*linop.Spectral{
		linop.ScaledIdentity(1, 1), linop.ScaledIdentity(3, 2),
		{V: V, S: []float64{3, 2, 1}},
		{V: blas.Clone(blas.View(V, 0, 0, 3, 2)), S: []float64{2, 1}},
	} {
		n := L.Dim()
		Y := blas.NewGeneral(l, n)
		for i := range Y.Data {
			Y.Data[i] = rng.NormFloat64()
		}
		e := &singleCholesky{}
		s := &solver{frame: frame{own: blas.Default()}, engine: e}
		C := blas.NewGeneral(l, n)
		var sigma []float64
		for _, mu := range []float64{1e-4, 1.1e-4, 1e-1} {
			res, err := s.Solve(t.Context(), C, System{K: K, L: L, Mu: mu}, Y, Options{Tol: tol})
			if err != nil {
				t.Fatalf("%d outputs, μ = %g: %v", n, mu, err)
			}
			sigma = append(sigma, e.p.sigma)
			R := blas.Clone(Y)
			want := linop.KroneckerSum{Terms: []linop.Term{{K: K, L: L}}, Mu: mu}
			F := blas.Like(Y)
			want.ApplyMatrix(F, C)
			blas.AddScaled(R, -1, F)
			if r := blas.Frob(R) / blas.Frob(Y); !(r <= tol) || math.Abs(r-res.Residual) > 1e-3*tol {
				t.Errorf("%d outputs, μ = %g: residual %g, claimed %g", n, mu, r, res.Residual)
			}
			if res.Iter > 60 {
				t.Errorf("%d outputs, μ = %g: %d iterations", n, mu, res.Iter)
			}
		}
		if sigma[1] != sigma[0] || sigma[2] == sigma[1] {
			t.Errorf("%d outputs: σ = %g", n, sigma)
		}
		if s.Invalidate(); e.kept(l) != 0 {
			t.Error("a factor of another K is kept")
		}
	}
}

// TestSingleCholeskyFails checks that a K that no σ makes positive definite has no second try until it changes.
func TestSingleCholeskyFails(t *testing.T) {
	const l = factorWidth
	K := gaussianRows(l, blas.Default())
	K.SetWeights([]float64{-1})
	e := &singleCholesky{}
	s := &solver{frame: frame{own: blas.Default()}, engine: e}
	Y := blas.NewGeneral(l, 1)
	Y.Data[0] = 1
	sys := System{K: K, L: linop.ScaledIdentity(1, 1), Mu: 1e-3}
	_, err := s.Solve(t.Context(), blas.NewGeneral(l, 1), sys, Y, Options{})
	if !errors.Is(err, ErrNotSPD) || e.fits(K) {
		t.Errorf("%v; another try: %v", err, e.fits(K))
	}
	if s.Invalidate(); !e.fits(K) {
		t.Error("no try for another K")
	}
}

// TestAutoLeavesSketch checks that a factor in single precision takes the place of a sketch where it is expected to
// cost less, and ends the solve: smooth functions of eight inputs at a small μ are such systems.
func TestAutoLeavesSketch(t *testing.T) {
	if testing.Short() {
		t.Skip("in its long form")
	}
	const l, tol = linop.KeepBoth + 8, 1e-6
	be, rng := blas.Default(), rand.New(rand.NewPCG(3, 4))
	X, Y := blas.NewGeneral(l, 8), blas.NewGeneral(l, 1)
	for i := range l {
		sum := 0.0
		for j := range X.Cols {
			x := rng.Float64()
			X.Data[i*X.Stride+j] = x
			sum += math.Sin(float64(j+1) * x)
		}
		Y.Data[i] = sum + .01*rng.NormFloat64()
	}
	P, line := be.NewPacked(l, blas.Float32), make([]float64, l)
	for i := range l {
		for j := range i + 1 {
			sum := 0.0
			for k, v := range blas.Row(X, i) {
				sum += square(v - blas.Row(X, j)[k])
			}
			line[j] = math.Exp(-sum / 2)
		}
		P.Set(i, 0, line[:i+1])
	}
	P.Complete()
	K := linop.NewGram(P, be)
	K.SetWeights([]float64{1})
	s := newAuto(Config{Backend: be, Seed: 1}).(*auto)
	C := blas.NewGeneral(l, 1)
	res, err := (&solver{frame: frame{own: be}, engine: s}).Solve(
		t.Context(), C, System{K: K, L: linop.ScaledIdentity(1, 1), Mu: 1e-5}, Y, Options{Tol: tol},
	)
	if err != nil {
		t.Fatal(err)
	}
	F := blas.Like(Y)
	K.Apply(F, C)
	blas.AddScaled(F, 1e-5, C)
	blas.AddScaled(F, -1, Y)
	if r := blas.Frob(F) / blas.Frob(Y); !(r <= tol) {
		t.Errorf("residual %g", r)
	}
	if s.single.p.sigma == 0 || s.sketched.sk.Q.Rows != 0 || res.Solver != s.single.Name() {
		t.Errorf("σ = %g, a sketch of %d rows, solver %s", s.single.p.sigma, s.sketched.sk.Q.Rows, res.Solver)
	}
}
