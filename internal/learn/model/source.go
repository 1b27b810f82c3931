// What a model keeps for changes of the rows that it was learned from.

package model

import (
	"fmt"
	"math"
	"slices"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/rff"
	"github.com/iokl/iokl/stream"
)

// Source is what changes of the rows need beside what predicts: the targets, or sums that stand for the rows, and
// the kernels of weight 0, which the certificate covers.
type Source struct {
	// targets as they were learned, l×live, NaN where missing (kinds samples and sum); as they are for losses other
	// than the squared one
	Y        blas.General
	W        blas.General      // their weights, l×live or of rows l×1; without Data 1
	Idle     kernel.Dictionary // kernels of weight 0 (kinds samples and sum)
	IdleMaps rff.Maps          // feature maps of the kernels of weight 0 (kind features)
	Sums     []bcd.Pattern     // of the rows, by the targets that are observed in them (kind features)
}

// Dictionary is all kernels on the training inputs; nil where the model does not keep them.
func (m *Model) Dictionary() kernel.Dictionary {
	return merged(m.Basis.kernels(), m.Idle, m.Eta)
}

// FeatureMaps are those of all kernels; nil where the model does not keep them.
func (m *Model) FeatureMaps() rff.Maps {
	b, ok := m.Basis.(*Features)
	if !ok {
		return nil
	}
	return merged(b.maps, m.IdleMaps, m.Eta)
}

// merged puts the elements of the kernels of weight and of those without in the order of eta; nil where they do not
// fit its length.
func merged[T any](active, idle []T, eta []float64) (all []T) {
	if len(active) != len(Kept(eta)) || len(active)+len(idle) != len(eta) {
		return nil
	}
	for _, e := range eta {
		from := &idle
		if e > 0 {
			from = &active
		}
		all = append(all, (*from)[0])
		*from = (*from)[1:]
	}
	return all
}

// ofKernels are the elements of all of the kernels with weight, or of those without.
func ofKernels[T any](all []T, eta []float64, weight bool) (list []T) {
	for j, e := range eta {
		if (e > 0) == weight {
			list = append(list, all[j])
		}
	}
	return list
}

// Remember makes the model keep all kernels of its dictionary, or all feature maps.
func (m *Model) Remember(dict kernel.Dictionary, maps rff.Maps) {
	if maps != nil {
		m.IdleMaps = ofKernels(maps, m.Eta, false)
	} else if dict != nil {
		m.Idle = ofKernels(dict, m.Eta, false)
	}
}

// Inputs are the training inputs as kernels see them, no rows where the model keeps none.
func (m *Model) Inputs() blas.General {
	if b, ok := m.Basis.(*Samples); ok {
		return b.Z
	}
	return blas.General{}
}

// Compact is the model without its Source, and shares the rest. Without weights of targets it does not say μ, of which
// closed forms would make those of weights 1.
func (m *Model) Compact() *Model {
	mu := m.Mu
	if m.W.Data != nil {
		mu = 0
	}
	return &Model{
		In: m.In, Out: m.Out, Names: m.Names, Eta: m.Eta, L: m.L, Basis: m.Basis, Warnings: m.Warnings,
		Origin: m.Origin, Mu: mu, Noise: m.Noise, Held: m.Held, Folds: m.Folds, Spread: m.Spread,
		Estimate: m.Estimate,
	}
}

// Updatable reports whether rows of the model, or sums that stand for them, are kept.
func (s *Source) Updatable() bool { return s.Y.Rows > 0 || len(s.Sums) > 0 }

// Bytes is the size of the source in files.
func (s *Source) Bytes() int64 {
	numbers := len(s.Y.Data) + len(s.W.Data)
	for _, p := range s.Sums {
		numbers += p.Gamma.Rows*(p.Gamma.Rows+1)/2 + len(p.H.Data)
	}
	return 8 * int64(numbers)
}

// Cells is the number of targets observed.
func (s *Source) Cells() (count int) {
	for _, v := range s.Y.Data {
		if !math.IsNaN(v) {
			count++
		}
	}
	for _, p := range s.Sums {
		for _, in := range p.Observed {
			if in {
				count += p.Rows
			}
		}
	}
	return count
}

// AllTargets reports whether the training targets are kept, none is missing and all have weight 1.
func (s *Source) AllTargets() bool { return s.Y.Rows > 0 && !columns.Missing(s.Y) && s.W.Data == nil }

// Lacks says in a clause why the model does not keep what closed forms and updates are computed from.
func (m *Model) Lacks() string {
	b, samples := m.Basis.(*Samples)
	switch {
	case m.Out.Loss != "":
		return "it was fitted by the loss " + m.Out.Loss + ", whose minimum is no linear function of the targets"
	case m.Y.Rows > 0 && m.W.Data != nil:
		return "its targets have weights"
	case m.Y.Rows > 0 && columns.Missing(m.Y):
		return "its targets have missing cells"
	case samples && b.L != nil && !(m.Mu > 0):
		return "it was fitted by likelihood"
	case !samples && m.Mu > 0:
		return "its rows differ in too many ways in which targets are missing or weighted"
	}
	return "it is compact, or was written by an older version"
}

// Weigh multiplies rows of A by the roots of the weights of the rows, so that sums of products of A are weighted ones.
func Weigh(A, W blas.General) {
	for i := range W.Rows {
		blas.Scal(math.Sqrt(columns.WeightAt(W, i, 0)), blas.Row(A, i))
	}
}

// AddRows are the sums with sign times those of the rows of features F (t×D) and targets Y (t×n), NaN where missing.
// It leaves those given as they are: sums that change are copied.
func AddRows(sums []bcd.Pattern, F, Y blas.General, sign int, be blas.Backend) []bcd.Pattern {
	be, sums = blas.Or(be), slices.Clone(sums)
	for _, observed := range stream.Patterns(Y) {
		if !slices.Contains(observed, true) {
			continue
		}
		var rows []int
		for i := range Y.Rows {
			same := func(y float64, in bool) bool { return math.IsNaN(y) != in }
			if slices.EqualFunc(blas.Row(Y, i), observed, same) {
				rows = append(rows, i)
			}
		}
		at := slices.IndexFunc(sums, func(p bcd.Pattern) bool { return slices.Equal(p.Observed, observed) })
		if at < 0 {
			at = len(sums)
			sums = append(sums, bcd.Pattern{
				Observed: observed, Gamma: blas.NewGeneral(F.Cols, F.Cols), H: blas.NewGeneral(F.Cols, Y.Cols),
			})
		}
		addTo(&sums[at], blas.TakeRows(F, rows), blas.TakeRows(Y, rows), sign, be)
	}
	return sums
}

// addTo replaces the sums by those with sign times those of rows that observe the same targets.
func addTo(p *bcd.Pattern, F, Y blas.General, sign int, be blas.Backend) {
	for i, v := range Y.Data {
		if math.IsNaN(v) {
			Y.Data[i] = 0
		}
	}
	p.Rows += sign * F.Rows
	p.YY = max(p.YY+float64(sign)*blas.Inner(Y, Y), 0)
	p.Gamma, p.H = blas.Clone(p.Gamma), blas.Clone(p.H)
	be.Dsyrk(blas.Lower, blas.Trans, F.Cols, F.Rows, float64(sign), F.Data, F.Stride, 1, p.Gamma.Data, p.Gamma.Stride)
	blas.Gemm(be, true, false, float64(sign), F, Y, 1, p.H)
}

// patternMeta is what meta says about the sums of one pattern.
type patternMeta struct {
	Rows     int     `json:"rows"`
	Observed []bool  `json:"observed"`
	YY       float64 `json:"yy"`
}

// members are the arrays of the source in model files. Of Γ, symmetric, it is the rows up to the diagonal.
func (s *Source) members(head *part) (list []member) {
	head.Idle, head.IdleMaps = s.Idle, s.IdleMaps
	if s.Y.Rows > 0 {
		list = append(list, matrixMember("Y", s.Y))
	}
	if s.W.Data != nil {
		list = append(list, matrixMember("W", s.W))
	}
	for k, p := range s.Sums {
		head.Sums = append(head.Sums, patternMeta{p.Rows, p.Observed, p.YY})
		var half []float64
		for i := range p.Gamma.Rows {
			half = append(half, blas.Row(p.Gamma, i)[:i+1]...)
		}
		list = append(list, vectorMember(gammaName(k), half), matrixMember(momentsName(k), p.H))
	}
	return list
}

func gammaName(k int) string   { return fmt.Sprintf("gamma%d", k+1) }
func momentsName(k int) string { return fmt.Sprintf("H%d", k+1) }

// source reads what members wrote.
func (l *loader) source(m *Model) {
	m.Idle, m.IdleMaps = l.part.Idle, l.part.IdleMaps
	for i := range m.Idle {
		l.check("", m.Idle[i].Validate())
	}
	for _, f := range m.IdleMaps {
		if f == nil {
			l.fail("a feature map is missing")
		} else {
			l.check("", f.Check())
		}
	}
	if l.err == nil && l.z.Has(l.prefix+"Y") {
		m.Y = general(l.array("Y", 2, true))
		l.expect(m.Y.Cols == len(m.Out.Live), "targets of %d outputs, not %d", m.Y.Cols, len(m.Out.Live))
		l.expect(m.Inputs().Rows == 0 || m.Y.Rows == m.Inputs().Rows, "%d rows of targets for %d samples", m.Y.Rows,
			m.Inputs().Rows)
	}
	if l.err == nil && l.z.Has(l.prefix+"W") {
		m.W = general(l.array("W", 2, false))
		_, err := columns.CheckCellWeights(m.W, m.Y.Rows, m.Y.Cols)
		l.check("", err)
	}
	if l.err != nil || len(l.part.Sums) == 0 {
		return
	}
	maps := m.FeatureMaps()
	l.expect(maps != nil, "sums of other features than the model's")
	for k, p := range l.part.Sums {
		if l.err != nil {
			return
		}
		s := bcd.Pattern{Rows: p.Rows, Observed: p.Observed, YY: p.YY, H: l.matrix(momentsName(k))}
		half, D := l.vector(gammaName(k)), s.H.Rows
		l.expect(D == maps.Dim() && len(half) == D*(D+1)/2 && s.H.Cols == len(m.Out.Live) &&
			len(s.Observed) == s.H.Cols && s.Rows >= 0 && s.YY >= 0, "the sums of %d features do not fit the model", D)
		if l.err == nil {
			s.Gamma = blas.NewGeneral(D, D)
			for i := range D {
				copy(blas.Row(s.Gamma, i), half[:i+1])
				half = half[i+1:]
			}
		}
		m.Sums = append(m.Sums, s)
	}
}
