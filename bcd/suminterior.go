// This file minimizes a small sum of separable kernels by an interior point method.

package bcd

import (
	"context"
	"math"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/memory"
	"github.com/iokl/iokl/internal/par"
	"github.com/iokl/iokl/internal/phase"
	"github.com/iokl/iokl/linop"
)

// primalDual is a primal–dual interior point method for few cells and output kernels of low order: Newton's
// method for h/λ − ν·Σ_j log det L_j on ‖(tr L_1 … tr L_m)/τ‖_q = 1, where ν falls with Σ_j⟨L_j,S_j⟩. With the
// dual variables S_j, on the central path νL_j⁻¹ = θ_jI − G_j, moves Δ_j, M = (ΣK_j⊗L_j + μI)_ΩΩ and c = M⁻¹y,
//
//	h/λ = yᵀc,   ∇h/λ = −(G_1 … G_m),   ∇²h[Δ,Δ]/λ = 2·aᵀM⁻¹a,   a = vec_Ω(ΣK_jCΔ_j).
//
// M and the Hessian are factored, so that low ranks and a tiny μ, with which K̄⊗L̄ + μI resembles M little, do no
// harm. Moves are Δ_j = R_jX_jR_jᵀ, where R_j⁻¹L_jR_j⁻ᵀ = R_jᵀS_jR_j is diagonal (Nesterov and Todd, 1997):
// the second derivative of the barrier is the identity in X.
type primalDual struct {
	*sumModel
	row, col []int        // of every observed cell
	root, y  []float64    // √w and √w times the target in them
	one      blas.General // scratch: a K_j

	nu, fall float64 // ν, and its next value relative to Σ⟨L_j,S_j⟩/mn
	L        []innerKernel
	pt       *point
	factor   blas.General // Cholesky's of M; no Data where rounding leaves none
	tangent  blas.General // C after the last Newton step, to first order in its X
}

// work is the number of operations of a step of [primalDual], and its memory in floats.
func (f *sumModel) work() (flops, floats float64) {
	n, m, N := float64(f.t.n), float64(f.t.m), float64(len(f.s.Y.Data))
	if f.s.cells != nil {
		N = float64(f.s.cells.Count())
	}
	p := m * n * (n + 1) / 2
	return N*N*N/3 + m*N*N + N*p*(N+p) + p*p*p/3, N*N + N*p + p*p
}

// inside takes steps of [primalDual] from pt until the relative gap is at most the tolerance, and
// extraSteps at most to go
// beyond. Where memory does not suffice it takes none.
func (f *sumModel) inside(ctx context.Context, pt *point) error {
	if _, floats := f.work(); memory.Check("bcd: a factor for the observed cells", 8*floats, "") != nil {
		return nil
	}
	d := &primalDual{sumModel: f, one: blas.NewGeneral(f.s.Y.Rows, f.s.Y.Rows)}
	for i := range f.s.Y.Rows {
		for k, v := range blas.Row(f.s.Y, i) {
			root := 1.0
			if f.s.cells != nil {
				root = f.s.cells.Row(i)[k]
			}
			if root > 0 {
				d.row, d.col, d.root, d.y = append(d.row, i), append(d.col, k), append(d.root, root), append(d.y, v)
			}
		}
	}
	if err := d.enter(ctx, pt); err != nil || d.factor.Data == nil {
		return err
	}
	extra := 0
	for range interiorSteps {
		var lowered bool
		var err error
		phase.Do(ctx, phase.LStep, func(ctx context.Context) { lowered, err = d.step(ctx) })
		if err != nil || !lowered {
			return err
		}
		f.iter++
		next, err := d.cut(ctx)
		if err != nil {
			return err
		}
		if err := f.accept(next, f.opt.Tol); err != nil || f.spent() {
			return err
		}
		if f.done(next) {
			extra++
		}
		if extra > 0 && (extra > extraSteps || next.cert.relative() <= extraGoal*f.opt.Tol) {
			return nil
		}
	}
	return nil
}

// enter starts at the L_j of pt, of which it raises small eigenvalues.
func (d *primalDual) enter(ctx context.Context, pt *point) error {
	t := d.t
	mean := t.tau / float64(t.m*t.n)
	L := make([]innerKernel, t.m)
	for j, S := range pt.Ls {
		V, w := blas.NewGeneral(t.n, t.n), make([]float64, t.n)
		S.Dense(t.be, V)
		if err := t.be.Syevd(V, w); err != nil {
			return err
		}
		for a, v := range w {
			w[a] = math.Sqrt(math.Max(v, interiorLift*mean))
		}
		blas.ScaleColumns(V, w)
		L[j].R = V
	}
	if err := d.move(ctx, L); err != nil || d.factor.Data == nil {
		return err
	}
	d.recentre(pt.cert.gapL / t.lambda / float64(t.m*t.n))
	d.fall = barrierFall
	return d.measure(ctx, d.pt, t.all)
}

// recentre sets S_j = νL_j⁻¹.
func (d *primalDual) recentre(nu float64) {
	d.nu = nu
	for j, k := range d.L {
		S := &linop.Spectral{V: k.V, S: make([]float64, len(k.S))}
		for i, v := range k.S {
			S.S[i] = nu / v
		}
		d.L[j].dual = blas.Like(k.R)
		S.Dense(d.t.be, d.L[j].dual)
	}
}

// move goes to the output kernels R_jR_jᵀ, scaled to be feasible.
func (d *primalDual) move(ctx context.Context, L []innerKernel) (err error) {
	t := d.t
	all := make([]*linop.Spectral, t.m)
	for j, k := range L {
		S := &linop.Spectral{V: blas.Like(k.R), S: make([]float64, t.n)}
		if err := t.be.SVD(k.R, S.S, S.V, blas.Like(k.R)); err != nil {
			return err
		}
		for i, s := range S.S {
			S.S[i] = math.Max(s*s, 0x1p-60*t.tau/float64(t.m*t.n))
		}
		all[j], L[j].Spectral = S, S
	}
	d.toBoundary(all)
	for j, k := range L {
		L[j].R = blas.Clone(k.V)
		blas.ScaleColumns(L[j].R, sqrts(k.S))
	}
	d.L = L
	d.pt, d.factor, err = d.evaluate(ctx, all)
	return err
}

// toBoundary scales the L_j to the boundary of the feasible set.
func (d *primalDual) toBoundary(L []*linop.Spectral) {
	q, traces := d.norm.Q(), make([]float64, len(L))
	for j := range L {
		traces[j] = L[j].Trace() / d.t.tau
	}
	size := d.norm.Norm(traces)
	for j := range L {
		if math.IsInf(q, 1) {
			size = traces[j]
		}
		if size > 0 {
			blas.Scal(1/size, L[j].S)
		}
	}
}

// evaluate factors M at the L_j and solves for C.
func (d *primalDual) evaluate(ctx context.Context, L []*linop.Spectral) (*point, blas.General, error) {
	t, N := d.t, len(d.y)
	M, D := blas.NewGeneral(N, N), blas.NewGeneral(t.n, t.n)
	for j, S := range L {
		if S.Rank() == 0 {
			continue
		}
		if err := linop.Dense(ctx, d.one, d.K[j]); err != nil {
			return nil, M, err
		}
		S.Dense(t.be, D)
		par.For(N, func(a int) {
			k, l, out := blas.Row(d.one, d.row[a]), blas.Row(D, d.col[a]), blas.Row(M, a)[:a+1]
			for b := range out {
				out[b] += d.root[a] * d.root[b] * k[d.row[b]] * l[d.col[b]]
			}
		})
	}
	for a := range N {
		M.Data[a*N+a] += t.mu
	}
	if err := ctx.Err(); err != nil || !t.be.Potrf(M) {
		return nil, blas.General{}, err
	}
	d.cost.solves++
	d.cost.solver = "cholesky"
	c := slices.Clone(d.y)
	blas.Potrs(t.be, M, blas.Vector(c))
	pt := &point{Ls: L, X: blas.Like(d.s.Y)}
	for a, v := range c {
		blas.Row(pt.X, d.row[a])[d.col[a]] = v
	}
	pt.yc = blas.Dot(d.y, c)
	return pt, M, nil
}

// multipliers are θ_j at the measured pt, with Σ_j⟨θ_jI − G_j, L_j⟩ = νmn.
func (d *primalDual) multipliers(pt *point) []float64 {
	t, q := d.t, d.norm.Q()
	theta := make([]float64, t.m)
	var total float64
	for j, L := range pt.Ls {
		theta[j] = d.nu * float64(t.n)
		for a, g := range blas.Forms(t.be, L.V, pt.Gs[j]) {
			theta[j] += L.S[a] * g
		}
		total += theta[j]
	}
	for j, L := range pt.Ls {
		if math.IsInf(q, 1) {
			theta[j] /= L.Trace()
		} else {
			theta[j] = total / t.tau * math.Pow(L.Trace()/t.tau, q-1)
		}
	}
	return theta
}

// step takes a Newton step to a measured point, and reports false where none lowers the merit.
func (d *primalDual) step(ctx context.Context) (bool, error) {
	t := d.t
	var gap float64
	for j := range d.L {
		if err := d.L[j].balance(t.be); err != nil {
			return false, err
		}
		gap += blas.Dot(d.L[j].Lambda, d.L[j].Lambda)
	}
	d.nu = d.fall * gap / float64(t.m*t.n)
	X, err := d.direction(ctx)
	if err != nil || X == nil {
		return false, err
	}
	Z := make([]blas.General, t.m) // X for the S_j
	primal, dual := 1.0, 1.0
	for j, k := range d.L {
		Z[j] = blas.Like(X[j])
		blas.AddScaled(Z[j], -1, X[j])
		for i, v := range k.Lambda {
			Z[j].Data[i*t.n+i] += d.nu/v - v
		}
		a, err := k.longest(t.be, X[j])
		b, failed := k.longest(t.be, Z[j])
		if err != nil || failed != nil {
			return false, err
		}
		primal, dual = math.Min(primal, a), math.Min(dual, b)
	}
	old, before := *d, d.merit()
	for range backtracks {
		next := make([]innerKernel, t.m)
		for j, k := range old.L {
			if next[j], err = k.along(t.be, X[j], Z[j], primal, dual); err != nil {
				return false, err
			}
		}
		if err := d.move(ctx, next); err != nil {
			return false, err
		}
		if d.factor.Data != nil && d.merit() <= before+0x1p-44*math.Abs(before) {
			d.fall = math.Max(interiorFall, square(1-math.Min(primal, dual)))
			err := d.measure(ctx, d.pt, t.all)
			if math.Min(primal, dual) < interiorShort {
				d.recentre(math.Max(gap, (d.pt.cert.objective-d.low)/t.lambda) / float64(t.m*t.n))
				d.fall = 1
			}
			return true, err
		}
		d.L, d.pt, d.factor = old.L, old.pt, old.factor
		primal /= 2
	}
	return false, nil
}

// merit is what a step has to lower.
func (d *primalDual) merit() float64 {
	v := d.pt.yc
	for _, k := range d.L {
		for _, s := range k.S {
			v -= d.nu * math.Log(s)
		}
	}
	return v
}

// cut is the certified point without the eigenvalues of the L_j that the barrier alone keeps from 0, or with them where
// the gap would rise above the tolerance.
func (d *primalDual) cut(ctx context.Context) (*point, error) {
	whole := d.pt
	if err := d.certify(ctx, whole); err != nil {
		return nil, err
	}
	if whole.cert.relative() > d.opt.Tol { // the bound at C moves by much where the objective hardly does
		if err := d.cover(ctx, &point{Ls: whole.Ls, X: d.tangent}); err != nil {
			return nil, err
		}
		whole.cert.gapL = math.Min(whole.cert.gapL, math.Abs(whole.cert.objective-d.low))
	}
	theta := d.multipliers(whole)
	L, cut := make([]*linop.Spectral, d.t.m), false
	for j, S := range whole.Ls {
		g, k := blas.Forms(d.t.be, S.V, whole.Gs[j]), 0
		for k < S.Rank() && S.S[k]*theta[j] > (theta[j]-g[k])*d.t.tau {
			k++
		}
		cut = cut || k < S.Rank()
		L[j] = &linop.Spectral{V: blas.Clone(blas.View(S.V, 0, 0, d.t.n, k)), S: slices.Clone(S.S[:k])}
	}
	if !cut {
		return whole, nil
	}
	d.toBoundary(L)
	pt, _, err := d.evaluate(ctx, L)
	if err != nil || pt == nil {
		return whole, err
	}
	if err := d.cover(ctx, pt); err != nil {
		return nil, err
	}
	if pt.cert.relative() > d.opt.Tol && pt.cert.gapL > whole.cert.gapL {
		return whole, nil
	}
	return pt, nil
}
