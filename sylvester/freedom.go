package sylvester

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// FreedomTol is the relative residual to which [Freedom] solves the system of its estimate. The relative error of the
// estimate is of the order of its square.
const FreedomTol = 1e-2

// Freedom estimates tr ρK(ρK + μI)⁻¹ for every eigenvalue ρ of L, the effective degrees of freedom of its output. The
// estimate is N − μ·zᵀ(ρK + μI)⁻¹z for one vector z of random signs (Hutchinson 1989). Its standard deviation is √2
// times the norm of the off-diagonal elements of the matrix. It takes the solution of one system, with a column for
// each distinct ρ.
//
// In the same products with K, solver improves C to opt.Tol as [Solver].Solve does; a Y without columns asks for the
// estimate alone. The Result is that of C, with the work of both. Errors are those of Solve; C is then the last
// iterate. cfg has the seed of the signs and the backend.
func Freedom(
	ctx context.Context, solver Solver, C blas.General, sys System, Y blas.General, opt Options, cfg Config,
) (freedom []float64, res Result, err error) {
	N, n, groups := sys.K.Dim(), Y.Cols, distinct(sys.L.S)
	if n+len(groups) == 0 { // L = 0
		return nil, Result{}, nil
	}
	opt = opt.filled()
	// The size of the signs at which a residual of FreedomTol of them is as large as one of opt.Tol of Y.
	size, norm, signs := 1.0, blas.Frob(Y), math.Sqrt(float64(N*len(groups)))
	if norm > 0 {
		size = opt.Tol * norm / (FreedomTol * max(signs, 1))
		opt.Tol *= norm / math.Hypot(norm, size*signs)
	} else {
		opt.Tol = FreedomTol
	}
	rng := rand.New(rand.NewPCG(cfg.Seed, uint64(N)))
	Z := blas.NewGeneral(N, len(groups))
	for i := range N {
		sign := size * float64(2*rng.IntN(2)-1)
		for g := range groups {
			Z.Data[i*Z.Stride+g] = sign
		}
	}
	X := blas.SideBySide(C, blas.Like(Z))
	both := System{K: sys.K, L: beside(sys.L, groups, n), Mu: sys.Mu}
	res, err = solver.Solve(ctx, X, both, blas.SideBySide(Y, Z), opt)
	blas.Copy(C, blas.View(X, 0, 0, N, n))
	if n > 0 && res.KC.Data != nil {
		res.KC = blas.View(res.KC, 0, 0, N, n)
		res.Residual = residual(blas.Or(cfg.Backend), C, res.KC, sys, Y)
	}
	if err != nil {
		return nil, res, err
	}
	for g, of := range groups {
		trace := float64(N)
		for i := range N {
			trace -= sys.Mu * Z.Data[i*Z.Stride+g] / size * (X.Data[i*X.Stride+n+g] / size)
		}
		for range of[1] - of[0] {
			freedom = append(freedom, trace)
		}
	}
	return freedom, res, nil
}

// beside is L, if n > 0, and a row for each group of its eigenvalues, as one block-diagonal matrix.
func beside(L *linop.Spectral, groups [][2]int, n int) *linop.Spectral {
	order, rank := n+len(groups), len(groups)
	if n > 0 {
		rank += L.Rank()
	}
	both := &linop.Spectral{V: blas.NewGeneral(order, rank)}
	for g, of := range groups {
		for b := of[0]; b < of[1] && n > 0; b++ {
			for k := range n {
				both.V.Data[k*rank+len(both.S)] = L.V.Data[k*L.V.Stride+b]
			}
			both.S = append(both.S, L.S[b])
		}
		both.V.Data[(n+g)*rank+len(both.S)] = 1
		both.S = append(both.S, L.S[of[0]])
	}
	return both
}

// residual is ‖K·C·L + μC − Y‖_F/‖Y‖_F, 0 for an exact solution.
func residual(be blas.Backend, C, KC blas.General, sys System, Y blas.General) float64 {
	R := blas.Like(Y)
	sys.L.MulRight(be, R, KC)
	blas.AddScaled(R, sys.Mu, C)
	blas.AddScaled(R, -1, Y)
	return relative(blas.Frob(R), blas.Frob(Y))
}
