package bcd

import (
	"math"
	"slices"
	"testing"

	"github.com/iokl/iokl/linop"
)

// The second derivative by the weights is that of differences of the first.
func TestWeightHessian(t *testing.T) {
	K, Y := sparse(40, 3)
	p := &Problem{Space: NewSamples(K, Y), Lambda: 1e-2, Tau: 3}
	L := linop.ScaledIdentity(3, 1)
	L.S[0], L.S[2] = 1.9, 0.1
	eta := slices.Repeat([]float64{1 / float64(K.Len())}, K.Len())
	exact := func(eta []float64) *point { return at(t, p, eta, L, solveExactly(t, *p, eta, L)) }
	k := newTask(mustCheck(t, p), Options{}, 0)
	H, err := k.weightHessian(t.Context(), k.system.at(eta, false), exact(eta), k.all)
	if err != nil {
		t.Fatal(err)
	}
	const step = 1e-6
	for _, j := range []int{0, 20, 70} {
		near := func(sign float64) []float64 {
			e := append([]float64(nil), eta...)
			e[j] += sign * step
			return exact(e).c // minus the gradient over λ
		}
		up, down := near(1), near(-1)
		for i := range up {
			want := -p.Lambda * (up[i] - down[i]) / (2 * step)
			if got := H.Data[i*H.Stride+j]; !(math.Abs(got-want) <= 1e-5*math.Abs(H.Data[j*H.Stride+j])) {
				t.Fatalf("H[%d,%d] = %.8g, by differences %.8g", i, j, got, want)
			}
		}
	}
}

func mustCheck(t *testing.T, p *Problem) *Problem {
	t.Helper()
	q, err := p.check()
	if err != nil {
		t.Fatal(err)
	}
	return q
}
