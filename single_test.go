package iokl_test

import (
	"testing"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/blas"
)

// Kernels in single precision are summed with weights and rounded again for each set of weights, which moves the
// objective by more than the last steps do: fits converge all the same.
func TestSinglePrecisionConverges(t *testing.T) {
	for seed := range uint64(12) {
		X, Y := ripple(70, seed)
		for _, norm := range []iokl.Norm{iokl.NormL1, "lp:1.5"} {
			opt := given(iokl.Options{Precision: blas.Float32, Norm: norm, Tol: 1e-5})
			m, err := iokl.Fit(bg, X, Y, opt)
			if err != nil {
				t.Errorf("seed %d, norm %s: %v", seed, norm, err)
			} else if gap := m.Certificate().RelativeGap; !(gap <= 1e-5) {
				t.Errorf("seed %d, norm %s: gap %g", seed, norm, gap)
			}
		}
	}
}
