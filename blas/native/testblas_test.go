package native

import (
	"testing"

	"gonum.org/v1/gonum/blas/testblas"
)

// TestGonumSuite runs gonum's own conformance tests at every level of the machine.
func TestGonumSuite(t *testing.T) {
	for _, l := range Levels() {
		b, err := NewLevel(l)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(l.String(), func(t *testing.T) { gonumSuite(t, b) })
	}
}

func gonumSuite(t *testing.T, b *BLAS) {
	t.Run("Level1", func(t *testing.T) {
		testblas.DdotTest(t, b)
		testblas.Dnrm2Test(t, b)
		testblas.DasumTest(t, b)
		testblas.DswapTest(t, b)
		testblas.DcopyTest(t, b)
		testblas.DaxpyTest(t, b)
		testblas.DrotgTest(t, b, false)
		testblas.DrotmgTest(t, b)
		testblas.DrotTest(t, b)
		testblas.DrotmTest(t, b)
		testblas.DscalTest(t, b)
	})
	t.Run("Level2", func(t *testing.T) {
		testblas.DgemvTest(t, b)
		testblas.DgerTest(t, b)
		testblas.DsymvTest(t, b)
		testblas.DsyrTest(t, b)
		testblas.Dsyr2Test(t, b)
		testblas.DtrmvTest(t, b)
		testblas.DtrsvTest(t, b)
		testblas.DtxmvTest(t, b)
	})
	t.Run("Banded", func(t *testing.T) {
		testblas.DgbmvTest(t, b)
		testblas.DsbmvTest(t, b)
		testblas.DtbmvTest(t, b)
		testblas.DtbsvTest(t, b)
		testblas.DspmvTest(t, b)
		testblas.DsprTest(t, b)
		testblas.Dspr2Test(t, b)
		testblas.DtpmvTest(t, b)
		testblas.DtpsvTest(t, b)
	})
	t.Run("Level3", func(t *testing.T) {
		testblas.TestDgemm(t, b)
		testblas.DsymmTest(t, b)
		testblas.DsyrkTest(t, b)
		testblas.Dsyr2kTest(t, b)
		testblas.DtrmmTest(t, b)
		testblas.DtrsmTest(t, b)
	})
}
