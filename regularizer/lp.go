// The l_p norm, and projections on its ball.

package regularizer

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/iokl/iokl/frankwolfe"
)

// Lp is the squared l_p norm (Σ_j ‖f_j‖^p)^{2/p}, 1 ≤ P ≤ 2: ω is the indicator
// of η ≥ 0, Σ_j η_j^q ≤ 1 with q = P/(2−P). P = 1 makes most weights 0; P = 2
// (q = ∞) is the plain sum of the kernels, η = 1.
type Lp struct{ P float64 }

func (r Lp) String() string { return "lp:" + formatFloat(r.P) }

// Check requires 1 ≤ P ≤ 2.
func (r Lp) Check(int) error {
	if !(r.P >= 1 && r.P <= 2) {
		return fmt.Errorf("regularizer: the l_p norm needs 1 ≤ p ≤ 2, got p = %g", r.P)
	}
	return nil
}

// Q is the exponent of the constraint; +Inf for P = 2.
func (r Lp) Q() float64 { return r.P / (2 - r.P) }

// Start writes m^{−1/q}.
func (r Lp) Start(eta []float64) { fill(eta, math.Pow(float64(len(eta)), -1/r.Q())) }

// Update is η_j = α_j^{2/(q+1)} / (Σ_i α_i^{2q/(q+1)})^{1/q} (mathematics.md §3, where the paper's formula is
// corrected). If all α are 0 it writes the weights of Start.
func (r Lp) Update(eta, alpha2 []float64) {
	top := maxOf(alpha2)
	if math.IsInf(r.Q(), 1) || top == 0 {
		r.Start(eta)
		return
	}
	for j, a := range alpha2 {
		eta[j] = math.Pow(a/top, 1/(r.Q()+1))
	}
	r.Scale(eta)
}

// Scale divides by ‖η‖_q.
func (r Lp) Scale(eta []float64) {
	nrm := norm(eta, r.Q())
	for j := range eta {
		eta[j] /= nrm
	}
}

// lpSlack is how far rounding may carry Σ η^q above 1.
const lpSlack = 1e-12

// Omega is 0 inside the constraint, up to a slack of 1e-12, and +∞ outside.
func (r Lp) Omega(eta []float64) float64 {
	if !nonnegative(eta) || !(norm(eta, r.Q()) <= 1+lpSlack) {
		return math.Inf(1)
	}
	return 0
}

// Conjugate is ‖c‖_{q*} with 1/q + 1/q* = 1: max c_j for P = 1, Σ c_j for P = 2.
func (r Lp) Conjugate(c []float64) float64 {
	if r.P == 1 {
		return maxOf(c)
	}
	return norm(c, r.P/(2*r.P-2))
}

// Gradient is 0.
func (r Lp) Gradient(dst, _ []float64) { clear(dst) }

// Project is the projection on {v ≥ 0, ‖v‖_q ≤ 1}.
func (r Lp) Project(v []float64) {
	clipBelow(v)
	alone := make([][]float64, len(v))
	for j := range v {
		alone[j] = v[j : j+1]
	}
	r.ProjectTraces(alone)
}

// norm is ‖x‖_q for x ≥ 0 and 1 ≤ q ≤ ∞, without overflow.
func norm(x []float64, q float64) float64 {
	top := maxOf(x)
	if math.IsInf(q, 1) || top == 0 || math.IsNaN(top) || math.IsInf(top, 0) {
		return top
	}
	var s float64
	for _, v := range x {
		s += math.Pow(v/top, q)
	}
	return top * math.Pow(s, 1/q)
}

// projectBall is the case 1 < q < ∞ outside the ball. The projection is w_ji ← max(0, w_ji − κ·t_j^{q−1}) with the t_j
// that are then the sums over i, and κ > 0 such that Σ t_j^q = 1: by Newton steps kept inside a bracket.
func projectBall(w [][]float64, q float64) {
	x, t, top := make([][]float64, len(w)), make([]float64, len(w)), 0.0
	for j, v := range w {
		x[j], top = make([]float64, len(v)), math.Max(top, maxOf(v))
	}
	excess := func(kappa float64) (f, df float64) {
		f = -1
		for j, v := range w {
			var count float64
			if t[j], count = shrinkSum(x[j], v, kappa, q); t[j] > 0 {
				p := math.Pow(t[j], q-1)
				f += p * t[j]
				df -= q * count * p * p / (1 + kappa*count*(q-1)*p/t[j])
			}
		}
		return f, df
	}
	lo, hi := 0.0, top
	for f, _ := excess(hi); f > 0 && !math.IsInf(hi, 1); f, _ = excess(hi) {
		lo, hi = hi, 4*hi
	}
	kappa := lo
	for range 200 {
		f, df := excess(kappa)
		if f > 0 {
			lo = kappa
		} else {
			hi = kappa
		}
		next := kappa - f/df
		if !(next > lo && next < hi) {
			next = lo + (hi-lo)/2
		}
		if math.Abs(next-kappa) <= 1e-16*kappa || math.Abs(f) <= 1e-15 {
			break
		}
		kappa = next
	}
	size := norm(t, q)
	for j, v := range w {
		for i := range v {
			v[i] = x[j][i] / size
		}
	}
}

// shrinkSum writes max(0, v_i − κ·t^{q−1}) with their sum t to x, and returns t and how many are positive. The sum
// of those above a shift is at most t, so that what it shifts below 0 stays there.
func shrinkSum(x, v []float64, kappa, q float64) (t, count float64) {
	for shift, before := 0.0, -1.0; ; before = count {
		var sum float64
		count = 0
		for i, b := range v {
			if x[i] = 0; !(b <= shift) { // also NaN
				x[i] = b - shift
				sum += b
				count++
			}
		}
		if count == before {
			return t, count
		}
		if t = shrink(sum, count*kappa, q); count <= 1 {
			break
		}
		shift = kappa * math.Pow(t, q-1)
	}
	for i := range x {
		if x[i] != 0 {
			x[i] = t // without the cancellation
		}
	}
	return t, count
}

// shrink is the root x of x + κ·x^{q−1} = b in [0,b]. The left side is convex for
// q ≥ 2 and concave below, so Newton from above, or from below, is monotone.
func shrink(b, kappa, q float64) float64 {
	if b == 0 || kappa == 0 {
		return b
	}
	x := math.Min(b, math.Pow(b/kappa, 1/(q-1)))
	if q < 2 {
		x = math.Min(b/2, math.Pow(b/(2*kappa), 1/(q-1)))
	}
	for range 100 {
		if x == 0 { // below the smallest float64
			return 0
		}
		p := kappa * math.Pow(x, q-1)
		next := x - (x+p-b)/(1+(q-1)*p/x)
		if !(next > 0) || math.Abs(next-x) <= 1e-16*x {
			break
		}
		x = next
	}
	return x
}

// Norm is ‖η‖_q for η ≥ 0.
func (r Lp) Norm(eta []float64) float64 { return norm(eta, r.Q()) }

// ProjectTraces projects the vectors w_j ≥ 0 together on {w ≥ 0, Σ_j (Σ_i w_ji)^q ≤ 1}.
func (r Lp) ProjectTraces(w [][]float64) {
	sums, q := make([]float64, len(w)), r.Q()
	for j := range w {
		sums[j] = floats.Sum(w[j])
	}
	switch {
	case norm(sums, q) <= 1:
	case q == 1:
		all := slices.Concat(w...)
		frankwolfe.ProjectSimplex(all, 1)
		for _, v := range w {
			copy(v, all)
			all = all[len(v):]
		}
	case math.IsInf(q, 1):
		for j, v := range w {
			if sums[j] > 1 {
				frankwolfe.ProjectSimplex(v, 1)
			}
		}
	default:
		projectBall(w, q)
	}
}
