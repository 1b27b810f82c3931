package interior

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

func randn(seed uint64, r, c int) blas.General {
	rng, a := rand.New(rand.NewPCG(seed, 0)), blas.NewGeneral(r, c)
	for i := range a.Data {
		a.Data[i] = rng.NormFloat64()
	}
	return a
}

// gramOf is scale·RRᵀ.
func gramOf(be blas.Backend, scale float64, R blas.General) blas.General {
	G := blas.NewGeneral(R.Rows, R.Rows)
	blas.Gemm(be, false, true, scale, R, R, 0, G)
	return G
}

// someBarrier is the method at a random output kernel of rank 20 of 24.
func someBarrier(t *testing.T) *Barrier {
	t.Helper()
	be, R := blas.Active(), randn(8, 24, 20)
	L, err := linop.NewSpectral(be, gramOf(be, 1, R), 1e-10)
	if err != nil {
		t.Fatal(err)
	}
	blas.Scal(24/L.Trace(), L.S)
	s := make([]float64, 30)
	for i := range s {
		s[i] = math.Pow(2, -float64(i)/2)
	}
	b, err := New(&Problem{Backend: be, Tau: 24, Mu: 0.03, S: s, H: randn(9, 30, 24)}, L, gramOf(be, 0.01, R), 1)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// G and the second derivative are those of differences.
func TestBarrierDerivatives(t *testing.T) {
	t.Run("complete", func(t *testing.T) { checkDerivatives(t, someBarrier(t)) })
	t.Run("linear term", func(t *testing.T) {
		b := someBarrier(t)
		b.Tilt = gramOf(b.Backend, 0.3, randn(5, b.n, 3))
		b.current = b.evaluate(&b.outputPoint)
		checkDerivatives(t, b)
	})
	t.Run("missing cells", func(t *testing.T) {
		b := someBarrier(t)
		A, Y := gramOf(b.Backend, 1./30, randn(3, 30, 40)), randn(4, 30, 24)
		for i := range Y.Data {
			if i%10 < 7 {
				Y.Data[i] = math.NaN()
			}
		}
		cells := linop.ObservedCells(Y)
		cells.Project(Y, Y)
		U, s := blas.Clone(A), make([]float64, 30)
		if err := b.Backend.Syevd(U, s); err != nil {
			t.Fatal(err)
		}
		b.Cells = NewCells(b.Backend, cells, A, Y, U, len(s), b.Mu)
		slices.Reverse(s)
		b.S = s
		b.current = b.evaluate(&b.outputPoint)
		checkDerivatives(t, b)
	})
}

func checkDerivatives(t *testing.T, b *Barrier) {
	d := randn(10, b.n, b.n)
	blas.Symmetrize(d)
	for i := range b.n { // keep L positive definite
		for j := range b.n {
			d.Data[i*b.n+j] *= math.Sqrt(b.diag[i] * b.diag[j])
		}
	}
	b.weights, b.inverse = blas.NewGeneral(b.n, b.n), blas.NewGeneral(b.n, b.n) // no barrier
	Hd := blas.NewGeneral(b.n, b.n)
	b.hessian(Hd, d)
	const step = 1e-5
	at := func(a float64) (float64, float64) { // h/λ and ⟨G,d⟩ at L + a·d
		W := blas.NewGeneral(b.n, b.n)
		blas.AddScaled(W, a, d)
		for i, r := range b.diag {
			W.Data[i*b.n+i] += r
		}
		p := outputPoint{V: blas.Like(W), diag: make([]float64, b.n), Y: blas.Like(b.Y)}
		if err := b.Backend.Syevd(W, p.diag); err != nil {
			t.Fatal(err)
		}
		blas.Mul(b.Backend, p.V, false, false, b.V, W)
		blas.Mul(b.Backend, p.Y, false, false, b.Y, W)
		v := b.evaluate(&p)
		T, G := blas.Like(d), blas.Like(d)
		blas.Mul(b.Backend, T, false, false, W, v.G)
		blas.Mul(b.Backend, G, false, true, T, W)
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
	if tr := blas.Trace(x); !(math.Abs(tr) <= 1e-12*blas.Frob(x)) {
		t.Errorf("the trace moves by %g", tr)
	}
	R := blas.NewGeneral(b.n, b.n)
	b.hessian(R, x)
	rhs := blas.Clone(b.current.G)
	for a, rho := range b.diag {
		rhs.Data[a*b.n+a] += b.nu / rho
	}
	blas.AddScaled(R, -1, rhs)
	first, last := blas.NewGeneral(b.n, b.n), blas.NewGeneral(b.n, b.n) // both without their multiples of I
	b.applyInverse(first, rhs)
	b.applyInverse(last, R)
	if e := blas.Inner(R, last) / blas.Inner(rhs, first); !(e <= 1.1*barrierTol*barrierTol) {
		t.Errorf("residual %g", math.Sqrt(e))
	}
}

// A loose minimum has the rank of a close one, and the objective is not higher without the eigenvalues it drops.
func TestBarrierRank(t *testing.T) {
	be, n := blas.Active(), 24
	s := make([]float64, 60)
	for i := range s {
		s[i] = math.Pow(2, -float64(i)/4)
	}
	H := randn(3, len(s), n)
	blas.Scal(0.05, H.Data)
	blas.Gemm(be, false, false, 1, randn(4, len(s), 3), randn(5, 3, n), 1, H)
	rank := func(share float64) int {
		L := linop.ScaledIdentity(n, 1)
		b, err := New(&Problem{Backend: be, Tau: float64(n), Mu: 0.03, S: s, H: H}, L, blas.NewGeneral(n, n), 1)
		if err != nil {
			t.Fatal(err)
		}
		b.nu = share * b.current.value
		if L, err = b.Minimize(t.Context(), share*b.current.value, func() {}); err != nil {
			t.Fatal(err)
		}
		along := blas.Product(be, false, false, H, L.V)
		got := math.Pow(blas.Frob(H), 2) / b.Mu // that of L = 0, less what each eigenvalue gains
		for i, sigma := range s {
			for a, v := range blas.Row(along, i) {
				got += v * v * (1/(sigma*L.S[a]+b.Mu) - 1/b.Mu)
			}
		}
		if with := b.current.value; !(got <= with*(1+1e-9)) {
			t.Errorf("share %g: h/λ is %g, and was %g", share, got, with)
		}
		return L.Rank()
	}
	close := rank(1e-9)
	if close >= n {
		t.Fatalf("the minimum has rank %d of %d", close, n)
	}
	for _, share := range []float64{1e-2, 1e-3, 1e-5} {
		if loose := rank(share); loose != close {
			t.Errorf("%g to gain: rank %d, and %d of the minimum", share, loose, close)
		}
	}
}
