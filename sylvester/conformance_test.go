package sylvester_test

import (
	"context"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/sylvester"
	"github.com/iokl/iokl/sylvester/solvertest"
)

// halves solves by a [sylvester.Sum] of two halves of L.
type halves struct {
	sum   *sylvester.Sum
	cells *linop.Cells
}

func (h *halves) Name() string { return "sum" }

func (h *halves) Invalidate() {
	if h.sum != nil {
		h.sum.Invalidate()
	}
}

func (h *halves) Solve(
	ctx context.Context, C blas.General, sys sylvester.System, Y blas.General, opt sylvester.Options,
) (sylvester.Result, error) {
	if h.sum == nil || h.cells != sys.Cells {
		h.sum, h.cells = sylvester.NewSum(sys.Cells, sylvester.Config{Seed: 7}), sys.Cells
	}
	half := &linop.Spectral{V: sys.L.V, S: make([]float64, sys.L.Rank())}
	for b, v := range sys.L.S {
		half.S[b] = v / 2
	}
	res, err := h.sum.Solve(ctx, C, []linop.Term{{K: sys.K, L: half}, {K: sys.K, L: half}}, sys.Mu, Y, opt)
	if err == nil && opt.Fitted.Data != nil { // which a sum does not compute
		PC, KC := blas.Clone(C), blas.Like(C)
		if sys.Cells != nil {
			sys.Cells.Project(PC, C)
		}
		sys.K.Apply(KC, PC)
		sys.L.MulRight(blas.Active(), opt.Fitted, KC)
	}
	return res, err
}

// Every solver keeps the contract on every kind of system.
func TestConformance(t *testing.T) {
	for _, name := range sylvester.Names() {
		opt := solvertest.Options{Direct: name != "cg" && name != "rotated" && name != "nystrom"}
		t.Run(name, func(t *testing.T) {
			solvertest.Run(t, func() sylvester.Solver { return solverNamed(t, name) }, opt)
		})
	}
	t.Run("reweighted", func(t *testing.T) {
		solvertest.Run(t, func() sylvester.Solver { return newReweighted(t).Solver }, solvertest.Options{Direct: true})
	})
	t.Run("sum", func(t *testing.T) {
		solvertest.Run(t, func() sylvester.Solver { return new(halves) }, solvertest.Options{Direct: true, After: 4})
	})
}
