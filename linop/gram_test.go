package linop_test

import (
	"fmt"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/linop/linoptest"
)

// TestGram checks the sum of one packed matrix, and its form in single precision, against the dense matrix.
func TestGram(t *testing.T) {
	for _, be := range blas.Backends() {
		for _, n := range []int{1, 5, 65, 130} {
			for prec, unit := range map[blas.Precision]float64{blas.Float64: 0x1p-53, blas.Float32: 0x1p-24} {
				t.Run(fmt.Sprintf("%s/n=%d/%v", be.Name(), n, prec), func(t *testing.T) {
					terms, dense := gramTerms(n, 1, prec)
					K := be.NewPacked(n, prec)
					blas.PackSum(K, []float64{1}, terms)
					sum := linop.NewGram(K, be)
					opt := linoptest.Options{Unit: unit}
					opt.Allocates = be.Name() != "native" && (n > 64 || prec == blas.Float32)
					linoptest.RunSum(t, sum, dense, opt)
					eta := 0.75
					sum.SetWeights([]float64{eta})
					want := blas.NewGeneral(n, n)
					blas.CopyScaled(want, eta, dense[0])
					opt.Unit = 0x1p-24
					opt.Allocates = opt.Allocates || be.Name() != "native"
					linoptest.Run(t, sum.Single(), want, opt)
				})
			}
		}
	}
}

// TestPart compares principal submatrices with those of the dense terms.
func TestPart(t *testing.T) {
	for _, prec := range []blas.Precision{blas.Float64, blas.Float32} {
		terms, dense := gramTerms(130, 2, prec)
		rows := []int{0, 3, 63, 64, 128, 129}
		want := make([]blas.General, len(dense))
		for j, a := range dense {
			want[j] = blas.NewGeneral(len(rows), len(rows))
			for i, r := range rows {
				for k, c := range rows {
					want[j].Data[i*len(rows)+k] = a.Data[r*a.Stride+c]
				}
			}
		}
		part := linop.NewGramSum(terms, nil, prec).Part(rows)
		linoptest.RunSum(t, part, want, linoptest.Options{Unit: map[blas.Precision]float64{
			blas.Float64: 0x1p-53, blas.Float32: 0x1p-24,
		}[prec]})
	}
}
