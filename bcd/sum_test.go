package bcd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/bcd/internal/quasinewton"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/regularizer"
)

// sumGolden are the reference cases of sums, with the minimum that an independent
// program found.
var sumGolden = []struct {
	name string
	F    float64
}{{"sum_full", 0.3744748187419155}, {"sum_missing", 0.2917695405354198}}

func sumCase(t testing.TB, name string) (*Problem, map[string]array) {
	z := golden(t, name)
	return &Problem{Space: NewSamples(gram(z["Ks"]), z["Y"].matrix()), Lambda: 0.02, Tau: 4, Model: Sum}, z
}

func TestSumGolden(t *testing.T) {
	for _, c := range sumGolden {
		t.Run(c.name, func(t *testing.T) {
			p, z := sumCase(t, c.name)
			res, err := Solve(context.Background(), p, Options{Tol: 1e-8})
			if err != nil {
				t.Fatal(err)
			}
			if d := res.Objective/c.F - 1; !(math.Abs(d) <= 1e-8) || !(res.RelativeGap <= 1e-8) {
				t.Errorf("objective %.12g, reference %.12g: %.2g apart; relative gap %g", res.Objective, c.F, d,
					res.RelativeGap)
			}
			want := z["predictions"].matrix()
			if d := math.Sqrt(distance2(predict(z["Kx"], res), want)); !(d <= 1e-4*blas.Frob(want)) {
				t.Errorf("predictions differ by %g of %g", d, blas.Frob(want))
			}
		})
	}
}

// The bound is as good where λ is tiny, with kernels of full rank, with linear ones of a rank far
// below the number of samples, and with missing cells.
func TestSumSmallLambda(t *testing.T) {
	for _, name := range []string{"sum_full", "sum_missing", "rank 3"} {
		for _, lambda := range []float64{1e-9, 1e-12} {
			p, z := sumCase(t, sumGolden[0].name)
			switch name {
			case "sum_missing":
				p, _ = sumCase(t, name)
			case "rank 3":
				rng := rand.New(rand.NewPCG(3, 9))
				Y, terms := z["Y"].matrix(), []*blas.Sym(nil)
				for range z["Ks"].shape[0] {
					x, K := blas.NewGeneral(Y.Rows, 3), blas.NewGeneral(Y.Rows, Y.Rows)
					for i := range x.Data {
						x.Data[i] = rng.NormFloat64()
					}
					blas.Mul(blas.Active(), K, false, true, x, x)
					terms = append(terms, blas.SymFrom(K, blas.Float64))
				}
				p.Space = NewSamples(linop.NewGramSum(terms, nil, blas.Float64), Y)
			}
			p.Lambda = lambda
			res, err := Solve(t.Context(), p, Options{Tol: 1e-4})
			if err != nil || !(res.RelativeGap <= 1e-4) {
				t.Errorf("%s, λ = %g: objective %g, relative gap %g, %d iterations, %v", name, lambda, res.Objective,
					res.RelativeGap, res.OuterIterations, err)
			}
		}
	}
}

// The product model's solution starts the sum, whose bound is global for both.
func TestSumBoundsProduct(t *testing.T) {
	z := golden(t, "full_joint")
	p := &Problem{Space: NewSamples(gram(z["Ks"]), z["Y"].matrix()), Lambda: 0.02, Tau: 4}
	res, err := Solve(t.Context(), p, Options{Tol: 1e-8})
	if err != nil {
		t.Fatal(err)
	}
	sum := *p
	sum.Model = Sum
	start := &State{Eta: res.Eta, L: res.L, X: blas.Clone(res.C)}
	global, err := Solve(t.Context(), &sum, Options{Tol: 1e-7, Start: start})
	if err != nil {
		t.Fatal(err)
	}
	if d := global.LowerBound/sumGolden[0].F - 1; !(d <= 1e-12 && d >= -1e-6) {
		t.Errorf("lower bound %.12g, minimum of the sum %.12g", global.LowerBound, sumGolden[0].F)
	}
	if !(global.Objective < res.Objective) || !(res.LowerBound == 0) {
		t.Errorf("objectives %g of the sum, %g of the product, whose bound is %g", global.Objective, res.Objective,
			res.LowerBound)
	}
}

// sumByCells is min h by brute force: random moves of factors of the L_j, scaled to the boundary of
// the constraint, with a dense system of the observed cells.
func sumByCells(
	t *testing.T, Ks []blas.General, Y blas.General, lambda, tau float64, lp regularizer.Lp, seed uint64,
) float64 {
	q := lp.Q()
	l, n, m := Y.Rows, Y.Cols, len(Ks)
	var cells []int
	rows := map[int]bool{}
	for i, v := range Y.Data {
		if !math.IsNaN(v) {
			cells = append(cells, i)
			rows[i/n] = true
		}
	}
	N, mu := len(cells), lambda*float64(len(rows))
	y := mat.NewVecDense(N, nil)
	for a, i := range cells {
		y.SetVec(a, Y.Data[i])
	}
	h := func(x []float64) float64 {
		Ls, traces := make([]*mat.Dense, m), make([]float64, m)
		for j := range Ls {
			A := mat.NewDense(n, n, x[j*n*n:(j+1)*n*n])
			Ls[j] = new(mat.Dense)
			Ls[j].Mul(A, A.T())
			traces[j] = mat.Trace(Ls[j])
		}
		size := lp.Norm(traces)
		for j := range traces {
			if traces[j] = tau / size; math.IsInf(q, 1) {
				traces[j] = tau / mat.Trace(Ls[j])
			}
		}
		M := mat.NewSymDense(N, nil)
		for a, i := range cells {
			for b, k := range cells[:a+1] {
				v := 0.0
				for j, L := range Ls {
					v += Ks[j].Data[i/n*l+k/n] * L.At(i%n, k%n) * traces[j]
				}
				if a == b {
					v += mu
				}
				M.SetSym(a, b, v)
			}
		}
		var chol mat.Cholesky
		if !chol.Factorize(M) {
			return math.Inf(1)
		}
		var c mat.VecDense
		_ = chol.SolveVecTo(&c, y)
		return lambda * mat.Dot(y, &c)
	}
	rng := newRand(seed)
	x, trial := make([]float64, m*n*n), make([]float64, m*n*n)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	lowest, step := h(x), 1.0
	for range 8000 {
		for i, v := range x {
			trial[i] = v + step*rng.NormFloat64()
		}
		if v := h(trial); v < lowest {
			lowest, step = v, 1.8*step
			x, trial = trial, x
		} else {
			step *= 0.87
		}
		if step < 1e-9 {
			step = 0.3
		}
	}
	return lowest
}

// However inexact the coefficients and early the end, the bound stays below what brute
// force finds, and at the end the two meet.
func TestSumBoundIsRigorous(t *testing.T) {
	rounds := 12
	if testing.Short() {
		rounds = 6
	}
	for seed := range uint64(rounds) {
		rng := newRand(100 + seed)
		l, n, m := 5+rng.IntN(4), 2, 2+rng.IntN(2)
		norm := regularizer.Lp{P: []float64{1, 1.3, 2}[seed%3]}
		lambda, tau := math.Pow(10, -3+2.5*rng.Float64()), 0.5+3*rng.Float64()
		var Ks []blas.General
		var terms []*blas.Sym
		for range m {
			K := psd(rng, l, 1+rng.IntN(l), 1+4*rng.Float64())
			Ks = append(Ks, K)
			terms = append(terms, blas.SymFrom(K, blas.Float64))
		}
		Y := randn(rng, l, n)
		if seed%2 == 1 {
			Y = withHoles(Y, 0.3, seed)
		}
		p := &Problem{
			Space: NewSamples(linop.NewGramSum(terms, nil, blas.Float64), Y), Lambda: lambda, Tau: tau,
			Norm: norm, Model: Sum,
		}
		least := sumByCells(t, Ks, Y, lambda, tau, norm, seed)
		name := fmt.Sprintf("seed %d: %d×%d, %d kernels, %s, λ = %.3g", seed, l, n, m, norm, lambda)
		for _, inner := range []float64{0.5, 0.1, 0} {
			opt := Options{Tol: 1e-7, InnerTol: inner}
			if inner > 0 {
				opt.MaxOuter = 15
			}
			opt.Trace = func(s Step) error {
				if low := s.Objective - s.GapL; !(low <= least*(1+1e-9)) {
					t.Errorf("%s, residual %g: bound %.12g above the minimum %.12g", name, s.Residual,
						low, least)
				}
				return nil
			}
			res, err := Solve(t.Context(), p, opt)
			if res == nil || inner == 0 && err != nil {
				t.Fatal(name, err)
			}
			if inner == 0 && !(res.Objective <= least*(1+1e-7)) {
				t.Errorf("%s: objective %.12g, brute force finds %.12g", name, res.Objective, least)
			}
			if inner == 0 && !(res.LowerBound >= least*(1-1e-3)) {
				t.Errorf("%s: bound %.12g, brute force finds %.12g", name, res.LowerBound, least)
			}
		}
	}
}

// The objective, the traces and the norm of a result are what its L_j and C say.
func TestSumResult(t *testing.T) {
	K, Y := awkward(6, 40, 4)
	wide := blas.NewGeneral(40, 12) // of rank 4
	blas.Mul(blas.Active(), wide, false, false, Y, randn(newRand(1), 4, 12))
	var small []*blas.Sym
	for j := range K.Len() {
		S := *K.Term(j)
		S.F64 = slices.Clone(S.F64)
		blas.Scal(1e-120, S.F64)
		small = append(small, &S)
	}
	for name, p := range map[string]*Problem{
		"lp:1":    {Space: NewSamples(K, Y), Lambda: 0.01, Tau: 4},
		"lp:1.5":  {Space: NewSamples(K, Y), Lambda: 0.01, Tau: 4, Norm: regularizer.Lp{P: 1.5}},
		"lp:2":    {Space: NewSamples(K, Y), Lambda: 0.01, Tau: 4, Norm: regularizer.Lp{P: 2}},
		"reduced": {Space: NewSamples(K, wide), Lambda: 0.01, Tau: 12},
		"missing": {Space: NewSamples(K, withHoles(Y, 0.3, 3)), Lambda: 0.01, Tau: 4},
		"tiny":    {Space: NewSamples(K, scaled(Y, 1e-120)), Lambda: 0.01, Tau: 4},
		"small K": {Space: NewSamples(linop.NewGramSum(small, nil, blas.Float64), Y), Lambda: 0.01, Tau: 4e120},
	} {
		p.Model = Sum
		t.Run(name, func(t *testing.T) {
			res, err := Solve(t.Context(), p, Options{Tol: 1e-5})
			if err != nil {
				t.Fatal(err)
			}
			q, _ := p.check()
			s := p.Space.(*samples)
			K, F, KC, one := s.K.(linop.Separate), blas.Like(res.C), blas.Like(res.C), blas.Like(res.C)
			for j, L := range res.Ls {
				K.ApplyTerm(KC, res.C, j)
				L.MulRight(blas.Active(), one, KC)
				blas.AddScaled(F, 1, one)
				if d := math.Abs(L.Trace()/p.Tau - res.Eta[j]); !(d <= 1e-12) {
					t.Errorf("weight %d is %g for a trace of %g", j, res.Eta[j], L.Trace())
				}
			}
			form := blas.Inner(res.C, F)
			if s.cells != nil {
				s.cells.Project(F, F)
			}
			R := blas.Clone(F)
			blas.AddScaled(R, -1, s.B)
			size := blas.Frob(s.B)
			blas.Scal(1/size, R.Data)
			U := square(blas.Frob(R))/float64(s.Samples()) + p.Lambda*form/size/size
			if got := res.Objective / size / size; !(math.Abs(got-U) <= 1e-10*U) {
				t.Errorf("objective %g·‖Y‖², by its definition %g·‖Y‖²", got, U)
			}
			if size := q.Norm.(regularizer.Lp).Norm(res.Eta); !(size <= 1+1e-9) {
				t.Errorf("traces of norm %.15g", size)
			}
			if d := math.Abs(res.LowerBound - (res.Objective - res.GapL)); !(d <= 1e-12*res.Objective) ||
				!(res.GapL <= 1e-5*res.Objective) {
				t.Errorf("objective %g, gap %g, bound %g", res.Objective, res.GapL, res.LowerBound)
			}
		})
	}
}

// A run continued from a checkpoint ends at the same optimum and goes on counting;
// checkpoints of the two models are foreign to each other.
func TestSumResume(t *testing.T) {
	K, Y := awkward(3, 20, 2)
	p := &Problem{
		Space: NewSamples(K, withHoles(Y, 0.2, 1)), Lambda: 0.01, Tau: 3, Norm: regularizer.Lp{P: 1.3},
		Model: Sum,
	}
	opt := Options{Tol: 1e-7}
	whole, err := Solve(t.Context(), p, opt)
	if err != nil {
		t.Fatal(err)
	}
	b := interrupted(t, p, opt, 3)
	state, err := DecodeState(bytes.NewReader(b), p)
	if err != nil {
		t.Fatal(err)
	}
	opt.Start = state
	res, err := Solve(t.Context(), p, opt)
	if err != nil {
		t.Fatal(err)
	}
	if !(math.Abs(res.Objective-whole.Objective) <= 2e-7*whole.Objective) || res.OuterIterations <= state.Iter ||
		res.SylvesterSolves <= state.SylvesterSolves {
		t.Errorf("resumed to %.12g after %d iterations and %d solves, uninterrupted %.12g", res.Objective,
			res.OuterIterations, res.SylvesterSolves, whole.Objective)
	}
	product := *p
	product.Model = Product
	if _, err := DecodeState(bytes.NewReader(b), &product); !errors.Is(err, ErrForeign) {
		t.Errorf("the checkpoint of a sum for the product model: %v", err)
	}
	if _, err := DecodeState(bytes.NewReader(interrupted(t, &product, Options{Tol: 1e-7}, 1)), p); !errors.Is(err,
		ErrForeign) {
		t.Errorf("the checkpoint of the product model for a sum: %v", err)
	}
}

func TestSumStops(t *testing.T) {
	K, Y := awkward(4, 30, 3)
	p := &Problem{Space: NewSamples(K, Y), Lambda: 0.01, Tau: 3, Model: Sum}
	stop := errors.New("stop")
	res, err := Solve(t.Context(), p, Options{Tol: 1e-10, Trace: func(s Step) error {
		if s.Iter == 2 {
			return stop
		}
		return nil
	}})
	if !errors.Is(err, stop) || res == nil || res.OuterIterations != 2 {
		t.Errorf("stopped by Trace: error %v, result %v", err, res)
	}
	res, err = Solve(t.Context(), p, Options{Tol: 1e-12, MaxOuter: 2})
	if !errors.Is(err, ErrNotConverged) || res == nil || res.Converged || !(res.LowerBound < res.Objective) {
		t.Errorf("out of iterations: error %v, result %v", err, res)
	}
	for at := 1; at < 4; at++ {
		ctx, cancel := context.WithCancel(t.Context())
		res, err = Solve(ctx, p, Options{Tol: 1e-12, Trace: func(s Step) error {
			if s.Iter == at {
				cancel()
			}
			return nil
		}})
		cancel()
		if !errors.Is(err, context.Canceled) || res == nil || !(res.LowerBound > 0) {
			t.Errorf("cancelled at %d: error %v, result %v", at, err, res)
		}
	}
	_, feats := lowrank(t)
	f := feats.Space.(*features)
	products := NewFeaturesOperator(linop.NewDense(blas.NewGeneral(f.Dim(), f.Dim()), nil), f.B, f.yy, f.l, f.blocks)
	for name, c := range map[string]struct {
		change func(p *Problem, opt *Options)
		words  string
	}{
		"fixed η":  {func(p *Problem, _ *Options) { p.Model |= Output }, "fixed"},
		"norm":     {func(p *Problem, _ *Options) { p.Norm = regularizer.BlockR{R: 1} }, "l_p norms"},
		"solver":   {func(_ *Problem, opt *Options) { opt.Solver = "closed" }, "solved by"},
		"features": {func(p *Problem, _ *Options) { p.Space = products }, "fewer features"},
		"product":  {func(p *Problem, opt *Options) { p.Model, opt.Solver = Product, "atoms" }, "atoms"},
	} {
		q, opt := *p, Options{}
		c.change(&q, &opt)
		if res, err := Solve(t.Context(), &q, opt); !errors.Is(err, ErrInput) || res != nil ||
			!strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// As many outputs as the product model takes in a growing basis are no limit of a sum: memory is, which grows with the
// outputs, or with the rows where these are fewer and no cell is missing.
func TestSumManyOutputs(t *testing.T) {
	K, Y := wideTask(20, 24)
	p := &Problem{Space: NewSamples(K, Y), Lambda: 0.02, Tau: 24, Model: Sum}
	want, err := Solve(t.Context(), p, Options{Tol: 1e-6})
	if err != nil {
		t.Fatal(err)
	}
	withMaxOutputs(8, p, func() {
		res, err := Solve(t.Context(), p, Options{Tol: 1e-6})
		if err != nil || !(math.Abs(res.Objective-want.Objective) <= 2e-6*want.Objective) {
			t.Fatalf("objective %v, want %.9g: %v", res, want.Objective, err)
		}
	})
	least := 8 * 2 * 20 * 20 * float64(3*quasinewton.MostPairs(2*20*20)+10)
	opt := Options{Tol: 1e-2, MaxBytes: int64(1.1 * least)}
	if _, err := Solve(t.Context(), p, opt); err != nil {
		t.Errorf("with memory for the steps: %v", err)
	}
	p.Space = NewSamples(K, withHoles(Y, 0.1, 1))
	if _, err := Solve(t.Context(), p, opt); !errors.Is(err, memory.ErrTooLarge) {
		t.Errorf("without memory for output kernels of all outputs: %v", err)
	}
}

// The answer does not depend on the number of threads.
func TestSumSameForAnyThreads(t *testing.T) {
	K, Y := awkward(4, 90, 5)
	var want blas.General
	for _, threads := range []int{1, 2, 5} {
		old := runtime.GOMAXPROCS(threads)
		res, err := Solve(t.Context(), &Problem{Space: NewSamples(K, Y), Lambda: 0.01, Tau: 5, Model: Sum},
			Options{Tol: 1e-5})
		runtime.GOMAXPROCS(old)
		if err != nil {
			t.Fatal(err)
		}
		if want.Data == nil {
			want = res.C
		}
		if !slices.Equal(res.C.Data, want.Data) {
			t.Errorf("%d threads give another answer than one", threads)
		}
	}
}
