// Models as formulas.

package model

import (
	"errors"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/formula"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/kernel"
)

// Formula is what the model computes, as arrays of its own. Its inputs are the columns of the file that the model
// learned from, one number each. An error wraps kernel.ErrNoFormula where a kernel has none.
func (m *Model) Formula() (*formula.Formula, error) {
	if m.In == nil {
		return nil, fault.Input("the model was fitted on Gram matrices: it has no formula of inputs")
	}
	f := &formula.Formula{Columns: m.In.Schema.Formula(), Outputs: m.Out.Names, Classes: m.Out.Classes}
	if !m.In.Strict {
		f.Fill = m.In.Fill
	}
	f.Low, f.High = m.In.Low, m.In.High
	if s := m.In.Scaler; s != nil {
		f.Mean, f.Scale = s.Mean, slices.Clone(s.Scale)
		for j, constant := range s.Constant {
			if constant {
				f.Scale[j] = 0
			}
		}
	}
	e := expansion{f, m, m.Backend()}
	e.Offset = make([]float64, len(m.Out.Names))
	if s := m.Out.Scaler; s != nil {
		copy(e.Offset, s.Mean)
	}
	if err := e.basis(m.Basis); errors.Is(err, kernel.ErrNoFormula) {
		return nil, fault.Input("%v", err)
	} else if err != nil {
		return nil, fault.From(err)
	}
	return f, nil
}

// expansion is a formula to which the kernels of a model are added.
type expansion struct {
	*formula.Formula
	m  *Model
	be blas.Backend
}

func (e *expansion) basis(b Basis) error {
	switch b := b.(type) {
	case *Samples:
		for _, p := range b.parts() {
			if err := e.kernels(p.dict, p.eta, p.Z, p.CL); err != nil {
				return err
			}
		}
	case *Features:
		return e.features(b)
	}
	return nil
}

// kernels adds Σ_i Σ_j η_j k_j(z, Z_i)·W_i: a sum for each linear kernel, one for the others, and one for those that
// are centred.
func (e *expansion) kernels(d kernel.Dictionary, eta []float64, Z, W blas.General) error {
	for _, centre := range []bool{false, true} {
		own, terms := W, []formula.Term(nil)
		if centre {
			own = centred(W)
		}
		for j, k := range d {
			if k.Center != centre {
				continue
			}
			P := k.Features(Z)
			t, err := k.Term(eta[j], P)
			if err != nil {
				return err
			}
			for i, mean := range k.Means {
				e.shift(eta[j]*(k.Mean-mean), blas.Row(W, i))
			}
			if t.Metric != formula.Linear {
				terms = append(terms, t)
				continue
			}
			e.sum(blas.Product(e.be, true, false, P, own), t)
		}
		if terms != nil {
			e.sum(own, grouped(terms)...)
		}
	}
	return nil
}

// centred is W less the mean of its rows. With w̄ that mean, k̄ the means of a kernel over the training points, and k̃
// the centred kernel, Σ_i k̃(z, i)·w_i = Σ_i k(z, i)·(w_i − w̄) + Σ_i (mean k̄ − k̄_i)·w_i.
func centred(W blas.General) blas.General {
	C, mean := blas.Clone(W), make([]float64, W.Cols)
	for i := range W.Rows {
		blas.Axpy(1/float64(W.Rows), blas.Row(W, i), mean)
	}
	for i := range W.Rows {
		blas.Axpy(-1, mean, blas.Row(C, i))
	}
	return C
}

// grouped has one term for all functions of the same distances.
func grouped(terms []formula.Term) (list []formula.Term) {
	for _, t := range terms {
		same := slices.IndexFunc(list, func(o formula.Term) bool {
			return o.Metric == t.Metric && slices.Equal(o.Points, t.Points) && slices.Equal(o.Columns, t.Columns) &&
				slices.Equal(o.Factor, t.Factor) && slices.EqualFunc(o.Knots, t.Knots, slices.Equal[[]float64]) &&
				slices.EqualFunc(o.Directions, t.Directions, slices.Equal[[]float64])
		})
		if same < 0 {
			list = append(list, t)
		} else {
			list[same].Functions = append(list[same].Functions, t.Functions...)
		}
	}
	return list
}

// features adds Z(x)·B.
func (e *expansion) features(b *Features) error {
	at := 0
	for _, m := range b.maps {
		if m.D == 0 {
			continue
		}
		t, P, amplitude, err := m.Term()
		if err != nil {
			return err
		}
		W := blas.View(b.WL, at, 0, m.D, b.WL.Cols)
		for i, mean := range m.Means {
			e.shift(-mean, blas.Row(W, i))
		}
		own := blas.Clone(W)
		if P.Rows > 0 {
			own = blas.Product(e.be, false, false, P, W)
		}
		blas.Scal(amplitude, own.Data)
		e.sum(own, t)
		at += m.D
	}
	return nil
}

// shift adds weight times learned outputs to the offset.
func (e *expansion) shift(weight float64, learned []float64) {
	for k, j := range e.m.Out.Live {
		e.Offset[j] += weight * e.m.unit(j) * learned[k]
	}
}

// sum adds the values of the terms times W, of learned outputs.
func (e *expansion) sum(W blas.General, terms ...formula.Term) {
	n := len(e.Outputs)
	s := formula.Sum{Terms: terms, Weights: make([]float64, W.Rows*n)}
	for k, j := range e.m.Out.Live {
		unit := e.m.unit(j)
		for i := range W.Rows {
			s.Weights[i*n+j] = unit * W.Data[i*W.Stride+k]
		}
	}
	e.Sums = append(e.Sums, s)
}
