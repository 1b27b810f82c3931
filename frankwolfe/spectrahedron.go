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
	v, w := blas.NewGeneral(n, n), make([]float64, n)
	if _, err := project(blas.Or(be), a, v, w, tau); err != nil {
		return nil, err
	}
	return linop.Leading(v, w, 0), nil
}

// project makes v the eigenvectors of a and w, ascending, their projected
// eigenvalues, of which the last r are positive.
func project(be blas.Backend, a, v blas.General, w []float64, tau float64) (r int, err error) {
	n := a.Rows
	for i := range n {
		for _, x := range blas.Row(a, i)[:i+1] {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return 0, fmt.Errorf("%w: an element to project is %g", ErrNotFinite, x)
			}
		}
	}
	blas.Copy(v, a)
	if err := be.Syevd(v, w); err != nil {
		return 0, fmt.Errorf("frankwolfe: projection on the spectrahedron: %w", err)
	}
	ProjectCappedSimplex(w, tau)
	for r < n && w[n-1-r] > 0 {
		r++
	}
	return r, nil
}

// compose computes dst = V·diag(w)·Vᵀ over the last r columns of v; vw is n×n scratch.
func compose(be blas.Backend, dst, v, vw blas.General, w []float64, r int) {
	n := dst.Rows
	if r == 0 {
		blas.Zero(dst)
		return
	}
	V, W := blas.View(v, 0, n-r, n, r), blas.View(vw, 0, n-r, n, r)
	for i := range n {
		for j, x := range blas.Row(V, i) {
			W.Data[i*W.Stride+j] = x * w[n-r+j]
		}
	}
	blas.Mul(be, dst, false, true, W, V)
	blas.Symmetrize(dst) // rounding must not leave it otherwise
}
