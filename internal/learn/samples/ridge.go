// Kernel ridge regression on one split of the samples, for all λ at once; targets may be observed in many different
// sets of rows.

package samples

import (
	"context"
	"math"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/internal/learn/model"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/sylvester"
)

// ridge is one split of the samples for models of which neither the weights nor L are
// learned: one reduction of K to tridiagonal form then serves all λ.
type ridge struct {
	*coded
	opt    *Options
	inputs blas.General            // scaled: the rows to train on, then those to test on
	test   blas.General            // targets of the rows to test on, as they are
	testW  blas.General            // their weights
	rows   []int                   // their numbers
	sums   map[string]blas.General // what has been computed, by SPEC
}

// Ridge prepares for kernel ridge regression on a fold.
func (r *Rows) Ridge(fold int) (learn.Ridge, error) {
	c, split, test, err := r.coded(fold)
	if err != nil {
		return nil, err
	}
	g := &ridge{
		coded: c, opt: &r.opt, test: test, testW: rowsOf(r.w, split.Test), rows: split.Test,
		sums: map[string]blas.General{},
	}
	Z, _, err := c.in.Apply(blas.TakeRows(r.x, split.Test))
	if err != nil {
		return nil, err
	}
	g.inputs = columns.Under(c.Z, Z)
	return g, nil
}

// pattern is targets that are observed in the same rows.
type pattern struct{ rows, targets []int }

// patterns groups the columns of Y by the rows that they are observed in.
func patterns(Y blas.General) (list []pattern) {
	cells, at := linop.ObservedCells(Y), map[string]int{}
	key := make([]byte, Y.Rows)
	for j := range Y.Cols {
		var rows []int
		for i := range key {
			if key[i] = 0; cells.Has(i, j) {
				key[i] = 1
				rows = append(rows, i)
			}
		}
		k, known := at[string(key)]
		if !known {
			k = len(list)
			at[string(key)] = k
			list = append(list, pattern{rows: rows})
		}
		list[k].targets = append(list[k].targets, j)
	}
	return list
}

// cross is K between all samples of the split and those to train on, at the
// weights that fixed weights have.
func (r *ridge) cross(ctx context.Context, specs []string) (blas.General, error) {
	if len(specs) == 1 {
		return r.one(ctx, specs[0])
	}
	K := blas.NewGeneral(r.inputs.Rows, r.Y.Rows)
	for _, spec := range specs {
		k, err := r.one(ctx, spec)
		if err != nil {
			return K, err
		}
		blas.AddScaled(K, 1/float64(len(specs)), k)
	}
	return K, nil
}

// crossRows is how many rows of K are computed between two looks at the context.
const crossRows = 1024

// one is cross of one SPEC, which it keeps.
func (r *ridge) one(ctx context.Context, spec string) (blas.General, error) {
	if K, ok := r.sums[spec]; ok {
		return K, nil
	}
	d, weights, err := r.Resolve(ctx, []string{spec})
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
		if err := c.Sum(blas.View(K, lo, 0, rows, K.Cols), blas.View(r.inputs, lo, 0, rows,
			r.inputs.Cols)); err != nil {
			return K, fault.From(err)
		}
	}
	r.sums[spec] = K
	return K, nil
}

// Errors are those on the rows to test on for each λ, NaN where a system is singular
// to working accuracy: with L = ρI the coefficients are C = (ρK + μI)⁻¹Y, on the rows in
// which a target is observed, and the prediction is ρ·K*·C.
func (r *ridge) Errors(ctx context.Context, specs []string, tau float64, lambdas []float64) ([]learn.Errors, error) {
	K, err := r.cross(ctx, specs)
	if err != nil {
		return nil, err
	}
	l, Y := r.Y.Rows, r.Y
	if r.w.Data != nil {
		K, Y = r.weigh(K)
	}
	rho := 1.0
	if tau > 0 {
		rho = tau / float64(r.Y.Cols)
	}
	all, P := make([]learn.Errors, len(lambdas)), blas.NewGeneral(r.test.Rows, r.test.Cols)
	judge := func(i int, F blas.General) {
		if all[i] = (learn.Errors{NMSE: math.NaN(), Accuracy: math.NaN()}); F.Data != nil {
			r.out.Restore(P, F)
			all[i] = learn.Judge(P, r.test, r.testW, r.out)
			all[i].Held = &model.Fold{Rows: r.rows, Y: r.test, F: blas.Clone(P), W: r.testW}
		}
	}
	parts := patterns(Y)
	if len(parts) == 1 && len(parts[0].rows) == l {
		return all, r.along(ctx, K, Y, rho, lambdas, judge)
	}
	F := make([]blas.General, len(lambdas))
	for i := range F {
		F[i] = blas.NewGeneral(r.test.Rows, r.Y.Cols)
	}
	if cheaperByHoles(parts, l, len(lambdas)) {
		if err := r.byHoles(ctx, K, Y, parts, rho, lambdas, F); err != nil {
			return nil, err
		}
		parts = nil
	}
	for _, p := range parts {
		if len(p.rows) == 0 {
			continue // 0 is predicted
		}
		some := make([]int, 0, len(p.rows)+r.test.Rows)
		some = append(some, p.rows...)
		for i := range r.test.Rows {
			some = append(some, l+i)
		}
		err := r.along(ctx, columns.Take(blas.TakeRows(K, some), p.rows), columns.Take(blas.TakeRows(Y, p.rows),
			p.targets), rho, lambdas, func(i int, f blas.General) {
			if f.Data == nil {
				F[i] = f
			}
			for a := range F[i].Rows {
				for k, j := range p.targets {
					F[i].Data[a*F[i].Stride+j] = f.Data[a*f.Stride+k]
				}
			}
		})
		if err != nil {
			return nil, err
		}
	}
	for i := range F {
		judge(i, F[i])
	}
	return all, nil
}

// weigh is K between all samples and those to train on, and the targets of these, with both sides of the system times
// the roots of the weights of rows: (√a·K·√a + μI)x = √a·Y for C = √a·x. A row of cells of several weights has their
// mean.
func (r *ridge) weigh(K blas.General) (scaled, Y blas.General) {
	w := r.out.Weights(r.w)
	root := columns.RowWeights(r.Y, w)
	for i, a := range root {
		root[i] = math.Sqrt(a)
	}
	scaled, Y = blas.Clone(K), blas.Like(r.Y)
	blas.ScaleColumns(scaled, root)
	top := blas.View(scaled, 0, 0, r.Y.Rows, scaled.Cols)
	blas.ScaleRows(top, root, top)
	blas.ScaleRows(Y, root, r.Y)
	for i := range Y.Rows {
		row := blas.Row(Y, i)
		for k := range row {
			if columns.WeightAt(w, i, k) == 0 {
				row[k] = math.NaN()
			}
		}
	}
	return scaled, Y
}

// along solves for targets Y (l×n) that are all observed, K holding the kernel between the l samples
// and, below, between those to test on and them. It hands out the predictions for each λ,
// which die with the call, without Data where the system is singular to working accuracy. K
// is reduced to tridiagonal form once for all λ.
func (r *ridge) along(
	ctx context.Context, K, Y blas.General, rho float64, lambdas []float64, each func(i int, F blas.General),
) error {
	l, n := Y.Rows, Y.Cols
	be := blas.Or(r.opt.Backend)
	var t sylvester.Tridiagonal
	t.Reduce(ctx, be, blas.Clone(blas.View(K, 0, 0, l, l)))
	right, pivots, ones := blas.Clone(Y), blas.NewGeneral(l, n), slices.Repeat([]float64{1}, n)
	t.ToQ(right)
	// Q is applied to the coefficients of all λ, or to K between the samples to test on and the others, if these are
	// fewer.
	crossK := blas.View(K, l, 0, r.test.Rows, l)
	turned := r.test.Rows < n*len(lambdas)
	if turned {
		T := blas.Transposed(crossK)
		t.ToQ(T)
		crossK = blas.Transposed(T)
	}
	most := max(1, l/n) // values of λ at a time, for no more columns than K has
	C, F := blas.NewGeneral(l, n*min(most, len(lambdas))), blas.NewGeneral(r.test.Rows, n*min(most, len(lambdas)))
	for first := 0; first < len(lambdas); first += most {
		if err := ctx.Err(); err != nil {
			return err
		}
		some := lambdas[first:min(first+most, len(lambdas))]
		columns := n * len(some)
		c, f := blas.View(C, 0, 0, l, columns), blas.View(F, 0, 0, r.test.Rows, columns)
		solved := make([]bool, len(some))
		for i, lambda := range some {
			x := blas.View(c, 0, i*n, l, n)
			blas.Copy(x, right)
			if solved[i] = t.Solve(x, pivots, ones, lambda*float64(r.Y.Rows)/rho) == nil; !solved[i] {
				blas.Zero(x)
			}
		}
		if !turned {
			t.FromQ(c)
		}
		blas.Mul(be, f, false, false, crossK, c)
		for i := range some {
			part := blas.General{}
			if solved[i] {
				part = blas.View(f, 0, i*n, r.test.Rows, n)
			}
			each(first+i, part)
		}
	}
	return ctx.Err()
}

// reductionCubes is the time of a reduction to tridiagonal form, in the unit of [sylvester.DecomposeCubes].
const reductionCubes = 4.

// cheaperByHoles reports whether byHoles is forecast to take fewer flops than a reduction for every pattern.
func cheaperByHoles(parts []pattern, l, lambdas int) bool {
	separate, shared := 0., sylvester.DecomposeCubes+float64(lambdas)
	for _, p := range parts {
		share := float64(len(p.rows)) / float64(l)
		separate += reductionCubes * share * share * share
		shared += float64(lambdas) * math.Pow(min(share, 1-share), 3) / 3
	}
	return shared < separate
}

// byHoles fills in F, the predictions for each λ and targets Y (l×n), by one decomposition of K for all patterns and λ.
// With B = (ρK + μI)⁻¹ on all rows, the coefficients C on the rows o of a pattern, 0 in the others s, are
//
//	C = B·(y + z),   z_s = −(B_ss)⁻¹·(B·y)_s,   z_o = 0,
//
// where y is 0 in s. Where s is the larger part, they are the solution of the system of o. A λ has l³ flops for B, and
// each pattern the third power of its smaller part, over 3. F without Data means a singular system.
func (r *ridge) byHoles(
	ctx context.Context, K, Y blas.General, parts []pattern, rho float64, lambdas []float64, F []blas.General,
) error {
	l, be := Y.Rows, blas.Until(ctx, blas.Or(r.opt.Backend))
	inner, cross := blas.View(K, 0, 0, l, l), blas.View(K, l, 0, r.test.Rows, l)
	dec, err := sylvester.Decompose(ctx, linop.NewDense(inner, be), be)
	if err != nil {
		return err
	}
	dec.Clip()
	B, C := blas.NewGeneral(l, l), blas.NewGeneral(l, Y.Cols)
	T, scale := blas.NewGeneral(l, l), make([]float64, l)
	for i, lambda := range lambdas {
		if err := ctx.Err(); err != nil {
			return err
		}
		mu := lambda * float64(l) / rho
		for a, s := range dec.Sigma {
			scale[a] = 1 / math.Sqrt(s+mu)
		}
		blas.Copy(T, dec.T)
		blas.ScaleColumns(T, scale)
		be.Dsyrk(blas.Lower, blas.NoTrans, l, l, 1, T.Data, T.Stride, 0, B.Data, B.Stride)
		blas.MirrorLower(B)
		blas.Zero(C)
		for _, p := range parts {
			if !solvePattern(be, C, inner, B, Y, p, mu) {
				F[i] = blas.General{}
				break
			}
		}
		if F[i].Data != nil {
			blas.Mul(be, F[i], false, false, cross, C)
		}
	}
	return ctx.Err()
}

// solvePattern writes the coefficients of the targets of p, times ρ, to C, and reports whether their system is regular.
// B is (K + μI)⁻¹.
func solvePattern(be blas.Backend, C, K, B, Y blas.General, p pattern, mu float64) bool {
	out := columns.Others(p.rows, K.Rows)
	if len(out) > len(p.rows) {
		A, c := columns.Take(blas.TakeRows(K, p.rows), p.rows), columns.Take(blas.TakeRows(Y, p.rows), p.targets)
		for i := range A.Rows {
			A.Data[i*A.Stride+i] += mu
		}
		if A.Rows > 0 && !be.Potrf(A) {
			return false
		}
		blas.Potrs(be, A, c)
		put(C, c, p.rows, p.targets)
		return true
	}
	y := blas.NewGeneral(K.Rows, len(p.targets))
	for _, i := range p.rows {
		for k, j := range p.targets {
			y.Data[i*y.Stride+k] = Y.Data[i*Y.Stride+j]
		}
	}
	x := blas.Product(be, false, false, B, y)
	if len(out) > 0 {
		some := blas.TakeRows(B, out)
		S, z := columns.Take(some, out), blas.TakeRows(x, out)
		if !be.Potrf(S) {
			return false
		}
		blas.Potrs(be, S, z)
		blas.Gemm(be, true, false, -1, some, z, 1, x) // B is symmetric
	}
	put(C, blas.TakeRows(x, p.rows), p.rows, p.targets)
	return true
}

// put writes c to some rows and columns of C.
func put(C, c blas.General, rows, cols []int) {
	for a, i := range rows {
		for b, j := range cols {
			C.Data[i*C.Stride+j] = c.Data[a*c.Stride+b]
		}
	}
}
