package iokl

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/kernel"
)

// DefaultNorms are the regularizers that cross-validation chooses from when
// kernels are given and no norm: one that keeps few kernels and one that keeps all.
func DefaultNorms() []string { return []string{"lp:1", "lp:2"} }

// DefaultKernels is the dictionary of a fit that names neither kernels nor a way
// to choose them, for inputs as they are standardised, and one of those that
// cross-validation compares: Gaussians on all columns at several widths, a linear
// kernel, and Gaussians on each column where there are not too many.
func DefaultKernels(X mat.Matrix) []string { return defaultKernels(raw(X)) }

const (
	linearKernel = "poly:1:all:0" // xᵀz/d: of the size of the others
	squareKernel = "poly:2:all:1" // (1 + xᵀz/d)²
	eachKernels  = "gaussian:each:median*1,2"
	// maxEach is the number of columns up to which each gets kernels of its own.
	maxEach = 64
)

func defaultKernels(Z blas.General) []string {
	specs := []string{"gaussian:all:median*0.5,1,2,4", linearKernel}
	if hasEach(Z) {
		specs = append(specs, eachKernels)
	}
	return specs
}

func hasEach(Z blas.General) bool { return Z.Cols > 1 && Z.Cols <= maxEach }

// candidate is a dictionary, and the norms, the things to learn and the part of
// the path of λ worth trying on it.
type candidate struct {
	kernels     []string
	norms       []string
	learn       []string
	first, last int // steps of the path; 0, 0 is all of it
}

// baseDictionaries are what screening compares: functions of all columns of
// several smoothnesses, as they are, scaled by relevance, and along the relevant
// directions, sums of functions of single columns, and both, with and without a
// linear part.
func baseDictionaries(Z blas.General) [][]string {
	all := [][]string{{linearKernel}, {squareKernel}, {squareKernel, "gaussian:all:median*2"}}
	for _, w := range []string{"0.25", "0.5", "1", "2", "4"} {
		for _, kind := range []string{"gaussian:all:median*", "laplacian:all:median*"} {
			all = append(all, []string{kind + w}, []string{kind + w, linearKernel})
		}
	}
	if Z.Cols > 1 {
		for _, w := range []string{"0.5", "1", "2"} {
			for _, kind := range []string{"gaussian", "laplacian"} {
				k := kind + ":" + relevantColumns + ":median*" + w
				all = append(all, []string{k}, []string{k, linearKernel})
				if Z.Cols <= maxEach {
					all = append(all, []string{kind + ":" + relevantDirections + ":median*" + w})
				}
			}
		}
	}
	if !hasEach(Z) {
		return all
	}
	for _, w := range []string{"0.5", "1", "2"} {
		for _, kind := range []string{"gaussian", "laplacian"} {
			all = append(all, []string{kind + ":each:median*" + w, linearKernel})
		}
	}
	for _, pair := range [][2]string{
		{"gaussian:each:median*1", "gaussian:all:median*2"},
		{"gaussian:each:median*1", "laplacian:all:median*2"},
		{"laplacian:each:median*1", "gaussian:all:median*1"},
		{"laplacian:each:median*1", "laplacian:all:median*1"},
	} {
		all = append(all, []string{pair[0], pair[1], linearKernel})
	}
	return all
}

// pathPoints and pathRatio make the default values of λ: from 1 downwards, times the kernels' size.
const pathPoints = 17

var pathRatio = math.Sqrt(10)

// lambdaPath is the default path of λ: falling from the mean of the diagonal of
// K_η at the starting weights, where the fit is close to the mean, by pathRatio each time.
func lambdaPath(size float64) []float64 {
	path := make([]float64, pathPoints)
	for i := range path {
		path[i] = size * math.Pow(pathRatio, -float64(i))
	}
	return path
}

// sizeRows is the number of samples that the size of kernels is measured on.
const sizeRows = 64

// diagonals are the means of k_j(x,x) over some of the rows of Z.
func diagonals(d kernel.Dictionary, Z blas.General) ([]float64, error) {
	var idx []int
	for i := range min(sizeRows, Z.Rows) {
		idx = append(idx, i*Z.Rows/min(sizeRows, Z.Rows))
	}
	sample := rows(Z, idx)
	mean := make([]float64, len(d))
	for j := range d {
		k := d[j]
		g, err := k.Gram(sample, blas.Float64)
		if err != nil {
			return nil, asInput(err)
		}
		mean[j] = meanDiagonal(g)
	}
	return mean, nil
}

func meanDiagonal(g *blas.Sym) float64 {
	diag := make([]float64, g.N)
	g.Diag(diag)
	var s float64
	for _, v := range diag {
		s += v
	}
	return s / float64(g.N)
}
