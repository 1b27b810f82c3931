package kernels

import (
	"testing"

	"gonum.org/v1/gonum/lapack/testlapack"
)

// fromOne leaves matrices of no order to gonum.
var fromOne = newLAPACK(NewBLAS(), crossovers{})

// TestGonumSuite runs gonum's conformance tests of the routines that LAPACK computes itself.
func TestGonumSuite(t *testing.T) {
	if testing.Short() {
		t.Skip("takes tens of seconds")
	}
	for name, suite := range map[string]func(*testing.T){
		"Dpotrf": func(t *testing.T) { testlapack.DpotrfTest(t, fromOne) },
		"Dpotrs": func(t *testing.T) { testlapack.DpotrsTest(t, fromOne) },
		"Dpotri": func(t *testing.T) { testlapack.DpotriTest(t, fromOne) },
		"Dpocon": func(t *testing.T) { testlapack.DpoconTest(t, fromOne) },
		"Dtrtri": func(t *testing.T) { testlapack.DtrtriTest(t, fromOne) },
		"Dtrtrs": func(t *testing.T) { testlapack.DtrtrsTest(t, fromOne) },
		"Dtrcon": func(t *testing.T) { testlapack.DtrconTest(t, fromOne) },
		"Dgetrf": func(t *testing.T) { testlapack.DgetrfTest(t, fromOne) },
		"Dgetrs": func(t *testing.T) { testlapack.DgetrsTest(t, fromOne) },
		"Dgetri": func(t *testing.T) { testlapack.DgetriTest(t, fromOne) },
		"Dgecon": func(t *testing.T) { testlapack.DgeconTest(t, fromOne) },
		"Dgeqrf": func(t *testing.T) { testlapack.DgeqrfTest(t, fromOne) },
		"Dorgqr": func(t *testing.T) { testlapack.DorgqrTest(t, fromOne) },
		"Dormqr": func(t *testing.T) { testlapack.DormqrTest(t, fromOne) },
		"Dsyev":  func(t *testing.T) { testlapack.DsyevTest(t, fromOne) },
		"Dgesvd": func(t *testing.T) { testlapack.DgesvdTest(t, fromOne, 1e-13) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			suite(t)
		})
	}
}
