// Package rademacher bounds the empirical Rademacher complexity of the classes
// that l_p-regularised learning with separable kernels searches,
//
//	F_p(r) = { f : ‖(‖f_1‖, …, ‖f_m‖)‖_p ≤ r },  ‖f_j‖ the norm of the space of k_j·L,
//
// from the traces of the Gram matrices alone (mathematics.md §9; Sindhwani, Minh
// and Lozano, Theorem 1). With u_j = √(tr K_j · tr L) and η₀ = 23/22, for every p,
//
//	R̂ ≤ (r/l)·‖u‖₁,   R̂ ≤ (r/l)·√(η₀t)·‖u‖_t for integers 2 ≤ t ≤ q, 1/p + 1/q = 1;
//
// the second because F_p(r) lies in F_p'(r) for p ≤ p'.
package rademacher

import (
	"errors"
	"fmt"
	"math"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// ErrInput says that an argument makes no sense; the message has the numbers.
var ErrInput = errors.New("rademacher: invalid argument")

// eta0 is the constant η₀ of Khintchine–Kahane inequalities in Cortes, Mohri and Rostamizadeh (2010).
const eta0 = 23.0 / 22

// Class is a class F_p(r) over l samples.
type Class struct {
	P       float64   // p ≥ 1
	Radius  float64   // r ≥ 0
	Samples int       // l ≥ 1
	Traces  []float64 // tr K_j on those samples, ≥ 0
	TraceL  float64   // tr L, ≥ 0
}

// Bound returns the least of the bounds above, and the t it uses: 1 for ‖u‖₁.
func (c Class) Bound() (bound float64, t int, err error) {
	if err := c.check(); err != nil {
		return math.NaN(), 0, err
	}
	u := make([]float64, len(c.Traces))
	var top float64
	for j, tr := range c.Traces {
		u[j] = math.Sqrt(tr) * math.Sqrt(c.TraceL)
		top = max(top, u[j])
	}
	best, t := norm(u, 1), 1
	q := c.P / (c.P - 1) // +Inf for p = 1
	// ‖u‖_t ≥ max u, so larger t cannot win once √(η₀t)·max u has reached the best.
	for k := 2; float64(k) <= q*(1+1e-12) && math.Sqrt(eta0*float64(k))*top < best; k++ {
		if v := math.Sqrt(eta0*float64(k)) * norm(u, float64(k)); v < best {
			best, t = v, k
		}
	}
	return c.Radius / float64(c.Samples) * best, t, nil
}

func (c Class) check() error {
	switch {
	case !(c.P >= 1) || math.IsInf(c.P, 1):
		return fmt.Errorf("%w: p = %g", ErrInput, c.P)
	case !(c.Radius >= 0) || math.IsInf(c.Radius, 1):
		return fmt.Errorf("%w: radius %g", ErrInput, c.Radius)
	case c.Samples < 1 || len(c.Traces) < 1:
		return fmt.Errorf("%w: %d samples, %d kernels", ErrInput, c.Samples, len(c.Traces))
	case !(c.TraceL >= 0) || math.IsInf(c.TraceL, 1):
		return fmt.Errorf("%w: tr L = %g", ErrInput, c.TraceL)
	}
	for j, v := range c.Traces {
		if !(v >= 0) || math.IsInf(v, 1) {
			return fmt.Errorf("%w: tr K_%d = %g", ErrInput, j, v)
		}
	}
	return nil
}

// OneKernel is (r/l)·√tr(K⊗L), the bound for a single separable kernel.
func OneKernel(traceK, traceL, radius float64, samples int) float64 {
	return radius / float64(samples) * math.Sqrt(traceK) * math.Sqrt(traceL)
}

// Separable is the bound before any data for m separable kernels with
// k_j(x,x) ≤ kappa and tr L ≤ tau: for p = 1
//
//	r√(η₀κτ/l) (m = 1),   r√(η₀·e·⌈2 ln m⌉·κτ/l) (m > 1),
//
// for p with an integer conjugate q the lesser of r·m^{1/q}·√(η₀qκτ/l) and
// r·m·√(κτ/l), and for other p the latter.
func Separable(m int, kappa, tau, radius float64, samples int, p float64) (float64, error) {
	if m < 1 || samples < 1 || !(p >= 1) || !(kappa >= 0) || !(tau >= 0) || !(radius >= 0) {
		return math.NaN(), fmt.Errorf("%w: m = %d, l = %d, p = %g, κ = %g, τ = %g, r = %g", ErrInput, m, samples, p, kappa, tau, radius)
	}
	unit := radius * math.Sqrt(kappa) * math.Sqrt(tau/float64(samples))
	fm := float64(m)
	if p == 1 {
		if m == 1 {
			return unit * math.Sqrt(eta0), nil
		}
		return unit * math.Sqrt(eta0*math.E*math.Ceil(2*math.Log(fm))), nil
	}
	bound := unit * fm
	if q := p / (p - 1); math.Abs(q-math.Round(q)) <= 1e-9*q {
		bound = min(bound, unit*math.Pow(fm, 1/q)*math.Sqrt(eta0*q))
	}
	return bound, nil
}

// Fitted is the class that a fit in sample space ended on the boundary of: its
// radius is the norm ‖(α_1, …, α_m)‖_p of the fitted function, α_j = ‖f_j‖ =
// η_j·√tr(Cᵀ K_j C L).
func Fitted(K linop.Sum, res *bcd.Result, p float64) (Class, error) {
	l, m := K.Dim(), K.Len()
	if res.C.Rows != l || len(res.Eta) != m {
		return Class{}, fmt.Errorf("%w: the fit has %d coefficients and %d weights, the dictionary %d samples and %d kernels", ErrInput, res.C.Rows, len(res.Eta), l, m)
	}
	c := Class{P: p, Samples: l, TraceL: res.L.Trace(), Traces: make([]float64, m)}
	diag, idx := make([]float64, l), make([]int, m)
	for j := range m {
		idx[j] = j
		K.Diag(diag, j)
		for _, v := range diag {
			c.Traces[j] += v
		}
	}
	CL := blas.NewGeneral(l, res.C.Cols)
	res.L.MulRight(blas.Active(), CL, res.C)
	alpha := make([]float64, m)
	K.Forms(alpha, res.C, CL, idx)
	for j, v := range alpha {
		alpha[j] = res.Eta[j] * math.Sqrt(max(v, 0))
	}
	c.Radius = norm(alpha, p)
	return c, c.check()
}

// norm is ‖x‖_p for x ≥ 0 without overflow.
func norm(x []float64, p float64) float64 {
	var top, s float64
	for _, v := range x {
		top = max(top, v)
	}
	if top == 0 {
		return 0
	}
	for _, v := range x {
		s += math.Pow(v/top, p)
	}
	return top * math.Pow(s, 1/p)
}
