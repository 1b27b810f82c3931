package cg_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/cg"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/linop/linoptest"
)

// diagonal is the operator of a diagonal matrix.
type diagonal []float64

func (d diagonal) Dim() int { return len(d) }

func (d diagonal) Apply(dst, x blas.General) {
	for i, v := range d {
		for j, u := range blas.Row(x, i) {
			dst.Data[i*dst.Stride+j] = v * u
		}
	}
}

var bg = context.Background()

// liar is a diagonal matrix whose products have a relative error of 1e-6 that
// differs from call to call, so that recurrence and true residual drift apart.
type liar struct {
	diagonal
	calls int
}

func (l *liar) Apply(dst, x blas.General) {
	l.diagonal.Apply(dst, x)
	l.calls++
	for i := range dst.Data {
		dst.Data[i] *= 1 + 1e-6*math.Sin(float64(7*l.calls+3*i))
	}
}

func TestSolve(t *testing.T) {
	cancelled, cancel := context.WithCancel(bg)
	cancel()
	stop := errors.New("enough")
	nan := math.NaN()
	spread := make(diagonal, 100)
	ones := make([]float64, 100)
	for i := range spread {
		spread[i], ones[i] = math.Pow(10, 6*float64(i)/99), 1
	}
	reciprocal := make(diagonal, 100)
	for i, v := range spread {
		reciprocal[i] = 1 / v
	}
	for _, c := range []struct {
		name  string
		ctx   context.Context
		A     linop.Operator
		b, x0 []float64
		opt   cg.Options
		err   error
		iter  int // at most
	}{
		{"n = 1", bg, diagonal{3}, []float64{2}, nil, cg.Options{}, nil, 1},
		{"two eigenvalues", bg, diagonal{1, 4, 4, 1}, []float64{1, 2, 3, 4}, nil, cg.Options{}, nil, 2},
		{"zero b", bg, diagonal{1, 4}, []float64{0, 0}, []float64{5, 6}, cg.Options{}, nil, 0},
		{"tiny b", bg, diagonal{1, 4}, []float64{1e-12, 2e-12}, nil, cg.Options{}, nil, 2},
		{"tiniest b", bg, diagonal{1, 4}, []float64{1e-300, 2e-300}, nil, cg.Options{}, nil, 2},
		{"huge b", bg, diagonal{1, 4}, []float64{1e12, 2e12}, nil, cg.Options{}, nil, 2},
		{"hugest b", bg, diagonal{1, 4}, []float64{1e300, 2e300}, nil, cg.Options{}, nil, 2},
		{"tiny A", bg, diagonal{1e-12, 4e-12}, []float64{1, 2}, nil, cg.Options{}, nil, 2},
		{"exact start", bg, diagonal{1, 4}, []float64{1, 4}, []float64{1, 1}, cg.Options{}, nil, 0},
		{
			"scaled start", bg,
			diagonal{1, 4},
			[]float64{1, 4},
			[]float64{9, 9},
			cg.Options{ScaleStart: true, Tol: 1e-14},
			nil, 0,
		},
		{
			"start of wrong sign", bg,
			diagonal{1, 4},
			[]float64{1, 4},
			[]float64{-1, -1},
			cg.Options{ScaleStart: true},
			nil, 2,
		},
		{
			"start in the null space", bg,
			diagonal{1, 0},
			[]float64{1, 0},
			[]float64{0, 1},
			cg.Options{ScaleStart: true},
			nil, 1,
		},
		{"singular, consistent", bg, diagonal{1, 0, 2}, []float64{1, 0, 1}, nil, cg.Options{}, nil, 2},
		{"singular, inconsistent", bg, diagonal{0, 0}, []float64{1, 1}, nil, cg.Options{}, cg.ErrNotSPD, 0},
		{"indefinite", bg, diagonal{1, -1, 3}, []float64{1, 2, 3}, nil, cg.Options{}, cg.ErrNotSPD, 3},
		{"NaN in A", bg, diagonal{1, nan}, []float64{1, 2}, nil, cg.Options{}, cg.ErrNotFinite, 0},
		{"NaN in A, warm", bg, diagonal{1, nan}, []float64{1, 2}, []float64{1, 1}, cg.Options{}, cg.ErrNotFinite, 0},
		{"infinite A", bg, diagonal{1, math.Inf(1)}, []float64{1, 2}, nil, cg.Options{}, cg.ErrNotFinite, 0},
		{"NaN in b", bg, diagonal{1, 2}, []float64{1, nan}, nil, cg.Options{}, cg.ErrNotFinite, 0},
		{"infinite b", bg, diagonal{1, 2}, []float64{1, math.Inf(1)}, nil, cg.Options{}, cg.ErrNotFinite, 0},
		{"NaN in x", bg, diagonal{1, 2}, []float64{1, 2}, []float64{nan, 0}, cg.Options{}, cg.ErrNotFinite, 0},
		{
			"NaN tolerance", bg,
			diagonal{1, 2},
			[]float64{1, 2},
			nil,
			cg.Options{Tol: nan, MaxIter: 5},
			cg.ErrNotConverged, 5,
		},
		{"cancelled", cancelled, diagonal{1, 2}, []float64{1, 2}, nil, cg.Options{}, context.Canceled, 0},
		{"too few iterations", bg, spread, ones, nil, cg.Options{MaxIter: 5}, cg.ErrNotConverged, 5},
		{"hard", bg, spread, ones, nil, cg.Options{MaxIter: 2000}, nil, 2000},
		{"hard, preconditioned", bg, spread, ones, nil, cg.Options{Precond: reciprocal}, nil, 2},
		{
			"bad preconditioner", bg, spread, ones, nil,
			cg.Options{Precond: diagonal(make([]float64, 100))},
			cg.ErrNotSPD,
			0,
		},
		{"below rounding", bg, spread, ones, nil, cg.Options{Tol: 1e-30, MaxIter: 5000}, cg.ErrNotConverged, 5000},
		{
			"inexact products", bg, &liar{diagonal: diagonal{1, 2, 3, 4, 5}},
			[]float64{1, 1, 1, 1, 1},
			nil,
			cg.Options{Tol: 1e-9},
			cg.ErrNotConverged, 50,
		},
		{"trace says stop", bg, diagonal{1, 2}, []float64{1, 2}, nil, cg.Options{Trace: func(s cg.Step) error {
			if s.Iter == 1 {
				return stop
			}
			return nil
		}}, stop, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := make([]float64, c.A.Dim())
			copy(x, c.x0)
			res, err := cg.Solve(c.ctx, x, c.A, c.b, c.opt)
			if !errors.Is(err, c.err) {
				t.Fatalf("error %v, want %v", err, c.err)
			}
			if res.Iter > c.iter {
				t.Errorf("%d iterations, want at most %d", res.Iter, c.iter)
			}
			if err != nil {
				if res.Residual == 0 {
					t.Error("residual 0 beside an error")
				}
				return
			}
			tol := c.opt.Tol
			if tol == 0 {
				tol = 1e-8
			}
			if r := relative(c.A, x, c.b); !(r <= tol) || !(math.Abs(r-res.Residual) <= 1e-15+1e-3*r) {
				t.Errorf("residual %g, reported %g, tolerance %g", r, res.Residual, tol)
			}
		})
	}
}

// relative is ‖b − A·x‖/‖b‖, or ‖x‖ for b = 0.
func relative(A linop.Operator, x, b []float64) float64 {
	nb := blas.Nrm2(b)
	if nb == 0 {
		return blas.Nrm2(x)
	}
	r := make([]float64, len(b))
	A.Apply(blas.Vector(r), blas.Vector(x))
	for i := range r {
		r[i] = r[i]/nb - b[i]/nb
	}
	return blas.Nrm2(r)
}

// Products with an error larger than the tolerance let the recurrence claim what
// is not so; the solver must notice, and say what the true residual is.
func TestTrueResidual(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	K := kernelOperator(rng, 60)
	b := make([]float64, 60)
	for i := range b {
		b[i] = rng.NormFloat64()
	}
	x := make([]float64, 60)
	last := math.Inf(1)
	res, err := cg.Solve(bg, x, K, b, cg.Options{Tol: 1e-15, MaxIter: 4000, Trace: func(s cg.Step) error {
		last = s.Residual
		return nil
	}})
	true60 := relative(K, x, b)
	if err == nil && true60 > 1e-15 {
		t.Fatalf("convergence claimed at %g", true60)
	}
	if !(math.Abs(res.Residual-true60) <= 1e-12) {
		t.Fatalf("residual %g reported, true %g, recurrence %g", res.Residual, true60, last)
	}
}

func TestRestart(t *testing.T) {
	A := &liar{diagonal: diagonal{1, 2, 3, 4, 5}}
	x := make([]float64, 5)
	res, err := cg.Solve(bg, x, A, []float64{1, 1, 1, 1, 1}, cg.Options{Tol: 5e-7, MaxIter: 200})
	if res.Restarts == 0 {
		t.Fatalf("no restart: %+v, %v", res, err)
	}
}

func kernelOperator(rng *rand.Rand, n int) linop.Operator {
	K := blas.NewGeneral(n, n)
	for i := range n {
		for j := range n {
			d := float64(i-j) / 10
			K.Data[i*n+j] = math.Exp(-d * d)
		}
		K.Data[i*n+i] += 1e-9 * (1 + rng.Float64())
	}
	return linop.NewDense(K, nil)
}

func TestWorkspaceReuse(t *testing.T) {
	var w cg.Workspace
	for _, n := range []int{3, 50, 3} {
		A := make(diagonal, n)
		b := make([]float64, n)
		for i := range A {
			A[i], b[i] = float64(1+i%5), float64(i+1)
		}
		x, y := make([]float64, n), make([]float64, n)
		if _, err := w.Solve(bg, x, A, b, cg.Options{}); err != nil {
			t.Fatal(err)
		}
		if _, err := cg.Solve(bg, y, A, b, cg.Options{}); err != nil {
			t.Fatal(err)
		}
		for i := range x {
			if x[i] != y[i] {
				t.Fatalf("n = %d: a used workspace gives %g, a fresh one %g", n, x[i], y[i])
			}
		}
		var op linop.Operator = A
		if a := linoptest.Allocations(5, func() {
			clear(x)
			_, _ = w.Solve(bg, x, op, b, cg.Options{Precond: op})
		}); a > 0 {
			t.Errorf("n = %d: %g allocations", n, a)
		}
	}
}

// The bound of the error after k iterations on K⊗L + μI,
// ‖C_k−C*‖ ≤ 2√φ·((√φ−1)/(√φ+1))ᵏ·‖C_0−C*‖ with φ = 1 + σ₁*τ/(lλ) and
// σ₁* = max_j σ₁(K_j), for η on the simplex and tr L ≤ τ.
func TestErrorBound(t *testing.T) {
	for seed := range uint64(12) {
		for _, warm := range []bool{false, true} {
			t.Run(fmt.Sprintf("seed=%d/warm=%v", seed, warm), func(t *testing.T) { checkBound(t, seed, warm) })
		}
	}
}

func checkBound(t *testing.T, seed uint64, warm bool) {
	rng := rand.New(rand.NewPCG(seed, 17))
	l, n, m := 5+rng.IntN(30), 1+rng.IntN(6), 1+rng.IntN(4)
	lambda, tau := math.Pow(10, -4*rng.Float64()), 0.5+float64(n)*rng.Float64()
	terms, eta := make([]*blas.Sym, m), make([]float64, m)
	var sigma, sum float64
	for j := range terms {
		k := psd(rng, l, 1+rng.IntN(l))
		w := eigenvalues(t, k)
		sigma = max(sigma, w[l-1])
		terms[j], eta[j] = blas.SymFrom(k, blas.Float64), rng.ExpFloat64()
		sum += eta[j]
	}
	blas.Scal(1/sum, eta)
	K := linop.NewGramSum(terms, nil, blas.Float64)
	K.SetWeights(eta)
	L, err := linop.NewSpectral(blas.Active(), psd(rng, n, 1+rng.IntN(n)), 1e-13)
	if err != nil {
		t.Fatal(err)
	}
	blas.Scal(tau/L.Trace(), L.S)
	A := &linop.KroneckerSum{Terms: []linop.Term{{K: K, L: L}}, Mu: lambda * float64(l)}
	exact, b, x := make([]float64, l*n), make([]float64, l*n), make([]float64, l*n)
	for i := range exact {
		exact[i] = rng.NormFloat64()
		if warm {
			x[i] = rng.NormFloat64()
		}
	}
	A.Apply(blas.Vector(b), blas.Vector(exact)) // so that C* is known
	phi := 1 + sigma*tau/(float64(l)*lambda)
	rate := (math.Sqrt(phi) - 1) / (math.Sqrt(phi) + 1)
	var first float64
	steps := 0
	_, err = cg.Solve(bg, x, A, b, cg.Options{Tol: 1e-9, Trace: func(s cg.Step) error {
		e := distance(s.X, exact)
		if s.Iter == 0 {
			first = e
		}
		steps++
		if bound := 2 * math.Sqrt(phi) * math.Pow(rate, float64(s.Iter)) * first; !(e <= bound+1e-9*first) {
			return fmt.Errorf("iteration %d: error %g, bound %g", s.Iter, e, bound)
		}
		return nil
	}})
	if err != nil || steps < 2 {
		t.Fatalf("%d steps: %v", steps, err)
	}
}

func distance(x, y []float64) float64 {
	d := append([]float64(nil), x...)
	blas.Axpy(-1, y, d)
	return blas.Nrm2(d)
}

func psd(rng *rand.Rand, n, rank int) blas.General {
	z, k := blas.NewGeneral(n, rank), blas.NewGeneral(n, n)
	for i := range z.Data {
		z.Data[i] = rng.NormFloat64()
	}
	blas.Mul(blas.Active(), k, false, true, z, z)
	return k
}

func eigenvalues(t *testing.T, a blas.General) []float64 {
	w := make([]float64, a.Rows)
	if err := blas.Active().Syevals(blas.Clone(a), w); err != nil {
		t.Fatal(err)
	}
	return w
}

// jittery is a diagonal preconditioner whose entries are off by a factor of up to e², by
// another amount at every call.
type jittery struct{ liar }

func (j *jittery) Apply(dst, x blas.General) {
	j.diagonal.Apply(dst, x)
	j.calls++
	for i := range dst.Data {
		dst.Data[i] *= math.Exp(2 * math.Sin(float64(7*j.calls+3*i)))
	}
}

// A preconditioner that changes costs plain CG its convergence, and flexible CG little.
func TestFlexible(t *testing.T) {
	n := 200
	A, M, b := make(diagonal, n), make(diagonal, n), make([]float64, n)
	for i := range A {
		A[i] = math.Pow(10, 6*float64(i)/float64(n-1))
		M[i], b[i] = 1/A[i], 1+float64(i%7)
	}
	iterations := func(flexible bool) int {
		x := make([]float64, n)
		res, err := cg.Solve(bg, x, A, b, cg.Options{
			Tol: 1e-11, MaxIter: 400, Flexible: flexible,
			Precond: &jittery{liar{diagonal: M}},
		})
		if flexible && err != nil {
			t.Fatal(err)
		}
		return res.Iter
	}
	if flexible, plain := iterations(true), iterations(false); !(2*flexible <= plain) {
		t.Errorf("%d iterations, plain CG %d", flexible, plain)
	}
	// With a fixed preconditioner the two are one method.
	var steps [2][]cg.Step
	for i, flexible := range []bool{false, true} {
		opt := cg.Options{Tol: 1e-6, Precond: diagonal(b[:20]), Flexible: flexible, Trace: func(s cg.Step) error {
			s.X = nil
			steps[i] = append(steps[i], s)
			return nil
		}}
		if _, err := cg.Solve(bg, make([]float64, 20), A[:20], b[:20], opt); err != nil {
			t.Fatal(err)
		}
	}
	for k, s := range steps[0] {
		if k >= len(steps[1]) || !(math.Abs(steps[1][k].Residual-s.Residual) <= 1e-6*(s.Residual+1e-6)) {
			t.Fatalf("step %d: %+v, flexible %+v", k, s, steps[1])
		}
	}
}

// The context is looked at between any two applications of A: at most one follows its end.
func TestCancelled(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	A := kernelOperator(rng, 40)
	b, x := make([]float64, 40), make([]float64, 40)
	for i := range b {
		b[i], x[i] = rng.NormFloat64(), rng.NormFloat64()
	}
	for k := 1; ; k++ {
		ctx, cancel := context.WithCancel(context.Background())
		applied := 0
		count := linop.Func{N: 40, F: func(dst, x blas.General) {
			if applied++; applied == k {
				cancel()
			}
			A.Apply(dst, x)
		}}
		_, err := cg.Solve(ctx, append([]float64(nil), x...), count, b, cg.Options{ScaleStart: true, Tol: 1e-2})
		cancel()
		if applied < k {
			if k < 10 || err != nil {
				t.Errorf("%d applications: %v", applied, err)
			}
			return
		}
		if applied > k+1 {
			t.Fatalf("%d applications after the context ended at application %d", applied-k, k)
		}
	}
}

// Directions of an old preconditioner slow the convergence with a better one, unless Trace tells of the change.
func TestChangedPreconditioner(t *testing.T) {
	const n = 400
	A, M, b := make(diagonal, n), make(diagonal, n), make([]float64, n)
	for i := range A {
		A[i] = math.Pow(10, 6*float64(i)/(n-1))
		M[i], b[i] = math.Pow(10, -6*float64(i*37%n)/(n-1)), 1
	}
	iterations := func(restart error) int {
		M := append(diagonal(nil), M...)
		res, err := cg.Solve(bg, make([]float64, n), A, b, cg.Options{
			Tol: 1e-8, Precond: M, Flexible: true,
			Trace: func(s cg.Step) error {
				if s.Iter != 5 {
					return nil
				}
				for i := range M {
					M[i] = 1 / A[i]
					if i%20 == 0 {
						M[i] *= math.Pow(10, 3*float64(i)/n)
					}
				}
				return restart
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		return res.Iter
	}
	with, without := iterations(cg.ErrRestart), iterations(nil)
	if !(3*with <= without) {
		t.Errorf("%d iterations after a restart, %d without one", with, without)
	}
}
