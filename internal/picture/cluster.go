// This file orders variables so that correlated ones are neighbours.

package picture

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/blas"
)

// Correlations is the map of a correlation matrix whose variables have these names, those that go together side by
// side.
func Correlations(title string, names []string, R mat.Symmetric) *Heat {
	order := Clustered(R)
	n := len(order)
	h := &Heat{Title: title, Matrix: blas.NewGeneral(n, n), Min: -1, Max: 1}
	for a, i := range order {
		h.Rows = append(h.Rows, names[i])
		for b, j := range order {
			h.Matrix.Data[a*n+b] = R.At(i, j)
		}
	}
	h.Cols = h.Rows
	return h
}

// Clustered orders the rows of a correlation matrix so that those which go
// together are neighbours: the leaves of an average-linkage tree on 1 − r, each
// merge laid so that the nearer ends meet.
func Clustered(R mat.Symmetric) []int {
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
	return slices.Concat(groups...) // of which one is left
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
func join(a, b []int, R mat.Symmetric) (out []int) {
	best := math.Inf(-1)
	for range 2 {
		for range 2 {
			if r := R.At(a[len(a)-1], b[0]); r > best {
				best, out = r, slices.Concat(a, b)
			}
			slices.Reverse(b)
		}
		slices.Reverse(a)
	}
	return out
}
