package sylvester_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/files/npy/npytest"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/sylvester"
)

// termsOf are the terms of dense pairs.
func termsOf(t testing.TB, pairs []pair) []linop.Term {
	t.Helper()
	var terms []linop.Term
	for _, p := range pairs {
		L, err := linop.NewSpectral(blas.Active(), p.L, 1e-14)
		if err != nil {
			t.Fatal(err)
		}
		terms = append(terms, linop.Term{K: dense{p.K, blas.Active()}, L: L})
	}
	return terms
}

// The reference solutions came from an independent program, which also chose the L_j.
func TestSumGolden(t *testing.T) {
	for _, name := range []string{"sum_full", "sum_missing"} {
		z := npytest.Load(t, name)
		part := func(key string, j int) blas.General {
			a := z[key]
			r, c := a.Shape[len(a.Shape)-2], a.Shape[len(a.Shape)-1]
			return blas.General{Rows: r, Cols: c, Stride: c, Data: a.Data[j*r*c : (j+1)*r*c]}
		}
		var pairs []pair
		for j := range z["Ks"].Shape[0] {
			pairs = append(pairs, pair{part("Ks", j), part("Ls", j)})
		}
		Y, want := part("Y", 0), part("C", 0)
		cells := linop.ObservedCells(Y)
		mu := 0.02 * float64(Y.Rows)
		C := blas.NewGeneral(Y.Rows, Y.Cols)
		res, err := sylvester.NewSum(cells, sylvester.Config{}).Solve(context.Background(), C, termsOf(t, pairs), mu, Y,
			sylvester.Options{Tol: 1e-13})
		if err != nil {
			t.Fatal(err)
		}
		if r := maskedResidual(pairs, mu, cells, C, Y); !(r <= 2e-13) || !(res.Residual <= 1e-13) {
			t.Errorf("%s: residual %g, claimed %g", name, r, res.Residual)
		}
		if d := distance(C, want); !(d <= 1e-8) { // the reference stopped at a relative gap of 7e-12
			t.Errorf("%s: relative distance %g from the reference", name, d)
		}
	}
}

// randomSum has output kernels of the given ranks, those with a share in common with the first.
func randomSum(rng *rand.Rand, l, n int, ranks []int, common, scale float64) []pair {
	base := spectrum(rng, decay(n, 2, 0.7))
	var pairs []pair
	for j, r := range ranks {
		L := blas.NewGeneral(n, n)
		if r > 0 {
			L = denseOf(outputKernel(rng, n, decay(r, 2, 0.7)))
		}
		blas.Scal(1-common, L.Data)
		blas.AddScaled(L, common, base)
		K := spectrum(rng, decay(l, 10*scale, 0.7+0.05*float64(j%4)))
		pairs = append(pairs, pair{K, L})
	}
	return pairs
}

func TestSumAgainstDense(t *testing.T) {
	const l, n, tol = 40, 5, 1e-11
	rng := rand.New(rand.NewPCG(31, 32))
	for _, c := range []struct {
		name             string
		ranks            []int
		common, scale, y float64
	}{
		{"one", []int{5}, 0, 1, 1},
		{"unrelated", []int{5, 5, 5}, 0, 1, 1},
		{"in common", []int{5, 5, 5}, 0.7, 1, 1},
		{"rank 1", []int{1, 1, 1}, 0, 1, 1},
		{"rank 1 and 0", []int{1, 0}, 0, 1, 1},
		{"all zero", []int{0, 0}, 0, 1, 1},
		{"tiny", []int{5, 2}, 0, 1e-150, 1},
		{"huge", []int{5, 2}, 0, 1e150, 1},
		{"Y tiny", []int{5, 2}, 0, 1, 1e-150},
		{"Y huge", []int{5, 2}, 0, 1, 1e150},
	} {
		pairs := randomSum(rng, l, n, c.ranks, c.common, c.scale)
		terms := termsOf(t, pairs)
		mu := 0.05 * c.scale
		Y := gaussian(rng, l, n)
		blas.Scal(c.y, Y.Data)
		masks := holes(rng, l, n)
		masks["complete"] = linop.NewCells(l, n, func(int, int) bool { return true })
		for kind, cells := range masks {
			t.Run(fmt.Sprintf("%s/%s", c.name, kind), func(t *testing.T) {
				given, want, C := blas.Clone(Y), solveDense(t, pairs, mu, cells, Y), startBeside(cells)
				for i := range l {
					for j := range n {
						if !cells.Has(i, j) {
							given.Data[i*n+j] = math.NaN()
						}
					}
				}
				res, err := sylvester.NewSum(cells, sylvester.Config{}).Solve(context.Background(), C, terms, mu, given,
					sylvester.Options{Tol: tol, MaxIter: 20000})
				if err != nil {
					t.Fatal(err)
				}
				if r := maskedResidual(pairs, mu, cells, C, Y); !(r <= 1.01*tol) || !(res.Residual <= tol) {
					t.Errorf("residual %g, claimed %g", r, res.Residual)
				}
				if d := distance(C, want); !(d <= 1e4*tol) {
					t.Errorf("relative distance %g from the dense solution", d)
				}
			})
		}
	}
}

// kernelSum is five kernels on the same points, of four widths and linear.
func kernelSum(rng *rand.Rand, l, n int, rank int, common float64) []linop.Term {
	be := blas.Active()
	X := gaussian(rng, l, 6)
	base := outputKernel(rng, n, decay(n, 0.3*float64(n), 0.7))
	var terms []linop.Term
	for j := range 5 {
		K := blas.NewGeneral(l, l)
		blas.Mul(be, K, false, true, X, X)
		if j < 4 {
			gamma := 0.5 * math.Pow(4, -float64(j))
			sq := make([]float64, l)
			for i := range sq {
				sq[i] = K.Data[i*l+i]
			}
			for i := range l {
				for k, v := range blas.Row(K, i) {
					K.Data[i*l+k] = math.Exp(-gamma * (sq[i] + sq[k] - 2*v))
				}
			}
		} else {
			blas.Scal(1./6, K.Data)
		}
		L := denseOf(outputKernel(rng, n, decay(rank, 0.3*float64(n), 0.7)))
		blas.Scal(1-common, L.Data)
		blas.AddScaled(L, common, denseOf(base))
		blas.Scal(0.2, L.Data)
		spec, err := linop.NewSpectral(be, L, 1e-14)
		if err != nil {
			panic(err)
		}
		terms = append(terms, linop.Term{K: linop.NewDense(K, be), L: spec})
	}
	return terms
}

// The separable system takes the iterations of plain conjugate gradients, which are
// about 40, 110 and 330 here, to a part of them.
func TestSumIterations(t *testing.T) {
	const l, n = 450, 12
	for _, c := range []struct {
		rank   int
		common float64
		most   [3]int // products at λ = 1e-2, 1e-3, 1e-4
	}{
		{n, 0, [3]int{17, 27, 32}},
		{3, 0, [3]int{30, 88, 200}},
		{n, 0.7, [3]int{13, 17, 17}},
		{2, 0.7, [3]int{14, 19, 23}},
	} {
		for k, lambda := range []float64{1e-2, 1e-3, 1e-4} {
			rng := rand.New(rand.NewPCG(33, 34))
			terms, Y := kernelSum(rng, l, n, c.rank, c.common), gaussian(rng, l, n)
			for _, missing := range []float64{0, 0.3} {
				if missing > 0 && (lambda != 1e-3 || c.rank == 3) {
					continue
				}
				cells := linop.NewCells(l, n, func(int, int) bool { return rng.Float64() >= missing })
				res, err := sylvester.NewSum(cells, sylvester.Config{}).Solve(context.Background(),
					blas.NewGeneral(l, n), terms, lambda*l, Y, sylvester.Options{Tol: 1e-6})
				if err != nil {
					t.Fatal(err)
				}
				if res.Iter > c.most[k] {
					t.Errorf("rank %d, %g in common, λ = %g, %g missing: %d products", c.rank, c.common, lambda,
						missing, res.Iter)
				}
			}
		}
	}
}

func TestSumKeptAndLimits(t *testing.T) {
	const l, n = 450, 6
	rng := rand.New(rand.NewPCG(35, 36))
	terms, Y := kernelSum(rng, l, n, 3, 0.5), gaussian(rng, l, n)
	var pairs []pair
	for _, term := range terms {
		K := blas.NewGeneral(l, l)
		writeDense(t, K, term.K)
		pairs = append(pairs, pair{K, denseOf(term.L)})
	}
	cells := linop.NewCells(l, n, func(int, int) bool { return rng.Float64() >= 0.3 })
	s, C, mu := sylvester.NewSum(cells, sylvester.Config{}), blas.NewGeneral(l, n), 1e-3*l
	solve := func(opt sylvester.Options) (sylvester.Result, error) {
		res, err := s.Solve(context.Background(), C, terms, mu, Y, opt)
		if r := maskedResidual(pairs, mu, cells, C, Y); !(math.Abs(r-res.Residual) <= 1e-3*r+1e-13) {
			t.Errorf("residual %g, claimed %g", r, res.Residual)
		}
		return res, err
	}
	cold, err := solve(sylvester.Options{Tol: 1e-8})
	if err != nil {
		t.Fatal(err)
	}
	if again, err := solve(sylvester.Options{Tol: 1e-8}); err != nil || again.Iter > 2 {
		t.Errorf("from the solution: %d products, error %v", again.Iter, err)
	}
	// Other weights leave the decomposition of the old K̄ in use.
	for j := range terms {
		terms[j].L = terms[j].L.Clone()
		for b := range terms[j].L.S {
			terms[j].L.S[b] *= 1 + 0.05*float64(j)
		}
		pairs[j].L = denseOf(terms[j].L)
	}
	if warm, err := solve(sylvester.Options{Tol: 1e-8}); err != nil || warm.Columns > cold.Columns {
		t.Errorf("from near the solution: %d columns, from nothing %d, error %v", warm.Columns, cold.Columns, err)
	}
	blas.Zero(C)
	if _, err := solve(sylvester.Options{Tol: 1e-9, MaxIter: 3}); !errors.Is(err, sylvester.ErrNotConverged) {
		t.Errorf("limit: error %v", err)
	}
	blas.Zero(C)
	boom := errors.New("boom")
	if _, err := solve(sylvester.Options{Trace: func(sylvester.Step) error { return boom }}); !errors.Is(err, boom) {
		t.Errorf("trace: error %v", err)
	}
	for k := 1; k <= 12; k++ {
		ctx, cancel := context.WithCancel(context.Background())
		slow := &cancelling{Operator: terms[0].K, left: k, cancel: cancel}
		given := slices.Clone(terms)
		given[0].K = slow
		_, err := sylvester.NewSum(cells, sylvester.Config{}).Solve(ctx, blas.NewGeneral(l, n), given, mu, Y,
			sylvester.Options{Tol: 1e-10})
		cancel()
		if slow.left <= 0 && (!errors.Is(err, context.Canceled) || slow.after > 2) {
			t.Errorf("cancelled at product %d: error %v, %d products after it", k, err, slow.after)
		}
	}
	for name, bad := range map[string][]linop.Term{
		"L negative": {{K: terms[0].K, L: outputKernel(rng, n, []float64{-1})}},
		"L NaN":      {terms[0], {K: terms[0].K, L: outputKernel(rng, n, []float64{math.NaN()})}},
	} {
		if _, err := s.Solve(context.Background(), C, bad, mu, Y, sylvester.Options{}); !errors.Is(err,
			sylvester.ErrNotSPD) && !errors.Is(err, sylvester.ErrNotFinite) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if _, err := s.Solve(context.Background(), C, terms, 0, Y, sylvester.Options{}); !errors.Is(err,
		sylvester.ErrNotSPD) {
		t.Errorf("μ = 0: error %v", err)
	}
	if _, err := s.Solve(context.Background(), C, terms, mu, Y, sylvester.Options{Tol: math.NaN()}); !errors.Is(err,
		sylvester.ErrNotFinite) {
		t.Errorf("NaN tolerance: error %v", err)
	}
	for name, call := range map[string]func(){
		"no terms": func() { _, _ = s.Solve(context.Background(), C, nil, mu, Y, sylvester.Options{}) },
		"shape": func() {
			_, _ = s.Solve(context.Background(), blas.NewGeneral(l, n+1), terms, mu, Y, sylvester.Options{})
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			call()
		}()
	}
}

// The answer does not depend on the number of threads.
func TestObservedSameForAnyThreads(t *testing.T) {
	const l, n = 450, 6
	rng := rand.New(rand.NewPCG(37, 38))
	terms, Y := kernelSum(rng, l, n, 3, 0.5), gaussian(rng, l, n)
	cells := linop.NewCells(l, n, func(int, int) bool { return rng.Float64() >= 0.3 })
	solve := map[string]func(C blas.General) error{
		"sum": func(C blas.General) error {
			_, err := sylvester.NewSum(cells, sylvester.Config{}).Solve(context.Background(), C, terms, 1e-2*l, Y,
				sylvester.Options{})
			return err
		},
		"masked": func(C blas.General) error {
			sys := sylvester.System{K: terms[0].K, L: terms[0].L, Mu: 1e-2 * l}
			_, err := newMasked(t, "nystrom", cells).Solve(context.Background(), C, sys, Y, sylvester.Options{})
			return err
		},
	}
	for name, f := range solve {
		var want blas.General
		for _, threads := range []int{1, 2, 5} {
			old := runtime.GOMAXPROCS(threads)
			C := blas.NewGeneral(l, n)
			err := f(C)
			runtime.GOMAXPROCS(old)
			if err != nil {
				t.Fatal(name, err)
			}
			if want.Data == nil {
				want = C
			}
			if !slices.Equal(C.Data, want.Data) {
				t.Errorf("%s: %d threads give another answer than one", name, threads)
			}
		}
	}
}
