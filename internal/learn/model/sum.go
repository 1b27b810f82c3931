// This file has models that are a sum of separable kernels.

package model

import (
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/par"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/linop"
)

// Sum predicts Σ_j K_j(Z*, Z)·(C·L_j), each kernel with an output kernel of its own, from
// the training inputs Z or from cross-Gram matrices.
type Sum struct {
	Z     blas.General      // training inputs, scaled; without Data for a model of Gram matrices
	parts []*Samples        // each kernel of positive weight alone, at weight 1, with C·L_j
	L     []*linop.Spectral // their L_j
	l     int               // samples
}

// NewSum predicts by the coefficients C and the output kernels L of all kernels, those of
// positive weight of which count. d and Z are empty for a model of Gram matrices.
func NewSum(d kernel.Dictionary, eta []float64, L []*linop.Spectral, Z, C blas.General, be blas.Backend) *Sum {
	b := &Sum{Z: Z, l: C.Rows}
	for _, j := range Kept(eta) {
		p := &Samples{Z: Z, CL: blas.Like(C), be: be}
		if d != nil {
			p.dict, p.eta = d[j:j+1], []float64{1}
		}
		L[j].MulRight(blas.Or(be), p.CL, C)
		b.parts, b.L = append(b.parts, p), append(b.L, L[j])
	}
	return b
}

func (b *Sum) kind() string {
	if b.Z.Data == nil {
		return "gram-sum"
	}
	return "sum"
}

func (b *Sum) kernels() (list []kernel.Kernel) {
	for _, p := range b.parts {
		list = append(list, p.dict...)
	}
	return list
}

func (b *Sum) silence(k int) {
	for _, p := range b.parts {
		p.silence(k)
	}
}

func (b *Sum) times(A blas.General) (Basis, error) {
	at := *b
	at.parts = nil
	for _, p := range b.parts {
		at.parts = append(at.parts, p.combined(A))
	}
	var err error
	at.L, err = congruent(A, b.L...)
	return &at, err
}

func (b *Sum) evaluator() (evaluator, error) {
	if b.Z.Data == nil {
		return (&Samples{}).evaluator()
	}
	var each []evaluator
	for _, p := range b.parts {
		e, err := p.evaluator()
		if err != nil {
			return nil, err
		}
		each = append(each, e)
	}
	var scratch par.Free[blas.General]
	return func(dst, Z blas.General) error {
		F := scratch.Get()
		if F == nil {
			F = new(blas.General)
		}
		defer scratch.Put(F)
		*F = blas.Reshape(*F, dst.Rows, dst.Cols)
		blas.Zero(dst)
		for _, evaluate := range each {
			if err := evaluate(*F, Z); err != nil {
				return err
			}
			blas.AddScaled(dst, 1, *F)
		}
		return nil
	}, nil
}

// OutputKernels are the L_j of a sum of separable kernels, with zero matrices for kernels
// without weight; nil for one L of all.
func (m *Model) OutputKernels() []*linop.Spectral {
	var L []*linop.Spectral
	switch b := m.Basis.(type) {
	case *Sum:
		L = b.L
	case *Features:
		L = b.L
	}
	if L == nil {
		return nil
	}
	all := make([]*linop.Spectral, len(m.Eta))
	for j := range all {
		all[j] = &linop.Spectral{V: blas.NewGeneral(m.L.Dim(), 0)}
	}
	for k, j := range Kept(m.Eta) {
		all[j] = L[k]
	}
	return all
}

// members are the C·L_j, and the factors of the L_j, side by side.
func (b *Sum) members(head *part) []member {
	head.Dictionary = b.kernels()
	var CL []blas.General
	for _, p := range b.parts {
		CL = append(CL, p.CL)
	}
	return append(append(inputMembers(b.Z), matrixMember("CL", sideBySide(b.l, CL))), spectra(b.L)...)
}

// spectra are the factors of the L_j of a sum.
func spectra(L []*linop.Spectral) []member {
	var V []blas.General
	var values, ranks []float64
	n := 0
	for _, L := range L {
		n = L.Dim()
		V, values, ranks = append(V, L.V), append(values, L.S...), append(ranks, float64(L.Rank()))
	}
	return []member{
		matrixMember("Ls_vectors", sideBySide(n, V)), vectorMember("Ls_values", values),
		vectorMember("Ls_ranks", ranks),
	}
}

// sideBySide is the matrices, of so many rows each, in one.
func sideBySide(rows int, list []blas.General) blas.General {
	cols := 0
	for _, a := range list {
		cols += a.Cols
	}
	all, at := blas.NewGeneral(rows, cols), 0
	for _, a := range list {
		if a.Cols > 0 {
			blas.Copy(blas.View(all, 0, at, rows, a.Cols), a)
		}
		at += a.Cols
	}
	return all
}

// sum reads what members wrote.
func (l *loader) sum(m *Model, inputs bool) Basis {
	b, n, idx := &Sum{}, len(m.Out.Live), Kept(m.Eta)
	CL := l.matrix("CL")
	l.expect(CL.Rows > 0 && CL.Cols == n*len(idx), "array CL is %d×%d, for %d outputs and %d kernels", CL.Rows, CL.Cols,
		n, len(idx))
	dict := l.part.Dictionary
	if inputs {
		b.Z = l.matrix("X")
		l.inputs(m.In, b.Z.Cols)
		l.expect(b.Z.Rows == CL.Rows && b.Z.Cols > 0, "%d samples with %d coefficients", b.Z.Rows, CL.Rows)
		l.expect(len(dict) == len(idx), "%d kernels stored for %d weights", len(dict), len(idx))
	}
	b.l = CL.Rows
	b.L = l.spectra(n, len(idx))
	for k := range idx {
		if l.err != nil {
			return b
		}
		p := &Samples{Z: b.Z, CL: blas.Clone(blas.View(CL, 0, k*n, CL.Rows, n))}
		if inputs {
			l.kernel(&dict[k], m.Names[idx[k]], b.Z)
			p.dict, p.eta = dict[k:k+1], []float64{1}
		}
		b.parts = append(b.parts, p)
	}
	return b
}

// spectra reads the L_j of so many kernels of weight.
func (l *loader) spectra(n, kernels int) (list []*linop.Spectral) {
	V, values, ranks := l.matrix("Ls_vectors"), l.vector("Ls_values"), l.vector("Ls_ranks")
	l.expect(len(ranks) == kernels && V.Cols == len(values) && (V.Rows == n || kernels == 0),
		"output kernels do not fit %d kernels of weight", kernels)
	at := 0
	for k := range kernels {
		if l.err != nil {
			return nil
		}
		r := int(ranks[k])
		if l.expect(float64(r) == ranks[k] && r >= 0 && r <= min(n, len(values)-at), "an output kernel has rank %g",
			ranks[k]); l.err != nil {
			return nil
		}
		L := &linop.Spectral{V: blas.Clone(blas.View(V, 0, at, n, r)), S: values[at : at+r]}
		l.spectrum(L, n)
		list = append(list, L)
		at += r
	}
	l.expect(at == len(values), "%d eigenvalues of output kernels for ranks of %d", len(values), at)
	return list
}

// Cross writes the targets to dst, given the weighted sums of the cross-Gram matrices.
func (m *Model) Cross(dst blas.General, sum func(eta []float64) (blas.General, error)) error {
	var parts []*Samples
	var weights [][]float64
	switch b := m.Basis.(type) {
	case *Samples:
		parts, weights = []*Samples{b}, [][]float64{m.Eta}
	case *Sum:
		parts = b.parts
		for _, j := range Kept(m.Eta) {
			one := make([]float64, len(m.Eta))
			one[j] = 1
			weights = append(weights, one)
		}
	}
	F := blas.NewGeneral(dst.Rows, len(m.Out.Live))
	for k, w := range weights {
		K, err := sum(w)
		if err != nil {
			return err
		}
		blas.Gemm(blas.Or(parts[k].be), false, false, 1, K, parts[k].CL, 1, F)
	}
	m.Out.Restore(dst, F)
	return nil
}
