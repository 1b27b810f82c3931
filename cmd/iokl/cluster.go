// This file orders outputs so that correlated ones are neighbours.

package main

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// clustered orders the rows of a correlation matrix so that those which go
// together are neighbours: the leaves of an average-linkage tree on 1 − r, each
// merge laid so that the nearer ends meet.
func clustered(R mat.Symmetric) []int {
	n := R.SymmetricDim()
	groups := make([][]int, n)
	d := make([][]float64, n)
	for i := range n {
		groups[i] = []int{i}
		d[i] = make([]float64, n)
		for j := range n {
			d[i][j] = 1 - R.At(i, j)
		}
	}
	for left := n; left > 1; left-- {
		a, b := nearest(groups, d)
		for k := range groups {
			if groups[k] == nil || k == a || k == b {
				continue
			}
			na, nb := float64(len(groups[a])), float64(len(groups[b]))
			d[a][k] = (na*d[a][k] + nb*d[b][k]) / (na + nb)
			d[k][a] = d[a][k]
		}
		groups[a] = join(groups[a], groups[b], R)
		groups[b] = nil
	}
	for _, g := range groups {
		if g != nil {
			return g
		}
	}
	return nil
}

// nearest is the pair of groups of smallest distance.
func nearest(groups [][]int, d [][]float64) (a, b int) {
	best := math.Inf(1)
	for i := range groups {
		if groups[i] == nil {
			continue
		}
		for j := range i {
			if groups[j] != nil && (d[i][j] < best || math.IsInf(best, 1)) {
				best, a, b = d[i][j], j, i
			}
		}
	}
	return a, b
}

// join puts b after a, either reversed where that brings more similar ends together.
func join(a, b []int, R mat.Symmetric) []int {
	best, flipA, flipB := math.Inf(-1), false, false
	for _, fa := range []bool{false, true} {
		for _, fb := range []bool{false, true} {
			if r := R.At(end(a, !fa), end(b, fb)); r > best {
				best, flipA, flipB = r, fa, fb
			}
		}
	}
	out := make([]int, 0, len(a)+len(b))
	out = appendSide(out, a, flipA)
	return appendSide(out, b, flipB)
}

func end(g []int, last bool) int {
	if last {
		return g[len(g)-1]
	}
	return g[0]
}

func appendSide(out, g []int, flip bool) []int {
	if !flip {
		return append(out, g...)
	}
	for i := len(g) - 1; i >= 0; i-- {
		out = append(out, g[i])
	}
	return out
}
