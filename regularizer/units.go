// This file changes the units of penalties.

package regularizer

// InUnits is the penalty ω·B/Y² of a problem whose squared norms are divided by Y² and whose weights stay, with
// B and Y so far from 1 that neither B/Y² nor its reciprocal need be a float64. Its domain is that of ω.
type InUnits struct {
	Regularizer
	Y, B float64
}

// Update is that of ω at alpha2·Y²/B.
func (r InUnits) Update(eta, alpha2 []float64) { r.Regularizer.Update(eta, r.given(alpha2)) }

// Omega is ω(η)·B/Y².
func (r InUnits) Omega(eta []float64) float64 { return r.scaled(r.Regularizer.Omega(eta)) }

// Conjugate is ω*(c·Y²/B)·B/Y².
func (r InUnits) Conjugate(c []float64) float64 { return r.scaled(r.Regularizer.Conjugate(r.given(c))) }

// Gradient is ∇ω·B/Y².
func (r InUnits) Gradient(dst, eta []float64) {
	r.Regularizer.Gradient(dst, eta)
	for j, v := range dst {
		dst[j] = r.scaled(v)
	}
}

// scaled is v·B/Y².
func (r InUnits) scaled(v float64) float64 { return v / r.Y * r.B / r.Y }

// given is v·Y²/B.
func (r InUnits) given(v []float64) []float64 {
	s := make([]float64, len(v))
	for j, x := range v {
		s[j] = x * r.Y / r.B * r.Y
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
