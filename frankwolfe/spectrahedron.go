// This file projects symmetric matrices on the spectrahedron.

package frankwolfe

import (
	"fmt"
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// ProjectSpectrahedron returns the point of S(tau) nearest to the symmetric a in
// the Frobenius norm: the eigenvectors of a, with its eigenvalues projected on the
// capped simplex; those that become 0 are dropped. The lower triangle of a is
// read. A nil backend is the active one. The error is ErrNotFinite, or that of the
// eigendecomposition.
func ProjectSpectrahedron(be blas.Backend, a blas.General, tau float64) (*linop.Spectral, error) {
	n := a.Rows
	if a.Cols != n {
		panic("frankwolfe: ProjectSpectrahedron of a matrix that is not square")
	}
	for i := range n {
		for _, x := range blas.Row(a, i)[:i+1] {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return nil, fmt.Errorf("%w: an element to project is %g", ErrNotFinite, x)
			}
		}
	}
	v, w := blas.Clone(a), make([]float64, n)
	if err := blas.Or(be).Syevd(v, w); err != nil {
		return nil, fmt.Errorf("frankwolfe: projection on the spectrahedron: %w", err)
	}
	ProjectCappedSimplex(w, tau)
	return linop.Leading(v, w, 0), nil
}
