package lapack

import (
	"fmt"

	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/gonum"
)

// Schur overwrites the square a by the real quasi-triangular T of a = q·T·qᵀ and
// q by the orthogonal factor. The iteration on the Hessenberg form is gonum's.
func (impl Implementation) Schur(a, q matrix) error {
	n := order(a)
	if n == 0 {
		return nil
	}
	impl.Hessenberg(a, q)
	for i := range n {
		if !finite(row(a, i)) {
			return fmt.Errorf("%w: matrix of order %d has elements that are not finite", ErrNoConvergence, n)
		}
	}
	wr, wi := make([]float64, n), make([]float64, n)
	call := func(work []float64, lwork int) int {
		return gonum.Implementation{}.Dhseqr(lapack.EigenvaluesAndSchur, lapack.SchurOrig, n, 0, n-1, a.Data, a.Stride, wr, wi, q.Data, q.Stride, work, lwork)
	}
	var size [1]float64
	call(size[:], -1)
	work := make([]float64, int(size[0]))
	if call(work, len(work)) != 0 {
		return fmt.Errorf("%w: Schur form of order %d", ErrNoConvergence, n)
	}
	return nil
}
