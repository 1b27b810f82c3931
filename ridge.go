package iokl

import (
	"context"
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/kernel"
)

// ridge is one split of the samples as it is for models of which neither the
// weights nor L are learned: one reduction of K to tridiagonal form then serves all λ.
type ridge struct {
	opt    *Options
	inputs blas.General // scaled: the rows to train on, then those to test on
	Y      blas.General // targets to learn, scaled
	test   blas.General // targets of the rows to test on, as they are
	out    *outputs
	sums   map[string]blas.General // what has been computed, by SPEC; nil: nothing is kept

	medians kernel.Medians // of the inputs to train on
}

func (s *study) ridge(split Split, opt *Options) (*ridge, error) {
	with := *opt
	r := &ridge{opt: &with, test: rows(s.Y, split.Test)}
	X := rows(s.X, split.Train)
	in, _, err := newInputs(X, opt)
	if err != nil {
		return nil, err
	}
	if r.out, r.Y, _, err = newOutputs(rows(s.Y, split.Train), opt); err != nil {
		return nil, err
	}
	both := append(append([]int(nil), split.Train...), split.Test...)
	r.inputs, _, err = in.apply(rows(s.X, both), 0)
	return r, err
}

// train are the rows to train on.
func (r *ridge) train() blas.General {
	return blas.View(r.inputs, 0, 0, r.Y.Rows, r.inputs.Cols)
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
	if K, ok := r.sums[specs[0]]; ok && len(specs) == 1 {
		return K, nil
	}
	with := *r.opt
	with.Kernels = specs
	groups, err := withRelevance(ctx, specs, r.train(), r.Y, &with)
	if err != nil {
		return blas.General{}, err
	}
	r.opt.Groups = groups // for the SPECs to come
	with.Groups = groups
	d, weights, err := dictionary(ctx, r.train(), r.Y, &with, &r.medians)
	if err != nil {
		return blas.General{}, err
	}
	K := blas.NewGeneral(r.inputs.Rows, r.Y.Rows)
	c, err := d.Crossing(weights, r.train(), r.opt.Backend)
	if err != nil {
		return K, asInput(err)
	}
	for lo := 0; lo < K.Rows; lo += crossRows {
		if err := ctx.Err(); err != nil {
			return K, err
		}
		rows := min(crossRows, K.Rows-lo)
		if err := c.Sum(blas.View(K, lo, 0, rows, K.Cols), blas.View(r.inputs, lo, 0, rows, r.inputs.Cols)); err != nil {
			return K, asInput(err)
		}
	}
	if r.sums != nil && len(specs) == 1 {
		r.sums[specs[0]] = K
	}
	return K, nil
}

// size is the mean of the diagonal of K_η.
func (r *ridge) size(K blas.General) float64 {
	var s float64
	for i := range K.Cols {
		s += K.Data[i*K.Stride+i]
	}
	return s / float64(K.Cols)
}

// errors writes the error on the rows to test on for each λ, NaN where the
// system is singular to working accuracy: with L = ρI the coefficients are
// C = (ρK + μI)⁻¹Y, and the prediction is ρ·K*·C. K is reduced to tridiagonal form
// once for all λ, in (4/3)l³ operations that ctx does not interrupt; between
// values of λ it does, and the errors left are then not to be used.
func (r *ridge) errors(ctx context.Context, e []float64, K blas.General, lambdas []float64, metricName string) {
	l, n := r.Y.Rows, r.Y.Cols
	be := blas.Or(r.opt.Backend)
	rho := 1.0
	if r.opt.Tau > 0 {
		rho = r.opt.Tau / float64(n)
	}
	t := newTridiagonal(be, blas.View(K, 0, 0, l, l), r.Y)
	crossK := blas.View(K, l, 0, r.test.Rows, l)
	most := max(1, l/n) // values of λ at a time, for no more columns than K has
	C, F := blas.NewGeneral(l, n*min(most, len(lambdas))), blas.NewGeneral(r.test.Rows, n*min(most, len(lambdas)))
	P := blas.NewGeneral(r.test.Rows, r.test.Cols)
	for lo := 0; lo < len(lambdas) && ctx.Err() == nil; lo += most {
		some := lambdas[lo:min(lo+most, len(lambdas))]
		columns := n * len(some)
		c, f := blas.View(C, 0, 0, l, columns), blas.View(F, 0, 0, r.test.Rows, columns)
		solved := make([]bool, len(some))
		for i, lambda := range some {
			solved[i] = t.solve(blas.View(c, 0, i*n, l, n), lambda*float64(l)/rho)
		}
		t.rotate(c)
		blas.Mul(be, f, false, false, crossK, c)
		for i := range some {
			e[lo+i] = math.NaN()
			if solved[i] {
				r.out.restore(P, blas.View(f, 0, i*n, r.test.Rows, n))
				e[lo+i] = metric(metricName, relativeMSE(P, r.test, r.Y, r.out), P, r.test)
			}
		}
	}
}

// tridiagonal is K = Q·T·Qᵀ with T tridiagonal, and QᵀY: (K + μI)⁻¹Y then costs a
// number of operations that is linear in the order for each μ.
type tridiagonal struct {
	be     blas.Backend
	Q      blas.General // in the backend's own form
	tau    []float64
	d, e   []float64 // of T
	QtY    blas.General
	pivots []float64
}

func newTridiagonal(be blas.Backend, K, Y blas.General) *tridiagonal {
	l := K.Rows
	t := &tridiagonal{be: be, Q: blas.Clone(K), QtY: blas.Clone(Y), pivots: make([]float64, l)}
	t.d, t.e, t.tau = make([]float64, l), make([]float64, l-1), make([]float64, l-1)
	be.Sytrd(t.Q, t.d, t.e, t.tau)
	be.Ormtr(true, t.Q, t.tau, t.QtY)
	return t
}

// solve writes (T + μI)⁻¹QᵀY to X by LDLᵀ factorisation, and reports whether the
// matrix is positive definite.
func (t *tridiagonal) solve(X blas.General, mu float64) bool {
	blas.Copy(X, t.QtY)
	for i := range t.d {
		p := t.d[i] + mu
		if i > 0 {
			m := t.e[i-1] / t.pivots[i-1]
			p -= m * t.e[i-1]
			blas.Axpy(-m, blas.Row(X, i-1), blas.Row(X, i))
		}
		if !(p > 0) {
			blas.Zero(X)
			return false
		}
		t.pivots[i] = p
	}
	for i := len(t.d) - 1; i >= 0; i-- {
		x := blas.Row(X, i)
		if i < len(t.d)-1 {
			blas.Axpy(-t.e[i], blas.Row(X, i+1), x)
		}
		blas.Scal(1/t.pivots[i], x)
	}
	return true
}

// rotate multiplies X by Q.
func (t *tridiagonal) rotate(X blas.General) { t.be.Ormtr(false, t.Q, t.tau, X) }

// exact reports whether the SPECs make Gram matrices, and no explicit features.
func exact(specs []string) bool {
	for _, text := range specs {
		if s, err := kernel.Parse(text); err != nil || s.Approx != nil {
			return false
		}
	}
	return true
}
