// Penalties in other units of the kernels.

package regularizer

// InUnits is the penalty ω·b/s² of a problem whose objective is divided by s² and whose λ by b, while its weights stay.
// Its domain is that of ω. Neither b/s² nor its reciprocal need be a float64.
type InUnits struct {
	Regularizer
	Scale, B float64 // s and b
}

// Update is that of ω at alpha2·s²/b.
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

// Restricts reports whether r of some of the kernels, where the others have weight 0, is of the kind of r.
func Restricts(r Regularizer) bool {
	switch r := r.(type) {
	case InUnits:
		return Restricts(r.Regularizer)
	case Lp, BlockR, ElasticNet:
		return true
	}
	return false
}
