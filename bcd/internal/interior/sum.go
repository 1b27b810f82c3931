package interior

import (
	"context"
	"math"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/par"
	"github.com/iokl/iokl/linop"
)

// Constants of the method for sums. They change its steps, not the certificate that ends them:
// docs/decisions/2026-11-27-constants.md has half and twice of them.
const (
	sumLift  = 0.3  // least eigenvalue of the L_j it starts from, relative to the mean
	sumFall  = 0.05 // least factor of ν between steps
	sumShort = 0.3  // step, of a Newton step, below which S_j becomes ν·L_j⁻¹ and ν stays
)

// SumProblem is the least of h/λ = yᵀ(ΣK_j⊗L_j + μI)_ΩΩ⁻¹y over output kernels L_j ⪰ 0 with
// ‖(tr L_1 … tr L_m)/τ‖_q ≤ 1, for few cells Ω and L_j of low order.
type SumProblem struct {
	Backend blas.Backend
	Tau, Mu float64
	Norm    interface { // of the traces
		Q() float64
		Norm(v []float64) float64
	}
	K     []linop.Operator
	Cells *linop.Cells // the roots of their weights; nil for all, of weight 1
	Y     blas.General // the targets times these roots
	// Measure sets G of a point, and returns about how much h/λ may still fall by.
	Measure func(ctx context.Context, p *SumPoint) (gap float64, err error)
}

// SumPoint is output kernels and what is known there.
type SumPoint struct {
	L []*linop.Spectral
	X blas.General   // the coefficients divided by the roots of the weights
	G []blas.General // CᵀK_jC

	value  float64      // h/λ
	factor blas.General // Cholesky's of M
}

// Sum is a primal–dual interior point method: Newton's
// method for h/λ − ν·Σ_j log det L_j on ‖(tr L_1 … tr L_m)/τ‖_q = 1, where ν falls with Σ_j⟨L_j,S_j⟩. With the
// dual variables S_j, on the central path νL_j⁻¹ = θ_jI − G_j, moves Δ_j, M = (ΣK_j⊗L_j + μI)_ΩΩ and c = M⁻¹y,
//
//	h/λ = yᵀc,   ∇h/λ = −(G_1 … G_m),   ∇²h[Δ,Δ]/λ = 2·aᵀM⁻¹a,   a = vec_Ω(ΣK_jCΔ_j).
//
// M and the Hessian are factored, so that low ranks and a tiny μ, with which K̄⊗L̄ + μI resembles M little, do no
// harm. Moves are Δ_j = R_jX_jR_jᵀ, where R_j⁻¹L_jR_j⁻ᵀ = R_jᵀS_jR_j is diagonal (Nesterov and Todd, 1997):
// the second derivative of the barrier is the identity in X. [SumProblem.Work] is the cost of a step.
type Sum struct {
	SumProblem
	Point   *SumPoint
	Tangent blas.General // X after the last Newton step, to first order in its move
	// Solves and Columns are the systems that were factored, and the columns that were multiplied by a K_j.
	Solves, Columns int

	m, n     int
	row, col []int        // of every observed cell, output by output
	ends     []int        // of the cells of each output
	root, y  []float64    // √w and √w times the target in them
	one      blas.General // scratch: a K_j
	nu, fall float64      // ν, and its next value relative to Σ⟨L_j,S_j⟩/mn
	kernels  []innerKernel
}

// Work is the number of operations of a step, and its memory in floats.
func (p *SumProblem) Work() (flops, floats float64) {
	n, m, N := float64(p.Y.Cols), float64(len(p.K)), float64(len(p.Y.Data))
	if p.Cells != nil {
		N = float64(p.Cells.Count())
	}
	q := m * n * (n + 1) / 2
	return N*N*N/3 + m*N*N + N*q*(N+q) + q*q*q/3, N*N + N*q + q*q
}

// NewSum begins at L, of which it raises small eigenvalues; gap is an estimate of what h/λ can still fall by. It
// returns nil where rounding leaves M no factor.
func NewSum(ctx context.Context, p *SumProblem, L []*linop.Spectral, gap float64) (*Sum, error) {
	d := &Sum{SumProblem: *p, m: len(p.K), n: p.Y.Cols, one: blas.NewGeneral(p.Y.Rows, p.Y.Rows)}
	for k := range d.n {
		for i := range p.Y.Rows {
			root := 1.0
			if p.Cells != nil {
				root = p.Cells.Row(i)[k]
			}
			if root > 0 {
				d.row, d.col = append(d.row, i), append(d.col, k)
				d.root, d.y = append(d.root, root), append(d.y, blas.Row(p.Y, i)[k])
			}
		}
		d.ends = append(d.ends, len(d.y))
	}
	mean := d.Tau / float64(d.m*d.n)
	kernels := make([]innerKernel, d.m)
	for j, S := range L {
		V, w, err := eigen(d.Backend, dense(d.Backend, S))
		if err != nil {
			return nil, err
		}
		for a, v := range w {
			w[a] = math.Sqrt(math.Max(v, sumLift*mean))
		}
		blas.ScaleColumns(V, w)
		kernels[j].R = V
	}
	if err := d.move(ctx, kernels); err != nil || d.Point == nil {
		return nil, err
	}
	d.recentre(gap / float64(d.m*d.n))
	d.fall = barrierFall
	_, err := d.Measure(ctx, d.Point)
	return d, err
}

// recentre sets S_j = νL_j⁻¹.
func (d *Sum) recentre(nu float64) {
	d.nu = nu
	for j, k := range d.kernels {
		S := &linop.Spectral{V: k.V, S: make([]float64, len(k.S))}
		for i, v := range k.S {
			S.S[i] = nu / v
		}
		d.kernels[j].dual = dense(d.Backend, S)
	}
}

// move goes to the output kernels R_jR_jᵀ, scaled to be feasible.
func (d *Sum) move(ctx context.Context, L []innerKernel) (err error) {
	all := make([]*linop.Spectral, d.m)
	for j, k := range L {
		S := &linop.Spectral{V: blas.Like(k.R), S: make([]float64, d.n)}
		if err := d.Backend.SVD(k.R, S.S, S.V, blas.Like(k.R)); err != nil {
			return err
		}
		for i, s := range S.S {
			S.S[i] = math.Max(s*s, 0x1p-60*d.Tau/float64(d.m*d.n))
		}
		all[j], L[j].Spectral = S, S
	}
	d.toBoundary(all)
	for j, k := range L {
		L[j].R = k.Factor()
	}
	d.kernels = L
	d.Point, err = d.Evaluate(ctx, all)
	return err
}

// toBoundary scales the L_j to the boundary of the feasible set.
func (d *Sum) toBoundary(L []*linop.Spectral) {
	q, traces := d.Norm.Q(), make([]float64, len(L))
	for j := range L {
		traces[j] = L[j].Trace() / d.Tau
	}
	size := d.Norm.Norm(traces)
	for j := range L {
		if math.IsInf(q, 1) {
			size = traces[j]
		}
		if size > 0 {
			blas.Scal(1/size, L[j].S)
		}
	}
}

// Evaluate factors M at L and solves for C. It returns nil where rounding leaves M no factor.
func (d *Sum) Evaluate(ctx context.Context, L []*linop.Spectral) (*SumPoint, error) {
	N := len(d.y)
	M := blas.NewGeneral(N, N)
	for j, S := range L {
		if S.Rank() == 0 {
			continue
		}
		if err := linop.Dense(ctx, d.one, d.K[j]); err != nil {
			return nil, err
		}
		D := dense(d.Backend, S)
		par.For(N, func(a int) {
			k, out, from := blas.Row(d.one, d.row[a]), blas.Row(M, a)[:a+1], 0
			for t, l := range blas.Row(D, d.col[a])[:d.col[a]+1] {
				to := min(d.ends[t], a+1)
				if d.Cells == nil {
					blas.Axpy(l, k[:to-from], out[from:to])
				} else {
					for b := from; b < to; b++ {
						out[b] += l * d.root[a] * d.root[b] * k[d.row[b]]
					}
				}
				from = to
			}
		})
	}
	for a := range N {
		M.Data[a*N+a] += d.Mu
	}
	if err := ctx.Err(); err != nil || !d.Backend.Potrf(M) {
		return nil, err
	}
	d.Solves++
	c := slices.Clone(d.y)
	blas.Potrs(d.Backend, M, blas.Vector(c))
	p := &SumPoint{L: L, X: blas.Like(d.Y), value: blas.Dot(d.y, c), factor: M}
	for a, v := range c {
		blas.Row(p.X, d.row[a])[d.col[a]] = v
	}
	return p, nil
}

// multipliers are θ_j, with Σ_j⟨θ_jI − G_j, L_j⟩ = νmn.
func (d *Sum) multipliers() []float64 {
	q := d.Norm.Q()
	theta := make([]float64, d.m)
	var total float64
	for j, L := range d.Point.L {
		theta[j] = d.nu * float64(d.n)
		for a, g := range blas.Forms(d.Backend, L.V, d.Point.G[j]) {
			theta[j] += L.S[a] * g
		}
		total += theta[j]
	}
	for j, L := range d.Point.L {
		if math.IsInf(q, 1) {
			theta[j] /= L.Trace()
		} else {
			theta[j] = total / d.Tau * math.Pow(L.Trace()/d.Tau, q-1)
		}
	}
	return theta
}

// Step takes a Newton step to a measured point, and reports false where none lowers the merit.
func (d *Sum) Step(ctx context.Context) (bool, error) {
	var gap float64
	for j := range d.kernels {
		if err := d.kernels[j].balance(d.Backend); err != nil {
			return false, err
		}
		gap += blas.Dot(d.kernels[j].Lambda, d.kernels[j].Lambda)
	}
	d.nu = d.fall * gap / float64(d.m*d.n)
	X, err := d.direction(ctx)
	if err != nil || X == nil {
		return false, err
	}
	Z := make([]blas.General, d.m) // X for the S_j
	primal, dual := 1.0, 1.0
	for j, k := range d.kernels {
		gaps := make([]float64, d.n)
		for i, v := range k.Lambda {
			gaps[i] = d.nu/v - v
		}
		Z[j] = plusDiagonal(-1, X[j], gaps)
		a, err := longest(d.Backend, k.Lambda, X[j])
		b, failed := longest(d.Backend, k.Lambda, Z[j])
		if err != nil || failed != nil {
			return false, err
		}
		primal, dual = math.Min(primal, a), math.Min(dual, b)
	}
	point, kernels, before := d.Point, d.kernels, d.merit()
	for range backtracks {
		next := make([]innerKernel, d.m)
		for j, k := range kernels {
			if next[j], err = k.along(d.Backend, X[j], Z[j], primal, dual); err != nil {
				return false, err
			}
		}
		if err := d.move(ctx, next); err != nil {
			return false, err
		}
		if d.Point != nil && d.merit() <= before+0x1p-44*math.Abs(before) {
			short := math.Min(primal, dual)
			d.fall = math.Max(sumFall, (1-short)*(1-short))
			left, err := d.Measure(ctx, d.Point)
			if short < sumShort {
				d.recentre(math.Max(gap, left) / float64(d.m*d.n))
				d.fall = 1
			}
			return true, err
		}
		d.Point, d.kernels = point, kernels
		primal /= 2
	}
	return false, nil
}

// merit is what a step has to lower.
func (d *Sum) merit() float64 {
	v := d.Point.value
	for _, k := range d.kernels {
		for _, s := range k.S {
			v -= d.nu * math.Log(s)
		}
	}
	return v
}

// Output is the point without the eigenvalues that the barrier alone keeps from 0. It returns nil where there are none,
// or rounding leaves M no factor.
func (d *Sum) Output(ctx context.Context) (*SumPoint, error) {
	theta := d.multipliers()
	L, cut := make([]*linop.Spectral, d.m), false
	for j, S := range d.Point.L {
		g, k := blas.Forms(d.Backend, S.V, d.Point.G[j]), 0
		for k < S.Rank() && S.S[k]*theta[j] > (theta[j]-g[k])*d.Tau {
			k++
		}
		cut = cut || k < S.Rank()
		L[j] = &linop.Spectral{V: blas.Clone(blas.View(S.V, 0, 0, d.n, k)), S: slices.Clone(S.S[:k])}
	}
	if !cut {
		return nil, nil
	}
	d.toBoundary(L)
	return d.Evaluate(ctx, L)
}
