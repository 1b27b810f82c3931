// Penalties in other units of the kernels.

package regularizer

// InUnits is the penalty ω·b/s², of a problem whose objective is divided by s² and whose λ is divided by b, at the same
// weights. Its domain is that of ω. b/s² and its reciprocal may overflow.
type InUnits struct {
	Regularizer
	Scale, B float64 // s and b
}

// Update is the Update of ω for alpha2·s²/b.
func (r InUnits) Update(eta, alpha2 []float64) { r.Regularizer.Update(eta, r.given(alpha2)) }

// Omega is ω(η)·b/s².
func (r InUnits) Omega(eta []float64) float64 { return r.scaled(r.Regularizer.Omega(eta)) }

// Conjugate is ω*(c·s²/b)·b/s².
func (r InUnits) Conjugate(c []float64) float64 { return r.scaled(r.Regularizer.Conjugate(r.given(c))) }

// Gradient is ∇ω·b/s².
func (r InUnits) Gradient(dst, eta []float64) {
	r.Regularizer.Gradient(dst, eta)
	for j, v := range dst {
		dst[j] = r.scaled(v)
	}
}

// scaled is v·b/s².
func (r InUnits) scaled(v float64) float64 { return v / r.Scale * r.B / r.Scale }

// given is v·s²/b.
func (r InUnits) given(v []float64) []float64 {
	s := make([]float64, len(v))
	for j, x := range v {
		s[j] = x * r.Scale / r.B * r.Scale
	}
	return s
}

// Restricts reports whether r, restricted to some of the kernels with weight 0 for the others, is a regularizer of the
// same type.
func Restricts(r Regularizer) bool {
	switch r := r.(type) {
	case InUnits:
		return Restricts(r.Regularizer)
	case Lp, BlockR, ElasticNet:
		return true
	}
	return false
}
