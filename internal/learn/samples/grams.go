// Samples given by Gram matrices.

package samples

import (
	"context"
	"fmt"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/dictionary"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/internal/learn/model"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/loss"
)

// Grams is samples of which the caller gives the Gram matrices.
type Grams struct {
	observed
	grams []*blas.Sym
	names []string
}

// NewGrams checks and stores the Gram matrices (l×l) of the samples with targets Y (l×n) and their weights W, as those
// of NewRows.
func NewGrams(ctx context.Context, grams []blas.General, Y, W blas.General, opt Options) (*Grams, error) {
	opt.Content = learn.ContentOf(blas.General{}, Y)
	o, err := observe(Y.Rows, Y, W, opt)
	if err != nil {
		return nil, err
	}
	if len(grams) == 0 {
		return nil, fault.Input("no Gram matrices")
	}
	if err := opt.Announce(opt.gramPlan(len(grams), Y.Rows, 0, Y.Cols)); err != nil {
		return nil, err
	}
	g := &Grams{observed: o}
	for j, K := range grams {
		if K.Rows == K.Cols && K.Rows != Y.Rows {
			return nil, fault.Input("Gram matrix %d is %d×%d, and Y has %d rows", j+1, K.Rows, K.Cols, Y.Rows)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		S, err := kernel.FromGram(K, opt.Precision, opt.Backend)
		if err != nil {
			return nil, fault.Input("Gram matrix %d: %w", j+1, err)
		}
		g.grams = append(g.grams, S)
		g.names = append(g.names, fmt.Sprintf("gram%d", j+1))
	}
	return g, nil
}

// Sample is the data of these samples alone.
func (g *Grams) Sample(idx []int) (learn.Data, error) {
	o, err := observe(len(idx), blas.TakeRows(g.y, idx), rowsOf(g.w, idx), g.opt.part(idx))
	some := &Grams{observed: o, names: g.names}
	for _, K := range g.grams {
		some.grams = append(some.grams, part(K, idx, g.opt.Precision))
	}
	return some.Data(), err
}

// Few is Sample: kernels are as they are.
func (g *Grams) Few(idx []int) (learn.Data, error) { return g.Sample(idx) }

// Data are the samples as data to learn from.
func (g *Grams) Data() learn.Data { return learn.Data{Learnable: g, Comparable: g, Parts: g} }

// ByLoss is the data for another loss.
func (g *Grams) ByLoss(l loss.Loss) (learn.Data, error) {
	h := *g
	h.opt.Columns.Loss, h.splits = l, nil
	return h.Data(), columns.CheckOutputs(h.y, h.w, &h.opt.Columns)
}

// Start is where learning starts from: the weights of the norm.
func (g *Grams) Start(context.Context, []string) (weights, diagonals []float64, err error) {
	if _, _, _, err := columns.LearnOutputs(g.y, g.w, &g.opt.Columns); err != nil {
		return nil, nil, err
	}
	for _, k := range g.grams {
		diagonals = append(diagonals, dictionary.MeanDiagonal(k))
	}
	return nil, diagonals, nil
}

// Plan is the memory that a fit takes.
func (g *Grams) Plan(_ context.Context, _ []string, _ learn.Learned, all bool) (learn.Plan, error) {
	return g.opt.gramPlan(len(g.grams), g.planned(all), 0, g.y.Cols), nil
}

// Train prepares to learn from the samples that are not in the fold.
func (g *Grams) Train(
	ctx context.Context, _ []string, _ learn.Learned, fold int,
) (_ learn.Training, err error) {
	t := &training{opt: &g.opt, names: g.names, grams: g.grams}
	Y, W := g.y, g.w
	if fold == learn.All {
		t.held = g.opt.gramPlan(len(g.grams), Y.Rows, 0, Y.Cols).Held
	} else {
		split, err := g.split(fold)
		if err != nil {
			return learn.Training{}, err
		}
		Y, t.test = g.targets(split)
		W, t.testW = rowsOf(g.w, split.Train), rowsOf(g.w, split.Test)
		t.grams = nil
		for _, K := range g.grams {
			if err := ctx.Err(); err != nil {
				return learn.Training{}, err
			}
			t.grams = append(t.grams, part(K, split.Train, g.opt.Precision))
		}
		t.from, t.split = g, split
	}
	t.warnings, err = t.setTargets(Y, W)
	return t.Training(), err
}

// HeldOut predicts the samples to test on by a model of the part to train on.
func (g *Grams) HeldOut(ctx context.Context, m *model.Model, s learn.Split) (model.Fold, error) {
	f := g.heldOut(m, s)
	return f, m.Cross(f.F, func(eta []float64) (blas.General, error) { return g.cross(ctx, eta, s) })
}

// cross is K_η between the samples left out and those to train on.
func (g *Grams) cross(ctx context.Context, eta []float64, split learn.Split) (blas.General, error) {
	K := blas.NewGeneral(len(split.Test), len(split.Train))
	for _, j := range model.Kept(eta) {
		if err := ctx.Err(); err != nil {
			return K, err
		}
		for a, i := range split.Test {
			row := blas.Row(K, a)
			for c, k := range split.Train {
				row[c] += eta[j] * g.grams[j].At(i, k)
			}
		}
	}
	return K, nil
}

// part is the Gram matrix of some of the samples.
func part(g *blas.Sym, idx []int, prec blas.Precision) *blas.Sym {
	out := blas.NewSym(len(idx), prec)
	line := make([]float64, len(idx))
	for b := range out.Panels() {
		row, rows, cols, _ := out.Panel(b)
		for i := row; i < row+rows; i++ {
			for j := range cols {
				line[j] = g.At(idx[i], idx[j])
			}
			out.SetPanel(b, i, 0, 1, cols, line, cols)
		}
	}
	return out
}
