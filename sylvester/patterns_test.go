package sylvester_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/deadline"
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
	for _, p := range []struct {
		name     string
		observed func(i, j int) bool
	}{
		{"few uniform", func(int, int) bool { return rng.Float64() >= 0.05 }},
		{"half uniform", func(int, int) bool { return rng.Float64() >= 0.5 }},
		{"most uniform", func(int, int) bool { return rng.Float64() >= 0.9 }},
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

// Whatever cells are missing, the solution comes in time, its residual is within the tolerance, and it is that of a
// dense factor, where one fits; also where K is next to a multiple of the identity but for what is smooth.
func TestMaskedPatterns(t *testing.T) {
	shapes, lambdas := [][2]int{{50, 40}}, []float64{1e-6, 1e-1}
	if !testing.Short() {
		shapes = [][2]int{{1, 400}, {4, 1000}, {12, 333}, {50, 80}, {200, 20}, {200, 500}}
		lambdas = []float64{1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1}
	}
	for _, shape := range shapes {
		n, l := shape[0], shape[1]
		rng := rand.New(rand.NewPCG(41, uint64(n+l)))
		smooth, apart := blas.NewGeneral(l, l), blas.NewGeneral(l, l)
		for _, K := range []blas.General{smooth, apart} {
			if err := linop.Dense(t.Context(), K, sylvester.GaussianKernel(rng, l, 4, 0.1, blas.Active())); err != nil {
				t.Fatal(err)
			}
		}
		for i := range l {
			apart.Data[i*l+i] += 0.5
		}
		L := outputKernel(rng, n, decay(n, 0.5*float64(n), math.Pow(1e-3, 1/float64(n))))
		Y := gaussian(rng, l, n)
		for _, p := range missingPatterns(rng, l, n) {
			for k, lambda := range append(lambdas, lambdas[0]) {
				K := smooth
				if k == len(lambdas) {
					K = apart
				}
				t.Run(fmt.Sprintf("%s/l=%d/n=%d/λ=%g/%d", p.name, l, n, lambda, k), func(t *testing.T) {
					deadline.Run(t, time.Minute, func() {
						solvePattern(t, p.cells, K, L, lambda*float64(l), Y)
					})
				})
			}
		}
	}
}

func solvePattern(t *testing.T, cells *linop.Cells, K blas.General, L *linop.Spectral, mu float64, Y blas.General) {
	const tol = 1e-6
	be, l, n := blas.Active(), Y.Rows, Y.Cols
	sys := sylvester.System{K: linop.NewDense(K, be), L: L, Mu: mu}
	C, given := blas.NewGeneral(l, n), blas.NewGeneral(l, n)
	cells.Keep(given, Y)
	res, err := newMasked(t, "auto", cells).Solve(t.Context(), C, sys, Y, sylvester.Options{Tol: tol})
	if err != nil {
		t.Error(err)
		return
	}
	KC, R := blas.Like(C), blas.Like(C)
	blas.Mul(be, KC, false, false, K, C)
	L.MulRight(be, R, KC)
	blas.AddScaled(R, mu, C)
	blas.AddScaled(R, -1, given)
	cells.Keep(R, R)
	if r := blas.Frob(R); !(r <= 1.001*tol*blas.Frob(given)) {
		t.Errorf("residual %g of %g after %d iterations", r, blas.Frob(given), res.Iter)
	}
	if outside := blas.Clone(C); cells.Count() > 4000 {
		cells.Keep(outside, C)
		blas.AddScaled(outside, -1, C)
		if blas.Frob(outside) != 0 {
			t.Error("coefficients outside of the cells")
		}
		return
	}
	sys.Cells = cells
	factor, err := sylvester.Factor(t.Context(), be, sys)
	if err != nil {
		t.Error(err)
		return
	}
	want := blas.NewGeneral(l, n)
	factor.Apply(blas.Vector(want.Data), blas.Vector(given.Data))
	blas.AddScaled(want, -1, C)
	most := tol * blas.Frob(given) / mu // ‖A⁻¹‖ is at most 1/μ
	if d := blas.Frob(want); !(d <= 1.1*most) {
		t.Errorf("%g from the dense solution, at most %g by the residual; %d iterations", d, most, res.Iter)
	}
}
