package sylvester

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// TestPlainIterations compares the prediction with what plain conjugate gradients take.
func TestPlainIterations(t *testing.T) {
	const l = 300
	rng := rand.New(rand.NewPCG(18, 19))
	K, s := blas.NewGeneral(l, l), make([]float64, l)
	Y := blas.NewGeneral(l, 1)
	for i := range s {
		s[i] = 30 * math.Pow(float64(i+1), -1.6)
		K.Data[i*l+i] = s[i]
		Y.Data[i] = rng.NormFloat64()
	}
	var m spectrumModel
	m.l, m.beyond = l, 1./l
	m.fit(s, true)
	for _, mu := range []float64{1, 0.1, 0.01, 1e-3} {
		C := blas.NewGeneral(l, 1)
		s0, _ := New("rotated", Config{})
		res, err := s0.Solve(context.Background(), C, System{
			K: linop.NewDense(K, nil), L: linop.ScaledIdentity(1, 1), Mu: mu,
		}, Y, Options{Tol: 1e-6})
		if err != nil {
			t.Fatal(err)
		}
		var w workload
		w.reset(l)
		w.add(1/mu, math.Log(1e6))
		if share := float64(res.Iter) / predicted(&m, &w, 0); !(share > 0.9 && share < 1.1) {
			t.Errorf("μ = %g: %d iterations, %.3g times what was predicted", mu, res.Iter, share)
		}
	}
}

// predicted is the number of iterations behind a sketch of rank q.
func predicted(m *spectrumModel, w *workload, q int) (n float64) {
	m.iterate(w, q, func(float64) bool {
		n++
		return true
	})
	return n
}

// stored is an operator of an order and a precision, without elements.
type stored struct {
	linop.Operator
	order int
	prec  blas.Precision
}

func (s stored) Dim() int                  { return s.order }
func (s stored) Precision() blas.Precision { return s.prec }

// TestDirectOfSingle checks that auto factorizes no large matrix that was stored in half the memory.
func TestDirectOfSingle(t *testing.T) {
	s := newAuto(Config{Backend: blas.Default()}).(*auto)
	for _, c := range []struct {
		stored
		direct bool
	}{
		{stored{order: linop.KeepBoth, prec: blas.Float32}, true},
		{stored{order: linop.KeepBoth + 1, prec: blas.Float32}, false},
		{stored{order: linop.KeepBoth + 1, prec: blas.Float64}, true},
	} {
		best, least := s.direct(costsOf(s.be), System{c.stored, linop.ScaledIdentity(1, 1), 1}, 1, 1e-4)
		if direct := best != method(&s.plain); direct != c.direct || math.IsInf(least, 1) == c.direct {
			t.Errorf("order %d in %v: %s at %g ns", c.order, c.prec, best.Name(), least)
		}
	}
}

// TestSinglePrice checks that single precision makes iterations behind a sketch and
// the sketch cheaper, and nothing else.
func TestSinglePrice(t *testing.T) {
	var m spectrumModel
	m.l, m.beyond = 2000, 1./2000
	m.fit([]float64{100, 50, 20, 10, 5}, false)
	var w workload
	w.reset(2000)
	for range 100 {
		w.add(1, 12)
	}
	plain, sketched := w.solveBy(&m, 0, &nativeCosts, math.Inf(1)), w.solveBy(&m, 5, &nativeCosts, math.Inf(1))
	w.single = true
	if got := w.solveBy(&m, 0, &nativeCosts, math.Inf(1)); got != plain {
		t.Errorf("plain iterations at %g, %g in single precision", plain, got)
	}
	if got := w.solveBy(&m, 5, &nativeCosts, math.Inf(1)); !(got < 0.85*sketched && got > singleColumn*sketched) {
		t.Errorf("iterations behind a sketch at %g, %g in single precision", sketched, got)
	}
	if double, single := nativeCosts.growth(2000, 64, 0, false), nativeCosts.growth(2000, 64, 0,
		true); !(single < 0.85*double && single > singleSketch*double) {
		t.Errorf("a sketch at %g, %g in single precision", double, single)
	}
	if w.reset(2000); w.single {
		t.Error("reset keeps the precision")
	}
}

// TestWorkloadGroups checks that pricing columns in groups comes close to pricing
// each, and that there are few groups.
func TestWorkloadGroups(t *testing.T) {
	const l, n = 500, 300
	s := make([]float64, 64)
	for i := range s {
		s[i] = 100 * math.Pow(float64(i+1), -1.7)
	}
	var m spectrumModel
	m.l, m.beyond = l, 1./l
	m.fit(s, false)
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
				single[k] += one.solveBy(&m, q, &nativeCosts, math.Inf(1)) - one.passes(&m, q)
			}
		}
		for k, q := range ranks {
			together := all.solveBy(&m, q, &nativeCosts, math.Inf(1)) - all.passes(&m, q)
			if math.Abs(together/single[k]-1) > 0.25 {
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
	it := &nativeCosts.plain
	if q > 0 {
		it = &nativeCosts.sketched
	}
	return it.total(predicted(m, w, q), 0, float64(w.l), float64(q))
}

// TestDecomposeCubes compares the two units that costs are in.
func TestDecomposeCubes(t *testing.T) {
	for l := 1000.; l <= 4000; l += 500 {
		flop := nativeCosts.plain.column[0] / 2
		got := nativeCosts.eigendecomposition(int(l), 0, false) / (l * l * l * flop)
		if got < 0.8*DecomposeCubes || got > 1.2*DecomposeCubes {
			t.Errorf("an eigendecomposition of order %g is worth %.3g·l³ flops, not %g·l³", l, got, DecomposeCubes)
		}
	}
}
