package bcd

import (
	"context"
	"math"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/regularizer"
)

// waves is a problem of random cosine features of l samples: one kernel for each
// width, D features each, targets that are smooth with noise.
func waves(l, D int, widths ...float64) *Problem {
	const d, n = 6, 3
	rng := newRand(11)
	X, Y := randn(rng, l, d), randn(rng, l, n)
	for i := range l {
		x, y := blas.Row(X, i), blas.Row(Y, i)
		for j := range y {
			y[j] = math.Sin(x[j]+x[j+1]) + x[j+2]/2 + 0.3*y[j]
		}
	}
	Z := blas.NewGeneral(l, D*len(widths))
	var blocks []int
	for k, width := range widths {
		block := blas.View(Z, 0, k*D, l, D)
		blas.Mul(blas.Active(), block, false, true, X, scaled(randn(rng, D, d), 1/width))
		for i := range l {
			for j, v := range blas.Row(block, i) {
				block.Data[i*block.Stride+j] = math.Sqrt(2/float64(D)) * math.Cos(v+float64(j))
			}
		}
		blocks = append(blocks, D)
	}
	Gamma, H := blas.NewGeneral(Z.Cols, Z.Cols), blas.NewGeneral(Z.Cols, n)
	blas.GramOf(blas.Active(), Gamma, Z)
	blas.Mul(blas.Active(), H, true, false, Z, Y)
	return &Problem{
		Space: NewFeatures(Gamma, H, square(blas.Frob(Y)), l, blocks, nil), Lambda: 1e-4, Tau: n,
		Norm: regularizer.Lp{P: 1.5},
	}
}

// A relative residual of ε, scaled, leaves the objective within ε²‖Y‖²/l of its
// minimum over W, and comes near that for the W that matter least to the fit.
func TestResidualScale(t *testing.T) {
	p := waves(40, 30, 1, 2) // more features than samples
	eta := []float64{0.6, 0.9}
	f := p.Space.(*features)
	n := f.Outputs()
	L := linop.ScaledIdentity(n, 0.5)
	L.S[0] = 1.4
	mu := p.Lambda * float64(f.l)
	exact := solveExactly(t, *p, eta, L)
	least := at(t, p, eta, L, exact).cert.objective
	scale := newTask(mustCheck(t, p), Options{}, 0).residualScale(&point{eta: eta, L: L})
	if !(scale < 0.5) {
		t.Fatalf("scale %g: the problem tells nothing", scale)
	}
	V, gamma := blas.NewGeneral(f.Dim(), f.Dim()), make([]float64, f.Dim())
	f.Dense(V)
	if err := blas.Active().Syevd(V, gamma); err != nil {
		t.Fatal(err)
	}
	const eps = 1e-3
	bound := eps * eps * f.yy / float64(f.l)
	for _, k := range []int{0, f.Dim() / 2, f.Dim() - 1} {
		W := blas.Clone(exact)
		size := eps * scale * blas.Frob(f.scaled) / (math.Max(gamma[k], 0)*L.S[0] + mu)
		for i := range f.Dim() {
			blas.Axpy(size*V.Data[i*V.Stride+k], column(L.V, 0), blas.Row(W, i))
		}
		above := at(t, p, eta, L, W).cert.objective - least
		if !(above <= bound*(1+1e-6)) || k == 0 && !(above >= 0.9*bound) {
			t.Errorf("eigenvalue %.3g: %.3g above the minimum, want %.3g at most", gamma[k], above, bound)
		}
	}
}

// Iterative C steps are exact enough in feature space for the outer iterations to
// go as they do with exact ones.
func TestFeatureStepsAreExactEnough(t *testing.T) {
	p := waves(3000, 100, 0.5, 1, 2, 4)
	iterations := map[string]int{}
	for _, system := range []string{"eigen", "rotated", "nystrom"} {
		res, err := Solve(context.Background(), p, Options{Sylvester: system, Tol: 1e-3})
		if err != nil {
			t.Fatal(err)
		}
		iterations[system] = res.OuterIterations
	}
	if a := iterations["eigen"]; iterations["rotated"] > a+4 || iterations["nystrom"] > a+4 {
		t.Errorf("outer iterations %v", iterations)
	}
}

func column(a blas.General, j int) []float64 {
	c := make([]float64, a.Rows)
	for i := range c {
		c[i] = a.Data[i*a.Stride+j]
	}
	return c
}
