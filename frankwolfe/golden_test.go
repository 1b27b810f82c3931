package frankwolfe_test

import (
	"context"
	"math"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/frankwolfe"
	"github.com/iokl/iokl/internal/files/npy/npytest"
)

var bg = context.Background()

// The reference values come from an independent program that solved to a gap below 1e-10.
var golden = []struct {
	name           string
	tau, value     float64
	boundIsReached bool
}{
	{"lstep_active", 3, 6.258663881508322, true},
	{"lstep_inactive", 1e4, 5.89867594214635, false},
}

func load(t testing.TB, file, name string) blas.General {
	t.Helper()
	a := npytest.Load(t, file)[name]
	return blas.General{Rows: a.Shape[0], Cols: a.Shape[1], Stride: a.Shape[1], Data: a.Data}
}

func goldenProblem(t testing.TB, file string, tau float64) (p *frankwolfe.Problem, A, Y blas.General) {
	A, Y = load(t, file, "A"), load(t, file, "Y")
	return problem(A, Y, load(t, file, "B"), 0.05, tau), A, Y
}

// problem forms the products of A and Y.
func problem(A, Y, B blas.General, lambda, tau float64) *frankwolfe.Problem {
	n := A.Cols
	p := &frankwolfe.Problem{
		AtA: blas.NewGeneral(n, n), AtY: blas.NewGeneral(n, n), B: B,
		YY: blas.Inner(Y, Y), Samples: float64(A.Rows), Lambda: lambda, Tau: tau,
	}
	blas.Mul(blas.Active(), p.AtA, true, false, A, A)
	blas.Mul(blas.Active(), p.AtY, true, false, A, Y)
	return p
}

func TestGolden(t *testing.T) {
	for _, c := range golden {
		t.Run(c.name, func(t *testing.T) {
			p, _, _ := goldenProblem(t, c.name, c.tau)
			want := load(t, c.name, "L")
			const tol = 1e-3
			L := blas.NewGeneral(6, 6)
			res, err := frankwolfe.Solve(bg, L, p, frankwolfe.Options{Tol: tol})
			if err != nil {
				t.Error(err)
			}
			t.Logf("%d iterations, %d multiplies, gap %.3g", res.Iter, res.Applies, res.Gap)
			if !(math.Abs(res.Value-c.value) <= tol*c.value) {
				t.Errorf("g = %.15g, want %.15g", res.Value, c.value)
			}
			if v := least(t, p); !(math.Abs(v-c.value) <= 1e-9*c.value) {
				t.Errorf("projected gradients end at %.15g, want %.15g", v, c.value)
			}
			blas.AddScaled(L, -1, want)
			if d := blas.Frob(L); !(d <= 20*math.Sqrt(tol)*blas.Frob(want)) {
				t.Errorf("L is %g away", d)
			}
		})
	}
}
