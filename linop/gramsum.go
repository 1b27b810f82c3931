// Weighted sums of Gram matrices that are stored.

package linop

import (
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/blas/gonum"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/par"
)

// GramSum is K_η = Σ_j η_j K_j over Gram matrices of one order l, stored as
// [blas.Sym]. K_η is formed when first used after the weights changed and kept in
// the layout that the backend multiplies fastest, so Apply costs one product of an
// l×l by an l×k matrix whatever the number of terms. It takes one l×l matrix beside the terms.
type GramSum struct {
	terms []*blas.Sym
	be    blas.Backend
	eta   []float64

	mu     sync.Mutex // held while a rendition is formed
	own    rendition  // in the sum's own precision
	single rendition  // in single precision, when asked for

	forms par.Free[formsWork]
	tiles par.Free[formsTile]
}

// rendition is K_η in one precision, at the weights it was formed for.
type rendition struct {
	prec   blas.Precision
	packed blas.Packed // nil before it is first needed
	eta    []float64
}

// NewGramSum returns the sum of the terms, which it keeps and does not change,
// with all weights zero. K_η is stored in the given precision, whatever that of
// the terms. A nil backend is the active one.
func NewGramSum(terms []*blas.Sym, be blas.Backend, prec blas.Precision) *GramSum {
	if len(terms) == 0 {
		panic("linop: a sum of no Gram matrices")
	}
	for _, t := range terms {
		if t.N != terms[0].N {
			panic("linop: Gram matrices of different order")
		}
	}
	return &GramSum{
		terms:  slices.Clone(terms),
		be:     blas.Or(be),
		eta:    make([]float64, len(terms)),
		own:    rendition{prec: prec},
		single: rendition{prec: blas.Float32},
	}
}

// Dim is l, the order of the matrices.
func (s *GramSum) Dim() int { return s.terms[0].N }

// Len is m, the number of terms.
func (s *GramSum) Len() int { return len(s.terms) }

// Term returns K_j, which the caller must not change.
func (s *GramSum) Term(j int) *blas.Sym { return s.terms[j] }

// Part is the sum of the principal submatrices on the given rows, with all weights zero.
func (s *GramSum) Part(rows []int) *GramSum {
	terms := make([]*blas.Sym, len(s.terms))
	for j, t := range s.terms {
		a := blas.NewGeneral(len(rows), len(rows))
		par.For(len(rows), func(i int) {
			for k := range i + 1 {
				a.Data[i*a.Stride+k] = t.At(rows[i], rows[k])
			}
		})
		terms[j] = blas.SymFrom(a, t.Prec)
	}
	return NewGramSum(terms, s.be, s.own.prec)
}

// SetWeights makes the operator K_η. It costs nothing; the next use of K_η then
// makes one pass over the terms of nonzero weight, unless the weights are those of before.
func (s *GramSum) SetWeights(eta []float64) {
	if len(eta) != len(s.terms) {
		panic("linop: SetWeights: one weight for each term")
	}
	copy(s.eta, eta)
}

// at returns the rendition r at the present weights.
func (s *GramSum) at(r *rendition) blas.Packed {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.packed == nil {
		r.packed = s.be.NewPacked(s.Dim(), r.prec)
		r.eta = make([]float64, len(s.eta))
	}
	if !slices.Equal(s.eta, r.eta) {
		copy(r.eta, s.eta)
		blas.PackSum(r.packed, r.eta, s.terms)
	}
	return r.packed
}

// Apply computes dst = K_η·x.
func (s *GramSum) Apply(dst, x blas.General) { s.at(&s.own).Mul(dst, x) }

// KeepBoth is the largest order of which K_η is kept in double and single precision at once.
const KeepBoth = 8192

// Form makes K_η now rather than at its first use. Beyond the order KeepBoth it
// gives up the memory of the rendition in single precision.
func (s *GramSum) Form() {
	if s.Dim() > KeepBoth {
		s.mu.Lock()
		s.single.packed = nil
		s.mu.Unlock()
	}
	s.at(&s.own)
}

// Precision is that of K_η's elements.
func (s *GramSum) Precision() blas.Precision { return s.own.prec }

// Single returns K_η in single precision. It takes half an l×l matrix, unless K_η is stored so already. If only Single
// is used, K_η is not formed in double precision.
func (s *GramSum) Single() Operator {
	r := &s.single
	if s.own.prec == blas.Float32 {
		r = &s.own
	}
	return packed{s.at(r), 1}
}

// Dense writes K_η to dst.
func (s *GramSum) Dense(dst blas.General) { blas.Unpack(dst, s.at(&s.own)) }

// Diag writes the diagonal of K_j to dst.
func (s *GramSum) Diag(dst []float64, j int) {
	if len(dst) != s.Dim() {
		panic("linop: Diag: shape mismatch")
	}
	s.terms[j].Diag(dst)
}

// ApplyTerm computes dst = K_j·x from the stored triangle, panel by panel: 2kl² flops,
// and no memory but a panel for terms in single precision.
func (s *GramSum) ApplyTerm(dst, x blas.General, j int) {
	checkBlocks(s.Dim(), dst, x)
	t := s.terms[j]
	w := s.tiles.Take()
	for b := range t.Panels() {
		row, rows, cols, off := t.Panel(b)
		P := blas.General{Rows: rows, Cols: cols, Stride: cols}
		if t.Prec == blas.Float64 {
			P.Data = t.F64[off : off+rows*cols]
		} else {
			w.p64 = blas.Resize(w.p64, rows*cols)
			P.Data = w.p64
			for i, v := range t.F32[off : off+rows*cols] {
				P.Data[i] = float64(v)
			}
		}
		// The panel is [A D] with D on the diagonal of K_j: it gives A·x + D·x to its own
		// rows and, by symmetry, Aᵀ·x to the rows above. All of them hold a value by now.
		own := blas.View(x, row, 0, rows, x.Cols)
		blas.Mul(s.be, blas.View(dst, row, 0, rows, x.Cols), false, false, P, blas.View(x, 0, 0, cols, x.Cols))
		blas.Gemm(s.be, true, false, 1, blas.View(P, 0, 0, rows, row), own, 1, blas.View(dst, 0, 0, row, x.Cols))
	}
	s.tiles.Put(w)
}

// DenseTerm writes K_j to dst.
func (s *GramSum) DenseTerm(dst blas.General, j int) { s.terms[j].Dense(dst) }

// formsCols is the width of the tiles that Forms works in: with blas.SymBlock
// rows a tile of P takes 256 KiB and stays in the cache while the tiles of all
// kernels pass by.
const formsCols = 512

var level1 gonum.Implementation

// formsWork is one call of Forms: its arguments, and the partial sums of each block row.
type formsWork struct {
	sum   *GramSum
	U, V  blas.General
	idx   []int
	part  []float64 // panels×len(idx)
	panel func(b int)
}

// formsTile is a tile of P, and its copy in single precision.
type formsTile struct {
	p64 []float64
	p32 []float32
}

// Forms computes dst[i] = ⟨U, K_{idx[i]} V⟩ without multiplying by any K_j: with
// P = U·Vᵀ + V·Uᵀ formed tile by tile, each value is the inner product of P with
// the stored triangle of K_j. It costs the products that make P, 2kl² flops, and
// one pass over the kernels asked for.
func (s *GramSum) Forms(dst []float64, U, V blas.General, idx []int) {
	if len(dst) != len(idx) || U.Rows != s.Dim() || V.Rows != U.Rows || V.Cols != U.Cols {
		panic("linop: Forms: shape mismatch")
	}
	clear(dst)
	if len(idx) == 0 || U.Cols == 0 {
		return
	}
	w := s.forms.Take()
	if w.panel == nil {
		w.panel = w.run
	}
	panels := s.terms[0].Panels()
	w.sum, w.U, w.V, w.idx = s, U, V, idx
	w.part = blas.Resize(w.part, panels*len(idx))
	par.For(panels, w.panel)
	for b := range panels {
		blas.Axpy(1, w.part[b*len(idx):(b+1)*len(idx)], dst)
	}
	w.sum, w.U, w.V, w.idx = nil, blas.General{}, blas.General{}, nil
	s.forms.Put(w)
}

// run fills the partial sums of one block row; the longest rows go first.
func (w *formsWork) run(i int) {
	b := w.sum.terms[0].Panels() - 1 - i
	row, rows, cols, off := w.sum.terms[0].Panel(b)
	out := w.part[b*len(w.idx) : (b+1)*len(w.idx)]
	clear(out)
	t := w.sum.tiles.Take()
	t.p64 = blas.Resize(t.p64, blas.SymBlock*formsCols)
	for j0 := 0; j0 < row; j0 += formsCols {
		n := min(formsCols, row-j0)
		blas.FormTile(w.sum.be, t.p64, w.U, w.V, row, rows, j0, n)
		t.inner(out, w.sum.terms, w.idx, rows, n, off+j0, cols)
	}
	// The diagonal block holds both its triangles.
	blas.FormTile(w.sum.be, t.p64, w.U, w.V, row, rows, row, rows)
	t.inner(out, w.sum.terms, w.idx, rows, rows, off+row, cols)
	w.sum.tiles.Put(t)
}

// inner adds to out[k] the inner product of the m×n tile with the elements of
// terms[idx[k]] that start at off and have the stride ld.
func (t *formsTile) inner(out []float64, terms []*blas.Sym, idx []int, m, n, off, ld int) {
	scale := 0.0
	for k, j := range idx {
		s := terms[j]
		if s.Prec == blas.Float64 {
			for r := range m {
				out[k] += blas.Dot(t.p64[r*n:(r+1)*n], s.F64[off+r*ld:off+r*ld+n])
			}
			continue
		}
		if scale == 0 {
			scale = t.round(m * n)
		}
		var sum float64
		for r := range m {
			sum += level1.Dsdot(n, t.p32[r*n:(r+1)*n], 1, s.F32[off+r*ld:off+r*ld+n], 1)
		}
		out[k] += scale * sum
	}
}

// round makes the single precision copy of the tile's first n elements, divided
// by their largest magnitude, which it returns, so that nothing overflows.
func (t *formsTile) round(n int) float64 {
	t.p32 = blas.Resize(t.p32, blas.SymBlock*formsCols)
	var scale float64
	for _, v := range t.p64[:n] {
		scale = max(scale, math.Abs(v))
	}
	if !(scale > 0) || math.IsInf(scale, 0) {
		scale = 1
	}
	for i, v := range t.p64[:n] {
		t.p32[i] = float32(v / scale)
	}
	return scale
}
