// This file has the ranks of columns among their quantiles.

package dictionary

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn/defaults"
	"github.com/iokl/iokl/internal/learn/dictionary/lengths"
	"github.com/iokl/iokl/kernel"
)

// ranks is all columns of Z with their quantiles.
func ranks(Z blas.General) kernel.Group {
	g := everyColumn(defaults.Ranks, Z)
	for c := range Z.Cols {
		sorted := column(Z, c)
		slices.Sort(sorted)
		knots := make([]float64, defaults.RankKnots)
		for k := range knots {
			at, part := math.Modf(float64(k) / float64(len(knots)-1) * float64(Z.Rows-1))
			low, high := sorted[int(at)], sorted[min(int(at)+1, Z.Rows-1)]
			knots[k] = low + part*(high-low)
		}
		g.Knots = append(g.Knots, knots)
	}
	return g
}

// bent is the share of the variance of a column above which it gets a length for its ranks too: that which no line in
// the ranks explains, twice the share of a normal variable.
const bent = 2 * (1 - 3/math.Pi)

// lengthColumns is what lengths are learned for: all columns of Z, and the ranks of those that are far from a line in
// their ranks, such as columns over several decades. It returns the values too.
func (r *Resolver) lengthColumns() (kernel.Group, blas.General) {
	g := everyColumn(lengths.Features, r.z)
	all := ranks(r.z)
	R := features(&all, r.z)
	knots := make([][]float64, r.z.Cols, 2*r.z.Cols)
	for c := range r.z.Cols {
		x, rank := column(r.z, c), column(R, c)
		if share := stat.Correlation(x, rank, nil); 1-share*share > bent {
			g.Columns, knots = append(g.Columns, c), append(knots, all.Knots[c])
		}
	}
	if len(knots) > r.z.Cols {
		g.Knots = knots
	}
	return g, features(&g, r.z)
}

// features is what kernels on the group see of Z.
func features(g *kernel.Group, Z blas.General) blas.General {
	k := kernel.Kernel{Kind: kernel.Linear, Inputs: Z.Cols, Columns: g.Columns, Knots: g.Knots}
	return k.Features(Z)
}

func column(Z blas.General, c int) []float64 {
	x := make([]float64, Z.Rows)
	for i := range x {
		x[i] = blas.Row(Z, i)[c]
	}
	return x
}
