package kernels

import (
	"testing"

	"gonum.org/v1/gonum/lapack/testlapack"

	"github.com/iokl/iokl/blas/native"
)

// TestGonumSuite runs gonum's conformance tests of the routines that LAPACK
// computes itself, at the orders where it does and with no order left to gonum.
func TestGonumSuite(t *testing.T) {
	for name, from := range map[string]crossovers{"from the measured orders": measured, "from order one": {}} {
		l := newLAPACK(native.New(), from)
		t.Run(name, func(t *testing.T) {
			for name, suite := range map[string]func(*testing.T){
				"Dpotrf": func(t *testing.T) { testlapack.DpotrfTest(t, l) },
				"Dpotrs": func(t *testing.T) { testlapack.DpotrsTest(t, l) },
				"Dpotri": func(t *testing.T) { testlapack.DpotriTest(t, l) },
				"Dpocon": func(t *testing.T) { testlapack.DpoconTest(t, l) },
				"Dtrtri": func(t *testing.T) { testlapack.DtrtriTest(t, l) },
				"Dtrtrs": func(t *testing.T) { testlapack.DtrtrsTest(t, l) },
				"Dtrcon": func(t *testing.T) { testlapack.DtrconTest(t, l) },
				"Dgetrf": func(t *testing.T) { testlapack.DgetrfTest(t, l) },
				"Dgetrs": func(t *testing.T) { testlapack.DgetrsTest(t, l) },
				"Dgetri": func(t *testing.T) { testlapack.DgetriTest(t, l) },
				"Dgecon": func(t *testing.T) { testlapack.DgeconTest(t, l) },
				"Dgeqrf": func(t *testing.T) { testlapack.DgeqrfTest(t, l) },
				"Dorgqr": func(t *testing.T) { testlapack.DorgqrTest(t, l) },
				"Dormqr": func(t *testing.T) { testlapack.DormqrTest(t, l) },
				"Dgelqf": func(t *testing.T) { testlapack.DgelqfTest(t, l) },
				"Dorglq": func(t *testing.T) { testlapack.DorglqTest(t, l) },
				"Dormlq": func(t *testing.T) { testlapack.DormlqTest(t, l) },
				"Dgels":  func(t *testing.T) { testlapack.DgelsTest(t, l) },
				"Dlange": func(t *testing.T) { testlapack.DlangeTest(t, l) },
				"Dsyev":  func(t *testing.T) { testlapack.DsyevTest(t, l) },
				"Dgesvd": func(t *testing.T) { testlapack.DgesvdTest(t, l, 1e-13) },
			} {
				t.Run(name, suite)
			}
		})
	}
}
