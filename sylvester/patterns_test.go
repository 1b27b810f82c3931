package sylvester_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/sylvester"
)

// missingPattern is a way in which cells are missing, the first row being observed in full.
type missingPattern struct {
	name  string
	cells *linop.Cells
}

func missingPatterns(rng *rand.Rand, l, n int) (list []missingPattern) {
	tail, gone := make([]int, l), make([]bool, l)
	for i := range tail {
		if tail[i] = n; rng.IntN(2) == 0 {
			tail[i] = 1 + rng.IntN(n)
		}
		gone[i] = rng.IntN(3) == 0
	}
	share := []float64{0.05, 0.5, 0.9}[rng.IntN(3)]
	for _, p := range []struct {
		name     string
		observed func(i, j int) bool
	}{
		{"uniform", func(int, int) bool { return rng.Float64() >= share }},
		{"tails", func(i, j int) bool { return j < tail[i] }},
		{"blocks", func(i, j int) bool { return (3*i/l+3*j/n)%2 == 0 }},
		{"whole rows", func(i, _ int) bool { return !gone[i] }},
		{"nearly empty output", func(i, j int) bool { return j > 0 || i == 1 }},
	} {
		cells := linop.NewCells(l, n, func(i, j int) bool { return i == 0 || p.observed(i, j) })
		list = append(list, missingPattern{p.name, cells})
	}
	return list
}

// Whatever cells are missing, the solution is that of a dense factor, and its residual, computed by that factor's
// matrix, is within the tolerance; also where K is next to a multiple of the identity but for what is smooth.
func TestMaskedPatterns(t *testing.T) {
	const tol = 1e-6
	outputs, lambdas := []int{4, 50, 200}, []float64{1e-6, 1e-4, 1e-3, 1e-1}
	if testing.Short() {
		outputs, lambdas = []int{50}, []float64{1e-4, 1e-1}
	}
	for _, n := range outputs {
		l := 4000 / n
		rng := rand.New(rand.NewPCG(41, uint64(n)))
		smooth := gaussianKernel(rng, l, 4, 0.1, blas.Active())
		apart := blas.NewGeneral(l, l)
		if err := linop.Dense(context.Background(), apart, smooth); err != nil {
			t.Fatal(err)
		}
		for i := range l {
			apart.Data[i*l+i] += 0.5
		}
		L := outputKernel(rng, n, decay(n, 0.5*float64(n), math.Pow(1e-3, 1/float64(n))))
		Y := gaussian(rng, l, n)
		for _, p := range missingPatterns(rng, l, n) {
			for k, lambda := range append(lambdas, lambdas[0]) {
				var K linop.Operator = smooth
				if k == len(lambdas) {
					K = linop.NewDense(apart, blas.Active())
				}
				t.Run(fmt.Sprintf("%s/n=%d/λ=%g/%d", p.name, n, lambda, k), func(t *testing.T) {
					sys := sylvester.System{K: K, L: L, Mu: lambda * float64(l)}
					C := blas.NewGeneral(l, n)
					res, err := newMasked(t, "auto", p.cells).Solve(context.Background(), C, sys, Y,
						sylvester.Options{Tol: tol})
					if err != nil {
						t.Fatal(err)
					}
					factor, err := sylvester.NewObservedFactor(context.Background(), blas.Active(), sys, p.cells)
					if err != nil {
						t.Fatal(err)
					}
					want, given := blas.NewGeneral(l, n), blas.NewGeneral(l, n)
					p.cells.Keep(given, Y)
					factor.Apply(blas.Vector(want.Data), blas.Vector(given.Data))
					most := tol * blas.Frob(given) / sys.Mu // ‖A⁻¹‖ is at most 1/μ
					blas.AddScaled(want, -1, C)
					if d := blas.Frob(want); !(d <= 1.1*most) {
						t.Errorf("%g from the dense solution, at most %g by the residual; %d iterations", d, most,
							res.Iter)
					}
				})
			}
		}
	}
}
