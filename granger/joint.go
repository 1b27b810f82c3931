package granger

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/sylvester"
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
	idx := chosen(tasks[0].idx, at)
	Z, ages := e.unweighted(idx)
	return out, forEach(ctx, n, func(k int) error {
		t := task{node: k, idx: idx}
		if tasks[k].Y.Rows > 0 {
			t.Y = blas.TakeRows(tasks[k].Y, at)
		}
		p := e.prepare(t)
		slopes, explained, err := slopes(ctx, e.opt.Backend, Z, ages, p.U, p.Y)
		if err != nil {
			return fmt.Errorf("granger: the kernel on all nodes: %w", err)
		}
		row := blas.Row(out, k)
		for j := range e.node {
			for _, c := range e.past[j].Columns {
				row[j] += math.Sqrt(slopes[c])
			}
		}
		if sum := floats.Sum(row); sum > 0 {
			blas.Scal(explained/sum, row)
		}
		row[k] = 0 // own history is no edge
		return nil
	})
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
	for c, weight := range g.weight {
		inverse[c], ages[c] = 1/weight, square(weight/g.weight[c-c%g.opt.Lag])
	}
	blas.ScaleColumns(Z, inverse)
	return Z, ages
}

// slopes are the mean squared derivatives of the regression of Y (l×1), which is
// projected off U, along the columns of Z, and which share it explains of what ridge
// regression leaves, both by the errors of leaving out each sample.
func slopes(
	ctx context.Context, be blas.Backend, Z blas.General, ages []float64, U, Y blas.General,
) (squares []float64, explained float64, err error) {
	l, w := Z.Rows, slices.Clone(ages)
	squares = make([]float64, Z.Cols)
	yy := square(blas.Frob(Y))
	if yy == 0 || l < 2*(U.Cols+1) {
		return squares, 0, nil
	}
	S := weighted(Z, ages, float64(Z.Cols))
	linear, err := newRidge(be, blas.Product(be, false, true, S, S), U, Y)
	if err != nil {
		return squares, 0, err
	}
	if yy < linear.gcv*square(float64(l-U.Cols)) { // no regression is better
		for a := range l {
			u := blas.Row(U, a)
			linear.losses[a] = square(Y.Data[a] / math.Max(1-blas.Dot(u, u), 1e-3))
		}
	}
	for range jointRounds + 1 {
		K, v, err := gaussianOf(ctx, be, Z, w)
		if err != nil {
			return squares, 0, err
		}
		r, err := newRidge(be, K, U, Y)
		if err != nil {
			return squares, 0, err
		}
		explained = math.Max(0, beyondDoubt(linear.losses, r.losses)/stat.Mean(linear.losses, nil))
		G := kernel.Gradients(be, K, Z, r.C, 1)
		for c := range squares {
			squares[c] = square(2 * w[c] / v * rms(mat.Col(nil, c, blas.Dense(G))))
		}
		top := floats.Max(squares)
		if !(top > 0) {
			return squares, 0, nil
		}
		for c := range w {
			w[c] = squares[c]/top + 1e-6
		}
	}
	return squares, explained, nil
}

// ridge is a kernel ridge regression with the μ of least generalized cross-validation.
type ridge struct {
	C      blas.General // l×1: (K + μI)C = Y off the border
	losses []float64    // squared errors of leaving out each sample
	gcv    float64      // ‖(I−H)Y‖²/tr(I−H)²
}

// newRidge regresses Y on the kernel matrix K, beside the orthonormal columns U, which cost next to nothing.
func newRidge(be blas.Backend, K, U, Y blas.General) (*ridge, error) {
	const free = 1e8 // the weight of UUᵀ beside K, whose eigenvalues are at most l
	A, sigma := blas.Clone(K), make([]float64, K.Rows)
	blas.Gemm(be, false, true, free, U, U, 1, A)
	if err := be.Syevd(A, sigma); err != nil {
		return nil, err
	}
	s := sylvester.NewLeaveOut((&sylvester.Decomposition{T: A, Sigma: sigma}).Clip(), be)
	if err := s.Use(linop.ScaledIdentity(1, 1), Y); err != nil {
		return nil, err
	}
	r := &ridge{gcv: math.Inf(1)}
	for e := -8; e <= 4; e++ {
		C, mu := blas.Like(Y), math.Pow(10, float64(e)/2)
		if err := s.At(C, mu); err != nil {
			return nil, err
		}
		gcv := square(mu * blas.Frob(C) / (float64(Y.Rows) - s.DegreesOfFreedom()))
		if !(gcv < r.gcv) {
			continue
		}
		losses := blas.Like(Y)
		s.Leverages(losses)
		for a, h := range losses.Data { // few samples of leverage 1 must not decide
			losses.Data[a] = square(mu * C.Data[a] / math.Max(1-h, 1e-3))
		}
		*r = ridge{C, losses.Data, gcv}
	}
	return r, nil
}

// weighted is Z with √(w_c/by) times each column c.
func weighted(Z blas.General, w []float64, by float64) blas.General {
	S, root := blas.Clone(Z), blas.Roots(w)
	blas.Scal(1/math.Sqrt(by), root)
	blas.ScaleColumns(S, root)
	return S
}

// gaussianOf is the kernel matrix of the metric w, and its v = 2·Σ_c w_c·var_c, the mean of the metric over all pairs.
func gaussianOf(
	ctx context.Context, be blas.Backend, Z blas.General, w []float64,
) (K blas.General, v float64, err error) {
	for c := range w {
		v += 2 * w[c] * stat.Variance(mat.Col(nil, c, blas.Dense(Z)), nil)
	}
	if !(v > 0) {
		v = 1
	}
	S := weighted(Z, w, 1)
	k := kernel.Kernel{Kind: kernel.Gaussian, Inputs: S.Cols, Width: math.Sqrt(v / 2)}
	grams, err := kernel.Dictionary{k}.Grams(ctx, S, kernel.GramOptions{Backend: be})
	if err != nil {
		return K, v, err
	}
	K = blas.NewGeneral(Z.Rows, Z.Rows)
	grams[0].Dense(K)
	return K, v, nil
}
