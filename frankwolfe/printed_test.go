package frankwolfe_test

import (
	"math"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/frankwolfe"
)

// printed runs Frank–Wolfe with the gradient G + Gᵀ − diag(G), G = λB + 2AᵀAL − 2AᵀY,
// or the right one, and with the line search −tr((AL/l − Y)ᵀAP + ½λBP)/tr(PᵀAᵀAP/l)
// unclipped, or the right one, as the literature has them. It returns the last
// L, its value, and the least eigenvalue of L along the way.
func printed(
	t *testing.T, p *frankwolfe.Problem, A, Y blas.General, printedGradient, printedSearch bool,
) (value, low float64) {
	n, l := p.N(), p.Samples
	be := blas.Active()
	L := blas.NewGeneral(n, n)
	for i := range n {
		L.Data[i*n+i] = p.Tau / float64(n)
	}
	for range 3000 {
		G, M := blas.NewGeneral(n, n), blas.NewGeneral(n, n)
		blas.Mul(be, M, false, false, p.AtA, L)
		blas.AddScaled(M, -1, p.AtY)
		for i := range n {
			for j := range n {
				at := func(i, j int, c float64) float64 { return p.Lambda*p.B.Data[i*n+j] + c*M.Data[i*n+j] }
				switch {
				case !printedGradient:
					G.Data[i*n+j] = (at(i, j, 2/l) + at(j, i, 2/l)) / 2
				case i == j:
					G.Data[i*n+i] = at(i, i, 2)
				default:
					G.Data[i*n+j] = at(i, j, 2) + at(j, i, 2)
				}
			}
		}
		w := make([]float64, n)
		if err := be.Syevd(G, w); err != nil {
			t.Fatal(err)
		}
		P := blas.Clone(L)
		blas.Scal(-1, P.Data)
		if w[0] < 0 {
			for i := range n {
				for j := range n {
					P.Data[i*n+j] += p.Tau * G.Data[i*n] * G.Data[j*n]
				}
			}
		}
		AL, AP := blas.NewGeneral(A.Rows, n), blas.NewGeneral(A.Rows, n)
		blas.Mul(be, AL, false, false, A, L)
		blas.Mul(be, AP, false, false, A, P)
		curve := blas.Inner(AP, AP) / l
		var gamma float64
		if printedSearch {
			gamma = -(blas.Inner(AL, AP)/l - blas.Inner(Y, AP) + p.Lambda/2*blas.Inner(p.B, P)) / curve
		} else {
			gamma = -((blas.Inner(AL, AP)-blas.Inner(Y, AP))/l + p.Lambda/2*blas.Inner(p.B, P)) / curve
			gamma = max(0, min(1, gamma))
		}
		blas.AddScaled(L, gamma, P)
		if err := be.Syevals(blas.Clone(L), w); err != nil {
			t.Fatal(err)
		}
		if low = min(low, w[0]); low < -0.1 {
			break // it has left the cone for good
		}
	}
	return p.Value(be, L), low
}

// The formulas as first published do not solve the problem: with that gradient the method stalls
// above the optimum, with that line search it leaves the cone of positive
// semidefinite matrices. The same loop with the formulas of this package does neither.
func TestPublishedFormulas(t *testing.T) {
	p, A, Y := goldenProblem(t, "lstep_active", 3)
	best := golden[0].value
	value, low := printed(t, p, A, Y, false, false)
	if !(value <= best*(1+1e-4)) || !(low >= -1e-12) {
		t.Errorf("corrected: value %g (optimum %g), smallest eigenvalue %g", value, best, low)
	}
	t.Logf("corrected: value %.6f, optimum %.6f", value, best)
	value, low = printed(t, p, A, Y, true, false)
	if !(value > best*(1+1e-3)) || math.IsNaN(low) {
		t.Errorf("published gradient: value %g is optimal (%g)", value, best)
	}
	t.Logf("published gradient: value %.6f, optimum %.6f", value, best)
	value, low = printed(t, p, A, Y, false, true)
	if !(low < -0.1) {
		t.Errorf("published line search: smallest eigenvalue %g", low)
	}
	t.Logf("published line search: value %.6g, smallest eigenvalue %.3g", value, low)
}
