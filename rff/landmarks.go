// The choice of the landmarks of Nyström features.

package rff

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/par"
)

// drawLandmarks picks s landmarks for the kernel from the rows of x: rows drawn
// uniformly or centres of k-means.
func drawLandmarks(
	ctx context.Context, how string, x blas.General, s int, seed, stream uint64, be blas.Backend,
) (blas.General, error) {
	rng := rand.New(rand.NewPCG(seed, stream))
	switch how {
	case "uniform":
		return blas.TakeRows(x, choose(x.Rows, s, rng)), nil
	case "kmeans":
		return kmeans(ctx, x, s, rng, blas.Or(be)), nil
	}
	return blas.General{}, fmt.Errorf("%w: unknown landmarks %q (have uniform, kmeans)", ErrNoFeatures, how)
}

// choose is s of n numbers in ascending order, all subsets equally likely.
func choose(n, s int, rng *rand.Rand) []int {
	picked := rng.Perm(n)[:s]
	slices.Sort(picked)
	return picked
}

// Landmarks need not be a local optimum of k-means: few rounds on few samples do. Both numbers bound the time; the
// landmarks compared in docs/decisions/2026-11-24-landmarks.md are those that they give.
const (
	kmeansRounds   = 6
	kmeansPerPoint = 20 // samples looked at for each centre
)

// kmeans is s centres of Lloyd's iteration from a uniform start, on a uniform
// subsample. A centre that loses all its samples stays where it is.
func kmeans(ctx context.Context, x blas.General, s int, rng *rand.Rand, be blas.Backend) blas.General {
	sub := blas.TakeRows(x, choose(x.Rows, min(x.Rows, kmeansPerPoint*s), rng))
	centres := blas.TakeRows(sub, choose(sub.Rows, s, rng))
	nearest := make([]int, sub.Rows)
	for range kmeansRounds {
		if ctx.Err() != nil {
			break // the caller looks too
		}
		if !assign(ctx, nearest, sub, centres, be) {
			break
		}
		recentre(centres, sub, nearest)
	}
	return centres
}

// assign finds the nearest centre of each row, by ‖c‖²/2 − xᵀc, and reports
// whether any changed.
func assign(ctx context.Context, nearest []int, x, centres blas.General, be blas.Backend) bool {
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
		ip := blas.Product(be, false, true, blas.View(x, lo, 0, hi-lo, x.Cols), centres)
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
