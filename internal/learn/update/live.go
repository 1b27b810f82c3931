// Updates of models that keep a decomposition of K_η.

package update

import (
	"context"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/internal/learn/model"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/sylvester"
)

// Live is the linear system of a model's rows, ready for changes: see [sylvester.Bordered]. It never changes.
type Live struct {
	system  *sylvester.Bordered
	dict    kernel.Dictionary // kernels of weight
	eta     []float64         // their weights
	first   *kernel.Crossing  // K_η with the rows decomposed
	l       int               // of them
	arrived blas.General      // inputs of rows that have arrived since, those that left again too
	be      blas.Backend
}

// Prepare decomposes K_η of the rows of m.
func Prepare(ctx context.Context, m *model.Model, be blas.Backend) (*Live, error) {
	if err := usable(m, &Change{}); err != nil {
		return nil, err
	}
	b := &Live{be: be, l: m.Y.Rows}
	b.dict, b.eta = weighted(m)
	if !oneOutputKernel(m) || !m.AllTargets() || m.Out.Loss != "" {
		return nil, fault.Input("a decomposition serves updates of models of one output kernel, of kernels on rows " +
			"that are not centred and of targets without weights, none of which is missing: Update does without it")
	}
	// K_η and what a decomposition takes, and eight blocks of the targets as a solve takes them
	bytes := 8 * float64(b.l) * float64(5*b.l+8*m.Y.Cols)
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
	b.system = sylvester.NewBordered(dec.Clip(), m.Y, be)
	return b, nil
}

// The border grows to a share of the rows decomposed, where it costs about as much as they do; then the rows that there
// are by then are decomposed.
const (
	leastBorder = 32
	borderShare = 8
)

// oneOutputKernel reports whether m is of one output kernel and of kernels on rows that are not centred, whose sum
// [kernels] are.
func oneOutputKernel(m *model.Model) bool {
	_, samples := m.Basis.(*model.Samples)
	return samples && m.OutputKernels() == nil &&
		!slices.ContainsFunc(m.Dictionary(), func(k kernel.Kernel) bool { return k.Center })
}

// weighted are the kernels of m that have weight, and their weights.
func weighted(m *model.Model) (dict kernel.Dictionary, eta []float64) {
	all := m.Dictionary()
	for _, j := range model.Kept(m.Eta) {
		dict, eta = append(dict, all[j]), append(eta, m.Eta[j])
	}
	return dict, eta
}

// room is how many elements of the border there may be.
func (b *Live) room() int { return max(leastBorder, b.l/borderShare) }

// change is b without the rows that are not among those kept, which are numbered from those of m on, and with those
// that arrive. nil says that the border has no room.
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
	for _, i := range slices.Backward(columns.Others(kept, l+arriving.Y.Rows)) {
		c.system = c.system.Remove(i)
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
	Z := columns.Under(b.arrived, rows.Z)
	b.arrived = Z
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
