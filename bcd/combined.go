package bcd

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/optimize"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// bound is one over L at weights η, and the coefficients of the last points there. The dual value
//
//	D(X) = 2⟨Y,X⟩ − μ‖X‖² − τ·λ_max(XᵀA_ηX)
//
// bounds h/λ from below at every X on the cells. At L* + Δ the best coefficients differ from those at L* by O(Δ), and
// so does λ_max, while h exceeds its minimum by O(Δ²). Combinations of a few points, whose Δ cancel, leave a fraction
// of the gap that the best of them has, and take no product with A_η.
type bound struct {
	eta   []float64
	low   float64
	past  []coefficients   // the last first
	parts [][]blas.General // sym(XᵢᵀA_ηXⱼ)
}

// coefficients are X of a point, and A_ηX.
type coefficients struct{ X, AX blas.General }

// highestBound is low, or a higher bound over L at the same weights that an earlier point or a combination of
// coefficients gives.
func (t *task) highestBound(pt *point, low float64) float64 {
	b := &t.overL
	if b.eta == nil || !slices.Equal(b.eta, pt.eta) {
		if pt.single {
			return low
		}
		*b = bound{eta: slices.Clone(pt.eta), low: low}
	}
	low = math.Max(low, b.low)
	if pt.single || t.data.loss != nil {
		return low
	}
	b.low = low
	if most := t.combinedMost(); most > 1 && (len(b.past) == 0 || &b.past[0].X.Data[0] != &pt.X.Data[0]) {
		t.remember(coefficients{pt.X, pt.AX}, most)
		U := pt.cert.objective/t.lambda - t.omega(pt.eta)
		b.low = math.Max(low, t.combined(U, low))
	}
	return b.low
}

// combinedMost is how many coefficients a bound combines: so many as take little memory beside the kernels.
func (t *task) combinedMost() int {
	N := t.space.Unknowns()
	return min(combinedPoints, max(N*N/4, combinedNumbers)/(2*N*t.n))
}

// remember puts c before the coefficients of earlier points.
func (t *task) remember(c coefficients, most int) {
	b := &t.overL
	b.past = slices.Insert(b.past, 0, c)
	b.parts = slices.Insert(b.parts, 0, []blas.General(nil))
	if len(b.past) > most {
		b.past, b.parts = b.past[:most], b.parts[:most]
	}
	X := t.data.coefficients(&t.work, c.X)
	row := make([]blas.General, len(b.past))
	for j, other := range b.past {
		row[j] = blas.Product(t.be, true, false, X, other.AX)
		blas.Symmetrize(row[j])
		if j > 0 {
			b.parts[j] = slices.Insert(b.parts[j][:min(len(b.parts[j]), most-1)], 0, row[j])
		}
	}
	b.parts[0] = row
}

// mixture is the dual value at combinations Σ a_i·X_i of the coefficients of a [bound], in coordinates z with a = R·z
// in which its smooth part is 2⟨Rᵀy,z⟩ − ‖z‖² at the choice of L = (τ/n)·I.
type mixture struct {
	t *task
	y []float64    // ⟨Y,X_i⟩
	M blas.General // μ⟨X_i,X_j⟩
	R blas.General
}

// combined is the largest dual value that it finds at combinations of the coefficients, of which one has the value low
// and the values are at most U. λ_max is smoothed for the search.
func (t *task) combined(U, low float64) float64 {
	past := t.overL.past
	q := len(past)
	if q < 2 || !(U > low) {
		return low
	}
	m, H := mixture{t: t, y: make([]float64, q), M: blas.NewGeneral(q, q)}, blas.NewGeneral(q, q)
	for i := range q {
		m.y[i] = blas.Inner(t.data.B, past[i].X)
		for j := range q {
			m.M.Data[i*q+j] = t.mu * blas.Inner(past[i].X, past[j].X)
			H.Data[i*q+j] = m.M.Data[i*q+j] + t.tau/float64(t.n)*blas.Trace(t.overL.parts[i][j])
		}
	}
	V, w, err := t.eigen(H)
	if err != nil {
		return low
	}
	roots, inverse := blas.Roots(w), make([]float64, q)
	z := make([]float64, q) // the last point: R⁻¹·e₁
	for k, v := range w {
		if v > combinedDrop*maxOf(w) {
			z[k], inverse[k] = V.Data[k]*roots[k], 1/roots[k]
		}
	}
	m.R = V
	blas.ScaleColumns(m.R, inverse)
	for _, share := range []float64{1, 0.1} {
		smooth := share * (U - low) / t.tau
		res, _ := optimize.Minimize(optimize.Problem{
			Func: func(z []float64) float64 { return -m.value(z, smooth, nil) },
			Grad: func(grad, z []float64) { m.value(z, smooth, grad) },
		}, z, &optimize.Settings{MajorIterations: combinedSteps}, &optimize.BFGS{})
		if res == nil {
			break
		}
		z = res.X
		low = math.Max(low, m.value(z, 0, nil))
	}
	return low
}

// value is the dual value at z, with λ_max smoothed where smooth > 0. It fills in the gradient of its negative, unless
// grad is nil.
func (m *mixture) value(z []float64, smooth float64, grad []float64) (v float64) {
	t, parts := m.t, m.t.overL.parts
	a, G := blas.Product(t.be, false, false, m.R, blas.Vector(z)), blas.NewGeneral(t.n, t.n)
	Ma := blas.Product(t.be, false, false, m.M, a)
	v = t.data.dropped / t.mu
	for i, p := range a.Data {
		v += p * (2*m.y[i] - Ma.Data[i])
		for j, r := range a.Data {
			blas.AddScaled(G, p*r, parts[i][j])
		}
	}
	V, g, err := t.eigen(G)
	if err != nil {
		return math.Inf(-1)
	}
	top := g[t.n-1]
	if smooth == 0 {
		return v - t.tau*top
	}
	for i := range g {
		g[i] = math.Exp((g[i] - top) / smooth)
	}
	sum := floats.Sum(g)
	if grad != nil {
		P := blas.NewGeneral(t.n, t.n) // of trace 1
		blas.Scal(1/sum, g)
		(&linop.Spectral{V: V, S: g}).Dense(t.be, P)
		for k := range Ma.Data {
			Ma.Data[k] = 2 * (Ma.Data[k] - m.y[k])
			for j, r := range a.Data {
				Ma.Data[k] += 2 * r * t.tau * blas.Inner(P, parts[k][j])
			}
		}
		blas.Mul(t.be, blas.Vector(grad), true, false, m.R, Ma)
	}
	return v - t.tau*(top+smooth*math.Log(sum))
}
