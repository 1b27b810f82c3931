package rff

import (
	"fmt"
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/kernel"
)

// nystrom maps x to P·k(landmarks, x) with PᵀP the pseudo-inverse of the
// landmarks' Gram matrix: z(x)ᵀz(x') is the Nyström approximation of k.
type nystrom struct {
	local      kernel.Kernel // on the kernel's own columns
	landmarks  blas.General  // s×d
	projection blas.General  // s×D
}

// chooseNystrom draws the landmarks from X and computes the projection.
func (m *Map) chooseNystrom(X blas.General) error {
	if X.Rows == 0 {
		return fmt.Errorf("%w: landmarks are drawn from the training data", ErrNoFeatures)
	}
	local := onOwnColumns(m.Kernel)
	x := gather(X, columns(&m.Kernel))
	if err := kernel.FiniteData(X, columns(&m.Kernel)); err != nil {
		return err
	}
	m.Sampler = m.Kernel.Approx.Sampler
	z, err := drawLandmarks(m.Sampler, &local, x, min(m.Kernel.Approx.Count, X.Rows), m.Seed, m.Stream)
	if err != nil {
		return err
	}
	p, err := projection(&local, z)
	if err != nil {
		return err
	}
	m.Landmarks = &Matrix{z.Rows, z.Cols, z.Data}
	m.Projection = &Matrix{p.Rows, p.Cols, p.Data}
	m.D = p.Cols
	return nil
}

// onOwnColumns is the kernel on data that hold its columns only.
func onOwnColumns(k kernel.Kernel) kernel.Kernel {
	k.Inputs, k.Columns, k.Approx = dims(&k), nil, nil
	return k
}

// projection is U·S^{-1/2} of the landmarks' Gram matrix U·S·Uᵀ, for the
// eigenvalues above rounding.
func projection(k *kernel.Kernel, z blas.General) (blas.General, error) {
	u, w, err := gramEigen(k, z)
	if err != nil {
		return blas.General{}, err
	}
	s := len(w)
	drop := 0
	for drop < s && !(w[drop] > float64(s)*0x1p-52*w[s-1]) {
		drop++
	}
	p := blas.NewGeneral(s, s-drop)
	for i := range s {
		for j := drop; j < s; j++ {
			p.Data[i*p.Stride+j-drop] = u.Data[i*s+j] / math.Sqrt(w[j])
		}
	}
	return p, nil
}

// gramEigen is the eigendecomposition of the Gram matrix of z, values ascending.
func gramEigen(k *kernel.Kernel, z blas.General) (u blas.General, w []float64, err error) {
	g, err := k.Gram(z, blas.Float64)
	if err != nil {
		return blas.General{}, nil, err
	}
	u = blas.NewGeneral(z.Rows, z.Rows)
	g.Dense(u)
	w = make([]float64, z.Rows)
	return u, w, blas.Active().Syevd(u, w)
}

func newNystrom(m *Map) (transformer, error) {
	l, p := m.Landmarks, m.Projection
	switch {
	case l == nil || p == nil:
		return nil, fmt.Errorf("%w: a Nyström map without landmarks", ErrNoFeatures)
	case l.Cols != dims(&m.Kernel) || p.Rows != l.Rows || p.Cols != m.D ||
		len(l.Data) != l.Rows*l.Cols || len(p.Data) != p.Rows*p.Cols:
		return nil, fmt.Errorf("%w: landmarks %d×%d and projection %d×%d do not fit a map to %d features", ErrNoFeatures, l.Rows, l.Cols, p.Rows, p.Cols, m.D)
	}
	return &nystrom{onOwnColumns(m.Kernel), l.general(), p.general()}, nil
}

func (n *nystrom) transform(dst, x blas.General) error {
	k := blas.NewGeneral(x.Rows, n.landmarks.Rows)
	if err := n.local.Cross(k, x, n.landmarks); err != nil {
		return err
	}
	blas.Mul(blas.Active(), dst, false, false, k, n.projection)
	return nil
}
