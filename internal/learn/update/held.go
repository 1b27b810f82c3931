package update

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/model"
)

// held are the rows that a model of explicit features keeps, after a change.
type held struct {
	m    *model.Model
	all  bool // they are all rows of the model
	rows coded
	l    int // rows of the model before the change
}

// newHeld are the rows of m with those that arrive and without those that leave.
func newHeld(m *model.Model, arriving, leaving coded) (*held, error) {
	h := &held{m: m}
	if m.Held == nil || m.Held.X.Data == nil {
		return h, nil
	}
	h.all = allHeld(m)
	Y := blas.Clone(m.Held.Y)
	if m.Out.Scaler != nil {
		m.Out.Scaler.Apply(Y)
	}
	old := coded{m.Held.X, columns.Take(Y, m.Out.Live), m.Held.W}
	gone := map[int]bool{}
	for i := range leaving.Z.Rows {
		for k := range old.Z.Rows {
			if !gone[k] && slices.Equal(blas.Row(old.Z, k), blas.Row(leaving.Z, i)) {
				gone[k] = true
				break
			}
		}
	}
	var stay []int
	for k := range old.Z.Rows {
		if !gone[k] {
			stay = append(stay, k)
		}
	}
	for _, p := range m.Sums {
		h.l += p.Rows
	}
	h.rows = under(take(old, stay), arriving)
	if most := learn.DrawnRows; h.rows.Z.Rows > most { // as many of those that arrive as there are among all rows
		l := h.l - leaving.Z.Rows + arriving.Z.Rows
		rng := rand.New(rand.NewPCG(uint64(l), 1))
		fresh := min(arriving.Z.Rows, max(most-len(stay), most*arriving.Z.Rows/max(l, 1)))
		some := slices.Concat(rng.Perm(len(stay))[:most-fresh], nil)
		for _, i := range rng.Perm(arriving.Z.Rows)[:fresh] {
			some = append(some, len(stay)+i)
		}
		slices.Sort(some)
		h.rows = take(h.rows, some)
	}
	return h, nil
}

// take is the rows of these numbers.
func take(c coded, rows []int) coded {
	some := coded{Z: blas.TakeRows(c.Z, rows), Y: blas.TakeRows(c.Y, rows)}
	if c.W.Data != nil {
		some.W = blas.TakeRows(c.W, rows)
	}
	return some
}

// under is the rows of a, and those of b.
func under(a, b coded) coded {
	both := coded{Z: columns.Under(a.Z, b.Z), Y: columns.Under(a.Y, b.Y)}
	if a.W.Data == nil && b.W.Data == nil {
		return both
	}
	both.W = blas.NewGeneral(both.Z.Rows, 1)
	for i := range both.Z.Rows {
		if i < a.Z.Rows {
			both.W.Data[i] = columns.WeightAt(a.W, i, 0)
		} else {
			both.W.Data[i] = columns.WeightAt(b.W, i-a.Z.Rows, 0)
		}
	}
	return both
}

// forget takes out the rows that leave by their numbers, and returns them: none of a change without such.
func (h *held) forget(ch *Change) (out coded, err error) {
	if len(ch.Forget) == 0 && ch.Window == 0 {
		return out, nil
	}
	l := h.rows.Z.Rows
	kept, err := ch.kept(h.m.Held.X.Rows, l-h.m.Held.X.Rows)
	if err != nil {
		return out, err
	}
	out = take(h.rows, columns.Others(kept, l))
	h.rows = take(h.rows, kept)
	return out, nil
}

// of makes the model after the change keep the rows.
func (h *held) of(ctx context.Context, m *model.Model) error {
	if h.rows.Z.Rows == 0 {
		return nil
	}
	rows := make([]int, h.rows.Z.Rows)
	for i := range rows {
		rows[i] = i
	}
	Y := blas.NewGeneral(len(rows), len(m.Out.Names))
	m.Out.Restore(Y, h.rows.Y)
	return m.HoldOut(ctx, rows, h.rows.Z, Y, h.rows.W)
}
