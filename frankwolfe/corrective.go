// This file minimizes over the face that the vertices found so far span.

package frankwolfe

import (
	"context"
	"errors"

	"github.com/iokl/iokl/blas"
)

// spareVectors is how many vectors beyond twice its rank the face may keep.
const spareVectors = 12

// correct replaces L by a minimizer of g over the face { U·H·Uᵀ : H ∈ S(τ) },
// where the columns of U span the range of L and the vertices of late. With
// UᵀU = I that is the same problem of a smaller order.
func (s *solve) correct(ctx context.Context) error {
	if err := s.extendFace(); err != nil {
		return err
	}
	U := s.face
	if U.Cols == 0 {
		return nil
	}
	H := s.opt.between(U, s.L)
	blas.Symmetrize(H)
	_, err := Projected(ctx, H, s.p.restrict(s.opt, U), Options{
		Tol: 0.1 * s.opt.Tol, MaxIter: 1000, Backend: s.opt.Backend,
	})
	if err != nil && !errors.Is(err, ErrNotConverged) {
		return err
	}
	be := s.opt.Backend
	UH := blas.NewGeneral(U.Rows, U.Cols)
	blas.Mul(be, UH, false, false, U, H)
	blas.Mul(be, s.G, false, true, UH, U) // the gradient is due to be recomputed
	M := blas.NewGeneral(U.Rows, U.Rows)
	blas.Mul(be, M, false, false, s.p.AtA, s.G)
	if s.p.value(s.G, M) <= s.p.value(s.L, s.M) {
		blas.Copy(s.L, s.G)
		blas.Symmetrize(s.L)
		blas.Copy(s.M, M)
	}
	return nil
}

// extendFace adds the vertex v to the face, after dropping the vectors that L
// does not use when there are too many.
func (s *solve) extendFace() error {
	n := s.p.N()
	if s.face.Cols >= min(n, s.limit) {
		if err := s.rangeOf(); err != nil {
			return err
		}
	}
	U := blas.NewGeneral(n, s.face.Cols+1)
	if s.face.Cols > 0 {
		blas.Copy(blas.View(U, 0, 0, n, s.face.Cols), s.face)
	}
	// v less its part in the face, twice for orthogonality at rounding level.
	x, c := blas.Clone(s.v), blas.NewGeneral(s.face.Cols, 1)
	for range 2 {
		if s.face.Cols > 0 {
			blas.Mul(s.opt.Backend, c, true, false, s.face, x)
			blas.Gemm(s.opt.Backend, false, false, -1, s.face, c, 1, x)
		}
	}
	norm := blas.Nrm2(x.Data)
	if !(norm > 1e-10) {
		return nil // v lies in the face already
	}
	for i, v := range x.Data {
		U.Data[i*U.Stride+s.face.Cols] = v / norm
	}
	s.face = U
	return nil
}

// rangeOf makes the face the range of L and sets how far it may grow. Eigenvalues
// below 10⁻¹⁰ of the largest count as zero.
func (s *solve) rangeOf() error {
	n := s.p.N()
	v, w := blas.NewGeneral(n, n), make([]float64, n)
	r, err := project(s.opt.Backend, s.L, v, w, s.p.Tau)
	if err != nil {
		return err
	}
	for r > 0 && w[n-r] <= 1e-10*w[n-1] {
		r--
	}
	s.face, s.limit = blas.View(v, 0, n-r, n, r), 2*r+spareVectors
	return nil
}

// between is Uᵀ·a·U.
func (o Options) between(U, a blas.General) blas.General {
	aU, r := blas.NewGeneral(U.Rows, U.Cols), blas.NewGeneral(U.Cols, U.Cols)
	blas.Mul(o.Backend, aU, false, false, a, U)
	blas.Mul(o.Backend, r, true, false, U, aU)
	return r
}

// restrict is the problem on the face of U.
func (p *Problem) restrict(opt Options, U blas.General) *Problem {
	sub := *p
	sub.AtA, sub.AtY, sub.B = opt.between(U, p.AtA), opt.between(U, p.AtY), opt.between(U, p.B)
	return &sub
}
