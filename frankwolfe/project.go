// Projections of vectors on the simplex and the capped simplex, and of symmetric matrices on the spectrahedron.

package frankwolfe

import (
	"fmt"
	"math"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// ProjectSimplex replaces x by the nearest point of { x ≥ 0, Σx = tau }, tau ≥ 0.
// Elements that are NaN make all of them NaN. Nothing is allocated.
func ProjectSimplex(x []float64, tau float64) {
	if len(x) == 0 {
		return
	}
	top := slices.Max(x) // keeps NaN
	if !finite(top) {
		for i := range x {
			x[i] = math.NaN()
		}
		return
	}
	// Relative to the largest element nothing cancels: the threshold lies in [−tau, 0].
	// Michelot: it is the mean excess over the elements above it, found by raising it.
	theta := threshold(x, top, math.Inf(-1), tau)
	for i, v := range x {
		x[i] = math.Max(v-top-theta, 0)
	}
}

// threshold returns θ with Σ max(x_i − top − θ, 0) = tau, starting with the elements above low.
func threshold(x []float64, top, low, tau float64) float64 {
	count := len(x) + 1
	for {
		sum, n := 0.0, 0
		for _, v := range x {
			if v-top > low {
				sum += v - top
				n++
			}
		}
		if n >= count || n == 0 { // never more than before but for rounding
			return low
		}
		count, low = n, math.Min((sum-tau)/float64(n), 0)
	}
}

// ProjectCappedSimplex replaces x by the nearest point of { x ≥ 0, Σx ≤ tau },
// tau ≥ 0. Elements that are NaN make all of them NaN. Nothing is allocated.
func ProjectCappedSimplex(x []float64, tau float64) {
	var sum float64
	for _, v := range x {
		sum += math.Max(v, 0)
	}
	if !(sum <= tau) {
		ProjectSimplex(x, tau)
		return
	}
	for i, v := range x {
		x[i] = math.Max(v, 0)
	}
}

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
			if !finite(x) {
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
