package iokl

import (
	"context"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/kernel"
)

// chooseSettings finds λ, and the norm when none is given.
func chooseSettings(ctx context.Context, s *study, opt Options) (Options, error) {
	opt.CV = opt.CV.ForFit(s.Y.Rows)
	r, err := crossValidate(ctx, s, opt)
	if err != nil {
		return opt, err
	}
	return r.settle(opt), nil
}

// fromGrams checks and stores the caller's Gram matrices.
func (opt *Options) fromGrams(ctx context.Context, grams []mat.Matrix, l int) ([]*blas.Sym, error) {
	if len(grams) == 0 {
		return nil, badInput("no Gram matrices")
	}
	syms := make([]*blas.Sym, len(grams))
	for j, g := range grams {
		r, c := g.Dims()
		if r == c && r != l {
			return nil, badInput("Gram matrix %d is %d×%d, and Y has %d rows", j+1, r, c, l)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var err error
		if syms[j], err = kernel.FromGram(raw(g), opt.Precision, opt.Backend); err != nil {
			return nil, &wrapped{badInput("Gram matrix %d: %v", j+1, err), err}
		}
	}
	return syms, nil
}
