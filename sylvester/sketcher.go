package sylvester

import "github.com/iokl/iokl/blas"

// Sketcher is a solver that may look at K before it solves.
type Sketcher interface {
	// Sketch returns U (l×q) of orthonormal columns and s > 0 in descending order
	// with K ≈ U·diag(s)·Uᵀ, when such a sketch is how a solve of the same
	// arguments would precondition, which then uses it; otherwise s is empty. Both
	// lie in the solver's memory and are valid until its next call. What it
	// multiplies is counted in the Result of the next solve.
	Sketch(sys System, Y blas.General, opt Options) (U blas.General, s []float64)
}

var (
	_ Sketcher = (*nystrom)(nil)
	_ Sketcher = (*auto)(nil)
)

func (s *nystrom) Sketch(sys System, Y blas.General, opt Options) (U blas.General, sigma []float64) {
	opt = opt.filled(Y.Rows)
	known := s.look(Y, sys, Y, opt)
	s.rotated = false // the solve may come with another L
	if !known {
		return blas.General{}, nil
	}
	s.res = s.unbilled
	s.prepare(opt.Tol)
	s.unbilled = s.res
	return s.sk.low.U, s.sk.low.s
}

func (s *auto) Sketch(sys System, Y blas.General, opt Options) (U blas.General, sigma []float64) {
	l, n := Y.Rows, Y.Cols
	if directly(l, n) || n <= fewOutputs {
		return blas.General{}, nil
	}
	c := costsOf(s.be)
	best, least := s.direct(c, l, sys.L)
	chosen := s.choose(c, best, least, false, Y, sys, Y, opt.filled(l))
	s.sketched.rotated = false
	if chosen != Solver(s.sketched) {
		return blas.General{}, nil
	}
	return s.sketched.Sketch(sys, Y, opt)
}
