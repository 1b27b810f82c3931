// Package interior minimises h = λ⟨Y, C⟩, the objective with the coefficients C eliminated, over output kernels by
// interior point methods: [Barrier] over L ⪰ 0 of trace τ at fixed weights of the kernels, and [Sum] over an output
// kernel L_j for each kernel.
package interior

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// Constants of the method; figures in docs/decisions/2026-11-21-learning.md.
const (
	barrierFall  = 0.2  // factor of ν between steps
	barrierSteps = 40   // at most
	barrierCG    = 60   // conjugate gradient iterations of a step, at most
	barrierTol   = 1e-2 // relative residual of the Newton equations
	toBoundary   = 0.95 // share of the way to the boundary of the cone
	barrierLift  = 1e-3 // eigenvalues are raised towards the central path up to this share of their mean
	backtracks   = 25
)

// Problem is the L step in the eigenvectors U of A_η.
type Problem struct {
	Backend blas.Backend
	Tau, Mu float64
	S       []float64    // eigenvalues σ of A_η, descending
	H       blas.General // UᵀY (q×n)
	Cells   *Cells       // of Y that are observed, where few are; nil where the outputs decouple
	Tilt    blas.General // E (n×n) of a term ⟨E,L⟩ that is added to h/λ; without Data for none
}

// Barrier is an interior point method for the L step at fixed weights. In the
// eigenvectors of A_η, of eigenvalues σ_i, h/λ and its derivatives are known in
// closed form: with the rows y_i of UᵀY, M_i = (σ_iL + μI)⁻¹ and c_i = M_iy_i,
//
//	h/λ = Σ_i y_iᵀc_i,   ∇h/λ = −Σ_i σ_i·c_i·c_iᵀ = −G,
//	∇²h[Δ]/λ = Σ_i σ_i²·(M_iΔc_i·c_iᵀ + c_i·(M_iΔc_i)ᵀ).
//
// Each Newton step for h/λ − ν·log det L, tr L = τ, with the primal–dual scaling of
// the second term, takes some ten conjugate gradient iterations: in the eigenvectors
// of L both terms are nearly diagonal. Where few cells of Y are observed, a factor of their
// system takes the place of M_i, which preconditions. ν falls by a fixed factor a step; on the
// central path νn is left to gain. Projected gradients, to which all eigenvalues of L are
// alike, take thousands of eigendecompositions for what ten steps do here.
type Barrier struct {
	Problem
	n  int
	nu float64
	outputPoint
	current values       // at that point
	scratch blas.General // q×n
	weights blas.General // (s_a s_b/(ρ_aρ_b))^½
	inverse blas.General // of the preconditioner
}

// outputPoint is an output kernel of full rank and the targets in its eigenvectors.
type outputPoint struct {
	V    blas.General // n×n
	diag []float64    // its eigenvalues, > 0
	Y    blas.General // UᵀY·V (q×n)
}

// values holds the objective, the coefficients and the gradient at an outputPoint.
type values struct {
	value    float64      // h/λ
	C, SC, G blas.General // C, diag(σ)·C (q×n) and G, in the eigenvectors of L
	inverse  linop.Operator
}

// New begins the L step at L, where −∂h/∂L is λG; gap is an estimate of what h/λ can still fall by. With Cells, H is
// used where rounding makes the system of the observed cells at L indefinite.
func New(p *Problem, L *linop.Spectral, G blas.General, gap float64) (*Barrier, error) {
	n, H := G.Rows, p.H
	b := &Barrier{Problem: *p, n: n, nu: gap / float64(n)}
	V, rho, err := eigen(b.Backend, dense(b.Backend, L))
	if err != nil {
		return nil, err
	}
	b.outputPoint = outputPoint{V: V, diag: rho, Y: blas.Product(b.Backend, false, false, H, V)}
	mean := b.Tau / float64(n)
	for a, slack := range slacks(blas.Forms(b.Backend, b.V, G)) {
		low := math.Max(math.Min(b.nu/slack, barrierLift*mean), 0x1p-40*mean)
		b.diag[a] = math.Max(b.diag[a], low)
	}
	blas.Scal(b.Tau/floats.Sum(b.diag), b.diag)
	b.scratch, b.weights, b.inverse = blas.Like(H), blas.Like(G), blas.Like(G)
	if b.current = b.evaluate(&b.outputPoint); math.IsInf(b.current.value, 1) {
		b.Cells = nil
		b.current = b.evaluate(&b.outputPoint)
	}
	return b, nil
}

// slacks estimates the eigenvalues of the dual variable θI − G from the diagonal of G.
func slacks(g []float64) []float64 {
	s := slices.Repeat([]float64{slices.Max(g)}, len(g))
	floats.Sub(s, g)
	return s
}

func (b *Barrier) slacks() []float64 { return slacks(diagonal(b.current.G)) }

// Minimize takes steps until at most target is left to gain, and calls collect after each: until νn and the last
// decrease of h/λ are at most target, and the duality gap is too, or is no longer halved by a step. Far from the
// central path, where eigenvalues of L have to grow or fall by much, h/λ falls for a dozen steps more. Near the optimum
// the decrease of h/λ, which is in proportion to the square of the gap, is within rounding.
func (b *Barrier) Minimize(ctx context.Context, target float64, collect func()) (*linop.Spectral, error) {
	gap := math.Inf(1)
	for range barrierSteps {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		before, least := b.current.value, barrierFall*target/float64(b.n)
		b.nu = math.Max(barrierFall*b.nu, math.Min(b.nu, least))
		lowered, err := b.step()
		if err != nil {
			return nil, err
		}
		if !lowered {
			break
		}
		if b.nu*float64(b.n) <= target && before-b.current.value <= target {
			last := gap
			if gap, err = b.gap(); err != nil {
				return nil, err
			}
			if gap <= target || gap > last/2 {
				break
			}
		}
		collect()
	}
	return b.output(), nil
}

// gap is τ·λ_max(G) − ⟨G,L⟩, which bounds what h/λ, convex in L, can fall by.
func (b *Barrier) gap() (float64, error) {
	g := make([]float64, b.n)
	err := b.Backend.Syevals(blas.Clone(b.current.G), g)
	return b.Tau*g[b.n-1] - floats.Dot(b.diag, diagonal(b.current.G)), err
}

// evaluate computes the values at p; h/λ is +∞ where rounding leaves no factor.
func (b *Barrier) evaluate(p *outputPoint) values {
	v := values{C: blas.Like(p.Y), SC: blas.Like(p.Y), G: blas.NewGeneral(b.n, b.n)}
	if b.Cells != nil {
		b.Cells.evaluate(&v, p)
	} else {
		for i, s := range b.S {
			y, c := blas.Row(p.Y, i), blas.Row(v.C, i)
			for a, rho := range p.diag {
				c[a] = y[a] / (s*rho + b.Mu)
				v.value += y[a] * c[a]
			}
		}
	}
	blas.ScaleRows(v.SC, blas.Roots(b.S), v.C)
	blas.GramOf(b.Backend, v.G, v.SC)
	blas.ScaleRows(v.SC, blas.Roots(b.S), v.SC)
	if b.Tilt.Data != nil {
		E := congruent(b.Backend, p.V, b.Tilt)
		v.value += floats.Dot(p.diag, diagonal(E))
		blas.AddScaled(v.G, -1, E)
	}
	return v
}

// At is h/λ at L, and CᵀA_ηC there in the eigenvectors of L.
func (p *Problem) At(L *linop.Spectral) (value float64, G blas.General) {
	b := Barrier{Problem: *p, n: L.Rank()}
	v := b.evaluate(&outputPoint{V: L.V, diag: L.S, Y: blas.Product(p.Backend, false, false, p.H, L.V)})
	return v.value, v.G
}

// congruent is VᵀAV.
func congruent(be blas.Backend, V, A blas.General) blas.General {
	T := blas.Product(be, false, false, A, V)
	return blas.Product(be, true, false, V, T)
}

// eigen overwrites the symmetric a by its eigenvectors V, and returns its ascending eigenvalues.
func eigen(be blas.Backend, a blas.General) (V blas.General, w []float64, err error) {
	w = make([]float64, a.Rows)
	return a, w, be.Syevd(a, w)
}

func dense(be blas.Backend, L *linop.Spectral) blas.General {
	a := blas.NewGeneral(L.V.Rows, L.V.Rows)
	L.Dense(be, a)
	return a
}

func diagonal(a blas.General) []float64 {
	d := make([]float64, a.Rows)
	for i := range d {
		d[i] = a.Data[i*a.Stride+i]
	}
	return d
}

// plusDiagonal is αa + diag(d).
func plusDiagonal(alpha float64, a blas.General, d []float64) blas.General {
	out := blas.Like(a)
	blas.AddScaled(out, alpha, a)
	for i, v := range d {
		out.Data[i*out.Stride+i] += v
	}
	return out
}

// merit is what a step has to lower.
func (b *Barrier) merit(value float64, rho []float64) float64 {
	for _, r := range rho {
		value -= b.nu * math.Log(r)
	}
	return value
}

// step takes a Newton step, and reports false where none lowers the merit.
func (b *Barrier) step() (bool, error) {
	d := b.direction()
	a, err := longest(b.Backend, b.diag, d)
	if err != nil {
		return false, err
	}
	before := b.merit(b.current.value, b.diag)
	for range backtracks {
		next, err := b.pointAlong(d, a)
		if err != nil {
			return false, err
		}
		v := b.evaluate(next)
		if b.merit(v.value, next.diag) <= before+0x1p-44*math.Abs(before) {
			b.outputPoint, b.current = *next, v
			return true, nil
		}
		a /= 2
	}
	return false, nil
}

// longest is the step a ≤ 1 that goes a share of the way along x to where Λ + a·x, Λ = diag(diagonal), is singular: it
// is positive definite as long as I + a·Λ^{-½}xΛ^{-½} is.
func longest(be blas.Backend, diagonal []float64, x blas.General) (float64, error) {
	scaled, w := blas.Clone(x), make([]float64, len(diagonal))
	for i, u := range diagonal {
		for j, v := range diagonal {
			scaled.Data[i*scaled.Stride+j] /= math.Sqrt(u * v)
		}
	}
	if err := be.Syevals(scaled, w); err != nil || w[0] >= 0 {
		return 1, err
	}
	return math.Min(1, toBoundary/-w[0]), nil
}

// pointAlong is the outputPoint L + a·d, d in the eigenvectors of L.
func (b *Barrier) pointAlong(d blas.General, a float64) (*outputPoint, error) {
	W, rho, err := eigen(b.Backend, plusDiagonal(a, d, b.diag))
	if err != nil {
		return nil, err
	}
	for i, r := range rho { // what rounding makes negative
		rho[i] = math.Max(r, 0x1p-60*b.Tau/float64(b.n))
	}
	blas.Scal(b.Tau/floats.Sum(rho), rho)
	V, Y := blas.Product(b.Backend, false, false, b.V, W), blas.Product(b.Backend, false, false, b.Y, W)
	return &outputPoint{V: V, diag: rho, Y: Y}, nil
}

// direction solves (∇²h/λ + W)[d] + θI = G + ν·L⁻¹, tr d = 0, by preconditioned
// conjugate gradients, W the scaled second derivative of the barrier. They are its own: the
// preconditioner keeps the trace and takes the multiplier θ out of the residual: near the optimum the
// rounding of θ exceeds the rest of it.
func (b *Barrier) direction() blas.General {
	b.precondition()
	slopes := make([]float64, b.n) // of the barrier
	for a, rho := range b.diag {
		slopes[a] = b.nu / rho
	}
	r := plusDiagonal(1, b.current.G, slopes)
	x, z, q := blas.Like(r), blas.Like(r), blas.Like(r)
	b.applyInverse(z, r)
	p, rz := blas.Clone(z), blas.Inner(r, z)
	for k, first := 0, rz; k < barrierCG && rz > barrierTol*barrierTol*first; k++ {
		b.hessian(q, p)
		a := rz / blas.Inner(p, q)
		if !(a > 0) || math.IsInf(a, 0) {
			break
		}
		blas.AddScaled(x, a, p)
		blas.AddScaled(r, -a, q)
		b.applyInverse(z, r)
		next := blas.Inner(r, z)
		blas.Scal(next/rz, p.Data)
		blas.AddScaled(p, 1, z)
		rz = next
	}
	blas.Symmetrize(x)
	return x
}

// hessian computes dst = (∇²h/λ + W)[d].
func (b *Barrier) hessian(dst, d blas.General) {
	blas.Mul(b.Backend, b.scratch, false, false, b.current.C, d)
	if blas.ScaleRows(b.scratch, b.S, b.scratch); b.Cells != nil {
		b.Cells.solve(b.scratch, b.current.inverse, b.V)
	} else {
		for i, s := range b.S {
			row := blas.Row(b.scratch, i)
			for a, rho := range b.diag {
				row[a] /= s*rho + b.Mu
			}
		}
	}
	blas.Mul(b.Backend, dst, true, false, b.scratch, b.current.SC)
	for a := range b.n {
		row, w, da := blas.Row(dst, a), blas.Row(b.weights, a), blas.Row(d, a)
		for c := range a + 1 {
			v := row[c] + dst.Data[c*dst.Stride+a] + w[c]*da[c]
			row[c], dst.Data[c*dst.Stride+a] = v, v
		}
	}
}

// precondition sets the weights of the barrier term and the inverse of the diagonal of the whole.
func (b *Barrier) precondition() {
	s := b.slacks()
	for a, rho := range b.diag {
		s[a] = math.Sqrt(math.Max(s[a], b.nu/rho) / rho)
	}
	cc := blas.Like(b.scratch)
	for i, sigma := range b.S {
		t, out := blas.Row(b.scratch, i), blas.Row(cc, i)
		c, sc := blas.Row(b.current.C, i), blas.Row(b.current.SC, i)
		for a, rho := range b.diag {
			t[a], out[a] = sigma/(sigma*rho+b.Mu), c[a]*sc[a]
		}
	}
	T := blas.Product(b.Backend, true, false, b.scratch, cc)
	for a := range b.n {
		w, inv := blas.Row(b.weights, a), blas.Row(b.inverse, a)
		for c := range w {
			w[c] = s[a] * s[c]
			inv[c] = 1 / (T.Data[a*T.Stride+c] + T.Data[c*T.Stride+a] + w[c])
		}
	}
}

// applyInverse computes z, of trace 0, from r by the preconditioner, and takes the multiplier of the trace out of r.
func (b *Barrier) applyInverse(z, r blas.General) {
	for i, v := range r.Data {
		z.Data[i] = v * b.inverse.Data[i]
	}
	theta := blas.Trace(z) / blas.Trace(b.inverse)
	for a := range b.n {
		z.Data[a*z.Stride+a] -= theta * b.inverse.Data[a*z.Stride+a]
		r.Data[a*r.Stride+a] -= theta
	}
}

// output is the output kernel without the eigenvalues that the barrier alone keeps from 0. The terms of h/λ in the
// eigenvectors of L are separate and convex, that of ρ_a has the derivative θ − G_aa, and G_aa becomes
// Σ_i σ_i·c_ia²(1 + σ_iρ_a/μ)² at 0: where θ is more, ρ_a = 0 is the least.
func (b *Barrier) output() *linop.Spectral {
	slack := b.slacks()
	for i, s := range b.S {
		for a, c := range blas.Row(b.current.C, i) {
			t := s * b.diag[a] / b.Mu
			slack[a] -= s * c * c * t * (2 + t)
		}
	}
	var keep []int
	for a := b.n - 1; a >= 0; a-- { // descending
		if !(slack[a] >= 0) {
			keep = append(keep, a)
		}
	}
	L := &linop.Spectral{V: blas.NewGeneral(b.n, len(keep)), S: make([]float64, len(keep))}
	for k, a := range keep {
		L.S[k] = b.diag[a]
		for i := range b.n {
			L.V.Data[i*L.V.Stride+k] = b.V.Data[i*b.V.Stride+a]
		}
	}
	blas.Scal(b.Tau/floats.Sum(L.S), L.S)
	return L
}
