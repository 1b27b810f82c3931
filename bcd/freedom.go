// This file estimates the effective degrees of freedom of a solution.

package bcd

import (
	"context"
	"math/rand/v2"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/sylvester"
)

// freedomTol is the relative residual of the system of [productModel.freedom], whose error is of the order of its
// square.
const freedomTol = 1e-2

// freedom estimates tr ρA(ρA + μI)⁻¹ at pt, A = A_η, for every eigenvalue ρ of L, by zᵀ(ρA + μI)⁻¹z for a vector z of
// random signs (Hutchinson 1989): with standard deviation √2 times the norm of what the matrix has off its diagonal.
func (p *productModel) freedom(ctx context.Context, pt *point) ([]float64, error) {
	N, L := p.t.space.Unknowns(), pt.L
	rng := rand.New(rand.NewPCG(p.t.seed, uint64(N)))
	Z := blas.NewGeneral(N, L.Rank())
	for i := range N {
		sign := float64(2*rng.IntN(2) - 1)
		for b := range L.Rank() {
			Z.Data[i*Z.Stride+b] = sign
		}
	}
	X, Y := blas.NewGeneral(N, L.Dim()), blas.NewGeneral(N, L.Dim())
	blas.Mul(p.t.be, Y, false, true, Z, L.V)
	sys, single := p.form(ctx, pt, freedomTol)
	res, err := p.solver.Solve(ctx, X, sys, Y, sylvester.Options{Tol: freedomTol, Single: single})
	p.cost.count(res)
	if err != nil {
		return nil, err
	}
	S := blas.Like(Z)
	blas.Mul(p.t.be, S, false, false, X, L.V)
	freedom := make([]float64, L.Rank())
	for b := range freedom {
		freedom[b] = float64(N)
		for i := range N {
			freedom[b] -= sys.Mu * Z.Data[i*Z.Stride+b] * S.Data[i*S.Stride+b]
		}
	}
	return freedom, nil
}
