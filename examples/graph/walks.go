// A sum of kernels on a graph that is never formed as a matrix.

package main

import (
	"math"

	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl/blas"
)

// walks is a sum of graph kernels Σ_j η_j A^{s_j}/t_j, with A = (I + D^{-1/2} W D^{-1/2})/2
// the lazy walk on the graph, whose powers are positive semidefinite, and t_j the
// mean of the diagonal of A^{s_j}, which makes the kernels of one size. It is a
// linop.Sum that never forms a matrix: a product costs the longest walk times the
// number of edges.
type walks struct {
	next  [][]int   // neighbours of each node
	scale []float64 // 1/√degree
	steps []int     // s_j, ascending
	unit  []float64 // 1/t_j
	eta   []float64
}

func newWalks(next [][]int, steps []int) *walks {
	w := &walks{next: next, scale: make([]float64, len(next)), steps: steps, eta: make([]float64, len(steps))}
	for i, n := range next {
		if len(n) > 0 {
			w.scale[i] = 1 / math.Sqrt(float64(len(n)))
		}
	}
	diag := make([]float64, len(next))
	for j := range steps {
		w.unit = append(w.unit, 1)
		w.Diag(diag, j)
		w.unit[j] = 1 / stat.Mean(diag, nil)
	}
	return w
}

// Dim is the number of nodes.
func (w *walks) Dim() int { return len(w.next) }

// Len is the number of kernels.
func (w *walks) Len() int { return len(w.steps) }

// SetWeights sets η.
func (w *walks) SetWeights(eta []float64) { copy(w.eta, eta) }

// Apply computes dst = Σ_j η_j A^{s_j} x/t_j.
func (w *walks) Apply(dst, x blas.General) {
	blas.Zero(dst)
	w.walk(x, func(j int, y blas.General) { blas.AddScaled(dst, w.eta[j]*w.unit[j], y) })
}

// Forms computes dst[i] = ⟨U, A^{s_j} V⟩/t_j, j = idx[i].
func (w *walks) Forms(dst []float64, U, V blas.General, idx []int) {
	all := make([]float64, len(w.steps))
	w.walk(V, func(j int, y blas.General) { all[j] = w.unit[j] * blas.Inner(U, y) })
	for i, j := range idx {
		dst[i] = all[j]
	}
}

// Diag writes the diagonal of A^{s_j}/t_j, from walks that start at each node.
func (w *walks) Diag(dst []float64, j int) {
	for i := range dst {
		e := blas.NewGeneral(len(dst), 1)
		e.Data[i] = 1
		w.walk(e, func(k int, y blas.General) {
			if k == j {
				dst[i] = w.unit[j] * y.Data[i]
			}
		})
	}
}

// walk calls f with A^{s_j} x for each j.
func (w *walks) walk(x blas.General, f func(j int, y blas.General)) {
	y, z := blas.Clone(x), blas.NewGeneral(x.Rows, x.Cols)
	at := 0
	for j, s := range w.steps[:len(w.unit)] {
		for ; at < s; at++ {
			w.step(z, y)
			y, z = z, y
		}
		f(j, y)
	}
}

// step computes dst = A·x.
func (w *walks) step(dst, x blas.General) {
	for i, neighbours := range w.next {
		row := blas.Row(dst, i)
		copy(row, blas.Row(x, i))
		for _, k := range neighbours {
			blas.Axpy(w.scale[i]*w.scale[k], blas.Row(x, k), row)
		}
		blas.Scal(0.5, row)
	}
}

// grid is the square grid of side×side nodes.
func grid(side int) [][]int {
	next := make([][]int, side*side)
	for i := range side {
		for j := range side {
			k := i*side + j
			if i > 0 {
				next[k], next[k-side] = append(next[k], k-side), append(next[k-side], k)
			}
			if j > 0 {
				next[k], next[k-1] = append(next[k], k-1), append(next[k-1], k)
			}
		}
	}
	return next
}
