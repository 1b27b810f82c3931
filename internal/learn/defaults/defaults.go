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
	// Where Fit chooses, it takes FitFolds, and FewFolds from ManySamples on, and
	// repeats them up to MaxRepeats times, to test on about TestSamples in all.
	FitFolds    = 5
	FewFolds    = 3
	ManySamples = 500
	MaxRepeats  = 4
	TestSamples = 400
)

// Intervals. Models of folds are kept by default for so many samples, where they take so many numbers.
const (
	IntervalLevel   = 0.9
	IntervalSamples = 2000
	IntervalNumbers = 1 << 23 // 64 MiB
)

// Rows are dealt to folds in blocks where the error of ridge regression on AdjacentFolds blocks of
// AdjacentRows rows at least is more than Apart times that on shuffled rows, the logarithm of the ratio being more than
// Doubtless standard errors above 0. Above Notable times the user is told. FoldBlocks blocks a fold are dealt.
const (
	AdjacentFolds = 12
	AdjacentRows  = 8
	Apart         = 2
	Notable       = 1.2
	Doubtless     = 2
	FoldBlocks    = 3
)

// The path of λ falls from the mean of the diagonal of K_η at the starting weights,
// where the fit is close to the mean, by √10 each time. Screening follows it to ScreenPoints, where kernels
// that are not smooth interpolate: this is best for targets without noise.
const (
	PathPoints   = 17
	ScreenPoints = 23
	// A path ends where the error is more than TooHigh times the least so far at
	// EndAfter values of λ in a row.
	TooHigh  = 1.5
	EndAfter = 2
	// DiagonalSamples is the number of samples that the diagonal is measured on.
	DiagonalSamples = 64
)

// Path is the path of λ, of so many points, for kernels of this mean diagonal.
func Path(size float64, points int) []float64 {
	lambdas := make([]float64, points)
	for i := range lambdas {
		lambdas[i] = size * math.Pow(math.Sqrt(10), -float64(i))
	}
	return lambdas
}

// Where settings are chosen for samples in memory, values are moved in that are isolated: at most one
// in IsolatedRows of a column, beyond a gap of IsolatedRanges times the range of the others.
const (
	IsolatedRows   = 500
	IsolatedRanges = 5
)

// Screening compares dictionaries before anything is learned.
const (
	// From more than ScreenPatterns sets of rows in which targets are observed, it looks at fewer
	// samples, as each set takes a decomposition.
	ScreenPatterns = 4
	United         = 3  // the best dictionaries, whose union is learned on
	StepsAbove     = 3  // of the path of λ that are tried before the best of them
	StepsBelow     = 3  // and after
	OwnColumns     = 64 // columns up to which each gets kernels of its own
	Subsets        = 24 // random sets of columns: enough for some to have most of the columns that matter
)

// Of more than ChooseSamples samples a random part of that size chooses all but λ. Of at least
// 2·ChooseTargets targets, ChooseTargets at random do. λ is then chosen with all
// samples: with exact kernels where l²·(m + n/4) is at most
// ExactWork, for l samples, m kernels and n outputs (reading a kernel takes as long as four columns of a product
// with it), and with D explicit features else,
// where l·D·(D + 10d + 2n) is at most FeatureWork, for d inputs. On the two cores of
// docs/performance.md, a fit of ExactWork takes 10 s and a pass of FeatureWork 30 s.
const (
	ChooseSamples = 2000
	ChooseTargets = 100
	// Choosing on s samples takes ChooseBytes·s² bytes. LeastChoose samples choose in any memory.
	ChooseBytes   = 1000
	LeastChoose   = 200
	ExactWork     = 2e9
	FeatureWork   = 4e12
	MostFeatures  = 3000
	LeastFeatures = 100
	// ColumnFeatures are enough for a kernel of one column.
	ColumnFeatures = 40
)

// RaceFrom decides where settings are compared first: on a half of 2·RaceFrom samples or more, a quarter of 4·RaceFrom or more, and so on.
const RaceFrom = 1000

// The sum of separable kernels is compared with the best setting where m·n·(l² + 1000·n²) is
// at most SumWork, for l samples, m kernels and n outputs: a fit then takes some tenths of a
// second of processor time (docs/decisions/2026-11-22-sums-tried.md). It is tried at SumBeside steps of the path of λ on both sides, and not where the best λ is below
// SumLambda of the mean diagonal of a kernel: there fits of targets without noise may end before their tolerance.
const (
	SumLambda = 1e-4
	SumWork   = 5e6
	SumBeside = 1
)

// PartBudget is the share of a budget of time for choosing all but λ on a part of many samples.
const PartBudget = 0.7

// After each repeat of the folds the paths that are worse than the best by more than
// Hopeless standard errors of the difference, and by more than Slack in log error, are
// given up; the others keep Beside values of λ on both sides of their best one.
const (
	Hopeless = 1.5
	Slack    = 0.01
	Beside   = 1
)

// What kernels on ranks, relevant columns and directions are learned with.
const (
	RankKnots        = 33  // quantiles of a column
	RelevanceRounds  = 4   // of kernel ridge regression and new factors
	RelevanceSamples = 400 // that it looks at, at most
	// Negligible is the share of the largest below which a direction is left out.
	Negligible = 1e-8
)

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
