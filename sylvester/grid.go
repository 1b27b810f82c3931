// This file applies the inverse of the system on the full grid of cells, by eigenvectors of K.

package sylvester

import (
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// spectralGrid is what [missingCells] needs of Ā⁻¹, the inverse of Ā = K⊗L/μ + I on the full grid of l×n cells, by a
// decomposition of K and one of L = V·diag(ρ)·Vᵀ:
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
	if g.dec.whole() && r == R.Cols {
		g.filter(c, func(t float64) float64 { return 1 / (t + 1) })
		blas.Mul(g.be, dst, false, true, g.rt, g.L.V)
		return
	}
	g.filter(c, func(t float64) float64 { return -t / (t + 1) })
	blas.Copy(dst, R)
	blas.Gemm(g.be, false, true, 1, g.rt, g.L.V, 1, dst)
}

// filter computes rt = T·(D∘c), d_ij = f(σ_i·ρ_j/μ).
func (g *spectralGrid) filter(c blas.General, f func(ratio float64) float64) {
	g.du = blas.Reshape(g.du, c.Rows, c.Cols)
	for i := range c.Rows {
		out := blas.Row(g.du, i)
		for j, v := range blas.Row(c, i) {
			out[j] = v * f(g.ratio(i, g.L.S[j]))
		}
	}
	blas.Mul(g.be, g.rt, false, false, g.dec.T, g.du)
}

// correct computes dst = (K⊗L/μ)·(I + share·K⊗L/μ)⁻¹·r for the r of the last residual, or reports false.
func (g *spectralGrid) correct(dst blas.General, share float64) bool {
	if g.b.Rows == 0 || g.b.Cols == 0 {
		return false
	}
	g.filter(g.b, func(t float64) float64 { return t / (1 + share*t) })
	blas.Mul(g.be, dst, false, true, g.rt, g.L.V)
	return true
}

// begin computes dst = Ā⁻¹·b.
func (g *spectralGrid) begin(dst, b blas.General) {
	g.rotate(b)
	g.expand(dst, b, g.b)
}

// residual takes hold of r. It bounds the norm of P·(K⊗L/μ)·r, and computes ⟨r, (K⊗L/μ)·r⟩.
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

// advance computes u = Ā⁻¹·p for p = r + beta·p′, with p′ of the call before.
func (g *spectralGrid) advance(u, p blas.General, beta float64) {
	g.p = blas.Reshape(g.p, g.b.Rows, g.b.Cols)
	if beta == 0 {
		blas.Copy(g.p, g.b)
	} else {
		blas.Scal(beta, g.p.Data)
		blas.AddScaled(g.p, 1, g.b)
	}
	g.expand(u, p, g.p)
}
