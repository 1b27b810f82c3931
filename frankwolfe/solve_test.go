package frankwolfe_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/frankwolfe"
	"github.com/iokl/iokl/linop/linoptest"
)

// randomProblem is an output kernel step: A = K·C and B = CᵀA for a random K.
func randomProblem(rng *rand.Rand, l, n int, lambda, tau float64) *frankwolfe.Problem {
	be := blas.Active()
	C, Z, K, A, B, Y := blas.NewGeneral(l, n), blas.NewGeneral(l, l), blas.NewGeneral(l, l), blas.NewGeneral(l, n),
		blas.NewGeneral(n, n), blas.NewGeneral(l, n)
	for _, m := range []blas.General{C, Z, Y} {
		for i := range m.Data {
			m.Data[i] = rng.NormFloat64()
		}
	}
	blas.Mul(be, K, false, true, Z, Z)
	blas.Scal(1/float64(l), K.Data)
	blas.Mul(be, A, false, false, K, C)
	blas.Mul(be, B, true, false, C, A)
	// Y = A·M + noise, with M of low rank, so that the answer is neither zero nor the bound alone.
	r := 1 + n/6
	V, M := blas.NewGeneral(n, r), blas.NewGeneral(n, n)
	for i := range V.Data {
		V.Data[i] = rng.NormFloat64()
	}
	blas.Mul(be, M, false, true, V, V)
	blas.Gemm(be, false, false, 1, A, M, 1, Y)
	return problem(A, Y, B, lambda, tau)
}

// least is min g by plain projected gradients of fixed step, until g falls no more.
func least(t *testing.T, p *frankwolfe.Problem) float64 {
	be, n := blas.Active(), p.N()
	w := make([]float64, n)
	if err := be.Syevals(blas.Clone(p.AtA), w); err != nil {
		t.Fatal(err)
	}
	L, value := blas.NewGeneral(n, n), p.YY/p.Samples
	for {
		step := blas.Clone(L) // L − ∇g/(2·λ_max/l)
		blas.Gemm(be, false, false, -1/w[n-1], p.AtA, L, 1, step)
		blas.AddScaled(step, 1/w[n-1], p.AtY)
		blas.AddScaled(step, -p.Lambda*p.Samples/2/w[n-1], p.B)
		for i := range n {
			for j := range i {
				step.Data[i*n+j] = (step.Data[i*n+j] + step.Data[j*n+i]) / 2
			}
		}
		s, err := frankwolfe.ProjectSpectrahedron(be, step, p.Tau)
		if err != nil {
			t.Fatal(err)
		}
		s.Dense(be, L)
		last := value
		if value = p.Value(be, L); value >= last*(1-1e-14) {
			return value
		}
	}
}

// At every iteration g does not rise, L is in S(τ), and the gap bounds g − min g.
func TestInvariants(t *testing.T) {
	for seed := range uint64(6) {
		rng := rand.New(rand.NewPCG(seed, 3))
		l, n := 10+rng.IntN(40), 1+rng.IntN(12)
		p := randomProblem(rng, l, n, math.Pow(10, -3*rng.Float64()), float64(n)*math.Pow(10, 2*rng.Float64()-1))
		best := least(t, p)
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			last := math.Inf(1)
			opt := frankwolfe.Options{Tol: 1e-4, MaxIter: 300, Trace: func(s frankwolfe.Step) error {
				if !(s.Value <= last*(1+1e-12)) {
					return fmt.Errorf("iteration %d: g rises from %.17g to %.17g", s.Iter, last, s.Value)
				}
				last = s.Value
				return feasible(s.L, p.Tau)
			}}
			L := blas.NewGeneral(n, n)
			for i := range n {
				L.Data[i*n+i] = p.Tau / float64(n)
			}
			res, err := frankwolfe.Solve(bg, L, p, opt)
			if err != nil && !errors.Is(err, frankwolfe.ErrNotConverged) {
				t.Fatal(err)
			}
			if above := res.Value - best; !(res.Gap >= above-1e-10*best) {
				t.Errorf("gap %g, but g is %g above the optimum", res.Gap, above)
			}
			if err == nil && !(res.Gap <= 1e-4*res.Value) {
				t.Errorf("gap %g at value %g", res.Gap, res.Value)
			}
			if v := p.Value(nil, L); v != res.Value {
				t.Errorf("value %.17g reported, %.17g at L", res.Value, v)
			}
			t.Logf("l=%d n=%d: %d iterations, %d multiplies", l, n, res.Iter, res.Applies)
		})
	}
}

// feasible checks L ∈ S(τ) up to rounding.
func feasible(L blas.General, tau float64) error {
	n := L.Rows
	w := make([]float64, n)
	if err := blas.Active().Syevals(blas.Clone(L), w); err != nil {
		return err
	}
	var trace float64
	for _, v := range w {
		trace += v
	}
	if !(w[0] >= -1e-12*tau) || !(trace <= tau*(1+1e-12)) {
		return fmt.Errorf("smallest eigenvalue %g, trace %g with bound %g", w[0], trace, tau)
	}
	return nil
}

// The step between bounds and true gap holds along the way too, where each step reports it.
func TestRunningGap(t *testing.T) {
	p, _, _ := goldenProblem(t, "lstep_active", 3)
	var value float64
	_, err := frankwolfe.Solve(bg, blas.NewGeneral(6, 6), p, frankwolfe.Options{
		Tol: 1e-3,
		Trace: func(s frankwolfe.Step) error {
			if above := value - golden[0].value; s.Iter > 0 && !(s.Gap >= above-1e-9) {
				return fmt.Errorf("before iteration %d g is %g above the optimum, the gap %g", s.Iter, above, s.Gap)
			}
			value = s.Value
			return nil
		},
	})
	if err != nil {
		t.Error(err)
	}
}

func TestLarge(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	p := randomProblem(rng, 300, 60, 1e-2, 60)
	const tol = 1e-2
	res, err := frankwolfe.Solve(bg, blas.NewGeneral(60, 60), p, frankwolfe.Options{Tol: tol})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d iterations, %d multiplies, value %.12g", res.Iter, res.Applies, res.Value)
	if want := least(t, p); !(math.Abs(res.Value-want) <= tol*want) {
		t.Errorf("ends at %.12g, the least value is %.12g", res.Value, want)
	}
}

func TestEdges(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	cancelled, cancel := context.WithCancel(bg)
	cancel()
	stop := errors.New("enough")
	change := func(f func(p *frankwolfe.Problem)) *frankwolfe.Problem {
		p := randomProblem(rng, 20, 4, 0.1, 4)
		f(p)
		return p
	}
	scale := func(c float64) *frankwolfe.Problem {
		return change(func(p *frankwolfe.Problem) { blas.Scal(c, p.AtY.Data); p.YY *= c * c; p.Tau *= c })
	}
	for _, c := range []struct {
		name  string
		ctx   context.Context
		p     *frankwolfe.Problem
		start float64 // on the diagonal of L
		opt   frankwolfe.Options
		err   error
	}{
		{"plain data", bg, change(func(*frankwolfe.Problem) {}), 0, frankwolfe.Options{}, nil},
		{"n = 1", bg, randomProblem(rng, 5, 1, 0.1, 2), 1, frankwolfe.Options{}, nil},
		{"Y = 0", bg, change(func(p *frankwolfe.Problem) { blas.Zero(p.AtY); p.YY = 0 }), 1, frankwolfe.Options{}, nil},
		{"A = 0", bg, change(func(p *frankwolfe.Problem) {
			blas.Zero(p.AtA)
			blas.Zero(p.AtY)
		}), 1, frankwolfe.Options{}, nil},
		{"all zero", bg, change(func(p *frankwolfe.Problem) {
			blas.Zero(p.AtA)
			blas.Zero(p.AtY)
			blas.Zero(p.B)
			p.YY = 0
		}), 1, frankwolfe.Options{}, nil},
		{"tau = 0", bg, change(func(p *frankwolfe.Problem) { p.Tau = 0 }), 0, frankwolfe.Options{}, nil},
		{"tiny data", bg, scale(1e-12), 0, frankwolfe.Options{}, nil},
		{"huge data", bg, scale(1e12), 0, frankwolfe.Options{}, nil},
		{"NaN in AᵀA", bg, change(func(p *frankwolfe.Problem) {
			p.AtA.Data[2] = math.NaN()
		}), 1, frankwolfe.Options{}, frankwolfe.ErrNotFinite},
		{"NaN in AᵀY", bg, change(func(p *frankwolfe.Problem) {
			p.AtY.Data[2] = math.NaN()
		}), 1, frankwolfe.Options{}, frankwolfe.ErrNotFinite},
		{"NaN in B", bg, change(func(p *frankwolfe.Problem) {
			p.B.Data[2] = math.NaN()
		}), 1, frankwolfe.Options{}, frankwolfe.ErrNotFinite},
		{"NaN tau", bg, change(func(p *frankwolfe.Problem) {
			p.Tau = math.NaN()
		}), 0, frankwolfe.Options{}, frankwolfe.ErrNotFinite},
		{"no samples", bg, change(func(p *frankwolfe.Problem) {
			p.Samples = 0
		}), 0, frankwolfe.Options{}, frankwolfe.ErrNotFinite},
		{
			"NaN start", bg, change(func(*frankwolfe.Problem) {}), math.NaN(),
			frankwolfe.Options{},
			frankwolfe.ErrNotFinite,
		},
		{"cancelled", cancelled, change(func(*frankwolfe.Problem) {}), 1, frankwolfe.Options{}, context.Canceled},
		{
			"too few iterations", bg, change(func(*frankwolfe.Problem) {}), 1,
			frankwolfe.Options{MaxIter: 1, Tol: 1e-12},
			frankwolfe.ErrNotConverged,
		},
		{
			"NaN tolerance", bg, change(func(*frankwolfe.Problem) {}), 1,
			frankwolfe.Options{Tol: math.NaN(), MaxIter: 30},
			frankwolfe.ErrNotConverged,
		},
		{
			"trace says stop", bg, change(func(*frankwolfe.Problem) {}), 1,
			frankwolfe.Options{Trace: func(frankwolfe.Step) error {
				return stop
			}},
			stop,
		},
	} {
		if c.opt.Tol == 0 {
			c.opt.Tol = 1e-2
		}
		t.Run(c.name, func(t *testing.T) {
			n := c.p.N()
			L := blas.NewGeneral(n, n)
			for i := range n {
				L.Data[i*n+i] = c.start
			}
			res, err := frankwolfe.Solve(c.ctx, L, c.p, c.opt)
			if !errors.Is(err, c.err) {
				t.Fatalf("error %v, want %v", err, c.err)
			}
			if err == nil {
				if e := feasible(L, c.p.Tau); e != nil {
					t.Error(e)
				}
				if !(res.Gap <= 1e-2*math.Abs(res.Value)+1e-12*c.p.YY) {
					t.Errorf("gap %g at value %g", res.Gap, res.Value)
				}
			} else if errors.Is(err, context.Canceled) && !(res.Gap >= 0) {
				t.Errorf("gap %g after cancellation", res.Gap)
			}
		})
	}
	p := randomProblem(rng, 20, 4, 0.1, 4)
	for _, d := range []float64{2, -1} {
		L := blas.NewGeneral(4, 4)
		for i := range 4 {
			L.Data[i*4+i] = d
		}
		if _, err := frankwolfe.Solve(bg, L, p, frankwolfe.Options{}); !errors.Is(err, frankwolfe.ErrInfeasible) {
			t.Errorf("start %g·I: error %v", d, err)
		}
	}
}

// Steps allocate nothing: a longer run of a used workspace allocates as
// often as a shorter one.
func TestAllocations(t *testing.T) {
	p, _, _ := goldenProblem(t, "lstep_active", 3)
	var w frankwolfe.Workspace
	L := blas.NewGeneral(6, 6)
	count := func(iter int) float64 {
		return linoptest.Allocations(5, func() {
			blas.Zero(L)
			if res, _ := w.Solve(bg, L, p, frankwolfe.Options{
				Tol: 1e-14, MaxIter: iter,
			}); res.Iter != iter {
				t.Fatalf("%d iterations", res.Iter)
			}
		})
	}
	if a, b := count(5), count(40); a != b {
		t.Errorf("5 iterations allocate %g times, 40 iterations %g", a, b)
	}
}
