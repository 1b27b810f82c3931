// Block r-norms and the elastic net.

package regularizer

import (
	"fmt"
	"math"
)

// BlockR is (2/R)·Σ_j ‖f_j‖^R, 1 ≤ R < 2, with t = R/(2−R) and ω(η) = Σ_j η_j^t/t.
// R = 1 is the block 1-norm 2·Σ‖f_j‖ with ω = Σ η_j.
type BlockR struct{ R float64 }

func (r BlockR) String() string {
	if r.R == 1 {
		return "block1"
	}
	return "blockr:" + formatFloat(r.R)
}

// Check requires 1 ≤ R < 2.
func (r BlockR) Check(int) error {
	if !(r.R >= 1 && r.R < 2) {
		return fmt.Errorf("regularizer: the block r-norm needs 1 ≤ r < 2, got r = %g", r.R)
	}
	return nil
}

func (r BlockR) t() float64 { return r.R / (2 - r.R) }

// Start writes 1/m.
func (r BlockR) Start(eta []float64) { fill(eta, 1/float64(len(eta))) }

// Update is η_j = α_j^{2−R}.
func (r BlockR) Update(eta, alpha2 []float64) {
	for j, a := range alpha2 {
		eta[j] = math.Pow(a, 1-r.R/2)
	}
}

// Omega is Σ η_j^t/t.
func (r BlockR) Omega(eta []float64) float64 {
	if !nonnegative(eta) {
		return math.Inf(1)
	}
	t := r.t()
	var s float64
	for _, e := range eta {
		s += math.Pow(e, t)
	}
	return s / t
}

// Conjugate is Σ c_j^{t*}/t* with 1/t + 1/t* = 1; for R = 1 it is 0 when every c_j ≤ 1 and +∞ otherwise.
func (r BlockR) Conjugate(c []float64) float64 {
	if r.R == 1 {
		if maxOf(c) <= 1 {
			return 0
		}
		return math.Inf(1)
	}
	dual := r.R / (2*r.R - 2)
	var s float64
	for _, v := range c {
		s += math.Pow(v, dual)
	}
	return s / dual
}

// Gradient is η_j^{t−1}.
func (r BlockR) Gradient(dst, eta []float64) {
	for j, e := range eta {
		dst[j] = math.Pow(e, r.t()-1)
	}
}

// Project clips at 0.
func (r BlockR) Project(v []float64) { clipBelow(v) }

// ElasticNet is 2(1−M)·Σ_j ‖f_j‖ + M·Σ_j ‖f_j‖² with M = Mix in (0,1):
// ω(η) = Σ_j (1−M)²·η_j/(1−M·η_j) on 0 ≤ η_j < 1/M (mathematics.md §3).
type ElasticNet struct{ Mix float64 }

func (r ElasticNet) String() string { return "elastic:" + formatFloat(r.Mix) }

// Check requires 0 < Mix < 1.
func (r ElasticNet) Check(int) error {
	if !(r.Mix > 0 && r.Mix < 1) {
		return fmt.Errorf("regularizer: the elastic net needs a mix strictly between 0 (block1) and 1 (lp:2), got %g",
			r.Mix)
	}
	return nil
}

// Start writes 1/m.
func (r ElasticNet) Start(eta []float64) { fill(eta, 1/float64(len(eta))) }

// Update is η_j = α_j/(1−M+M·α_j).
func (r ElasticNet) Update(eta, alpha2 []float64) {
	for j, a := range alpha2 {
		a = math.Sqrt(a)
		eta[j] = a / (1 - r.Mix + r.Mix*a)
	}
	r.Project(eta)
}

// Omega is Σ (1−M)²η_j/(1−M·η_j).
func (r ElasticNet) Omega(eta []float64) float64 {
	var s float64
	for _, e := range eta {
		if !(e >= 0 && r.Mix*e < 1) {
			return math.Inf(1)
		}
		s += e / (1 - r.Mix*e)
	}
	return (1 - r.Mix) * (1 - r.Mix) * s
}

// Conjugate is Σ max(0, √c_j − (1−M))²/M.
func (r ElasticNet) Conjugate(c []float64) float64 {
	var s float64
	for _, v := range c {
		if d := math.Sqrt(v) - (1 - r.Mix); !(d <= 0) {
			s += d * d
		}
	}
	return s / r.Mix
}

// Gradient is ((1−M)/(1−M·η_j))².
func (r ElasticNet) Gradient(dst, eta []float64) {
	for j, e := range eta {
		d := (1 - r.Mix) / (1 - r.Mix*e)
		dst[j] = d * d
	}
}

// Project clips to [0, (1−2⁻⁴⁰)/M], just inside the open upper end.
func (r ElasticNet) Project(v []float64) {
	top := (1 - 0x1p-40) / r.Mix
	for j, x := range v {
		v[j] = math.Min(math.Max(x, 0), top)
	}
}
