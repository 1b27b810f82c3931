package bcd

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/frankwolfe"
	"github.com/iokl/iokl/internal/base/phase"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/regularizer"
)

// alternation is block coordinate descent over C, L and η. Its steps are short: C is solved more exactly once its error
// hides what they gain.
//
// The solver paper is that of Sindhwani, Minh and Lozano with the formulas of mathematics.md §3: C by the inner solver
// to the residual CG of [Inexact], L at that fixed C by SDP iterations of plain Frank–Wolfe, η by its closed form at
// the f that results. Every block lowers the objective. The solver okl is the output kernel learning of Dinuzzo et al.
// (2011) with the input weights by their closed form unless they are fixed: the trace bound gives way to the penalty
// ρ‖L‖²_F.
type alternation struct {
	*fit
	q  quadratic // of the step of L
	fw frankwolfe.Workspace
}

func alternating(p *productModel) method { return (&alternation{fit: p.fit}).minimize }

func (a *alternation) minimize(ctx context.Context, pt *point, goal float64) error {
	f, t := a.fit, a.t
	for last := math.Inf(1); ; f.iter++ {
		how := f.inexact(pt, goal)
		if err := f.evaluate(ctx, pt, how.CG, goal); err != nil || f.ends(pt, goal) {
			return err
		}
		U := pt.cert.objective
		if !(last-U > t.inexactness(pt)) && f.share >= sharpest {
			f.share /= 10
		}
		last = U
		L, eta := pt.L, pt.eta
		if !t.fixL {
			var err error
			phase.Do(ctx, phase.LStep, func(ctx context.Context) {
				t.system.quadratic(t, pt, &a.q)
				if t.rho > 0 {
					L, err = a.sylvesterL()
				} else {
					L, err = a.frankWolfe(ctx, pt, how)
				}
			})
			if err != nil {
				return err
			}
		}
		if !t.fixEta {
			phase.Do(ctx, phase.Eta, func(context.Context) {
				eta = t.closedEta(t.system.norms(t, pt, L))
			})
		}
		pt = t.next(pt, eta, L)
	}
}

// inexact is how exactly the outer iteration at hand solves its inner problems.
func (f *fit) inexact(pt *point, goal float64) Inexact {
	k := len(f.opt.Schedule)
	if k == 0 {
		return Inexact{CG: f.tolFor(pt, f.share, goal), SDP: 1000}
	}
	how := f.opt.Schedule[min(f.iter, k-1)]
	if f.opt.InnerTol > 0 {
		how.CG = f.opt.InnerTol
	}
	return how
}

// frankWolfe is the L step of paper, how.SDP plain Frank–Wolfe iterations.
func (a *alternation) frankWolfe(ctx context.Context, pt *point, how Inexact) (*linop.Spectral, error) {
	t, q := a.t, &a.q
	L := blas.NewGeneral(t.n, t.n)
	pt.L.Dense(t.be, L)
	_, err := a.fw.Solve(ctx, L, &frankwolfe.Problem{
		AtA: q.AtA, AtY: q.AtY, B: q.B,
		YY: q.YY, Samples: float64(t.l), Lambda: t.lambda, Tau: t.tau,
	}, frankwolfe.Options{MaxIter: how.SDP, Tol: stepTol, Seed: t.seed, Backend: t.be})
	if err != nil && !errors.Is(err, frankwolfe.ErrNotConverged) {
		return nil, err
	}
	return linop.NewSpectral(t.be, L, eigenDrop)
}

// sylvesterL is the L step of okl, by the eigendecomposition of AᵀA (mathematics.md §6):
//
//	AᵀA·L + L·AᵀA + 2lρL = AᵀY + YᵀA − λl·B
func (a *alternation) sylvesterL() (*linop.Spectral, error) {
	t, q, n := a.t, &a.q, a.t.n
	V, w := q.AtA, make([]float64, n)
	if err := t.be.Syevd(V, w); err != nil {
		return nil, err
	}
	R := blas.Clone(q.AtY)
	blas.Symmetrize(R)
	blas.Scal(2, R.Data)
	blas.AddScaled(R, -t.mu, q.B)
	R = within(t.be, V, R)
	shift := 2 * float64(t.l) * t.rho
	for i := range n {
		for j := range n {
			// Where AᵀA is 0 up to rounding so is what stands on the right.
			if d := math.Max(w[i], 0) + math.Max(w[j], 0) + shift; d > float64(n)*0x1p-52*w[n-1] {
				R.Data[i*n+j] /= d
			} else {
				R.Data[i*n+j] = 0
			}
		}
	}
	return linop.NewSpectral(t.be, within(t.be, blas.Transposed(V), R), eigenDrop)
}

// closed alternates the C step with the closed forms at fixed f
// (mathematics.md §4): the weights from α_j² = η_j²c_j, and
//
//	L ← τM^{1/2} / tr(M^{1/2}),   M = L G L.
//
// It is fast at first, and may stop on the boundary of S(τ) at a point that is not optimal.
func (f *fit) closed(ctx context.Context, pt *point, goal float64) error {
	_, err := f.closedSteps(ctx, pt, goal, false)
	return err
}

// closedSteps takes closed forms from pt until the goal is met or the iterations are spent. To warm up it ends where a
// step lowers the objective by less than warmUpDrop, or where a fit that starts near the best has little to gain by the
// weights, and weights of l_p norms take longer steps.
func (f *fit) closedSteps(ctx context.Context, pt *point, goal float64, warmUp bool) (*point, error) {
	if f.t.fixEta && f.t.fixL {
		return pt, f.coefficientsAlone(ctx, pt, goal)
	}
	for last := math.Inf(1); ; f.iter++ {
		if err := f.evaluate(ctx, pt, f.tolFor(pt, warmUpShare, goal), goal); err != nil {
			return pt, err
		}
		U := pt.cert.objective
		warm := !(last-U > warmUpDrop*math.Abs(U)) || f.near && pt.cert.gapEta < jointShare*pt.cert.gapL
		if f.ends(pt, goal) || warmUp && warm {
			return pt, nil
		}
		last = U
		eta, L, err := f.t.closedForms(pt)
		if err != nil {
			return pt, err
		}
		if lp, ok := f.t.reg.(regularizer.Lp); ok && warmUp && !f.t.fixEta {
			overRelax(lp, eta, pt.eta)
		}
		pt = f.t.next(pt, eta, L)
	}
}

// coefficientsAlone performs C steps at the weights and output kernel of pt until the goal is met or rounding is what
// the gap consists of. The gap falls with the squared residual, by a factor that small objectives make large: each step
// asks for half of the residual that the one before foretells to meet the goal.
func (f *fit) coefficientsAlone(ctx context.Context, pt *point, goal float64) error {
	share := float64(warmUpShare)
	if f.t.data.loss.kinked() { // which leaves the gap that is asked for, not its square
		share = 1
	}
	tol := f.tolFor(pt, share, goal)
	for last := math.Inf(1); ; f.iter++ {
		if err := f.evaluate(ctx, pt, tol, goal); err != nil {
			return err
		}
		gap := pt.cert.relative()
		if f.ends(pt, goal) || f.opt.InnerTol > 0 || !(gap < last/2) {
			return nil
		}
		last, tol = gap, math.Max(innerTightest, pt.residual/2*math.Sqrt(goal/gap))
		pt = f.t.next(pt, pt.eta, pt.L)
	}
}

// overRelax makes the step from old to eta, taken in the logarithms, longer.
func overRelax(r regularizer.Lp, eta, old []float64) {
	if math.IsInf(r.Q(), 1) {
		return
	}
	for j, v := range eta {
		if v > 0 && old[j] > 0 {
			eta[j] *= math.Pow(v/old[j], overRelaxation-1)
		}
	}
	r.Scale(eta)
}

// closedForms are the next weights and output kernel at the f of pt.
func (t *task) closedForms(pt *point) ([]float64, *linop.Spectral, error) {
	eta, L := pt.eta, pt.L
	if !t.fixEta {
		eta = t.closedEta(pt.alpha2())
	}
	if t.fixL {
		return eta, L, nil
	}
	L, err := t.closedL(pt)
	return eta, L, err
}

// alpha2 are α_j² = ‖f_j‖² = η_j²c_j.
func (pt *point) alpha2() []float64 {
	v := make([]float64, len(pt.c))
	for j, c := range pt.c {
		v[j] = pt.eta[j] * pt.eta[j] * c
	}
	return v
}

// closedEta is the minimiser of Σ α_j²/η_j + ω(η) for the squared norms α_j².
func (t *task) closedEta(alpha2 []float64) []float64 {
	eta := make([]float64, t.m)
	t.reg.Update(eta, alpha2)
	return eta
}

// closedL is τM^{1/2}/tr(M^{1/2}), computed in the range of L. M = 0 leaves L.
func (t *task) closedL(pt *point) (*linop.Spectral, error) {
	if pt.L.Rank() == 0 {
		return pt.L, nil
	}
	return t.rootOf(pt.L, within(t.be, pt.L.V, pt.G))
}

// rootOf is τM^{1/2}/tr(M^{1/2}) for M = L·G·L with G in the eigenvectors of L.
func (t *task) rootOf(L *linop.Spectral, G blas.General) (*linop.Spectral, error) {
	root, err := powerOf(t.be, L, G, 0.5)
	if err != nil {
		return nil, err
	}
	size := root.Trace()
	if !(size > 0) {
		return &linop.Spectral{V: L.V, S: slices.Repeat([]float64{t.tau / float64(L.Rank())}, L.Rank())}, nil
	}
	blas.Scal(t.tau/size, root.S)
	return root, nil
}

// powerOf is (L^{1/2p}·G·L^{1/2p})ᵖ with G in the eigenvectors of L.
func powerOf(be blas.Backend, L *linop.Spectral, G blas.General, p float64) (*linop.Spectral, error) {
	roots := powers(L.S, 1/(2*p))
	blas.ScaleRows(G, roots, G)
	blas.ScaleColumns(G, roots)
	A, err := linop.NewSpectral(be, G, 0)
	if err != nil {
		return nil, err
	}
	return &linop.Spectral{V: blas.Product(be, false, false, L.V, A.V), S: powers(A.S, p)}, nil
}

// powers are s_iᵖ.
func powers(s []float64, p float64) []float64 {
	out := make([]float64, len(s))
	for i, v := range s {
		out[i] = math.Pow(v, p)
	}
	return out
}

// within is VᵀAV for a symmetric A, both triangles.
func within(be blas.Backend, V, A blas.General) blas.General {
	T := blas.Product(be, false, false, A, V)
	out := blas.Product(be, true, false, V, T)
	blas.Symmetrize(out)
	return out
}
