package native

import (
	"testing"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/gonum"
	"gonum.org/v1/gonum/lapack/testlapack"

	"github.com/iokl/iokl/internal/base/race"
)

// TestGonumLAPACK runs gonum's LAPACK and its own tests on these kernels, as a
// program does that hands a BLAS to blas64.Use.
func TestGonumLAPACK(t *testing.T) {
	old := blas64.Implementation()
	t.Cleanup(func() { blas64.Use(old) })
	blas64.Use(New())
	var lapack gonum.Implementation
	testlapack.DpotrfTest(t, lapack)
	testlapack.DgetrfTest(t, lapack)
	testlapack.DgeqrfTest(t, lapack)
	if race.Enabled || testing.Short() {
		return // these three call the products and share their work between threads as the others do
	}
	testlapack.DormqrTest(t, lapack)
	testlapack.DtrtriTest(t, lapack)
	testlapack.DlarfbTest(t, lapack)
	testlapack.DsytrdTest(t, lapack)
	testlapack.DgehrdTest(t, lapack)
}
