package granger

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/par"
	"github.com/iokl/iokl/kernel"
)

// The doubt is that of docs/decisions/2026-11-22-short-series.md, where the graphs compared have the other values, too.
// Samples and rounds bound the time, of an eigendecomposition for each target and round.
const (
	jointSamples   = 300   // that it is fitted to, at most
	jointResampled = 150   // the same in each round of a resampling
	jointRounds    = 2     // of learning its metric
	jointDoubt     = 1.645 // standard errors taken off what it explains: a one-sided bound at .05
)

// joint is what the kernel on all nodes adds to the graph. A sum of functions of single nodes misses sources that act
// by their products. For each target, what its border leaves is regressed on k(x,x') = exp(−Σ_c w_c(x_c−x'_c)²/v) over
// all past values c, with v the mean of the sum and μ of least generalized cross-validation (Golub, Heath and Wahba,
// doi:10.1080/00401706.1979.10489751). The metric starts at the ages' weights and then follows the mean squared slopes,
// w_c ∝ E(∂f/∂x_c)² (Radhakrishnan et al., doi:10.1126/science.adi5639). A source gets its part of the roots of the
// slopes' squares, times the share of what ridge regression leaves that the kernel explains beyond doubt: a kernel that
// explains everything counts as much as the others together. It looks at the samples of the tasks, which are those of
// all nodes, at most so many, and once at those that are there several times: the others would tell what they are.
func (e *engine) joint(ctx context.Context, tasks []task, samples int) (blas.General, error) {
	n := len(tasks)
	out := blas.NewGeneral(n, n)
	at := thinned(tasks[0].idx, samples)
	idx := make([]int, len(at))
	for i, r := range at {
		idx[i] = tasks[0].idx[r]
	}
	Z, ages := e.unweighted(idx)
	errs := make([]error, n)
	par.For(n, func(k int) {
		if errs[k] = ctx.Err(); errs[k] != nil {
			return
		}
		t := task{node: k, idx: idx}
		if tasks[k].Y.Rows > 0 {
			t.Y = blas.TakeRows(tasks[k].Y, at)
		}
		p := e.prepare(t)
		slopes, explained, err := slopes(e.opt.Backend, Z, ages, p.U, p.Y)
		if errs[k] = err; err != nil {
			return
		}
		row, sum := blas.Row(out, k), 0.0
		for j := range e.node {
			for _, c := range e.past[j].Columns {
				row[j] += math.Sqrt(slopes[c])
			}
			sum += row[j]
		}
		if sum > 0 {
			blas.Scal(explained/sum, row)
		}
		row[k] = 0 // own history is no edge
	})
	if err := cmp.Or(errs...); err != nil {
		return out, fmt.Errorf("granger: %w", err)
	}
	return out, nil
}

// thinned are the places in the sorted list idx of at most so many of its different
// samples, evenly spread.
func thinned(idx []int, most int) []int {
	var first []int
	for i, s := range idx {
		if i == 0 || s != idx[i-1] {
			first = append(first, i)
		}
	}
	return evenly(first, most)
}

// evenly is the list, or so many of it, evenly spread.
func evenly[T any](list []T, most int) []T {
	some := make([]T, min(most, len(list)))
	for i := range some {
		some[i] = list[i*len(list)/len(some)]
	}
	return some
}

// unweighted are the past values at the samples idx in standard deviations of their
// series, and the weight of each column by its age in squared distances.
func (g *design) unweighted(idx []int) (Z blas.General, ages []float64) {
	Z, ages = blas.TakeRows(g.X, idx), make([]float64, g.X.Cols)
	inverse := make([]float64, g.X.Cols)
	for k, p := range g.past {
		for i, c := range p.Columns {
			weight := math.Pow(g.opt.Decay, float64(i%g.opt.Lag))
			inverse[c], ages[c] = 1/(g.pastScale(k)*weight), weight*weight
		}
	}
	blas.ScaleColumns(Z, inverse)
	return Z, ages
}

// slopes are the mean squared derivatives of the regression of Y (l×1), which is
// projected off U, along the columns of Z, and which share it explains of what ridge
// regression leaves, both by generalized cross-validation.
func slopes(
	be blas.Backend, Z blas.General, ages []float64, U, Y blas.General,
) (squares []float64, explained float64, err error) {
	l, w := Z.Rows, slices.Clone(ages)
	squares = make([]float64, Z.Cols)
	yy := square(blas.Frob(Y))
	if yy == 0 || l < 2*(U.Cols+1) {
		return squares, 0, nil
	}
	linear, err := linearLosses(be, Z, ages, U, Y)
	if err != nil {
		return squares, 0, err
	}
	for range jointRounds + 1 {
		K, v, err := gaussianOf(be, Z, w)
		if err != nil {
			return squares, 0, err
		}
		A := projectedTwice(be, K, U)
		values, rotated, err := decompose(be, A, Y)
		if err != nil {
			return squares, 0, err
		}
		mu, _ := leastGCV(values, rotated.Data, U.Cols)
		losses := leaveOneOut(be, A, values, rotated, mu, U)
		explained = math.Max(0, beyondDoubt(linear, losses)/stat.Mean(linear, nil))
		for k, s := range values {
			rotated.Data[k] /= math.Max(s, 0) + mu
		}
		G := kernel.Gradients(be, K, Z, blas.Product(be, false, false, A, rotated), 1)
		clear(squares)
		top := 0.0
		for a := range l {
			for c, g := range blas.Row(G, a) {
				squares[c] += square(2*w[c]/v*g) / float64(l)
				top = math.Max(top, squares[c])
			}
		}
		if !(top > 0) {
			return squares, 0, nil
		}
		for c := range w {
			w[c] = squares[c]/top + 1e-6
		}
	}
	return squares, explained, nil
}

// decompose overwrites A by its eigenvectors and returns the eigenvalues and Y in their basis.
func decompose(be blas.Backend, A, Y blas.General) (values []float64, rotated blas.General, err error) {
	values = make([]float64, A.Rows)
	if err := be.Syevd(A, values); err != nil {
		return nil, rotated, err
	}
	return values, blas.Product(be, true, false, A, Y), nil
}

// leaveOneOut are the squared errors of each sample when it is left out, e_a/(1 − H_aa) with the
// residuals e, for eigenvectors V and values of the projected kernel matrix, the targets
// rotated = VᵀY, and the orthonormal columns U that are projected off. H has the projection on U too, a model without
// penalty, which a [sylvester.LeaveOut] of the projected kernel matrix does not know of.
func leaveOneOut(
	be blas.Backend, V blas.General, values []float64, rotated blas.General, mu float64, U blas.General,
) []float64 {
	f, kept := make([]float64, len(values)), blas.Clone(rotated)
	for k, s := range values {
		f[k] = mu / (math.Max(s, 0) + mu)
		kept.Data[k] *= f[k]
	}
	left := blas.Product(be, false, false, V, kept)
	for a := range left.Rows {
		free := 0.0
		for k, v := range blas.Row(V, a) {
			free += f[k] * v * v
		}
		u := blas.Row(U, a)
		left.Data[a] = square(left.Data[a] / math.Max(free-blas.Dot(u, u), 1e-3))
	}
	return left.Data
}

// linearLosses are the squared errors of leaving out each sample of ridge regression on
// the columns of Z, or of no regression where generalized cross-validation prefers that.
func linearLosses(be blas.Backend, Z blas.General, ages []float64, U, Y blas.General) ([]float64, error) {
	S := weighted(Z, ages, float64(Z.Cols))
	projectOff(be, S, U)
	K := blas.Product(be, false, true, S, S)
	values, rotated, err := decompose(be, K, Y)
	if err != nil {
		return nil, err
	}
	mu, left := leastGCV(values, rotated.Data, U.Cols)
	if square(blas.Frob(Y)) < left*square(float64(Z.Rows-U.Cols)) {
		mu = math.MaxFloat64
	}
	return leaveOneOut(be, K, values, rotated, mu, U), nil
}

// weighted is Z with √(w_c/by) times each column c.
func weighted(Z blas.General, w []float64, by float64) blas.General {
	S, root := blas.Clone(Z), make([]float64, len(w))
	for c, v := range w {
		root[c] = math.Sqrt(v / by)
	}
	blas.ScaleColumns(S, root)
	return S
}

// gaussianOf is the kernel matrix of the metric w, and its v = 2·Σ_c w_c·var_c, the mean of the metric over all pairs.
func gaussianOf(be blas.Backend, Z blas.General, w []float64) (K blas.General, v float64, err error) {
	for c := range w {
		v += 2 * w[c] * stat.Variance(mat.Col(nil, c, blas.Dense(Z)), nil)
	}
	if !(v > 0) {
		v = 1
	}
	S := weighted(Z, w, 1)
	k := kernel.Kernel{Kind: kernel.Gaussian, Inputs: S.Cols, Width: math.Sqrt(v / 2)}
	grams, err := kernel.Dictionary{k}.Grams(context.Background(), S, kernel.GramOptions{Backend: be})
	if err != nil {
		return K, v, err
	}
	K = blas.NewGeneral(Z.Rows, Z.Rows)
	grams[0].Dense(K)
	return K, v, nil
}

// projectedTwice is (I − UUᵀ)·K·(I − UUᵀ).
func projectedTwice(be blas.Backend, K, U blas.General) blas.General {
	A := blas.Clone(K)
	projectOff(be, A, U)
	for a := range A.Rows {
		for b := range a {
			A.Data[a*A.Stride+b], A.Data[b*A.Stride+a] = A.Data[b*A.Stride+a], A.Data[a*A.Stride+b]
		}
	}
	projectOff(be, A, U)
	return A
}

// leastGCV is the μ of a grid that minimises ‖(I−H)y‖²/tr(I−H)², and that minimum, for
// the eigenvalues of the kernel matrix, the targets in their basis, and free columns
// that are projected off.
func leastGCV(values, y []float64, free int) (mu, left float64) {
	left = math.Inf(1)
	for e := -8; e <= 4; e++ {
		m := math.Pow(10, float64(e)/2)
		rss, trace := 0.0, -float64(free)
		for k, s := range values {
			f := m / (math.Max(s, 0) + m)
			rss += square(f * y[k])
			trace += f
		}
		if g := rss / (trace * trace); trace > 0 && g < left {
			mu, left = m, g
		}
	}
	return mu, left
}
