package quasinewton

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// box is the weights between 0 and 1.
type box struct{}

func (box) Project(z []float64) ([]*linop.Spectral, error) {
	for i, v := range z {
		z[i] = min(max(v, 0), 1)
	}
	return nil, nil
}

func (box) Slope(grad, dir, _ []float64) float64 { return blas.Dot(grad, dir) }

func flat(blas.General, []float64) []blas.General { return nil }

// quadratic is the gradient of zᵀAz/2 − bᵀz for A = RRᵀ + I.
func quadratic(seed uint64, n int) (A blas.General, gradient func(z []float64) []float64) {
	rng := rand.New(rand.NewPCG(seed, 1))
	R, A := blas.NewGeneral(n, n), blas.NewGeneral(n, n)
	b := make([]float64, n)
	for i := range R.Data {
		R.Data[i] = rng.NormFloat64()
	}
	for i := range b {
		b[i] = 3 * rng.NormFloat64()
		A.Data[i*(n+1)] = 1
	}
	blas.Gemm(blas.Active(), false, true, 1, R, R, 1, A)
	return A, func(z []float64) []float64 {
		g := make([]float64, n)
		for i := range g {
			g[i] = blas.Dot(blas.Row(A, i), z) - b[i]
		}
		return g
	}
}

// Steps to the minimiser of the model end where the gradient of a quadratic keeps every weight: 0
// where it is at a bound
// and points outwards or inside. After a move the model agrees with the change of the gradient (the secant equation).
func TestModelMinimises(t *testing.T) {
	const n = 12
	for seed := range uint64(5) {
		A, gradient := quadratic(seed, n)
		z := make([]float64, n)
		for i := range z {
			z[i] = 0.5
		}
		q := &Model{Backend: blas.Active(), Weights: n}
		if err := q.Begin(z, gradient(z), flat); err != nil {
			t.Fatal(err)
		}
		for range 60 {
			g := gradient(z)
			next, _, decrease, err := q.Minimize(t.Context(), box{}, z, g, nil)
			if err != nil || decrease < 0 {
				t.Fatalf("decrease %g, %v", decrease, err)
			}
			s, y, Bs := make([]float64, n), gradient(next), make([]float64, n)
			for i := range s {
				s[i] = next[i] - z[i]
				y[i] -= g[i]
			}
			if blas.Nrm2(s) < 1e-9 {
				break
			}
			want := append([]float64(nil), y...)
			if err := q.Update(append([]float64(nil), s...), y, next, flat); err != nil {
				t.Fatal(err)
			}
			q.mul(Bs, s)
			blas.Axpy(-1, want, Bs)
			if e := blas.Nrm2(Bs); !(e <= 1e-6*blas.Nrm2(want)) {
				t.Fatalf("seed %d: B·s differs from the change of the gradient by %g of %g", seed, e, blas.Nrm2(want))
			}
			z = next
		}
		for i, g := range gradient(z) {
			if pulled := math.Min(math.Max(z[i]-g, 0), 1) - z[i]; !(math.Abs(pulled) <= 1e-5*(1+A.Data[i*(n+1)])) {
				t.Errorf("seed %d: weight %d stays at %g with gradient %g", seed, i, z[i], g)
			}
		}
	}
}

// A model that has seen no move takes a step of about half the size of the weights against the gradient.
func ExampleModel() {
	z := []float64{0.5, 0.5}
	gradient := []float64{z[0] - 3, z[1] + 1}
	q := &Model{Backend: blas.Active(), Weights: 2}
	if err := q.Begin(z, gradient, flat); err != nil {
		panic(err)
	}
	z, _, _, err := q.Minimize(context.Background(), box{}, z, gradient, nil)
	fmt.Printf("%.2f %v\n", z, err)
	// Output:
	// [0.80 0.32] <nil>
}
