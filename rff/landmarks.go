// This file chooses the landmarks of Nyström features.

package rff

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/par"
	"github.com/iokl/iokl/kernel"
)

// drawLandmarks picks s landmarks for the kernel from the rows of x: rows drawn
// uniformly, centres of k-means, or rows drawn by their leverage.
func drawLandmarks(
	ctx context.Context, how string, k *kernel.Kernel, x blas.General, s int, seed, stream uint64,
) (blas.General, error) {
	rng := rand.New(rand.NewPCG(seed, stream))
	switch how {
	case "uniform":
		return blas.TakeRows(x, choose(x.Rows, s, rng)), nil
	case "kmeans":
		return kmeans(ctx, x, s, rng), nil
	case "leverage":
		return leverage(ctx, k, x, s, rng)
	}
	return blas.General{}, fmt.Errorf("%w: unknown landmarks %q (have uniform, kmeans, leverage)", ErrNoFeatures, how)
}

// choose is s of n numbers in ascending order, all subsets equally likely.
func choose(n, s int, rng *rand.Rand) []int {
	picked := rng.Perm(n)[:s]
	slices.Sort(picked)
	return picked
}

// Landmarks need not be a local optimum of k-means: few rounds on few samples do.
const (
	kmeansRounds   = 6
	kmeansPerPoint = 20 // samples looked at for each centre
)

// kmeans is s centres of Lloyd's iteration from a uniform start, on a uniform
// subsample. A centre that loses all its samples stays where it is.
func kmeans(ctx context.Context, x blas.General, s int, rng *rand.Rand) blas.General {
	sub := blas.TakeRows(x, choose(x.Rows, min(x.Rows, kmeansPerPoint*s), rng))
	centres := blas.TakeRows(sub, choose(sub.Rows, s, rng))
	nearest := make([]int, sub.Rows)
	for range kmeansRounds {
		if ctx.Err() != nil {
			break // the caller looks too
		}
		if !assign(ctx, nearest, sub, centres) {
			break
		}
		recentre(centres, sub, nearest)
	}
	return centres
}

// assign finds the nearest centre of each row, by ‖c‖²/2 − xᵀc, and reports
// whether any changed.
func assign(ctx context.Context, nearest []int, x, centres blas.General) bool {
	half := make([]float64, centres.Rows)
	for c := range half {
		row := blas.Row(centres, c)
		half[c] = blas.Dot(row, row) / 2
	}
	moved := make([]bool, x.Rows)
	par.Ranges(x.Rows, blockRows, func(lo, hi int) {
		if ctx.Err() != nil {
			return
		}
		ip := blas.NewGeneral(hi-lo, centres.Rows)
		blas.Mul(blas.Active(), ip, false, true, blas.View(x, lo, 0, hi-lo, x.Cols), centres)
		for i := lo; i < hi; i++ {
			best := 0
			row := blas.Row(ip, i-lo)
			for c, v := range row {
				if half[c]-v < half[best]-row[best] {
					best = c
				}
			}
			moved[i] = nearest[i] != best
			nearest[i] = best
		}
	})
	return slices.Contains(moved, true)
}

func recentre(centres, x blas.General, nearest []int) {
	sum := blas.NewGeneral(centres.Rows, centres.Cols)
	count := make([]float64, centres.Rows)
	for i, c := range nearest {
		blas.Axpy(1, blas.Row(x, i), blas.Row(sum, c))
		count[c]++
	}
	for c, n := range count {
		if n == 0 {
			continue
		}
		row := blas.Row(centres, c)
		copy(row, blas.Row(sum, c))
		blas.Scal(1/n, row)
	}
}

// leverage draws s rows without replacement with weights half from their ridge
// leverage scores ℓ_i = [K(K+λI)⁻¹]_ii ≤ 1 and half uniform, so that no dense
// region goes without a landmark. The scores are estimated from a uniform pilot
// S of s rows, each standing for l/s of them (Alaoui and Mahoney 2015):
//
//	ℓ_i ≈ min(1, (k_ii − k_iS (K_SS + λ(s/l)I)⁻¹ k_Si)/λ)
//
// with λ the sum of the eigenvalues of K beyond the first s/2 over s/2, so that
// the scores say what half of the landmarks would miss.
func leverage(ctx context.Context, k *kernel.Kernel, x blas.General, s int, rng *rand.Rand) (blas.General, error) {
	l := x.Rows
	pilot := blas.TakeRows(x, choose(l, s, rng))
	u, w, err := gramEigen(k, pilot)
	if err != nil {
		return blas.General{}, err
	}
	var tail float64
	for _, v := range w[:(s+1)/2] {
		tail += max(v, 0)
	}
	// λ·s/l, kept above rounding.
	shift := max(tail/float64((s+1)/2), float64(s)*0x1p-52*w[s-1], math.SmallestNonzeroFloat64)
	p := blas.Clone(u) // U·(W + shift)^{-1/2}
	for i := range s {
		for j, v := range w {
			p.Data[i*s+j] /= math.Sqrt(max(v, 0) + shift)
		}
	}
	scores, err := residuals(ctx, k, x, pilot, p)
	if err != nil {
		return blas.General{}, err
	}
	lambda := shift * float64(l) / float64(s)
	var total float64
	for i, v := range scores {
		scores[i] = min(1, v/lambda)
		total += scores[i]
	}
	for i := range scores {
		scores[i] += total / float64(l)
	}
	return blas.TakeRows(x, weighted(scores, s, rng)), nil
}

// residuals is k(x_i,x_i) − ‖Pᵀk(pilot,x_i)‖² of each row, 0 at least.
func residuals(ctx context.Context, k *kernel.Kernel, x, pilot, p blas.General) ([]float64, error) {
	out := make([]float64, x.Rows)
	blocks := (x.Rows + blockRows - 1) / blockRows
	errs := make([]error, blocks)
	par.For(blocks, func(b int) {
		if errs[b] = ctx.Err(); errs[b] != nil {
			return
		}
		lo := b * blockRows
		rows := min(blockRows, x.Rows-lo)
		part := blas.View(x, lo, 0, rows, x.Cols)
		cross, q := blas.NewGeneral(rows, pilot.Rows), blas.NewGeneral(rows, p.Cols)
		if errs[b] = k.Cross(cross, part, pilot); errs[b] != nil {
			return
		}
		blas.Mul(blas.Active(), q, false, false, cross, p)
		self := blas.NewGeneral(1, 1)
		for i := range rows {
			one := blas.View(part, i, 0, 1, x.Cols)
			if errs[b] = k.Cross(self, one, one); errs[b] != nil {
				return
			}
			out[lo+i] = max(self.Data[0]-blas.Dot(blas.Row(q, i), blas.Row(q, i)), 0)
		}
	})
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// weighted draws s indices without replacement, by the largest of ln(u)/weight
// (Efraimidis and Spirakis 2006); indices of weight 0 come last.
func weighted(weights []float64, s int, rng *rand.Rand) []int {
	keys := make([]float64, len(weights))
	order := make([]int, len(weights))
	for i, w := range weights {
		order[i] = i
		if keys[i] = math.Log(openUniform(rng)) / w; !(w > 0) {
			keys[i] = math.Inf(-1)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(keys[b], keys[a]) })
	picked := order[:s]
	slices.Sort(picked)
	return picked
}
