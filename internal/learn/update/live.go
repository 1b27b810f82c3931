// This file updates models of which a decomposition of K_η is kept.

package update

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/internal/learn/model"
	"github.com/iokl/iokl/internal/memory"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/rff"
	"github.com/iokl/iokl/sylvester"
)

// Live is the linear system of a model's rows, ready for changes: see [sylvester.Bordered]. It never changes.
type Live struct {
	system  *sylvester.Bordered
	dict    kernel.Dictionary // kernels of weight
	eta     []float64         // their weights
	first   *kernel.Crossing  // K_η with the rows decomposed
	l       int               // of them
	arrived [][]float64       // inputs of rows that have arrived since, those that left again too
	be      blas.Backend
}

// mostOutputs is the number of outputs to which the solvers do not reduce them.
const mostOutputs = 4095

// Prepare decomposes K_η of the rows of m.
func Prepare(ctx context.Context, m *model.Model, be blas.Backend) (*Live, error) {
	if err := usable(m, &Change{}); err != nil {
		return nil, err
	}
	dict, eta := m.Dictionary(), m.Eta
	b := &Live{be: be, l: m.Y.Rows}
	for _, j := range model.Kept(eta) {
		b.dict, b.eta = append(b.dict, dict[j]), append(b.eta, eta[j])
	}
	if _, ok := m.Basis.(*model.Samples); !ok || !m.AllTargets() || m.L.Dim() > mostOutputs ||
		slices.ContainsFunc(dict, func(k kernel.Kernel) bool { return k.Center }) {
		return nil, fault.Input("a decomposition serves updates of models of one output kernel, of kernels on rows " +
			"that are not centred and of targets without weights, none of which is missing: Update does without it")
	}
	bytes := 40 * float64(b.l) * float64(b.l) // K_η, and what a decomposition takes
	if err := memory.Check("the decomposition for updates", bytes, "update without it"); err != nil {
		return nil, fault.Mark(err)
	}
	var err error
	if b.first, err = b.dict.Crossing(b.eta, m.Inputs(), be); err != nil {
		return nil, fault.From(err)
	}
	K := blas.NewGeneral(b.l, b.l)
	if err := b.first.Sum(K, m.Inputs()); err != nil {
		return nil, fault.From(err)
	}
	dec, err := sylvester.Decompose(ctx, linop.NewDense(K, be), be)
	if err != nil {
		return nil, err
	}
	for a, v := range dec.Sigma {
		dec.Sigma[a] = max(v, 0) // of rounding
	}
	b.system = sylvester.NewBordered(dec, m.Y, be)
	return b, nil
}

// The border grows to a share of the rows decomposed, where it costs about as much as they do; then the rows that there
// are by then are decomposed.
const (
	leastBorder = 32
	borderShare = 8
)

// room is how many elements of the border there may be.
func (b *Live) room() int { return max(leastBorder, b.l/borderShare) }

// change is b without the rows that are not among those kept, which are numbered as in [gather], and with those that
// arrive. nil says that the border has no room.
func (b *Live) change(m *model.Model, arriving coded, kept []int) (*Live, error) {
	l := m.Y.Rows
	leave := l + arriving.Y.Rows - len(kept)
	if b.system.Elements()+arriving.Y.Rows+leave > b.room() {
		return nil, nil
	}
	c := *b
	if err := c.add(arriving); err != nil {
		return nil, err
	}
	stays := make([]bool, l+arriving.Y.Rows)
	for _, i := range kept {
		stays[i] = true
	}
	for i := len(stays) - 1; i >= 0; i-- {
		if !stays[i] {
			c.system = c.system.Remove(i)
		}
	}
	return &c, nil
}

// add adds rows to b.
func (b *Live) add(rows coded) error {
	if rows.Y.Rows == 0 {
		return nil
	}
	first := blas.NewGeneral(rows.Z.Rows, b.l)
	if err := b.first.Sum(first, rows.Z); err != nil {
		return fault.From(err)
	}
	for i := range rows.Z.Rows {
		b.arrived = append(slices.Clip(b.arrived), slices.Clone(blas.Row(rows.Z, i)))
	}
	Z := blas.NewGeneral(len(b.arrived), rows.Z.Cols)
	for i, row := range b.arrived {
		copy(blas.Row(Z, i), row)
	}
	near, err := b.dict.Crossing(b.eta, Z, b.be)
	if err != nil {
		return fault.From(err)
	}
	among := blas.NewGeneral(rows.Z.Rows, Z.Rows)
	if err := near.Sum(among, rows.Z); err != nil {
		return fault.From(err)
	}
	b.system = b.system.Add(first, among, rows.Y)
	return nil
}

// unfit are the errors of a border that rounding has spoilt; the system is then solved without it.
func unfit(err error) bool {
	return errors.Is(err, sylvester.ErrNotSPD) || errors.Is(err, sylvester.ErrNotConverged)
}

// kernels is the sum of all kernels on the rows Z, of which no values are kept: what the certificate asks for.
type kernels struct {
	dict  kernel.Dictionary
	Z     blas.General
	be    blas.Backend
	eta   []float64
	total float64 // ⟨U, K_ηU⟩ of the U that Forms gets; 0 where it is not known
}

// totalled is a system that tells the kernels the total of its solution.
type totalled struct {
	*sylvester.Bordered
	sum *kernels
}

func (s totalled) Solve(
	ctx context.Context, C blas.General, sys sylvester.System, Y blas.General, opt sylvester.Options,
) (sylvester.Result, error) {
	res, err := s.Bordered.Solve(ctx, C, sys, Y, opt)
	if err == nil {
		KCL := blas.Like(C)
		sys.L.MulRight(blas.Or(s.sum.be), KCL, res.KC)
		s.sum.total = blas.Inner(C, KCL)
	}
	return res, err
}

func (s *kernels) Dim() int                 { return s.Z.Rows }
func (s *kernels) Len() int                 { return len(s.dict) }
func (s *kernels) SetWeights(eta []float64) { s.eta = slices.Clone(eta) }

// crossing is that of the dictionary with rows lo to hi; its data have been checked.
func (s *kernels) crossing(dict kernel.Dictionary, eta []float64, lo, hi int) *kernel.Crossing {
	c, err := dict.Crossing(eta, blas.View(s.Z, lo, 0, hi-lo, s.Z.Cols), s.be)
	if err != nil {
		panic(fmt.Sprintf("update: inputs that were checked before: %v", err))
	}
	return c
}

// mul writes the product of c with rows lo to hi and B to dst.
func (s *kernels) mul(dst blas.General, c *kernel.Crossing, lo, hi int, B blas.General) {
	if err := c.Mul(dst, blas.View(s.Z, lo, 0, hi-lo, s.Z.Cols), B); err != nil {
		panic(fmt.Sprintf("update: inputs that were checked before: %v", err))
	}
}

// Apply computes dst = K_η·x.
func (s *kernels) Apply(dst, x blas.General) {
	s.mul(dst, s.crossing(s.dict, s.eta, 0, s.Z.Rows), 0, s.Z.Rows, x)
}

// formRows is how many rows of a kernel are multiplied at a time, by the rows before and by themselves.
const formRows = 1024

// Forms computes ⟨U, K_jV⟩ from the values on one side of the diagonal, where U is V. That of the kernel of most weight
// follows from the total, where it is most of that and so loses no digits.
func (s *kernels) Forms(dst []float64, U, V blas.General, idx []int) {
	clear(dst)
	heaviest := slices.Index(s.eta, slices.Max(s.eta))
	at := slices.Index(idx, heaviest)
	if s.total > 0 && len(idx) == len(s.dict) {
		rest := slices.Delete(slices.Clone(idx), at, at+1)
		others := make([]float64, len(rest))
		s.forms(others, U, V, rest)
		left := s.total
		for i, j := range rest {
			left -= s.eta[j] * others[i]
			dst[slices.Index(idx, j)] = others[i]
		}
		if dst[at] = left / s.eta[heaviest]; left > s.total/2 {
			return
		}
		s.forms(dst[at:at+1], U, V, idx[at:at+1])
		return
	}
	s.forms(dst, U, V, idx)
}

// forms is Forms by the values of every kernel.
func (s *kernels) forms(dst []float64, U, V blas.General, idx []int) {
	clear(dst)
	same := len(U.Data) > 0 && &U.Data[0] == &V.Data[0]
	for i, j := range idx {
		if v, ok := s.factored(j, U, V); ok {
			dst[i] = v
			continue
		}
		one := func(lo, hi, rows int, share float64) { // of the rows from hi, or lo, on
			if hi == lo {
				return
			}
			P := blas.NewGeneral(rows, V.Cols)
			at := hi
			if share == 1 {
				at = lo
			}
			s.mul(P, s.crossing(s.dict[j:j+1], []float64{1}, lo, hi), at, at+rows, blas.View(V, lo, 0, hi-lo, V.Cols))
			dst[i] += share * blas.Inner(blas.View(U, at, 0, rows, U.Cols), P)
		}
		if !same {
			one(0, s.Z.Rows, s.Z.Rows, 1)
			continue
		}
		for lo := 0; lo < s.Z.Rows; lo += formRows {
			rows := min(formRows, s.Z.Rows-lo)
			one(0, lo, rows, 2)
			one(lo, lo+rows, rows, 1)
		}
	}
}

// featureShare keeps features to an eighth of the memory of a Gram matrix, and their products to a quarter of the
// operations of one with values on one side of the diagonal.
const featureShare = 8

// factored is ⟨U, K_jV⟩ = ⟨FᵀU, FᵀV⟩ by the exact features F of a kernel that has few of them; otherwise not ok.
func (s *kernels) factored(j int, U, V blas.General) (form float64, ok bool) {
	D := rff.ExactCount(&s.dict[j])
	if D < 0 || featureShare*D > s.Z.Rows {
		return 0, false
	}
	F := blas.NewGeneral(s.Z.Rows, D)
	m, err := rff.New(context.Background(), s.dict[j], s.Z, 0, 0)
	if err == nil {
		err = m.Transform(F, s.Z)
	}
	if err != nil {
		panic(fmt.Sprintf("update: inputs that were checked before: %v", err))
	}
	FU, FV := blas.NewGeneral(D, U.Cols), blas.NewGeneral(D, V.Cols)
	blas.Mul(blas.Or(s.be), FU, true, false, F, U)
	blas.Mul(blas.Or(s.be), FV, true, false, F, V)
	return blas.Inner(FU, FV), true
}

// Diag writes the diagonal of K_j.
func (s *kernels) Diag(dst []float64, j int) {
	if err := s.crossing(s.dict[j:j+1], []float64{1}, 0, 1).Diagonal(dst, s.Z); err != nil {
		panic(fmt.Sprintf("update: inputs that were checked before: %v", err))
	}
}
