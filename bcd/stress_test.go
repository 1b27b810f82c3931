package bcd

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/deadline"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/regularizer"
)

var (
	stress      = flag.Int("stress", 0, "number of trials of TestStress; 0 means 200, with -short 25")
	stressSeed  = flag.Uint64("stress-seed", 1, "seed of the trials of TestStress")
	stressFirst = flag.Int("stress-first", 0, "number of the first trial of TestStress")
)

const stressLimit = 4 * time.Minute // for one fit

// trial is a random problem, its kernels as dense matrices and what it is called in messages.
type trial struct {
	name       string
	p          Problem
	Ks         []*mat.SymDense
	Zs         []blas.General // their factors, in feature space only
	Y          *mat.Dense
	cells      *linop.Cells // that are observed, Y being 0 elsewhere; nil for all
	inner      string
	tol        float64
	wellScaled bool // double precision suffices to solve the problem to tol
}

// pick is one of the arguments.
func pick[T any](rng *rand.Rand, of ...T) T { return of[rng.IntN(len(of))] }

// magnitude is 1 most of the time, else 10^e with e of size up to most.
func magnitude(rng *rand.Rand, most float64) float64 {
	switch rng.IntN(8) {
	case 0:
		return math.Pow(10, math.Round(most*(2*rng.Float64()-1)))
	case 1:
		return math.Pow(10, math.Round(20*(2*rng.Float64()-1)))
	}
	return 1
}

// factor is a random Z (l×d) with K = ZZᵀ one kernel of a trial.
func factor(rng *rand.Rand, X blas.General, before []blas.General) (Z blas.General, what string) {
	l, d := X.Rows, X.Cols
	switch rng.IntN(8) {
	case 0:
		if len(before) > 0 {
			return before[rng.IntN(len(before))], "twin"
		}
		fallthrough
	case 1: // (1 + ⟨x,z⟩)², of rank (d+1)(d+2)/2
		Z = blas.NewGeneral(l, (d+1)*(d+2)/2)
		for i := range l {
			x, at := append([]float64{1}, blas.Row(X, i)...), 0
			for a := range x {
				for b := range a + 1 {
					v := x[a] * x[b]
					if a != b {
						v *= math.Sqrt2
					}
					Z.Data[i*Z.Stride+at] = v
					at++
				}
			}
		}
		return Z, "poly"
	case 2:
		return blas.NewGeneral(l, 1+rng.IntN(3)), "zero"
	case 3: // all eigenvalues 1 or 0
		Z = blas.NewGeneral(l, 1+rng.IntN(l))
		for j := range Z.Cols {
			Z.Data[j*Z.Stride+j] = 1
		}
		return Z, "projection"
	case 4:
		return blas.Clone(X), "linear"
	case 5:
		return randn(rng, l, 1), "rank one"
	case 6: // eigenvalues that fall to rounding level
		Z = randn(rng, l, l)
		for j := range l {
			for i := range l {
				Z.Data[i*l+j] *= math.Pow(10, -8*float64(j)/float64(l))
			}
		}
		return Z, "decaying"
	}
	return randn(rng, l, l+3), "full"
}

func newTrial(rng *rand.Rand) *trial {
	l := pick(rng, 1, 2, 3, 5, 8, 13, 13, 20, 20, 33)
	if rng.IntN(20) == 0 {
		l = 70
	}
	n := pick(rng, 1, 1, 2, 3, 6, 12, min(l+2, 35), min(2*l+1, 24))
	m := pick(rng, 1, 2, 3, 5)
	d := pick(rng, 1, 2, 4)
	X := randn(rng, l, d)
	if rng.IntN(3) == 0 { // duplicated rows
		for i := l / 2; i < l; i++ {
			copy(blas.Row(X, i), blas.Row(X, i-l/2))
		}
	}
	t := &trial{tol: pick(rng, 1e-2, 1e-4, 1e-4, 1e-6)}
	sY, sK := magnitude(rng, 150), magnitude(rng, 150)
	var Zs []blas.General
	kinds := ""
	for range m {
		Z, what := factor(rng, X, Zs)
		Zs, kinds = append(Zs, Z), kinds+" "+what
	}
	// Targets: a function of the kernels and noise, or 0.
	Y := blas.NewGeneral(l, n)
	noise := pick(rng, 0, 1e-3, 0.3, 1)
	if rng.IntN(12) > 0 {
		for _, Z := range Zs {
			blas.Gemm(blas.Active(), false, false, 1, Z, randn(rng, Z.Cols, n), 1, Y)
		}
		blas.AddScaled(Y, noise, randn(rng, l, n))
	}
	if rng.IntN(4) == 0 && n > 1 { // dependent outputs
		for i := range l {
			Y.Data[i*n+n-1] = Y.Data[i*n]
		}
	}
	blas.Scal(sY, Y.Data)
	for j := range Zs {
		Zs[j] = scaled(Zs[j], math.Sqrt(sK))
	}
	t.Y = mat.NewDense(l, n, Y.Data)
	for _, Z := range Zs {
		K := mat.NewSymDense(l, nil)
		K.SymOuterK(1, mat.NewDense(l, Z.Cols, Z.Data))
		t.Ks = append(t.Ks, K)
	}
	lambda := math.Pow(10, -12+18*rng.Float64())
	if rng.IntN(2) == 0 {
		lambda = math.Pow(10, -5+5*rng.Float64())
	}
	tau := float64(n)
	compensated := sK == 1 || rng.IntN(2) == 0
	if compensated {
		tau /= sK
	}
	sizes := []int{m}
	if m > 2 {
		sizes = []int{2, m - 2}
	}
	t.p = Problem{
		Lambda: lambda, Tau: tau,
		Norm: pick[regularizer.Regularizer](rng, regularizer.Lp{P: 1}, regularizer.Lp{P: 1.3}, regularizer.Lp{P: 1.7},
			regularizer.Lp{P: 2}, regularizer.BlockR{R: 1}, regularizer.BlockR{R: 1.3},
			regularizer.ElasticNet{Mix: 0.5}, regularizer.Groups{Sizes: sizes}, regularizer.Wedge{}),
	}
	space := pick(rng, "gram", "gram", "factors", "features")
	var K linop.Sum
	switch space {
	case "gram":
		var terms []*blas.Sym
		for _, K := range t.Ks {
			terms = append(terms,
				blas.SymFrom(blas.General{Rows: l, Cols: l, Stride: l, Data: mat.DenseCopyOf(K).RawMatrix().Data},
					blas.Float64))
		}
		K = linop.NewGramSum(terms, nil, blas.Float64)
		t.p.Space = NewSamples(K, Y)
	case "factors":
		K = linop.NewFactorSum(Zs, nil)
		t.p.Space = NewSamples(K, Y)
	default:
		Z := Zs[0]
		blocks := []int{Z.Cols}
		for _, next := range Zs[1:] {
			Z, blocks = blas.SideBySide(Z, next), append(blocks, next.Cols)
		}
		Gamma, H := blas.NewGeneral(Z.Cols, Z.Cols), blas.NewGeneral(Z.Cols, n)
		blas.GramOf(blas.Active(), Gamma, Z)
		blas.Mul(blas.Active(), H, true, false, Z, Y)
		t.Zs = Zs
		t.p.Space = NewFeatures(Gamma, H, square(blas.Frob(Y)), l, blocks, nil)
	}
	learn := pick(rng, "both", "both", "eta", "l")
	switch learn {
	case "eta":
		t.p.Model |= Weights
		if rng.IntN(2) == 0 {
			L, err := linop.NewSpectral(blas.Active(), func() blas.General {
				G, R := blas.NewGeneral(n, n), randn(rng, n, 1+rng.IntN(n))
				blas.Mul(blas.Active(), G, false, true, R, R)
				return G
			}(), 0)
			if err != nil {
				panic(err)
			}
			blas.Scal(tau/floats.Sum(L.S), L.S)
			t.p.L = L
		}
	case "l":
		t.p.Model |= Output
		t.p.Eta = make([]float64, m)
		for j := range t.p.Eta {
			t.p.Eta[j] = float64(rng.IntN(3)) * rng.ExpFloat64()
		}
	}
	inners := []string{"auto", "auto", "nystrom", "rotated", "cg", "eigen", "tridiagonal", "cholesky"}
	t.inner = pick(rng, inners...)
	if share := pick(rng, 0, 0, 0.1, 0.5, 0.9); share > 0 && K != nil {
		holes := blas.Clone(Y)
		for i := range holes.Data {
			if i > 0 && rng.Float64() < share {
				holes.Data[i] = math.NaN()
			}
		}
		if cells := linop.ObservedCells(holes); !cells.Complete() {
			t.p.Space, t.cells = NewSamples(K, holes), cells
			cells.Project(Y, Y)
			space += fmt.Sprintf(" with %g missing", share)
		}
	}
	var top float64
	for _, K := range t.Ks {
		top = math.Max(top, mat.Trace(K))
	}
	limit := 1e8
	if t.inner == "cg" || t.inner == "rotated" { // without a preconditioner
		limit = 1e5
	}
	_, scaleFree := t.p.Norm.(regularizer.Lp)
	// With missing cells no step takes L to its best, or the bound over L, for multiples of C
	// alone, is the last to get there.
	if t.cells != nil && !t.p.Model.fixL() && (t.cells.Count() > fewCellsMost || t.tol < 1e-4 || !scaleFree) {
		limit = 1e3
	}
	if t.p.Model.fixEta() {
		top *= 1 + floats.Sum(t.p.Eta)
	}
	size := top * tau // of A_η·L
	// Weights of a norm that is not scale-free grow with the function, to ‖Y‖/√(K·τ) at the most.
	if !scaleFree && !t.p.Model.fixEta() {
		size = math.Max(size, math.Sqrt(size)*mat.Norm(t.Y, 2))
	}
	t.wellScaled = size <= limit*lambda*float64(l)
	t.name = fmt.Sprintf("l=%d n=%d m=%d (%s), %s, %v, learn %s, λ=%.3g τ=%.3g, Y·%g K·%g noise %g, %s, tol %g",
		l, n, m, kinds, space, t.p.Norm, learn, lambda, tau, sY, sK, noise, t.inner, t.tol)
	return t
}

// TestStress fits random problems by every solver and compares what the results say
// with the formulas in plain dense arithmetic, and the bounds of the solvers with each other.
func TestStress(t *testing.T) {
	outcomes, trials := map[string]int{}, *stress
	if trials == 0 {
		trials = 200
		if testing.Short() { // as the race detector and OpenBLAS run
			trials = 25
		}
	}
	for i := range trials {
		i += *stressFirst
		newTrial(rand.New(rand.NewPCG(*stressSeed, uint64(i)))).run(t, i, outcomes)
	}
	t.Logf("%d trials, seed %d: %v", trials, *stressSeed, outcomes)
}

// penaltyOverflows reports whether λτ² is above 10¹⁵⁰ times the square of the largest target:
// in units of the targets λ‖L‖², or numbers it is computed from, may leave the range of float64.
func (tr *trial) penaltyOverflows() bool {
	_, s := unit(tr.Y)
	return math.Log10(tr.p.Lambda)+2*math.Log10(tr.p.Tau)-2*math.Log10(s) > 150
}

func (tr *trial) run(t *testing.T, i int, outcomes map[string]int) {
	var lows, highs []float64
	for _, solver := range Solvers() {
		p := tr.p
		opt := Options{Solver: solver, Sylvester: tr.inner, Tol: tr.tol, Seed: uint64(i)}
		if solver == "okl" && tr.p.Model.fixL() && (tr.p.Tau > 1e100 || tr.p.Tau < 1e-100 || tr.penaltyOverflows()) {
			continue // ρ‖L‖², a constant, is all there is of the objective
		}
		switch solver {
		case "closed":
			opt.MaxOuter = 20
		case "paper", "okl":
			opt.MaxOuter = 8
		}
		var (
			res *Result
			err error
		)
		t0 := time.Now()
		deadline.Run(t, stressLimit, func() { res, err = Solve(context.Background(), &p, opt) })
		if took := time.Since(t0); took > 2*time.Second {
			t.Logf("trial %d: %s took %v: %s", i, solver, took, tr.name)
		}
		switch {
		case err == nil:
			outcomes[solver+" met"]++
		case errors.Is(err, ErrNotConverged):
			outcomes[solver+" not met"]++
			if solver == "reduced" && tr.wellScaled {
				t.Errorf("trial %d: %s: %v\n\t%s", i, solver, err, tr.name)
			} else if solver == "reduced" {
				t.Logf("trial %d: %s: %v\n\t%s", i, solver, err, tr.name)
			}
		default:
			outcomes[solver+" failed"]++
			t.Errorf("trial %d: %s: %v\n\t%s", i, solver, err, tr.name)
			continue
		}
		U, lowEta, lowL, slack, cerr := tr.check(res, solver)
		if cerr != nil {
			t.Errorf("trial %d: %s: %v\n\t%s", i, solver, cerr, tr.name)
			continue
		}
		if v := res.Objective + res.GapEta + res.GapL + res.RelativeGap; math.IsNaN(v) ||
			res.Converged != (res.RelativeGap <= tr.tol) || (err == nil) != res.Converged {
			t.Errorf("trial %d: %s: gaps %g and %g of %g, converged %v\n\t%s", i, solver, res.GapEta, res.GapL,
				res.Objective, res.Converged, tr.name)
		}
		if solver == "okl" {
			continue
		}
		// With one block fixed the other's bound holds for every solver's point.
		if tr.p.Model.fixEta() {
			lows, highs = append(lows, lowL-slack), append(highs, U+slack)
		}
		if tr.p.Model.fixL() {
			lows, highs = append(lows, lowEta-slack), append(highs, U+slack)
		}
	}
	for _, low := range lows {
		for _, high := range highs {
			if !(low <= high) {
				t.Errorf("trial %d: a bound from below of %g, an objective of %g\n\t%s", i, low, high, tr.name)
			}
		}
	}
}
