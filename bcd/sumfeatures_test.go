package bcd

import (
	"math"
	"slices"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/regularizer"
)

// In explicit features a sum has the objective and the function that it has on the samples,
// from every start, with features of fewer and of more columns than samples.
func TestSumFeatures(t *testing.T) {
	for seed := range uint64(6) {
		rng := newRand(40 + seed)
		l, n, blocks := 12+rng.IntN(60), 1+rng.IntN(5), []int{3 + rng.IntN(20), 1, 2 + rng.IntN(9)}
		D := blocks[0] + 1 + blocks[2]
		Z, Y := randn(rng, l, D), randn(rng, l, n)
		if seed == 2 { // a kernel of zeros
			for i := range l {
				Z.Data[i*D+blocks[0]] = 0
			}
		}
		var factors []blas.General
		at := 0
		for _, d := range blocks {
			factors = append(factors, blas.View(Z, 0, at, l, d))
			at += d
		}
		Gamma, H := blas.NewGeneral(D, D), blas.NewGeneral(D, n)
		be := blas.Active()
		blas.GramOf(be, Gamma, Z)
		blas.Mul(be, H, true, false, Z, Y)
		p := Problem{
			Lambda: math.Pow(10, -4+3*rng.Float64()), Tau: 1 + 3*rng.Float64(),
			Norm: regularizer.Lp{P: []float64{1, 1.4}[seed%2]},
		}
		there, here := p, p
		there.Space = NewSamples(linop.NewFactorSum(factors, nil), Y)
		here.Space = NewFeatures(Gamma, H, square(blas.Frob(Y)), l, blocks, nil)
		product, err := Solve(t.Context(), &here, Options{})
		if err != nil {
			t.Fatal(err)
		}
		there.Model, here.Model = Sum, Sum
		opt := Options{Tol: 1e-7}
		want, err := Solve(t.Context(), &there, opt)
		if err != nil {
			t.Fatal(err)
		}
		F := blas.NewGeneral(l, n)
		for j := range blocks {
			addProduct(F, linop.NewFactorSum(factors, nil), want, j)
		}
		check := func(name string, opt Options) *Result {
			t.Helper()
			res, err := Solve(t.Context(), &here, opt)
			if err != nil {
				t.Fatalf("seed %d, %s: %v", seed, name, err)
			}
			if d := math.Abs(res.Objective - want.Objective); !(d <= 1e-7*want.Objective) {
				t.Errorf("seed %d, %s: objective %.12g, on samples %.12g", seed, name, res.Objective, want.Objective)
			}
			G, one := blas.NewGeneral(l, n), blas.NewGeneral(l, n)
			at := 0
			for j, d := range blocks {
				VL := blas.NewGeneral(d, n)
				res.Ls[j].MulRight(be, VL, blas.View(res.C, at, 0, d, n))
				blas.Mul(be, one, false, false, factors[j], VL)
				blas.AddScaled(G, 1, one)
				at += d
			}
			// f is as exact as the square root of the gap.
			if e := math.Sqrt(distance2(F, G) / square(blas.Frob(Y))); !(e <= 5e-3) {
				t.Errorf("seed %d, %s: functions %.3g apart", seed, name, e)
			}
			return res
		}
		var middle *State
		res := check("from the product", Options{Tol: 1e-7, Trace: func(s Step) error {
			if s.Iter == 3 {
				middle = s.State()
			}
			return nil
		}})
		if middle != nil {
			check("resumed", Options{Tol: 1e-7, Start: middle})
		}
		again := check("from the solution", Options{Tol: 1e-6, Start: &State{
			Eta: res.Eta, L: res.L,
			X: blas.Clone(res.C), Ls: res.Ls,
		}})
		if again.OuterIterations != 0 {
			t.Errorf("seed %d: %d iterations from the solution", seed, again.OuterIterations)
		}
		check("from a product model", Options{Tol: 1e-7, Start: &State{
			Eta: product.Eta, L: product.L,
			X: blas.Clone(product.C),
		}})
	}
}

// addProduct adds K_j·C·L_j to F.
func addProduct(F blas.General, K linop.Separate, res *Result, j int) {
	CL, one := blas.Like(F), blas.Like(F)
	res.Ls[j].MulRight(blas.Active(), CL, res.C)
	K.ApplyTerm(one, CL, j)
	blas.AddScaled(F, 1, one)
}

// Features that all are 0 leave the function 0.
func TestSumFeaturesOfZeros(t *testing.T) {
	p := Problem{
		Space: NewFeatures(blas.NewGeneral(3, 3), blas.NewGeneral(3, 2), 5, 10, []int{2, 1}, nil), Lambda: 0.1,
		Tau: 2, Model: Sum,
	}
	res, err := Solve(t.Context(), &p, Options{})
	if err != nil || math.Abs(res.Objective-0.5) > 1e-12 || slices.ContainsFunc(res.C.Data, func(v float64) bool {
		return v != 0
	}) {
		t.Errorf("error %v, result %+v", err, res)
	}
}
