package sylvester

import (
	"math"
	"testing"
)

// TestWorkloadGroups checks that pricing columns in groups comes close to pricing
// each, and that there are few groups.
func TestWorkloadGroups(t *testing.T) {
	const l, n = 500, 300
	s := make([]float64, 64)
	for i := range s {
		s[i] = 100 * math.Pow(float64(i+1), -1.7)
	}
	var m spectrumModel
	m.fit(l, s)
	for _, decay := range []float64{0.9, 0.99, 1} {
		var all workload
		all.reset(l)
		var single [3]float64
		ranks := [3]int{0, 16, 64}
		for j := range n {
			ratio, digits := 10*math.Pow(decay, float64(j)), 12+math.Sin(float64(j))-0.02*float64(j)
			all.add(ratio, digits)
			var one workload
			one.reset(l)
			one.add(ratio, digits)
			for k, q := range ranks {
				single[k] += one.solveBy(&m, q, &nativeCosts) - one.passes(&m, q)
			}
		}
		for k, q := range ranks {
			if together := all.solveBy(&m, q, &nativeCosts) - all.passes(&m, q); math.Abs(together/single[k]-1) > 0.25 {
				t.Errorf("ρ ∝ %g^j, rank %d: %.3g together, %.3g one by one", decay, q, together, single[k])
			}
		}
		if len(all.count) > 80 {
			t.Errorf("ρ ∝ %g^j: %d groups", decay, len(all.count))
		}
	}
}

// passes is what the iterations cost apart from their columns.
func (w *workload) passes(m *spectrumModel, q int) float64 {
	most := 0.0
	for g := range w.count {
		n := w.iterations(m, q, g)
		if q == 0 {
			n = m.beyond(n)
		}
		most = max(most, n)
	}
	it := &nativeCosts.plain
	if q > 0 {
		it = &nativeCosts.sketched
	}
	return it.of(most, 0, float64(w.l), float64(q))
}
