package samples

import (
	"context"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/sylvester"
)

// ridge is one split of the samples for models of which neither the weights nor L are
// learned: one reduction of K to tridiagonal form then serves all λ.
type ridge struct {
	*coded
	opt    *Options
	inputs blas.General            // scaled: the rows to train on, then those to test on
	test   blas.General            // targets of the rows to test on, as they are
	sums   map[string]blas.General // what has been computed, by SPEC; nil: nothing is kept
}

// Ridge prepares for kernel ridge regression on a fold.
func (r *Rows) Ridge(fold int, keep bool) (learn.Ridge, error) {
	split, err := r.split(fold)
	if err != nil {
		return nil, err
	}
	both, test := columns.Rows(r.x, slices.Concat(split.Train, split.Test)), columns.Rows(r.y, split.Test)
	c, err := r.code(blas.View(both, 0, 0, len(split.Train), both.Cols), columns.Rows(r.y, split.Train))
	if err != nil {
		return nil, err
	}
	g := &ridge{coded: c, opt: &r.opt, test: test}
	if keep {
		g.sums = map[string]blas.General{}
	}
	g.inputs, _, err = c.in.Apply(both)
	return g, err
}

// cross is K between all samples of the split and those to train on, at the
// weights that fixed weights have.
func (r *ridge) cross(ctx context.Context, specs []string) (blas.General, error) {
	if r.sums == nil || len(specs) == 1 {
		return r.sum(ctx, specs)
	}
	K := blas.NewGeneral(r.inputs.Rows, r.Y.Rows)
	for _, spec := range specs {
		k, err := r.sum(ctx, []string{spec})
		if err != nil {
			return K, err
		}
		blas.AddScaled(K, 1/float64(len(specs)), k)
	}
	return K, nil
}

// crossRows is how many rows of K are computed between two looks at the context.
const crossRows = 1024

// sum is cross without keeping the parts.
func (r *ridge) sum(ctx context.Context, specs []string) (blas.General, error) {
	if len(specs) == 1 {
		if K, ok := r.sums[specs[0]]; ok {
			return K, nil
		}
	}
	d, weights, err := r.Resolve(ctx, specs)
	if err != nil {
		return blas.General{}, err
	}
	K := blas.NewGeneral(r.inputs.Rows, r.Y.Rows)
	c, err := d.Crossing(weights, r.Z, r.opt.Backend)
	if err != nil {
		return K, fault.From(err)
	}
	for lo := 0; lo < K.Rows; lo += crossRows {
		if err := ctx.Err(); err != nil {
			return K, err
		}
		rows := min(crossRows, K.Rows-lo)
		if err := c.Sum(blas.View(K, lo, 0, rows, K.Cols), blas.View(r.inputs, lo, 0, rows, r.inputs.Cols)); err != nil {
			return K, fault.From(err)
		}
	}
	if r.sums != nil && len(specs) == 1 {
		r.sums[specs[0]] = K
	}
	return K, nil
}

// Errors are those on the rows to test on for each λ, NaN where the system is singular
// to working accuracy: with L = ρI the coefficients are C = (ρK + μI)⁻¹Y, and the
// prediction is ρ·K*·C. K is reduced to tridiagonal form once for all λ.
func (r *ridge) Errors(ctx context.Context, specs []string, tau float64, path func(size float64) []float64) ([]learn.Errors, error) {
	K, err := r.cross(ctx, specs)
	if err != nil {
		return nil, err
	}
	l, n := r.Y.Rows, r.Y.Cols
	be := blas.Or(r.opt.Backend)
	rho := 1.0
	if tau > 0 {
		rho = tau / float64(n)
	}
	var size float64
	for i := range l {
		size += K.Data[i*K.Stride+i]
	}
	lambdas := path(size / float64(l))
	var t sylvester.Tridiagonal
	t.Reduce(ctx, be, blas.Clone(blas.View(K, 0, 0, l, l)))
	right, pivots, ones := blas.Clone(r.Y), blas.NewGeneral(l, n), slices.Repeat([]float64{1}, n)
	t.ToQ(right)
	crossK := blas.View(K, l, 0, r.test.Rows, l)
	most := max(1, l/n) // values of λ at a time, for no more columns than K has
	C, F := blas.NewGeneral(l, n*min(most, len(lambdas))), blas.NewGeneral(r.test.Rows, n*min(most, len(lambdas)))
	P := blas.NewGeneral(r.test.Rows, r.test.Cols)
	var all []learn.Errors
	for some := range slices.Chunk(lambdas, most) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		columns := n * len(some)
		c, f := blas.View(C, 0, 0, l, columns), blas.View(F, 0, 0, r.test.Rows, columns)
		solved := make([]bool, len(some))
		for i, lambda := range some {
			x := blas.View(c, 0, i*n, l, n)
			blas.Copy(x, right)
			if solved[i] = t.Solve(x, pivots, ones, lambda*float64(l)/rho) == nil; !solved[i] {
				blas.Zero(x)
			}
		}
		t.FromQ(c)
		blas.Mul(be, f, false, false, crossK, c)
		for i := range some {
			e := learn.Unknown()
			if solved[i] {
				r.out.Restore(P, blas.View(f, 0, i*n, r.test.Rows, n))
				e = learn.Judge(P, r.test, r.Y, r.out)
			}
			all = append(all, e)
		}
	}
	return all, ctx.Err()
}
