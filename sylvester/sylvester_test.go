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

// dense is a symmetric matrix as an operator.
type dense struct {
	a  blas.General
	be blas.Backend
}

func (d dense) Dim() int                  { return d.a.Rows }
func (d dense) Apply(dst, x blas.General) { blas.Mul(d.be, dst, false, false, d.a, x) }
func (d dense) Dense(dst blas.General)    { blas.Copy(dst, d.a) }

func gaussian(rng *rand.Rand, r, c int) blas.General {
	a := blas.NewGeneral(r, c)
	for i := range a.Data {
		a.Data[i] = rng.NormFloat64()
	}
	return a
}

// spectrum is the matrix Q·diag(s)·Qᵀ with a random orthogonal Q.
func spectrum(rng *rand.Rand, s []float64) blas.General {
	l := len(s)
	q := gaussian(rng, l, l)
	be := blas.Active()
	be.QR(q, blas.General{})
	t, a := blas.Clone(q), blas.NewGeneral(l, l)
	for i := range l {
		for j, v := range s {
			t.Data[i*l+j] *= v
		}
	}
	blas.Mul(be, a, false, true, t, q)
	for i := range l {
		for j := range i {
			a.Data[j*l+i] = a.Data[i*l+j]
		}
	}
	return a
}

// decay is c·b^j for j < k.
func decay(k int, c, b float64) []float64 {
	s := make([]float64, k)
	for j := range s {
		s[j] = c * math.Pow(b, float64(j))
	}
	return s
}

// outputKernel is a random n×n L with the given positive eigenvalues.
func outputKernel(rng *rand.Rand, n int, s []float64) *linop.Spectral {
	v := gaussian(rng, n, len(s))
	if len(s) > 0 {
		blas.Active().QR(v, blas.General{})
	}
	return &linop.Spectral{V: v, S: s}
}

// residual is ‖Y − K·C·L − μC‖_F/‖Y‖_F from dense matrices.
func residual(K blas.General, L *linop.Spectral, mu float64, C, Y blas.General) float64 {
	be := blas.Active()
	kc, R := blas.NewGeneral(C.Rows, C.Cols), blas.NewGeneral(C.Rows, C.Cols)
	blas.Mul(be, kc, false, false, K, C)
	L.MulRight(be, R, kc)
	blas.AddScaled(R, mu, C)
	blas.AddScaled(R, -1, Y)
	if nY := blas.Frob(Y); nY > 0 {
		return blas.Frob(R) / nY
	}
	return blas.Frob(R)
}

func TestEverySolverSolves(t *testing.T) {
	const l, n, mu = 80, 7, 0.3
	rng := rand.New(rand.NewPCG(1, 2))
	K := spectrum(rng, decay(l, 10, 0.8))
	L := outputKernel(rng, n, decay(4, 3, 0.5))
	Y := gaussian(rng, l, n)
	for _, name := range sylvester.Names() {
		t.Run(name, func(t *testing.T) {
			s, err := sylvester.New(name, sylvester.Config{})
			if err != nil {
				t.Fatal(err)
			}
			C := blas.NewGeneral(l, n)
			res, err := s.Solve(context.Background(), C, sylvester.System{K: dense{K, blas.Active()}, L: L, Mu: mu}, Y, sylvester.Options{Tol: 1e-10})
			if err != nil {
				t.Fatal(err)
			}
			if r := residual(K, L, mu, C, Y); !(r <= 1e-10) || math.Abs(r-res.Residual) > 1e-12 {
				t.Errorf("residual %g, claimed %g", r, res.Residual)
			}
		})
	}
}
