package sylvester_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/sylvester"
)

func scaled(alpha float64, a blas.General) blas.General {
	b := blas.Clone(a)
	blas.Scal(alpha, b.Data)
	return b
}

// rotation is block diagonal with rotations by different angles: all its eigenvalues are complex when n is even.
func rotation(n int) blas.General {
	a := blas.NewGeneral(n, n)
	for i := 0; i < n; i += 2 {
		s, c := math.Sincos(0.3 + float64(i))
		a.Data[i*n+i] = c
		if i+1 < n {
			a.Data[i*n+i+1], a.Data[(i+1)*n+i], a.Data[(i+1)*n+i+1] = -s, s, c
		}
	}
	return a
}

// defective is one Jordan block.
func defective(n int, lambda float64) blas.General {
	a := blas.NewGeneral(n, n)
	for i := range n {
		a.Data[i*n+i] = lambda
		if i+1 < n {
			a.Data[i*n+i+1] = 1
		}
	}
	return a
}

// equationResidual is ‖A·X·B + μX − Q‖_F over ε(‖A‖_F‖B‖_F + |μ|)‖X‖_F.
func equationResidual(A, B blas.General, mu float64, X, Q blas.General) float64 {
	be := blas.Active()
	ax, R := blas.NewGeneral(X.Rows, X.Cols), blas.NewGeneral(X.Rows, X.Cols)
	blas.Mul(be, ax, false, false, A, X)
	blas.Mul(be, R, false, false, ax, B)
	blas.AddScaled(R, mu, X)
	blas.AddScaled(R, -1, Q)
	return blas.Frob(R) / (0x1p-52 * (blas.Frob(A)*blas.Frob(B) + math.Abs(mu)) * blas.Frob(X))
}

func TestGeneral(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for _, c := range []struct {
		name string
		A, B blas.General
		mu   float64
	}{
		{"random", gaussian(rng, 130, 130), gaussian(rng, 53, 53), 2},
		{"wide", gaussian(rng, 7, 7), gaussian(rng, 110, 110), -3},
		{"one output", gaussian(rng, 60, 60), gaussian(rng, 1, 1), 0.5},
		{"scalar", gaussian(rng, 1, 1), gaussian(rng, 1, 1), 0.5},
		{"no shift", gaussian(rng, 20, 20), gaussian(rng, 9, 9), 0},
		{"complex eigenvalues", rotation(64), rotation(50), 0.25},
		{"odd blocks", rotation(51), rotation(49), 0.25},
		{"defective", defective(40, 1), defective(30, 2), 1},
		{"symmetric", spectrum(rng, decay(70, 5, 0.8)), spectrum(rng, decay(20, 5, 0.8)), 0.1},
		{"huge", scaled(1e100, gaussian(rng, 50, 50)), gaussian(rng, 20, 20), 1e100},
		{"tiny", scaled(1e-100, gaussian(rng, 50, 50)), gaussian(rng, 20, 20), 1e-100},
		{"zero A", blas.NewGeneral(20, 20), gaussian(rng, 20, 20), 1},
	} {
		Q := gaussian(rng, c.A.Rows, c.B.Rows)
		s := new(sylvester.BartelsStewart)
		t.Run(c.name, func(t *testing.T) {
			// A first use with other sizes leaves memory that must not matter.
			if err := s.Factor(gaussian(rng, 33, 33), rotation(44)); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Solve(blas.NewGeneral(33, 44), 1, gaussian(rng, 33, 44)); err != nil {
				t.Fatal(err)
			}
			if err := s.Factor(c.A, c.B); err != nil {
				t.Fatal(err)
			}
			for _, mu := range []float64{c.mu, c.mu * 7} {
				X := gaussian(rng, Q.Rows, Q.Cols)
				res, err := s.Solve(X, mu, Q)
				if err != nil {
					t.Fatal(err)
				}
				r := equationResidual(c.A, c.B, mu, X, Q)
				if !(r < 30) || !(math.Abs(r-res.Backward) < 1e-3*r+1e-3) {
					t.Errorf("backward-error ratio %g, claimed %g", r, res.Backward)
				}
			}
		})
	}
}

func TestGeneralRefusals(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	nan := gaussian(rng, 5, 5)
	nan.Data[7] = math.NaN()
	s := new(sylvester.BartelsStewart)
	if err := s.Factor(nan, rotation(4)); !errors.Is(err, sylvester.ErrNotFinite) {
		t.Errorf("NaN in A: %v", err)
	}
	if err := s.Factor(rotation(6), rotation(6)); err != nil {
		t.Fatal(err)
	}
	bad := gaussian(rng, 6, 6)
	bad.Data[3] = math.Inf(-1)
	if _, err := s.Solve(blas.NewGeneral(6, 6), 1, bad); !errors.Is(err, sylvester.ErrNotFinite) {
		t.Errorf("infinite Q: %v", err)
	}
	// The product of the eigenvalues 2 and 3 is −μ.
	if err := s.Factor(scaled(2, rotation(0)), rotation(0)); err != nil {
		t.Errorf("empty: %v", err)
	}
	if err := s.Factor(defective(6, 2), defective(4, 3)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Solve(blas.NewGeneral(6, 4), -6, gaussian(rng, 6, 4)); !errors.Is(err, sylvester.ErrSingular) {
		t.Errorf("singular: %v", err)
	}
}

func BenchmarkGeneral(b *testing.B) {
	for _, size := range []struct{ l, n int }{{300, 50}, {1000, 100}, {2000, 100}} {
		rng := rand.New(rand.NewPCG(1, 2))
		A, B, Q := gaussian(rng, size.l, size.l), gaussian(rng, size.n, size.n), gaussian(rng, size.l, size.n)
		for _, be := range blas.Backends() {
			s := &sylvester.BartelsStewart{Backend: be}
			if be.Name() == "gonum" || size.l > 1000 && be.Name() != "openblas" {
				continue // minutes
			}
			b.Run(fmt.Sprintf("op=bartels-stewart/l=%d/n=%d/impl=%s", size.l, size.n, be.Name()), func(b *testing.B) {
				X := blas.NewGeneral(size.l, size.n)
				var res sylvester.GeneralResult
				for b.Loop() {
					err := s.Factor(A, B)
					if err == nil {
						res, err = s.Solve(X, 1, Q)
					}
					if err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(res.Backward, "backward")
			})
		}
	}
}
