// Package defaults holds the values that a fit takes where the user gives none: numbers,
// the path of λ, norms and dictionaries.
package defaults

import (
	"math"
	"time"
)

// Accuracy.
const (
	Tol        = 1e-4  // relative gap of a fit
	CompareTol = 1e-2  // relative gap of the fits that cross-validation compares
	ExactTol   = 1e-10 // residual of the linear system where it is all there is to solve
)

// Folds of a cross-validation.
const (
	Folds       = 10
	StreamFolds = 5 // of streamed data
)

// Intervals. Refits without each of so many samples take one decomposition, of some seconds.
const (
	IntervalLevel   = 0.9
	IntervalSamples = 2000
)

// PathPoints is the length of a path of λ, which falls by √10 from the mean of the diagonal of K_η,
// where a fit is close to
// the mean, to where kernels that are not smooth interpolate to rounding: this is best for targets without noise.
const PathPoints = 23

// Path is the path of λ for kernels of this mean diagonal.
func Path(diagonal float64) []float64 {
	lambdas := make([]float64, PathPoints)
	for i := range lambdas {
		lambdas[i] = diagonal * math.Pow(10, -float64(i)/2)
	}
	return lambdas
}

// SomeSamples is how many samples tell something approximately: the standard error of a mean square error of normal
// residuals is √(2/400), 7 % of it.
const SomeSamples = 400

// Many is how many numbers have a mean with a standard error of a tenth of their spread: errors of targets, and the
// diagonal of a kernel at samples. Up to so many columns each gets kernels of its own.
const Many = 100

// IsolatedRanges is the gap, in ranges of the others, beyond which at most one in SomeSamples values of a column is
// isolated, and is moved in where settings are chosen for samples in memory.
const IsolatedRanges = 5

// Without a budget all samples are fitted with exact kernels where l²·(m + n/4)·b is at most ExactBytes, for l samples,
// m kernels, n outputs and b bytes a number. Else they have D explicit features, where l·D·(D + 10d + 2n) is at most
// FeatureWork, for d inputs. On two cores with AVX2 a choice and a fit of ExactBytes take eight minutes, and a pass of
// FeatureWork 30 s on those of docs/performance.md. MostFeatures bounds the decompositions, of order D³ for each fold:
// of 100,000 made rows of ten inputs, 3000 features come within 8.4 % of the error of exact kernels on 20,000 in 24 s,
// and 6000 within 2.7 % in 100 s.
const (
	ExactBytes   = 2e10
	FeatureWork  = 4e12
	MostFeatures = 6000
	// ColumnFeatures are enough for a kernel of one column, and the least of all together.
	ColumnFeatures = 40
)

// RankKnots is the number of percentiles of a column.
const RankKnots = Many + 1

// Streams and checkpoints.
const (
	// SurveySamples is the number of rows, uniformly drawn, that median distances,
	// landmarks and the means of centred kernels are taken from.
	SurveySamples   = 4096
	RowsPerFeature  = 100             // between two writes of the checkpoint of a pass
	CheckpointEvery = 5 * time.Second // between two writes of the checkpoint of a fit
)

// Norms are the regularizers to choose from when kernels are given and no norm: one
// that keeps few kernels and one that keeps all.
func Norms() []string { return []string{"lp:1", "lp:2"} }

// OutputKernels are kernels between outputs to choose from where these are points of an axis.
func OutputKernels() (specs []string) {
	for _, w := range []string{"0.3", "1", "3"} {
		specs = append(specs, "matern32:all:median*"+w)
	}
	return specs
}

// What SPECs call the columns by what the training data tell about them: where their values lie among those of all
// samples, as in gaussian:ranks:median; all, scaled by how much the targets vary with each, and with lengths along the
// linear combinations of them along which the targets vary.
const (
	Ranks              = "ranks"
	RelevantColumns    = "relevant"
	RelevantDirections = "directions"
)

// LinearKernel is xᵀz/d, of the size of the others.
const LinearKernel = "poly:1:all:0"

// GaussianKernel is what residuals are measured by before kernels are chosen or lengths are learned.
const GaussianKernel = "gaussian:all:median"

// Kernels is the dictionary of a fit that names neither kernels nor a way to choose
// them: Gaussians on all columns at several widths, a linear kernel, and Gaussians on
// each column where there are not too many.
func Kernels(cols int) []string {
	specs := []string{"gaussian:all:median*0.5,1,2,4", LinearKernel}
	if HasEach(cols) {
		specs = append(specs, "gaussian:each:median*1,2")
	}
	return specs
}

// HasEach reports whether each of so many columns gets kernels of its own.
func HasEach(cols int) bool { return cols > 1 && cols <= Many }
