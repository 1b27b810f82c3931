package sylvester

import (
	"context"
	"math/rand/v2"

	"github.com/iokl/iokl/blas"
)

// Freedom estimates tr ρK(ρK + μI)⁻¹ for every eigenvalue ρ of L, the effective degrees of freedom of its output, by
// zᵀ(ρK + μI)⁻¹z for a vector z of random signs (Hutchinson 1989): with standard deviation √2 times the norm of what
// the matrix has off its diagonal. It costs one solve of the system by solver to opt.Tol, the square of which is the
// order of the error.
func Freedom(ctx context.Context, solver Solver, sys System, opt Options, seed uint64) ([]float64, Result, error) {
	N, L, be := sys.K.Dim(), sys.L, blas.Active()
	rng := rand.New(rand.NewPCG(seed, uint64(N)))
	Z := blas.NewGeneral(N, L.Rank())
	for i := range N {
		sign := float64(2*rng.IntN(2) - 1)
		for b := range L.Rank() {
			Z.Data[i*Z.Stride+b] = sign
		}
	}
	X, Y := blas.NewGeneral(N, L.Dim()), blas.NewGeneral(N, L.Dim())
	blas.Mul(be, Y, false, true, Z, L.V)
	res, err := solver.Solve(ctx, X, sys, Y, opt)
	if err != nil {
		return nil, res, err
	}
	S := blas.Like(Z)
	blas.Mul(be, S, false, false, X, L.V)
	freedom := make([]float64, L.Rank())
	for b := range freedom {
		freedom[b] = float64(N)
		for i := range N {
			freedom[b] -= sys.Mu * Z.Data[i*Z.Stride+b] * S.Data[i*S.Stride+b]
		}
	}
	return freedom, res, nil
}
