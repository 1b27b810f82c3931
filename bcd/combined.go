package bcd

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/optimize"

	"github.com/iokl/iokl/blas"
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

// combined is the largest dual value that it finds at combinations of the coefficients, of which one has the value low
// and the values are at most U. λ_max is smoothed for the search.
func (t *task) combined(U, low float64) float64 {
	b := &t.overL
	q, n := len(b.past), t.n
	if q < 2 || !(U > low) {
		return low
	}
	// In coordinates b with a = R·b the smooth part is 2⟨y,b⟩ − ‖b‖² up to the choice of L = (τ/n)·I.
	y, H := make([]float64, q), blas.NewGeneral(q, q)
	M := blas.NewGeneral(q, q)
	for i := range q {
		y[i] = blas.Inner(t.data.B, b.past[i].X)
		for j := range q {
			M.Data[i*q+j] = t.mu * blas.Inner(b.past[i].X, b.past[j].X)
			H.Data[i*q+j] = M.Data[i*q+j] + t.tau/float64(n)*blas.Trace(b.parts[i][j])
		}
	}
	R, w, err := t.eigen(H)
	if err != nil {
		return low
	}
	for k, v := range w {
		if w[k] = 0; v > combinedDrop*maxOf(w) {
			w[k] = 1 / math.Sqrt(v)
		}
	}
	blas.ScaleColumns(R, w)
	a, G, P := blas.NewGeneral(q, 1), blas.NewGeneral(n, n), blas.NewGeneral(n, n)
	// value is the dual value, with λ_max smoothed where smooth > 0, and its gradient.
	value := func(z []float64, smooth float64, grad []float64) float64 {
		blas.Mul(t.be, a, false, false, R, blas.General{Rows: q, Cols: 1, Stride: 1, Data: z})
		blas.Zero(G)
		v := 0.0
		for i, p := range a.Data {
			v += 2 * p * y[i]
			for j, r := range a.Data {
				v -= p * r * M.Data[i*q+j]
				blas.AddScaled(G, p*r, b.parts[i][j])
			}
		}
		V, g, err := t.eigen(G)
		if err != nil {
			return math.Inf(-1)
		}
		top, sum := g[n-1], 0.0
		if smooth == 0 {
			return v - t.tau*top
		}
		for i := range g {
			g[i] = math.Exp((g[i] - top) / smooth)
			sum += g[i]
		}
		if grad != nil {
			blas.Scal(1/sum, g)
			blas.ScaleColumns(V, blas.Roots(g))
			blas.Mul(t.be, P, false, true, V, V)
			slope := blas.NewGeneral(q, 1)
			for k := range q {
				slope.Data[k] = 2 * y[k]
				for j, r := range a.Data {
					slope.Data[k] -= 2 * r * (M.Data[k*q+j] + t.tau*blas.Inner(P, b.parts[k][j]))
				}
			}
			blas.Mul(t.be, blas.General{Rows: q, Cols: 1, Stride: 1, Data: grad}, true, false, R, slope)
			blas.Scal(-1, grad)
		}
		return v - t.tau*(top+smooth*math.Log(sum))
	}
	z := make([]float64, q) // the last point: R⁻¹·e₁
	for k := range q {
		if w[k] > 0 {
			z[k] = R.Data[k] / square(w[k])
		}
	}
	for _, share := range []float64{1, 0.1} {
		smooth := share * (U - low) / t.tau
		res, _ := optimize.Minimize(optimize.Problem{
			Func: func(z []float64) float64 { return -value(z, smooth, nil) },
			Grad: func(grad, z []float64) { value(z, smooth, grad) },
		}, z, &optimize.Settings{MajorIterations: combinedSteps}, &optimize.BFGS{})
		if res == nil {
			break
		}
		z = res.X
		low = math.Max(low, value(z, 0, nil))
	}
	return low
}
