package bcd

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/regularizer"
)

// someBarrier is the barrier method at a random output kernel of rank 20 of 24.
func someBarrier(t *testing.T) *barrier {
	t.Helper()
	K, Y := wideTask(30, 24)
	p := &Problem{Space: NewSamples(K, Y), Lambda: 1e-3, Tau: 24}
	k := newTask(p, Options{}, 0)
	R, M := randn(newRand(8), 24, 20), blas.NewGeneral(24, 24)
	blas.Mul(k.be, M, false, true, R, R)
	L, err := linop.NewSpectral(k.be, M, 1e-10)
	if err != nil {
		t.Fatal(err)
	}
	blas.Scal(24/L.Trace(), L.S)
	s := make([]float64, 30)
	for i := range s {
		s[i] = math.Pow(2, -float64(i)/2)
	}
	b, err := newBarrier(k, s, randn(newRand(9), 30, 24), nil, L, scaledGram(k.be, R), 1)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// scaledGram is RRᵀ/100, some positive semidefinite matrix.
func scaledGram(be blas.Backend, R blas.General) blas.General {
	G := blas.NewGeneral(R.Rows, R.Rows)
	blas.Gemm(be, false, true, 0.01, R, R, 0, G)
	return G
}

// G and the second derivative are those of differences.
func TestBarrierDerivatives(t *testing.T) {
	t.Run("complete", func(t *testing.T) { checkDerivatives(t, someBarrier(t)) })
	t.Run("missing cells", func(t *testing.T) {
		b := someBarrier(t)
		K, Y := wideTask(30, 24)
		k := newTask(&Problem{Space: NewSamples(K, withHoles(Y, 0.7, 11)), Lambda: 1e-3, Tau: 24}, Options{}, 0)
		A := k.form(context.Background(), constant(k.m, 1), false)
		U, s, err := k.eigenvectors(context.Background(), A)
		if err != nil {
			t.Fatal(err)
		}
		slices.Reverse(s)
		if b.holes, err = k.fewCells(context.Background(), A, U, len(s)); err != nil || b.holes == nil {
			t.Fatal(err, b.holes)
		}
		b.s = s
		for i, v := range s { // those of the size of rounding
			s[i] = math.Max(v, 0)
		}
		b.current = b.evaluate(&b.outputPoint)
		checkDerivatives(t, b)
	})
}

func checkDerivatives(t *testing.T, b *barrier) {
	rng := newRand(10)
	d := randn(rng, b.t.n, b.t.n)
	blas.Symmetrize(d)
	for i := range b.t.n { // keep L positive definite
		for j := range b.t.n {
			d.Data[i*b.t.n+j] *= math.Sqrt(b.diag[i] * b.diag[j])
		}
	}
	b.weights, b.inverse = blas.NewGeneral(b.t.n, b.t.n), blas.NewGeneral(b.t.n, b.t.n) // no barrier
	Hd := blas.NewGeneral(b.t.n, b.t.n)
	b.hessian(Hd, d)
	const step = 1e-5
	at := func(a float64) (float64, float64) { // h/λ and ⟨G,d⟩ at L + a·d
		W := blas.NewGeneral(b.t.n, b.t.n)
		blas.AddScaled(W, a, d)
		for i, r := range b.diag {
			W.Data[i*b.t.n+i] += r
		}
		p := outputPoint{V: cloneLike(W), diag: make([]float64, b.t.n), Y: cloneLike(b.Y)}
		if err := b.t.be.Syevd(W, p.diag); err != nil {
			t.Fatal(err)
		}
		blas.Mul(b.t.be, p.V, false, false, b.V, W)
		blas.Mul(b.t.be, p.Y, false, false, b.Y, W)
		v := b.evaluate(&p)
		T, G := cloneLike(d), cloneLike(d)
		blas.Mul(b.t.be, T, false, false, W, v.G)
		blas.Mul(b.t.be, G, false, true, T, W)
		return v.value, blas.Inner(G, d)
	}
	up, gUp := at(step)
	down, gDown := at(-step)
	if slope := (up - down) / (2 * step); !(math.Abs(slope+blas.Inner(b.current.G, d)) <= 1e-6*math.Abs(slope)) {
		t.Errorf("slope %.10g, −⟨G,d⟩ = %.10g", slope, -blas.Inner(b.current.G, d))
	}
	if curve, want := blas.Inner(Hd, d), -(gUp-gDown)/(2*step); !(math.Abs(curve-want) <= 1e-6*math.Abs(want)) {
		t.Errorf("curvature %.10g, by differences %.10g", curve, want)
	}
}

// A direction solves the Newton equations, with the multiplier of the trace, and keeps the trace.
func TestBarrierDirection(t *testing.T) {
	b := someBarrier(t)
	x := b.direction()
	if tr := trace(x); !(math.Abs(tr) <= 1e-12*blas.Frob(x)) {
		t.Errorf("the trace moves by %g", tr)
	}
	R := blas.NewGeneral(b.t.n, b.t.n)
	b.hessian(R, x)
	rhs := blas.Clone(b.current.G)
	for a, rho := range b.diag {
		rhs.Data[a*b.t.n+a] += b.nu / rho
	}
	blas.AddScaled(R, -1, rhs)
	first, last := blas.NewGeneral(b.t.n, b.t.n), blas.NewGeneral(b.t.n, b.t.n) // both without their multiples of I
	b.applyInverse(first, rhs)
	b.applyInverse(last, R)
	if e := blas.Inner(R, last) / blas.Inner(rhs, first); !(e <= 1.1*square(barrierTol)) {
		t.Errorf("residual %g", math.Sqrt(e))
	}
}

// Fits of many outputs at small λ take few C steps in either space, with weights
// learned or fixed, and the certificate says that they have arrived.
func TestOutputSteps(t *testing.T) {
	K, Y := wideTask(100, 60)
	fixed := []float64{0.7, 0.4}
	K200, Y200 := wideTask(200, 200)
	for _, c := range []struct {
		name   string
		p      Problem
		solves int
	}{
		{"samples", Problem{Space: NewSamples(K, Y), Lambda: 1e-4, Tau: 60, Norm: regularizer.Lp{P: 1.5}}, 10},
		{"small λ", Problem{Space: NewSamples(K, Y), Lambda: 1e-6, Tau: 60, Norm: regularizer.Lp{P: 1.5}}, 9},
		{"fixed weights", Problem{Space: NewSamples(K, Y), Lambda: 1e-4, Tau: 60, Eta: fixed, Model: Output}, 7},
		{"200 outputs", Problem{Space: NewSamples(K200, Y200), Lambda: 1e-4, Tau: 200, Norm: regularizer.Lp{P: 1.5}}, 14},
		{"zero kernels", Problem{Space: NewSamples(zeroKernels(100), Y), Lambda: 1e-4, Tau: 60}, 5},
		{"features", Problem{Space: asFeatures(t, K, Y), Lambda: 1e-4, Tau: 60, Norm: regularizer.Lp{P: 1.5}}, 20},
	} {
		res, err := Solve(context.Background(), &c.p, Options{Tol: 1e-6, Sylvester: "eigen"})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		t.Logf("%s: %d C-solves, objective %.12g, relative gap %.2g, rank %d", c.name, res.SylvesterSolves, res.Objective, res.RelativeGap, res.L.Rank())
		if res.SylvesterSolves > c.solves {
			t.Errorf("%s: %d C-solves, at most %d expected", c.name, res.SylvesterSolves, c.solves)
		}
	}
}

func zeroKernels(l int) *linop.GramSum {
	return linop.NewGramSum([]*blas.Sym{blas.SymFrom(blas.NewGeneral(l, l), blas.Float64)}, nil, blas.Float64)
}

// asFeatures is the problem of K and Y in the space of the factors K_j^{½}.
func asFeatures(t *testing.T, K *linop.GramSum, Y blas.General) Space {
	t.Helper()
	l, m := K.Dim(), K.Len()
	Z, blocks := blas.NewGeneral(l, l*m), make([]int, m)
	for j := range m {
		eta := make([]float64, m)
		eta[j] = 1
		K.SetWeights(eta)
		D := blas.NewGeneral(l, l)
		K.Dense(D)
		root, err := linop.NewSpectral(blas.Active(), D, 1e-13)
		if err != nil {
			t.Fatal(err)
		}
		blas.ScaleColumns(root.V, sqrts(root.S))
		blas.Copy(blas.View(Z, 0, j*l, l, root.Rank()), root.V)
		blocks[j] = l
	}
	Gamma, H := blas.NewGeneral(l*m, l*m), blas.NewGeneral(l*m, Y.Cols)
	blas.GramOf(blas.Active(), Gamma, Z)
	blas.Mul(blas.Active(), H, true, false, Z, Y)
	return NewFeatures(Gamma, H, square(blas.Frob(Y)), l, blocks, nil)
}

// Few rows, as many noisy outputs and smooth kernels: the steps on L alone, not those of the
// joint method, of which such fits take dozens, reach the gap at every λ.
func TestOutputStepsSuffice(t *testing.T) {
	rng := newRand(5)
	const l, n = 40, 120
	X := randn(rng, l, 3)
	var terms []*blas.Sym
	for _, width := range []float64{1, 2, 4} {
		terms = append(terms, gaussian(X, width, blas.Float64))
	}
	F, Y := blas.NewGeneral(l, 3), randn(rng, l, n)
	for i := range l {
		x := blas.Row(X, i)
		copy(blas.Row(F, i), []float64{math.Sin(x[0]), x[1] * x[2], x[1]})
	}
	blas.Gemm(blas.Active(), false, false, 3, F, randn(rng, 3, n), 1, Y)
	for _, fixed := range []bool{true, false} {
		p := &Problem{Space: NewSamples(linop.NewGramSum(terms, nil, blas.Float64), Y), Lambda: 1, Tau: n, Model: ProductOf(!fixed, true)}
		for ; p.Lambda > 1e-8; p.Lambda /= 3 { // a path, each fit from the one before
			res, err := Solve(context.Background(), p, Options{Tol: 1e-2})
			if err != nil || res.OuterIterations > 12 {
				t.Errorf("λ = %g, fixed weights %v: %d outer iterations, %v", p.Lambda, fixed, res.OuterIterations, err)
			}
			p.Eta, p.L = res.Eta, res.L
		}
	}
}
