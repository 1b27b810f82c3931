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
// to choose them, for inputs as they are standardised: Gaussians on all columns
// at several widths, a linear kernel, and Gaussians on each column where there
// are not too many.
func DefaultKernels(X mat.Matrix) []string { return defaultKernels(raw(X)) }

const (
	linearKernel = "poly:1:all:0" // xᵀz/d: of the size of the others
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

// candidate is a dictionary, and the norms and the things to learn worth trying on it.
type candidate struct {
	kernels []string
	norms   []string
	learn   []string
}

// defaultCandidates are what cross-validation chooses from when neither kernels
// nor norm are given. A fit alone prefers narrow kernels to wide ones, since they
// follow the training targets more closely; how smooth the function is must
// therefore be decided on held-out samples: one dictionary lets the fit choose a
// width, two have a wide kernel only, and one adds up functions of single columns.
// Where the function is smooth and the samples are few, L costs more than it
// brings, which held-out samples tell as well.
func defaultCandidates(Z blas.General) []candidate {
	few, both := DefaultNorms()[:1], []string{"eta,l"}
	all := []candidate{
		{[]string{"gaussian:all:median*0.25,0.5,1,2", linearKernel}, few, both},
		{[]string{"gaussian:all:median*2", linearKernel}, few, []string{"eta,l", "eta"}},
		{[]string{"gaussian:all:median*4", linearKernel}, few, []string{"eta"}},
	}
	if hasEach(Z) {
		all = append(all, candidate{[]string{"gaussian:all:median*1,2,4", linearKernel, eachKernels}, DefaultNorms(), both})
	}
	return all
}

// pathPoints and pathRatio make the default values of λ: from 1 downwards, times the kernels' size.
const pathPoints = 13

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
