// Random features as formulas.

package rff

import (
	"fmt"
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/formula"
	"github.com/iokl/iokl/kernel"
)

// Term describes the features of the map as the values of a term times a matrix P (r×D), which is empty where it is
// amplitude·I:
//
//	exact     the features of a linear kernel times √γ, less Means
//	rff       amplitude·sin(Ωq + shift), the cosines first
//	nystrom   k(q, landmarks)·P
func (m *Map) Term() (t formula.Term, P blas.General, amplitude float64, err error) {
	if err := m.ready(); err != nil {
		return t, P, 0, err
	}
	amplitude = 1
	switch impl := m.impl.(type) {
	case *nystrom:
		t, err = m.Kernel.Term(1, impl.landmarks)
		return t, impl.projection, 1, err
	case *exact:
		t, err = m.Kernel.Term(1, P)
		if err == nil && t.Metric != formula.Linear {
			err = fmt.Errorf("%w: features of kernel %q are products of columns", kernel.ErrNoFormula, m.Kernel.Name)
		}
		t.Weight = math.Sqrt(t.Weight)
	case *fourier:
		t, amplitude = impl.term(m, blas.Clone(impl.omega)), impl.amp
	case *structured:
		t, amplitude = impl.term(m, impl.frequencies(m.Kernel.Dim())), impl.amp
	}
	return t, P, amplitude, err
}

// term describes the waves of the frequencies omega: cos θ = sin(θ + π/2).
func (w *waves) term(m *Map, omega blas.General) formula.Term {
	t := m.Kernel.View()
	t.Metric, t.Points = formula.Sine, omega.Data
	for i := range w.n {
		at := math.Pi / 2
		if w.shift != nil {
			at += w.shift[i]
		}
		t.Shift = append(t.Shift, at)
	}
	if w.shift == nil {
		t.Points = append(t.Points, omega.Data...)
		t.Shift = append(t.Shift, make([]float64, w.n)...)
	}
	return t
}

// frequencies are the phases of the unit vectors, n×d.
func (s *structured) frequencies(d int) blas.General {
	unit, phases := blas.NewGeneral(d, d), blas.NewGeneral(d, s.n)
	for f := range d {
		unit.Data[f*d+f] = 1
	}
	s.phases(phases, unit)
	return blas.Transposed(phases)
}
