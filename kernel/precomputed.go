// Checks of Gram matrices that a caller gives.

package kernel

import (
	"cmp"
	"fmt"
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/par"
)

// gramTol is the rounding a given Gram matrix may carry, relative to its
// largest element: enough for eight digits of text.
const gramTol = 1e-8

// FromGram checks that K (l×l) can be a Gram matrix and stores its lower triangle. K must be finite, symmetric to
// within 1e-8 of its largest element, and positive semidefinite to within 1e-8 of its largest diagonal element. The
// latter is tested by a Cholesky factorization of K with that number added to the diagonal: l³/3 flops and a copy of K.
// Errors wrap [ErrGram] and say what is wrong and where.
func FromGram(K blas.General, prec blas.Precision, be blas.Backend) (*blas.Sym, error) {
	if err := checkGram(K, blas.Or(be)); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrGram, err)
	}
	return blas.SymFrom(K, prec), nil
}

func checkGram(K blas.General, be blas.Backend) error {
	if K.Rows != K.Cols {
		return fmt.Errorf("%d rows and %d columns, not square", K.Rows, K.Cols)
	}
	if K.Rows == 0 {
		return fmt.Errorf("no rows")
	}
	if err := FiniteData(K, nil); err != nil {
		return err
	}
	if err := symmetric(K); err != nil {
		return err
	}
	return semidefinite(K, be)
}

func symmetric(K blas.General) error {
	var largest float64
	for i := range K.Rows {
		for _, v := range blas.Row(K, i) {
			largest = max(largest, math.Abs(v))
		}
	}
	errs := make([]error, K.Rows)
	par.For(K.Rows, func(i int) {
		for j := range i {
			a, b := K.Data[i*K.Stride+j], K.Data[j*K.Stride+i]
			if math.Abs(a-b) > gramTol*largest {
				errs[i] = fmt.Errorf("not symmetric: element (%d,%d) is %g and (%d,%d) is %g", i, j, a, j, i, b)
				return
			}
		}
	})
	return cmp.Or(errs...)
}

func semidefinite(K blas.General, be blas.Backend) error {
	var largest float64
	for i := range K.Rows {
		v := K.Data[i*K.Stride+i]
		if v < 0 {
			return fmt.Errorf("not positive semidefinite: diagonal element %d is %g", i, v)
		}
		largest = max(largest, v)
	}
	a := blas.Clone(K)
	if largest == 0 {
		if blas.Frob(a) > 0 {
			return fmt.Errorf("not positive semidefinite: the diagonal is zero and other elements are not")
		}
		return nil
	}
	for i := range a.Rows {
		a.Data[i*a.Stride+i] += gramTol * largest
	}
	if be.Potrf(a) {
		return nil
	}
	blas.Copy(a, K)
	w := make([]float64, a.Rows)
	if err := be.Syevals(a, w); err != nil {
		return fmt.Errorf("not positive semidefinite beyond rounding")
	}
	return fmt.Errorf("not positive semidefinite beyond rounding: its smallest eigenvalue is %g, the largest %g", w[0],
		w[len(w)-1])
}
