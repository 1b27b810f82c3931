package sylvester_test

import (
	"math"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/sylvester"
	"github.com/iokl/iokl/sylvester/solvertest"
)

var (
	gaussian     = solvertest.Gaussian
	spectrum     = solvertest.Spectrum
	decay        = solvertest.Decay
	outputKernel = solvertest.OutputKernel
	holes        = solvertest.Holes
)

// dense is a symmetric matrix as an operator.
type dense struct {
	a  blas.General
	be blas.Backend
}

func (d dense) Dim() int                  { return d.a.Rows }
func (d dense) Apply(dst, x blas.General) { blas.Mul(d.be, dst, false, false, d.a, x) }
func (d dense) Dense(dst blas.General)    { blas.Copy(dst, d.a) }

func system(K blas.General, L *linop.Spectral, mu float64) sylvester.System {
	return sylvester.System{K: dense{K, blas.Active()}, L: L, Mu: mu}
}

func solverNamed(t testing.TB, name string) sylvester.Solver {
	t.Helper()
	s, err := sylvester.New(name, sylvester.Config{Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// residual is ‖Y − K·C·L − μC‖_F/‖Y‖_F from dense matrices.
func residual(K blas.General, L *linop.Spectral, mu float64, C, Y blas.General) float64 {
	KC, R := blas.NewGeneral(C.Rows, C.Cols), blas.NewGeneral(C.Rows, C.Cols)
	blas.Mul(blas.Active(), KC, false, false, K, C)
	L.MulRight(blas.Active(), R, KC)
	blas.AddScaled(R, mu, C)
	blas.AddScaled(R, -1, Y)
	if nY := blas.Frob(Y); nY > 0 {
		return blas.Frob(R) / nY
	}
	return blas.Frob(R)
}

type testCase struct {
	name string
	K    blas.General
	L    *linop.Spectral
	mu   float64
	Y    blas.General
	tol  float64
}

// checkClaims compares what res says with C itself.
func checkClaims(t *testing.T, c testCase, C blas.General, res sylvester.Result) {
	t.Helper()
	r := residual(c.K, c.L, c.mu, C, c.Y)
	if !(r <= c.tol) {
		t.Errorf("residual %g, tolerance %g", r, c.tol)
	}
	if !(math.Abs(r-res.Residual) <= 1e-3*r+1e-12) {
		t.Errorf("residual %g, claimed %g", r, res.Residual)
	}
	KC := blas.NewGeneral(C.Rows, C.Cols)
	blas.Mul(blas.Active(), KC, false, false, c.K, C)
	blas.AddScaled(KC, -1, res.KC)
	if d := blas.Frob(KC); !(d <= 1e-12*blas.Frob(c.K)*blas.Frob(C)) {
		t.Errorf("KC is off by %g", d)
	}
}
