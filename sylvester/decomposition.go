// This file decomposes K, and applies by that the inverse of the system on the full grid of cells.

package sylvester

import (
	"context"
	"fmt"
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/memory"
	"github.com/iokl/iokl/linop"
)

// Decomposition is K = T·diag(Sigma)·Tᵀ with orthonormal columns of the l×q T. All
// eigenvectors are kept for q = l; for q < l it is a K of rank q, or the leading part
// of one. It does not depend on L or μ, so one serves any number of systems.
type Decomposition struct {
	T     blas.General
	Sigma []float64
}

// Decompose computes all eigenvectors and eigenvalues of K, about 10·l³ flops; Sigma
// ascends. Memory: 4·l² floats, of which l² stay. A nil backend is the
// active one. The error is ErrNotFinite, that of ctx, that of the backend, or that of
// too little memory.
func Decompose(ctx context.Context, K linop.Operator, be blas.Backend) (*Decomposition, error) {
	l := K.Dim()
	if err := memory.Check("sylvester: an eigendecomposition", 32*float64(l)*float64(l), "use factors of K or random features"); err != nil {
		return nil, err
	}
	d := &Decomposition{T: blas.NewGeneral(l, l), Sigma: make([]float64, l)}
	if err := linop.Dense(ctx, d.T, K); err != nil {
		return nil, err
	}
	if s := sum(d.T); !finite(s) {
		return nil, fmt.Errorf("%w: the elements of K sum to %g", ErrNotFinite, s)
	}
	err := blas.Until(ctx, blas.Or(be)).Syevd(d.T, d.Sigma)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return d, err
}

// whole reports whether T holds all eigenvectors.
func (d *Decomposition) whole() bool { return len(d.Sigma) == d.T.Rows }

// gridInverse is what [missingCells] needs of an approximation of Ā⁻¹, the inverse
// of Ā = K⊗L/μ + I on the full grid of l×n cells.
type gridInverse interface {
	// begin computes dst = Ā⁻¹·b.
	begin(ctx context.Context, dst, b blas.General) error
	// residual takes hold of r, which has only missing cells. It computes or bounds the norm of
	// the part of (K⊗L/μ)·r in the observed ones, and computes ⟨r, (K⊗L/μ)·r⟩.
	residual(r blas.General) (size, energy float64)
	// advance computes u = Ā⁻¹·p for p = r + beta·p′, with p′ of the call before.
	advance(ctx context.Context, u, p blas.General, beta float64) error
}

// spectralGrid is Ā⁻¹ by a decomposition of K and one of L = V·diag(ρ)·Vᵀ:
//
//	Ā⁻¹·R = R + T·(D∘(Tᵀ·R·V))·Vᵀ,   d_ij = 1/(σ_i·ρ_j/μ + 1) − 1,
//
// 4·l·q·r flops and 4·l·n·r for the rotations. Where T and V are square, R itself
// cancels and is left out. Scratch: l·r + 3·q·r floats.
type spectralGrid struct {
	be    blas.Backend
	dec   *Decomposition
	L     *linop.Spectral
	mu    float64
	rt    blas.General // l×r
	b     blas.General // Tᵀ·R·V, q×r, for b and for the residual
	p, du blas.General // the same for the direction, and D∘p
}

// ratio is σ_i·ρ/μ; an eigenvalue that rounding has made negative counts as 0.
func (g *spectralGrid) ratio(i int, rho float64) float64 {
	return max(g.dec.Sigma[i], 0) * (rho / g.mu)
}

// rotate computes b = Tᵀ·R·V.
func (g *spectralGrid) rotate(R blas.General) {
	q, r := len(g.dec.Sigma), g.L.Rank()
	g.b, g.rt = blas.Reshape(g.b, q, r), blas.Reshape(g.rt, R.Rows, r)
	if q > 0 && r > 0 {
		g.L.Rotate(g.be, g.rt, R)
		blas.Mul(g.be, g.b, true, false, g.dec.T, g.rt)
	}
}

// expand computes dst = Ā⁻¹·R from c = Tᵀ·R·V.
func (g *spectralGrid) expand(dst, R, c blas.General) {
	q, r := c.Rows, c.Cols
	if q == 0 || r == 0 {
		blas.Copy(dst, R)
		return
	}
	square := g.dec.whole() && r == R.Cols
	g.du = blas.Reshape(g.du, q, r)
	for i := range q {
		out := blas.Row(g.du, i)
		for j, v := range blas.Row(c, i) {
			t := g.ratio(i, g.L.S[j])
			if square {
				out[j] = v / (t + 1)
			} else {
				out[j] = -v * (t / (t + 1))
			}
		}
	}
	blas.Mul(g.be, g.rt, false, false, g.dec.T, g.du)
	if square {
		blas.Mul(g.be, dst, false, true, g.rt, g.L.V)
		return
	}
	blas.Copy(dst, R)
	blas.Gemm(g.be, false, true, 1, g.rt, g.L.V, 1, dst)
}

func (g *spectralGrid) begin(_ context.Context, dst, b blas.General) error {
	g.rotate(b)
	g.expand(dst, b, g.b)
	return nil
}

func (g *spectralGrid) residual(r blas.General) (size, energy float64) {
	g.rotate(r)
	for i := range g.b.Rows {
		for j, v := range blas.Row(g.b, i) {
			t := g.ratio(i, g.L.S[j])
			size += square(v * t)
			energy += v * v * t
		}
	}
	return math.Sqrt(size), energy
}

func (g *spectralGrid) advance(_ context.Context, u, p blas.General, beta float64) error {
	g.p = blas.Reshape(g.p, g.b.Rows, g.b.Cols)
	if beta == 0 {
		blas.Copy(g.p, g.b)
	} else {
		blas.Scal(beta, g.p.Data)
		blas.AddScaled(g.p, 1, g.b)
	}
	g.expand(u, p, g.p)
	return nil
}
