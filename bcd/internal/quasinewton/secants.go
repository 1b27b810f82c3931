package quasinewton

import (
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Secants are the last points x_k of an iteration x ↦ g(x), and the steps g(x_k) − x_k, for Anderson acceleration: the
// next point is g at the combination of the points, of weights that sum to 1, whose combined step is the least, if g is
// affine. Walker and Ni, doi:10.1137/10078356X. The zero value is an iteration that has not begun.
type Secants struct{ points, steps [][]float64 }

// secantsMost is the number of points that are kept. Figures in docs/decisions/2026-11-27-constants.md.
const secantsMost = 8

// Used reports whether the last point was extrapolated.
func (s *Secants) Used() bool { return len(s.points) > 1 }

// Next is the point after x, where g is to. It keeps x, and returns to itself where nothing is extrapolated.
func (s *Secants) Next(x, to []float64) []float64 {
	step := floats.SubTo(make([]float64, len(x)), to, x)
	s.points, s.steps = append(s.points, x), append(s.steps, step)
	if len(s.points) > secantsMost {
		s.points, s.steps = s.points[1:], s.steps[1:]
	}
	k := len(s.points) - 1
	if k == 0 {
		return to
	}
	differences := mat.NewDense(k, len(step), nil) // of the last step and the others
	for j, other := range s.steps[:k] {
		floats.SubTo(differences.RawRowView(j), step, other)
	}
	var (
		svd mat.SVD
		c   mat.VecDense
	)
	if !svd.Factorize(differences.T(), mat.SVDThin) {
		return to
	}
	rank := svd.Rank(0x1p-26)
	if rank == 0 { // the steps are the same
		return to
	}
	svd.SolveVecTo(&c, mat.NewVecDense(len(step), step), rank)
	next := slices.Clone(to)
	for j, other := range s.points[:k] {
		for i := range next {
			next[i] -= c.AtVec(j) * (x[i] - other[i] + differences.At(j, i))
		}
	}
	return next
}
