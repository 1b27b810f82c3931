// Models that predict from their training inputs, or from cross-Gram matrices.

package model

import (
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/par"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/linop"
)

// Samples predicts K_η(Z*, Z)·(C·L), or Σ_j K_j(Z*, Z)·(C·L_j) with an output kernel of each kernel's own, from the
// training inputs Z or from cross-Gram matrices of the caller's.
type Samples struct {
	dict kernel.Dictionary // kernels of positive weight; nil for a model of Gram matrices
	eta  []float64         // their weights; a kernel with an L_j of its own enters at weight 1
	Z    blas.General      // training inputs, scaled; without Data for a model of Gram matrices
	CL   blas.General      // l×live, or the C·L_j side by side
	L    []*linop.Spectral // the L_j of kernels of positive weight; nil for one L of all
	be   blas.Backend
}

// NewSamples predicts from the kernels of positive weight. d and Z are empty for a model of Gram matrices.
func NewSamples(d kernel.Dictionary, eta []float64, Z, CL blas.General, be blas.Backend) *Samples {
	b := &Samples{Z: Z, CL: CL, be: be}
	if d != nil {
		b.dict, b.eta = ofKernels(d, eta, true), ofKernels(eta, eta, true)
	}
	return b
}

// NewSum predicts by the coefficients C and the output kernels L of all kernels, those of
// positive weight of which count. d and Z are empty for a model of Gram matrices.
func NewSum(d kernel.Dictionary, eta []float64, L []*linop.Spectral, Z, C blas.General, be blas.Backend) *Samples {
	idx := Kept(eta)
	b := NewSamples(d, eta, Z, blas.NewGeneral(C.Rows, len(idx)*C.Cols), be)
	b.L = make([]*linop.Spectral, len(idx))
	for k, j := range idx {
		b.L[k] = L[j]
		L[j].MulRight(blas.Or(be), b.columns(k), C)
	}
	return b
}

// columns are the C·L_j of kernel k, of those of positive weight.
func (b *Samples) columns(k int) blas.General {
	n := b.CL.Cols / len(b.L)
	return blas.View(b.CL, 0, k*n, b.CL.Rows, n)
}

// parts are models of one L of which b is the sum: itself, or each kernel alone, at weight 1.
func (b *Samples) parts() []*Samples {
	if b.L == nil {
		return []*Samples{b}
	}
	list := make([]*Samples, len(b.L))
	for k := range list {
		list[k] = &Samples{Z: b.Z, CL: b.columns(k), be: b.be}
		if b.dict != nil {
			list[k].dict, list[k].eta = b.dict[k:k+1], []float64{1}
		}
	}
	return list
}

// oneL is the basis of a model with one L of all kernels on samples; nil for others.
func (m *Model) oneL() *Samples {
	if b, ok := m.Basis.(*Samples); ok && b.L == nil {
		return b
	}
	return nil
}

func (b *Samples) evaluator() (evaluator, error) {
	if b.Z.Data == nil {
		return nil, fault.Input("the model was fitted on Gram matrices: it predicts from cross-Gram matrices")
	}
	var each []evaluator
	for _, p := range b.parts() {
		c, err := p.dict.Crossing(p.eta, p.Z, p.be)
		if err != nil {
			return nil, fault.From(err)
		}
		each = append(each, func(dst, Z blas.General) error { return fault.From(c.Mul(dst, Z, p.CL)) })
	}
	if b.L == nil {
		return each[0], nil
	}
	var scratch par.Free[blas.General]
	return func(dst, Z blas.General) error {
		F := scratch.Take()
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

func (b *Samples) kind() string {
	switch {
	case b.Z.Data != nil && b.L != nil:
		return "sum"
	case b.Z.Data != nil:
		return "samples"
	case b.L != nil:
		return "gram-sum"
	}
	return "gram"
}

func (b *Samples) backend() blas.Backend { return b.be }

func (b *Samples) kernels() []kernel.Kernel { return b.dict }

func (b *Samples) silence(k int) {
	for _, p := range b.parts() {
		blas.Zero(blas.View(p.CL, 0, k, p.CL.Rows, 1))
	}
}

// silent are the live outputs that are predicted without kernels.
func (b *Samples) silent() (list []int) {
	for k := range b.CL.Cols {
		if !slices.ContainsFunc(columns.Take(b.CL, []int{k}).Data, func(v float64) bool { return v != 0 }) {
			list = append(list, k)
		}
	}
	return list
}

func (b *Samples) times(A blas.General) (Basis, error) {
	at, parts := *b, b.parts()
	at.CL = blas.NewGeneral(b.CL.Rows, len(parts)*A.Cols)
	for k, p := range parts {
		blas.Mul(blas.Or(b.be), blas.View(at.CL, 0, k*A.Cols, b.CL.Rows, A.Cols), false, false, p.CL, A)
	}
	var err error
	at.L, err = congruent(blas.Or(b.be), A, b.L)
	return &at, err
}

// OutputKernels are the L_j of a sum of separable kernels, with zero matrices for kernels
// without weight; nil for one L of all.
func (m *Model) OutputKernels() []*linop.Spectral {
	var L []*linop.Spectral
	switch b := m.Basis.(type) {
	case *Samples:
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

func (b *Samples) members(head *part) []member {
	head.Dictionary = b.dict
	var list []member
	if b.Z.Data != nil {
		list = append(list, matrixMember("X", b.Z))
	}
	return append(append(list, matrixMember("CL", b.CL)), spectra(b.L)...)
}

// spectra are the factors of the L_j, side by side; nothing for one L of all.
func spectra(L []*linop.Spectral) []member {
	if L == nil {
		return nil
	}
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

// samples reads what members wrote.
func (l *loader) samples(m *Model) Basis {
	b, n, idx := &Samples{CL: l.matrix("CL")}, len(m.Out.Live), Kept(m.Eta)
	width := n
	if l.part.Kind != data(l.part.Kind) { // an L of each kernel's own
		b.L, width = l.spectra(n, len(idx)), n*len(idx)
	}
	l.expect(b.CL.Rows > 0 && b.CL.Cols == width, "array CL is %d×%d, for %d outputs and %d kernels", b.CL.Rows,
		b.CL.Cols, n, len(idx))
	if data(l.part.Kind) == "gram" {
		return b
	}
	b.dict, b.Z = l.part.Dictionary, l.matrix("X")
	l.inputs(m.In, b.Z.Cols)
	l.expect(b.Z.Rows == b.CL.Rows && b.Z.Cols > 0, "%d samples with %d coefficients", b.Z.Rows, b.CL.Rows)
	l.expect(len(b.dict) == len(idx), "%d kernels stored for %d weights", len(b.dict), len(idx))
	if l.err != nil {
		return b
	}
	b.eta = ofKernels(m.Eta, m.Eta, true)
	for k, j := range idx {
		l.kernel(&b.dict[k], m.Names[j], b.Z)
	}
	return b
}

// spectra reads the L_j of so many kernels of weight.
func (l *loader) spectra(n, kernels int) []*linop.Spectral {
	V, values, ranks := l.matrix("Ls_vectors"), l.vector("Ls_values"), l.vector("Ls_ranks")
	l.expect(len(ranks) == kernels && V.Cols == len(values) && (V.Rows == n || kernels == 0),
		"output kernels do not fit %d kernels of weight", kernels)
	at, list := 0, []*linop.Spectral{}
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

// Cross writes the targets to dst, given the weighted sums of the cross-Gram matrices, by a basis of [Samples].
func (m *Model) Cross(dst blas.General, sum func(eta []float64) (blas.General, error)) error {
	b, F := m.Basis.(*Samples), blas.NewGeneral(dst.Rows, len(m.Out.Live))
	idx := Kept(m.Eta)
	for k, p := range b.parts() {
		weights := m.Eta
		if b.L != nil {
			weights = make([]float64, len(m.Eta))
			weights[idx[k]] = 1
		}
		K, err := sum(weights)
		if err != nil {
			return err
		}
		blas.Gemm(blas.Or(b.be), false, false, 1, K, p.CL, 1, F)
	}
	m.Out.Restore(dst, F)
	return nil
}
