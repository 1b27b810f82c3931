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
	large, small := gaussianKernel(rng, 1000, 6, 0.05, blas.Active()), gaussianKernel(rng, 400, 6, 0.05, blas.Active())
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
				(&linop.Kronecker{K: c.K, L: L, Mu: sys.Mu}).ApplyMatrix(F, C)
				blas.AddScaled(F, -1, Y)
				if r := blas.Frob(F) / blas.Frob(Y); !(r <= c.tol) || math.Abs(r-res.Residual) > 1e-3*c.tol {
					t.Errorf("%s: residual %g, claimed %g, tolerance %g", turn, r, res.Residual, c.tol)
				}
				double := K.double - c.rank
				if single := c.single && (turn == "first" || !c.double); (K.single > 0) != single || (double > 0) != c.double {
					t.Errorf("%s: %d columns in single precision, %d in double before the check", turn, K.single, double)
				}
				for j := range L.S { // a nearby system
					L.S[j] *= 1.02
				}
			}
		})
	}
}
