package sylvester_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/sylvester"
)

// TestOptionsSingle asserts that a solve in single precision throughout meets a
// rough tolerance in double precision too, with a preconditioner that rounding
// has not spoilt although K is of low numerical rank, which a later solve in
// double precision is not held back by.
func TestOptionsSingle(t *testing.T) {
	const l = 300
	rng := rand.New(rand.NewPCG(15, 16))
	K := spectrum(rng, decay(l, 1e4, 0.6))
	sum := linop.NewGramSum([]*blas.Sym{blas.SymFrom(K, blas.Float64)}, nil, blas.Float64)
	sum.SetWeights([]float64{1})
	c := testCase{K: K, L: outputKernel(rng, 12, decay(12, 1, 0.8)), mu: 0.5, Y: gaussian(rng, l, 12), tol: 1e-3}
	for _, name := range []string{"nystrom", "rotated"} {
		t.Run(name, func(t *testing.T) {
			s := solverNamed(t, name)
			C := blas.NewGeneral(l, 12)
			sys := system(c.K, c.L, c.mu)
			sys.K = sum
			iterations := map[bool]int{}
			for _, single := range []bool{false, true, false} {
				if single {
					s = solverNamed(t, name)
				}
				blas.Zero(C)
				res, err := s.Solve(context.Background(), C, sys, c.Y, sylvester.Options{Tol: c.tol, Single: single})
				if err != nil {
					t.Fatal(err)
				}
				if res.Single != single {
					t.Errorf("Single = %v, want %v", res.Single, single)
				}
				F := blas.NewGeneral(l, 12)
				one := linop.Term{K: linop.NewDense(K, nil), L: c.L}
				(&linop.KroneckerSum{Terms: []linop.Term{one}, Mu: c.mu}).ApplyMatrix(F, C)
				blas.AddScaled(F, -1, c.Y)
				if r := blas.Frob(F) / blas.Frob(c.Y); !(r <= 1.2*c.tol) {
					t.Errorf("single %v: residual %g", single, r)
				}
				if before, ok := iterations[single]; ok && res.Iter > 3*before/2+2 {
					t.Errorf("%d iterations after a solve in single precision, %d before", res.Iter, before)
				}
				iterations[single] = res.Iter
			}
		})
	}
}

// byPrecision counts the columns that are multiplied in each precision.
type byPrecision struct {
	*linop.GramSum
	double, single int
}

func (c *byPrecision) Apply(dst, x blas.General) {
	c.double += x.Cols
	c.GramSum.Apply(dst, x)
}

func (c *byPrecision) Single() linop.Operator { return inSingle{c.GramSum.Single(), c} }

type inSingle struct {
	linop.Operator
	of *byPrecision
}

func (c inSingle) Apply(dst, x blas.General) {
	c.of.single += x.Cols
	c.Operator.Apply(dst, x)
}

// TestMixed asserts that nystrom iterates in single precision where the order,
// the rank, the tolerance and the condition of the system allow, not elsewhere,
// and that the residual it reports is the true one of double precision. All but
// the check of the solution is byPrecision.
func TestMixed(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	large := sylvester.GaussianKernel(rng, 1000, 6, 0.05, blas.Active())
	small := sylvester.GaussianKernel(rng, 400, 6, 0.05, blas.Active())
	for _, c := range []struct {
		name   string
		K      *linop.GramSum
		rank   int
		lambda float64
		tol    float64
		single bool // the sketch, or its first part, is of single precision
		double bool // the iterations are of double precision
	}{
		{"as a rule", large, 12, 1e-3, 1e-4, true, false},
		{"exact", large, 12, 1e-3, 1e-6, true, true},
		{"ill conditioned", large, 12, 1e-6, 1e-6, true, true},
		{"small", small, 12, 1e-3, 1e-6, false, true},
		{"few columns", large, 3, 1e-3, 1e-6, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := c.K.Dim()
			K := &byPrecision{GramSum: c.K}
			L := outputKernel(rng, c.rank, decay(c.rank, float64(c.rank), 0.8))
			Y := gaussian(rng, l, c.rank)
			s := solverNamed(t, "nystrom")
			C := blas.NewGeneral(l, c.rank)
			sys := sylvester.System{K: K, L: L, Mu: c.lambda * float64(l)}
			for _, turn := range []string{"first", "second"} {
				K.double, K.single = 0, 0
				res, err := s.Solve(context.Background(), C, sys, Y, sylvester.Options{Tol: c.tol})
				if err != nil {
					t.Fatal(err)
				}
				if res.Single {
					t.Errorf("%s: the residual is claimed to be of single precision", turn)
				}
				F := blas.NewGeneral(l, c.rank)
				(&linop.KroneckerSum{Terms: []linop.Term{{K: c.K, L: L}}, Mu: sys.Mu}).ApplyMatrix(F, C)
				blas.AddScaled(F, -1, Y)
				if r := blas.Frob(F) / blas.Frob(Y); !(r <= c.tol) || math.Abs(r-res.Residual) > 1e-3*c.tol {
					t.Errorf("%s: residual %g, claimed %g, tolerance %g", turn, r, res.Residual, c.tol)
				}
				double := K.double - c.rank
				if single := c.single && (turn == "first" || !c.double); (K.single > 0) != single ||
					(double > 0) != c.double {
					t.Errorf("%s: %d columns in single precision, %d in double before the check", turn, K.single,
						double)
				}
				for j := range L.S { // a nearby system
					L.S[j] *= 1.02
				}
			}
		})
	}
}

// TestSingleAtItsFloor asserts that a solve for which single precision is just too rough multiplies at most 2.2 times
// the columns of one in double precision.
func TestSingleAtItsFloor(t *testing.T) {
	const l, n = 1000, 12
	rng := rand.New(rand.NewPCG(23, 24))
	K := sylvester.GaussianKernel(rng, l, 6, 0.05, blas.Active())
	L, Y := outputKernel(rng, n, decay(n, n, 0.8)), gaussian(rng, l, n)
	for _, name := range []string{"nystrom", "auto"} {
		for _, lambda := range []float64{1e-2, 1e-3, 1e-4, 2e-5} {
			for _, tol := range []float64{1e-5, 1e-7, 1e-9} {
				var columns [2]int
				for i, A := range []linop.Operator{K, linop.Func{N: l, F: K.Apply}} {
					res, err := solverNamed(t, name).Solve(context.Background(), blas.NewGeneral(l, n),
						sylvester.System{K: A, L: L, Mu: lambda * l}, Y, sylvester.Options{Tol: tol})
					if err != nil {
						t.Fatalf("%s, λ = %g, tolerance %g: %v", name, lambda, tol, err)
					}
					columns[i] = res.Columns
				}
				if ratio := float64(columns[0]) / float64(columns[1]); ratio > 2.2 {
					t.Errorf("%s, λ = %g, tolerance %g: %.2g times the columns (%d)", name, lambda, tol, ratio, columns)
				}
			}
		}
	}
}
